"""Builds from real entities contain the known changes, and the audit finds no fact that is wrong.

The excerpt is part of the repository (tests/data). Two larger builds are made only if FACTDRIFT_REAL_DATA
names the folder of their dumps: two captures of the same countries and cities, and a larger slice with a
derived old dump, of which TempRIPPLE is built, too. The expected updates were checked by hand against the
entities and public knowledge (docs/real-data.md).
"""

import bz2
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.excerpt import EXCERPT, LABELS, NEW, OLD, config, real
from support.rows import Row, rows
from support.workflow import snakemake

from factdrift.audit.build import audit
from factdrift.audit.kinds import KINDS
from factdrift.audit.reading import AuditedBuild

Update = tuple[str, int, set[str]]


class Build(NamedTuple):
    """A finished build: `dumps` holds the dump file of each date, the old one first."""

    directory: Path
    dumps: dict[str, Path]
    expected: dict[str, Update]
    """`subject relation` -> scenario, number of static objects, and the labels and rules of the others."""

    def rows(self) -> list[Row]:
        return rows(self.directory / "results/wikifactdiff.parquet")


def changes(table: str) -> dict[str, Update]:
    """Expected updates: subject, relation, scenario, static objects, and the others: new with `+`."""
    found = {}
    for line in table.strip().splitlines():
        subject, relation, scenario, static, objects = line.split(" ", 4)
        changed = set()
        for each in objects.split("; "):
            rule, _, label = each.partition(" ")
            changed.add(f"{label}: {'new' if rule[0] == '+' else 'obsolete'}, {rule[1:]}")
        found[f"{subject} {relation}"] = scenario, int(static), changed
    return found


# The old capture of Mali lacks Cissé, who was in office then; his term has dates, which decide.
PAIR = changes("""
Q31 P6 ReplaceObject 0 -ended_inside Charles Michel; +began_inside Alexander De Croo
Q155 P6 ReplaceObject 0 -ended_inside Michel Temer; +began_inside Jair Bolsonaro
Q155 P35 ReplaceObject 0 -ended_inside Michel Temer; +began_inside Jair Bolsonaro
Q183 P1082 AddObject 35 +measured_inside 82,979,100; +measured_inside 83,149,300
Q183 P6591 AddRelation 0 +measured_inside 41.2 degrees Celsius
Q233 P35 ReplaceObject 0 -ended_inside Marie Louise Coleiro Preca; +began_inside George Vella
Q398 P6 ReplaceObject 0 -ended_inside Khalifa bin Salman Al Khalifa; +began_inside Salman bin Hamad Al Khalifa
Q586 P6 ReplaceObject 0 -ended_inside Ashok-Alexander Sridharan; +began_inside Katja Dörner
Q686 P6 ReplaceObject 0 -ended_inside Charlot Salwai; +began_inside Bob Loughman
Q801 P6 ReplaceObject 0 -ended_inside Benjamin Netanyahu; +began_inside Naftali Bennett
Q891 P6 ReplaceObject 0 -ended_inside Vladimir Panov; +began_inside Yury Shalabaev
Q912 P6 ReplaceObject 0 -ended_inside Soumeylou Boubèye Maïga; +began_inside Boubou Cissé
""")

SLICE_AND_EXCERPT = changes("""
Q4916 P17 AddObject 21 +began_inside Latvia; +began_inside Lithuania
Q12517 P131 ReplaceObject 0 -end_inside Midi-Pyrénées; +began_inside Occitania
Q24015 P39 ReplaceObject 0 -ended_inside State Attorney General; +began_inside Governor of Montana
Q29468 P488 ReplaceObject 0 -ended_inside Reince Priebus; +began_inside Ronna McDaniel
Q29552 P488 AddRelation 0 +began_inside Tom Perez
Q48946 P118 ReplaceObject 0 -ended_inside EFL League Two; +began_inside EFL League One
Q190804 P1037 ReplaceObject 0 -end_inside Wim Pijbes; +began_inside Taco Dibbits
Q192982 P1376 AddRelation 0 +began_inside canton of Cluny
Q1519305 P571 AddEntity 0 +new_subject March 22, 2015
Q29568422 P112 AddEntity 0 +new_subject Jimmy Wales
""")

# In Australia, beside the governors-general stands the queen, whom nobody replaced.
SLICE = SLICE_AND_EXCERPT | changes("""
Q16 P6 ReplaceObject 0 -ended_inside Stephen Harper; +began_inside Justin Trudeau
Q30 P6 ReplaceObject 0 -ended_inside Barack Obama; +began_inside Donald Trump
Q36 P35 ReplaceObject 0 -ended_inside Bronisław Komorowski; +began_inside Andrzej Duda
Q142 P35 ReplaceObject 0 -ended_inside François Hollande; +began_inside Emmanuel Macron
Q183 P35 ReplaceObject 0 -ended_inside Joachim Gauck; +began_inside Frank-Walter Steinmeier
Q408 P35 Other 1 -ended_inside Quentin Bryce; +began_inside Peter Cosgrove
Q2283 P169 ReplaceObject 0 -ended_inside Steve Ballmer; +began_inside Satya Nadella
""")


def build(directory: Path, dumps: dict[str, str]) -> None:
    targets, dates = ("results/wikifactdiff.parquet", "results/manifest.json"), [*dumps]
    keys = config("", snapshots={"old": dates[0], "new": dates[1]}, dumps=dumps)
    snakemake(directory, *targets, **keys)


BUILDS = [pytest.param(name, marks=pytest.mark.slow) for name in ("excerpt", "pair", "slice")]


@pytest.fixture(scope="module", params=BUILDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Build:
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "pair":
        dumps = {"2018-09-03": real("pair-2018-09.json.gz"), "2021-06-14": real("pair-2021-06.json.gz")}
        build(directory, {date: str(path) for date, path in dumps.items()})
        return Build(directory, dumps, PAIR)
    if request.param == "excerpt":
        directory, new, expected = request.getfixturevalue("excerpt"), EXCERPT, SLICE_AND_EXCERPT
    else:
        new, expected = real("entities.json.bz2"), SLICE
        build(directory, {OLD: "derive", NEW: str(new)})
    old = directory / f"results/snapshots/{OLD}/derived.json.gz"
    return Build(directory, {OLD: old, NEW: new}, expected)


def entities(dump: Path) -> Iterator[Row]:
    with (bz2 if dump.suffix == ".bz2" else gzip).open(dump, "rt", encoding="utf-8") as lines:
        for line in lines:
            text = line.strip().strip(",")
            if text not in ("", "[", "]"):
                yield json.loads(text)


def statements(entity: Row) -> list[Row]:
    return [each for group in dict(entity.get("claims") or {}).values() for each in group]


def test_hand_checked_updates(made):
    found = {}
    for row in made.rows():
        name = f"{row['subject']['id']} {row['relation']['id']}"
        changed = {
            f"{each['label']}: {each['decision']}, {each['rule']}"
            for each in row["objects"]
            if each["decision"] != "static"
        }
        assert len(changed) == sum(each["decision"] != "static" for each in row["objects"])
        found[name] = (row["scenario"], len(row["objects"]) - len(changed), changed)
        facts = row["neighborhood"] + row["random_neighborhood"]
        named = [row["subject"], *row["objects"]]
        named += [fact["subject"] for fact in facts] + [fact["objects"][0]["object"] for fact in facts]
        assert all(each["label"] for each in named), name
    assert {name: found.get(name) for name in made.expected} == made.expected


def test_the_audit_finds_no_wrong_fact(made):
    old, new = made.dumps
    pair = made.directory / "results" / f"{old}_{new}"
    source = AuditedBuild(pair, *made.dumps.values(), [Path(path) for path in LABELS])
    findings, summary = audit(source, 1000, 0)
    assert summary["sampled"]["wikifactdiff"]["rows"] == len(made.rows())
    checked = {each["kind"] for each in findings}
    assert {kind for kind, each in KINDS.items() if each.role and "wikifactdiff" in each.datasets} <= checked
    facts = {kind for kind, each in KINDS.items() if each.role} | {"neighbour_fact", "neighbour_words"}
    assert [each for each in findings if each["outcome"] == "failed" and each["kind"] in facts] == []


def test_counts_equal_those_of_plain_json(made):
    for date, dump in made.dumps.items():
        lines = list(entities(dump))
        items = [entity for entity in lines if entity["type"] == "item"]
        # The default scope: statements of the items that have an English article.
        whole = [entity for entity in items if "enwiki" in dict(entity.get("sitelinks") or {})]
        snapshot = made.directory / "results/snapshots" / date / "snapshot.json"
        summary = json.loads(snapshot.read_text(encoding="utf-8"))
        assert (summary["lines"], summary["bad_lines"], summary["duplicates"]) == (len(lines), 0, 0)
        assert (summary["items"], summary["properties"]) == (len(items), len(lines) - len(items))
        assert summary["whole_items"] == len(whole)
        ranks = Counter(each["rank"] for entity in whole for each in statements(entity))
        assert summary["statements"]["total"] == ranks.total()
        assert summary["statements"]["rank"] == ranks


PERIOD = {"window_start": "2006-01-01", "change_start": "2014-01-01", "change_end": "2017-06-01"}


def questions(directory: Path, dump: Path, **ripple: Any) -> dict[str, bytes]:
    """The tables of TempRIPPLE, by name."""
    ripple = {**PERIOD, "slice": True, **ripple}
    target = "results/tempripple.parquet"
    snakemake(directory, target, **config(str(dump), scope="all", tempripple=ripple))
    return {path.name: path.read_bytes() for path in directory.glob(f"results/{OLD}_{NEW}/tempripple/*")}


@pytest.mark.slow
def test_a_sparql_server_gives_the_questions_that_tables_give(tmp_path):
    dump = real("entities.json.bz2")
    tables = questions(tmp_path, dump)
    for name in tables:
        (tmp_path / f"results/{OLD}_{NEW}/tempripple" / name).unlink()
    assert questions(tmp_path, dump, source="sparql") == tables
    stats = json.loads(tables["tr_stats.json"])
    assert stats["presence"]["missing"]
    assert stats["dropped"]["mutable"]
    assert stats["sizes"]["mutable_facts"] > 0

"""The audit of the default build: no fact is wrong, and every planted error is found in its row.

The errors are planted into copies of the tables and of the new dump, one of each kind, each in a row of its
own; then the same audit runs on them.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.workflow import snakemake

from factdrift.audit.account import AUDIT
from factdrift.audit.build import Source, audit
from factdrift.audit.kinds import KINDS, QUESTIONS, UPDATES
from factdrift.cli import main

PAIR = "2021-01-04_2023-02-27"
ROWS = 600
"""Rows of each dataset that are audited as they are; the planted ones are few and audited all."""

Row = dict[str, Any]
Entities = dict[str, Row]


def source(results: Path) -> Source:
    dumps = (results / f"snapshots/{date}/sample.json.gz" for date in PAIR.split("_"))
    return Source(results / PAIR, *dumps)


def failures(findings: list[Row]) -> set[tuple[str, str]]:
    return {(each["row"], each["kind"]) for each in findings if each["outcome"] == "failed"}


def test_no_fact_of_the_default_build_is_wrong(tempripple: Path) -> None:
    findings, summary = audit(source(tempripple / "results"), ROWS, 0)
    wrong = [each for each in findings if each["outcome"] == "failed" and KINDS[each["kind"]].role]
    assert wrong == []
    checked = {(each["dataset"], each["kind"]) for each in findings}
    assert checked == {(dataset, kind) for kind, each in KINDS.items() for dataset in each.datasets}
    # Known: the bundled templates of two pairs of relations, and neighbours that share a value.
    other = {each["kind"] for each in findings if each["outcome"] == "failed"}
    assert other == {"template", "neighbour_answer"}
    assert summary["sampled"][UPDATES] == {"rows": ROWS, "of": 1368}


class Planted:
    """A small copy of a build, to be changed: the updates, the items and their facts, the new dump."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.updates = self._read("wikifactdiff")
        self.items, self.facts, self.related = (
            self._read(f"tempripple/tr_{name}") for name in ("items", "facts", "related")
        )
        self.fact = {row["fact_id"]: row for row in self.facts}
        self.used: set[str] = set()
        self.expected: set[tuple[str, str]] = set()
        self.edits: dict[str, list[Callable[[Row], object]]] = {}
        self.kept: dict[str, list[Row]] = {UPDATES: [], QUESTIONS: []}

    def _read(self, name: str) -> list[Row]:
        return pq.read_table(self.results / PAIR / f"{name}.parquet").to_pylist()

    def update(self, *kinds: str, where: Callable[[Row], object]) -> Row:
        """The first update of an unused subject, in which errors of these kinds are to be planted."""
        row = next(row for row in self.updates if row["subject"]["id"] not in self.used and where(row))
        self.used.add(row["subject"]["id"])
        self.expected |= {(f"{row['subject']['id']} {row['relation']['id']}", kind) for kind in kinds}
        self.kept[UPDATES].append(row)
        return row

    def item(self, *kinds: str, where: Callable[[Row], object]) -> Row:
        """The first item of an unused fact and subject."""
        row = next(
            row
            for row in self.items
            if not {row["fact_id"], row["s"], row["asked_s"]} & self.used and where(row)
        )
        self.used |= {row["fact_id"], row["s"], row["asked_s"]}
        self.expected |= {(row["item_id"], kind) for kind in kinds}
        self.kept[QUESTIONS].append(row)
        return row

    def in_dump(self, entity: str, change: Callable[[Row], object]) -> None:
        self.edits.setdefault(entity, []).append(change)

    def write(self, folder: Path) -> Source:
        pair = folder / PAIR
        (pair / "tempripple").mkdir(parents=True)
        shutil.copy(self.results / PAIR / "manifest.json", pair)
        for name, rows in (
            ("wikifactdiff", self.kept[UPDATES]),
            ("tempripple/tr_items", self.kept[QUESTIONS]),
            ("tempripple/tr_facts", self.facts),
            ("tempripple/tr_related", self.related),
        ):
            schema = pq.read_schema(self.results / PAIR / f"{name}.parquet")
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), pair / f"{name}.parquet")
        dumps = source(self.results)
        new = folder / "new.json"
        with (
            gzip.open(dumps.new_dump, "rt", encoding="utf-8") as lines,
            new.open("w", encoding="utf-8") as out,
        ):
            out.writelines(self._lines(lines))
        return Source(pair, dumps.old_dump, new)

    def _lines(self, lines: Any) -> Iterator[str]:
        for line in lines:
            name = line.partition('"id":"')[2].partition('"')[0]
            if name in self.edits:
                entity = json.loads(line.rstrip(",\n"))
                for change in self.edits[name]:
                    change(entity)
                line = json.dumps(entity) + ",\n"
            yield line


def decided(row: Row, decision: str) -> Row:
    value: Row = next(value for value in row["objects"] if value["decision"] == decision)
    return value


def by_dates(row: Row) -> bool:
    """A replacement of one item by another, both with a start, one with an end."""
    return row["is_replace"] and {value["rule"] for value in row["objects"]} == {
        "began_inside",
        "ended_inside",
    }


def statement(entity: Row, name: str) -> Row:
    claims = (claim for group in entity["claims"].values() for claim in group)
    found: Row = next(claim for claim in claims if claim["id"].upper() == name.upper())
    return found


def plant_into_updates(planted: Planted) -> None:
    take = planted.update
    value = decided(take("statement", where=by_dates), "new")
    value["new_statement"] = value["new_statement"][:-4] + "0000"

    row = take("main_snak", where=by_dates)
    value = decided(row, "new")
    value.update(id=None, raw=f"+{value['start']}T00:00:00Z", datatype="time", label="2021", description=None)

    row = take("rank", "new", where=by_dates)
    name = decided(row, "new")["new_statement"]
    planted.in_dump(row["subject"]["id"], lambda entity: statement(entity, name).update(rank="deprecated"))

    decided(take("dates", where=by_dates), "new")["start"] = "2021-06-31"
    decided(take("labels", where=by_dates), "obsolete")["label"] = "Nobody in particular"

    row = take("gone", "new", where=by_dates)
    before, after = decided(row, "obsolete"), decided(row, "new")
    before["decision"], after["decision"] = "new", "obsolete"

    decided(take("static", where=by_dates), "obsolete")["decision"] = "static"

    row = take("single", where=by_dates)
    relation, own = row["relation"]["id"], decided(row, "new")["new_statement"]

    def rival(entity: Row) -> None:
        twin = json.loads(json.dumps(statement(entity, own)))
        twin["mainsnak"]["datavalue"]["value"].update({"id": "Q2", "numeric-id": 2})
        twin["id"] = f"{entity['id']}$00000000-0000-0000-0000-000000000000"
        entity["claims"][relation].append(twin)

    planted.in_dump(row["subject"]["id"], rival)

    row = take("leak", where=lambda row: by_dates(row) and not any(v["leaks"] for v in row["objects"]))
    row["generalization_prompts"][0] += f" {decided(row, 'new')['label']}"

    first = take("template", where=lambda row: by_dates(row) and row["relation"]["id"] == "P6")
    second = take("template", where=lambda row: by_dates(row) and row["relation"]["id"] == "P35")
    second["generalization_prompts"] = [
        prompt.replace(first["subject"]["label"], second["subject"]["label"])
        for prompt in first["generalization_prompts"]
        if first["subject"]["label"] in prompt
    ]

    row = take("neighbour", "neighbour_fact", where=lambda row: by_dates(row) and row["neighborhood"])
    row["neighborhood"][0]["relation"]["id"] = "P1376"
    row = take("neighbour", "neighbour_fact", where=lambda row: by_dates(row) and row["neighborhood"])
    row["neighborhood"][0]["subject"]["id"] = row["subject"]["id"]
    row = take("neighbour_answer", "neighbour_fact", where=lambda row: by_dates(row) and row["neighborhood"])
    row["neighborhood"][0]["objects"][0]["raw"] = decided(row, "new")["raw"]

    def same_relation(row: Row) -> bool:
        return by_dates(row) and row["relation"]["id"] == "P54" and not row["subject_is_ambiguous"]

    first, second = take("unique", where=same_relation), take("unique", where=same_relation)
    second["update_prompt"] = first["update_prompt"]


def plant_into_items(planted: Planted) -> None:
    take, fact = planted.item, planted.fact
    related = {row["rel_id"]: row for row in planted.related}

    row = take("statement", where=lambda row: row["hop"] == 1)
    related[row["rel_id"]]["path"][0]["stmt_id"] += "0"
    row = take("main_snak", where=lambda row: row["hop"] == 2 and row["open_only"])
    related[row["rel_id"]]["path"][1]["value"] = "Q1"

    row = take("rank", where=lambda row: row["hop"] == 1 and row["open_only"])
    step = related[row["rel_id"]]["path"][0]
    planted.in_dump(step["x"], lambda entity: statement(entity, step["stmt_id"]).update(rank="deprecated"))

    def mutable(row: Row) -> bool:
        return not row["hop"] and bool(row["options"]) and fact[row["fact_id"]]["start_prec"] == 11

    def old(row: Row) -> bool:
        return mutable(row) and row["task"] == 2 and not fact[row["fact_id"]]["returning"]

    row = take("dates", where=mutable)
    fact[row["fact_id"]]["start_lo"] = fact[row["fact_id"]]["start_lo"].replace(year=1999)
    fact[take("labels", where=mutable)["fact_id"]]["o_label"] = "Nobody in particular"
    fact[take("order", where=old)["fact_id"]]["ordinal"] += 1

    row = take("leak", where=lambda row: old(row) and not row["flags"])
    news = [each for each in planted.facts if (each["s"], each["p"]) == (row["s"], row["p"])]
    row["answer_label"] = row["options"][row["answer_index"]] = next(
        each["o_label"] for each in news if each["role"] == "new"
    )
    planted.expected.add((row["item_id"], "labels"))

    first, second = take("unique", where=mutable), take("unique", where=mutable)
    second["question"] = first["question"]

    row = take("options", "labels", where=old)
    true = next(
        each for each in planted.facts if (each["s"], each["p"], each["role"]) == (row["s"], row["p"], "new")
    )
    row["option_ids"][(row["answer_index"] + 1) % 4] = true["o"]

    row = take("key", "options", where=mutable)
    row["answer_index"] = (row["answer_index"] + 1) % 4


@pytest.fixture(scope="module")
def planted(tempripple: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Planted, Source]:
    found = Planted(tempripple / "results")
    plant_into_updates(found)
    plant_into_items(found)
    return found, found.write(tmp_path_factory.mktemp("planted"))


def test_every_planted_error_is_found_in_its_row(planted: tuple[Planted, Source]) -> None:
    build, changed = planted
    findings, _ = audit(changed, 10**6, 0)
    kinds = {
        (dataset, kind)
        for dataset, rows in (
            (UPDATES, {f"{row['subject']['id']} {row['relation']['id']}" for row in build.kept[UPDATES]}),
            (QUESTIONS, {row["item_id"] for row in build.kept[QUESTIONS]}),
        )
        for name, kind in build.expected
        if name in rows
    }
    # Surface features are tested with made-up questions; all other kinds are planted.
    every = {
        (dataset, kind) for kind, each in KINDS.items() for dataset in each.datasets if kind != "surface"
    }
    assert kinds == every
    found = failures(findings)
    assert build.expected <= found
    assert {each["reason"] for each in findings if (each["row"], each["kind"]) in build.expected} - {""}
    # No other row is wrong, but for what is so in the build (neighbours that share a value) and for rows
    # that have the planted template rightly.
    others = {row for row, kind in found if kind not in ("neighbour_answer", "template")}
    assert others <= {row for row, _ in build.expected}


def test_the_command_the_sheet_and_its_judgements(
    planted: tuple[Planted, Source], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, changed = planted
    folder = changed.pair / "audit"
    dumps = ["--old-dump", str(changed.old_dump), "--new-dump", str(changed.new_dump)]
    assert main(["audit", "--pair", str(changed.pair), *dumps, "--settings", '{"rows": 10}']) == 0
    said = capsys.readouterr().out
    assert "wikifactdiff: 10 of" in said
    assert (folder / "audit.txt").read_text("utf-8").strip() == said.strip()
    table = pq.read_table(folder / "audit.parquet")
    assert table.schema.equals(AUDIT)
    assert json.loads((folder / "audit.json").read_text("utf-8"))["sampled"]["tempripple"]["rows"] == 10
    sheet = tmp_path / "sheet.csv"
    assert main(["audit", "sheet", "--audit", str(folder), "--rows", "12", "-o", str(sheet)]) == 0
    lines = sheet.read_text("utf-8-sig").splitlines()
    assert len(lines) == 13
    assert "judgement" in lines[0]
    judged = [lines[0], *(line.removesuffix(",") + "invalid," for line in lines[1:])]
    sheet.write_text("\n".join(line.replace(",,invalid,", ",invalid,") for line in judged), "utf-8")
    assert main(["audit", "judged", str(sheet), "--audit", str(folder)]) == 0
    assert json.loads((folder / "judged.json").read_text("utf-8"))["invalid"] == 12


@pytest.mark.slow
def test_the_rule_and_the_section_of_the_page(tempripple: Path) -> None:
    """The rule finds TempRIPPLE's tables, and the page shows what it wrote."""
    targets = ("results/audit.parquet", "results/audit.json", "results/report.html")
    said = snakemake(tempripple, *targets, jobs=False, audit={"rows": 100})
    assert "tempripple: 100 of" in said
    assert "lines/s" not in said.partition("wikifactdiff: 100 of")[2].partition("Files written")[0]
    page = (tempripple / "results/report.html").read_text("utf-8")
    assert '<section id="audit"' in page
    assert "Error rates of tempripple" in page

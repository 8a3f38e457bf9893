"""The audit of the default build and all products: nothing is wrong, and what is planted is found.

Each plant changes a copy of one row, or of one table, in memory; the checks then run on it. What they compare
it with, the lines of both dumps, is read once.
"""

import copy
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support.audit_plants import FROM_OTHERS, PLANTS, Pair, Row, dated, swap
from support.faulty import BY_HAND
from support.rows import rows
from support.workflow import snakemake

from factdrift.audit import (
    of_corpus,
    of_dated,
    of_folders,
    of_klob,
    of_neighbours,
    of_questions,
    of_ripples,
    of_rules,
    of_streams,
    of_tables,
    of_updates,
)
from factdrift.audit.account import AUDIT
from factdrift.audit.build import Samples, samples_of
from factdrift.audit.kinds import (
    ASKED,
    CORPUS,
    DATASETS,
    FOLDERS,
    KINDS,
    KLOB,
    OF_DATES,
    QUESTIONS,
    RIPPLES,
    STREAM,
    UNSEEN,
    UPDATES,
)
from factdrift.audit.of_tables import Shared
from factdrift.audit.reading import AuditedBuild, Reading, read
from factdrift.cli import main

pytestmark = pytest.mark.slow

PAIR = "2021-01-04_2023-02-27"
ROWS = 250


def source(results: Path) -> AuditedBuild:
    dumps = (results / f"snapshots/{date}/sample.json.gz" for date in PAIR.split("_"))
    beside = [results / name for name in (*(f"{name}.parquet" for name in OF_DATES), "publish")]
    return AuditedBuild(results / PAIR, *dumps, beside=beside)


class Checks(NamedTuple):
    """The checks of one row of each dataset, against what was read once."""

    samples: Samples
    reading: Reading
    shared: Shared
    ripples: of_questions.Ripples
    klob: of_klob.Snapshot
    stated: of_corpus.Stated

    def of(self, dataset: str, row: Row) -> Iterator[tuple[str, str, str]]:
        if dataset == UPDATES:
            yield from of_updates.check_update(row, self.reading.dumps, self.shared)
            yield from of_rules.against_rules(row, self.reading.groups)
            yield from of_neighbours.check_neighbours(row, self.reading.dumps, self.reading.nearby)
        elif dataset == QUESTIONS:
            yield from of_questions.check_item(row, self.ripples)
        elif dataset == KLOB:
            yield from of_klob.check_example(row, self.klob)
        elif dataset == RIPPLES:
            updated = self.samples.probed.get(row["update"])
            yield from of_ripples.check_probe(row, updated, self.reading.dumps)
        elif dataset == STREAM:
            yield from of_updates.outcomes("dated", of_streams.dates(row, self.reading.dumps))
        elif dataset == CORPUS:
            yield from of_corpus.check_document(row, self.reading.dumps)
        elif dataset == ASKED:
            yield from of_corpus.check_question(row, self.reading.dumps, False, self.stated)
        else:
            yield from of_dated.check_question(row, self.reading.dumps, False)

    def failed(self, dataset: str, row: Row) -> set[str]:
        return {kind for kind, outcome, _ in self.of(dataset, row) if outcome == "failed"}


@pytest.fixture(scope="module")
def checks(audited: Path) -> Checks:
    given = source(audited)
    manifest = json.loads((audited / PAIR / "manifest.json").read_text("utf-8"))
    samples = samples_of(given, manifest, ROWS, 0)
    announced = [row for row in rows(given.files()[UPDATES]) if any(v["announced"] for v in row["objects"])]
    samples.rows[UPDATES].extend(announced)
    reading = read(given, manifest, samples.rows, samples.probed, ROWS, 0)
    return Checks(
        samples,
        reading,
        Shared(given.files()[UPDATES]),
        reading.ripples(samples.every_item),
        reading.klob(samples.lengths),
        of_corpus.stated_in_documents(given.files()[CORPUS], samples.rows[ASKED]),
    )


def test_each_kind_that_no_fault_by_chance_reaches_has_a_plant():
    """Those of whole tables, which chance reaches all, are planted in test_digests.py, too."""
    assert {(UPDATES, "rank"), *((dataset, kind) for dataset, kind, _, _ in PLANTED)} >= BY_HAND


def test_a_deprecated_statement_is_found(checks):
    row = next(row for row in checks.samples.rows[UPDATES] if dated(row))
    line = copy.copy(checks.reading.dumps.new[row["subject"]["id"]])
    line.claims = copy.deepcopy(line.claims)
    for claim in line.claims[row["relation"]["id"]]:
        claim.rank = "deprecated"
    changed = checks.reading.dumps._replace(new={**checks.reading.dumps.new, line.id: line})
    assert "rank" not in checks.failed(UPDATES, row)
    found = of_updates.check_update(row, changed, checks.shared)
    assert "rank" in {kind for kind, outcome, _ in found if outcome == "failed"}


def test_a_build_without_nearest_facts_lacks_none(checks):
    row = next(row for row in checks.samples.rows[UPDATES] if row["neighborhood"])
    nearby = checks.reading.nearby
    for facts, outcome in ((10, "failed"), (0, "passed")):
        reach = nearby._replace(reach=(500, facts, 10))
        found = of_neighbours.check_neighbours(row | {"neighborhood": []}, checks.reading.dumps, reach)
        assert outcome in {each for kind, each, _ in found if kind == "nearest"}


PLANTED: list[tuple[str, str, Callable[[Row], object], Pair]] = [
    *FROM_OTHERS,
    *(
        (dataset, kind, where, lambda row, _, change=change: change(row))
        for dataset, plants in PLANTS.items()
        for kind, where, change in plants
    ),
]


@pytest.mark.parametrize(
    ("dataset", "kind", "where", "change"),
    PLANTED,
    ids=[f"{dataset}-{kind}-{number}" for number, (dataset, kind, *_) in enumerate(PLANTED)],
)
def test_what_is_planted_into_a_row_is_found(dataset, kind, where, change, checks):
    def asked(row: Row) -> Any:
        return row["relation"]["id"] if dataset == UPDATES else row.get("p1" if dataset == KLOB else "p")

    given = [row for row in checks.samples.rows[dataset] if where(row)]
    row = copy.deepcopy(next(row for row in given if kind not in checks.failed(dataset, row)))
    other = copy.deepcopy(next((each for each in given if asked(each) != asked(row)), row))
    change(row, other)
    assert kind in checks.failed(dataset, row)


COLUMNS = yaml.safe_load(Path(__file__).with_name("columns.yaml").read_text(encoding="utf-8"))
"""Dataset -> the columns that some kind of check sees; a new column is added there or to UNSEEN."""


def columns_of(name: str, kind: pa.DataType) -> list[str]:
    """A column; of structs and lists of structs their fields, as `objects.rule`."""
    while pa.types.is_list(kind):
        kind = kind.value_type
    if not pa.types.is_struct(kind):
        return [name]
    return [each for field in kind for each in columns_of(f"{name}.{field.name}", field.type)]


@pytest.mark.parametrize("dataset", COLUMNS)
def test_every_column_of_the_tables_is_checked_or_named(dataset, audited):
    names = {"klob": "klob_r"}
    schema = pq.read_schema(audited / f"{names.get(dataset, dataset)}.parquet")
    named = {part for name in UNSEEN[dataset] for part in name.partition(":")[0].split(", ")}
    columns = {name for field in schema for name in columns_of(field.name, field.type)}
    assert columns - named == set(" ".join(COLUMNS[dataset]).split()) - named
    whole = {name.rpartition(".")[0] for name in columns}
    beyond = {"rows that are missing", "words of KLoB-u", "tr_facts", "tr_related"}
    assert named - columns - whole <= beyond


# --- what is planted into whole tables ------------------------------------------------------------------


def written(given: list[Row], like: Path, to: Path) -> Path:
    """A table with the columns of another one."""
    to.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(given, schema=pq.read_schema(like)), to)
    return to


@pytest.fixture(scope="module")
def few(audited: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first rows of the dataset and its replacements, in a folder."""
    folder = tmp_path_factory.mktemp("few")
    path = audited / "wikifactdiff.parquet"
    given = pq.read_table(path).slice(0, 60).to_pylist()
    written(given, path, folder / "wikifactdiff.parquet")
    part = [row for row in given if row["scenario"] == "ReplaceObject"]
    written(part, path, folder / "wfd_repl.parquet")
    assert len(part) > 10
    return folder


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda found: found.pop(3), "no row, but the dataset"),
        (lambda found: found.append(found[3]), "two rows"),
        (lambda found: found[3].update(split="other"), "differs from that of the dataset"),
        (lambda found: found[3]["random_neighborhood"].clear(), "differs from that of the dataset"),
        (lambda found: found[3]["relation"].update(id="P9"), "no replacement"),
        (lambda found: found.reverse(), "not in the order"),
    ],
)
def test_faults_of_the_replacements_are_found(change, reason, few, tmp_path):
    whole, path = few / "wikifactdiff.parquet", few / "wfd_repl.parquet"
    given = rows(path)
    relation = given[3]["relation"]["id"]
    change(given)
    part = written(given, path, tmp_path / "wfd_repl.parquet")
    assert any(reason in each.reason for each in of_tables.replacements(whole, part, {}, 0))
    assert list(of_tables.replacements(whole, path, {}, 0)) == []
    assert any(
        "undersampling" in each.reason for each in of_tables.replacements(whole, path, {relation: 99}, 0)
    )


@pytest.fixture
def published(audited: Path, tmp_path: Path) -> Path:
    """A published folder, and what it was made from in the folders above."""
    for name in ("wfd_repl.parquet", "ripples.parquet", "manifest.json"):
        shutil.copy(audited / name, tmp_path)
    return Path(shutil.copytree(audited / "publish/wfd_repl", tmp_path / "publish/wfd_repl"))


TRAIN = "data/train-00000-of-00001.parquet"
RIPPLES_TABLE = "ripples/test-00000-of-00001.parquet"


def _sum(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}" for path in files]
    (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")


def _table(change: Callable[[list[Row]], object], name: str = TRAIN) -> Callable[[Path], object]:
    def plant(folder: Path) -> None:
        path = folder / name
        given = rows(path)
        change(given)
        written(given, path, path)

    return plant


def _text(name: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(swap((folder / name).read_text("utf-8"), old, new))


def _cut(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-9])


@pytest.mark.parametrize(
    ("plant", "summed", "reason"),
    [
        (lambda folder: (folder / "notes.txt").write_text("x"), False, "notes.txt is in the folder, but"),
        (lambda folder: (folder / "updates.parquet").unlink(), False, "updates.parquet is not in the folder"),
        (lambda folder: (folder / "updates.parquet").unlink(), True, "updates.parquet is not in the folder"),
        (lambda folder: (folder / "SHA256SUMS").unlink(), False, "SHA256SUMS is not in the folder"),
        (_table(lambda found: found.pop()), False, f"{TRAIN} is not what"),
        (_table(lambda found: found.pop()), True, f"{TRAIN} is not what"),
        (_table(lambda found: found.reverse()), True, f"{TRAIN} is not what"),
        (_table(lambda found: found[0].update(scenario="Other")), True, f"{TRAIN} is not what"),
        (
            lambda folder: shutil.copy(folder / TRAIN, folder / "data/more-0.parquet"),
            True,
            "more-0.parquet is in",
        ),
        (lambda folder: (folder.parents[1] / "wfd_repl.parquet").unlink(), False, "cannot be read"),
        *((_cut(name), False, f"{name} is not what") for name in (TRAIN, "manifest.json")),
        (_cut("croissant.json"), False, "cannot be read"),
        (_text("README.md", "`train` | ", "`train` | 9"), True, "README.md is not what"),
        (_text("manifest.json", "2021", "2020"), True, "manifest.json is not what"),
        (_text("croissant.json", '"sha256": "', '"sha256": "0'), True, "croissant.json is not what"),
        (_table(lambda rows: rows.pop(), RIPPLES_TABLE), True, f"{RIPPLES_TABLE} is not what"),
        (
            _table(lambda rows: rows[3].update(prompt="It"), RIPPLES_TABLE),
            True,
            f"{RIPPLES_TABLE} is not what",
        ),
        (_text("README.md", " updates of ", "0 updates of "), True, "README.md is not what"),
        (
            _text("README.md", " have no neighbour facts", "1 have no neighbour facts"),
            True,
            "README.md is not",
        ),
        (_text("README.md", "| obsolete | ", "| obsolete | 1"), True, "README.md is not what"),
        (_text("README.md", "| ReplaceObject | ", "| ReplaceObject | 1"), True, "README.md is not what"),
        (_text("README.md", " dated facts", "0 dated facts"), True, "README.md is not what"),
        (_text("croissant.json", '"column": "scenario"', '"column": "split"'), True, "croissant.json is"),
        (_text("croissant.json", '"repeated": true', '"repeated": false'), True, "croissant.json is not"),
        (_text("README.md", "path: updates.parquet", "path: update.parquet"), True, "README.md is not what"),
        (_text("croissant.json", "2023", "2024"), True, "croissant.json is not what"),
        (_text("croissant.json", " rows; ", "0 rows; "), True, "croissant.json is not what"),
        (_text("croissant.json", '"version": "0', '"version": "1'), True, "croissant.json is not what"),
        (_text("manifest.json", '"variant": "paper"', '"variant": "revised"'), True, "manifest.json is not"),
        (
            _text("updates.csv", "Joe Biden", "Jo Biden"),
            True,
            "updates.csv is not what the products give from ",
        ),
        (_table(lambda rows: rows[9].update(answers="x"), "updates.parquet"), True, "updates.parquet is not"),
        (lambda folder: next(folder.glob("figures/*")).write_bytes(b""), True, ".png is not what"),
        (lambda folder: (folder / "data.json").write_text("{}"), True, "data.json is in the folder, but"),
    ],
)
def test_faults_of_published_folders_are_found(plant, summed, reason, published):
    plant(published)
    if summed:
        _sum(published)
    faults = list(of_folders.folder(published, published.parents[1] / PAIR))
    assert any(reason in fault.reason for fault in faults), faults


# --- the command ----------------------------------------------------------------------------------------


def test_the_command_without_arguments(audited, tmp_path, monkeypatch, capsys):
    """As after `make run`, which makes no results/manifest.json; one row and one item are wrong."""
    pair = tmp_path / "results" / PAIR
    pair.mkdir(parents=True)
    for path in (audited / PAIR).iterdir():
        if path.name not in ("wikifactdiff.parquet", "manifest.json"):
            (pair / path.name).symlink_to(path)
    (tmp_path / "results/snapshots").symlink_to(audited / "snapshots")

    def plant(found: list[Row]) -> None:
        found[0]["scenario"] = "Other"
        found[2]["update_prompt"] = None
        found.append(found[0])
        found.pop(1)

    given = rows(audited / PAIR / "wikifactdiff.parquet")
    plant(given)
    written(given, audited / PAIR / "wikifactdiff.parquet", pair / "wikifactdiff.parquet")
    monkeypatch.chdir(tmp_path)
    assert main(["audit"]) == 1
    message = f"results/{PAIR}/manifest.json: no such file; build it with"
    assert message in capsys.readouterr().err
    shutil.copy(audited / PAIR / "manifest.json", pair)
    (tmp_path / "results/notes.jsonl").write_text("a file of the user's\n")
    assert main(["audit", "--settings", '{"rows": 20}']) == 0
    said = capsys.readouterr().out
    assert "wikifactdiff: 20 of 1,368 rows audited" in said
    assert "not checked: pool_size" in said
    folder = pair / "audit"
    assert (folder / "audit.txt").read_text("utf-8").strip() == said.strip()
    table = pq.read_table(folder / "audit.parquet")
    assert table.schema.equals(AUDIT)
    failed = {(row["dataset"], row["kind"]) for row in table.to_pylist() if row["outcome"] == "failed"}
    assert {("wikifactdiff", "twice"), ("wfd_repl", "replacements")} <= failed


def test_the_default_build_is_right_and_the_page_has_a_section(audited):
    """The rule finds what was built beside the dataset."""
    targets = ("results/audit.parquet", "results/audit.json", "results/report.html")
    said = snakemake(audited.parent, *targets, jobs=False, audit={"rows": 100}, stream=PAIR.split("_"))
    assert "tempripple: 100 of" in said
    assert "lines/s" not in said.partition("wikifactdiff: 100 of")[2].partition("Files written")[0]
    findings = rows(audited / "audit.parquet")
    failed = [each for each in findings if each["outcome"] == "failed"]
    assert [each for each in failed if not KINDS[each["kind"]].note] == []
    assert {each["kind"] for each in failed} == {kind for kind, each in KINDS.items() if each.note}
    checked = {(each["dataset"], each["kind"]) for each in findings} | {(FOLDERS, "folder")}
    assert checked == {(dataset, kind) for kind, each in KINDS.items() for dataset in each.datasets}
    folders = [path for path in (audited / "publish").iterdir() if path.is_dir()]
    assert len(folders) == 6
    assert [fault for folder in folders for fault in of_folders.folder(folder, audited / PAIR)] == []
    summary = json.loads((audited / "audit.json").read_text("utf-8"))
    assert set(summary["sampled"]) | {FOLDERS} == set(DATASETS)
    assert summary["sampled"][UPDATES] == {"rows": 100, "of": 1368}
    assert summary["drawn"]["updates"] > 100
    page = (audited / "report.html").read_text("utf-8")
    assert '<section id="audit"' in page
    assert "Error rates of tempripple" in page

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
from support.audit_plants import FROM_OTHERS, PLANTS, Change, Pair, Row, dated, swap
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
    ASOF,
    CORPUS,
    DATASETS,
    FOLDERS,
    KINDS,
    KLOB,
    OF_DATES,
    QUESTIONS,
    REPLACEMENTS,
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
        of_corpus.stated(given.files()[CORPUS], samples.rows[ASKED]),
    )


WHOLE: set[tuple[str, str]] = set()
"""Dataset and kind of the tests of whole tables below."""


def finds(kind: str, *datasets: str) -> Callable[[Any], Any]:
    """Marks a test that plants what a kind must find in these datasets."""
    WHOLE.update((dataset, kind) for dataset in datasets)
    return lambda test: test


def test_each_kind_that_no_fault_by_chance_reaches_has_a_plant() -> None:
    assert {*WHOLE, *((dataset, kind) for dataset, kind, _, _ in PLANTED)} >= BY_HAND


@finds("rank", UPDATES)
def test_a_deprecated_statement_is_found(checks: Checks) -> None:
    row = next(row for row in checks.samples.rows[UPDATES] if dated(row))
    line = copy.copy(checks.reading.dumps.new[row["subject"]["id"]])
    line.claims = copy.deepcopy(line.claims)
    for claim in line.claims[row["relation"]["id"]]:
        claim.rank = "deprecated"
    changed = checks.reading.dumps._replace(new={**checks.reading.dumps.new, line.id: line})
    assert "rank" not in checks.failed(UPDATES, row)
    found = of_updates.check_update(row, changed, checks.shared)
    assert "rank" in {kind for kind, outcome, _ in found if outcome == "failed"}


def test_a_build_without_nearest_facts_lacks_none(checks: Checks) -> None:
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
def test_what_is_planted_into_a_row_is_found(
    dataset: str, kind: str, where: Callable[[Row], object], change: Pair, checks: Checks
) -> None:
    def asked(row: Row) -> Any:
        return row["relation"]["id"] if dataset == UPDATES else row.get("p1" if dataset == KLOB else "p")

    given = [row for row in checks.samples.rows[dataset] if where(row)]
    row = copy.deepcopy(next(row for row in given if kind not in checks.failed(dataset, row)))
    other = copy.deepcopy(next((each for each in given if asked(each) != asked(row)), row))
    change(row, other)
    assert kind in checks.failed(dataset, row)


OF_AN_UPDATE = """
    subject.id subject.label subject.description relation.id relation.label relation.description
    update_prompt generalization_prompts template_source subject_is_ph_new relation_is_temp_func is_replace
    scenario split subject_popularity popularity_source subject_is_ambiguous
    objects.id objects.label objects.description objects.raw objects.short objects.datatype
    objects.decision objects.rule objects.announced objects.leaks objects.start objects.end
    objects.point_in_time objects.old_statement objects.new_statement objects.old_revision
    objects.new_revision
"""
OF_A_NEIGHBOUR = """
    subject.id subject.label subject.description relation.id relation.label relation.description
    dist popularity objects.object.id objects.object.label objects.object.description objects.prompt
    objects.raw objects.statement objects.dist
"""
OF_AN_ITEM = """
    item_id rel_id task hop question context s p asked_s asked_p answer_label answer_aliases answer_index
    options option_ids open_only as_of discriminates flags
"""
PARTS = ("neighborhood", "random_neighborhood")
UPDATE = " ".join([OF_AN_UPDATE, *(f"{part}.{name}" for part in PARTS for name in OF_A_NEIGHBOUR.split())])
CHECKED = {
    UPDATES: UPDATE,
    REPLACEMENTS: UPDATE,
    QUESTIONS: f"{OF_AN_ITEM} fact_id",
    KLOB: """
        example_id subtask origin s p1 o1 p2 o2 s_label o1_label o2_label o1_aliases o2_aliases stmt1_id
        stmt2_id rev_s rev_o1 pop_s pop_o snapshot_id sentences.sentence_id sentences.role sentences.place
        sentences.template_id sentences.text sentences.text_blank sentences.n_tokens sentences.target_id
        sentences.target_label sentences.target_aliases sentences.source_sentence_id
    """,
    STREAM: f"""{UPDATE}
        interval old_date new_date chain link links date first_day last_day dated_by reverts superseded_by
        changes.date changes.first_day changes.last_day changes.dated_by changes.reverts changes.superseded_by
    """,
    RIPPLES: """
        update subject relation criterion kind path.subject path.relation path.object path.statement path.dump
        asked_subject asked_relation prompt rewording question answers.id answers.label answers.aliases
        stale.id stale.label stale.aliases conditions.prompt conditions.answers.id conditions.answers.label
        conditions.answers.aliases conditions.step.subject conditions.step.relation conditions.step.object
        conditions.step.statement conditions.step.dump must_change date probe_id scenario
    """,
    ASOF: f"{OF_AN_ITEM} chain date precision first_day last_day option_verdicts",
    ASKED: """
        id kind question prompt asked_on at known_at chain relation first_day last_day answer_id answers
        stale_ids stale_answers premise premise_start hop_relation pair right_docs stale_docs announced
    """,
}
"""Dataset -> the columns that some kind of check sees; a new column is added here or to UNSEEN."""


def columns_of(name: str, kind: pa.DataType) -> list[str]:
    """A column; of structs and lists of structs their fields, as `objects.rule`."""
    while pa.types.is_list(kind):
        kind = kind.value_type
    if not pa.types.is_struct(kind):
        return [name]
    return [each for field in kind for each in columns_of(f"{name}.{field.name}", field.type)]


@pytest.mark.parametrize("dataset", CHECKED)
def test_every_column_of_the_tables_is_checked_or_named(dataset: str, audited: Path) -> None:
    names = {"klob": "klob_r"}
    schema = pq.read_schema(audited / f"{names.get(dataset, dataset)}.parquet")
    named = {part for name in UNSEEN[dataset] for part in name.partition(":")[0].split(", ")}
    columns = {name for field in schema for name in columns_of(field.name, field.type)}
    assert columns - named == set(CHECKED[dataset].split()) - named
    whole = {name.rpartition(".")[0] for name in columns}
    beyond = {"rows that are missing", "words of KLoB-u", "tr_facts", "tr_related"}
    assert named - columns - whole <= beyond


# --- what is planted into whole tables ------------------------------------------------------------------


@finds("missing", UPDATES, QUESTIONS)
def test_what_is_missing_is_found(checks: Checks) -> None:
    """Of subjects that were drawn, not of the rows that are there."""
    drawn, groups = checks.reading.drawn, checks.reading.groups
    keys = {(row["subject"]["id"], row["relation"]["id"]) for row in checks.samples.every_update}
    gone = next(key for key in sorted(keys) if key[0] in drawn)

    def failed(present: set[tuple[str, str]]) -> list[tuple[str, str]]:
        found = of_rules.missing(groups, drawn, present, False)
        return [key for key, (_, outcome, _) in found if outcome == "failed"]

    assert failed(keys) == []
    assert failed(keys - {gone}) == [gone]
    items = {row["item_id"]: row for row in checks.samples.every_item}
    absent = next(name for name, due in checks.ripples.due.items() if due.key[0] in drawn and due.hops)
    left = {name: row for name, row in items.items() if name != absent}
    assert not [f for _, f in of_questions.missing_items(checks.ripples, sorted(drawn), items) if f[2]]
    found = [due for due, f in of_questions.missing_items(checks.ripples, sorted(drawn), left) if f[2]]
    assert [due.item_id for due in found] == [absent]


def written(given: list[Row], like: Path, to: Path) -> Path:
    """A table with the columns of another one."""
    to.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(given, schema=pq.read_schema(like)), to)
    return to


@finds("twice", UPDATES, QUESTIONS, KLOB, *OF_DATES, RIPPLES)
def test_what_occurs_twice_is_found(audited: Path, tmp_path: Path) -> None:
    for name, key in (
        ("wfd_repl", ("subject.id", "relation.id")),
        ("tempripple", ("item_id",)),
        ("asof", ("item_id",)),
        ("stream", ("chain", "interval")),
        ("corpus", ("doc",)),
        ("corpus_questions", ("id",)),
        ("klob_r", ("example_id",)),
        ("ripples", ("probe_id",)),
    ):
        path = audited / f"{name}.parquet"
        assert list(of_tables.repeated(path, key)) == []
        given = pq.read_table(path).slice(0, 9).to_pylist()
        twice = written([*given, given[7]], path, tmp_path / f"{name}.parquet")
        assert len(list(of_tables.repeated(twice, key))) == 1


@finds("split", UPDATES)
def test_objects_and_subjects_that_occur_twice_are_found(checks: Checks) -> None:
    given = copy.deepcopy(checks.samples.every_update)
    assert list(of_tables.split_subjects(given)) == list(of_tables.same_objects(given)) == []
    given[0]["objects"].append(dict(given[0]["objects"][0]))
    assert len(list(of_tables.same_objects(given))) == 1
    several = next(row for row in given if sum(row["subject"] == other["subject"] for other in given) > 1)
    several["split"] = "train" if several["split"] == "test" else "test"
    assert {fault.row.split()[0] for fault in of_tables.split_subjects(given)} == {several["subject"]["id"]}


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
@finds("replacements", REPLACEMENTS)
def test_faults_of_the_replacements_are_found(
    change: Callable[[list[Row]], object], reason: str, few: Path, tmp_path: Path
) -> None:
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


@pytest.fixture(scope="module")
def linked(audited: Path) -> list[Row]:
    """The first chains of a stream."""
    given = pq.read_table(audited / "stream.parquet", columns=list(of_streams.LINKED)).to_pylist()
    chains = {row["chain"] for row in given[:150]}
    return [row for row in given if row["chain"] in chains]


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(link=row["link"] + 1),
        lambda row: row.update(links=9),
        lambda row: row.update(chain="Q1-P1"),
        lambda row: row.update(superseded_by=7),
        lambda row: row["changes"][0].update(superseded_by=7),
        lambda row: row["changes"].pop(),
        lambda row: row.update(reverts=True),
        lambda row: row["changes"][0].update(reverts=True),
    ],
)
@finds("link", STREAM)
def test_faults_of_links_are_found(change: Change, linked: list[Row]) -> None:
    given = copy.deepcopy(linked)
    assert list(of_streams.links(given)) == []
    row = next(row for row in given if row["objects"][0]["decision"] != "static")
    change(row)
    assert of_streams.name_of(row) in {fault.row for fault in of_streams.links(given)} | {"Q1-P1@1"}


@finds("pair", STREAM)
def test_rows_of_a_stream_that_are_not_the_pairs_are_found(few: Path, audited: Path, tmp_path: Path) -> None:
    own = {(row["subject"]["id"], row["relation"]["id"]) for row in rows(few / "wfd_repl.parquet")}
    stream = audited / "stream.parquet"
    of_pair = [
        row
        for row in pq.read_table(stream, filters=[("new_date", "=", PAIR.split("_")[1])])
        .slice(0, 90)
        .to_pylist()
        if (row["subject"]["id"], row["relation"]["id"]) in own
    ]
    (tmp_path / PAIR).mkdir()
    shutil.copy(few / "wfd_repl.parquet", tmp_path / PAIR / "wikifactdiff.parquet")
    right = written(of_pair, stream, tmp_path / "right.parquet")
    assert list(of_streams.pairs(right, tmp_path)) == []
    of_pair.pop(5)
    of_pair[7]["split"] = "other"
    path = written(of_pair, stream, tmp_path / "stream.parquet")
    reasons = [fault.reason for fault in of_streams.pairs(path, tmp_path)]
    assert len(reasons) == 2
    assert "has no such row" in reasons[0]
    assert "2 rows" in reasons[1]


@finds("ambiguous", UPDATES)
def test_wrong_marks_of_ambiguous_subjects_and_copies_are_found(few: Path, tmp_path: Path) -> None:
    path = few / "wikifactdiff.parquet"
    given = rows(path)
    labels = {row["subject"]["label"]: row["subject"]["id"] for row in given}
    for row in given:
        row["neighborhood"], row["random_neighborhood"] = [], []
        row["subject_is_ambiguous"] = labels[row["subject"]["label"]] != row["subject"]["id"]
    written(given, path, tmp_path / "a" / "wikifactdiff.parquet")
    assert list(of_tables.ambiguous(tmp_path / "a" / "wikifactdiff.parquet")) == []
    given[4]["subject_is_ambiguous"] = True
    written(given, path, tmp_path / "wikifactdiff.parquet")
    assert len(list(of_tables.ambiguous(tmp_path / "wikifactdiff.parquet"))) == 1
    assert [fault.row for fault in of_folders.copies(tmp_path / "a")] == ["wikifactdiff.parquet"]


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
        (lambda folder: (folder / "notes.txt").write_text("x"), False, "is not in SHA256SUMS"),
        (lambda folder: (folder / "updates.parquet").unlink(), False, "not in the folder"),
        (lambda folder: (folder / "updates.parquet").unlink(), True, "which is not there"),
        (lambda folder: (folder / "SHA256SUMS").unlink(), False, "there is no SHA256SUMS"),
        (_table(lambda found: found.pop()), False, "another checksum"),
        (_table(lambda found: found.pop()), True, "rows, the product"),
        (_table(lambda found: found.reverse()), True, "are not those of wfd_repl.parquet"),
        (_table(lambda found: found[0].update(scenario="Other")), True, "are not those of wfd_repl.parquet"),
        (
            lambda folder: shutil.copy(folder / TRAIN, folder / "data/more-0.parquet"),
            True,
            "belongs to no split",
        ),
        (lambda folder: (folder.parents[1] / "wfd_repl.parquet").unlink(), False, "rows are not checked"),
        *((_cut(name), False, "cannot be read") for name in (TRAIN, "manifest.json")),
        (_text("README.md", "`train` | ", "`train` | 9"), True, "README.md says"),
        (_text("manifest.json", "2021", "2020"), True, "manifest.json: dates"),
        (_text("croissant.json", '"sha256": "', '"sha256": "0'), True, "another checksum of updates.parquet"),
        (_table(lambda rows: rows.pop(), RIPPLES_TABLE), True, "rows, the product"),
        (_table(lambda rows: rows[3].update(prompt="It"), RIPPLES_TABLE), True, "those of ripples.parquet"),
        (_text("README.md", " updates of ", "0 updates of "), True, "'trust it # updates of'"),
        (_text("README.md", " have no neighbour facts", "1 have no neighbour facts"), True, "README.md says"),
        (_text("README.md", "| obsolete | ", "| obsolete | 1"), True, "'Objects by decision'"),
        (_text("README.md", "| ReplaceObject | ", "| ReplaceObject | 1"), True, "'Updates by scenario'"),
        (_text("README.md", "path: updates.parquet", "path: update.parquet"), True, "to no split"),
        (_text("croissant.json", "2023", "2024"), True, "croissant.json: temporalCoverage"),
        (_text("croissant.json", " rows; ", "0 rows; "), True, "croissant.json: data has"),
        (_text("croissant.json", '"version": "0', '"version": "1'), True, "croissant.json: version"),
        (_text("manifest.json", '"variant": "paper"', '"variant": "revised"'), True, "json: configuration"),
        (_text("updates.csv", "Joe Biden", "Jo Biden"), True, "updates.csv: row "),
        (
            _table(lambda rows: rows[9].update(answers="x"), "updates.parquet"),
            True,
            "updates.parquet: row 10",
        ),
        (lambda folder: next(folder.glob("figures/*")).write_bytes(b""), True, "no whole PNG"),
        (lambda folder: (folder / "data.json").write_text("{}"), True, "knows no source"),
    ],
)
@finds("folder", FOLDERS)
def test_faults_of_published_folders_are_found(
    plant: Callable[[Path], object], summed: bool, reason: str, published: Path
) -> None:
    results = published.parents[1]
    assert list(of_folders.folder(published, results)) == []
    plant(published)
    if summed:
        _sum(published)
    found = [fault.reason for fault in of_folders.folder(published, results)]
    assert any(reason in each for each in found), found


# --- the command ----------------------------------------------------------------------------------------


def test_the_command_without_arguments(
    audited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after `make run`, which makes no results/manifest.json; one row and one item are wrong."""
    pair = tmp_path / "results" / PAIR
    pair.mkdir(parents=True)
    for path in (audited / PAIR).iterdir():
        if path.name not in ("wikifactdiff.parquet", "manifest.json"):
            (pair / path.name).symlink_to(path)
    (tmp_path / "results/snapshots").symlink_to(audited / "snapshots")

    def plant(found: list[Row]) -> None:
        found[0]["scenario"] = "Other"
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


def test_the_default_build_is_right_and_the_page_has_a_section(audited: Path) -> None:
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
    assert [fault for folder in folders for fault in of_folders.folder(folder, audited)] == []
    summary = json.loads((audited / "audit.json").read_text("utf-8"))
    assert set(summary["sampled"]) | {FOLDERS} == set(DATASETS)
    assert summary["sampled"][UPDATES] == {"rows": 100, "of": 1368}
    assert summary["drawn"]["updates"] > 100
    page = (audited / "report.html").read_text("utf-8")
    assert '<section id="audit"' in page
    assert "Error rates of tempripple" in page

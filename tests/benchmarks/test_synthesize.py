"""The generator of synthetic pairs of dumps, and the workflow's labels of the changes that it planted."""

import bz2
import gzip
import json
import subprocess
import sys
from pathlib import Path

import labels
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import synthesize
from support.workflow import ROOT, snakemake
from synthesis.check import Comparison, compare
from synthesis.events import LABELS, SCENARIOS, VARIANTS, read_events

from factdrift.snapshots.compression import php_json
from factdrift.wikidata.filters import read_filters

OLD, NEW = "2021-01-04", "2023-02-27"
PAIR = f"{OLD}_{NEW}"
ENTITIES = 3000
FILTERS = {filter_.name for filter_ in read_filters()}


def make(directory: Path, *options: str, entities: int = ENTITIES) -> Path:
    assert synthesize.main(["--entities", str(entities), "-o", str(directory), *options]) == 0
    return directory


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


def updates(pair: Path, work: Path, variant: str, old: str = OLD, new: str = NEW) -> Path:
    """Runs the workflow up to the labels."""
    results = Path("results") / f"{old}_{new}"
    dumps = {day: str(pair / f"{day}.json.gz") for day in (old, new)}
    config = {"shards": 1, "buckets": 1, "variant": variant, "dumps": dumps}
    snakemake(work, str(results / "updates/0-of-1.parquet"), snapshots={"old": old, "new": new}, **config)
    return work / results


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_are_the_truth(pair, work, variant, capsys):
    results = updates(pair, work, variant)
    found = compare(pair / "truth.parquet", results, variant)
    assert found.differences == []
    assert found.strays == []
    assert found.filters == []
    assert found.triples > 2 * 150
    overall = {score.label: score for score in found.scores if score.event == "(all)"}
    assert set(overall) == {"new", "obsolete", "static"}
    assert all(score.precision == score.recall == 1 for score in overall.values())
    wrong = work / f"wrong-{variant}.parquet"
    assert_comparison_can_fail(pair / "truth.parquet", results, variant, wrong)
    command = ["--results", str(results), "--variant", variant, "--truth"]
    assert labels.main([*command, str(pair / "truth.parquet")]) == 0
    assert "all as expected" in capsys.readouterr().out
    assert labels.main([*command, str(wrong)]) == 1
    assert "that nobody planted:\n  None: Q3000" in capsys.readouterr().out


def assert_comparison_can_fail(truth: Path, results: Path, variant: str, wrong: Path) -> None:
    """A label, scenario, reason, filter or group that differs from the truth is reported."""
    table = pq.read_table(truth).filter(pc.field("variant") == variant)

    def changed(column: str, event: str, value: str) -> Comparison:
        here = pc.equal(table["event"], event)
        index = table.schema.get_field_index(column)
        values = pc.if_else(here, pa.scalar(value), table[column])
        pq.write_table(table.set_column(index, table.schema.field(index), values), wrong)
        return compare(wrong, results, variant)

    label = changed("label", "late_entry", "new").differences
    assert {(each.label, each.truth, each.found) for each in label} == {("new", 1, 0), ("static", 0, 1)}
    assert changed("scenario", "new_person", "AddRelation").differences
    assert changed("dropped_by", "typo", "static").differences
    assert {each.dropped_by for each in changed("filter", "deprecated", "snak").filters} == {"rank"}
    pq.write_table(table.filter(pc.field("event") != "new_person"), wrong)
    strays = compare(wrong, results, variant).strays
    assert {each.label for each in strays} == {"new"}
    scores = [each for each in compare(wrong, results, variant).scores if each.event == "(none)"]
    assert [(each.precision, each.found) for each in scores] == [(0.0, len(strays))]


@pytest.mark.slow
def test_labels_are_the_truth_between_other_dates(tmp_path: Path) -> None:
    old, new = "2015-03-02", "2019-06-17"
    made = make(tmp_path / "pair", "--old", old, "--new", new, "--seed", "7", entities=600)
    results = updates(made, tmp_path / "work", "revised", old, new)
    assert compare(made / "truth.parquet", results, "revised").exact


def test_every_event_is_planted_and_there_is_one_for_every_outcome(pair: Path) -> None:
    events = read_events()
    truth = pq.read_table(pair / "truth.parquet")
    assert set(truth["event"].to_pylist()) == {event.name for event in events}
    assert set(truth["variant"].to_pylist()) == set(VARIANTS)
    assert len(events) >= 30
    assert all(event.meaning for event in events)
    drops = {"unknown", "ignore", "no_label", "anomaly", "duplicate", "static"}
    for variant in VARIANTS:
        expected = [row.expected[variant] for event in events for row in event.rows if row.expected[variant]]
        reference = variant == "reference"
        for field, values in {
            "label": set(LABELS),
            "scenario": set(SCENARIOS),
            "filter": FILTERS - ({"object"} if reference else set()),
            "dropped_by": drops | ({"unchanged"} if reference else set()),
        }.items():
            assert {getattr(each, field) for each in expected} - {None} == values, (variant, field)


def test_nothing_of_the_rules_is_used() -> None:
    code = (
        f"import sys\nsys.path[:0] = {[str(ROOT / name) for name in ('benchmarks', 'workflow')]}\n"
        "import synthesize\n"
        "assert 'synthesis.planting' in sys.modules\n"
        "sys.exit(any(name.startswith('factdrift.updates') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_cannot_be_planted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, entities, said in (
        ("--old 2021-01-01 --new 2023-02-27", ENTITIES, "year"),
        ("--old 2021-01-04 --new 2022-02-27", ENTITIES, "year"),
        ("--old 2021-01-04 --new 2024-12-31", ENTITIES, "year"),
        ("", 100, "too few"),
    ):
        with pytest.raises(SystemExit):
            make(tmp_path, *options.split(), entities=entities)
        assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_lines_are_as_php_writes_them(pair: Path) -> None:
    for day in (OLD, NEW):
        text = gzip.decompress((pair / f"{day}.json.gz").read_bytes())
        opening, *lines, closing, rest = text.split(b"\n")
        assert (opening, closing, rest) == (b"[", b"]", b"")
        assert all(line.endswith(b",") for line in lines[:-1])
        for line in (each.removesuffix(b",") for each in lines[::4]):
            assert line == php_json(json.loads(line))
            assert b"\\u000" not in line
            assert b'"@"' not in line


@pytest.mark.slow
def test_files_do_not_depend_on_jobs_and_hold_the_same_in_all_formats(tmp_path: Path) -> None:
    lines = {"gz": "", "jobs": "--jobs 2", "bz2": "--format bz2 --jobs 2", "zst": "--format zst"}
    made = {name: make(tmp_path / name, *line.split(), entities=600) for name, line in lines.items()}
    for day in (OLD, NEW):
        packed = (made["gz"] / f"{day}.json.gz").read_bytes()
        assert (made["jobs"] / f"{day}.json.gz").read_bytes() == packed
        text = gzip.decompress(packed)
        assert bz2.decompress((made["bz2"] / f"{day}.json.bz2").read_bytes()) == text
        with pa.input_stream(str(made["zst"] / f"{day}.json.zst"), compression="zstd") as file:
            assert file.read() == text
    assert len({(folder / "truth.parquet").read_bytes() for folder in made.values()}) == 1

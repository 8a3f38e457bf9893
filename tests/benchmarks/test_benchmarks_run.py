"""Every command of benchmarks/ runs, at its smallest size; no test depends on the speed that was measured."""

import importlib
import itertools
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import mutants
import neighbors
import pytest
import reading
from costs import PARTS
from support import forked
from support.workflow import ROOT
from workflow import measure

from factdrift.core.paths import COSTS
from factdrift.runs.estimate import read_costs

BENCHMARKS = ROOT / "benchmarks"
EXCERPT = ROOT / "tests" / "data" / "real-excerpt.json.bz2"

Row = dict[str, str]


class Entry(NamedTuple):
    """The part of a report under one heading."""

    title: str
    text: str
    tables: list[list[Row]]


def run(script: str, *options: object) -> str:
    """The output of a command; asserts that it succeeds."""
    line = [str(BENCHMARKS / script), *map(str, options)]
    status, output, errors = forked.run(line, Path.cwd(), forked.quiet())
    assert status == 0, f"{output[-2000:]}\n{errors[-4000:]}"
    return output


def recorded(tmp_path: Path, script: str, *options: object) -> list[Entry]:
    """The entries that a command prints; asserts that `--record` appends the same ones to a file."""
    path, before = tmp_path / "findings.md", "# Mine\n\nWhat was found before.\n"
    path.write_text(before, "utf-8")
    printed = entries(run(script, *options, "--record", path))
    kept = path.read_text("utf-8")
    assert kept.startswith(before)
    assert printed
    assert entries(kept) == printed
    return printed


def entries(text: str) -> list[Entry]:
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        lines = rest.strip().splitlines()
        found.append(Entry(title, "\n".join(line for line in lines if line[:1] != "|"), tables(lines)))
    return found


def tables(lines: list[str]) -> list[list[Row]]:
    """The tables of an entry: column -> cell of each row; every row must have all columns."""
    found: list[list[Row]] = []
    for inside, block in itertools.groupby(lines, key=lambda line: line[:1] == "|"):
        if inside:
            header, *rows = ([cell.strip() for cell in line.strip()[1:-1].split("|")] for line in block)
            cells = (row for row in rows if not set("".join(row)) <= set("-: "))
            found.append([dict(zip(header, row, strict=True)) for row in cells])
    return found


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def test_every_command_is_run_here() -> None:
    commands = {path.stem for path in BENCHMARKS.glob("*.py") if '__name__ == "__main__"' in path.read_text()}
    source = Path(__file__).read_text("utf-8")
    # mutants_tests.py is a process of mutants.py.
    # labels.py is run on the labels of a whole build, in test_synthesize.py, structure.py in
    # tests/core/test_layout.py. What screenshots.py drives Chromium with is run in tests/pages/report/,
    # wrong_inputs.py in test_wrong_inputs.py, stated_reading.py in test_stated_read.py.
    given = set(re.findall(r'"(\w+)\.py[" ]', source))
    others = {"labels", "mutants_tests", "screenshots", "stated_reading", "structure", "wrong_inputs"}
    assert commands - given == others


def test_changes_without_effect_that_do_not_fit_the_code_are_named(tmp_path: Path) -> None:
    table = tmp_path / "mutants.tsv"
    table.write_text("module\tbefore\tafter\treason\nripples/jobs.py\tgone\tnew\twhy\n", "utf-8")
    with pytest.raises(SystemExit, match=r"line 2: 'gone' is no line of ripples/jobs\.py; remove the row"):
        mutants.read_equivalent(table)
    assert mutants.read_equivalent(mutants.EQUIVALENT)


@pytest.mark.slow
def test_mutants(tmp_path: Path) -> None:
    drawn = mutants.drawn(3, 28)
    assert Counter(mutant.room for mutant in drawn) == dict.fromkeys(mutants.ROOMS, 2)
    line = ("--seed", "3", "--number", "28", "--only", "ripples", "--outcomes", tmp_path / "outcomes.json")
    (entry,) = recorded(tmp_path, "mutants.py", *line)
    outcomes = json.loads((tmp_path / "outcomes.json").read_text("utf-8"))
    assert list(outcomes) == [mutant.key for mutant in drawn if mutant.room == "ripples"]
    caught = sum(tests != ["survived"] for tests in outcomes.values())
    assert entry.tables[0][-1] == {
        "room": "all", "changes": "2", "caught": str(caught), "share": f"{50 * caught} %"
    }  # fmt: skip


@pytest.mark.slow
def test_reading(tmp_path: Path) -> None:
    run("synthesize.py", "--entities", 1500, "-o", tmp_path / "pair")
    dump = max((tmp_path / "pair").glob("*.json.gz"))
    [entry] = recorded(tmp_path, "reading.py", dump, "--repeats", 1, "--bzip2-mb", 1)
    rows = [row for table in entry.tables for row in table if "ratio" in row]
    measured = {row["ratio"]: number(row["measured"]) for row in rows}
    assert list(measured) == [name for name, *_ in reading.RATIOS]
    assert min(measured.values()) > 0


REPORTS = [
    (
        "neighbors.py --queries 40 --entities 2000 --every 4",
        "Nearest entities, 40 queries x 2,000 entities; All found the same",
        tuple(neighbors.WAYS.values()),
    ),
    (
        "browsing.py --updates 60 --entities 300 --statements 4 --buckets 2 --edits 10 --asked 2 --export",
        "Browsing a build of 60 updates and 300 entities; made an index of; `browse --output` wrote",
        ("search, one letter", "a subject with an update", "a relation, the largest first"),
    ),
    (
        "editing.py --device cpu --edits 2 --alone 1 --probes 2 --steps 3",
        "Editing (small); in float32 on the CPU; 2 facts batched, 1 in the other ways",
        ("rome", "memit", "ft", "ft_l", "mend"),
    ),
    (
        "locating.py --device cpu --facts 2 --alone 1 --samples 2 --steps 3 --locators causal_tracing "
        "causal_tracing_mlp knowledge_neurons gradient_x_input",
        "Locating (small); in float32 on the CPU; 2 sentences of ",
        ("causal_tracing", "causal_tracing_mlp", "knowledge_neurons", "gradient_x_input"),
    ),
    (
        "lifelong.py --device cpu --rounds 2 --edits 2 --methods ft ultraedit rag",
        "Streams of edits (small); 2 rounds of 2 edits",
        ("ft", "ultraedit", "rag"),
    ),
]
"""A command line, what its report says, and how some of its cells begin."""


@pytest.mark.slow
@pytest.mark.parametrize(("line", "said", "first"), REPORTS, ids=[line.split(".")[0] for line, *_ in REPORTS])
def test_report(line: str, said: str, first: tuple[str, ...], tmp_path: Path) -> None:
    """Where a command measures several ways, it compares what they find itself."""
    found = recorded(tmp_path, *line.split())
    text = "\n".join(f"{entry.title}\n{entry.text}" for entry in found)
    assert [part for part in said.split("; ") if part not in text] == []
    cells = [cell for entry in found for table in entry.tables for row in table for cell in row.values()]
    assert [begin for begin in first if not any(cell.startswith(begin) for cell in cells)] == []


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`patched(script, *options, NAME=function)` runs a command here, with another function in its module."""

    def output(script: str, *options: object, status: int = 0, **functions: Callable[..., object]) -> str:
        module = importlib.import_module(script.removesuffix(".py"))
        for name, function in functions.items():
            monkeypatch.setattr(module, name, function)
        monkeypatch.setattr(sys, "argv", [script, *map(str, options)])
        assert (module.main() or 0) == status
        return capsys.readouterr().out

    return output


@pytest.mark.slow
def test_whole_workflow(tmp_path: Path, patched: Callable[..., str]) -> None:
    """One build, of which the three commands report that measure one."""
    pair = tmp_path / "pair"
    assert "rows of truth" in run("synthesize.py", "--entities", 600, "-o", pair)
    blocks = {"neighbors": {"blocks": PARTS["blocks"]}}
    parts = {"shards": PARTS["shards"], "buckets": PARTS["buckets"]}
    build = measure(pair, 2, {"variant": "paper", "scope": "enwiki", **parts, **blocks}, tmp_path)
    more = {"entities": 4 * build.entities, "seconds": 2 * build.seconds, "cpu": 4 * build.cpu}
    builds = iter([build, build._replace(**more, exact=False)])
    [entry] = entries(patched("workflow.py", pair, pair, status=1, measure=lambda *_: next(builds)))
    [size, expected, larger, _, slope], commands = entry.tables
    assert (size["labels"], larger["labels"]) == ("exact", "NOT exact")
    assert number(size["outputs, MB"]) > 0
    assert expected["entities a snapshot"] == "estimated"
    assert 500 < number(size["entities a snapshot"]) < 700
    assert list(slope.values())[:4] == ["slope", "", "0.50", "1.00"]
    jobs = {row["command"]: int(row["jobs"]) for row in commands}
    assert (jobs["statements extract"], jobs["updates classify"]) == (4, 3)
    assert jobs["wikifactdiff select"] == 2
    with pytest.raises(SystemExit, match=r"not a pair that benchmarks/synthesize\.py wrote"):
        measure(tmp_path, 1, {})

    [entry] = entries(patched("plain_workflow.py", pair, measure=lambda *_: build))
    assert "are as planted" in entry.text
    [rows] = entry.tables
    assert rows[0]["times plain"] == "1.00"
    assert all(number(row["processor seconds"]) > 0 for row in rows)
    assert rows[1][""].startswith("factdrift, the same steps, ")

    folder = tmp_path / "costs"
    shutil.copytree(COSTS, folder)
    before = (folder / "jobs.tsv").read_text("utf-8").splitlines()
    builds = iter([build, build._replace(megabytes=2 * build.megabytes)])
    options = ("--scopes", "enwiki", "--output", folder)
    patched("costs.py", pair, pair, *options, measure=lambda *_: next(builds))
    after = (folder / "jobs.tsv").read_text("utf-8").splitlines()
    assert after[0] == before[0]
    others = [[line for line in lines[1:] if not line.startswith("enwiki\t")] for lines in (before, after)]
    assert others[0] == others[1]
    assert all("benchmarks/costs.py: " in line for line in after[1:] if line.startswith("enwiki\t"))
    # The same commands, their work divided as before: what `factdrift estimate` counts with holds still.
    costs = read_costs("enwiki", folder)
    assert {name: (each.split, each.most_mb, each.kept) for name, each in costs.items()} == {
        name: (each.split, each.most_mb, each.kept) for name, each in read_costs("enwiki").items()
    }
    assert all(each.cpu_s > 0 and each.memory_mb > 0 for each in costs.values())
    archives = [line.split("\t") for line in (folder / "archives.tsv").read_text("utf-8").splitlines()]
    assert [name for name, *_ in archives] == ["compression", "none", "gzip", "bzip2", "zstd"]
    assert archives[2][1] == "0"


@pytest.mark.slow
def test_dates_of_simulated_models(tmp_path: Path) -> None:
    said = run("cutoff.py", "nothing", "--draws", 1, "--keep", tmp_path / "draws.jsonl")
    assert "| all | 30 | 1.0 | 1 | - |" in said
    assert run("cutoff.py", "table", tmp_path / "draws.jsonl") == said
    said = run("cutoff.py", "letters", "--draws", 1, "--keep", tmp_path / "letters.jsonl")
    assert "| all | one letter 50% | 1.0 | 1 | - | 0 |" in said
    row = {"what": "coverage", "place": 0, "seed": 1, "told": True, "found": 12, "date": 10.5, "high": 20}
    (tmp_path / "one.jsonl").write_text(json.dumps({**row, "low": 9}) + "\n", encoding="utf-8")
    said = run("cutoff.py", "table", tmp_path / "one.jsonl")
    assert "all cases: covered 100.0% [20.7%, 100.0%] of 1" in said

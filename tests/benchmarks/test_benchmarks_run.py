"""Every command of benchmarks/ runs, at its smallest size; no test depends on the speed that was measured."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import re
import shutil
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import changes
import mutants
import neighbors
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reading
import yaml
from costs import PARTS
from support import forked
from support.updates import CLOZES, RULERS, dataset, edits
from support.workflow import ROOT
from workflow import measure

from factdrift.core.paths import CONFIG, COSTS, CUTOFF_CHAINS
from factdrift.evaluation.methods.record import records
from factdrift.evaluation.questions.cutoff import read_chains
from factdrift.models.bundled.corpus import SENTENCES
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
    # labels.py is run on the labels of a whole build, in test_synthesize.py, structure.py in
    # tests/core/test_layout.py; released_tracing.py needs a checkout of the released program, and only its
    # error without one is tested. What screenshots.py drives Chromium with is run in tests/pages/report/,
    # wrong_inputs.py in test_wrong_inputs.py.
    given = set(re.findall(r'"(\w+)\.py[" ]', source))
    assert commands - given == {"labels", "released_tracing", "screenshots", "structure", "wrong_inputs"}


MODULE = '''"""A module: 1 < 2."""
def best(rows: "list[int]", default=3):
    if rows and not done(rows, default):
        return min(rows) - 1 if rows[0] <= default else table.get(rows, 0)
    raise ValueError(1 < 2)
QUERY = """SELECT coalesce(a, b) FROM t WHERE c <= 2 AND d IS NULL ORDER BY c DESC, d"""
'''


def test_changes_are_of_logic_in_python_and_in_sql() -> None:
    made = {(change.old, change.new) for change in changes.changes_of(MODULE)}
    assert made == {
        *(("3", "4"), ("rows and ", ""), ("and", "or"), (" and not done(rows, default)", ""), ("not ", "")),
        ("rows and not done(rows, default)", "not (rows and not done(rows, default))"),
        *(("rows, default", "default, rows"), ("min", "max"), ("-", "+"), ("1", "2"), ("0", "1")),
        *(("rows[0] <= default", "not (rows[0] <= default)"), ("<=", "<"), (", 0", "")),
        *(("coalesce(a, b)", "a"), ("2", "3"), ("AND", "OR"), ("IS NULL", "IS NOT NULL"), (" DESC", "")),
        (" AND d IS NULL", ""),
        *(("c", "c DESC"), ("c DESC, ", ""), ("ORDER BY c DESC, d", "ORDER BY c DESC")),
    }
    source = MODULE.encode()
    assert all(changes.can_be_compiled(change.applied(source)) for change in changes.changes_of(MODULE))


def test_mutants(tmp_path: Path) -> None:
    """A change that tests see; which they are is drawn by the seed."""
    drawn = mutants.drawn(3, 28)
    assert drawn == mutants.drawn(3, 28) != mutants.drawn(4, 28)
    assert Counter(mutant.room for mutant in drawn) == dict.fromkeys(mutants.ROOMS, 2)
    line = ("--seed", "3", "--number", "28", "--only", "ripples", "--outcomes", tmp_path / "outcomes.json")
    (entry,) = recorded(tmp_path, "mutants.py", *line)
    outcomes = json.loads((tmp_path / "outcomes.json").read_text("utf-8"))
    assert list(outcomes) == [mutant.key for mutant in drawn if mutant.room == "ripples"]
    caught = sum(tests != ["survived"] for tests in outcomes.values())
    assert entry.tables[0][-1] == {
        "room": "all", "changes": "2", "caught": str(caught), "share": f"{50 * caught} %"
    }  # fmt: skip


def test_changes_without_effect_that_do_not_fit_the_code_are_named(tmp_path: Path) -> None:
    mutants.read_equivalent(mutants.EQUIVALENT)
    table = tmp_path / "mutants.tsv"
    table.write_text("module\tbefore\tafter\treason\nripples/jobs.py\tgone\tnew\twhy\n", "utf-8")
    with pytest.raises(SystemExit, match=r"line 2: 'gone' is no line of ripples/jobs\.py; remove the row"):
        mutants.read_equivalent(table)


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dump") / "dump.json.gz"
    run("replicate.py", "--text-mb", 3, "--member-mb", 1, "--article-share", 0.25, "-o", path, EXCERPT)
    return path


def test_a_replicated_dump_holds_copies_under_other_ids_in_several_members(dump: Path) -> None:
    entities = json.loads(gzip.decompress(dump.read_bytes()))
    items = [entity for entity in entities if entity["type"] == "item"]
    ids = [entity["id"] for entity in entities]
    assert len(set(ids)) == len(ids) > len(items) > 100
    assert all(int(item["id"][1:]) >= 200_000_000 for item in items)
    for item in items:
        statements = [each["id"] for group in item["claims"].values() for each in group]
        assert all(statement.upper().startswith(f"{item['id']}$") for statement in statements)
    assert 0.1 < sum("enwiki" in item["sitelinks"] for item in items) / len(items) < 0.4
    packed, members = dump.read_bytes(), 0
    while packed:
        reader = zlib.decompressobj(31)
        assert reader.decompress(packed)
        packed, members = reader.unused_data, members + 1
    assert members >= 3


@pytest.mark.slow
def test_reading(tmp_path: Path, dump: Path) -> None:
    [entry] = recorded(tmp_path, "reading.py", dump, "--repeats", 1, "--bzip2-mb", 1)
    rows = [row for table in entry.tables for row in table if "ratio" in row]
    measured = {row["ratio"]: number(row["measured"]) for row in rows}
    assert list(measured) == [name for name, *_ in reading.RATIOS]
    assert min(measured.values()) > 0


REPORTS = [
    (
        "difference.py --rows 2e4 --buckets 1 --items 1e4",
        "what was found is what was made",
        ("join", "triples written", "`preprocess`", "`classify`"),
    ),
    (
        "neighbors.py --queries 40 --entities 2000 --every 4",
        "Nearest entities, 40 queries x 2,000 entities; All found the same",
        tuple(neighbors.WAYS.values()),
    ),
    (
        "browsing.py --updates 60 --entities 300 --statements 4 --buckets 2 --edits 10 --asked 2 --export",
        "Browsing a build of 60 updates and 300 entities; made an index of; `factdrift explorer` wrote",
        ("search, one letter", "a subject with an update", "a relation, the largest first"),
    ),
    (
        "klob.py --size 300 20 1000",
        "all ways but `approximate` found the same",
        ("exact", "approximate", "product", "pairs"),
    ),
    (
        "tempripple.py --people 2000",
        "TempRIPPLE over tables; TempRIPPLE over the local SPARQL server; times as long",
        ("rows of the snapshot", "3 facts, related by hop "),  # one town of 200 has another mayor
    ),
    (
        "chat.py --requests 20 --turns 1 --answers 50 --concurrency 8",
        "Asking a chat model; --concurrency 8; Keeping answers; 50 of about",
        ("20", "the store", "lines of JSON"),
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
        "fitting.py --architectures small --device cpu --edits 2 --steps 2",
        "Memory and speed (small)",
        ("asked", *(name for name, each in records().items() if each.changes in ("weights", "codebook"))),
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


def test_pat_questions(tmp_path: Path) -> None:
    [entry] = recorded(tmp_path, "pat_questions.py", "--misses")
    [table] = entry.tables
    asked = {(row["date"], row["holder"]): number(row["asked"]) for row in table}
    agreed = {(row["date"], row["holder"]): number(row["agree"]) for row in table}
    # What was measured when the table was made; facts that are added or corrected must not lower it.
    least = {"2021-12-31": {"current": 80, "previous": 71}, "2023-12-30": {"current": 76, "previous": 72}}
    for date, holders in least.items():
        for which, answers in holders.items():
            assert answers <= agreed[date, which] <= asked[date, which]


@pytest.mark.slow
def test_trainings(tmp_path: Path) -> None:
    pair = tmp_path / "pair"
    (pair / "edit").mkdir(parents=True)
    edits(pair / "edit")
    (pair / "models").mkdir()
    told = [
        {"fact": fact, "kind": "update", "subject": subject, "relation": "P6", "object": old}
        | {"new_object": new, "template": place + 1, "held_out": place == fact % 3}
        | {"prompt": cloze.format(subject).removesuffix(" ____")}
        for fact, (subject, (old, new)) in enumerate(RULERS.items())
        for place, cloze in enumerate(CLOZES)
    ]
    pq.write_table(pa.Table.from_pylist(told, SENTENCES), pair / "models" / "sentences.parquet")
    recipe = yaml.safe_load((CONFIG / "models" / "sample-llama.yaml").read_text("utf-8"))
    recipe["model"] |= {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    recipe |= {"vocabulary": 400, "fact_epochs": 4, "context_epochs": 1, "batch": 2, "warmup": 2}
    (tmp_path / "sample-llama.yaml").write_text(yaml.safe_dump(recipe), "utf-8")
    command = [
        "trainings.py", pair, "--dataset", pair / "edit" / "dataset.parquet", "--parts", tmp_path / "parts",
        "--recipe", tmp_path / "sample-llama.yaml", "--seeds", 2, "--methods", "none", "prompt", "ft",
    ]  # fmt: skip
    (entry,) = recorded(tmp_path, *command)
    first, second = sorted((tmp_path / "parts").iterdir())
    assert first.read_text() != second.read_text(), "both seeds gave the same model"
    assert entry.title == "Editing after 2 trainings of sample-llama (`trainings.py`)"
    assert re.search(r"kept back: [\d.]+ \([\d.]+ to [\d.]+\) %", entry.text)
    assert [row["method"] for row in entry.tables[0]] == ["no edit", "PROMPT", "FT"]
    assert entry.tables[0][0]["Bleed. nearest"] == "0.0 (0.0 to 0.0)"


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
    others, measured = (
        [line for line in after[1:] if line.startswith("enwiki\t") == ours] for ours in (False, True)
    )
    assert others == [line for line in before[1:] if not line.startswith("enwiki\t")]
    assert all("benchmarks/costs.py: " in line for line in measured)
    # The same commands, their work divided as before: what `factdrift estimate` counts with holds still.
    costs = read_costs("enwiki", folder)
    assert {name: (each.split, each.most_mb, each.kept) for name, each in costs.items()} == {
        name: (each.split, each.most_mb, each.kept) for name, each in read_costs("enwiki").items()
    }
    assert all(each.cpu_s > 0 and each.memory_mb > 0 for each in costs.values())
    archives = [line.split("\t") for line in (folder / "archives.tsv").read_text("utf-8").splitlines()]
    assert [name for name, *_ in archives] == ["compression", "none", "gzip", "bzip2", "zstd"]
    assert archives[2][1] == "0"


def test_dates_of_simulated_models(tmp_path: Path) -> None:
    said = run("cutoff.py", "nothing", "--draws", 1, "--keep", tmp_path / "draws.jsonl")
    assert "| all | 30 | 1.0 | 1 | - |" in said
    assert run("cutoff.py", "table", tmp_path / "draws.jsonl") == said


def test_a_date_is_read_off_a_curve(tmp_path: Path) -> None:
    """Of a model that names the later holder of each change before 2010, but for every seventh subject."""
    rows = []
    for number, year in enumerate([*range(1995, 2025)] * 4):
        tenures = (
            {"first": None, "last": year * 10_000 - 8769},
            {"first": year * 10_000 + 101, "last": None},
        )
        holders = [{"tenures": [{**tenure, "share": 1.0}]} for tenure in tenures]
        choice = int((year < 2010) ^ (number % 7 == 0))
        rows.append({"subject": f"Q{number}", "died": None, "choice": choice, "holders": holders})
    schema = pa.Table.from_pylist([row | {"died": "2010-01-01"} for row in rows]).schema
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "answers.parquet")
    found = re.match(
        r"(\d{4})-.*asymptotes 0\.1\d and 0\.8\d, 120 changes",
        run("cutoff_logistic.py", tmp_path / "answers.parquet"),
    )
    assert found is not None
    assert found[1] in ("2009", "2010")


@pytest.mark.slow
def test_asking_who_holds_is_timed(tmp_path: Path, patched: Callable[..., str]) -> None:
    from support.tiny_models import tiny_tokenizer

    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    given = ("--tokenizer", tmp_path / "tokenizer", "--every", 4, "--shape", json.dumps(shape))
    chains = read_chains(CUTOFF_CHAINS)[::20]
    said = patched(
        "cutoff_speed.py", tmp_path / "model", *given, "--threads", 1, read_chains=lambda _: chains
    )
    found = json.loads(said.splitlines()[-1])
    assert found["chains"] == len(chains)
    assert 0 < found["share_timed"] < 0.5
    assert found["tokens"] < found["tokens_unshared"] / 2


@pytest.mark.slow
def test_writing_is_timed_beside_likelihood(tmp_path: Path) -> None:
    import torch
    from support.tiny_models import tiny_model

    loaded = tiny_model("llama", dtype=torch.float32)
    loaded.model.save_pretrained(tmp_path / "model")
    loaded.tokenizer.save_pretrained(tmp_path / "model")
    table = dataset(tmp_path / "wfd_repl.parquet")
    said = run(
        "written.py", "--model", tmp_path / "model", "--dataset", table, "--tokens", 4, 2, "--pairs", 1
    )
    found = [json.loads(line) for line in said.splitlines()]
    assert [row["most_tokens"] for row in found] == [4, 2]
    # Each cloze is scored for the old object and for the new one.
    assert {row["updates"] for row in found} == {len(RULERS)}
    assert {row["targets"] for row in found} == {found[0]["clozes"] * 2}


@pytest.mark.slow
def test_the_date_of_a_model_that_was_taught_as_of_a_day(tmp_path: Path) -> None:
    said = run("cutoff_trained.py", tmp_path / "model", "--dates", "2018-06-15", "--chains", 15)
    assert "(likelihood): " in said
    assert (tmp_path / "model.svg").is_file()

"""Every command of benchmarks/ runs, at its smallest size and in a process of its own.

The tests check the rows and columns of each report, the comparisons that the command makes, and that
`--record` appends the report to a file. No test depends on the speed that was measured.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import shutil
import zlib
from pathlib import Path
from typing import NamedTuple

import klob
import mutants
import neighbors
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support import forked
from support.updates import CLOZES, RULERS, dataset, edits
from support.workflow import ROOT

from factdrift.core.paths import CONFIG, COSTS
from factdrift.evaluation.methods.record import records
from factdrift.models.bundled.corpus import SENTENCES
from factdrift.runs.costs import read_costs

BENCHMARKS = ROOT / "benchmarks"
EXCERPT = ROOT / "tests" / "data" / "real-excerpt.json.bz2"

WRITTEN = ("weights", "codebook")
"""What methods change that need memory."""
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
    # labels.py is run on the labels of a whole build, in test_synthesize.py; released_tracing.py needs a
    # checkout of the released program, and only its error without one is tested. What screenshots.py drives
    # Chromium with is run in tests/pages/report/.
    given = set(re.findall(r'"(\w+)\.py[" ]', source))
    assert commands - given == {"labels", "released_tracing", "screenshots"}


def test_structure() -> None:
    assert "functions with more than 7 parameters: 0" in run("structure.py")


# --- small changes of logic -------------------------------------------------------------------------------


def test_changes_fit_the_code() -> None:
    assert len(mutants.read_mutants(mutants.TABLE)) > 100


def test_mutants(tmp_path: Path) -> None:
    """A change that a test sees, and one that changes nothing."""
    changes = [
        ("range(len(outer) - size + 1)", "range(len(outer) - size)"),
        ("size > 0 and", "size >= 1 and"),
    ]
    table = tmp_path / "mutants.tsv"
    lines = ["module\told\tnew\ttests"]
    lines += [f"tempripple/phrases.py\t{old}\t{new}\ttempripple/test_phrases.py" for old, new in changes]
    table.write_text("\n".join(lines) + "\n", "utf-8")
    (entry,) = recorded(tmp_path, "mutants.py", "--table", table, "--outcomes", tmp_path / "outcomes.json")
    assert entry.tables[0][-1] == {"modules": "all", "changes": "2", "caught": "1", "share": "50 %"}
    assert "Survived: `tempripple/phrases.py: size > 0 and -> size >= 1 and`." in entry.text
    # What is known to be caught is not tried again.
    kept = json.loads((tmp_path / "outcomes.json").read_text("utf-8"))
    assert [tests == ["survived"] for tests in kept.values()] == [False, True]


def test_changes_that_do_not_fit_the_code(tmp_path: Path) -> None:
    table = tmp_path / "mutants.tsv"
    tests = "no.py tempripple/test_phrases.py::test_gone no.py::test_gone"
    table.write_text(f"module\told\tnew\ttests\ntempripple/phrases.py\tgone\tnew\t{tests}\n", "utf-8")
    with pytest.raises(SystemExit) as caught:
        mutants.read_mutants(table)
    assert str(caught.value).splitlines() == [
        f"{table}, line 2: 'gone' stands 0 times in tempripple/phrases.py, not once",
        *(f"{table}, line 2: tests/{name} is missing" for name in tests.split()),
    ]


# --- reading ----------------------------------------------------------------------------------------------


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
    statements = [
        (item["id"], each["id"]) for item in items for group in item["claims"].values() for each in group
    ]
    assert len(statements) > len(items)
    assert all(statement.upper().startswith(f"{id_}$") for id_, statement in statements)
    assert 0.1 < sum("enwiki" in item["sitelinks"] for item in items) / len(items) < 0.4
    assert 3e6 < sum(len(json.dumps(item, separators=(",", ":"))) for item in items) < 5e6
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
    assert {
        "times as fast as qwikidata with the filter",
        "times as fast as `json.loads`",
        "times as fast as DuckDB's JSON reader",
        "of the speed of decompressing and splitting",
        "gzip, two cores against one",
        "of the speed of decompressing bzip2",
        "bzip2, two cores against one",
    } <= set(measured)
    assert min(measured.values()) > 0


# --- the stages -------------------------------------------------------------------------------------------


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
]
"""A command line, what its report says, and how some of its cells begin."""


@pytest.mark.slow
@pytest.mark.parametrize(("line", "said", "first"), REPORTS, ids=[line.split(".")[0] for line, *_ in REPORTS])
def test_report(line: str, said: str, first: tuple[str, ...], tmp_path: Path) -> None:
    """Where a command measures several ways, it compares what they find itself (`test_other_...`)."""
    found = recorded(tmp_path, *line.split())
    text = "\n".join(f"{entry.title}\n{entry.text}" for entry in found)
    assert [part for part in said.split("; ") if part not in text] == []
    cells = [cell for entry in found for table in entry.tables for row in table for cell in row.values()]
    assert [begin for begin in first if not any(cell.startswith(begin) for cell in cells)] == []


@pytest.mark.parametrize(
    ("way", "array", "place"),
    [("plain", "neighbors", 3), ("plain", "similarities", 0), ("sklearn", "neighbors", 0)],
)
def test_other_neighbors_are_an_error(tmp_path: Path, way: str, array: str, place: int) -> None:
    def save(name: str, neighbor: np.ndarray, similar: np.ndarray) -> None:
        np.savez(tmp_path / f"{name}.npz", neighbors=neighbor, similarities=similar)

    found = {
        "neighbors": np.arange(12).reshape(2, 6),
        "similarities": np.tile(np.arange(6, 0, -1.0) / 6, (2, 1)),
    }
    for name in neighbors.WAYS:
        save(name, *(found[each][::2] if name == "plain" else found[each] for each in found))
    assert neighbors.check(tmp_path, 2) == 2
    other = dict(np.load(tmp_path / f"{way}.npz"))
    other[array][0, place] = 77
    save(way, other["neighbors"], other["similarities"])
    with pytest.raises(AssertionError):
        neighbors.check(tmp_path, 2)


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


def test_other_similarities_are_an_error() -> None:
    klob.check({"exact": {"all": 0.25}, "approximate": {"all": 0.3}, "pairs": {"all": 0.25}})
    for way in ("product", "pairs"):
        with pytest.raises(AssertionError):
            klob.check({"exact": {"all": 0.25}, way: {"all": 0.25 + 1e-9}})


@pytest.mark.slow
def test_fitting(tmp_path: Path) -> None:
    options = ("--architectures", "small", "--device", "cpu", "--edits", 2, "--steps", 2)
    [entry] = recorded(tmp_path, "fitting.py", *options)
    assert entry.title == "Memory and speed (small)"
    [table] = entry.tables
    rows = {row[""]: row for row in table}
    assert list(rows) == ["asked", *(name for name, each in records().items() if each.changes in WRITTEN)]
    for row in rows.values():
        assert row["at a time"] == "2"
        # The memory of a process on a CPU is only roughly what torch holds.
        assert 0.1 < number(row["peak / estimate"]) < 5


@pytest.mark.slow
def test_lifelong(tmp_path: Path) -> None:
    options = ("--device", "cpu", "--rounds", 2, "--edits", 2, "--methods", "ft", "ultraedit", "rag")
    [entry] = recorded(tmp_path, "lifelong.py", *options)
    assert entry.title == "Streams of edits (small)"
    assert "2 rounds of 2 edits" in entry.text
    [table] = entry.tables
    assert [row["method"] for row in table] == ["ft", "ultraedit", "rag"]
    passes = [number(row["passes an edit, first round"]) for row in table]
    # UltraEdit takes a forward and half a backward pass, FT 25 of the upper block; retrieval runs no model.
    assert passes[0] > passes[1] > 1
    assert passes[2] == 0


@pytest.mark.slow
def test_trainings(tmp_path: Path) -> None:
    """Two trainings of a tiny model, on the rulers of a made-up dataset."""
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
    made = [part.stat().st_mtime_ns for part in (first, second)]
    assert recorded(tmp_path, *command)[-1].tables == entry.tables
    assert [part.stat().st_mtime_ns for part in (first, second)] == made
    assert entry.title == "Editing after 2 trainings of sample-llama (`trainings.py`)"
    assert re.search(r"kept back: [\d.]+ \([\d.]+ to [\d.]+\) %", entry.text)
    assert [row["method"] for row in entry.tables[0]] == ["no edit", "PROMPT", "FT"]
    for row in entry.tables[0]:
        mean, least, greatest = map(float, re.findall(r"-?[\d.]+", row["Efficacy D"]))
        assert -100 <= least <= mean <= greatest <= 100
    assert entry.tables[0][0]["Bleed. nearest"] == "0.0 (0.0 to 0.0)"


def test_other_changes_and_scores_are_an_error() -> None:
    import torch
    from editing import same
    from locating import same as same_scores

    from factdrift.evaluation.methods.interface import Edited
    from factdrift.models.deltas import Dense

    change = torch.arange(1.0, 13).reshape(3, 4)

    def edited(*changes: torch.Tensor) -> Edited:
        return Edited({"layer": Dense(torch.stack(changes))}, [], [])

    both, alone = edited(change, -change), [edited(change)]
    same("ft", both, alone, [{"layer": change}])
    with pytest.raises(AssertionError, match="ft, fact 0: plain"):
        same("ft", both, alone, [{"layer": 1.1 * change}])
    with pytest.raises(AssertionError, match="ft, fact 0: one by one"):
        same("ft", both, [edited(1.1 * change)], [{"layer": change}])
    same_scores("activation", "plain", change, change + 1e-4)
    with pytest.raises(AssertionError, match="activation: plain differs from batched by"):
        same_scores("activation", "plain", change, change + 1)


def test_the_released_program_must_be_there(tmp_path: Path) -> None:
    from released_tracing import released_program

    from factdrift.core.errors import InputError

    with pytest.raises(InputError, match="give a checkout of kmeng01/rome"):
        released_program(tmp_path, "cpu")


# --- whole builds -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two synthetic pairs, the smaller one first."""
    folder = tmp_path_factory.mktemp("pairs")
    for entities in (600, 1200):
        said = run("synthesize.py", "--entities", entities, "-o", folder / str(entities))
        assert "rows of truth" in said
    return [folder / "600", folder / "1200"]


@pytest.mark.slow
def test_whole_workflow(tmp_path: Path, pairs: list[Path]) -> None:
    [entry] = recorded(tmp_path, "workflow.py", pairs[0], "--shards", 1, "--buckets", 1)
    [size, expected], commands = entry.tables
    assert size["labels"] == "exact"
    assert number(size["outputs, MB"]) > 0
    assert expected["entities a snapshot"] == "estimated"
    assert 500 < number(size["entities a snapshot"]) < 700
    jobs = {row["command"]: int(row["jobs"]) for row in commands}
    assert jobs["statements extract"] == 2
    assert jobs["updates classify"] == jobs["wikifactdiff replacements"] == 1


@pytest.mark.slow
def test_plain_workflow(tmp_path: Path, pairs: list[Path]) -> None:
    [entry] = recorded(tmp_path, "plain_workflow.py", pairs[0])
    assert "are as planted" in entry.text
    [rows] = entry.tables
    assert rows[0]["times plain"] == "1.00"
    assert all(number(row["processor seconds"]) > 0 for row in rows)
    assert rows[1][""].startswith("factdrift, the same steps, ")


@pytest.mark.slow
def test_costs(tmp_path: Path, pairs: list[Path]) -> None:
    folder = tmp_path / "costs"
    shutil.copytree(COSTS, folder)
    before = (folder / "jobs.tsv").read_text("utf-8").splitlines()
    run("costs.py", *pairs, "--scopes", "enwiki", "--scratch", tmp_path, "--output", folder)
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
    # Of pairs this small, noise decides what is constant and what grows with the dump; their sum is not 0.
    assert all(each.cpu_s + each.cpu_s_gb > 0 for each in costs.values())
    assert all(each.memory_mb + each.memory_mb_gb > 0 for each in costs.values())
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
def test_asking_who_holds_is_timed(tmp_path: Path) -> None:
    from support.tiny_models import tiny_tokenizer

    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    given = ("--tokenizer", tmp_path / "tokenizer", "--every", 200, "--shape", json.dumps(shape))
    found = json.loads(run("cutoff_speed.py", tmp_path / "model", *given).splitlines()[-1])
    assert found["chains"] == 1578
    assert 0 < found["share_timed"] < 0.05
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

"""Small cells of what the workflow asks, without Snakemake: a few questions, edits made elsewhere, rivals.

Rivals are methods on the same few updates of one model; those of their runs that are kept are not repeated.
Imports torch.
"""

import dataclasses
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.fingerprint import of_module
from factdrift.core.owned import claim
from factdrift.core.tables import check_columns, write_parquet
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.questions import updates
from factdrift.evaluation.questions.clozes import OWN, read_edits
from factdrift.evaluation.questions.question import MINE, Benchmark, Question, Way
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores import costs, grid, groups, metrics
from factdrift.evaluation.scores.table import write_tables
from factdrift.evaluation.scores.written import asked_of, written_table
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.settings import Settings
from factdrift.evaluation.states.edited import Condition
from factdrift.evaluation.tables import TABLES, run_id
from factdrift.models.loaded import Loaded
from factdrift.models.names import folder_of, split_name

SHOWN, SHOWN_MINE = 5, 20
"""Questions with answers that are printed in full: of a benchmark, and of the user's own."""


class Asking(NamedTuple):
    """What is asked of a benchmark, and how."""

    way: Way
    limit: int
    """Questions, drawn with the seed; 0 for all."""
    seed: int
    settings: Settings


def cell(
    model: Loaded, questions: Benchmark, conditions: Sequence[Condition], asking: Asking, folder: Path
) -> Iterator[str]:
    """Asks some of the questions in each condition, and yields the lines to print.

    `folder`: for temporary files. Raises InputError if no question can be asked in the way.
    """
    benchmark = _drawn(asking, questions, model)
    files = [_ask(asking, model, benchmark, condition, folder) for condition in conditions]
    title = title_of(conditions[-1].method)
    number = len(benchmark.questions)
    yield f"{model.name}, {benchmark.name}: {number:,} question{'s' * (number > 1)}, {title}"
    yield ""
    answers, made = [file.answers for file in files], [file.edits for file in files]
    yield from grid.lines(grid.write_grid(answers, made, folder / "grid.parquet"), [], [])
    rows = (row for path in answers for row in pq.read_table(path).to_pylist())
    by_question = groups.by_columns(rows, "question")
    for question in benchmark.questions[: SHOWN_MINE if benchmark.name == MINE else SHOWN]:
        yield ""
        yield from _shown(question, by_question[(question.id,)])


def _drawn(asking: Asking, benchmark: Benchmark, model: Loaded) -> Benchmark:
    """Some of the questions that can be asked in the way, by a seeded hash, with the edits they are about."""
    benchmark = benchmark.without(excluded(model, benchmark))
    asked = [question for question in benchmark.questions if asking.way in question.ways]
    if not asked:
        raise InputError(f"--way: {asking.way}: no question of {benchmark.name} can be asked so")
    if benchmark.name != MINE or 0 < asking.limit < len(asked):
        asked.sort(key=lambda question: updates.draw("ask", asking.seed, question.id))
    asked = asked[: asking.limit or None]
    about = {question.edit for question in asked}
    edits = [edit for edit in benchmark.edits if edit.id in about]
    if not edits:  # the questions are about none: they are asked after some others
        edits = list(benchmark.edits[: asking.limit or None])
    return dataclasses.replace(benchmark, questions=asked, edits=edits)


def _ask(asking: Asking, model: Loaded, benchmark: Benchmark, condition: Condition, folder: Path) -> Files:
    """Asks in a condition; the answers have what a question is for in words as their `kind`."""
    run = Run.of(Session(model, asking.settings), benchmark, [condition], asking.seed)
    files = Files.under(folder, condition.method if condition.unedited else "edited")
    evaluate(dataclasses.replace(run, ways=[asking.way]), files)
    table = pq.read_table(files.answers)
    column = table.schema.get_field_index("kind")
    targets = {question.id: question.targets for question in benchmark.questions}
    new_objects = {(edit.id, (edit.target,)) for edit in benchmark.edits}
    kinds = []
    for row in table.to_pylist():
        kinds.append(asked_of(row))
        # Likelihoods are asked for of either object, and the old one is no right answer.
        if asking.way == "loglik" and row["role"] in OWN and benchmark.name != MINE:
            new = (row["edit"], targets[row["question"]]) in new_objects
            kinds[-1] += ", new object" if new else ", old object"
    pq.write_table(table.set_column(column, "kind", pa.array(kinds, pa.string())), files.answers)
    return files


def _shown(question: Question, rows: Sequence[Row]) -> Iterator[str]:
    """A question with its answers in full."""
    yield question.prompt.replace("\n", " ") + " ..." if question.prompt else question.words
    if text := "".join(question.before(row["method"]) for row in rows):
        yield f"  before it: {text.strip()}"
    for row in rows:
        answer = repr(row["output"])
        if row["reason"]:
            answer = f"no answer: {row['reason']}"
        elif row["way"] == "loglik":
            pairs = zip(question.targets, row["logprobs"], strict=True)
            answer = ", ".join(f"{target} {math.exp(value):.2%}" for target, value in pairs)
        yield f"  {title_of(row['method'])}: {answer}"
    if question.answer is not None:
        yield f"  right: {question.targets[question.answer]}"
    elif question.accepted:
        yield f"  right: {question.accepted[0]}"


class Checkpoint(NamedTuple):
    """A model that was edited elsewhere, and what is asked of it."""

    name: str
    """Of the method, in tables."""
    base: str
    """The model from which it was made."""
    edits: Path
    """A table EDITS."""
    only: Sequence[str]
    """The ids of the edits that were made; empty for all."""
    settings: Settings
    output: Path
    """The folder of its tables."""


def probe(
    checkpoint: Checkpoint, loaded: AbstractContextManager[Loaded], base: AbstractContextManager[Loaded]
) -> None:
    """Scores a checkpoint and the model from which it was made; writes and prints the tables."""
    path, output, name = checkpoint.edits, checkpoint.output, checkpoint.name
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift edit dataset`")
    check_columns(path, updates.EDITS.names, "; give a table of `edit dataset`")
    table = pq.read_table(path, schema=updates.EDITS)
    known = table["edit"].to_pylist()
    if unknown := [edit for edit in checkpoint.only if edit not in known]:
        raise InputError(f"--only: {path} has no edit {unknown[0]}; its edits are {known[0]}, ...")
    tables = [f"{state}/0-of-1.{table}" for state in (name, "none") for table in TABLES]
    tables += ["edits", "edit_scores", "probes"]
    claim(output, [*(f"{table}.parquet" for table in tables), "costs.json"])
    edits = output / "edits.parquet"
    chosen = table.filter([edit in checkpoint.only for edit in known]) if checkpoint.only else table
    write_parquet(chosen, edits)
    benchmark = read_edits(edits)

    def ask(model: Loaded, condition: Condition) -> Files:
        files = Files.under(output / condition.method, "0-of-1")
        evaluate(Run.of(Session(model, checkpoint.settings), benchmark, [condition], 0), files)
        return files

    # The checkpoint first, since it may be none that can be loaded.
    with loaded as model:
        prepared = Prepared(Hyper(name, model.name, "made elsewhere", {}))
        edited = ask(model, Condition(prepared, "checkpoint", about={"group": len(benchmark.edits)}))
    with base as model:
        hyper = Hyper("none", checkpoint.base, "", {})
        none = ask(model, Condition(Prepared(hyper), checkpoint.settings.regime))
    scores = _scored(split_name(checkpoint.base)[0], edits, {"none": none, name: edited}, output)
    written, spent = output / "written.parquet", output / "costs.json"
    write_parquet(written_table([none.answers, edited.answers], [edits]), written)
    # Nothing is known of what the edits cost where they were made.
    costs.write_costs([], spent)
    print(write_tables(scores, written, spent, output)[0])
    print(*groups.unaligned_lines([(none.answers, none.edits)]), sep="\n")


def _scored(model: str, edits: Path, runs: Mapping[str, Files], folder: Path) -> Path:
    """Writes the scores of a model's edits, and their probes, into a folder; returns the table of scores.

    `runs`: method -> what it has written, the unedited model first.
    """
    answers, made, states = zip(*(files[1:4] for files in runs.values()), strict=True)
    scores = folder / "edit_scores.parquet"
    of_model = metrics.Runs(edits, answers, made, states, models=[model], methods=list(runs))
    metrics.write_scores(of_model, scores, folder / "probes.parquet")
    return scores


def compared(
    model: Loaded, edits: Path, conditions: Sequence[Condition], settings: Settings, folder: Path
) -> Path:
    """Writes the scores of the conditions, the unedited model first, into a folder; returns their table.

    `edits`: a table EDITS. Says first what has to run, and how long the questions take without any edit.
    """
    benchmark = read_edits(edits)
    kept = [(condition, _kept(model, edits, condition, settings, folder)) for condition in conditions]
    missing = [(condition, files) for condition, files in kept if not all(map(Path.is_file, files[1:4]))]
    asked = sum("loglik" in question.ways for question in benchmark.questions)
    names = ", ".join(title_of(condition.method) for condition, _ in missing) or "nothing, all is kept"
    print(f"{model.name}: {len(benchmark.edits):,} updates, {asked:,} questions a method; to run: {names}")
    for condition, files in missing:
        start = time.perf_counter()
        run = Run.of(Session(model, settings), benchmark, [condition], 0)
        claim(files.parts.parent, [path.name for path in files[1:4]])
        evaluate(dataclasses.replace(run, ways=["loglik"]), files)
        left = len(missing) - 1
        if condition.unedited and left:
            seconds = round((time.perf_counter() - start) * left) + 1
            about = f"about {seconds:,} s, besides the time of the edits"
            print(f"questions of {left} methods: {about}", flush=True)
    claim(folder, ["edit_scores.parquet", "probes.parquet"])
    return _scored(model.name, edits, {condition.method: files for condition, files in kept}, folder)


def _kept(model: Loaded, edits: Path, condition: Condition, settings: Settings, folder: Path) -> Files:
    """Where the tables of a run are kept: under a digest of all that they depend on."""
    about = {
        **condition.meta(Session(model, settings)),
        "edits": sha256(edits),
        "settings": msgspec.to_builtins(settings),
        "code": of_module("factdrift.evaluation.run"),
    }
    return Files.under(folder / f"{folder_of(model.name)}-{condition.method}-{run_id(about)}", "0-of-1")

"""Small cells of what the workflow asks, without Snakemake: a few questions, and edits made elsewhere.

Imports torch.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.owned import claim
from factdrift.core.tables import check_columns, write_parquet
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED, title_of
from factdrift.evaluation.questions import updates
from factdrift.evaluation.questions.clozes import OWN, read_edits
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores.costs import write_costs
from factdrift.evaluation.scores.grid import lines, write_grid
from factdrift.evaluation.scores.groups import unaligned_lines
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.scores.table import write_tables
from factdrift.evaluation.scores.verdicts import asked_of
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.states.edited import Telling
from factdrift.evaluation.tables import TABLES
from factdrift.evaluation.tools.attempt import find_artefacts
from factdrift.evaluation.tools.jobs import Ask, Probe
from factdrift.models.loaded import Loaded
from factdrift.models.loading import base_of
from factdrift.models.names import split_name
from factdrift.models.running import loaded

SHOWN = 5
"""Answers that are printed in full."""


def cell(job: Ask, questions: Benchmark, folder: Path) -> Iterator[str]:
    """Asks some of these questions, and yields the lines to print. `folder`: for temporary files."""
    with job.loaded() as model:
        benchmark = _drawn(job, questions, model)
        files = [_ask(job, model, benchmark, each, folder) for each in dict.fromkeys(("none", job.state))]
    title = title_of(job.state)
    yield f"{model.name}, {job.benchmark}: {len(benchmark.questions):,} questions, {title}"
    yield ""
    answers, made = [each.answers for each in files], [each.edits for each in files]
    yield from lines(write_grid(answers, made, folder / "grid.parquet"), [], [])
    told: dict[str, list[Row]] = {}
    for row in (row for path in answers for row in pq.read_table(path).to_pylist()):
        told.setdefault(row["question"], []).append(row)
    for question in benchmark.questions[:SHOWN]:
        yield ""
        yield from _shown(question, told[question.id])


def _drawn(job: Ask, benchmark: Benchmark, model: Loaded) -> Benchmark:
    """Some of the questions that can be asked in the way, by a seeded hash, with the edits they are about."""
    benchmark = benchmark.without(excluded(model, benchmark))
    asked = [each for each in benchmark.questions if job.way in each.ways]
    if not asked:
        raise InputError(f"--way: {job.way}: no question of {job.benchmark} can be asked so")
    asked = sorted(asked, key=lambda each: updates.draw("ask", job.seed, each.id))[: job.limit or None]
    about = {each.edit for each in asked}
    edits = [each for each in benchmark.edits if each.id in about]
    if not edits:  # the questions are about none: they are asked after some others
        edits = list(benchmark.edits[: job.limit or None])
    return dataclasses.replace(benchmark, questions=asked, edits=edits)


def _ask(job: Ask, model: Loaded, benchmark: Benchmark, state: str, folder: Path) -> Files:
    """Asks in a state; the answers have what a question is for in words as their `kind`."""
    if state in UNEDITED:
        prepared = Prepared(Hyper(state, model.name, "", {}))
    else:
        hyper = job.hyper_of(model, state)
        prepared = Prepared(hyper, find_artefacts(job, hyper, model))
    telling = Telling(prepared, job.settings.regime)
    run = Run.of(Session(model, job.settings), benchmark, [telling], job.seed)
    files = Files.under(folder, state if state in UNEDITED else "edited")
    evaluate(dataclasses.replace(run, ways=[job.way]), files)
    table = pq.read_table(files.answers)
    place = table.schema.get_field_index("kind")
    targets = {each.id: each.targets for each in benchmark.questions}
    told = {(edit.id, (edit.target,)) for edit in benchmark.edits}
    kinds = []
    for row in table.to_pylist():
        kinds.append(asked_of(row))
        # Likelihoods are asked for of either object, and the old one is no right answer.
        if job.way == "loglik" and row["role"] in OWN:
            new = (row["edit"], targets[row["question"]]) in told
            kinds[-1] += ", new object" if new else ", old object"
    pq.write_table(table.set_column(place, "kind", pa.array(kinds, pa.string())), files.answers)
    return files


def _shown(question: Question, rows: Sequence[Row]) -> Iterator[str]:
    """A question with its answers in full."""
    yield question.prompt + " ..." if question.prompt else question.words
    if question.context and any(row["method"] == CONTEXT for row in rows):
        yield f"  before it: {question.context}"
    for row in rows:
        said = repr(row["output"])
        if row["reason"]:
            said = f"no answer: {row['reason']}"
        elif row["way"] == "loglik":
            pairs = zip(question.targets, row["logprobs"], strict=True)
            said = ", ".join(f"{target} {math.exp(value):.2%}" for target, value in pairs)
        yield f"  {title_of(row['method'])}: {said}"
    if question.answer is not None:
        yield f"  right: {question.targets[question.answer]}"
    elif question.accepted:
        yield f"  right: {question.accepted[0]}"


def probe(job: Probe) -> None:
    """Scores the checkpoint of a job; writes and prints the tables."""
    named = base_of(Path(job.model))  # which an adapter must say even if another one is given
    base = job.base or named
    if not base:
        raise InputError("--base: name the model from which the checkpoint was made")
    name = job.name or Path(job.model).resolve().name
    if name == "none":
        raise InputError("--name: `none` is the model without edits; give another name")
    if not job.edits.is_file():
        raise InputError(f"{job.edits}: no such file; make it with `factdrift edit dataset`")
    check_columns(job.edits, updates.EDITS.names, "; give a table of `edit dataset`")
    table = pq.read_table(job.edits, schema=updates.EDITS)
    known = table["edit"].to_pylist()
    if unknown := [edit for edit in job.only if edit not in known]:
        raise InputError(f"--only: {job.edits} has no edit {unknown[0]}; its edits are {known[0]}, ...")
    settings = msgspec.structs.replace(job.settings, regime="independent")
    tables = [f"{state}/0-of-1.{table}" for state in (name, "none") for table in TABLES]
    tables += ["edits", "edit_scores", "probes"]
    claim(job.output, [*(f"{table}.parquet" for table in tables), "costs.json"])
    edits = job.output / "edits.parquet"
    write_parquet(table.filter([edit in job.only for edit in known]) if job.only else table, edits)
    benchmark = read_edits(edits)

    def ask(model: Loaded, telling: Telling) -> Files:
        files = Files.under(job.output / telling.method, "0-of-1")
        evaluate(Run.of(Session(model, settings), benchmark, [telling], 0), files)
        return files

    # The checkpoint first, since it may be none that can be loaded.
    with loaded(job, settings, job.threads, base) as model:
        prepared = Prepared(Hyper(name, model.name, "made elsewhere", {}))
        edited = ask(model, Telling(prepared, "checkpoint", about={"group": len(benchmark.edits)}))
    with loaded(dataclasses.replace(job, model=base), settings, job.threads) as model:
        none = ask(model, Telling(Prepared(Hyper("none", base, "", {})), settings.regime))
    answers, made, states = zip(*(each[1:4] for each in (none, edited)), strict=True)
    runs = Runs(edits, answers, made, states, models=[split_name(base)[0]], methods=["none", name])
    scores, costs = job.output / "edit_scores.parquet", job.output / "costs.json"
    write_scores(runs, scores, job.output / "probes.parquet")
    written = job.output / "written.parquet"
    write_parquet(written_table(answers, [edits]), written)
    # Nothing is known of what the edits cost where they were made.
    write_costs([], costs)
    print(write_tables(scores, written, costs, job.output)[0])
    print(*unaligned_lines([(none.answers, none.edits)]), sep="\n")

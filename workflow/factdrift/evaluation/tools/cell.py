"""Asks a model a few questions of a benchmark, before and after it is told something, and shows the answers.

A small cell of what the workflow asks, without Snakemake. Imports torch.
"""

import dataclasses
import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.screen import grid
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED, title_of
from factdrift.evaluation.questions.question import Benchmark, Question, Tables
from factdrift.evaluation.questions.record import read, record_of
from factdrift.evaluation.questions.updates import Choice, draw, write_edits
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.states.edited import Telling
from factdrift.evaluation.tools.attempt import find_artefacts
from factdrift.evaluation.tools.jobs import Ask
from factdrift.models.loaded import Loaded

SHOWN = 5
"""Answers that are printed in full."""

Row = dict[str, Any]


def cell(job: Ask) -> Iterator[str]:
    """Asks, and yields the lines to print. Raises InputError if the questions have not been built."""
    with job.loaded() as model, tempfile.TemporaryDirectory(prefix="factdrift-") as folder:
        benchmark = _drawn(job, _read(job, Path(folder)), model)
        tables = {"none": _ask(job, model, benchmark, "none", Path(folder))}
        if job.state != "none":
            tables[job.state] = _ask(job, model, benchmark, job.state, Path(folder))
        title = title_of(job.state)
        yield f"{model.name}, {job.benchmark}: {len(benchmark.questions):,} questions, {title}"
        yield ""
        yield from _table(benchmark, tables)
        for question in benchmark.questions[:SHOWN]:
            yield ""
            yield from _shown(question, tables)


def _read(job: Ask, folder: Path) -> Benchmark:
    """All questions of the benchmark, from the newest build under `job.results`."""
    record = record_of(job.benchmark)
    first, *others = record.questions
    found = _newest(job, first)
    if found is None and record.of_updates and not record.edits and job.dataset.is_file():
        path = folder / "edits.parquet"
        write_edits(job.dataset, path, Choice())
        return read(job.benchmark, Tables([path]))
    if found is None:
        raise InputError(
            f"--benchmark: {job.benchmark}: no {_pattern(job, first)}; build it with `snakemake --cores all "
            f"{record.target}`, or name the folder with --results"
        )
    edits = None
    if record.edits and job.state not in UNEDITED:
        edits = _newest(job, record.edits)
        if edits is None:
            target = record_of("stream" if record.of_stream else "updates").target
            raise InputError(
                f"--state: {job.state}: no {_pattern(job, record.edits)}; make it with `snakemake --cores "
                f"all {target}`"
            )
    facts = _newest(job, record.facts) if record.facts else None
    more = [path for path in (_newest(job, each) for each in others) if path]
    return read(job.benchmark, Tables([found, *more], edits, facts, open_=job.way == "written"))


def _pattern(job: Ask, path: str) -> str:
    """Where a file of the workflow is in some build."""
    return path.format(pair="*", stream="results/streams/*").replace("results/", f"{job.results}/", 1)


def _newest(job: Ask, path: str) -> Path | None:
    pattern = _pattern(job, path).removeprefix(f"{job.results}/")
    return max(job.results.glob(pattern), key=lambda each: each.stat().st_mtime, default=None)


def _drawn(job: Ask, benchmark: Benchmark, model: Loaded) -> Benchmark:
    """Some of the questions that can be asked in the way, by a seeded hash, with the edits they are about."""
    benchmark = benchmark.without(excluded(model, benchmark))
    asked = [each for each in benchmark.questions if job.way in each.ways]
    if not asked:
        raise InputError(f"--way: {job.way}: no question of {job.benchmark} can be asked so")
    asked = sorted(asked, key=lambda each: draw("ask", job.seed, each.id))[: job.limit or None]
    about = {each.edit for each in asked}
    edits = [each for each in benchmark.edits if each.id in about]
    if not edits:  # the questions are about none: they are asked after some others
        edits = list(benchmark.edits[: job.limit or None])
    return dataclasses.replace(benchmark, questions=asked, edits=edits)


def _ask(job: Ask, model: Loaded, benchmark: Benchmark, state: str, folder: Path) -> dict[str, Row]:
    """Question -> its answer in a state."""
    if state in UNEDITED:
        prepared = Prepared(Hyper(state, model.name, "", {}))
    else:
        hyper = job.hyper_of(model, state)
        prepared = Prepared(hyper, find_artefacts(job, hyper, model))
    telling = Telling(prepared, job.settings.regime)
    run = Run.of(Session(model, job.settings), benchmark, [telling], job.seed)
    files = Files.under(folder, state if state in UNEDITED else "edited")
    evaluate(dataclasses.replace(run, ways=[job.way]), files)
    return {row["question"]: row for row in pq.read_table(files.answers).to_pylist()}


def _right(question: Question, row: Row) -> bool | None:
    """Whether an answer is right; of a cloze test, whether its object is what the model would write."""
    if row["reason"] not in (None, "not_finite"):
        return None
    if question.answer is None and row["way"] == "loglik":
        return bool(row["exact"] and row["exact"][0])
    right: bool | None = row["correct"]
    return right


def _table(benchmark: Benchmark, tables: dict[str, dict[str, Row]]) -> Iterator[str]:
    """A row for each role: how many were asked, and the share that is right in each state."""
    roles: dict[str, list[Question]] = {}
    for question in benchmark.questions:
        roles.setdefault(question.role, []).append(question)
    cells = []
    for role, questions in roles.items():
        shares = []
        for rows in tables.values():
            known = [right for each in questions if (right := _right(each, rows[each.id])) is not None]
            shares.append(f"{sum(known) / len(known):.3f} ({sum(known)}/{len(known)})" if known else "-")
        cells.append([role, str(len(questions)), *shares])
    yield from grid(["", "asked", *map(title_of, tables)], cells)
    for state, rows in tables.items():
        for reason, number in Counter(row["reason"] for row in rows.values() if row["reason"]).items():
            yield f"{title_of(state)}: {number:,} without an answer: {reason}"


def _shown(question: Question, tables: dict[str, dict[str, Row]]) -> Iterator[str]:
    """A question with its answers in full."""
    yield question.prompt + " ..." if question.prompt else question.words
    if question.context and CONTEXT in tables:
        yield f"  before it: {question.context}"
    for state, row in ((state, rows[question.id]) for state, rows in tables.items()):
        yield f"  {title_of(state)}: {_answer(question, row)}"
    if question.answer is not None:
        yield f"  right: {question.targets[question.answer]}"
    elif question.accepted:
        yield f"  right: {question.accepted[0]}"


def _answer(question: Question, row: Row) -> str:
    if row["reason"]:
        return f"no answer: {row['reason']}"
    if row["way"] != "loglik":
        return repr(row["output"])
    pairs = zip(question.targets, row["logprobs"], strict=True)
    return ", ".join(f"{target} {math.exp(value):.2%}" for target, value in pairs)

"""Asks a model a few questions of a benchmark, before and after it is told something, and shows the answers.

A small cell of what the workflow asks, without Snakemake. Imports torch.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.screen import grid
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED, title_of
from factdrift.evaluation.plan import grouped, unedited
from factdrift.evaluation.questions import clozes, items, klob
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.questions.updates import Choice, draw, write_edits
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.states.telling import Telling
from factdrift.evaluation.tools.found import find_artefacts
from factdrift.models.loaded import Loaded

if TYPE_CHECKING:
    from factdrift.evaluation.tools.jobs import Ask

SHOWN = 5
"""Answers that are printed in full."""

PLACES = {
    "updates": ("{pair}/edit/edits.parquet", "results/edit_scores.parquet"),
    "tempripple": ("{pair}/tempripple/tr_items.parquet", "results/tempripple.parquet"),
    "asof": ("streams/*/asof.parquet", "results/asof.parquet"),
    "klob": ("{pair}/klob_c.parquet", "klob"),
}
"""Benchmark -> where the workflow has its questions, and a target that makes them."""

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
    pattern, target = PLACES[job.benchmark]
    paths = [*job.results.glob(pattern.format(pair="*"))]
    if not paths and job.benchmark == "updates" and job.dataset.is_file():
        paths = [folder / "edits.parquet"]
        write_edits(job.dataset, paths[0], Choice())
    if not paths:
        raise InputError(
            f"--benchmark: {job.benchmark}: no {job.results}/{pattern.format(pair='*')}; build it with "
            f"`snakemake --cores all {target}`, or name the folder with --results"
        )
    path = max(paths, key=lambda each: each.stat().st_mtime)
    if job.benchmark == "updates":
        return clozes.read_edits(path)
    if job.benchmark == "klob":
        edits = _beside(path.parent / "edit/edits.parquet", job, "results/edit_scores.parquet")
        tables = [path, path.with_name("klob_r.parquet")]
        return klob.read_sentences(tables, clozes.read_edits(edits) if edits else None)
    rows = items.read_items(path, open_=job.way == "written")
    if job.benchmark == "asof":
        edits = _beside(path.parent / "edit/edits.parquet", job, "results/stream_scores.parquet")
        return items.of_chains(rows, clozes.read_edits(edits) if edits else None)
    return items.of_statements(rows, path.with_name("tr_facts.parquet"))


def _beside(path: Path, job: Ask, target: str) -> Path | None:
    """The edits that the questions are asked with; None for a model that is told none."""
    if job.state in UNEDITED:
        return None
    if not path.is_file():
        raise InputError(f"--state: {job.state}: no {path}; make it with `snakemake --cores all {target}`")
    return path


def _drawn(job: Ask, benchmark: Benchmark, model: Loaded) -> Benchmark:
    """Some of the questions that can be asked in the way, by a seeded hash, with the edits they are about."""
    benchmark = benchmark.without(excluded(model, benchmark))
    asked = [each for each in benchmark.questions if job.way in each.ways]
    if not asked:
        raise InputError(f"--way: {job.way}: no question of {job.benchmark} can be asked so")
    asked = sorted(asked, key=lambda each: draw("ask", job.seed, each.id))[: job.limit or None]
    about = {each.edit for each in asked}
    edits = [each for each in benchmark.edits if each.id in about]
    if job.benchmark == "klob":
        edits = list(benchmark.edits[: max(job.limit, 1)])
    return dataclasses.replace(benchmark, questions=asked, edits=edits)


def _ask(job: Ask, model: Loaded, benchmark: Benchmark, state: str, folder: Path) -> dict[str, Row]:
    """Question -> its answer in a state."""
    settings = msgspec.structs.replace(job.settings, answer_scoring=(job.way,))
    session = Session(model, settings)
    if state in UNEDITED:
        hyper = Hyper(state, model.name, "", {})
        prepared = Prepared(hyper)
        steps = unedited(benchmark, settings.batch)
    else:
        hyper = job.hyper_of(model, state)
        prepared = Prepared(hyper, find_artefacts(job, hyper, model))
        steps = grouped(benchmark, settings.edits, settings.regime == "independent", job.seed)
    files = Files.under(folder, state if state in (*UNEDITED,) else "edited")
    evaluate(Run(session, benchmark, steps, [Telling(prepared, settings.regime)], [job.way]), files)
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

"""Verdicts of a chat model on what was written, beside those by rule."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.chat.settings import Form
from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.scores.written import subject_of
from factdrift.evaluation.tables import ANSWERS
from factdrift.verdict.agreement import Verdicts
from factdrift.verdict.agreement import lines as agreement_lines
from factdrift.verdict.by_model import is_asked, read_words, write_requests
from factdrift.verdict.judge import Case

_COLUMNS = (
    *("model", "benchmark", "method", "interval", "kind", "role"),
    *("question", "edit", "output", "verdict"),
)

JUDGED = schema_of(*(ANSWERS.field(name) for name in _COLUMNS), "rule judge: string")
"""One row for each written answer that a chat model was asked about (docs/tables/judged.md)."""


def write_judge_requests(
    benchmark: Benchmark, answers: Sequence[Path], which: str, chat: Form, output: Path
) -> int:
    """Writes REQUESTS about the answers to a benchmark, each question with each text once; their number.

    Raises InputError if there are answers to questions that the benchmark does not have.
    """
    questions = {question.id: question for question in benchmark.questions}
    cases: dict[str, Case] = {}
    for path in answers:
        for row in _asked(path, benchmark.name, which):
            if row["question"] not in questions:
                raise InputError(f"{path}: {row['question']} is no question of {benchmark.name}; ask again")
            cases[_name(row)] = _case(questions[row["question"]], row["output"])
    return write_requests(cases, chat, output)


def judged_table(answers: Sequence[Path], verdicts: Sequence[Path], which: str) -> pa.Table:
    """JUDGED of the answers in writing, from the chat model's answers of each benchmark.

    Raises InputError if an answer was not asked about.
    """
    words = {name: word for path in verdicts for name, word in read_words(path).items()}
    rows = []
    for path in answers:
        for row in _asked(path, None, which):
            name = _name(row)
            if name not in words:
                raise InputError(f"{path}: the answer to {row['question']} was not judged; ask again")
            rows.append({**row, "judge": words[name]})
    return pa.Table.from_pylist(rows, JUDGED)


def judged_lines(table: pa.Table) -> Iterator[str]:
    """Agreement and kappa by benchmark and over all, clustered by subject."""
    groups: dict[str, list[Verdicts]] = {}
    for row in table.to_pylist():
        groups.setdefault(row["benchmark"], []).append((row["verdict"], row["judge"], subject_of(row)))
    yield from agreement_lines(groups.items())


def _asked(path: Path, benchmark: str | None, which: str) -> Iterator[Row]:
    """The answers in writing of a table that are judged, of one benchmark or of all."""
    table = pq.read_table(path, schema=ANSWERS, columns=[*_COLUMNS, "rule", "way"])
    for row in table.filter(pc.field("way") == "written").to_pylist():
        if benchmark in (None, row["benchmark"]) and is_asked(row["verdict"], which):
            yield row


def _name(row: Row) -> str:
    """The name of the request about a text that answers a question."""
    text = hashlib.sha256(row["output"].encode()).hexdigest()[:16]
    return f"{row['benchmark']} {row['question']} {text}"


def _case(question: Question, text: str) -> Case:
    accepted = question.accepted or question.targets
    return Case(text, accepted, question.stale, question=question.asked, several=question.several)

"""Questions of the user's own: lines of JSON Lines or CSV, with what the model is given before."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from factdrift.core.columns import Row
from factdrift.core.errors import InputError, meant
from factdrift.core.files import json_lines, utf8_lines
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.letters import orders
from factdrift.evaluation.questions.prompts import cloze_of
from factdrift.evaluation.questions.question import MINE, Benchmark, Question, Tables, Way
from factdrift.models.alignment import find_subject
from factdrift.words.templates import BLANK

SEVERAL = ("accepted", "stale")
"""Columns that hold several names; those of a CSV have `|` between them."""

EXAMPLE = '{"question": "...", "accepted": ["..."]}'


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of the file."""

    question: str = ""
    """In words; or another sentence than the prompt, up to a blank (`____`) for its object."""
    prompt: str = ""
    """A sentence up to its object: asked if there is no question, and told with the new object behind it."""
    accepted: tuple[str, ...]
    stale: tuple[str, ...] = ()
    subject: str = ""
    """The subject of what is told, as written in the prompt."""
    new_object: str = ""
    kind: str = ""
    """The column of the table that counts it."""


def read(tables: Tables) -> Benchmark:
    """The lines of a file as questions, which are called `line 1`, ..., and edits, each fact once.

    Raises InputError that names a line and what it lacks.
    """
    path = tables.questions[0]
    questions: list[Question] = []
    edits: dict[tuple[str, str, str], Edit] = {}
    for where, row in _rows(path):
        line = _line(row, where)
        fact = _fact(line, where)
        name = where.removeprefix(f"{path}, ")
        edit = edits.setdefault(fact, Edit(name, fact[1], fact[0], fact[2])) if fact else None
        questions.append(_question(name, line, edit))
    if not questions:
        raise InputError(f"{path}: has no question; write one a line, such as {EXAMPLE}")
    return Benchmark(MINE, questions, list(edits.values()))


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yields where a row is, for messages, and the row."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; it has a question a line, such as {EXAMPLE}")
    if path.suffix != ".csv":
        yield from json_lines(path, EXAMPLE)
        return
    table = csv.DictReader(utf8_lines(path), strict=True)
    try:
        names = table.fieldnames or ()
        if twice := [name for name in names if name and names.count(name) > 1]:
            raise InputError(f"{path}, line 1: `{twice[0]}` is there twice; give each column once")
        for cells in table:
            where = f"{path}, line {table.line_num}"
            if None in cells or None in cells.values():
                raise InputError(
                    f"{where}: has not as many cells as the first line; quote those with a comma"
                )
            row: dict[str, Any] = {name: text for name, text in cells.items() if text.strip()}
            for name in SEVERAL:
                if name in row:
                    row[name] = row[name].split("|")
            yield where, row
    except csv.Error as error:
        raise InputError(f"{path}, line {table.line_num}: no CSV: {error}") from None


def _line(row: Row, where: str) -> Line:
    """The checked line, its texts without blanks around them."""
    names = Line.__struct_fields__
    for name in row:
        if name not in names:
            raise InputError(
                f"{where}: `{name}` is no column{meant(name, names)}; there are {', '.join(names)}"
            )
    texts: Row = {}
    for name, value in row.items():
        if value is None:
            continue
        values = value if isinstance(value, list) and name in SEVERAL else [value]
        if not all(isinstance(text, str) for text in values):
            raise InputError(f"{where}: `{name}` must be a text{' or a list of texts' * (name in SEVERAL)}")
        stripped = tuple(text.strip() for text in values if text.strip())
        texts[name] = stripped if name in SEVERAL else "".join(stripped)
    if not texts.get("accepted"):
        raise InputError(f"{where}: has no `accepted`, the right answer or a list of its names")
    line = Line(**texts)
    stale = [*map(str.casefold, line.stale)]
    if both := [name for name in line.accepted if name.casefold() in stale]:
        raise InputError(f"{where}: {both[0]!r} is in `accepted` and in `stale`; leave it in one of them")
    if not line.question and not line.prompt:
        raise InputError(f"{where}: has neither a `question` nor a `prompt`; write what is asked")
    return msgspec.structs.replace(line, prompt=line.prompt.removesuffix(BLANK).rstrip())


def _fact(line: Line, where: str) -> tuple[str, str, str] | None:
    """Subject, prompt and new object of what is told; None if nothing is."""
    if not line.subject and not line.new_object:
        return None
    for name in ("subject", "prompt", "new_object"):
        if not getattr(line, name):
            raise InputError(
                f"{where}: has no `{name}`; a fact given first needs subject, prompt and new_object"
            )
    if find_subject(line.prompt, line.subject) < 0:
        raise InputError(
            f"{where}: the subject {line.subject!r} does not occur in the prompt; write it as there"
        )
    return line.subject, line.prompt, line.new_object


def _question(name: str, line: Line, edit: Edit | None) -> Question:
    cloze, words = line.prompt, line.question
    if words.endswith(BLANK):
        cloze, words = cloze_of(words), ""
    elif words:  # the prompt says what is told
        cloze = "" if _has_cloze(words) else f"Question: {words}\nAnswer:"
    options = (line.accepted[0], *line.stale[:1])
    order = orders(len(options), words or cloze)[0]  # a model that always says A must not be right
    ways: tuple[Way, ...] = ("loglik", "letter", "written") if words and line.stale else ("loglik", "written")
    return Question(
        name,
        edit.id if edit else "",
        line.kind,
        prompt=cloze,
        words=words,
        context=f"{edit.prompt} {edit.target}. " if edit else "",
        targets=tuple(options[index] for index in order),
        answer=order.index(0) if line.stale else None,
        accepted=line.accepted,
        stale=line.stale,
        ways=ways,
    )


def _has_cloze(words: str) -> bool:
    """Whether a cloze can be made of a question in words."""
    try:
        return bool(cloze_of(words))
    except InputError:
        return False


def lacking(benchmark: Benchmark, path: Path, way: Way, told: bool) -> list[str]:
    """What lines lack to be asked in a way, or to be told anything, with their numbers."""
    notes = {
        f"not asked with --way {way}, which needs `question` in words and `stale`": [
            question.id for question in benchmark.questions if way not in question.ways
        ],
        "without subject, prompt and new_object: asked after the fact of another line": [
            question.id for question in benchmark.questions if told and not question.edit
        ],
    }
    return [f"{path}, {', '.join(names)}: {note}" for note, names in notes.items() if names]

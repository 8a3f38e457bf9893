"""Tables, JSON and labelled lines of an answer as plain text: the fields that answer the question.

`| Country | Head of government |` above `| New Zealand | X |`, `{"country": "New Zealand", "pm": "X"}` and
`Head of government: X` in a list of such lines are records, whose fields have a label and a value each. A
record is read as the values whose labels say what is asked for, with the years of its term: `X (2023-2025)`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from operator import or_
from typing import NamedTuple

from factdrift.verdict.cues import Cues, about
from factdrift.verdict.names import abbreviates
from factdrift.verdict.offices import kinds_fit
from factdrift.verdict.text import keys_of

_TABLE = re.compile(r"^[ \t]*\|?.*\|.*\n[ \t]*\|?[ \t]*:?-{2,}.*$(?:\n[ \t]*\|?.*\|.*$)+", re.M)
_LINE = re.compile(r"[ \t]*(?:[-*•·+][ \t]+)?([^\W\d_][^:|{}\[\]\"\n]{0,40}):[ \t]+(\S[^\n]*?),?[ \t]*")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_-]+")
_YEAR = re.compile(r"\b\d{4}\b")
_FALSE = ("false", "incorrect", "wrong", "refuted")
_OPEN = re.compile(r"(?:\w+ )?\d{4}\s*[-–—]")
_ASIDE = re.compile(r"\s*\([^()]*\)")


class Field(NamedTuple):
    label: str
    value: str


def without_records(text: str, question: str, cues: Cues) -> str:
    """A plain text (`text.plain`) with each table, JSON value and list of labelled lines in words."""
    if "|" in text:
        text = _TABLE.sub(lambda match: _of_table(match[0], question, cues), text)
    if "{" in text:
        text = _of_json(text, question, cues)
    return _of_lines(text, question, cues) if text.count(":") > 1 and "\n" in text else text


def _of_table(text: str, question: str, cues: Cues) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.split("\n")]
    header, body = rows[0], rows[2:]
    records = [[Field(*pair) for pair in zip(header, row, strict=False)] for row in body]
    asked = keys_of(question)
    if len(header) == 2 and all(_fit(label, asked, cues) in (0, 1, 2) for label in header):
        down = [Field(*row) for row in body if len(row) == 2]  # labels in the first column
        generic = any(cues.has("generic", key) for key in keys_of(header[0]))
        if generic or any(_fit(field.label, asked, cues) > 1 for field in down):
            records = [down]
    return _in_words(records, asked, cues)


def _of_json(text: str, question: str, cues: Cues) -> str:
    for opening in re.finditer(r"[\[{]", text):
        try:
            value, end = json.JSONDecoder().raw_decode(text, opening.start())
            listed = value if isinstance(value, list) else [value]
            records = [list(_fields(item, "")) for item in listed if isinstance(item, dict)]
        except (json.JSONDecodeError, RecursionError):
            continue
        if filled := [record for record in records if record]:
            words = _in_words(filled, keys_of(question), cues)
            return f"{text[: opening.start()]}{words}{text[end:]}"
    return text


def _fields(value: object, label: str) -> Iterator[Field]:
    """The fields of a JSON value; `{"former": {"name": X}}` has the label `former name`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _fields(inner, f"{label} {key}".strip())
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner, label)
    elif value is None:
        yield Field(label, "unknown")
    elif value is not True:
        yield Field(label, "false" if value is False else str(value))


def _of_lines(text: str, question: str, cues: Cues) -> str:
    """Two or more lines with a label each, one under the other."""
    asked = keys_of(question)
    lines, done, at = text.split("\n"), [], 0
    while at < len(lines):
        end, fields = at, []
        while end < len(lines) and (match := _LINE.fullmatch(lines[end])):
            fields.append(Field(match[1].strip(), match[2].strip("\"' \t")))
            end += 1
        labels = {key for field in fields for key in keys_of(field.label)}
        best = max((_fit(field.label, asked, cues) for field in fields), default=0)
        fits = best > 0
        who = best == 1 and any(cues.has("who", key) for key in asked) and _POSTS.isdisjoint(labels)
        if who and len(fields) > 2 and keys_of(fields[0].label) == ("name",) and "born" in labels:
            done.append(f"This is about {fields[0].value}.")
        elif len(fields) > 1 and fits and not any(cues.has("apart", key) for key in labels):
            done.append(_in_words(_records_of(fields), asked, cues))
        else:
            end = max(end, at + 1)
            done += lines[at:end]
        at = end
    return "\n".join(done)


_POSTS = frozenset(("title", "position", "role", "office", "job", "post", "function"))
"""Labels of what a person does."""


def _fit(label: str, asked: Sequence[str], cues: Cues) -> int:
    """How well a label says what is asked for: in the question's words (3), as an office (2), plainly (1).

    0 is a label of something else, -1 one of what was before or comes after.
    """
    keys = keys_of(_WORDS.sub(" ", _ASIDE.sub("", label)))
    kinds = {cue.kind for cue in cues.find(keys)}
    if kinds & {"former", "took_over", "handed_on", "beside", "attempt"}:
        return -1
    now = [cue for cue in cues.find(keys) if cue.kind == "now" and not cues.has("since", keys[cue.start])]
    places = {position for cue in now for position in range(cue.start, cue.end)}
    words = [
        key
        for position, key in enumerate(keys)
        if position not in places and len(key) > 1 and not cues.has("article", key)
    ]
    bare = [key for key in words if not cues.has("label", key)] or words
    stems = [key[: max(3, len(key) - 2)] if len(key) > 3 else f"{key} " for key in bare]  # owner, owns
    if any(cues.has("deputy", key) and key not in asked for key in bare):
        return 0
    stems = ["status " if key == "status" else stem for key, stem in zip(bare, stems, strict=True)]
    forms = [any(f"{word} ".startswith(stem) for word in asked) for stem in stems]
    initials = [abbreviates(key.removesuffix("s"), asked) and not cues.has("starter", key) for key in bare]
    if bare and all(map(or_, initials, forms)):
        return 3
    if (
        fits := kinds_fit(cues, tuple(words), tuple(asked))
    ) is not None:  # President (head of state), not Vice President
        return 2 * fits
    if bare and (tuple(bare) in cues.phrases("title") or all(cues.has("title", key) for key in bare)):
        return 2
    office = cues.valued("office", asked) or any(cues.has("title", key) for key in asked)
    own = frozenset[str]() if office else about(tuple(asked), cues)  # Music: X, of who composed it
    return int(bool(keys) and all(cues.has("label", key) or key in own for key in bare))


def _in_words(records: Sequence[Sequence[Field]], asked: Sequence[str], cues: Cues) -> str:
    """The records as one line, or as the points of a list.

    Of several: those of the question's subject; the first of a ranking; those of an office that fits; those
    that hold still; of rows with a year each the last, unless the past is asked for.
    """

    def without_subject(record: Sequence[Field]) -> list[Field]:
        plain = [{*keys_of(_ASIDE.sub("", field.value))} for field in record]
        return [field for field, keys in zip(record, plain, strict=True) if not keys or keys - set(asked)]

    ranks = [[field.value.strip(".") for field in record if _is_rank(field, cues)] for record in records]
    if len(records) > 1 and ranks == [[str(number)] for number in range(1, len(records) + 1)]:
        records = records[:1]
    own = [(record, without_subject(record)) for record in records]
    chosen = [rest or record for record, rest in own if len(rest) < len(record)] or records
    plain = [[_fit(field.label, asked, cues) for field in record] for record in chosen]
    if all(max(fits) == 1 for fits in plain):  # | Office | Name |
        before = [record[: fits.index(1)] for record, fits in zip(chosen, plain, strict=True)]
        offices = [max((_fit(field.value, asked, cues) for field in cells), default=0) for cells in before]
        chosen = [record for fit, record in zip(offices, chosen, strict=True) if fit == max(offices)]
    if "first" in asked or any(cues.has("past", key) for key in asked):  # who was president in 2010?
        return _listed(chosen[:1] if "first" in asked else chosen, asked, cues)
    holding = [any(_holds(field, cues) for field in record) for record in chosen]
    chosen = [record for record, holds in zip(chosen, holding, strict=True) if holds or not any(holding)]
    events = cues.values["event"]  # but not the year of birth
    years = [
        [
            field.value
            for field in record
            if _YEAR.fullmatch(field.value) and events.get(" ".join(keys_of(field.label)), "start") == "start"
        ]
        for record in chosen
    ]
    if len({year for own in years for year in own}) > 1 and all(len(own) == 1 for own in years):
        chosen = [max(zip(years, chosen, strict=True))[1]]
    return _listed(chosen, asked, cues)


def _listed(records: Sequence[Sequence[Field]], asked: Sequence[str], cues: Cues) -> str:
    lines = [line for record in records if (line := _line(record, asked, cues))]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def _is_rank(field: Field, cues: Cues) -> bool:
    """Whether a field is the rank of its row."""
    return any(cues.has("rank", key) for key in keys_of(field.label))


def _is_denial(field: Field, asked: Sequence[str], cues: Cues) -> bool:
    """Whether a field says that the rest of its record is not so: `verdict: false`, `is_current: false`."""
    keys = keys_of(_WORDS.sub(" ", field.label))
    checks = any(cues.has("check", key) for key in keys) or any(cue.kind == "now" for cue in cues.find(keys))
    return field.value.casefold() in _FALSE and (checks or _fit(field.label, asked, cues) > 0)


def _records_of(fields: Sequence[Field]) -> list[list[Field]]:
    """Labelled lines as records: a label that comes again begins the next."""
    records: list[list[Field]] = [[]]
    for field in fields:
        if any(field.label == other.label for other in records[-1]):
            records.append([])
        records[-1].append(field)
    return records


def _is_term(field: Field, cues: Cues) -> bool:
    """Whether a field is nothing but a term with years: `2019-present`, `since May 2021`."""
    if cues.values["event"].get(" ".join(keys_of(field.label)), "start") not in ("start", "end"):
        return False  # born in 1962
    keys = [key for key in keys_of(field.value) if not key.isdigit() and key not in cues.values["month"]]
    terms = [cue for cue in cues.find(keys) if cue.kind in ("now", "until", "handed_on", "former")]
    return bool(_YEAR.search(field.value)) and sum(len(cue.span) for cue in terms) == len(keys)


def _holds(field: Field, cues: Cues) -> bool:
    """Whether a field says that its row holds still: `2019-present`, `to: null`."""
    if field.value.casefold() in ("null", "none", "~", "unknown"):
        return any(cues.has("dated", key) for key in keys_of(field.label))
    open_ = _OPEN.fullmatch(field.value.strip())
    return bool(open_) or any(cue.kind == "now" for cue in cues.find(keys_of(field.value)))


def _line(record: Sequence[Field], asked: Sequence[str], cues: Cues) -> str:
    denials = [field for field in record if _is_denial(field, asked, cues)]
    if claims := [field.value for field in record if field not in denials] if denials else []:
        return f"incorrect: {', '.join(claims)}"  # {"claim": "X is it", "verdict": "false"}
    record = [field for field in record if field.value != "false"] or record
    fits = [_fit(field.label, asked, cues) for field in record]
    filled = [fit for fit, field in zip(fits, record, strict=True) if field.value]
    best = max(filled, default=0)
    own = [field for fit, field in zip(fits, record, strict=True) if fit == best and field.value]
    if best < 1:
        plain = [field for fit, field in zip(fits, record, strict=True) if fit == 0 <= min(fits)]
        return ", ".join(f"{field.label}: {field.value}" for field in plain or record)
    listed = [f"{field.label}: {field.value}" if best == 2 else field.value for field in own]
    dated = {years[-1]: field for field in own if (years := _YEAR.findall(field.label))}
    if len(dated) == len(own) > 1:  # League (2025-26): X, League (2024-25): Y
        listed = [dated[max(dated)].value]
    values = ", ".join(dict.fromkeys(listed))
    years = [field for field in record if field not in own and _is_term(field, cues)]
    if not years or any(character.isdigit() for character in values):
        return values
    if len(years) > 1:
        first, last = (_YEAR.findall(field.value)[-1] for field in years[:2])
        return f"{values} ({first}-{last})"
    timed = {"until", "now", "former"} & {cue.kind for cue in cues.find(keys_of(years[0].label))}
    return f"{values} ({years[0].label} {years[0].value})" if timed else f"{values} ({years[0].value})"

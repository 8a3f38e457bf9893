"""Templates that others have published, read as they are (config key `verbalizer: file`).

Three layouts, recognised by the file:
- `best_templates.json` of Orange-OpenSource/TimeStress: relation -> [[template, count], ...], the best first,
  with `XXXX` for the subject and `____` for the object;
- `triple_verbs` of the dataset Orange/WikiFactDiff, Parquet or JSON Lines (`.jsonl`, `.jsonl.xz`,
  `.jsonl.gz`): a triple a row with the sentences that a chat model gave; they are filtered and counted as our
  own are;
- a `templates.parquet` of factdrift.
"""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.tables import records, write_parquet
from factdrift.verbalize.candidates import CANDIDATES, Kept, counted
from factdrift.verbalize.jobs import Quality
from factdrift.verbalize.language import read_language, words_of
from factdrift.verbalize.sentences import judged
from factdrift.wikidata.ids import property_number
from factdrift.words.templates import OBJECT, SUBJECT, problem

PUBLISHED_SUBJECT, PUBLISHED_OBJECT = "XXXX", "____"

_DATES = ("Date", "Month", "Year")
_OPENERS: dict[str, Callable[..., IO[str]]] = {".jsonl": open, ".gz": gzip.open, ".xz": lzma.open}


def write_published(path: Path, prompts: Path, quality: Quality, output: Path) -> dict[str, int]:
    """Writes `factdrift.verbalize.candidates.CANDIDATES` from a file; returns the number dropped by reason.

    Templates that are published as such keep their order and number; `quality` judges only those that are
    counted from sentences. Raises InputError that names the file and the key, line or row that is wrong.
    """
    dropped: Counter[str] = Counter()
    if not path.is_file():
        raise InputError(f"templates_file: {path} does not exist; correct the path in the configuration")
    if path.suffix == ".json":
        rows = list(_best_templates(path))
    elif path.suffix in _OPENERS:
        rows = _from_sentences(_lines(path), path, prompts, quality, dropped)
    elif path.suffix == ".parquet" and "verbalizations" in _columns(path):
        rows = _from_sentences(_table(path), path, prompts, quality, dropped)
    elif path.suffix == ".parquet" and {"property", "template"} <= _columns(path):
        rows = list(_own(path))
    else:
        raise InputError(
            f"templates_file: {path} is no best_templates.json, no triple_verbs table or .jsonl, and no "
            "templates.parquet; docs/verbalization.md describes these"
        )
    dropped.update(row["dropped_by"] for row in rows if row["dropped_by"])
    write_parquet(pa.Table.from_pylist(rows, schema=CANDIDATES), output)
    return dict(sorted(dropped.items()))


def _best_templates(path: Path) -> Iterator[dict[str, Any]]:
    try:
        decoded = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error}); fetch the file again") from None
    if not isinstance(decoded, dict):
        raise InputError(f"{path}: an object of relations and their templates is expected")
    numbers = {_property(name, f"{path}, key {name!r}"): name for name in decoded}
    for number in sorted(numbers):
        name = numbers[number]
        pairs = decoded[name]
        if not isinstance(pairs, list) or not all(
            isinstance(pair, list)
            and len(pair) == 2
            and isinstance(pair[0], str)
            and isinstance(pair[1], int)
            for pair in pairs
        ):
            raise InputError(f"{path}, key {name!r}: a list of [template, number] is expected")
        yield from _ordered(number, [(_converted(text), count, []) for text, count in pairs])


def _own(path: Path) -> Iterator[dict[str, Any]]:
    columns = [
        name for name in ("property", "rank", "template", "count", "examples") if name in _columns(path)
    ]
    relations: dict[int, list[dict[str, Any]]] = {}
    for place, row in enumerate(pq.read_table(path, columns=columns).to_pylist()):
        if not isinstance(row["property"], int) or not isinstance(row["template"], str):
            raise InputError(f"{path}, row {place}: property (an integer) and template (a text) are expected")
        relations.setdefault(row["property"], []).append(row)
    for number, rows in sorted(relations.items()):
        rows.sort(key=lambda row: (row.get("rank") is None, row.get("rank")))
        yield from _ordered(
            number, [(row["template"], row.get("count"), row.get("examples") or []) for row in rows]
        )


def _ordered(number: int, templates: list[tuple[str, int | None, list[str]]]) -> Iterator[dict[str, Any]]:
    """Templates of a relation in the order in which they were published, unusable ones last."""
    used: list[dict[str, Any]] = []
    unused: list[dict[str, Any]] = []
    for template, count, examples in templates:
        reason = _unusable(template, {row["template"] for row in used})
        row = {
            "property": number,
            "template": template,
            "rank": None if reason else len(used) + 1,
            "count": count,
            "subjects": None,
            "examples": examples,
            "dropped_by": reason,
        }
        (unused if reason else used).append(row)
    yield from [*used, *unused]


def _converted(text: str) -> str:
    """A published template with our blanks; a period behind the object is left out."""
    template = " ".join(text.split()).replace(PUBLISHED_SUBJECT, SUBJECT).replace(PUBLISHED_OBJECT, OBJECT)
    return template.removesuffix(".") if template.endswith(f"{OBJECT}.") else template


def _unusable(template: str, known: set[str]) -> str | None:
    if template.count(SUBJECT) == template.count(OBJECT) == 1 and not template.endswith(OBJECT):
        return "object_not_last"
    if wrong := problem(template):
        return "glued" if "glued" in wrong else "form"
    return "duplicate" if template in known else None


def _from_sentences(
    rows: Iterator[tuple[str, dict[str, Any]]],
    path: Path,
    prompts: Path,
    quality: Quality,
    dropped: Counter[str],
) -> list[dict[str, Any]]:
    """Counts the templates of `triple_verbs`; adds sentences and answers without one to `dropped`."""
    language = read_language(prompts, "en")
    relations: dict[int, str] = {}
    kept: list[Kept] = []
    for where, row in rows:
        try:
            triple, answers = row["triple"], row["verbalizations"] or []
            relation, subject, object_ = triple["relation"], triple["subject"], triple["object"]
            number = _property(relation["id"], where)
            names = {"subject_label": subject["label"], "object_label": object_["label"]}
            names["relation_label"] = relation["label"] or ""
            sentences = [answer["verbalization"] for answer in answers]
            is_literal = object_.get("id") is None
            # The description of a literal is the name of its kind, such as Date.
            described = words_of([subject.get("description"), None if is_literal else object_["description"]])
            named = f"{subject['id']}"
        except (KeyError, TypeError) as error:
            raise InputError(f"{where}: {error} is missing or of another kind than in triple_verbs") from None
        relations.setdefault(number, f"{relation['label']} {relation.get('description') or ''}")
        if row.get("error") is not None or not sentences:
            dropped["answer"] += 1
            continue
        if not all(isinstance(text, str) for text in (*names.values(), *sentences)):
            dropped["no_label"] += 1
            continue
        literal = words_of([names["object_label"]] if is_literal else [])
        is_date = is_literal and object_.get("description") in _DATES
        for sentence, template, reason in judged(names, sentences, language):
            if template is None:
                dropped[f"sentence: {reason}"] += 1
            else:
                kept.append(Kept(number, named, sentence, template, described, literal, is_date))
    if not relations:
        raise InputError(f"templates_file: {path} holds no triple; fetch the file again")
    kept.sort(key=lambda answer: answer.property)
    return list(counted(kept, relations, language, quality))


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    read = 0
    try:
        with _OPENERS[path.suffix](path, "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError("no object")
                read += 1
                yield f"{path}, line {read}", row
    except (ValueError, RecursionError, EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}, line {read + 1}: {error}; fetch the file again") from None


def _table(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    wanted = ["triple", "verbalizations", "error"]
    if missing := [name for name in wanted if name not in _columns(path)]:
        raise InputError(f"{path}: no column {', '.join(missing)}, as triple_verbs has")
    for place, row in enumerate(records(path, wanted)):
        yield f"{path}, row {place}", row


def _columns(path: Path) -> set[str]:
    try:
        return set(pq.read_schema(path).names)
    except pa.ArrowInvalid as error:
        raise InputError(f"templates_file: {path}: {error}; fetch the file again") from None


def _property(name: Any, where: str) -> int:
    try:
        return property_number(name)
    except (ValueError, TypeError):
        raise InputError(f"{where}: {name!r} is no relation such as P6") from None

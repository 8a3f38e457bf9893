"""Counts the templates of each relation's sentences, and gives the reason why some are not used.

The paper takes the five most frequent. With quality `strict` a template must also not say
more than its relation, and must fit all objects that the relation can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from factdrift.core.tables import records, write_parquet
from factdrift.verbalize.jobs import Quality
from factdrift.verbalize.language import Language, read_language, words_of
from factdrift.words.templates import OBJECT

if TYPE_CHECKING:
    from factdrift.verbalize.jobs import Count

CANDIDATES = pa.schema(
    [
        ("property", pa.int32()),
        ("template", pa.string()),
        ("rank", pa.int32()),
        ("count", pa.int64()),
        ("subjects", pa.int64()),
        ("examples", pa.list_(pa.string())),
        ("dropped_by", pa.string()),
    ]
)
"""One row a template of a relation, sorted by property and rank, unused ones last by falling count.

`subjects` is the number of subjects whose sentences gave it; `rank` is null where `dropped_by` says why the
template is not used."""

RULES = ("narrow", "describes", "number", "object_kind")
"""Reasons why a template is not used, in the order in which they are checked."""

_EXAMPLES = 3
_WORD_BEFORE_BLANK = re.compile(r"(\w+)[\"'(]* (?=\{(?:subject|object)\})")
_BLANKS = re.compile(r"\{\w+\}")


class Kept(NamedTuple):
    """A sentence that the filters kept, with its template."""

    property: int
    subject: str
    sentence: str
    template: str
    described: frozenset[str]
    """Words of the descriptions and types of its subject and object."""
    literal: frozenset[str]
    """Words of a date or quantity that is its object."""
    is_date: bool


@dataclass
class _Template:
    text: str
    count: int = 0
    subjects: set[str] = field(default_factory=set)
    describes: int = 0
    names_literal: int = 0
    before_dates: int = 0
    examples: dict[str, str] = field(default_factory=dict)


def write_candidates(job: Count) -> int:
    """Writes CANDIDATES from the kept sentences in one language; returns the number of rows."""
    language = read_language(job.prompts, job.language)
    sampled = records(job.sample)
    triples = {row["request"]: row for row in sampled if row["language"] == job.language}
    relations = {
        row["property"]: f"{row['relation_label']} {row['relation_description'] or ''}"
        for row in triples.values()
    }
    rows = counted(_kept(job.verbalizations, triples), relations, language, job.settings)
    return write_parquet(pa.Table.from_pylist(list(rows), schema=CANDIDATES), job.output)


def counted(
    kept: Iterable[Kept], relations: Mapping[int, str], language: Language, quality: Quality
) -> Iterator[dict[str, Any]]:
    """The rows of CANDIDATES; `kept` is sorted by property, `relations` has their labels and descriptions."""
    for number, sentences in groupby(kept, key=attrgetter("property")):
        templates: dict[str, _Template] = {}
        subjects = set()
        own = words_of([relations[number]]) | language.common_words.get(language.code, frozenset())
        for shown in sentences:
            subjects.add(shown.subject)
            _count(templates.setdefault(shown.template, _Template(shown.template)), shown, own, language)
        yield from _ranked(
            number, list(templates.values()), len(subjects), relations[number], language, quality
        )


def _kept(verbalizations: Path, triples: Mapping[str, Mapping[str, Any]]) -> Iterator[Kept]:
    columns = ["request", "property", "sentence", "template", "object_label"]
    for row in records(verbalizations, columns):
        triple = triples.get(row["request"])
        if triple is None or row["template"] is None:
            continue
        meant = [triple[f"{part}_description"] for part in ("subject", "object")]
        is_worded = triple["datatype"] in ("time", "quantity")
        yield Kept(
            row["property"],
            row["request"],
            row["sentence"],
            row["template"],
            words_of([*meant, *triple["subject_types"], *triple["object_types"]]),
            words_of([row["object_label"]] if is_worded else []),
            triple["datatype"] == "time",
        )


def _count(template: _Template, sentence: Kept, own: frozenset[str], language: Language) -> None:
    template.count += 1
    template.subjects.add(sentence.subject)
    if len(template.examples) < _EXAMPLES:
        template.examples.setdefault(sentence.subject, sentence.sentence)
    words = words_of([_BLANKS.sub(" ", template.text)])
    template.describes += bool((words - own) & sentence.described)
    template.names_literal += bool(words & sentence.literal)
    last = template.text.removesuffix(OBJECT).split()
    template.before_dates += sentence.is_date and last[-1].lower() in language.texts.date_words


def _ranked(
    number: int,
    templates: list[_Template],
    subjects: int,
    relation: str,
    language: Language,
    quality: Quality,
) -> Iterator[dict[str, Any]]:
    """The rows of a relation, best first: templates without an article before a blank, by count, by text."""

    def reason(template: _Template) -> str | None:
        spread = len(template.subjects)
        if quality.quality == "paper":
            return None
        if spread < min(quality.min_subjects, subjects):
            return "narrow"
        general = spread >= max(quality.general_subjects, quality.general_share * subjects)
        if template.describes * 2 > template.count and not general:
            return "describes"
        if any(character.isdigit() and character not in relation for character in template.text):
            return "number"
        if template.names_literal * 2 > template.count or template.before_dates:
            return "object_kind"
        return None

    def place(template: _Template) -> tuple[bool, int, str]:
        words = {word.lower() for word in _WORD_BEFORE_BLANK.findall(template.text)}
        behind = quality.quality == "strict" and bool(words & language.texts.articles)
        return behind, -template.count, template.text

    reasons = {template.text: reason(template) for template in templates}
    used = sorted((t for t in templates if reasons[t.text] is None), key=place)
    unused = sorted((t for t in templates if reasons[t.text] is not None), key=lambda t: (-t.count, t.text))
    for rank, template in enumerate([*used, *unused], start=1):
        yield {
            "property": number,
            "template": template.text,
            "rank": rank if rank <= len(used) else None,
            "count": template.count,
            "subjects": len(template.subjects),
            "examples": list(template.examples.values()),
            "dropped_by": reasons[template.text],
        }

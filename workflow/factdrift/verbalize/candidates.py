"""Templates by relation: counted in sentences or as others published them, and why some are not used.

The paper takes the five most frequent. With quality `strict` a template must also not say more than its
relation, and must fit all objects that the relation can have.

Published templates (config key `verbalizer: file`) come in the three layouts of docs/verbalization.md,
recognised by the file; the sentences of `triple_verbs` are filtered and counted as our own are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import check_columns, records, write_parquet
from factdrift.verbalize.language import Language, read_language, words_of
from factdrift.verbalize.sentences import judged
from factdrift.verbalize.settings import Quality
from factdrift.wikidata.ids import listed_property
from factdrift.words.templates import OBJECT, SUBJECT, problem

CANDIDATES = schema_of(
    "property: int32, template: string, rank: int32, count subjects: int64, examples: [string]",
    "dropped_by: string",
)
"""One row a template of a relation, the best first (docs/tables/candidates.md)."""

RULES = ("narrow", "describes", "number", "object_kind")
"""Reasons why a template is not used, in the order in which they are checked."""

PUBLISHED_SUBJECT, PUBLISHED_OBJECT = "XXXX", "____"

_EXAMPLES = 3
_WORD_BEFORE_BLANK = re.compile(r"(\w+)[\"'(]* (?=\{(?:subject|object)\})")
_BLANKS = re.compile(r"\{\w+\}")
_DATES = ("Date", "Month", "Year")


class KeptSentence(NamedTuple):
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


def write_candidates(
    verbalizations: Path, sample: Path, language: Language, quality: Quality, output: Path
) -> int:
    """Writes CANDIDATES from the kept sentences in one language; returns the number of rows."""
    triples = {row["request"]: row for row in records(sample) if row["language"] == language.code}
    relations = {
        row["property"]: f"{row['relation_label']} {row['relation_description'] or ''}"
        for row in triples.values()
    }
    rows = counted(_kept(verbalizations, triples), relations, language, quality)
    return write_parquet(pa.Table.from_pylist(list(rows), schema=CANDIDATES), output)


def _kept(verbalizations: Path, triples: Mapping[str, Row]) -> Iterator[KeptSentence]:
    columns = ["request", "property", "sentence", "template", "object_label"]
    for row in records(verbalizations, columns):
        triple = triples.get(row["request"])
        if triple is None or row["template"] is None:
            continue
        meant = [triple[f"{part}_description"] for part in ("subject", "object")]
        described = words_of([*meant, *triple["subject_types"], *triple["object_types"]])
        literal = words_of([row["object_label"]] if triple["datatype"] in ("time", "quantity") else [])
        own = row["property"], row["request"], row["sentence"], row["template"]
        yield KeptSentence(*own, described, literal, triple["datatype"] == "time")


def counted(
    kept: Iterable[KeptSentence], relations: Mapping[int, str], language: Language, quality: Quality
) -> Iterator[Row]:
    """The rows of CANDIDATES; `kept` is sorted by property, `relations` has their labels and descriptions.

    Templates without an article before a blank come first, then the most frequent, then by text.
    """
    for number, sentences in groupby(kept, key=attrgetter("property")):
        templates: dict[str, list[KeptSentence]] = {}
        for sentence in sentences:
            templates.setdefault(sentence.template, []).append(sentence)
        subjects = len({sentence.subject for alike in templates.values() for sentence in alike})
        ordered = []
        for template, alike in templates.items():
            reason = None
            behind = False
            if quality.quality == "strict":
                reason = _reason(alike, subjects, relations[number], language, quality)
                words = {word.lower() for word in _WORD_BEFORE_BLANK.findall(template)}
                behind = reason is None and not words.isdisjoint(language.texts.articles)
            ordered.append((reason is not None, behind, -len(alike), template, reason))
        for rank, (unused, _, count, template, reason) in enumerate(sorted(ordered), start=1):
            firsts: dict[str, str] = {}
            for sentence in templates[template]:
                firsts.setdefault(sentence.subject, sentence.sentence)
            yield {
                "property": number,
                "template": template,
                "rank": None if unused else rank,
                "count": -count,
                "subjects": len(firsts),
                "examples": list(firsts.values())[:_EXAMPLES],
                "dropped_by": reason,
            }


def _reason(
    sentences: Sequence[KeptSentence], subjects: int, relation: str, language: Language, quality: Quality
) -> str | None:
    """Which of RULES the template of these sentences breaks; `subjects`: how many the relation has."""
    template, count = sentences[0].template, len(sentences)
    spread = len({sentence.subject for sentence in sentences})
    if spread < min(quality.min_subjects, subjects):
        return "narrow"
    words = words_of([_BLANKS.sub(" ", template)])
    own = words_of([relation]) | language.common_words.get(language.code, frozenset())
    describing = sum(not sentence.described.isdisjoint(words - own) for sentence in sentences)
    general = spread >= max(quality.general_subjects, quality.general_share * subjects)
    if describing * 2 > count and not general:
        return "describes"
    if any(character.isdigit() and character not in relation for character in template):
        return "number"
    of_literals = sum(not sentence.literal.isdisjoint(words) for sentence in sentences)
    last = template.removesuffix(OBJECT).split()[-1].lower()
    before_date = last in language.texts.date_words and any(sentence.is_date for sentence in sentences)
    return "object_kind" if of_literals * 2 > count or before_date else None


def write_published(path: Path, prompts: Path, quality: Quality, output: Path) -> dict[str, int]:
    """Writes CANDIDATES from a published file; returns the number dropped by reason.

    Templates that are published as such keep their order and number; `quality` judges only those that are
    counted from sentences. Raises InputError that names the file and the key, line or row that is wrong.
    """
    if not path.is_file():
        raise InputError(f"templates_file: {path} does not exist; correct the path in the configuration")
    try:
        columns = pq.read_schema(path).names if path.suffix == ".parquet" else []
    except pa.ArrowInvalid as error:
        raise InputError(f"templates_file: {path}: {error}; fetch the file again") from None
    dropped: Counter[str] = Counter()
    if path.suffix == ".json":
        rows = list(_best_templates(path))
    elif "verbalizations" in columns:
        rows = _from_sentences(path, prompts, quality, dropped)
    elif {"property", "template"} <= set(columns):
        rows = list(_own(path))
    else:
        raise InputError(
            f"templates_file: {path} is no best_templates.json, no table triple_verbs and no "
            "templates.parquet; docs/verbalization.md describes these"
        )
    dropped.update(row["dropped_by"] for row in rows if row["dropped_by"])
    try:
        table = pa.Table.from_pylist(rows, schema=CANDIDATES)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"templates_file: {path}: a value that no table can hold ({error})") from None
    write_parquet(table, output)
    return dict(sorted(dropped.items()))


def _best_templates(path: Path) -> Iterator[Row]:
    try:
        decoded = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error}); fetch the file again") from None
    if not isinstance(decoded, dict):
        raise InputError(f"{path}: an object of relations and their templates is expected")
    numbers = {listed_property(name, f"{path}, key {name!r}"): name for name in decoded}
    for number, name in sorted(numbers.items()):
        try:
            pairs = msgspec.convert(decoded[name], list[tuple[str, int]])
        except msgspec.ValidationError:
            raise InputError(f"{path}, key {name!r}: a list of [template, number] is expected") from None
        yield from _ordered(number, [(_converted(text), count, []) for text, count in pairs])


def _converted(text: str) -> str:
    """A published template with our blanks; a period behind the object is left out."""
    template = " ".join(text.split()).replace(PUBLISHED_SUBJECT, SUBJECT).replace(PUBLISHED_OBJECT, OBJECT)
    return template.removesuffix(".") if template.endswith(f"{OBJECT}.") else template


def _own(path: Path) -> Iterator[Row]:
    relations: dict[int, list[Row]] = {}
    for index, row in enumerate(records(path)):
        if not isinstance(row["property"], int) or not isinstance(row["template"], str):
            raise InputError(f"{path}, row {index}: property (an integer) and template (a text) are expected")
        relations.setdefault(row["property"], []).append(row)
    for number, rows in sorted(relations.items()):
        rows.sort(key=lambda row: (row.get("rank") is None, row.get("rank")))
        templates = [(row["template"], row.get("count"), row.get("examples") or []) for row in rows]
        yield from _ordered(number, templates)


def _ordered(number: int, templates: list[tuple[str, int | None, list[str]]]) -> Iterator[Row]:
    """Templates of a relation in the order in which they were published, unusable ones last."""
    used: dict[str, Row] = {}
    unused = []
    for template, count, examples in templates:
        row = {"property": number, "template": template, "count": count, "examples": examples}
        if template.count(SUBJECT) == template.count(OBJECT) == 1 and not template.endswith(OBJECT):
            unused.append(row | {"dropped_by": "object_not_last"})
        elif wrong := problem(template):
            unused.append(row | {"dropped_by": "glued" if "glued" in wrong else "form"})
        elif template in used:
            unused.append(row | {"dropped_by": "duplicate"})
        else:
            used[template] = row | {"rank": len(used) + 1, "dropped_by": None}
    yield from [*used.values(), *unused]


def _from_sentences(path: Path, prompts: Path, quality: Quality, dropped: Counter[str]) -> list[Row]:
    """Counts the templates of `triple_verbs`; adds sentences and answers without one to `dropped`."""
    language = read_language(prompts, "en")
    relations: dict[int, str] = {}
    kept: list[KeptSentence] = []
    columns = ["triple", "verbalizations", "error"]
    check_columns(path, columns, ", as triple_verbs has")
    for index, row in enumerate(records(path, columns)):
        where = f"{path}, row {index}"
        try:
            triple, answers = row["triple"], row["verbalizations"] or []
            relation, subject, object_ = triple["relation"], triple["subject"], triple["object"]
            number = listed_property(relation["id"], where)
            names = {"subject_label": subject["label"], "object_label": object_["label"]}
            names["relation_label"] = relation["label"] or ""
            sentences = [answer["verbalization"] for answer in answers]
            is_literal = object_.get("id") is None
            # The description of a literal is the name of its kind, such as Date.
            described = words_of([subject.get("description"), None if is_literal else object_["description"]])
            named = f"{subject['id']}"
        except (KeyError, TypeError, AttributeError) as error:
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
                kept.append(KeptSentence(number, named, sentence, template, described, literal, is_date))
    if not relations:
        raise InputError(f"templates_file: {path} holds no triple; fetch the file again")
    kept.sort(key=attrgetter("property"))
    return list(counted(kept, relations, language, quality))

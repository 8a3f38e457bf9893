"""verbalizations.parquet: every sentence of the answers with its template or why it has none; the report."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from factdrift.chat.replies import end_of
from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.tables import growing, records, write_parquet
from factdrift.verbalize.language import Language, read_language, words_of
from factdrift.wikidata.ids import property_id
from factdrift.words.mentions import Folded, begins_word, folded, mentions, name_key
from factdrift.words.names import read_names
from factdrift.words.reasoning import answer_of
from factdrift.words.templates import OBJECT, SUBJECT, problem

VERBALIZATIONS = schema_of(
    "request language: string, property: int32, relation_label: string, subject: int32",
    "subject_label statement: string, object: int32, object_label model answer: string, position: int32",
    "sentence template dropped_by: string",
)
"""One row a sentence, in the order of the sample and of the answer (docs/tables/verbalizations.md)."""

UNUSED = ("failed", "refused", "truncated", "empty", "malformed", "wrong_language")
"""Kinds of answers of which no sentence is used."""

KINDS = (*UNUSED, "wrong_count", "duplicated", "ok")
"""The kinds of answers; the first that applies counts. Sentences of the last three are judged one by one."""

REASONS = (
    *("no_object", "object_not_last", "no_subject", "subject_twice", "object_twice", "in_name"),
    *("several_sentences", "fragment", "glued", "article", "form", "language"),
)
"""Reasons why a sentence gives no template, in the order in which they are checked."""

STEPS = ("asked", *UNUSED, "wrong_count", "duplicate", *REASONS)
"""The steps that drop sentences, in their order; `asked` is where all begin."""

REPORT = schema_of(
    "language: string, property: int32, relation_label: string, triples: int64, step: string",
    "dropped left: int64",
)
"""One row a relation and step of STEPS (docs/tables/verbalization_report.md)."""

_FENCE = re.compile(r"^\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(r"^\s*(?:\d{1,3}\s*[.):]|[-*•])\s+(\S.*?)\s*$", re.MULTILINE)

_END = re.compile(r"[.\"' ]*$")
_BOLD = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1")
_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
# A period ends a sentence after a word of five letters or more, and after a lower-case word that a capital or
# a name follows; the periods of "St. ", "U.S. " and "Prof. " do not.
_SENTENCE_END = re.compile(r"[?!…]|[^\W\d_]{5}\.\s|(?<!\w)[a-z]{2,}\.\s+(?=[A-Z]|$)")
# A capitalised word after or before a name, except the first word of the sentence.
_NAME_GOES_ON = re.compile(r" ([A-Z][\w.-]*)")
_NAME_BEGINS = re.compile(r"\S \W*([A-Z][\w.-]*) $")
_WORD = re.compile(r"[^\W\d_]{2}")

Outcome = tuple[str | None, str | None]
"""A template, or the reason why there is none; the other is None."""
Counts = dict[tuple[str, int, str], Counter[str]]
"""Language, property and label of a relation -> its `triples`, and the sentences that each step dropped."""


def write_sentences(
    sample: Path, answers: Path, prompts: Path, number: int, output: Path, report: Path, text: Path
) -> Counter[str]:
    """Writes VERBALIZATIONS, REPORT and the report for reading as `output`, `report` and `text`.

    `number`: the sentences asked for about a triple. Returns the number of sentences that were `asked` for,
    that are `kept`, and that each other step dropped.

    Raises InputError if the answers are not those to the requests of the sample, each once and in order.
    """
    counts: Counts = {}
    totals: Counter[str] = Counter(asked=0, kept=0)
    with growing(output, VERBALIZATIONS) as add:
        for triple, answer in _pairs(sample, answers):
            language = read_language(prompts, triple["language"])
            rows = _judged(triple, answer, language, number, counts)
            totals["kept"] += sum(row["template"] is not None for row in rows)
            add(pa.RecordBatch.from_pylist(rows, schema=VERBALIZATIONS))
    steps = []
    left: dict[str, dict[str, int]] = {}
    for (code, relation, label), dropped in counts.items():
        named = {"language": code, "property": relation, "relation_label": label}
        remaining = dropped["triples"] * number
        numbers = left.setdefault(f"{code} {property_id(relation)} {label}", {})
        totals["asked"] += remaining
        for step in STEPS:
            lost = None if step == "asked" else dropped[step]
            remaining -= lost or 0
            numbers[step] = remaining
            counted = {"triples": dropped["triples"], "step": step, "dropped": lost, "left": remaining}
            steps.append(named | counted)
            totals[step] += lost or 0
    write_parquet(pa.Table.from_pylist(steps, schema=REPORT), report)
    write_text(_readable(left, [step for step in STEPS if step == "asked" or totals[step]]), text)
    return totals


def _pairs(sample: Path, answers: Path) -> Iterator[tuple[Row, Row]]:
    for row, (triple, answer) in enumerate(zip_longest(records(sample), records(answers)), start=1):
        asked = triple["request"] if triple else None
        answered = answer["request"] if answer else None
        if asked != answered:
            raise InputError(
                f"{answers}, row {row}: "
                + (f"an answer to {answered!r}" if answer else "no answer")
                + (f" where {asked!r} was asked" if triple else ", which was not asked")
                + f"; ask the requests of {sample} again, the store answers what it knows"
            )
        yield triple, answer


def _judged(triple: Row, answer: Row, language: Language, number: int, counts: Counts) -> list[Row]:
    """The rows of VERBALIZATIONS about a triple; adds the sentences that each step drops to `counts`."""
    kind, sentences = parse(answer, [triple["subject_label"], triple["object_label"]], number, language)
    dropped = counts.setdefault((language.code, triple["property"], triple["relation_label"]), Counter())
    dropped["triples"] += 1
    row = {name: triple[name] for name in VERBALIZATIONS.names if name in triple}
    row |= {"model": answer["model"], "answer": kind}
    if kind in UNUSED:
        dropped[kind] += number
        return [row | {"template": None, "dropped_by": kind}]
    dropped["wrong_count"] += number - len(sentences)
    rows = []
    for position, (sentence, template, reason) in enumerate(judged(triple, sentences, language), start=1):
        if reason is not None:
            dropped[reason] += 1
        judgement = {"position": position, "sentence": sentence, "template": template, "dropped_by": reason}
        rows.append(row | judgement)
    return rows


def parse(
    answer: Mapping[str, Any], names: Sequence[str], count: int, language: Language
) -> tuple[str, Sequence[str]]:
    """The kind (KINDS) of an answer, and its sentences in order, as written, repeated ones included.

    `answer`: a row of `factdrift.chat.tables.ANSWERS` to a request for `count` sentences about `names`. A
    JSON object with one list of texts, a JSON list of texts, and numbered or dashed lines are all accepted,
    whichever was asked for, with or without a code fence. Sentences beyond `count` are left out. An answer
    that the token limit cut off is not used at all.
    """
    if answer["status"] != "answered":
        return "failed", ()
    content = answer_of(answer["content"] or "").strip()
    end = end_of(answer["finish_reason"])
    if answer["refusal"] or end == "filtered":
        return "refused", ()
    if end == "cut":
        return "truncated", ()
    if not content:
        return "empty", ()
    if (sentences := _listed(content)) is None:
        refused = content.replace("’", "'").startswith(language.texts.refusals)
        return "refused" if refused else "malformed", ()
    written = [sentence.strip() for sentence in sentences if sentence.strip()]
    if not written:
        return "empty", ()
    unnamed = " ".join(written)
    for name in names:
        unnamed = unnamed.replace(name, " ")
    if language.is_other(unnamed):
        return "wrong_language", ()
    if len(written) != count:
        return "wrong_count", written[:count]
    return "ok" if len(set(map(_key, written))) == count else "duplicated", written


def _listed(content: str) -> list[str] | None:
    """The sentences of an answer; None if it has none of the accepted forms."""
    if fenced := _FENCE.match(content):
        content = fenced[1].strip()
    try:
        decoded = msgspec.json.decode(content)  # refuses half a surrogate pair, which no table can hold
    except (ValueError, RecursionError):
        return _LINE.findall(content) or None
    if isinstance(decoded, dict) and len(decoded) == 1:
        [decoded] = decoded.values()
    if isinstance(decoded, list) and all(isinstance(text, str) for text in decoded):
        return decoded
    return None


def _key(sentence: str) -> str:
    """A key that is equal for sentences that differ only in case, diacritics and final punctuation."""
    return name_key(sentence).strip(".\"' ")


def judged(
    triple: Mapping[str, Any], sentences: Iterable[str], language: Language
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yields (sentence, template, reason) for the sentences about a triple; template or reason is None."""
    subject, object, relation = (triple[f"{part}_label"] for part in ("subject", "object", "relation"))
    known = set()
    for sentence in sentences:
        key = _key(sentence)
        if key in known:
            yield sentence, None, "duplicate"
        else:
            yield sentence, *judge(sentence, subject, object, language, relation)
        known.add(key)


def judge(sentence: str, subject: str, object: str, language: Language, relation: str = "") -> Outcome:
    """The template of a sentence that contains the subject once and ends with the object, else a reason.

    Names are found as whole words, whatever the case (`factdrift.words.mentions`); a final period and quotes
    around a name are optional. The blank takes the place of the name with its quotes and of an article that
    the language counts as part of the name: before the subject, and before an object whose name takes one. An
    article of a name that takes one, in a language that has several forms of it, would fit no other name; the
    sentence gives no template. `relation` is the relation's label.
    """
    text = _unquoted(_BOLD.sub(r"\2", " ".join(sentence.split())))
    line = folded(text)
    if (last := _last(line, name_key(object))) is None:
        return None, "object_not_last" if mentions(line.text, name_key(object)) else "no_object"
    first, end = last
    subjects = [span for span in mentions(line.text, name_key(subject)) if span[1] <= first]
    if len(subjects) != 1:
        return None, "subject_twice" if subjects else "no_subject"
    [(start, stop)] = subjects
    for span in mentions(line.text, name_key(object)):
        if span[1] <= start or stop <= span[0] < span[1] <= first:
            return None, "object_twice"
    before = text[: line.indices[start]].translate(_PLAIN)
    between = text[line.indices[stop] : line.indices[first]].translate(_PLAIN)
    after = text[line.indices[end] :].translate(_PLAIN)
    if language.texts.capitals_are_names:
        beside = (_NAME_GOES_ON.match(between), _NAME_BEGINS.search(before), _NAME_BEGINS.search(between))
        own = words_of([relation])
        if any(match and not words_of([match[1]]) <= own for match in beside):
            return None, "in_name"
    return _blanked(before, between, after, subject, object, language)


def _last(line: Folded, name: str) -> tuple[int, int] | None:
    """Start and end of the name at the end of a sentence, whose period may be the name's or be missing."""
    for form in dict.fromkeys((name, name.rstrip("."))):
        start = line.text.rfind(form) if form else -1
        if start >= 0 and begins_word(line.text, start) and _END.match(line.text, start + len(form)):
            return start, start + len(form)
    return None


def _unquoted(text: str) -> str:
    """The sentence without quotes around the whole of it."""
    bare = text.translate(_PLAIN)
    for quote in "\"'":
        if bare.count(quote) == 2 and bare.startswith(quote) and bare.rstrip(".").endswith(quote):
            return text[1:].rstrip(".")[:-1].strip()
    return text


def _blanked(before: str, between: str, after: str, subject: str, object: str, language: Language) -> Outcome:
    quoted = before[-1:] in ('"', "'") and between.startswith(before[-1])
    if quoted:
        before, between = before[:-1], between[1:]
    elif between.startswith("' ") and subject.rstrip().lower().endswith("s"):
        between = f"'s{between[1:]}"
    if between[-1:] in ('"', "'") and between[-1] in after:
        between = between[:-1]
    names, texts = read_names(language.code), language.texts
    *words, last = before.rstrip().rpartition(" ")
    inflected = texts.articles - texts.absorbed_articles
    if last.lower() in texts.absorbed_articles:
        before = "".join(words)
    elif last.lower() in inflected and names.usage(subject).article:
        return None, "article"
    if names.usage(object).article:
        *words, last = between.rstrip().rpartition(" ")
        if last.lower() in texts.absorbed_articles:
            between = "".join(words)
        elif last.lower() in inflected and last.lower() != names.usage(object).article:
            return None, "article"
    template = f"{before}{SUBJECT}{between}{OBJECT}"
    template = template[:1].upper() + template[1:]
    rest = f"{before} {between}"
    if _SENTENCE_END.search(before) or _SENTENCE_END.search(between):
        return None, "several_sentences"
    if not _WORD.search(rest) or between.rstrip()[-1:] in tuple(",;:-–—"):
        return None, "fragment"
    if wrong := problem(template):
        return None, "glued" if "glued" in wrong else "form"
    if rest.count('"') % 2:
        return None, "form"
    if language.is_other(rest):
        return None, "language"
    return template, None


def _readable(relations: Mapping[str, Mapping[str, int]], steps: Sequence[str]) -> str:
    """The report as text. `relations`: name -> step -> the sentences left after it, one column each."""
    totals = {step: sum(left[step] for left in relations.values()) for step in steps}
    rows = [("relation", list(steps))]
    for name, left in {"all": totals, **relations}.items():
        shown = name if len(name) < 44 else f"{name[:42]}…"
        rows.append((shown, [f"{left[step]:,}" for step in steps]))
    lines = ["Sentences that were left after each step, by relation", ""]
    for name, cells in rows:
        columns = [f"{cell:>{max(len(step), 9)}}" for cell, step in zip(cells, steps, strict=True)]
        lines.append(f"{name:<44}" + " ".join(columns))
    return "\n".join(lines) + "\n"

"""verbalizations.parquet: every sentence of the answers, with the reason if it is dropped; and the report."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.tables import growing, records, write_parquet
from factdrift.verbalize.filters import REASONS, judge
from factdrift.verbalize.jobs import Sentences
from factdrift.verbalize.language import Language, read_language
from factdrift.wikidata.ids import property_id
from factdrift.words.mentions import name_key

VERBALIZATIONS = pa.schema(
    [
        ("request", pa.string()),
        ("language", pa.string()),
        ("property", pa.int32()),
        ("relation_label", pa.string()),
        ("subject", pa.int32()),
        ("subject_label", pa.string()),
        ("statement", pa.string()),
        ("object", pa.int32()),
        ("object_label", pa.string()),
        ("model", pa.string()),
        ("answer", pa.string()),
        ("position", pa.int32()),
        ("sentence", pa.string()),
        ("template", pa.string()),
        ("dropped_by", pa.string()),
    ]
)
"""One row a sentence, in the order of the sample and of the answer. An answer without a usable sentence has
one row with null `position` and `sentence`; its `dropped_by` is the kind of answer."""

UNUSED = ("failed", "refused", "truncated", "empty", "malformed", "wrong_language")
"""Kinds of answers of which no sentence is used."""

KINDS = (*UNUSED, "wrong_count", "duplicated", "ok")
"""The kinds of answers; the first that applies counts. Sentences of the last three are judged one by one."""

STEPS = ("asked", *UNUSED, "wrong_count", "duplicate", *REASONS)
"""The steps that drop sentences, in their order; `asked` is where all begin."""

REPORT = pa.schema(
    [
        ("language", pa.string()),
        ("property", pa.int32()),
        ("relation_label", pa.string()),
        ("triples", pa.int64()),
        ("step", pa.string()),
        ("dropped", pa.int64()),
        ("left", pa.int64()),
    ]
)
"""One row a relation and step (STEPS), sorted by language and property: the number of sentences that the step
dropped and that were left after it. `dropped` is null in the step `asked`."""

_FENCE = re.compile(r"^\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(r"^\s*(?:\d{1,3}\s*[.):]|[-*•])\s+(\S.*?)\s*$", re.MULTILINE)

Row = dict[str, Any]
Counts = dict[tuple[str, int, str], Counter[str]]
"""Language, property and label of a relation -> its `triples`, and the sentences that each step dropped."""


def write_sentences(job: Sentences) -> Counter[str]:
    """Writes VERBALIZATIONS, REPORT and the report for reading.

    Returns the number of sentences that were `asked` for, that are `kept`, and that each other step dropped.

    Raises InputError if the answers are not those to the requests of the sample, each once and in order.
    """
    counts: Counts = {}
    totals: Counter[str] = Counter(asked=0, kept=0)
    with growing(job.output, VERBALIZATIONS) as add:
        for triple, answer in _pairs(job.sample, job.answers):
            rows = _judged(triple, answer, job, counts)
            totals["kept"] += sum(row["template"] is not None for row in rows)
            add(pa.RecordBatch.from_pylist(rows, schema=VERBALIZATIONS))
    report = []
    left = {}
    for (language, number, label), dropped in counts.items():
        named = {"language": language, "property": number, "relation_label": label}
        remaining = dropped["triples"] * job.number
        left[f"{language} {property_id(number)} {label}"] = numbers = {}
        totals["asked"] += remaining
        for step in STEPS:
            lost = None if step == "asked" else dropped[step]
            remaining -= lost or 0
            numbers[step] = remaining
            report.append(
                named | {"triples": dropped["triples"], "step": step, "dropped": lost, "left": remaining}
            )
            totals[step] += lost or 0
    write_parquet(pa.Table.from_pylist(report, schema=REPORT), job.report)
    write_text(_readable(left, [step for step in STEPS if step == "asked" or totals[step]]), job.text)
    return totals


def _pairs(sample: Path, answers: Path) -> Iterator[tuple[Row, Row]]:
    """Yields each triple of the sample with its answer."""
    for place, (triple, answer) in enumerate(zip_longest(records(sample), records(answers)), start=1):
        asked = triple["request"] if triple else None
        answered = answer["request"] if answer else None
        if asked != answered:
            raise InputError(
                f"{answers}, row {place}: "
                + (f"an answer to {answered!r}" if answer else "no answer")
                + (f" where {asked!r} was asked" if triple else ", which was not asked")
                + f"; ask the requests of {sample} again, the store answers what it knows"
            )
        yield triple, answer


def _judged(triple: Row, answer: Row, job: Sentences, counts: Counts) -> list[Row]:
    """The rows of VERBALIZATIONS about a triple; adds the sentences that each step drops to `counts`."""
    language = read_language(job.prompts, triple["language"])
    kind, sentences = parse(answer, [triple["subject_label"], triple["object_label"]], job.number, language)
    dropped = counts.setdefault((language.code, triple["property"], triple["relation_label"]), Counter())
    dropped["triples"] += 1
    row = {name: triple[name] for name in VERBALIZATIONS.names if name in triple}
    row |= {"model": answer["model"], "answer": kind}
    if kind in UNUSED:
        dropped[kind] += job.number
        return [row | {"template": None, "dropped_by": kind}]
    dropped["wrong_count"] += job.number - len(sentences)
    rows = []
    for place, (sentence, template, reason) in enumerate(judged(triple, sentences, language), start=1):
        if reason is not None:
            dropped[reason] += 1
        said = {"position": place, "sentence": sentence, "template": template, "dropped_by": reason}
        rows.append(row | said)
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
    content = (answer["content"] or "").strip()
    if answer["refusal"] or answer["finish_reason"] == "content_filter":
        return "refused", ()
    if answer["finish_reason"] == "length":
        return "truncated", ()
    if not content:
        return "empty", ()
    sentences = _listed(content)
    if sentences is None:
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
        decoded = json.loads(content)
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

"""verbalizations.parquet: every sentence of the answers, with the reason if it is dropped; and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.tables import records, write_parquet
from factdrift.verbalize.answers import UNUSED, parse, sentence_key
from factdrift.verbalize.filters import REASONS, judge
from factdrift.verbalize.language import Language, read_language
from factdrift.wikidata.ids import property_id

if TYPE_CHECKING:
    from factdrift.verbalize.jobs import Sentences

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

_BATCH = 4096


def write_sentences(job: Sentences) -> Counter[str]:
    """Writes VERBALIZATIONS, REPORT and the report for reading.

    Returns the number of sentences that were `asked` for, that are `kept`, and that each other step dropped.

    Raises InputError if the answers are not those to the requests of the sample, each once and in order.
    """
    counts: dict[tuple[str, int, str], Counter[str]] = {}
    totals: Counter[str] = Counter(asked=0, kept=0)

    def batches() -> Iterator[pa.RecordBatch]:
        rows: list[dict[str, Any]] = []
        for row in _judged(job, counts):
            rows.append(row)
            totals["kept"] += row["template"] is not None
            if len(rows) >= _BATCH:
                yield pa.RecordBatch.from_pylist(rows, schema=VERBALIZATIONS)
                rows = []
        yield pa.RecordBatch.from_pylist(rows, schema=VERBALIZATIONS)

    write_parquet(pa.RecordBatchReader.from_batches(VERBALIZATIONS, batches()), job.output)
    lines = _account(counts, job.number)
    write_parquet(pa.Table.from_pylist(lines, schema=REPORT), job.report)
    write_text(_readable(lines), job.text)
    for line in lines:
        totals[line["step"]] += line["left"] if line["step"] == "asked" else line["dropped"]
    return totals


def judged(
    triple: Mapping[str, Any], sentences: Iterable[str], language: Language
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yields (sentence, template, reason) for the sentences about a triple; template or reason is None."""
    texts = set()
    for sentence in sentences:
        key = sentence_key(sentence)
        if key in texts:
            yield sentence, None, "duplicate"
            continue
        texts.add(key)
        yield (
            sentence,
            *judge(
                sentence, triple["subject_label"], triple["object_label"], language, triple["relation_label"]
            ),
        )


def _judged(job: Sentences, counts: dict[tuple[str, int, str], Counter[str]]) -> Iterator[dict[str, Any]]:
    """The rows of VERBALIZATIONS; adds the sentences that each step drops to `counts`."""
    for triple, answer in _pairs(job.sample, job.answers):
        language = read_language(job.prompts, triple["language"])
        names = [triple["subject_label"], triple["object_label"]]
        kind, sentences = parse(answer, names, job.number, language)
        dropped = counts.setdefault((language.code, triple["property"], triple["relation_label"]), Counter())
        dropped["triples"] += 1
        row = {name: triple[name] for name in VERBALIZATIONS.names if name in triple}
        row |= {"model": answer["model"], "answer": kind}
        if kind in UNUSED:
            dropped[kind] += job.number
            yield {**row, "position": None, "sentence": None, "template": None, "dropped_by": kind}
            continue
        dropped["wrong_count"] += job.number - len(sentences)
        for place, (sentence, template, reason) in enumerate(judged(triple, sentences, language), start=1):
            if reason is not None:
                dropped[reason] += 1
            yield {**row, "position": place, "sentence": sentence, "template": template, "dropped_by": reason}


def _pairs(sample: Path, answers: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
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


def _account(counts: Mapping[tuple[str, int, str], Counter[str]], sentences: int) -> list[dict[str, Any]]:
    lines = []
    for (language, number, label), dropped in counts.items():
        left = dropped["triples"] * sentences
        common = {
            "language": language,
            "property": number,
            "relation_label": label,
            "triples": dropped["triples"],
        }
        for step in STEPS:
            lost = None if step == "asked" else dropped[step]
            left -= lost or 0
            lines.append({**common, "step": step, "dropped": lost, "left": left})
    return lines


def _readable(lines: list[dict[str, Any]]) -> str:
    """The report as text: one column for each step that dropped any, with the sentences left after it."""
    busy = {line["step"] for line in lines if line["dropped"] != 0} | {"asked"}
    steps = [step for step in STEPS if step in busy]
    relations: dict[tuple[str, int, str], list[int]] = {}
    for line in lines:
        if line["step"] in busy:
            key = (line["language"], line["property"], line["relation_label"])
            relations.setdefault(key, []).append(line["left"])
    totals = [sum(left) for left in zip(*relations.values(), strict=True)] or [0]
    widths = [max(len(step), 9) for step in steps]

    def row(name: str, cells: Iterable[object]) -> str:
        return f"{name:<44}" + " ".join(f"{cell!s:>{w}}" for cell, w in zip(cells, widths, strict=True))

    written = ["Sentences that were left after each step, by relation", "", row("relation", steps)]
    written.append(row("all", (f"{total:,}" for total in totals)))
    for (language, number, label), left in relations.items():
        name = f"{language} {property_id(number)} {label}"
        written.append(row(name if len(name) < 44 else f"{name[:42]}…", (f"{each:,}" for each in left)))
    return "\n".join(written) + "\n"

"""Samples of rows, sheets of audited ones for people to judge by hand, and what they judged."""

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from sklearn.metrics import cohen_kappa_score

from factdrift.audit.account import is_of_a_row, share
from factdrift.audit.kinds import FAILED, KINDS, QUESTIONS, UPDATES
from factdrift.core.columns import Row
from factdrift.core.errors import InputError

COLUMNS = (
    *("dataset", "row", "question", "answer", "before", "unchanged", "dates", "options", "as_of"),
    *("old_page", "new_page", "judgement", "comment"),
)
_PAGE = "https://www.wikidata.org/w/index.php?title="

VERDICTS = ("valid", "invalid", "unsure")
"""What people may write into the column `judgement` of a sheet."""


def chosen(strata: Sequence[Sequence[str]], rows: int, seed: int) -> list[int]:
    """The positions of `rows` rows, or of all if there are fewer, ascending.

    `strata`: the keys of each row, the coarsest first and last one that is unique. A systematic sample: the
    rows in the order of their strata, within a stratum in the order of a seeded hash, every n-th of them from
    a seeded start. Each row has the same chance, so shares in the sample estimate shares in the dataset.
    """
    if rows >= len(strata):
        return list(range(len(strata)))
    ordered = sorted(
        range(len(strata)), key=lambda position: (*strata[position][:-1], rank_of(seed, strata[position][-1]))
    )
    step = len(strata) / rows
    start = int(rank_of(seed, "start")[:12], 16) / 16**12 * step
    return sorted(ordered[int(start + step * number)] for number in range(rows))


def rank_of(seed: int, text: str) -> str:
    """The position of a name in the order that a seed gives, as hexadecimal digits."""
    return hashlib.sha256(f"{seed}|{text}".encode()).hexdigest()


def rows_at(path: Path, positions: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file at ascending positions; the file is read in batches."""
    begin, waiting = 0, list(positions)
    for batch in pq.ParquetFile(path).iter_batches(batch_size=4096):
        end = begin + batch.num_rows
        inside = [position - begin for position in waiting if position < end]
        waiting = waiting[len(inside) :]
        if inside:
            yield from batch.take(inside).to_pylist()
        begin = end


def sheet_rows(
    findings: Sequence[Row], files: Mapping[str, Path], rows: int, seed: int
) -> Iterator[dict[str, Any]]:
    """The rows of a sheet in a seeded order, without what the audit found.

    `files`: dataset -> its table. Links lead to the revisions that the dumps contain.
    """
    every = {(finding["dataset"], finding["row"]) for finding in findings if is_of_a_row(finding["kind"])}
    of_people = sorted(key for key in every if key[0] in (UPDATES, QUESTIONS))
    wanted = set(sorted(of_people, key=lambda key: rank_of(seed, f"sheet|{key[1]}"))[:rows])
    audited = []
    for dataset in (UPDATES, QUESTIONS):
        if (path := files.get(dataset)) is None:
            continue
        columns, describe = (["subject", "relation"], _update) if dataset == UPDATES else (["item_id"], _item)
        names = (name_of(dataset, row) for row in pq.read_table(path, columns=columns).to_pylist())
        positions = [index for index, name in enumerate(names) if (dataset, name) in wanted]
        for row in rows_at(path, positions):
            audited.append({"dataset": dataset, "row": name_of(dataset, row), **describe(row)})
    yield from sorted(audited, key=lambda row: rank_of(seed, f"sheet|{row['row']}"))


def name_of(dataset: str, row: Row) -> str:
    """The name of a row in an audit: `Q30 P6`, or the id of an item."""
    return str(row["item_id"]) if dataset == QUESTIONS else f"{row['subject']['id']} {row['relation']['id']}"


def _update(row: Row) -> dict[str, Any]:
    objects, subject = row["objects"], row["subject"]["id"]
    labels = {
        decision: "; ".join(value["label"] for value in objects if value["decision"] == decision)
        for decision in ("new", "obsolete", "static")
    }
    dates = [
        f"{value['label']}: {' to '.join((value['start'] or '?', value['end'] or 'now'))}"
        + (f", at {value['point_in_time']}" if value["point_in_time"] else "")
        for value in objects
    ]
    # The subject's page as a dump has it; none if no object is in that dump.
    pages = {
        f"{side}_page": f"{_PAGE}{subject}&oldid={value[f'{side}_revision']}"
        for side in ("old", "new")
        for value in reversed(objects)
        if value[f"{side}_revision"]
    }
    return {
        "question": row["update_prompt"],
        "answer": labels["new"],
        "before": labels["obsolete"],
        "unchanged": labels["static"],
        "dates": "; ".join(dates),
        **pages,
    }


def _item(row: Row) -> dict[str, Any]:
    return {
        "question": row["question"],
        "answer": row["answer_label"],
        "options": "; ".join(row["options"] or ()),
        "as_of": row["as_of"],
        "new_page": f"{_PAGE}{row['asked_s']}",
    }


def has_words(sheet: Path, *columns: str) -> bool | None:
    """Whether somebody has written into one of these columns of a sheet; None if the file is no sheet."""
    try:
        return any((row.get(name) or "").strip() for _, row in _lines(sheet) for name in columns)
    except InputError:
        return None


def judged(sheet: Path, findings: Sequence[Row]) -> dict[str, Any]:
    """What people say of the rows of a sheet: shares of invalid rows, and how far they agree with the audit.

    `kappa` is Cohen's; None where either side calls all rows the same. Rows without a judgement do not count.
    Raises InputError that names the line of a judgement that is none, or of a row that was not audited.
    """
    failed: dict[tuple[str, str], bool] = {}
    for finding in findings:
        if not is_of_a_row(finding["kind"]):
            continue
        key = (finding["dataset"], finding["row"])
        bad = finding["outcome"] == FAILED and KINDS[finding["kind"]].role
        failed[key] = failed.get(key, False) or bad
    verdicts: dict[tuple[str, str], str] = {}
    for line, row in _lines(sheet):
        verdict = (row["judgement"] or "").strip().lower()
        key = (row["dataset"], row["row"])
        if key not in failed:
            raise InputError(f"{sheet}, line {line}: {key[1]} is not a row of this audit; write a new sheet")
        if verdict and verdict not in VERDICTS:
            raise InputError(f"{sheet}, line {line}: judgement {verdict!r}; write {', '.join(VERDICTS)}")
        if verdict and verdicts.setdefault(key, verdict) != verdict:
            raise InputError(f"{sheet}, line {line}: {key[1]} has another judgement above; keep one")
    sure = [key for key, verdict in verdicts.items() if verdict != "unsure"]
    people = [verdicts[key] == "invalid" for key in sure]
    audit = [failed[key] for key in sure]
    varied = len(set(people)) > 1 or len(set(audit)) > 1
    return {
        "rows": len(verdicts),
        "unsure": len(verdicts) - len(sure),
        "invalid": sum(people),
        **share(sum(people), len(sure)),
        "invalid_by_audit": sum(audit),
        "agree": sum(person == other for person, other in zip(people, audit, strict=True)),
        "kappa": float(cohen_kappa_score(people, audit)) if sure and varied else None,
        "disagreements": [
            key[1] for key, person, other in zip(sure, people, audit, strict=True) if person != other
        ],
    }


def _lines(sheet: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not {"dataset", "row", "judgement"} <= set(reader.fieldnames or ()):
                raise InputError(f"{sheet}, line 1: the columns dataset, row and judgement are needed")
            for row in reader:
                yield reader.line_num, row
    except FileNotFoundError:
        raise InputError(f"{sheet}: no such file; write it with `factdrift audit --sheet`") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{sheet}: not UTF-8 ({error}); save it as CSV in UTF-8") from None


def judged_text(sheet: Mapping[str, Any]) -> Iterator[str]:
    """The lines about judgements by people."""
    sure = sheet["rows"] - sheet["unsure"]
    yield f"judged by people: {sheet['rows']:,} rows, {sheet['unsure']:,} of them unsure"
    if not sure:
        return
    yield f"  invalid: {sheet['invalid']:,} ({sheet['rate']:.1%}, {sheet['low']:.1%} to {sheet['high']:.1%})"
    kappa = "undefined" if sheet["kappa"] is None else f"{sheet['kappa']:.2f}"
    yield f"  agreement with the audit: {sheet['agree']:,} of {sure:,}, Cohen's kappa {kappa}"
    if sheet["disagreements"]:
        yield f"  disagreements: {', '.join(sheet['disagreements'])}"

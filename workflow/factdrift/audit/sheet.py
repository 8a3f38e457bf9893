"""A sheet of audited rows for people to judge by hand, as CSV."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.audit.account import is_of_a_row
from factdrift.audit.kinds import QUESTIONS, UPDATES
from factdrift.audit.sample import place_of, rows_at

COLUMNS = (
    *("dataset", "row", "question", "answer", "before", "unchanged", "dates", "options", "as_of"),
    *("old_page", "new_page", "judgement", "comment"),
)
_PAGE = "https://www.wikidata.org/w/index.php?title="

Row = Mapping[str, Any]


def sheet_rows(
    findings: Sequence[Row], files: Mapping[str, Path], rows: int, seed: int
) -> Iterator[dict[str, Any]]:
    """The rows of a sheet in a seeded order, without what the audit found.

    `files`: dataset -> its table. Links lead to the revisions that the dumps contain.
    """
    every = sorted(
        {
            (each["dataset"], each["row"])
            for each in findings
            if each["dataset"] in (UPDATES, QUESTIONS) and is_of_a_row(each["kind"])
        }
    )
    wanted = set(sorted(every, key=lambda key: place_of(seed, f"sheet|{key[1]}"))[:rows])
    audited = []
    for dataset in (UPDATES, QUESTIONS):
        path = files.get(dataset)
        if path is None:
            continue
        names = [name_of(dataset, row) for row in _names(dataset, path)]
        places = [place for place, name in enumerate(names) if (dataset, name) in wanted]
        describe = _update if dataset == UPDATES else _item
        for row in rows_at(path, places):
            shown = {"dataset": dataset, "row": name_of(dataset, row), **describe(row)}
            audited.append({name: shown.get(name, "") for name in COLUMNS})
    yield from sorted(audited, key=lambda row: place_of(seed, f"sheet|{row['row']}"))


def name_of(dataset: str, row: Row) -> str:
    """The name of a row in an audit: `Q30 P6`, or the id of an item."""
    return str(row["item_id"]) if dataset == QUESTIONS else f"{row['subject']['id']} {row['relation']['id']}"


def _names(dataset: str, path: Path) -> list[dict[str, Any]]:
    columns = ["item_id"] if dataset == QUESTIONS else ["subject", "relation"]
    rows: list[dict[str, Any]] = pq.read_table(path, columns=columns).to_pylist()
    return rows


def _update(row: Row) -> dict[str, Any]:
    by: dict[str, list[Row]] = {"new": [], "obsolete": [], "static": []}
    for value in row["objects"]:
        by[value["decision"]].append(value)
    dates = [
        f"{value['label']}: {' to '.join((value['start'] or '?', value['end'] or 'now'))}"
        + (f", at {value['point_in_time']}" if value["point_in_time"] else "")
        for value in row["objects"]
    ]
    return {
        "question": row["update_prompt"],
        "answer": _labels(by["new"]),
        "before": _labels(by["obsolete"]),
        "unchanged": _labels(by["static"]),
        "dates": "; ".join(dates),
        "old_page": _page(row, "old_revision"),
        "new_page": _page(row, "new_revision"),
    }


def _page(row: Row, revision: str) -> str:
    """The subject's page as a dump has it; empty if no object is in that dump."""
    revisions = [value[revision] for value in row["objects"] if value[revision]]
    return _link(row["subject"]["id"], revisions[0]) if revisions else ""


def _item(row: Row) -> dict[str, Any]:
    return {
        "question": row["question"],
        "answer": row["answer_label"],
        "options": "; ".join(row["options"] or ()),
        "as_of": row["as_of"],
        "new_page": _link(row["asked_s"], None),
    }


def _labels(values: Sequence[Row]) -> str:
    return "; ".join(value["label"] for value in values)


def _link(entity: str, revision: int | None) -> str:
    return f"{_PAGE}{entity}" + (f"&oldid={revision}" if revision else "")

"""Converts the updates of a stream to edits in the order of the changes, with what becomes of each later."""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.updates import (
    EDITS,
    NEEDED,
    Choice,
    draw,
    edits_of,
    name_objects,
    read_updates,
)

STREAM_EDITS = pa.schema(
    [
        *EDITS,
        ("interval", pa.int32()),
        *((name, pa.string()) for name in ("old_date", "new_date", "chain")),
        *((name, pa.int32()) for name in ("link", "superseded_by", "superseded_in")),
        ("replaces", pa.list_(pa.string())),
    ]
)
"""One row for each edit, in the order in which the edits are made: EDITS, and its place in the stream.

A probe of the role `later` asks the update's own cloze for the object that a later edit of the chain writes;
`place` is the link of that edit.
"""

_STREAM = ("interval", "old_date", "new_date", "chain", "link", "first_day", "last_day", "changes")


def write_stream_edits(stream: Path, output: Path, choice: Choice) -> int:
    """Writes STREAM_EDITS of the chosen updates; returns their number.

    With a limit, chains are drawn by a seeded hash until they have `limit` edits. The order is that of the
    intervals, in them that of the last day on which the change may have been. Raises InputError if the file
    lacks a column or no update fits.
    """
    rows = read_updates(stream, (*NEEDED, *_STREAM), choice)
    known = pq.read_table(stream, columns=["chain", "link", "interval"]).to_pylist()
    intervals = {(row["chain"], row["link"]): row["interval"] for row in known}
    edits = [edit for row in rows for edit in _placed(row, choice, intervals)]
    if choice.limit:
        # Whole chains in the order of their hashes; the last one may be cut.
        edits.sort(key=lambda edit: (draw("limit", choice.seed, edit["chain"]), edit["interval"]))
        edits = edits[: choice.limit]
    if not edits:
        raise InputError(
            f"{stream}: no update of {', '.join(choice.scenarios)} in split {choice.split} names its objects "
            "and ends in one; name other scenarios (edit.scenarios), or more dates (stream)"
        )
    edits.sort(key=lambda edit: (edit["interval"], edit["last_day"], edit["first_day"], edit["edit"]))
    _linked(edits)
    name_objects(edits, choice.entities)
    return write_parquet(pa.Table.from_pylist(edits, schema=STREAM_EDITS), output)


def _placed(
    row: dict[str, Any], choice: Choice, intervals: dict[tuple[str, int], int]
) -> Iterator[dict[str, Any]]:
    """The edits of an update, named by its interval, too, with the end of the fact that each writes."""
    dated = datetime.date.fromisoformat(row["new_date"]) if choice.dated else None
    ends: dict[str, list[int | None]] = {"new": [], "obsolete": []}
    for one, change in zip(row["objects"], row["changes"], strict=True):
        if one["label"] and one["decision"] in ends:
            ends[one["decision"]].append(change["superseded_by"])
    # An edit for each new object, or for each obsolete one, in their order: two may share a label.
    edits = edits_of(row, choice.archive_target, dated)
    for edit, by in zip(edits, ends["new"] or ends["obsolete"], strict=False):
        yield {
            **edit,
            **{name: row[name] for name in _STREAM if name != "changes"},
            "edit": f"{edit['edit']}@{row['interval']}",
            "fluency": False,
            "superseded_by": by,
            "superseded_in": None if by is None else intervals[row["chain"], by],
        }


def _linked(edits: Sequence[dict[str, Any]]) -> None:
    """Adds `replaces` and the probes `later`, with their items, which the other edits of the chain have."""
    chains: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        chains.setdefault(edit["chain"], []).append(edit)
    for chain in chains.values():
        items = {label: item for edit in chain for label, item in edit["names"].items()}
        for edit in chain:
            edit["names"] = {**items, **edit["names"]}
            edit["replaces"] = [
                one["edit"]
                for one in chain
                if one["superseded_in"] is not None and one["superseded_in"] <= edit["interval"]
            ]
            if edit["superseded_in"] is None or edit["new"] is None:
                continue
            later = {
                one["link"]: one["new"]
                for one in reversed(chain)
                if one["interval"] >= edit["superseded_in"] and one["new"] not in (None, edit["new"])
            }
            for link, new in sorted(later.items()):
                named = {"role": "later", "place": link, "object": "later"}
                edit["probes"].append({**named, "prompt": edit["probes"][0]["prompt"], "target": new})

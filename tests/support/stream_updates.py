"""A small invented stream of updates with the columns of stream.parquet, in four intervals."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.evaluation.questions.updates import Choice, write_stream_edits
from support.updates import update

DATES = ("2021-01-01", "2021-04-01", "2021-07-01", "2021-10-01", "2022-01-01")


def link(
    subject: str,
    number: int,
    interval: int,
    place: int,
    objects: tuple[str | None, str | None],
    by: int | None = None,
    day: int = 1,
    **changes: Any,
) -> dict[str, Any]:
    """A row of stream.parquet. `objects`: (obsolete, new), each superseded by the link `by`."""
    row = update(subject, number, **changes)
    row["objects"] = [
        {"label": label, "decision": decision}
        for label, decision in zip(objects, ("obsolete", "new"), strict=True)
        if label is not None
    ]
    month = DATES[interval].replace("-", "")[:6]
    return row | {
        "interval": interval,
        "old_date": DATES[interval - 1],
        "new_date": DATES[interval],
        "chain": f"Q{number}-P6",
        "link": place,
        "first_day": int(f"{month}{day:02d}"),
        "last_day": int(f"{month}{day:02d}"),
        "changes": [{"superseded_by": by} for _ in row["objects"]],
    }


def links() -> list[dict[str, Any]]:
    """Atlantis changes three times, and loses its ruler without a successor; others change once."""
    return [
        link("Atlantis", 1, 1, 1, ("Marta Kowalska", "Joe Biden"), by=2, day=9),
        link("New Orleans", 2, 1, 1, ("Zoë Müller", "Marta Kowalska"), day=3),
        link("Atlantis", 1, 2, 2, ("Joe Biden", "Zoë Müller"), by=3),
        link("Poseidonis", 3, 2, 1, ("Joe Biden", "Zoë Müller")),
        link("Atlantis", 1, 3, 3, ("Zoë Müller", "Marta Kowalska"), by=4),
        link("America", 4, 3, 1, ("Joe", "Marta"), by=2),
        link("Atlantis", 1, 4, 4, ("Marta Kowalska", None), scenario="Archive"),
        link("America", 4, 4, 2, ("Marta", "Joe")),
    ]


def stream(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    pq.write_table(pa.Table.from_pylist(links() if rows is None else rows), path)
    return path


def stream_edits(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    """Writes a stream beside a table of its edits; returns that table."""
    write_stream_edits(stream(path.with_name("stream.parquet"), rows), path, Choice())
    return path

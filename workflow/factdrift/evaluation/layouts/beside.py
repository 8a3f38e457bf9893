"""Tables beside the dataset from which layouts take what its rows do not have."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.tables import check_columns, records
from factdrift.evaluation.layouts.rows import Row

SHARED = {"obsolete": "neighborhood", "new": "random_neighborhood"}
"""Object of an update -> the column of `shared_objects.parquet` with the facts that share it."""


class Beside(NamedTuple):
    """What belongs to the updates, by ids."""

    shared: dict[tuple[str, str], dict[str, list[Row]]] | None = None
    """(subject, relation) -> `obsolete`, `new` -> neighbour facts with that object; None if not given."""
    related: dict[tuple[str, str, str | None], list[Row]] | None = None
    """(subject, relation, new object) -> questions that the new fact answers differently; None likewise."""
    ripples: dict[tuple[str, str], list[Row]] | None = None
    """(subject, relation) -> the probes of `ripples.parquet`; None likewise."""

    def of(self, row: Row) -> Row:
        """The keys `shared`, `related` and `ripples` of an update; None where the table is not given."""
        subject, relation = row["subject"]["id"], row["relation"]["id"]
        new = next((value["id"] for value in row["objects"] if value["decision"] == "new"), None)
        none: dict[str, list[Row]] = {role: [] for role in SHARED}
        shared = None if self.shared is None else self.shared.get((subject, relation), none)
        related = None if self.related is None else self.related.get((subject, relation, new), [])
        ripples = None if self.ripples is None else self.ripples.get((subject, relation), [])
        return {"shared": shared, "related": related, "ripples": ripples}


def read_beside(
    shared: Path | None, facts: Path | None, related: Path | None, ripples: Path | None = None
) -> Beside:
    """Reads `shared_objects.parquet`, TempRIPPLE's tr_facts and tr_related, and `ripples.parquet`.

    Of the related facts those of one hop are read whose answer shows that the new fact was used. Raises
    InputError if a table lacks a column, or one of TempRIPPLE's two is missing.
    """
    if (facts is None) != (related is None):
        raise InputError("--facts and --related: give both tables of TempRIPPLE, tr_facts and tr_related")
    return Beside(
        None if shared is None else _shared(shared),
        None if facts is None or related is None else _related(facts, related),
        None if ripples is None else _ripples(ripples),
    )


def _rows(path: Path, *columns: str) -> Iterator[Row]:
    check_columns(path, columns, "; name the table that the option asks for")
    return records(path, list(columns))


def _shared(path: Path) -> dict[tuple[str, str], dict[str, list[Row]]]:
    found = {}
    for row in _rows(path, "subject", "relation", *SHARED.values()):
        facts = {role: row[column] for role, column in SHARED.items()}
        if any(facts.values()):
            found[row["subject"]["id"], row["relation"]["id"]] = facts
    return found


def _related(facts: Path, related: Path) -> dict[tuple[str, str, str | None], list[Row]]:
    new = {
        row["fact_id"]: (row["s"], row["p"], row["o"])
        for row in _rows(facts, "fact_id", "s", "p", "o", "role")
        if row["role"] == "new"
    }
    found: dict[tuple[str, str, str | None], list[Row]] = {}
    columns = ("fact_id", "hop", "question", "answer_label", "answer_aliases", "discriminates")
    for row in _rows(related, *columns):
        if row["fact_id"] in new and row["hop"] == 1 and row["discriminates"]:
            found.setdefault(new[row["fact_id"]], []).append(row)
    return found


def _ripples(path: Path) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    columns = ("subject", "relation", "criterion", "asked_subject", "asked_relation", "path", "prompt")
    for row in _rows(path, *columns, "answers", "conditions"):
        found.setdefault((row["subject"], row["relation"]), []).append(row)
    return found

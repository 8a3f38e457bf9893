"""The tables of a dump as the second implementation of its filters reads them."""

from collections.abc import Mapping
from typing import Any

from factdrift.audit.filters import Dump, Entity, How, Relation, Span, Statement

SAME = ("subject", "property", "rank", "snak", "datatype", "object", "key", "json")
SAME += ("start_unknown", "end_unknown")
"""The columns of a statement that mean the same in both implementations."""


def read(tables: Mapping[str, list[dict[str, Any]]], how: How) -> Dump:
    """The rows of the tables `statements`, `entities`, `properties` and `classes` of one dump."""

    def span(time: Mapping[str, int] | None) -> Span | None:
        if time is None:
            return None
        if how.dates == "interval":
            return Span(time["first"], time["last"])
        if how.variant == "reference":
            day = time["written"]
        elif time["precision"] >= 9:
            day = time["first"]
        else:
            day = time["year"] * 10_000 + 101
        return Span(day, day)

    def spans(row: Mapping[str, Any], name: str) -> list[Span]:
        dates = [span(time) for time in row[f"{name}s"] or [row[name]]]
        return [each for each in dates if each]

    statements = [
        Statement(
            **{name: row[name] for name in SAME},
            id=row["statement"],
            time=span(row["time"]),
            precision=row["time"]["precision"] if row["time"] else None,
            start=min(spans(row, "start"), default=None),
            end=max(spans(row, "end"), default=None),
            pit=max(spans(row, "pit"), default=None),
            qualifiers=frozenset(row["qualifiers"]),
        )
        for row in sorted(tables["statements"], key=lambda row: (row["subject"], row["position"]))
    ]
    return Dump(
        statements=tuple(statements),
        entities={
            row["id"]: Entity(
                row["label"], row["title"] is not None, tuple(row["classes"]), tuple(row["aliases"])
            )
            for row in tables["entities"]
        },
        relations={
            row["id"]: Relation(
                row["single_value"], frozenset(row["separators"]), tuple(row["classes"]), row["label"]
            )
            for row in tables["properties"]
        },
        superclasses={row["id"]: tuple(row["superclasses"]) for row in tables["classes"]},
        class_labels={row["id"]: row["label"] for row in tables["classes"]},
    )

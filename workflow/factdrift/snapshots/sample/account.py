"""How far to trust the sample: until when it is complete, which facts were checked, which ids are known."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.manifests import incomplete
from factdrift.snapshots.sample.model import LAUNCH
from factdrift.snapshots.sample.rows import read_rows
from factdrift.snapshots.sample.tables import ENTITY_COLUMNS, FACT_COLUMNS
from factdrift.snapshots.sample.value_text import item_number
from factdrift.wikidata.ids import MADE_UP_ITEMS
from factdrift.wikidata.time import iso_day

PART_COLUMNS = "part complete_until longer what source"


class Part(NamedTuple):
    """One file of `entities/` and `facts/` each.

    `complete_until`: the last day (YYYY-MM-DD) on which the part says what held; `longer`: what of it goes on
    until when, as text. `checks`: facts by how they were checked: `copied` from a capture of Wikidata,
    `compared` with an independent source, `general knowledge` otherwise.
    """

    name: str
    complete_until: str
    items: int
    made_up_ids: int
    checks: dict[str, int]
    longer: str = ""


def read_parts(folder: Path) -> list[Part]:
    """The parts in the order of `parts.tsv`.

    Raises InputError that names file and line of what cannot be read.
    """
    parts = []
    for row in read_rows([folder / "parts.tsv"], PART_COLUMNS, dict):
        name = row["part"]
        files = [folder / kind / f"{name}.tsv" for kind in ("entities", "facts")]
        ids = read_rows(files[:1], ENTITY_COLUMNS, lambda item: item_number(item["id"]))
        named = {"": "general knowledge", "copied": "copied"}
        methods = read_rows(files[1:], FACT_COLUMNS, lambda fact: fact["checked"])
        checks = Counter(named.get(method, "compared") for method in methods)
        counts = len(ids), sum(number >= MADE_UP_ITEMS for number in ids), dict(sorted(checks.items()))
        parts.append(Part(name, row["complete_until"], *counts, row["longer"]))
    return parts


def first_end(folder: Path) -> str:
    """The last day (YYYY-MM-DD) on which all parts are complete, from `parts.tsv` alone."""
    return min(read_rows([folder / "parts.tsv"], PART_COLUMNS, lambda row: row["complete_until"]))


def check_pair(folder: Path, old: str, new: str) -> None:
    """Raises InputError if nothing of the sample can change between two days (YYYY-MM-DD)."""
    rows = read_rows([folder / "parts.tsv"], PART_COLUMNS, lambda row: row["complete_until"] + row["longer"])
    first, last = iso_day(LAUNCH), max(re.findall(r"\d{4}-\d\d-\d\d", " ".join(rows)))
    if old >= last or new <= first or old < first:
        raise InputError(
            f"snapshots: {old} and {new}: the bundled sample knows what changed between {first}, when "
            f"Wikidata was opened, and {last}; choose two dates between these, or "
            "give dumps of your own (key `dumps`)"
        )


def account(parts: Sequence[Part], date: str) -> dict[str, Any]:
    """What a build from the sample of a date (YYYY-MM-DD) should say about it, for the manifest."""
    checks = sum((Counter(part.checks) for part in parts), Counter[str]())
    facts = sum(checks.values())
    return {
        "complete_until": {part.name: part.complete_until for part in parts},
        "incomplete": [part.name for part in parts if part.complete_until < date],
        "longer": {part.name: part.longer for part in parts if part.longer},
        "items": sum(part.items for part in parts),
        "made_up_ids": sum(part.made_up_ids for part in parts),
        "facts": facts,
        "checked_share": {name: round(number / facts, 4) for name, number in sorted(checks.items())},
    }


def warning(parts: Sequence[Part], date: str) -> str:
    """One line for the terminal where a date lies beyond the end of some parts; else empty."""
    sentence = incomplete(account(parts, date), date)
    return f"warning: the {sentence}" if sentence else ""

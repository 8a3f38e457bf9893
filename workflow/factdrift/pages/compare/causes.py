"""Why two builds differ, as far as their manifests show."""

import json
from pathlib import Path
from typing import NamedTuple

from factdrift.core.manifests import read_manifest
from factdrift.core.paths import RESOURCES
from factdrift.core.tables import rows_of
from factdrift.pages import leaves


class Cause(NamedTuple):
    """A key of the manifests with its values in both builds, and the kinds of change that it can cause."""

    key: str
    before: str
    after: str
    changes: frozenset[str]


def causes(before: Path, after: Path) -> list[Cause] | None:
    """What differs between two manifests and can change the dataset; None if a manifest is missing."""
    if not (before.is_file() and after.is_file()):
        return None
    flat = [dict(leaves(read_manifest(path), ".")) for path in (before, after)]
    rows = rows_of(RESOURCES / "causes.tsv", ("key", "changes"))
    acting = {key: frozenset(changes.split()) for _, (key, changes) in rows}
    found = []
    for key in sorted(flat[0].keys() | flat[1].keys()):
        found_in = (each.get(key) for each in flat)
        values = [
            each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in found_in
        ]
        # `configuration.method.start` and the keys above it, the longest first.
        parts = key.split(".")
        above = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        changes = next((acting[part] for part in above if part in acting), None)
        if values[0] != values[1] and changes:
            found.append(Cause(key, values[0], values[1], changes))
    return found


def cause_of(change: str, found: list[Cause] | None) -> str:
    """The keys that can have caused a kind of change, for people."""
    if found is None:
        return "no manifest"
    keys = [each.key for each in found if each.changes & {"all", change}]
    return ", ".join(keys) or ("none of the keys that differ" if found else "the manifests agree")

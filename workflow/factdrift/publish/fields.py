"""The field dictionary of a table, read from its page in docs/tables, where alone columns are described."""

import re
from dataclasses import dataclass, field

from factdrift.core.errors import InputError
from factdrift.core.paths import DICTIONARY

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_COLUMNS = ["column", "type", "unit", "meaning", "source"]
_FIELDS = ["field", "type", "meaning"]


@dataclass(frozen=True)
class Page:
    """A page of the data dictionary."""

    name: str
    summary: str
    """Its first sentence."""
    tables: str
    """Markdown from the first table to the end, without links."""
    meanings: dict[str, str]
    """Column -> meaning."""
    nested: dict[str, dict[str, str]] = field(default_factory=dict)
    """Column -> field of the structs in it -> meaning."""


def read_page(name: str) -> Page:
    """The page `name`; InputError if it is missing or has no table of columns."""
    path = DICTIONARY / f"{name}.md"
    if not path.is_file():
        raise InputError(f"{path}: no such page; it describes the columns of a table that is published")
    lines = _LINK.sub(r"\1", _COMMENT.sub("", path.read_text(encoding="utf-8"))).splitlines()
    first = next((place for place, line in enumerate(lines) if _cells(line) == _COLUMNS), None)
    if first is None:
        raise InputError(f"{path}: has no table with the header {' | '.join(_COLUMNS)}")
    summary = re.sub(r"\s+", " ", " ".join(lines[1:first])).strip().partition(". ")[0].rstrip(".") + "."
    page = Page(name, summary, "\n".join(lines[first:]).strip() + "\n", {})
    header: list[str] = []
    parents: list[str] = []
    for line in lines[first:]:
        if not line.startswith("|"):
            header = []
            if line.endswith(":"):
                parents = _names(line)
            continue
        cells = _cells(line)
        if not header:
            header = cells
        elif header == _COLUMNS:
            unit = f" ({cells[2]})" if cells[2] else ""
            page.meanings.update(dict.fromkeys(_names(cells[0]), cells[3] + unit))
        elif header == _FIELDS:
            for parent in parents:
                page.nested.setdefault(parent, {}).update(dict.fromkeys(_names(cells[0]), cells[2]))
    return page


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def _names(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)

"""The layouts of other projects: who writes and reads their records, and from which tables."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.functions import named_function


class Layout(NamedTuple):
    """A layout. Functions: MODULE.FUNCTION of this folder."""

    write: str = ""
    """From an update's fields and row to a record, or None if it does not fit; empty for chains of facts."""
    read: str = ""
    """From a record and its number to fields, or None if it is left out; empty if files are not read."""
    needs: tuple[str, ...] = ("new", "obsolete", "paraphrases", "neighbors")
    """Fields without which an update does not fit."""
    tables: Mapping[str, str] = {}
    """Option of `edit export` -> the table of a build from which fields are filled."""


RIPPLES = {"ripples": "ripples"}

LAYOUTS = {
    "counterfact": Layout(
        "rows.write_counterfact",
        "rows.read_counterfact",
        ("new", "obsolete"),
        {"shared": "shared_objects", **RIPPLES},
    ),
    "easyedit": Layout("rows.write_easyedit", "rows.read_easyedit", ("new",), RIPPLES),
    "rippleedits": Layout("rippleedits.write", "rippleedits.read", ("new",), RIPPLES),
    "wikibigedit": Layout("rows.write_wikibigedit", needs=("new", "paraphrases", "neighbors")),
    "zsre": Layout("rows.write_zsre"),
    "mquake": Layout(tables={"facts": "tempripple/tr_facts", "related": "tempripple/tr_related"}),
}
READ = [name for name, layout in LAYOUTS.items() if layout.read]
"""The layouts that `edit import` reads."""


def check_layout(name: str, known: list[str]) -> None:
    """Raises InputError with the names that there are, if a layout is none of them."""
    if name not in known:
        raise InputError(f"--layout: {name}: no such layout here; there are {', '.join(known)}")


def function(name: str) -> Callable[..., Any]:
    """A function that a layout names."""
    return named_function(__package__, name)


def modules(layout: str) -> list[str]:
    """The modules of a layout's functions, by their dotted names."""
    names = {name.rpartition(".")[0] for name in LAYOUTS[layout][:2] if name}
    return sorted(f"{__package__}.{name}" for name in names)

"""The scores of one method on one model with their means, and lines below tables that hold for several."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, NamedTuple

from factdrift.core.columns import Row
from factdrift.core.intervals import Interval, interval
from factdrift.evaluation.methods.record import Skipped, title_of
from factdrift.models.alignment import NOT_FINITE

PLAIN = ("fluency", "fluency_full")
"""Columns of scores that are no percentages; the values of the others are multiplied by 100."""
SHARES = (
    *("s", "efficacy_s", "generalization_s", "exact", "greedy", "generalization_exact"),
    *("generalization_greedy", "nearest_exact_before", "nearest_exact"),
)
"""Columns of scores whose values are shares, from 0 to 1."""


def by_columns(rows: Iterable[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """The rows by their values of some columns, in the order in which these first come."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


class Group(NamedTuple):
    """The scores of one method on one model: for one kind of edit, or after one interval of a stream."""

    model: str
    kind: str
    """Of edits; empty for a stream."""
    method: str
    rows: list[dict[str, Any]]
    cost: Row
    written: Sequence[Row] = ()
    """The rows of WRITTEN about these edits."""
    made: Mapping[str, Any] = MappingProxyType({})
    """What is known of the interval."""

    @property
    def title(self) -> str:
        """The method as tables name it, with an asterisk if values of it were derived and not tuned."""
        return title_of(self.method) + ("*" if self.cost.get("derived") else "")

    @property
    def lasting(self) -> list[dict[str, Any]]:
        """The rows of edits that did not fail."""
        return [row for row in self.rows if row["failed"] is None]

    @property
    def failed(self) -> int:
        return len(self.rows) - len(self.lasting)

    @property
    def not_finite(self) -> int:
        """The edits that did not fail, but after which the output for a probe is not finite."""
        return sum(bool(row.get(NOT_FINITE)) for row in self.lasting)

    def value(self, column: str, probe: str = "") -> Interval | None:
        """The interval of a column over the edits that did not fail, which allows for edits in one model.

        `probe`: of a stream, the kind of probe that it is about.
        """
        factor = 1 if column in PLAIN else 100
        mine = (row for row in self.lasting if not probe or row["probe"] == probe)
        found = [row for row in mine if row[column] is not None]
        top = 100 if column in SHARES else None
        return interval([factor * row[column] for row in found], [row.get("state") for row in found], top)


def bounds(columns: Iterable[str]) -> list[str]:
    """The columns of comma-separated values of intervals."""
    return [name for column in columns for name in (column, f"{column}_ci95", f"{column}_n")]


def by_text(named: Iterable[tuple[str, str]], always: bool = True) -> Iterator[str]:
    """A line for each text (text, name) that is not empty, after the names of all that it is about.

    `always`: also if it is about all names.
    """
    names: dict[str, list[str]] = {}
    for text, name in named:
        if text:
            names.setdefault(text, []).append(name)
    for text, of in names.items():
        yield f"{', '.join(of)}: {text}" if always or len(names) > 1 else text


def cost_lines(groups: Sequence[Group]) -> Iterator[str]:
    """Where values were derived from, and that there were more texts than fit before a prompt."""
    for group in groups:
        if group.cost.get("derived"):
            yield f"{group.title} {group.cost['source']}"
    for group in groups:
        if most := group.cost.get("left_out"):
            lost = "the oldest, did not fit before a prompt and were left out"
            yield f"{group.title}: up to {most:,} updates, {lost}"


def skipped_lines(skipped: Sequence[Skipped], model: str) -> Iterator[str]:
    """A line for each reason why methods do not run on a model."""
    mine = [each for each in skipped if each.model == model]
    for reason in dict.fromkeys(each.skipped for each in mine):
        named = [title_of(each.method) for each in mine if each.skipped == reason]
        yield f"{', '.join(named)} skipped: {reason}"


def unscored_lines(skipped: Sequence[Skipped], models: Set[str], said: str = ", no method") -> Iterator[str]:
    """Why models that are not among those with scores, `models`, have none; `said` follows their names."""
    for model in dict.fromkeys(each.model for each in skipped if each.model not in models):
        yield from ("", f"{model}{said}", *skipped_lines(skipped, model))

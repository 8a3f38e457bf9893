"""The scores of one method on one model with their means, and lines below tables that hold for several."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.intervals import THIRDS, Interval, geometric, interval, thirds
from factdrift.core.score_table import HIGHER, Cell, Column, Line, table
from factdrift.core.tables import records
from factdrift.evaluation.ability.record import Ability
from factdrift.evaluation.methods.record import Skipped, title_of
from factdrift.evaluation.scores.costs import read_costs
from factdrift.evaluation.scores.written import written_scores
from factdrift.models.alignment import NOT_FINITE

PLAIN = ("fluency", "fluency_full")
"""Columns of scores that are no percentages; the values of the others are multiplied by 100."""
SHARES = (
    *("s", "efficacy_s", "generalization_s", "exact", "greedy", "generalization_exact"),
    *("generalization_greedy", "nearest_exact_before", "nearest_exact"),
)
"""Columns of scores whose values are shares, from 0 to 1."""


FEW = 5
"""Edits that a part has at least to be in a table."""


_KINDS = {"wikibase": "entity", "": ""}
"""Beginning of a datatype -> kind of object; others are literals."""


class Grouping(NamedTuple):
    """How tables part the edits of a kind."""

    title: str
    part_of: Callable[[Sequence[Row]], Sequence[str]]
    """Parts of rows of SCORES that belong to single edits; "" where a row has none."""
    parts: Sequence[str] = ()
    """In the order of the tables; without them the largest comes first."""


GROUPINGS = {
    "known": Grouping(
        "whether the unedited model knew the old object (known: Table 7 of the WikiFactDiff paper)",
        lambda rows: [{True: "known", False: "not known"}.get(row["known_before"], "") for row in rows],
        ("known", "not known"),
    ),
    "popularity": Grouping(
        "popularity of the subject, in thirds",
        lambda rows: thirds([row["subject_popularity"] for row in rows]),
        THIRDS,
    ),
    "relation": Grouping(
        "relation",
        lambda rows: [f"{row['relation_label'] or ''} {row['relation'] or ''}".strip() for row in rows],
    ),
    "object": Grouping(
        "kind of object",
        lambda rows: [_KINDS.get((row["datatype"] or "").split("-")[0], "literal") for row in rows],
    ),
}
"""Groupings by name; another is an entry."""


def by_columns(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows by their values of some columns, in the order in which these first come."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


@dataclass(frozen=True)
class Group:
    """The scores of one method on one model: for one kind of edit, or after one interval of a stream."""

    model: str
    part: str | int
    """The kind of the edits, or the interval."""
    method: str
    rows: list[Row]
    cost: Row
    within: tuple[str, str] = ("", "")
    """Of some edits of the kind: the name of a grouping, and the part of it."""
    written: Sequence[Row] = ()
    """The rows of GENERATION_SCORES about these edits."""
    interval: Mapping[str, Any] = field(default_factory=dict)
    """Of a stream: the columns of INTERVALS, and the perplexity of the unedited model."""

    @cached_property
    def answers(self) -> dict[str, Row]:
        """Kind of question -> the row of WRITTEN_SCORES about these edits."""
        return {row["asked"]: row for row in written_scores(self.written)}

    @property
    def title(self) -> str:
        """The method as tables name it, with an asterisk if values of it were derived and not tuned."""
        return title_of(self.method) + ("*" if self.cost.get("derived") else "")

    @property
    def lasting(self) -> list[Row]:
        """The rows of edits that did not fail."""
        return [row for row in self.rows if row["failed"] is None]

    @property
    def failed(self) -> int:
        """The number of edits that failed."""
        return len(self.rows) - len(self.lasting)

    @property
    def not_finite(self) -> int:
        """The edits that did not fail, but after which the output for a probe is not finite."""
        return sum(bool(row.get(NOT_FINITE)) for row in self.lasting)

    @property
    def seconds(self) -> float | None:
        """Seconds for each edit, without evaluation; None where nothing is known of them."""
        costs = [self.cost]
        if "intervals" in self.cost:
            costs = [cost for cost in self.cost["intervals"] if cost["interval"] == self.part]
        edits = sum(cost.get("edits", 0) for cost in costs)
        return sum(cost["edit_seconds"] for cost in costs) / edits if edits else None

    @property
    def states(self) -> list[Row]:
        """One row for each edited model whose general ability was measured."""
        names = ("perplexity", "tasks")
        measured = [row for row in self.lasting if any(row.get(name) is not None for name in names)]
        return list({row["state"]: row for row in measured}.values())

    @cached_property
    def abilities(self) -> dict[str, Interval]:
        """`Perplexity`, and `TASK METRIC` for each metric of each task -> the mean over the models measured.

        A model in which several edits are in place counts once.
        """
        values: dict[str, list[float]] = {}
        for row in self.states:
            for task, metrics in json.loads(row["tasks"] or "{}").items():
                for metric, value in metrics.items():
                    values.setdefault(f"{task} {metric}", []).append(value)
        surprised = geometric([row["perplexity"] for row in self.states if row["perplexity"] is not None])
        means = {"Perplexity": surprised} | {name: interval(numbers) for name, numbers in values.items()}
        return {name: mean for name, mean in means.items() if mean}

    def value(self, column: str, probe: str = "") -> Interval | None:
        """The interval of a column over the edits that did not fail, which allows for edits in one model.

        `probe`: of a stream, the kind of probe that it is about.
        """
        factor = 1 if column in PLAIN else 100
        asked = (row for row in self.lasting if not probe or row["probe"] == probe)
        rows = [row for row in asked if row[column] is not None]
        top = 100 if column in SHARES else None
        return interval([factor * row[column] for row in rows], [row.get("state") for row in rows], top)


def read_groups(scores: Path, written: Path, costs: Path, by: str = "kind") -> list[Group]:
    """Scores and what was written, by model, kind of edits or interval of a stream (`by`), and method."""
    of_edits = by == "kind"
    texts = by_columns(records(written), "model", "method", "edit" if of_edits else by)
    spent = read_costs(costs)
    groups = by_columns(pq.read_table(scores).to_pylist(), "model", "method", by)
    ordered = []
    for (model, method, part), rows in groups.items():
        about = [row["edit"] for row in rows] if of_edits else [part]
        own = [text for name in about for text in texts.get((model, method, name), ())]
        ordered.append(Group(model, part, method, rows, spent.get((model, method), {}), written=own))
    if of_edits:
        parts = list(dict.fromkeys((group.model, group.part) for group in ordered))
        ordered.sort(key=lambda group: parts.index((group.model, group.part)))
    return ordered


def parted(block: Sequence[Group], name: str) -> tuple[list[list[Group]], list[str]]:
    """The methods of a model and kind over the edits of the parts of a grouping; what is left out."""
    grouping = GROUPINGS[name]
    rows = {row["edit"]: row for group in block for row in group.rows}
    part_of = dict(zip(rows, grouping.part_of(list(rows.values())), strict=True))
    counts = Counter(part_of.values())

    def within(group: Group, part: str) -> Group:
        own, texts = (
            [row for row in of if part_of[row["edit"]] == part] for of in (group.rows, group.written)
        )
        return replace(group, within=(name, part), rows=own, written=texts)

    order = grouping.parts or sorted(counts, key=lambda part: (-counts[part], part))
    parts = [[within(group, part) for group in block] for part in order if part and counts[part] >= FEW]
    few = [count for part, count in counts.items() if part and count < FEW]
    left = {f"in parts of fewer than {FEW} ({len(few):,} parts)": sum(few), "in no part": counts[""]}
    return parts, [f"left out: {number:,} edits {where}" for where, number in left.items() if number]


def read_intervals(groups: Sequence[Group], intervals: Path, abilities: Iterable[Ability]) -> list[Group]:
    """The groups of a stream with their intervals. `abilities`: of models without any edit."""
    unedited = {ability.name: ability.perplexity for ability in abilities}
    states = pq.read_table(intervals).to_pylist()
    of_group = by_columns(states, "model", "method", "interval")
    made = by_columns(states, "model", "interval")
    ordered = []
    for group in groups:
        (own,) = of_group.get((group.model, group.method, group.part), [{}])
        own |= {name: group.rows[0][name] for name in ("interval", "old_date", "new_date")}
        # The edits that have been made, failed ones too.
        so_far = (row["so_far"] for row in made.get((group.model, group.part), ()))
        own["so_far"] = max(so_far, default=0)
        if group.method == "none" and group.model in unedited:
            own["perplexity"] = unedited[group.model]
        ordered.append(replace(group, interval=own))
    return ordered


def state_line(method: str, row: Any, title: str = "", among: Any = "") -> Line:
    """The line of a state of a model, whose name is the method's `title`, in a table of scores.

    `among`: what it is compared with others of.
    """
    return Line(title or title_of(method), row, method != "none", among)


def by_state(rows: Iterable[Row], title: Callable[[Row], str], cell: Callable[[Row], Cell]) -> Iterator[str]:
    """A table with a line for each state of a model (`method`) and a column for each `title`."""
    states: dict[str, dict[str, Row]] = {}
    for row in rows:
        states.setdefault(row["method"], {})[title(row)] = row

    def column(name: str) -> Column:
        return Column(name, lambda of: cell(of[name]) if name in of else Cell(), HIGHER)

    titles = dict.fromkeys(name for of in states.values() for name in of)
    yield from table("", map(column, titles), [state_line(method, of) for method, of in states.items()])


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
    """Where values were derived from, what the moments are of, and that not all texts fit before a prompt."""
    for group in groups:
        if group.cost.get("derived"):
            yield f"{group.title} {group.cost['source']}"
    for group in groups:
        if most := group.cost.get("left_out"):
            lost = "the oldest, did not fit before a prompt and were left out"
            yield f"{group.title}: up to {most:,} updates, {lost}"
    moments = ((f"second moments over {group.cost.get('moments')}", group) for group in groups)
    yield from by_text((text, group.title) for text, group in moments if group.cost.get("moments"))


def skipped_lines(skipped: Sequence[Skipped], model: str) -> Iterator[str]:
    """A line for each reason why methods do not run on a model."""
    own = [method for method in skipped if method.model == model]
    for reason in dict.fromkeys(method.skipped for method in own):
        named = [title_of(method.method) for method in own if method.skipped == reason]
        yield f"{', '.join(named)} skipped: {reason}"


def unscored_lines(
    skipped: Sequence[Skipped], models: Set[str], suffix: str = ", no method"
) -> Iterator[str]:
    """Why models that are not among those with scores, `models`, have none; `suffix` follows their names."""
    for model in dict.fromkeys(method.model for method in skipped if method.model not in models):
        yield from ("", f"{model}{suffix}", *skipped_lines(skipped, model))


def unaligned_lines(jobs: Iterable[tuple[Path, Path]]) -> Iterator[str]:
    """A line for each unedited model among jobs, from its answers and edits, if it lacks some.

    It has the numbers of unaligned probes by reason and of edits that are left out.
    """
    for asked, edits in jobs:
        if set(pq.read_table(edits, columns=["method"])["method"].to_pylist()) != {"none"}:
            continue
        rows = pq.read_table(asked, columns=["model", "reason"], filters=[("way", "=", "loglik")]).to_pylist()
        lost = Counter(row["reason"] for row in rows if row["reason"] not in (None, NOT_FINITE))
        excluded = pq.read_table(edits, columns=["excluded"])["excluded"]
        left = len(excluded) - excluded.null_count
        if lost or left:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in lost.items())
            unaligned = f"{lost.total():,} probes are not aligned" + (f" ({reasons})" if lost else "")
            yield f"skipped: {rows[0]['model']}: {unaligned}; {left:,} edits are left out"

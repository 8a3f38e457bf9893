"""The tables of locate_scores as people read them, and a figure for each subtask."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.figures import INK, KEPT, SOFT, parts, save
from factdrift.core.screen import grid
from factdrift.evaluation.locators.table import Group
from factdrift.klob.scoring.evaluate import ABOVE, Evaluation
from factdrift.klob.scoring.report import HIGH, SIZE, high_control, in_words, message, panels

TITLES = {
    "c": "KLoB-c, consistency: RSim between three wordings of a fact",
    "r": "KLoB-r, relevance: RSim between a chain of two facts and its first fact",
    "u": "KLoB-u, unbiasedness: RSD of random words against sentences with facts",
}
CONTROLS = {"c": ("same_relation", "same_subject", "permuted"), "r": ("cross", "same_relation", "permuted")}
"""Populations that are printed beside `all`."""


def lines(groups: Sequence[Group], subtask: str, headline: float) -> Iterator[str]:
    """The table of one subtask; intervals are 95 %. Below each part: what its numbers do not say."""
    yield TITLES[subtask]
    for group in groups:
        yield ""
        yield _heading(group, subtask)
        header, *rows = _rows(group, subtask, headline)
        yield from grid(header, rows)
        yield from _warnings(group, subtask, headline)


def _warnings(group: Group, subtask: str, headline: float) -> Iterator[str]:
    """Lines on the methods' excluded sentences, on subtasks without scores, and on high controls."""
    high = []
    asked = any(row["subtask"] == subtask for found in group.references for row in found.measures)
    for found in group.found:
        mine = [row for row in found.measures if row["subtask"] == subtask]
        for row in mine:
            if row["measure"] == "excluded_sentences" and row["value"]:
                yield (
                    f"{_name(found)}: {row['value']:,.0f} of {row['n']:,} sentences left out: they could not "
                    "be scored, or a score is not finite"
                )
        if subtask != "u" and asked and not any(row["measure"] == "rsim" for row in mine):
            yield f"{_name(found)}: not scored"
        if high_control([row for row in mine if row["k"] in (headline, None)]):
            high.append(_name(found))
    if high:
        yield (
            f"RSim of permuted sentences is above {HIGH}, so read RSim above permuted, not RSim: "
            f"{', '.join(high)}"
        )


def _heading(group: Group, subtask: str) -> str:
    for row in (row for found in group.found for row in found.measures):
        if (row["subtask"], row["measure"]) == (subtask, "known") and row["value"] is not None:
            return f"{group.title}; {100 * row['value']:.0f} % of {row['n']:,} answers known"
    return group.title


def _rows(group: Group, subtask: str, headline: float) -> Iterator[list[str]]:
    if subtask == "u":
        yield ["", "RSD", "not clipped", "by SD/|mean|", "paired", "p", "n", "pairs"]
        names = ("rsd", "rsd_unclipped", "rsd_cv", "rsd_paired", "rsd_paired_p_value")
        for found in (*group.found, *group.references):
            values = {row["measure"]: row for row in found.measures if row["subtask"] is None}
            if values:
                numbers = [values.get(name, {}).get("n", 0) for name in ("rsd", "rsd_paired")]
                counts = [f"{number:,}" for number in numbers]
                yield [_name(found), *(_cell(values.get(name)) for name in names), *counts]
        return
    header = ["", "K", "above permuted", "RSim", "permuted", "of means", "raw"]
    yield [*header, *(f"raw, {name}" for name in CONTROLS[subtask]), "n", "left out", "degenerate"]
    for found in (*group.found, *group.references):
        mine = {
            (row["measure"], row["population"]): row
            for row in found.measures
            if row["subtask"] == subtask and row["k"] in (headline, None) and row["relation"] is None
        }
        main = mine.get(("rsim", "all"))
        if main is None:
            continue
        left, degenerate = (mine[(name, "all")]["value"] for name in ("left_out", "degenerate"))
        chosen = "" if main["chosen"] is None else f"{main['chosen']:,}"
        # All results are alike, so that no number says anything.
        alike = degenerate == main["n"]
        cells = [
            _cell(mine.get((ABOVE, "all"))),
            _cell(main),
            _cell(mine.get(("rsim", "permuted")), False),
            _cell(mine.get(("rsim_of_means", "all")), False),
            *(_cell(mine.get(("rsim_raw", name)), False) for name in ("all", *CONTROLS[subtask])),
        ]
        counts = [f"{main['n']:,}", f"{left:.0f}", f"{degenerate:.0f}"]
        yield [_name(found), chosen, *(["-"] * len(cells) if alike else cells), *counts]


def _name(found: Evaluation) -> str:
    return str(found.measures[0]["locator"])


def _cell(row: dict[str, Any] | None, interval: bool = True) -> str:
    """A value with half of its interval."""
    if row is None or row["value"] is None:
        return "-"
    if not interval or row["low"] is None:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} ±{(row['high'] - row['low']) / 2:.3f}"


def draw(groups: Sequence[Group], subtask: str, paths: Sequence[Path]) -> None:
    """Draws RSim against k (c, r), a panel for each locator, or RSD (u), a bar for each, by group."""
    name = f"KLoB-{subtask}"
    if subtask == "u":
        titles = [
            f"{group.title}: how much more even the scores are without a fact ({name})" for group in groups
        ]
        figure, made = parts(titles, [1] * len(groups), 1, (7, 2.8))
        for (axis,), group in zip(made, groups, strict=True):
            _bars(axis, group)
    else:
        titles = [message(f"{group.title}, {name}", group.found, subtask) for group in groups]
        figure, made = parts(titles, [len(group.found) for group in groups], 4, SIZE, sharey=True)
        for axes, group in zip(made, groups, strict=True):
            panels(axes, group.found, group.references, subtask)
    save(figure, *paths)


def _bars(axis: Any, group: Group) -> None:
    found = [
        (in_words(_name(each)), row, each in group.references)
        for each in (*group.found, *group.references)
        for row in each.measures
        if row["measure"] == "rsd_unclipped" and row["subtask"] is None and row["value"] is not None
    ]
    for place, (_, row, reference) in enumerate(reversed(found)):
        error = None if row["low"] is None else [[row["value"] - row["low"]], [row["high"] - row["value"]]]
        spread = {"error_kw": {"linewidth": 0.8, "ecolor": INK}}
        axis.barh(place, row["value"], xerr=error, color=SOFT if reference else KEPT, alpha=0.8, **spread)
        right = row["value"] if row["high"] is None else row["high"]
        axis.annotate(
            f"{row['value']:.2f}",
            (max(right, 0), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="x-small",
        )
    axis.set_yticks(range(len(found)), [name for name, *_ in reversed(found)])
    axis.set_xlabel("RSD: 1 - spread after random words / spread after facts; grey: reference locators")
    axis.axvline(0, color=SOFT, linewidth=0.9)
    axis.grid(visible=False, axis="y")

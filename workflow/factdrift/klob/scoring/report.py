"""RSim and RSD of locating methods as people read them: a table and a figure of each subtask."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.core.figures import INK, KEPT, SOFT
from factdrift.core.panels import Figure, Mark, draw
from factdrift.core.screen import grid
from factdrift.klob.scoring.evaluate import ABOVE, EFFECT, Evaluation

TITLES = {
    "c": "KLoB-c, consistency: RSim between three wordings of a fact",
    "r": "KLoB-r, relevance: RSim between a chain of two facts and its first fact",
    "u": "KLoB-u, unbiasedness: RSD of random words against sentences with facts",
}
CONTROLS = {"c": ("same_relation", "same_subject", "permuted"), "r": ("cross", "same_relation", "permuted")}
"""Populations that are printed beside `all`."""

HEADLINE = 1
"""The k of the tables, in percent."""
HIGH = 0.1
"""RSim among permuted sentences above which a locator chooses the same units whatever the sentence says."""


class Group(NamedTuple):
    """Locating methods that can be compared, and the reference locators with as many units."""

    title: str
    methods: list[Evaluation]
    references: Sequence[Evaluation]


def lines(groups: Sequence[Group], subtask: str, k: float = HEADLINE) -> Iterator[str]:
    """The table of one subtask; intervals are 95 %. Below each part: what its numbers do not say."""
    yield TITLES[subtask]
    for group in groups:
        yield ""
        yield _heading(group, subtask)
        every = (*group.methods, *group.references)
        if subtask == "u":
            yield from _rsd_table(every)
        else:
            yield from _rsim_table([(own.locator, own, k) for own in every], subtask)
        yield from _warnings(group, subtask, k)


def _heading(group: Group, subtask: str) -> str:
    for row in (row for evaluation in group.methods for row in evaluation.measures):
        if (row["subtask"], row["measure"]) == (subtask, "known") and row["value"] is not None:
            return f"{group.title}; {100 * row['value']:.0f} % of {row['n']:,} answers known"
    return group.title


def _warnings(group: Group, subtask: str, k: float) -> Iterator[str]:
    """Lines on the methods' excluded sentences, on subtasks without scores, and on high controls."""
    high = []
    asked = any(row["subtask"] == subtask for evaluation in group.references for row in evaluation.measures)
    for evaluation in group.methods:
        mine = [row for row in evaluation.measures if row["subtask"] == subtask]
        for row in mine:
            if row["measure"] == "excluded_sentences" and row["value"]:
                yield (
                    f"{evaluation.locator}: {row['value']:,.0f} of {row['n']:,} sentences left out: they "
                    "could not be scored, or a score is not finite"
                )
        if subtask != "u" and asked and not any(row["measure"] == "rsim" for row in mine):
            yield f"{evaluation.locator}: not scored"
        permuted = _at(evaluation, subtask, k).get(("rsim", "permuted"))
        if permuted and (permuted["value"] or 0) > HIGH:
            high.append(evaluation.locator)
    if high:
        yield (
            f"RSim of permuted sentences is above {HIGH}, so read RSim above permuted, not RSim: "
            f"{', '.join(high)}"
        )


def _at(evaluation: Evaluation, subtask: str, k: float) -> dict[tuple[str, str | None], Row]:
    """(measure, population) -> the row over all relations at this k, or without any."""
    return {
        (row["measure"], row["population"]): row
        for row in evaluation.measures
        if row["subtask"] == subtask and row["k"] in (k, None) and row["relation"] is None
    }


def _rsim_table(wanted: Iterable[tuple[str, Evaluation, float]], subtask: str) -> Iterator[str]:
    """A line for each name with its method and k; none for a method without scores of the subtask."""
    header = ["", "K", "above permuted", "RSim", "permuted", "of means", "raw"]
    header += [*(f"raw, {name}" for name in CONTROLS[subtask]), "effect above permuted", "effect"]
    header += ["n", "left out", "degenerate"]
    rows = []
    for name, evaluation, k in wanted:
        mine = _at(evaluation, subtask, k)
        if (main := mine.get(("rsim", "all"))) is None:
            continue
        left, degenerate = (mine[measure, "all"]["value"] for measure in ("left_out", "degenerate"))
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
        effects = [_cell(mine.get((measure, "all"))) for measure in (EFFECT, "effect")]
        rows.append([name, chosen, *(["-"] * len(cells) if alike else cells), *effects, *counts])
    yield from grid(header, rows)


def _rsd_table(every: Iterable[Evaluation]) -> Iterator[str]:
    names = ("rsd", "rsd_unclipped", "rsd_cv", "rsd_paired", "rsd_paired_p_value")
    rows = []
    for evaluation in every:
        values = {row["measure"]: row for row in evaluation.measures if row["subtask"] is None}
        if values:
            counts = [f"{values.get(name, {}).get('n', 0):,}" for name in ("rsd", "rsd_paired")]
            rows.append([evaluation.locator, *(_cell(values.get(name)) for name in names), *counts])
    yield from grid(["", "RSD", "not clipped", "by SD/|mean|", "paired", "p", "n", "pairs"], rows)


def _cell(row: Row | None, interval: bool = True) -> str:
    """A value with half of its interval."""
    if row is None or row["value"] is None:
        return "-"
    if not interval or row["low"] is None:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} ±{(row['high'] - row['low']) / 2:.3f}"


def draw_rsim(groups: Sequence[Group], subtask: str, *paths: Path) -> None:
    """Draws RSim above permuted at k = HEADLINE: a dot with its interval for each locator, by group.

    The best is on top. Lines down are chance (0) and the overlap of words, which needs no model.
    """
    names: list[str] = []
    marks: list[Mark] = []
    found: list[Row] = []
    words = {
        row["value"]: Mark("", "", row["value"], 1.02, text="overlap of words", kind="day")
        for group in groups
        for evaluation in group.references
        for (measure, population), row in _at(evaluation, subtask, HEADLINE).items()
        if (measure, population) == (ABOVE, "all") and row["k"] is None and row["value"] is not None
    }
    for group in groups:
        marks.append(Mark("", len(names), 0, len(names), text=group.title, color=INK, kind="text"))
        names.append("")
        rows = {own.locator: _at(own, subtask, HEADLINE).get((ABOVE, "all")) for own in group.methods}
        known = {name: row for name, row in rows.items() if row and row["value"] is not None}
        found += known.values()
        for name in sorted(rows, key=lambda name: -known[name]["value"] if name in known else 9):
            line, row = len(names), known.get(name)
            names.append(name.replace("_", " "))
            if row is None:
                marks.append(Mark("", line, 0, line, text="not scored", kind="text"))
                continue
            value, high = row["value"], row["high"]
            marks.append(Mark("", line, value, 0, row["low"], high, color=KEPT, kind="bar"))
            marks.append(Mark("", line, value, 0, kind="dot", style={"marker": "o"}))
            end = value if high is None else high
            marks.append(Mark("", line, end, line, text=f"{round(value, 2) + 0:.2f}", color=INK, kind="text"))
    marks += [Mark("", "", 0, 1.02, text="chance", kind="day"), *words.values()]
    lows = [row["value"] if row["low"] is None else row["low"] for row in found]
    over = sum(low > 0 for low in lows)
    message = f"KLoB-{subtask}: {over} of {len(lows)} locators choose the same units more than by chance"
    if words:
        message += f", {sum(low > max(words) for low in lows)} more than the overlap of words explains"
    what = f"RSim above permuted sentences, k = {HEADLINE} % of the units, with 95 % intervals"
    axes = {"xlim": (-0.2, 1.12), "xlabel": what}
    draw(Figure([""], 1, (7.5, 0.21 * len(names) + 0.9), axes, lines=names), {message: marks}, paths)


def draw_rsd(groups: Sequence[Group], *paths: Path) -> None:
    """Draws RSD on KLoB-u, a bar with its interval for each locator, by group."""
    names: list[str] = []
    marks: list[Mark] = []
    for group in groups:
        marks.append(Mark("", len(names), 0, len(names), text=group.title, color=INK, kind="text"))
        names.append("")
        colors = {KEPT: group.methods, SOFT: group.references}
        bars = ((color, own, row) for color, every in colors.items() for own in every for row in own.measures)
        for color, own, row in bars:
            if row["measure"] == "rsd_unclipped" and row["subtask"] is None and row["value"] is not None:
                line, value, high = len(names), row["value"], row["high"]
                names.append(own.locator.replace("_", " "))
                marks.append(Mark("", line, 0, value, row["low"], high, color=color, kind="bar"))
                end = max(0, value if high is None else high)
                marks.append(Mark("", line, end, line, text=f"{value:.2f}", color=INK, kind="text"))
    axes = {"xlabel": "RSD: 1 - spread after random words / spread after facts; grey: reference locators"}
    figure = Figure([""], 1, (7.5, 0.21 * len(names) + 0.9), axes, lines=names)
    draw(figure, {"How much more even the scores are without a fact (KLoB-u)": marks}, paths)

"""The output of `factdrift klob score`: tables, the printed summary, the figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from factdrift.core.figures import KEPT, OBSOLETE, SOFT, mark, name_ends, parts, save
from factdrift.core.tables import write_parquet
from factdrift.klob.scoring.evaluate import ABOVE, EXAMPLES, MEASURES, Evaluation

_TITLES = {"c": "KLoB-c, consistency", "r": "KLoB-r, relevance"}


def write(evaluations: Sequence[Evaluation], folder: Path) -> None:
    """Writes measures.parquet and examples.parquet."""
    rows = [row for evaluation in evaluations for row in evaluation.measures]
    write_parquet(pa.Table.from_pylist(rows, schema=MEASURES), folder / "measures.parquet")
    tables = [table for evaluation in evaluations for table in evaluation.examples]
    write_parquet(pa.concat_tables([EXAMPLES.empty_table(), *tables]), folder / "examples.parquet")


def summary(evaluation: Evaluation, k: float) -> str:
    """The results of one method as text: RSim at k, above the permuted control first, the sweep, RSD."""
    rows = evaluation.measures
    lines = [f"{rows[0]['locator']}"]
    for subtask, title in _TITLES.items():
        lines.append(f"  {title}")
        mine = [row for row in rows if row["subtask"] == subtask]
        at_k = [row for row in mine if row["k"] == k and row["relation"] is None]
        if not at_k:
            lines.append("    not scored")
            continue
        chosen = f"K = {at_k[0]['chosen']:,}, {at_k[0]['effective_k']:.3g} % of the units"
        lines += [
            f"    RSim above permuted at k = {k:g} % ({chosen}): {_value(row)}"
            for row in at_k
            if row["measure"] == ABOVE
        ]
        lines += [f"    {text}" for text in [high_control(at_k)] if text]
        for row in at_k:
            if row["measure"] == "rsim":
                against = "" if row["population"] == "all" else f" against {row['population']}"
                lines.append(f"    RSim{against} at k = {k:g} % ({chosen}): {_value(row)}")
        for name, text in _ALSO.items():
            for row in at_k:
                if row["measure"] == name and row["population"] in ("all", None):
                    lines.append(f"    {text}: {_value(row)}")
        for measure, text in ((ABOVE, "RSim above permuted"), ("rsim", "RSim")):
            sweep = [row for row in mine if _headline(row, measure)]
            lines.append(
                f"    {text} by k: " + ", ".join(f"{row['k']:g} %: {_number(row['value'])}" for row in sweep)
            )
        relations = [row for row in mine if row["k"] == k and row["relation"] and row["population"] == "all"]
        lines += [f"      {row['relation']:<14} {_value(row)}" for row in relations]
    lines.append("  KLoB-u, unbiasedness")
    for row in rows:
        if row["measure"] in _SPREAD and row["subtask"] is None:
            lines.append(f"    {_SPREAD[row['measure']]}: {_value(row)}")
    lost = sum(row["value"] for row in rows if row["measure"] == "excluded_sentences")
    if lost:
        lines.append(f"  {lost:,.0f} sentences were excluded: their scores are not finite")
    return "\n".join(lines)


def comparison(references: Sequence[Evaluation], k: float) -> str:
    """RSim of the reference locators at k, as text; the lexical one has no k."""
    lines = ["Reference locators"]
    for evaluation in references:
        for measure, text in ((ABOVE, "RSim above permuted"), ("rsim", "RSim")):
            rows = [row for row in evaluation.measures if _headline(row, measure) and row["k"] in (k, None)]
            at = f" at k = {k:g} %" if any(row["k"] for row in rows) else ""
            values = ", ".join(f"KLoB-{row['subtask']} {_value(row)}" for row in rows)
            if rows:
                lines.append(f"  {text} of {rows[0]['locator']}{at}: {values}")
    return "\n".join(lines)


HIGH = 0.1
"""RSim among permuted sentences above which a locator chooses the same units whatever the sentence says."""


def high_control(rows: Sequence[dict[str, Any]]) -> str:
    """A warning if RSim of permuted sentences is above HIGH, of rows of one subtask and k; else empty."""
    for row in rows:
        if _headline(row, "rsim", "permuted") and (row["value"] or 0) > HIGH:
            return (
                f"warning: RSim of permuted sentences is {row['value']:.3f}, above {HIGH}; RSim alone says "
                "little, read RSim above permuted"
            )
    return ""


_ALSO = {
    "rsim_raw": "not clipped at 0",
    "rsim_of_means": "of the means",
    "rsim_macro": "mean of the relations",
    "sim_cand": "Sim of the candidates",
    "sim_all": "Sim of all",
    "tie_share": "share of places given by ties",
    "degenerate": "examples whose Sim of all is 1",
    "left_out": "examples left out",
}
_SPREAD = {
    "rsd": "RSD (unchanged by a constant a sentence and by one factor for all, not by a factor a sentence)",
    "rsd_unclipped": "not clipped at 0",
    "rsd_cv": "by SD / |mean|",
    "rsd_entropy": "by entropy",
    "rsd_paired": "paired with the source",
    "rsd_paired_p_value": "sign test of the pairs, p",
}


def _headline(row: dict[str, Any], measure: str = "rsim", population: str = "all") -> bool:
    return (row["measure"], row["population"], row["relation"]) == (measure, population, None)


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"


def _value(row: dict[str, Any]) -> str:
    interval = "" if row["low"] is None else f" [{row['low']:.4g}, {row['high']:.4g}]"
    return f"{_number(row['value'])}{interval} (n = {row['n']:,})"


Panels = Sequence[Evaluation]
SIZE = (2.5, 2.1)
"""Of a panel of one locator, in inches."""


def draw(evaluations: Panels, references: Panels, path: Path) -> None:
    """Draws RSim above permuted against k: a part for each subtask, a panel for each locator."""
    messages = [message(title, evaluations, subtask) for subtask, title in _TITLES.items()]
    columns = max(min(4, len(evaluations)), 2)
    figure, found = parts(messages, [len(evaluations)] * 2, columns, SIZE, sharey=True)
    for axes, subtask in zip(found, _TITLES, strict=True):
        panels(axes, evaluations, references, subtask)
    save(figure, path)


def message(title: str, evaluations: Panels, subtask: str) -> str:
    """Which locator is furthest above its control at the middle k, in words."""
    best: tuple[float, float, str] | None = None
    for evaluation in evaluations:
        rows = _curve(evaluation, subtask, ABOVE, "all")
        if rows:
            row = rows[len(rows) // 2]
            best = max(best or (-9.0, 0.0, ""), (row["value"], row["k"] or 0.0, in_words(row["locator"])))
    if best is None:
        return f"{title}: not scored"
    return f"{title}: {best[2]} is furthest above chance ({best[0]:.2f} at k\u00a0=\u00a0{best[1]:g}\u00a0%)"


def in_words(locator: str) -> str:
    """The name of a locator as figures have it."""
    return locator.replace("_", " ")


def panels(axes: Sequence[Any], evaluations: Panels, references: Panels, subtask: str) -> None:
    """RSim above permuted of each locator by k with its interval, in a panel of its own.

    The dashed lines are chance (0) and the overlap of words, which needs no model, the dotted one is RSim of
    permuted sentences.
    """
    words = next((rows[0]["value"] for one in references if (rows := _lexical(one, subtask))), None)
    for axis, evaluation in zip(axes, evaluations, strict=True):
        axis.set(title=in_words(evaluation.measures[0]["locator"]), xscale="log", ylim=(-0.33, 1.13))
        mark(axis, 0)
        names = [("chance", 0.0, SOFT)]
        if words is not None:
            mark(axis, words)
            names.append(("words", words, SOFT))
        rows = _curve(evaluation, subtask, ABOVE, "all")
        if not rows:
            axis.text(0.5, 0.5, "not scored", transform=axis.transAxes, ha="center", color=SOFT)
            continue
        ks, values = [row["k"] for row in rows], [row["value"] for row in rows]
        axis.plot(ks, values, color=KEPT, marker=".")
        # Without a spread there is no interval.
        ends = [[row["value"] if row[end] is None else row[end] for row in rows] for end in ("low", "high")]
        axis.fill_between(ks, *ends, alpha=0.18, color=KEPT, linewidth=0)
        control = _curve(evaluation, subtask, "rsim", "permuted")
        axis.plot([row["k"] for row in control], [row["value"] for row in control], ":", color=OBSOLETE)
        names.append((f"{values[-1]:.2f}", values[-1], KEPT))
        names += [("permuted", row["value"], OBSOLETE) for row in control[-1:]]
        axis.set_xticks(ks, [f"{k:g}" for k in ks], fontsize="x-small")
        axis.minorticks_off()
        name_ends(axis, names, SIZE[1])
    if axes:
        axes[0].set(ylabel="RSim above permuted", xlabel="k, % of the units; words: their overlap")


def _lexical(evaluation: Evaluation, subtask: str) -> list[dict[str, Any]]:
    """The row of the locator that compares words, which has no k; none for others."""
    return [row for row in _curve(evaluation, subtask, ABOVE, "all") if row["k"] is None]


def _curve(evaluation: Evaluation, subtask: str, measure: str, population: str) -> list[dict[str, Any]]:
    """The rows of a measure over all relations that have a value, by k."""
    rows = [
        row
        for row in evaluation.measures
        if row["subtask"] == subtask and _headline(row, measure, population) and row["value"] is not None
    ]
    return sorted(rows, key=lambda row: row["k"] or 0)

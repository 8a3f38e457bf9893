"""The output of `factdrift klob score`: tables, the printed summary, the figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from factdrift.core.figures import save, subplots
from factdrift.core.tables import write_parquet
from factdrift.klob.scoring.evaluate import ABOVE, EXAMPLES, MEASURES, Evaluation

_TITLES = {"c": "KLoB-c, consistency", "r": "KLoB-r, relevance"}


def write(found: Sequence[Evaluation], folder: Path) -> None:
    """Writes measures.parquet and examples.parquet."""
    rows = [row for evaluation in found for row in evaluation.measures]
    write_parquet(pa.Table.from_pylist(rows, schema=MEASURES), folder / "measures.parquet")
    tables = [table for evaluation in found for table in evaluation.examples]
    write_parquet(pa.concat_tables([EXAMPLES.empty_table(), *tables]), folder / "examples.parquet")


def summary(found: Evaluation, k: float) -> str:
    """The results of one method as text: RSim at k, above the permuted control first, the sweep, RSD."""
    rows = found.measures
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


def draw(found: Sequence[Evaluation], references: Sequence[Evaluation], path: Path) -> None:
    """Draws RSim above permuted against k for both subtasks, reference locators dashed, as SVG or PNG."""
    asked = [row["k"] for each in found for row in each.measures if row["k"] is not None]
    span = (min(asked, default=1), max(asked, default=1))
    figure, axes = subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for axis, (subtask, title) in zip(axes, _TITLES.items(), strict=True):
        for evaluation in (*found, *references):
            curve(axis, evaluation, subtask, "--" if evaluation in references else "-", span)
        axis.set(title=title, xscale="log", xlabel="k, % of the units", ylim=(-0.33, 1.13))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("RSim above permuted")
    axes[1].legend(fontsize="small", title="dotted: RSim of permuted", title_fontsize="small")
    save(figure, path)


def curve(axis: Any, found: Evaluation, subtask: str, line: str, span: tuple[float, float]) -> None:
    """One locator in one panel: RSim above permuted with its interval, and dotted RSim of the control.

    `span`: the least and the greatest k, for a locator that has none.
    """
    rows = _curve(found, subtask, ABOVE, "all")
    if not rows:
        return
    if rows[0]["k"] is None:  # The lexical locator: the same for each k.
        axis.plot(span, [rows[0]["value"]] * 2, line, color="black", linewidth=1, label=rows[0]["locator"])
        return
    ks = [row["k"] for row in rows]
    (drawn,) = axis.plot(ks, [row["value"] for row in rows], line, marker=".", label=rows[0]["locator"])
    # Without a spread there is no interval.
    low, high = ([row["value"] if row[end] is None else row[end] for row in rows] for end in ("low", "high"))
    axis.fill_between(ks, low, high, alpha=0.15, color=drawn.get_color())
    control = _curve(found, subtask, "rsim", "permuted")
    values = [row["value"] for row in control]
    axis.plot([row["k"] for row in control], values, ":", linewidth=0.8, color=drawn.get_color())


def _curve(found: Evaluation, subtask: str, measure: str, population: str) -> list[dict[str, Any]]:
    """The rows of a measure over all relations that have a value, by k."""
    rows = [
        row
        for row in found.measures
        if row["subtask"] == subtask and _headline(row, measure, population) and row["value"] is not None
    ]
    return sorted(rows, key=lambda row: row["k"] or 0)

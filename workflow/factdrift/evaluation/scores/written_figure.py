"""Draws what was written about updates: a stacked bar of verdicts for each state, with what S would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.figures import save, subplots
from factdrift.core.tables import records
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.scores.verdicts import written_scores

PARTS = {
    "right": (("correct",), "#1b7a5a", "white"),
    "stale": (("stale",), "#d9822b", "black"),
    "both": (("both",), "#f2cf63", "black"),
    "wrong": (("wrong", "denied", "unclear"), "#8a8f98", "white"),
    "refused": (("refused",), "#8fb8de", "black"),
    "empty": (("empty",), "#e4e4e4", "black"),
}
"""Part of a bar -> its verdicts, its colour, and that of the text in it."""

WORDINGS = ("own wording", "other wordings")
_NAMED, _NUMBERED = 0.13, 0.045
"""Shares from which a part has room for its name, and for its number alone."""

Row = Mapping[str, Any]


def draw(written: Path, paths: Sequence[Path]) -> None:
    """Draws WRITTEN of updates: a line of panels for each model, with the update's own and other wordings.

    A diamond is S over the same answers. States without any answer say so.
    """
    scores = [row for row in written_scores(records(written)) if row["asked"] in WORDINGS]
    models = list(dict.fromkeys(row["model"] for row in scores)) or [""]
    states = list(dict.fromkeys(row["method"] for row in scores))
    height = 0.34 * max(len(states), 1) + 1.1
    shape = {"figsize": (11, height * len(models)), "sharey": True, "sharex": True, "squeeze": False}
    figure, axes = subplots(len(models), len(WORDINGS), **shape)
    for line, model in zip(axes, models, strict=True):
        for axis, asked in zip(line, WORDINGS, strict=True):
            own = {row["method"]: row for row in scores if (row["model"], row["asked"]) == (model, asked)}
            for place, state in enumerate(states):
                _bar(axis, place, own.get(state))
            axis.set(title=_message(model, asked, list(own.values())), xlim=(0, 1.02))
            axis.title.set_fontsize("medium")
            axis.set_yticks(range(len(states)), [title_of(state) for state in states])
            axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
            axis.spines[["top", "right", "left"]].set_visible(False)
            axis.tick_params(axis="y", length=0)
        line[0].invert_yaxis()
        line[0].set_xlabel("share of the answers; diamond: S, from probabilities")
    save(figure, *paths)


def _bar(axis: Any, place: int, row: Row | None) -> None:
    """The bar of one state."""
    if row is None or not row["answers"]:
        axis.text(0.01, place, "no answer", va="center", fontsize="small", color="0.4")
        return
    begin = 0.0
    for name, (verdicts, colour, ink) in PARTS.items():
        width = sum(row[verdict] for verdict in verdicts) / row["answers"]
        axis.barh(place, width, left=begin, height=0.8, color=colour, edgecolor="white", linewidth=0.6)
        if width >= _NUMBERED:
            said = f"{100 * width:.0f} {name}" if width >= _NAMED else f"{100 * width:.0f}"
            axis.text(begin + width / 2, place, said, ha="center", va="center", fontsize="x-small", color=ink)
        begin += width
    if row["s_answers"]:
        # At the lower edge, where no text is.
        axis.plot(row["s"], place + 0.4, "D", color="black", markersize=4, markeredgecolor="white", zorder=3)


def _message(model: str, asked: str, rows: Sequence[Row]) -> str:
    """What the panel shows, in words."""
    told = [row for row in rows if row["answers"] and row["method"] != "none"]
    if not told:
        return f"{model}: {asked}"
    best = max(told, key=lambda row: row["correct"] / row["answers"])
    right = f"{100 * best['correct'] / best['answers']:.0f} %"
    by_s = f", by S {100 * best['s']:.0f} %" if best["s_answers"] else ""
    return f"{model}, {asked}: at best {right} right ({title_of(best['method'])}{by_s})"

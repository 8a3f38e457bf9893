"""Draws what was written about updates: a stacked bar of verdicts for each state, with what S would say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factdrift.core.columns import Row
from factdrift.core.figures import INK, KEPT, NEW, OBSOLETE, SOFT, parts, save
from factdrift.core.tables import records
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.scores.verdicts import written_scores

PARTS = {
    "right": (("correct",), NEW, "white"),
    "stale": (("stale",), OBSOLETE, "white"),
    "both": (("both",), "#f2cf63", "black"),
    "wrong": (("wrong", "denied", "unclear"), "#8a8f98", "white"),
    "refused": (("refused",), KEPT, "white"),
    "empty": (("empty",), "#e4e4e4", "black"),
}
"""Part of a bar -> its verdicts, its colour, and that of the text in it."""

WORDINGS = ("own wording", "other wordings")
_NAMED, _NUMBERED = 0.13, 0.045
"""Shares from which a part has room for its name, and for its number alone."""


def draw(written: Path, paths: Sequence[Path]) -> None:
    """Draws WRITTEN of updates: a line of panels for each model, with the update's own and other wordings.

    A diamond is S over the same answers. States without any answer say so.
    """
    scores = [row for row in written_scores(records(written)) if row["asked"] in WORDINGS]
    models = list(dict.fromkeys(row["model"] for row in scores)) or [""]
    states = list(dict.fromkeys(row["method"] for row in scores))
    owns = [[row for row in scores if row["model"] == model] for model in models]
    messages = [_message(model, own) for model, own in zip(models, owns, strict=True)]
    size = (5.5, 0.3 * max(len(states), 1) + 0.8)
    given = {"sharex": True, "sharey": True}
    figure, found = parts(messages, [len(WORDINGS)] * len(models), len(WORDINGS), size, **given)
    for axes, rows in zip(found, owns, strict=True):
        for axis, asked in zip(axes, WORDINGS, strict=True):
            own = {row["method"]: row for row in rows if row["asked"] == asked}
            for place, state in enumerate(states):
                _bar(axis, place, own.get(state))
            axis.set(title=f"asked in the update's {asked}" if asked == WORDINGS[0] else f"in {asked}")
            axis.set_xlim(0, 1.02)
            axis.set_yticks(range(len(states)), [title_of(state) for state in states])
            axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
            axis.spines["left"].set_visible(False)
            axis.grid(visible=False)
            axis.tick_params(axis="y", length=0)
        axes[0].invert_yaxis()
        axes[0].set_xlabel("share of the answers; diamond: what S says, from probabilities")
    save(figure, *paths)


def _bar(axis: Any, place: int, row: Row | None) -> None:
    """The bar of one state."""
    if row is None or not row["answers"]:
        axis.text(0.01, place, "no answer", va="center", fontsize="small", color=SOFT)
        return
    begin = 0.0
    for name, (verdicts, colour, ink) in PARTS.items():
        width = sum(row[verdict] for verdict in verdicts) / row["answers"]
        axis.barh(place, width, left=begin, height=0.74, color=colour, linewidth=0)
        if width >= _NUMBERED:
            said = f"{100 * width:.0f} {name}" if width >= _NAMED else f"{100 * width:.0f}"
            axis.text(begin + width / 2, place, said, ha="center", va="center", fontsize="x-small", color=ink)
        begin += width
    if row["s_answers"]:
        # At the lower edge, where no text is.
        axis.plot(row["s"], place + 0.4, "D", color=INK, markersize=4, zorder=3)


def _message(model: str, rows: Sequence[Row]) -> str:
    """What the part shows, in words: the method that is right most often in the update's own wording."""
    told = [row for row in rows if row["asked"] == WORDINGS[0] and row["answers"] and row["method"] != "none"]
    if not told:
        return f"{model}: what was written"
    best = max(told, key=lambda row: row["correct"] / row["answers"])
    right = f"{100 * best['correct'] / best['answers']:.0f} %"
    by_s = f", though S says {100 * best['s']:.0f} %" if best["s_answers"] else ""
    return f"{model}: at best {right} of the answers are right ({title_of(best['method'])}{by_s})"

"""Draws the shares right by criterion: a small panel each, with a bar for each state of the model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factdrift.core.columns import Row
from factdrift.core.figures import INK, KEPT, NEW, SOFT, parts, save
from factdrift.evaluation.methods.record import UNEDITED, title_of
from factdrift.evaluation.scores.conditions import WAYS
from factdrift.evaluation.scores.ripples import CRITERIA

WORDS = {
    "alias": "its other names",
    "logical": "what follows by logic",
    "compose_object": "facts of the new object",
    "compose_subject": "facts that lead to it",
    "history_new": "who held it lately",
    "preserve": "others of its list",
    "specific": "its other relations",
    "history_old": "who held it before",
    "neighbor": "facts of neighbours",
}
"""Criterion -> what is asked, in words."""


def draw(rows: Sequence[Row], paths: Sequence[Path]) -> None:
    """Draws a part for each model and way; bars are shares of all probes with 95 % intervals.

    Criteria whose answers must change come first, in the colour of what is new; those that must stay have
    another one. A dot is the share among probes with known conditions. Probes of which the old dump does not
    show whether their answer must change are left out.
    """
    found_in: list[tuple[str, str]] = [(row["model"], row["way"]) for row in rows]
    groups = list(dict.fromkeys(found_in)) or [("", "")]
    states = list(dict.fromkeys(row["method"] for row in rows))
    owns = [[row for row in rows if (row["model"], row["way"]) == group] for group in groups]
    messages = [
        _message(model, WAYS.get(way, way), own) for (model, way), own in zip(groups, owns, strict=True)
    ]
    size = (2.3, max(1.3, 0.2 * len(states) + 0.8))
    figure, found = parts(messages, [len(CRITERIA)] * len(groups), 5, size, sharey=True, sharex=True)
    for axes, rows_of in zip(found, owns, strict=True):
        for axis, criterion in zip(axes, CRITERIA, strict=True):
            own = {
                row["method"]: row
                for row in rows_of
                if row["criterion"] == criterion and row["must_change"] is not None
            }
            for place, state in enumerate(states):
                _bar(axis, place, own.get(state))
            if not own:  # or it would look like 0 %
                axis.text(4, (len(states) - 1) / 2, "no probes", va="center", fontsize="small", color=SOFT)
            axis.set(title=WORDS[criterion], xlim=(0, 125))
            axis.set_xticks([0, 50, 100], ["0", "50", "100 %"])
            axis.set_yticks(range(len(states)), [title_of(state) for state in states])
            axis.grid(visible=False, axis="y")
        axes[-1].set_xlabel("dot: where it knows the premises")
        axes[0].invert_yaxis()
    save(figure, *paths)


def _bar(axis: Any, place: int, row: Row | None) -> None:
    if row is None:
        return
    right, low, high = (100 * row[name] for name in ("right", "low", "high"))
    spread = [[max(right - low, 0)], [max(high - right, 0)]]
    colour = NEW if row["must_change"] else KEPT
    axis.barh(place, right, xerr=spread, color=colour, error_kw={"linewidth": 0.8, "ecolor": INK})
    known = row["known_right"]
    axis.text(
        max(high, 100 * (known or 0)) + 4, place, f"{right:.0f}", va="center", fontsize="x-small", color=INK
    )
    if known is not None:
        axis.plot(100 * known, place, "o", color=INK, markersize=3)


def _message(model: str, way: str, rows: Sequence[Row]) -> str:
    """The state that is best at what must change, and what it leaves of what must stay."""

    def share(state: str, must_change: bool) -> float | None:
        own = [row for row in rows if row["method"] == state and row["must_change"] == must_change]
        probes = sum(row["probes"] for row in own)
        return 100 * sum(row["right"] * row["probes"] for row in own) / probes if probes else None

    states = [state for state in dict.fromkeys(row["method"] for row in rows) if state not in UNEDITED]
    followed = {state: found for state in states if (found := share(state, True)) is not None}
    if not followed:
        return f"{model}, {way}: right, by what is asked"
    best = max(followed, key=lambda state: followed[state])
    said = f"{model}, {way}: {title_of(best)} has {followed[best]:.0f} % right of what must change (green)"
    kept, before = share(best, False), share("none", False)
    if kept is not None:
        said += f" and {kept:.0f} % of what must stay (blue"
        said += ")" if before is None else f"; {before:.0f} % without an edit)"
    return said

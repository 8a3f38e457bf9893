"""The figures of scores: a declaration each, marks from the rows of a table, and a message in words."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from factdrift.core.columns import Row
from factdrift.core.figures import INK, KEPT, NEW, OBSOLETE
from factdrift.core.panels import Figure, Mark, draw
from factdrift.evaluation.methods.record import is_unedited, style_of, title_of
from factdrift.evaluation.scores.conditions import WAYS, condition_of, in_words
from factdrift.evaluation.scores.groups import Group, by_columns
from factdrift.evaluation.scores.ripples import CRITERIA
from factdrift.evaluation.scores.table import IN_STREAM
from factdrift.evaluation.scores.written import written_scores

_OVER_TIME = {
    "new facts said (S, high is good)": "efficacy_s",
    "in other words, too (S, high is good)": "generalization_s",
    "earlier new facts kept (S, high is good)": "retention_s",
    "facts since replaced (S, low is good)": "staleness_s",
    "nearest facts lost (points, low is good)": "bleedover_nearest",
    "perplexity of a text (low is good)": "perplexity",
}
"""Title of a panel -> column of the table of a stream."""


def draw_stream(groups: Sequence[Group], paths: Sequence[Path]) -> None:
    """Draws a part for each model with a panel for each column: each method by the end of the interval."""
    ends = list(dict.fromkeys(group.interval["new_date"] for group in groups))
    figure = Figure(
        panels=list(_OVER_TIME),
        columns=3,
        size=(3.9, 2.8),
        axes={"xlim": (-0.2, max(len(ends) - 0.8, 0.2))},
        of_panel={
            panel: {"yscale": "log"} if name == "perplexity" else {"ylim": (-3, 103)}
            for panel, name in _OVER_TIME.items()
        },
        ticks=(range(len(ends)), ends),
        share={"sharex": True},
    )
    models: dict[str, list[Group]] = {} if groups else {"": []}
    for group in groups:
        models.setdefault(group.model, []).append(group)
    draw(figure, {kept_most(model, own): _over_time(own, ends) for model, own in models.items()}, paths)


def _over_time(groups: Sequence[Group], ends: Sequence[str]) -> Iterator[Mark]:
    for panel, name in _OVER_TIME.items():
        for group in groups:
            y, half = _point(group, name)
            if np.isfinite(y):
                style = {"band": 0.1, **style_of(group.method)}
                at = (ends.index(group.interval["new_date"]), y, y - half, y + half)
                yield Mark(panel, group.method, *at, group.title, style["color"], style=style)


def _point(group: Group, name: str) -> tuple[float, float]:
    """A column of the table, or the perplexity, and half the width of its interval, if that is known."""
    if name == "perplexity":
        value = group.interval.get(name)
        return (np.nan if value is None else value), 0.0
    mean = IN_STREAM[name].of(group)
    return (mean.mean, np.nan_to_num(mean.half)) if mean else (np.nan, 0.0)


def kept_most(model: str, groups: Sequence[Group]) -> str:
    """What is left of earlier facts after the last interval, at best and at worst, in words."""
    last = {group.method: _point(group, "retention_s")[0] for group in groups if group.method != "none"}
    kept = {method: share for method, share in last.items() if np.isfinite(share)}
    if len(set(kept.values())) < 2:
        return f"{model}: edits as the world changed"
    best, worst = max(kept, key=lambda method: kept[method]), min(kept, key=lambda method: kept[method])
    return (
        f"{model}: after the last interval {title_of(best)} keeps {kept[best]:.0f} % of the earlier new "
        f"facts, {title_of(worst)} {kept[worst]:.0f} % (by S)"
    )


_VERDICTS = {
    "right": (("correct",), NEW, "white"),
    "stale": (("stale",), OBSOLETE, "white"),
    "both": (("both",), "#f2cf63", "black"),
    "wrong": (("wrong", "denied", "unclear"), "#8a8f98", "white"),
    "refused": (("refused",), KEPT, "white"),
    "empty": (("empty",), "#e4e4e4", "black"),
}
"""Part of a bar -> its verdicts, its colour, and that of the text in it."""
_WORDINGS = {"own wording": "asked in the update's own wording", "other wordings": "in other wordings"}
"""Kind of question -> title of its panel."""
_NAMED, _NUMBERED = 0.13, 0.045
"""Shares from which a part has room for its name, and for its number alone."""


def draw_written(rows: Sequence[Row], paths: Sequence[Path]) -> None:
    """Draws rows of GENERATION_SCORES about updates: bars of verdicts of each state, a part for each model.

    A diamond is S over the same answers. States without any answer say so.
    """
    scores = [row for row in written_scores(rows) if row["asked"] in _WORDINGS]
    states = list(dict.fromkeys(row["method"] for row in scores))
    below = {
        "own wording": "share of the answers; diamond: what S says, from probabilities",
        "other wordings": f"from left to right: {', '.join(_VERDICTS)}",
    }
    figure = Figure(
        panels=list(_WORDINGS.values()),
        columns=2,
        size=(5.5, 0.3 * max(len(states), 1) + 0.8),
        axes={"xlim": (0, 1.02)},
        of_panel={_WORDINGS[kind]: {"xlabel": text} for kind, text in below.items()},
        ticks=([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"]),
        lines=[title_of(state) for state in states],
        share={"sharex": True, "sharey": True},
    )
    models = by_columns(scores, "model") or {("",): []}
    draw(figure, {_most_right(model, own): _stacked(own, states) for (model,), own in models.items()}, paths)


def _stacked(rows: Sequence[Row], states: Sequence[str]) -> Iterator[Mark]:
    for asked, panel in _WORDINGS.items():
        own = {row["method"]: row for row in rows if row["asked"] == asked}
        for line, state in enumerate(states):
            row = own.get(state)
            if not row or not row["answers"]:
                yield Mark(panel, line, 0, line, text="no answer", kind="text")
                continue
            left = 0.0
            for name, (verdicts, colour, ink) in _VERDICTS.items():
                width = sum(row[verdict] for verdict in verdicts) / row["answers"]
                number = f"{100 * width:.0f}" if width >= _NUMBERED else ""
                text = f"{number} {name}" if width >= _NAMED else number
                yield Mark(panel, line, left, width, None, None, text, colour, "bar", {"ink": ink})
                left += width
            if row["s_answers"]:
                # At the lower edge, where no text is.
                yield Mark(panel, line + 0.4, row["s"], 0, kind="dot", style={"marker": "D"})


def _most_right(model: str, rows: Sequence[Row]) -> str:
    """The method that is right most often in the update's own wording, in words."""
    edited = (row for row in rows if row["answers"] and row["method"] != "none")
    own = [row for row in edited if row["asked"] == "own wording"]
    if not own:
        return f"{model}: what was written"
    best = max(own, key=lambda row: row["correct"] / row["answers"])
    right = f"{100 * best['correct'] / best['answers']:.0f} %"
    by_s = f", though S says {100 * best['s']:.0f} %" if best["s_answers"] else ""
    return f"{model}: at best {right} of the answers are right ({title_of(best['method'])}{by_s})"


CHANCE = 25.0
"""Of four options, in percent."""
_WITHOUT = condition_of("none")


def draw_hops(rows: Sequence[Row], paths: Sequence[Path]) -> None:
    """Draws rows of SCORES of answers by hops, as Figure 3 of the TempRIPPLE paper: a panel a condition.

    A part for each model and way, over the discriminating items, or all if none discriminates. Bars are the
    95 % bootstrap intervals by asked fact; grey is the unedited model without context. The dashed line is
    chance, which answers in writing do not have.
    """
    answered = [row for row in rows if row["n"]]
    chosen = [row for row in answered if row["items"] == "discriminating"]
    what = "questions that tell old from new" if chosen else "all questions"
    chosen = chosen or [row for row in answered if row["items"] == "all"]
    conditions = {row["condition"]: in_words(row["condition"]) for row in chosen} or {"": in_words(_WITHOUT)}
    figure = Figure(
        panels=list(conditions.values()),
        columns=min(len(conditions), 4),
        size=(2.5, 2.5),
        axes={"xlim": (-0.2, 3.2), "ylim": (0, 100), "xlabel": "hops from the fact"},
        of_panel={next(iter(conditions.values())): {"ylabel": "right, %"}},
        ticks=(range(4), list("0123")),
        share={"sharey": True},
    )
    groups = by_columns(chosen, "model", "scoring") or {("", ""): []}
    marks = {
        f"{_best_new(f'{model}, {WAYS.get(way, way)}', own)} ({what})": _hops(own, conditions, way)
        for (model, way), own in groups.items()
    }
    draw(figure, marks, paths)


def _hops(rows: Sequence[Row], conditions: Mapping[str, str], way: str) -> Iterator[Mark]:
    """The points of new and old facts, after those of the model without context."""
    columns = ("accuracy", "by_asked_fact_low", "by_asked_fact_high")
    for condition, panel in conditions.items():
        if way != "written":
            yield Mark(panel, "", 0, CHANCE, text="chance", kind="level")
        for row in sorted(rows, key=lambda row: (row["condition"] == condition, row["hop"])):
            line = row["task"].removesuffix(" related")
            y, low, high = (100 * row[name] for name in columns)
            if row["condition"] == condition:
                colour = NEW if line == "new" else OBSOLETE
                yield Mark(panel, line, row["hop"], y, low, high, f"{line} facts", colour)
            elif row["condition"] == _WITHOUT:
                style, name = {"alpha": 0.45, "linewidth": 1}, "no context" if line == "old" else ""
                yield Mark(panel, f"{line} without", row["hop"], y, text=name, style=style)


def _best_new(group: str, rows: Sequence[Row]) -> str:
    """The condition that is best at the new facts, and one hop further, in words."""
    new = [row for row in rows if row["task"] in ("new", "new related")]
    right = {(row["condition"], row["hop"]): 100 * row["accuracy"] for row in new}
    asked = [condition for condition, hop in right if not hop]
    if not asked:
        return f"{group}: answers"
    best = max(asked, key=lambda condition: right[condition, 0])
    message = f"{group}: {in_words(best)} has {right[best, 0]:.0f} % of the new facts right"
    if (best, 1) in right:
        message += f", and {right[best, 1]:.0f} % of what follows one hop away"
    return message


_CRITERIA = {
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


def draw_ripples(rows: Sequence[Row], paths: Sequence[Path]) -> None:
    """Draws rows of RIPPLE_SCORES: a part for each model and way, with a panel for each criterion.

    Bars are shares of all probes with 95 % intervals. Criteria whose answers must change come first, in the
    colour of what is new; those that must stay have another one. A dot is the share among probes with known
    conditions. Probes of which the old dump does not show whether their answer must change are left out.
    """
    states = list(dict.fromkeys(row["method"] for row in rows))
    figure = Figure(
        panels=[_CRITERIA[criterion] for criterion in CRITERIA],
        columns=5,
        size=(2.3, max(1.3, 0.2 * len(states) + 0.8)),
        axes={"xlim": (0, 125)},
        of_panel={_CRITERIA[CRITERIA[-1]]: {"xlabel": "dot: where it knows the premises"}},
        ticks=([0, 50, 100], ["0", "50", "100 %"]),
        lines=[title_of(state) for state in states],
        share={"sharex": True, "sharey": True},
    )
    groups = by_columns(rows, "model", "way") or {("", ""): []}
    marks = {
        _followed(f"{model}, {WAYS.get(way, way)}", own): _by_criterion(own, states)
        for (model, way), own in groups.items()
    }
    draw(figure, marks, paths)


def _by_criterion(rows: Sequence[Row], states: Sequence[str]) -> Iterator[Mark]:
    known = [row for row in rows if row["must_change"] is not None]
    for criterion in CRITERIA:
        if not any(row["criterion"] == criterion for row in known):  # it would look like 0 %
            middle = (len(states) - 1) / 2
            yield Mark(_CRITERIA[criterion], 0, 4, middle, text="no probes", kind="text")
    for row in known:
        panel, line = _CRITERIA[row["criterion"]], states.index(row["method"])
        right, low, high = (100 * row[name] for name in ("right", "low", "high"))
        yield Mark(panel, line, 0, right, low, high, "", NEW if row["must_change"] else KEPT, "bar")
        beside = max(high, 100 * (row["known_right"] or 0))
        yield Mark(panel, line, beside, line, text=f"{right:.0f}", color=INK, kind="text")
        if row["known_right"] is not None:
            yield Mark(panel, line, 100 * row["known_right"], 0, kind="dot", style={"marker": "o"})


def _followed(group: str, rows: Sequence[Row]) -> str:
    """The state that is best at what must change, and what it leaves of what must stay, in words."""

    def right(state: str, must_change: bool) -> float | None:
        own = [row for row in rows if row["method"] == state and row["must_change"] == must_change]
        probes = sum(row["probes"] for row in own)
        return 100 * sum(row["right"] * row["probes"] for row in own) / probes if probes else None

    states = [state for state in dict.fromkeys(row["method"] for row in rows) if not is_unedited(state)]
    changed = {state: share for state in states if (share := right(state, True)) is not None}
    if not changed:
        return f"{group}: right, by what is asked"
    best = max(changed, key=lambda state: changed[state])
    message = f"{group}: {title_of(best)} has {changed[best]:.0f} % right of what must change (green)"
    kept, before = right(best, False), right("none", False)
    if kept is not None:
        message += f" and {kept:.0f} % of what must stay (blue"
        message += ")" if before is None else f"; {before:.0f} % without an edit)"
    return message


def draw_blocks(rows: Sequence[Row], paths: Sequence[Path], metric: str) -> None:
    """Draws rows of VS_EDIT: a part for each model, with a line for each editing method and each locator.

    The darker a field, the higher the block's value, from the line's least to its greatest, whose number is
    written into it. `metric`: of the edits.
    """
    shown = [row for row in rows if row["measure"] == "located"]
    shown += [row for row in rows if row["measure"] == "edited" and row["metric"] == metric]
    lines = sorted(dict.fromkeys(map(_line_of_blocks, shown)), key=lambda line: not line.startswith("edits"))
    blocks = max((row["layer"] + 1 for row in shown), default=0)
    figure = Figure(
        panels=[""],
        columns=1,
        size=(8, 0.24 * len(lines) + 0.9),
        axes={"xlim": (-0.5, blocks - 0.5), "xlabel": "block"},
        ticks=(range(blocks), [str(block) for block in range(blocks)]),
        lines=lines,
    )
    marks = {}
    for (model,), own in by_columns(rows, "model").items():
        ranks = [row for row in own if row["measure"] == "rank_of_means" and row["metric"] == metric]
        lows = [row["low"] for row in ranks if row["low"] is not None]
        message = (
            f"{model}: {sum(low > 0 for low in lows)} of {len(lows)} locators and methods agree on which "
            "blocks are best (rank correlation above 0); each line from its least to its best block"
        )
        marks[message] = _blocks([row for row in shown if row["model"] == model], lines)
    draw(figure, marks, paths)


def _line_of_blocks(row: Row) -> str:
    if row["measure"] == "edited":
        return f"edits by {title_of(row['method'])}"
    return str(row["locator"]).replace("_", " ")


def _blocks(rows: Sequence[Row], lines: Sequence[str]) -> Iterator[Mark]:
    for line, name in enumerate(lines):
        own = [row for row in rows if _line_of_blocks(row) == name and row["value"] is not None]
        values = [row["value"] for row in own]
        low, high = min(values, default=0.0), max(values, default=0.0)
        for row in own if high > low else ():
            text = f"{row['value']:.2g}" if row["value"] == high else ""
            style = {"height": 0.88, "alpha": 0.06 + 0.94 * (row["value"] - low) / (high - low)}
            colour = NEW if row["measure"] == "edited" else KEPT
            yield Mark("", line, row["layer"] - 0.48, 0.96, None, None, text, colour, "bar", style)

"""Figures as data: marks in named panels, of parts that have a message each. `draw` draws all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from factdrift.core.figures import INK, SOFT, name_ends, parts, save

_BESIDE: Any = {"xytext": (4, 0), "textcoords": "offset points", "fontsize": "small", "va": "center"}
"""How a text stands beside its point."""


class Mark(NamedTuple):
    """A point of a curve, or something else in a panel."""

    panel: str
    line: Any
    """Points of the same line are joined; of a bar or dot, the number of its line from the top."""
    x: Any
    """Of a bar where it begins."""
    y: Any
    """Of a bar its length."""
    low: float | None = None
    high: float | None = None
    """The ends of the interval of y; of a bar, of where it ends."""
    text: str = ""
    """The name at the end of a curve, what stands in a bar, or what is said at a point or day."""
    color: str = SOFT
    kind: Literal["curve", "bar", "dot", "text", "day", "span", "level"] = "curve"
    """A day is a line down at x, a span from x to y; a level is a dashed line at y, such as chance."""
    style: Mapping[str, Any] = {}
    """For matplotlib; of a curve with `band`, how opaque the band of its intervals is, instead of bars."""


@dataclass(frozen=True)
class Figure:
    """How all parts of a figure look."""

    panels: Sequence[str]
    """The names of the panels of a part, which are their titles."""
    columns: int
    size: tuple[float, float]
    """Of a panel, in inches."""
    axes: Mapping[str, Any] = field(default_factory=dict)
    """For `matplotlib.axes.Axes.set`: limits, labels and scales of all panels."""
    of_panel: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Panel -> the same of this panel alone."""
    ticks: tuple[Sequence[Any], Sequence[str]] | None = None
    """The values of x that have labels, and these."""
    lines: Sequence[str] = ()
    """The names of the lines of bars, from the top."""
    share: Mapping[str, Any] = field(default_factory=dict)
    """`sharex`, `sharey`."""


def draw(figure: Figure, messages: Mapping[str, Iterable[Mark]], paths: Sequence[Path]) -> None:
    """Draws a part for each message, with its marks, below each other, and writes the figure."""
    from matplotlib.ticker import LogFormatter

    counts = [len(figure.panels)] * len(messages)
    drawn, axes = parts(list(messages), counts, figure.columns, figure.size, **figure.share)
    for of_part, marks in zip(axes, messages.values(), strict=True):
        of_panel: dict[str, list[Mark]] = {panel: [] for panel in figure.panels}
        for point in marks:
            of_panel[point.panel].append(point)
        for axis, (panel, own) in zip(of_part, of_panel.items(), strict=True):
            axis.set(**{"title": panel, **figure.axes, **figure.of_panel.get(panel, {})})
            if axis.get_yscale() == "log":
                # Its own labels are formulas, which figures do not parse.
                axis.yaxis.set(major_formatter="{x:,g}", minor_formatter=LogFormatter())
            if figure.ticks is not None:
                rotated = {"rotation": 45, "ha": "right", "fontsize": "x-small"}
                is_long = any(len(label) > 6 for label in figure.ticks[1])
                axis.set_xticks(*figure.ticks, **(rotated if is_long else {}))
            if figure.lines:
                axis.set_yticks(range(len(figure.lines)), figure.lines)
                axis.set_ylim(len(figure.lines) - 0.5, -0.5)
                axis.grid(visible=False, axis="y")
            _draw(axis, own, figure.size[1])
    save(drawn, *paths)


def _draw(axis: Any, marks: Sequence[Mark], height: float) -> None:
    """Draws the marks of a panel of this height in inches."""
    curves: dict[Any, list[Mark]] = {}
    ends = []
    for point in marks:
        match point.kind:
            case "curve":
                curves.setdefault(point.line, []).append(point)
            case "bar":
                _bar(axis, point)
            case "dot":
                axis.plot(point.x, point.line, color=INK, markersize=4, zorder=3, **point.style)
            case "span":
                axis.axvspan(point.x, point.y, alpha=0.2, color=point.color, linewidth=0)
            case "level":
                axis.axhline(point.y, color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)))
                ends.append((point.text, point.y, point.color))
            case _:
                if point.kind == "day":
                    axis.axvline(point.x, color=point.color, linewidth=1.2)
                where = ("data", "axes fraction" if point.kind == "day" else "data")
                axis.annotate(point.text, (point.x, point.y), xycoords=where, color=point.color, **_BESIDE)
    for points in curves.values():
        _curve(axis, points)
        if points[-1].text:
            ends.append((points[-1].text, points[-1].y, points[-1].color))
    name_ends(axis, ends, height)


def _curve(axis: Any, points: Sequence[Mark]) -> None:
    x, y = [point.x for point in points], [point.y for point in points]
    low, high = [point.low for point in points], [point.high for point in points]
    style = {"color": points[0].color, "marker": "o", "markersize": 3, **points[0].style}
    band = style.pop("band", 0)
    known = [point for point in points if point.low is not None and point.high is not None]
    if band:
        axis.plot(x, y, **style)
        axis.fill_between(x, low, high, alpha=band, color=style["color"], linewidth=0)
        return
    # Rounding may put an end on the wrong side of its point.
    spread = [
        [max(point.y - point.low, 0) for point in known],
        [max(point.high - point.y, 0) for point in known],
    ]
    axis.errorbar(x, y, spread if known else None, **style)


def _bar(axis: Any, bar: Mark) -> None:
    style = {"height": 0.74, "color": bar.color, "linewidth": 0, **bar.style}
    ink, end = style.pop("ink", "white"), bar.x + bar.y
    if bar.low is not None and bar.high is not None:
        style |= {"xerr": [[max(end - bar.low, 0)], [max(bar.high - end, 0)]]}
        style |= {"error_kw": {"linewidth": 0.8, "ecolor": INK}}
    axis.barh(bar.line, bar.y, left=bar.x, **style)
    middle = {"ha": "center", "va": "center", "fontsize": "x-small", "color": ink}
    axis.text(bar.x + bar.y / 2, bar.line, bar.text, **middle)

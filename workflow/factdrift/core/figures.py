"""Figures in files, SVG, PDF or PNG: one style, one colour for each thing, the same bytes in each run.

Files have no background. An SVG has the colours of a dark page, too, for readers who prefer dark pages.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

_UNTIMED = {".svg": "Date", ".pdf": "CreationDate", ".png": "Software"}
"""Suffix of a file -> the field of its metadata that would differ between runs or versions."""

INK, SOFT, LINE = "#1d2126", "#5c636d", "#dedad0"
"""Colours of titles, of what explains, and of lines behind the data."""
NEW, OBSOLETE, KEPT = "#12897b", "#c4622d", "#47719f"
"""Colours of what is new, of what it replaces, and of what must not change."""
SERIES = ("#3b78c4", "#b8433d", "#12897b", "#8a63c9", "#a67c00", "#c2508f", "#1b8fa8", "#7a8717")
"""Colours of methods: a contrast of 3 to 1 or more with white and with a dark page."""

_DARK = {INK: "#e7e4dc", SOFT: "#a2a9b3", LINE: "#3a414a"}
_STYLE: Mapping[Any, Any] = {
    # Element names in SVG files are otherwise random. Texts are texts, that can be searched and read aloud.
    **{"svg.hashsalt": "factdrift", "svg.fonttype": "none", "pdf.fonttype": 42, "savefig.transparent": True},
    **{"font.size": 9, "axes.titlesize": "medium", "axes.titlelocation": "left", "axes.titlepad": 8},
    **dict.fromkeys(("text.color", "axes.titlecolor"), INK),
    **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), SOFT),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), LINE),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **{"lines.linewidth": 1.6, "axes.grid": True, "grid.linewidth": 0.6, "axes.axisbelow": True},
    # A label with two dollar signs is no formula.
    "text.parse_math": False,
}


def series(position: int) -> dict[str, Any]:
    """Colour and dashes of a curve by its place, the same in every figure; 24 places can be told apart."""
    return {"color": SERIES[position % 8], "linestyle": ("-", "--", ":")[position // 8 % 3]}


def subplots(*shape: int, **options: Any) -> tuple[Any, Any]:
    """A figure that needs no display, with a grid of axes, as `matplotlib.pyplot.subplots` returns them."""
    made: tuple[Any, Any] = _pyplot().subplots(*shape, layout="constrained", **options)
    return made


def parts(
    messages: Sequence[str], panels: Sequence[int], columns: int, size: tuple[float, float], **options: Any
) -> tuple[Any, list[list[Any]]]:
    """A figure with a part for each message, which stands above it, and the axes of each part.

    `panels`: of each part, in lines of `columns`. `size`: of a panel, in inches. `options`: for
    `matplotlib.figure.Figure.subplots`.
    """
    lines = [-(-number // columns) for number in panels]
    wide = columns * size[0]
    texts = ["\n".join(textwrap.wrap(message, int(10 * wide))) for message in messages]
    heights = [
        line * size[1] + 0.2 + 0.17 * (text.count("\n") + 1) for line, text in zip(lines, texts, strict=True)
    ]
    figure = _pyplot().figure(figsize=(wide, sum(heights)), layout="constrained")
    parts_axes = []
    below = figure.subfigures(len(texts), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, text, line, number in zip(below, texts, lines, panels, strict=True):
        part.suptitle(text, x=0.01, ha="left", fontsize="large", weight="bold")
        axes = list(part.subplots(line, columns, squeeze=False, **options).flat)
        for axis in axes[number:]:
            axis.set_visible(False)
        parts_axes.append(axes[:number])
    return figure, parts_axes


def name_ends(axis: Any, ends: Iterable[tuple[str, float, str]], height: float) -> None:
    """Writes names beside the ends of curves, in their colours: (name, y, colour), moved apart if needed.

    The limits and the scale of the axis must be set. `height`: of the panel, in inches.
    """
    right, box = axis.get_xlim()[1], axis.transAxes.inverted()
    named = sorted(
        (float(box.transform(axis.transData.transform((right, y)))[1]), name, colour)
        for name, y, colour in ends
    )
    gap = min(0.135 / max(height - 0.7, 0.5), 1 / max(len(named) - 1, 1))
    positions = [min(max(y, 0), 1) for y, *_ in named]
    for number in range(1, len(positions)):
        positions[number] = max(positions[number], positions[number - 1] + gap)
    top = 1.0
    for number in reversed(range(len(positions))):
        positions[number] = min(positions[number], top)
        top = positions[number] - gap
    for position, (_, name, colour) in zip(positions, named, strict=True):
        written: dict[str, Any] = {"xycoords": "axes fraction", "va": "center", "fontsize": "small"}
        axis.annotate(name, (1.02, position), color=colour, annotation_clip=False, **written)


def save(figure: Any, *paths: Path) -> None:
    """Writes a figure in the formats that the paths' suffixes name, and closes it."""
    for path in paths:
        check_format(path)
        with atomic_path(path) as partial:
            opaque = {"transparent": False} if path.suffix == ".png" else {}
            metadata = {_UNTIMED[path.suffix]: None}
            figure.savefig(partial, format=path.suffix[1:], dpi=150, metadata=metadata, **opaque)
            if path.suffix == ".svg":
                text = partial.read_text(encoding="utf-8")
                partial.write_text(text.replace("<defs>", f"{_dark()}\n <defs>", 1), encoding="utf-8")
    _pyplot().close(figure)


def check_format(path: Path) -> None:
    """Raises InputError if a path's suffix names no format of figures."""
    if path.suffix not in _UNTIMED:
        raise InputError(f"{path}: a figure ends in {', '.join(_UNTIMED)}; give it such a name")


def _dark() -> str:
    """The rules that a figure's style sheet has for dark pages."""
    rules = "".join(
        f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }} '
        for light, dark in _DARK.items()
        for kind in ("fill", "stroke")
    )
    return f"<style>@media screen and (prefers-color-scheme: dark) {{ {rules}}}</style>"


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(_STYLE)
    from matplotlib import pyplot

    return pyplot

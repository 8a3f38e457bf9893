"""Figures in files, SVG, PDF or PNG, with the same bytes in each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from factdrift.core.owned import atomic_path


def subplots(*shape: int, **given: Any) -> tuple[Any, Any]:
    """A figure that needs no display, with a grid of axes, as `matplotlib.pyplot.subplots` returns them."""
    import matplotlib

    matplotlib.use("Agg")
    # Element names in SVG files are otherwise random.
    matplotlib.rcParams["svg.hashsalt"] = "factdrift"
    from matplotlib import pyplot

    return pyplot.subplots(*shape, layout="constrained", **given)


def save(figure: Any, *paths: Path) -> None:
    """Writes a figure in the formats that the paths' suffixes name, and closes it."""
    from matplotlib import pyplot

    for path in paths:
        with atomic_path(path) as partial:
            metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
            figure.savefig(partial, format=path.suffix[1:], dpi=150, metadata=metadata)
    pyplot.close(figure)

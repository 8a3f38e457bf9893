"""Figures from marks: what is drawn where, in the units of the data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from factdrift.core import panels
from factdrift.core.panels import Figure, Mark, draw


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Draws marks in the panel `p`, and returns its axes."""
    kept: list[Any] = []
    monkeypatch.setattr(panels, "save", lambda figure, *paths: kept.append(figure))

    def axes(*marks: Mark, **options: Any) -> Any:
        draw(Figure(["p"], 1, (3, 2), **options), {"message": marks}, [])
        (axis,) = kept[-1].axes
        return axis

    return axes


POINTS = [(0, 1.0, 0.5, 4.0), (1, 2.0, 2.0, 3.0), (2, 5.0, 1.0, 7.0)]
"""x, y and the ends of its interval."""


def test_points_of_a_line_are_joined_with_a_band_or_a_bar_for_their_intervals(drawn: Any) -> None:
    for style in ({"band": 0.2}, {}):
        axis = drawn(*(Mark("p", "a", *point, "name", "red", style=style) for point in POINTS))
        (line, *_) = axis.lines
        assert [tuple(point) for point in line.get_xydata()] == [point[:2] for point in POINTS]
        assert [text.get_text() for text in axis.texts] == ["name"]
        if style:
            (band,) = (found for found in axis.collections if isinstance(found, PolyCollection))
            corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
            assert corners == {(x, end) for x, _, *ends in POINTS for end in ends}
        else:
            (bars,) = (found for found in axis.collections if isinstance(found, LineCollection))
            assert np.array(bars.get_segments())[:, :, 1].tolist() == [list(point[2:]) for point in POINTS]


def test_lines_are_apart_and_levels_have_names(drawn: Any) -> None:
    marks = [Mark("p", line, x, x + n, text=line) for n, line in enumerate("ab") for x in (0, 1)]
    axis = drawn(*marks, Mark("p", "", 0, 0.5, text="chance", kind="level"))
    level, first, second = (line.get_ydata() for line in axis.lines)
    assert (list(level), list(first), list(second)) == ([0.5, 0.5], [0, 1], [1, 2])
    assert {text.get_text() for text in axis.texts} == {"a", "b", "chance"}


def test_bars_begin_and_end_where_they_should_in_named_lines(drawn: Any) -> None:
    marks = [
        Mark("p", 0, 0, 40, 30, 60, "forty", "red", "bar"),
        Mark("p", 1, 10, 20, None, None, "twenty", "blue", "bar", {"ink": "black"}),
        Mark("p", 1.4, 15, 0, kind="dot", style={"marker": "D"}),
        Mark("p", 0, 60, 0, text="40", kind="text"),
    ]
    axis = drawn(*marks, lines=["first", "second"], ticks=([0, 100], ["none", "all"]))
    boxes = [patch.get_bbox() for patch in axis.patches]
    assert [(box.x0, box.x1) for box in boxes] == [(0, 40), (10, 30)]
    assert [(box.y0 + box.y1) / 2 for box in boxes] == pytest.approx([0, 1])
    (spread,) = (found for found in axis.collections if isinstance(found, LineCollection))
    assert spread.get_segments()[0][:, 0].tolist() == [30, 60]
    (dot,) = (line for line in axis.lines if line.get_marker() == "D")
    assert (list(dot.get_xdata()), list(dot.get_ydata())) == ([15], [1.4])
    texts = {text.get_text(): text for text in axis.texts}
    assert texts["twenty"].get_position() == (20, 1)
    assert (texts["twenty"].get_color(), texts["forty"].get_color()) == ("black", "white")
    assert texts["40"].xy == (60, 0)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["first", "second"]
    assert axis.get_ylim() == (1.5, -0.5)
    assert [label.get_text() for label in axis.get_xticklabels()] == ["none", "all"]


def test_days_are_lines_and_a_panel_has_its_own_axes(drawn: Any) -> None:
    day = Mark("p", "", 3, 0.9, text="a day", kind="day")
    of_panel = {"p": {"ylim": (1, 10), "yscale": "log"}}
    axis = drawn(day, axes={"xlim": (0, 9), "ylim": (1, 5)}, of_panel=of_panel)
    assert [list(line.get_xdata()) for line in axis.lines] == [[3, 3]]
    assert axis.texts[0].get_text() == "a day"
    assert (axis.get_title(loc="left") or axis.get_title()) == "p"
    assert (axis.get_xlim(), axis.get_ylim()) == ((0, 9), (1, 10))
    assert axis.yaxis.get_major_formatter()(10) == "10"


def test_a_figure_is_the_same_in_each_run(tmp_path: Path) -> None:
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    for path in (one, two):
        draw(Figure(["p", "q"], 2, (3, 2)), {"m": [Mark("q", "a", 0, 1)], "n": []}, [path])
    assert one.read_bytes() == two.read_bytes()

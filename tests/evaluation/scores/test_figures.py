"""What the figures of scores show, as marks, against the rows that they are made of."""

from collections.abc import Sequence
from typing import Any

import pytest

from factdrift.core.figures import NEW, OBSOLETE
from factdrift.core.panels import Figure, Mark
from factdrift.evaluation.scores import figures
from factdrift.evaluation.scores.groups import Group
from factdrift.evaluation.scores.written import GENERATION_SCORES

Row = dict[str, Any]


class Drawn:
    """The arguments of `draw`."""

    figure: Figure
    parts: dict[str, list[Mark]]

    def __call__(self, figure: Figure, messages: Any, paths: Any) -> None:
        self.figure, self.parts = figure, {message: list(marks) for message, marks in messages.items()}

    def of(self, message: str, kind: str = "curve") -> list[Mark]:
        return [mark for mark in self.parts[message] if mark.kind == kind]


@pytest.fixture
def drawn(monkeypatch) -> Drawn:
    kept = Drawn()
    monkeypatch.setattr(figures, "draw", kept)
    return kept


def answers(
    method: str, verdicts: Sequence[str | None], s: Sequence[bool], role: str = "update"
) -> list[Row]:
    named = {"model": "m", "benchmark": "updates", "method": method, "role": role, "stays": False}
    return [
        dict.fromkeys(GENERATION_SCORES.names)
        | named
        | {
            "question": f"q{number}",
            "verdict": verdict,
            "correct": verdict and verdict == "correct",
            "s": value,
        }
        for number, (verdict, value) in enumerate(zip(verdicts, s, strict=True))
    ]


def test_verdicts_are_stacked_and_named_where_there_is_room(drawn):
    verdicts = ["correct"] * 14 + ["stale", *["denied"] * 2, "wrong", "unclear", *["refused"] * 3]
    rows = answers("ft", verdicts, [True] * 11 + [False] * 11)
    rows += answers("none", ["stale"] * 22, [False] * 22) + answers("rome", [None], [True])
    figures.draw_written(rows, [])
    (message,) = drawn.parts
    assert message == "m: at best 64 % of the answers are right (FT, though S says 50 %)"
    own = drawn.figure.panels[0]
    bars = [mark for mark in drawn.of(message, "bar") if mark.panel == own and mark.line == 0]
    assert [bar.y * 22 for bar in bars] == pytest.approx([14, 1, 0, 4, 3, 0])
    assert [bar.x * 22 for bar in bars] == pytest.approx([0, 14, 15, 15, 19, 22])
    # 1 of 22 has room for its number, and from 13 % a part has room for its name.
    assert [bar.text for bar in bars] == ["64 right", "5", "", "18 wrong", "14 refused", ""]
    assert [bar.color for bar in bars[:2]] == [NEW, OBSOLETE]
    assert [(dot.line, dot.x) for dot in drawn.of(message, "dot")] == [(0.4, 0.5), (1.4, 0.0)]
    silent = {(mark.panel == own, mark.y) for mark in drawn.of(message, "text")}
    assert silent == {(True, 2), (False, 0), (False, 1), (False, 2)}
    assert list(drawn.figure.lines) == ["FT", "no edit", "ROME"]


def test_a_stream_is_drawn_by_interval(drawn):
    def group(method: str, number: int, *kept: float) -> Group:
        rows = [{"probe": "retention", "failed": None, "s": value} for value in kept]
        about = {"new_date": f"202{number}-01-01", "perplexity": 10.0 * number}
        return Group("m", number, method, rows, {}, interval=about)

    groups = [
        group("none", 1, 0, 0),
        group("none", 2, 0, 0),
        group("ft", 1, 1, 0),
        group("ft", 2, 1, 1, 1, 0),
    ]
    figures.draw_stream([*groups, group("rag", 1), group("rag", 2, 1, 0)], [])
    (message,) = drawn.parts
    assert message == ("m: after the last interval FT keeps 75 % of the earlier new facts, RAG 50 % (by S)")
    marks = drawn.of(message)
    kept = [(mark.line, mark.x, mark.y) for mark in marks if mark.panel.startswith("earlier new facts kept")]
    assert kept == [("none", 0, 0), ("none", 1, 0), ("ft", 0, 50), ("ft", 1, 75), ("rag", 1, 50)]
    assert {(mark.x, mark.y) for mark in marks if mark.panel.startswith("perplexity")} == {(0, 10), (1, 20)}
    (last,) = (mark for mark in marks if (mark.line, mark.y) == ("rag", 50))
    assert (last.low, last.high) == pytest.approx((50 - 98, 50 + 98), abs=0.1)
    # Methods that keep the same have no best one.
    alike = [group("ft", 1, 1), group("rag", 1, 1)]
    assert figures.kept_most("m", alike) == "m: edits as the world changed"


def test_blocks_are_darker_the_better_they_are(drawn):
    def rows(name: str, measure: str, *values: float | None) -> list[Row]:
        about = {"model": "m", "measure": measure, "locator": None, "method": None, "metric": None}
        about |= {"locator": name} if measure == "located" else {"method": name, "metric": "efficacy_d"}
        return [about | {"layer": layer, "value": value} for layer, value in enumerate(values)]

    given = [*rows("rome_layer", "located", 1.0, 3.0, None), *rows("ft", "edited", 0.5, 0.25, 0.0)]
    given += [row | {"metric": "bleedover_random"} for row in rows("ft", "edited", 9.0, 9.0, 9.0)]
    given += [
        {"model": "m", "measure": "rank_of_means", "metric": "efficacy_d", "locator": name, "low": low}
        for name, low in (("a", 0.1), ("b", 0.0), ("c", None))
    ]
    figures.draw_blocks(given, [], "efficacy_d")
    (message,) = drawn.parts
    assert message.startswith("m: 1 of 2 locators and methods agree")
    assert list(drawn.figure.lines) == ["edits by FT", "rome layer"]
    bars = [(mark.line, mark.x + 0.48, mark.text, mark.style["alpha"]) for mark in drawn.of(message, "bar")]
    assert bars == [
        *((0, 0, "0.5", 1), (0, 1, "", pytest.approx(0.53)), (0, 2, "", pytest.approx(0.06))),
        *((1, 0, "", pytest.approx(0.06)), (1, 1, "3", 1)),
    ]

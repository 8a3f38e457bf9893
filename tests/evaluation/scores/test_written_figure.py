"""The figure of what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.asking import write_table

from factdrift.evaluation.scores.written import WRITTEN
from factdrift.evaluation.scores.written_figure import draw


def answers(method: str, role: str, verdicts: list[str | None]) -> list[dict[str, Any]]:
    named = {"model": "m", "benchmark": "updates", "method": method, "role": role, "stays": False, "s": True}
    return [
        named
        | {"question": f"Q{place}-P6#c1", "edit": f"Q{place}-P6", "verdict": verdict}
        | {"correct": verdict == "correct", "reason": None if verdict else "edit_failed"}
        for place, verdict in enumerate(verdicts)
    ]


def test_the_figure_is_the_same_in_each_run(tmp_path: Path) -> None:
    rows = answers("none", "update", ["stale"] * 4)
    rows += answers("ft", "update", ["correct", "refused", "refused", "empty"])
    rows += answers("rome", "generalization", ["refused"] * 3) + answers("lora", "update", [None, None])
    written = write_table(tmp_path / "written.parquet", rows, WRITTEN)
    one, two, small = (tmp_path / name for name in ("one.svg", "two.svg", "small.png"))
    draw(written, [one, small])
    draw(written, [two])
    assert one.read_bytes() == two.read_bytes()
    assert small.stat().st_size > 1000


def test_without_answers_there_is_an_empty_figure(tmp_path: Path) -> None:
    written = write_table(tmp_path / "written.parquet", [], WRITTEN)
    draw(written, [tmp_path / "none.svg"])
    assert (tmp_path / "none.svg").is_file()

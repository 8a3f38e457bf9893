"""The table of families and methods in docs/models.md is what its command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="language models are installed with `make models`")
from factdrift.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


@pytest.mark.slow
def test_the_table_on_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edit", "families"]) == 0
    text = PAGE.read_text(encoding="utf-8")
    _, _, rest = text.partition("<!-- families: printed by `factdrift edit families` -->\n")
    kept, end, _ = rest.partition("<!-- end of families -->")
    assert end
    assert kept.strip() == capsys.readouterr().out.strip()

"""The notebooks run on the built sample, and print what is kept in them."""

import json
from pathlib import Path

import pytest
from support.notebook import ran

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_print_what_is_kept(path: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python tests/support/notebook.py FILE`, in a checkout after `make run`, writes their output anew."""
    monkeypatch.chdir(built)
    monkeypatch.setenv("XDG_CACHE_HOME", str(built / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    for text, kept, printed in ran(path):
        assert printed == kept, text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    import re

    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for target in re.findall(r"\]\(([^)#]+)", "".join(cell["source"])):
            assert cell["cell_type"] == "code" or (path.parent / target).exists(), target

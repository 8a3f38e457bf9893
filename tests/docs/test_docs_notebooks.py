"""The notebooks run in a Jupyter kernel on the built sample, and print what is kept in them."""

import re
from pathlib import Path

import pytest
from support.notebook import printed_by

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_print_what_is_kept(path: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python tests/support/notebook.py FILE`, in a checkout after `make run`, writes their output anew."""
    pytest.importorskip("torch", reason="language models are installed with `make models`")
    monkeypatch.chdir(built)
    monkeypatch.setenv("XDG_CACHE_HOME", str(built / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    for text, kept, printed in printed_by(path):
        if "--model" in text:  # percentages depend on the processor in their last digits
            (same, shares), (others, found) = apart(kept), apart(printed)
            assert others[:1] == same[:1]
            assert len(found) == len(shares) > 20
            assert found == pytest.approx(shares, abs=3)
        else:
            assert printed == kept, text


def apart(text: str) -> tuple[list[str], list[float]]:
    """The lines of a text, and its percentages."""
    return text.splitlines(), [float(share) for share in re.findall(r"([\d.]+)%", text)]

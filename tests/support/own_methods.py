"""The examples of docs/own-methods.md as files."""

from __future__ import annotations

import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "own-methods.md"


def example(name: str) -> str:
    """The code block of the document whose first line is a comment with this name."""
    found = re.search(
        rf"```\w+\n(# {re.escape(name)}\n.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found, name
    return found[1]


def write_examples(folder: Path) -> Path:
    """Writes mine.py, batched.py and batched.yaml; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("mine.py", "batched.py", "batched.yaml"):
        (folder / name).write_text(example(name), encoding="utf-8")
    return folder

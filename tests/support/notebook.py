"""Runs the cells of a notebook one after another, and compares or renews what they print."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def ran(path: Path) -> list[tuple[str, str, str]]:
    """Of each cell of code: its text, the output that is kept in the file, and what it prints here.

    Raises what a cell raises.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            text, printed = "".join(cell["source"]), io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, str(path), "exec"), names)
            kept = "".join("".join(each["text"]) for each in cell["outputs"])
            found.append((text, kept, printed.getvalue()))
    return found


def renew(path: Path) -> None:
    """Writes what the cells print into the notebook."""
    notebook = json.loads(path.read_text("utf-8"))
    printed = iter(ran(path))
    for number, cell in enumerate(each for each in notebook["cells"] if each["cell_type"] == "code"):
        _, _, text = next(printed)
        cell["execution_count"] = number + 1
        stream = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
        cell["outputs"] = [stream] if text else []
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    renew(Path(sys.argv[1]))

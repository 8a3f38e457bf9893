"""Runs a notebook in a Jupyter kernel, and compares or renews what its cells print."""

import json
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def printed_by(path: Path) -> list[tuple[str, str, str]]:
    """Text, stored output and new output of each cell of code, run in the working directory.

    The kernel has ipykernel and nothing else of Jupyter. Raises what a cell raises.
    """
    notebook = nbformat.read(path, as_version=4)
    stored = [_output(cell) for cell in notebook.cells if cell.cell_type == "code"]
    NotebookClient(notebook, resources={"metadata": {"path": str(Path.cwd())}}, timeout=300).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [(cell.source, old, _output(cell)) for cell, old in zip(cells, stored, strict=True)]


def _output(cell: nbformat.NotebookNode) -> str:
    """What a cell prints, without the messages of its standard error."""
    assert {output.output_type for output in cell.outputs} <= {"stream"}, f"{cell.source}: print the result"
    return "".join(output.text for output in cell.outputs if output.name == "stdout")


def renew(path: Path) -> None:
    """Writes what the cells print into the notebook."""
    notebook = json.loads(path.read_text("utf-8"))
    outputs = iter(printed_by(path))
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        _, _, text = next(outputs)
        cell["execution_count"] = number + 1
        stream = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
        cell["outputs"] = [stream] if text else []
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"  # as in the test
    renew(Path(sys.argv[1]))

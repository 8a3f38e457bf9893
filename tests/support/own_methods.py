"""The examples of docs/own-methods.md as files, and a package with an entry point as pip would install it."""

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


def install(folder: Path) -> Path:
    """A folder for PYTHONPATH with a package that has the plain example as its method `elsewhere`."""
    package, about = folder / "own_package", folder / "own_package-1.0.dist-info"
    package.mkdir(parents=True)
    about.mkdir()
    (package / "__init__.py").write_text("raise ImportError('only jobs may import it')\n", encoding="utf-8")
    (package / "module.py").write_text(example("mine.py"), encoding="utf-8")
    (package / "elsewhere.yaml").write_text(
        "keys:\n  layer: {description: A block., type: integer, default: 0}\n"
        "  lr: {description: Learning rate., type: number, default: 0.001}\n",
        encoding="utf-8",
    )
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own-package\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(
        "[factdrift.methods]\nelsewhere = own_package.module:edit\n", encoding="utf-8"
    )
    return folder

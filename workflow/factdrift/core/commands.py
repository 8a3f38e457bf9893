"""Commands that messages name, as they can be typed in the working directory."""

import os
import re
import sys
from pathlib import Path


def program(name: str) -> str:
    """A program of this environment: with its folder, as `.venv/bin/snakemake`, where that is in the working
    directory, else its name."""
    folder = Path(sys.executable).parent
    return f"{os.path.relpath(folder)}{os.sep}{name}" if folder.is_relative_to(Path.cwd()) else name


def runnable(text: str) -> str:
    """A text with programs as `program` has them in its commands, which are between backquotes."""
    return re.sub(r"`(snakemake|factdrift)(?= )", lambda match: f"`{program(match[1])}", text)

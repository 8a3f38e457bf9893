"""The commands of the tutorial about memories, on a small world."""

import re
import shlex
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import corpora
from support.workflow import ROOT

from factdrift.cli import main
from factdrift.streams.known_table import KNOWN_LABELLED

PAGE = ROOT / "docs" / "memory.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A checkout with a build of a small world."""
    (tmp_path / "results").mkdir()
    corpora.write(tmp_path / "results")
    pq.write_table(pa.Table.from_pylist([], KNOWN_LABELLED), tmp_path / "results" / "known.parquet")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands():
    """The commands of the page by hand, in their order, but for those that build and that run a model."""
    blocks = re.findall(r"```\n(.*?)```", PAGE.read_text(encoding="utf-8").replace("\\\n", " "), re.S)
    rows = [shlex.split(line) for block in blocks for line in block.splitlines() if line.startswith(".venv")]
    return [row for row in rows if row[0].endswith(("factdrift", "python")) and row[1] != "ask"]


def test_the_memory_that_replaces_is_right_where_the_other_is_stale(folder, capsys):
    tables = []
    for program, *words in commands():
        if program.endswith("python"):
            subprocess.run([sys.executable, *words], check=True)
            continue
        assert main(words) == 0
        output = capsys.readouterr().out
        if words[:2] == ["memory", "score"]:
            tables.append({row.split()[0]: row.split()[1:] for row in output.splitlines() if row.strip()})
    kept, replaced = (float(table["now"][2]) for table in tables)
    assert kept < replaced == 100.0
    assert len(PAGE.read_text(encoding="utf-8").split()) <= 700

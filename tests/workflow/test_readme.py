"""What the README shows is what a build gives, and its pages hold to the tables."""

from __future__ import annotations

import re
import subprocess
import sys

import pyarrow.parquet as pq
from support.workflow import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_the_ten_rows_are_rows_of_the_build(built):
    table = README.split("<!-- rows")[1].split("<!-- end of rows -->")[0]
    shown = [cells(line) for line in table.splitlines() if line.startswith("|")][2:]
    assert len(shown) == 10
    found = set()
    for row in pq.read_table(built / "results" / "wfd_repl.parquet").to_pylist():
        objects = {each["decision"]: each["label"] for each in row["objects"]}
        found.add((row["update_prompt"], objects["obsolete"], objects["new"], row["split"]))
    assert {tuple(row) for row in shown} <= found


def test_the_terminal_session_is_what_show_prints(built):
    session = README.split("$ .venv/bin/factdrift show ")[1].split("```")[0]
    arguments, _, expected = session.partition("\n")
    program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    said = subprocess.run(
        [sys.executable, "-c", program, "show", *arguments.split()],
        cwd=built,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.strip() == expected.strip()


def test_the_dictionary_names_every_column_of_the_dataset(built):
    page = (ROOT / "docs" / "tables" / "wikifactdiff.md").read_text(encoding="utf-8")
    named = {
        name for line in page.splitlines() if line.startswith("|") for name in re.findall(r"`(\w+)`", line)
    }
    schema = pq.read_schema(built / "results" / "wikifactdiff.parquet")
    fields = set(schema.names)
    for column in ("objects", "neighborhood"):
        fields |= {field.name for field in schema.field(column).type.value_type}
    assert fields <= named


def test_every_file_that_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target

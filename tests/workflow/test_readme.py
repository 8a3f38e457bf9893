"""The rows and the session that the README shows are those of a build; its links are not broken."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.workflow import ROOT

REAL_DATA = os.environ.get("FACTDRIFT_REAL_DATA", "")
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


@pytest.mark.skipif(not REAL_DATA, reason="FACTDRIFT_REAL_DATA does not name the folder of the real data")
def test_the_ids_of_the_terminal_session_are_wikidatas():
    session = README.split("$ .venv/bin/factdrift show ")[1].split("```")[0]
    names = re.findall(r"^(?:  [+-] \w+ +)?(.+?) \((Q\d+)\)", session, re.MULTILINE)
    named = {item: label for label, item in names}
    known = {}
    for file, item, label in (("entity-ids.tsv", "wikidata_id", "label"), ("labels.tsv", "id", "label")):
        with Path(REAL_DATA, "facts", file).open(encoding="utf-8", newline="") as lines:
            known |= {
                row[item]: row[label] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            }
    assert len(named) == 3
    assert named == {item: known.get(item) for item in named}

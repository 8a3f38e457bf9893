"""The rows and the session that the README shows are those of a build."""

import shlex

import pyarrow.parquet as pq
from support.workflow import ROOT

from factdrift.cli import main

README = (ROOT / "README.md").read_text(encoding="utf-8")
SESSION = README.split("$ .venv/bin/factdrift ")[1].split("```")[0]


def test_the_ten_rows_are_rows_of_the_build(built):
    table = README.split("<!-- rows")[1].split("<!-- end of rows -->")[0]
    lines = [line.strip().strip("|") for line in table.splitlines() if line.startswith("|")][2:]
    shown = [tuple(cell.strip() for cell in line.split("|")) for line in lines]
    assert len(shown) == 10
    found = set()
    for row in pq.read_table(built / "results" / "wfd_repl.parquet").to_pylist():
        objects = {each["decision"]: each["label"] for each in row["objects"]}
        found.add((row["update_prompt"], objects["obsolete"], objects["new"], row["split"]))
    assert set(shown) <= found


def test_the_terminal_session_is_what_why_prints_first(built, monkeypatch, capsys):
    arguments, _, expected = SESSION.partition("\n")
    monkeypatch.chdir(built)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(shlex.split(arguments)) == 0
    first, _, _ = capsys.readouterr().out.partition("https://")
    assert first == expected

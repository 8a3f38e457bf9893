"""What the tutorials show is what a build of the sample and the shipped model give."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support import forked
from support.workflow import ROOT, copied

DOCS = ROOT / "docs"


@pytest.mark.slow
def test_the_rows_of_one_fact_are_those_of_the_benchmarks(tempripple, klob):
    page = (DOCS / "three-benchmarks.md").read_text("utf-8")
    parts = re.split(r"^## ", page, flags=re.M)[1:4]
    pair = next(path for path in (tempripple / "results").glob("2*") if path.is_dir())
    tables = [
        [tempripple / "results/wfd_repl.parquet"],
        [pair / "tempripple" / "tr_facts.parquet", pair / "tempripple" / "tr_related.parquet"],
        [klob / "klob_r.parquet"],
    ]
    for part, files in zip(parts, tables, strict=True):
        rows = [str(row) for file in files for row in pq.read_table(file).to_pylist()]
        shown = re.findall(r"^\|.*\| `(.+?)` \| `(.+?)` \|$|^\| `(.+?)` \| `(.+?)` \|$", part, re.M)
        assert len(shown) >= 3
        for sentence, value in ([each for each in found if each] for found in shown):
            assert any(f"'{sentence}'" in row and f"'{value}'" in row for row in rows), (sentence, value)


def sessions(page: str) -> list[tuple[str, list[str]]]:
    """The commands of a tutorial that are run, each with the lines that the page shows of its output."""
    found = []
    for block in re.findall(r"<!-- run.*?-->\n```\n(.*?)```", (DOCS / page).read_text("utf-8"), re.S):
        for session in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.M)[1:]:
            command, _, shown = session.partition("\n")
            found.append((command, [words(line) for line in shown.splitlines() if line.strip()]))
    return found


def words(line: str) -> str:
    """A line without what depends on the machine: decimals, times, and the bars and blanks of tables."""
    return " ".join(re.sub(r"\d+:\d+ h|\d*\.\d+|[█▏▎▍▌▋▊▉]+", "#", line).split())


def tools(folder: Path) -> None:
    """Puts the programs of a checkout's `.venv/bin` into a folder, and the tools of `benchmarks/`."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    python = shlex.quote(sys.executable)
    cli = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    calls = {
        "python": python,
        "factdrift": f"{python} -c '{cli}'",
        "snakemake": f"{python} -m snakemake --snakefile {shlex.quote(str(ROOT / 'Snakefile'))}",
    }
    for name, call in calls.items():
        path = folder / ".venv" / "bin" / name
        path.write_text(f'#!/bin/sh\nexec {call} "$@"\n')
        path.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "least"), [("first-edit.md", 1), ("first-full-build.md", 3)])
def test_commands_print_what_the_page_shows(page, least, built, tmp_path):
    folder = tmp_path / "run"
    if page == "first-edit.md":
        copied(built, folder)
    tools(folder)
    commands = sessions(page)
    assert len(commands) >= least
    env = forked.with_forked_jobs()
    for command, shown in commands:
        ran = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        printed = iter([words(line) for line in (ran.stdout + ran.stderr).splitlines()])
        missing = [line for line in shown if line not in printed]
        assert not missing, f"{command}\n{missing}\n{ran.stdout}{ran.stderr}"

"""At the end of a run: what changed, five updates in words, the files written, and what can be done next."""

import shlex
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import pyarrow.parquet as pq

from factdrift.core.commands import program
from factdrift.core.products import datasets, former_lines
from factdrift.core.progress import read_line, size_text
from factdrift.core.screen import styled
from factdrift.core.tables import database, sql
from factdrift.core.text import printable

EXAMPLES = 5
BAR = 28
"""Characters of the longest bar."""

RESULTS = Path("results")
RELEASES = RESULTS / "releases"
LONGEST = 200
"""Characters of an example at most."""


def summary(
    pair: Path,
    written: Sequence[Path],
    reports: Sequence[Path],
    flags: Sequence[str],
    stream: TextIO,
    heading: str = "Files written",
) -> Iterator[str]:
    """Yields the lines that end a run.

    `pair`: the folder of the pair of dates. `written`: the results that the run wrote. `reports`: logs of the
    jobs that made tables of scores, printed without their lines of progress. `flags`: the options that
    configured the run, which the commands for what comes next need, too. `stream`: where the lines go, which
    decides on colours. `heading`: the lines above the results.
    """
    dataset = pair / "wikifactdiff.parquet"
    if dataset.is_file() and any(path.name in datasets() for path in written):
        yield ""
        yield from _updates(dataset, pair.name, stream)
    for report in reports:
        if report.is_file():
            yield ""
            lines = report.read_text("utf-8").splitlines()
            yield from (printable(line) for line in lines if read_line(line) is None)
    if written:
        yield ""
        yield styled(heading, "bold", stream)
        for path in written:
            yield f"  {path!s:34} {_contents(path)}"
    yield from former_lines(RESULTS, pair.name)
    yield ""
    yield styled("What to do next", "bold", stream)
    for command, what in _next(dataset, written, flags):
        fits = len(command) + len(what) + 6 <= shutil.get_terminal_size((100, 24)).columns
        pause = "  " if fits else "\n      "
        yield from f"  {styled(command, 'cyan', stream)}{pause}# {what}".split("\n")


def _updates(dataset: Path, pair: str, stream: TextIO) -> Iterator[str]:
    with database() as db:
        rows = f"read_parquet({sql(dataset)})"
        counts = db.sql(f"SELECT scenario, count(*) FROM {rows} GROUP BY 1 ORDER BY 2 DESC, 1").fetchall()
        # Of each relation the most popular subject, so that five updates are about five things.
        examples = db.sql(
            f"""SELECT update_prompt, objects FROM (
                SELECT *, row_number() OVER () AS place FROM {rows} WHERE is_replace)
            QUALIFY row_number() OVER (PARTITION BY relation.id ORDER BY place) = 1
                AND row_number() OVER (PARTITION BY subject.id ORDER BY place) = 1
            ORDER BY place LIMIT {EXAMPLES}"""
        ).fetchall()
    old, _, new = pair.partition("_")
    total = sum(count for _, count in counts)
    yield styled(f"What changed between {old} and {new}: {total:,} updates", "bold", stream)
    for scenario, count in counts:
        length = max(round(BAR * count / counts[0][1]), 1)
        yield f"  {scenario:14} {count:9,}  {styled('█' * length, 'cyan', stream)}"
    if examples:
        yield ""
        yield styled("For example", "bold", stream)
    width = shutil.get_terminal_size((100, 24)).columns
    for prompt, objects in examples:
        labels = {value["decision"]: value["label"] for value in objects}
        text = printable(f"{prompt.replace('____', labels['new'])} (before: {labels['obsolete']})")
        yield from textwrap.wrap(text[:LONGEST], width, initial_indent="  ", subsequent_indent="    ")


def _contents(path: Path) -> str:
    """Number of rows, if it is a table, and size of a file; the number of files of a folder."""
    if path.is_dir():
        return f"{sum(1 for file in path.rglob('*') if file.is_file()):,} files"
    text = size_text(path.stat().st_size)
    return f"{pq.read_metadata(path).num_rows:,} rows, {text}" if path.suffix == ".parquet" else text


def _next(dataset: Path, written: Sequence[Path], flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Commands, as they can be typed here, and what each does."""
    release = next((path for path in written if path.parent == RELEASES), None)
    if release is not None:
        # `factdrift refresh` configures dates and dumps, which nobody types again.
        yield f"{program('factdrift')} show {release / dataset.name}", "the updates of this release"
        return
    snakemake = shlex.join([program("snakemake"), "--cores", "all"])
    options = f" {shlex.join(flags)}" if flags else ""
    if dataset.is_file():
        yield f"{program('factdrift')} show --search Germany", "updates by name, relation or date"
        yield f"{program('factdrift')} browse", "search, both dumps side by side (docs/explorer.md)"
    if any(path.name == "edit_scores.parquet" for path in written):
        yield f"{program('factdrift')} compare rome ft", "two methods by paired differences (docs/editing.md)"
    if not Path("results/report.html").is_file():
        yield f"{snakemake} results/report.html{options}", "a page about this build"
    if not Path("results/manifest.json").is_file():
        yield f"{snakemake}{options}", "all files that are built by default"
    yield f"{snakemake} klob{options}", "a benchmark of locating methods (docs/klob.md)"
    tempripple = f"{snakemake} results/tempripple.parquet{options}"
    yield tempripple, "questions about what changed (docs/tempripple.md)"

"""Writes two dumps in Wikidata's layout whose changes are known, and the truth about them.

    python benchmarks/synthesize.py --entities 100000 --old 2021-01-04 --new 2023-02-27 --seed 1 -o DIR

gives DIR/<old>.json.gz, DIR/<new>.json.gz and DIR/truth.parquet. What is planted, and what each variant must
make of it, stands in `events.tsv`, written by hand from the paper; nothing of the workflow's rules is used.
`--between DATE ...` also writes dumps of these dates, in which more and more items have their new state: a
sequence for `stream`.
"""

import argparse
import os
import sys
import time
from datetime import date
from pathlib import Path

from synthesis.days import check_window
from synthesis.dumps import FORMATS, Plan, write_between, write_pair


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Two synthetic dumps whose changes are known exactly.")
    parser.add_argument("--entities", type=int, required=True, metavar="N", help="about as many lines a dump")
    parser.add_argument("--old", type=date.fromisoformat, default="2021-01-04", metavar="DATE")
    parser.add_argument("--new", type=date.fromisoformat, default="2023-02-27", metavar="DATE")
    parser.add_argument("--between", type=date.fromisoformat, nargs="*", default=[], metavar="DATE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=sorted(FORMATS), default="gz")
    parser.add_argument("--jobs", type=int, default=1, help="processes; the files do not depend on it")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    try:
        check_window(given.old, given.new)
        plan = Plan(given.entities, given.old, given.new, given.seed, given.format == "gz")
        made = write_pair(plan, given.output, given.format, given.jobs)
        write_between(plan, sorted(given.between), given.output, given.format)
    except ValueError as error:
        parser.error(str(error))
    seconds = time.perf_counter() - started
    used = os.times()
    cpu = used.user + used.system + used.children_user + used.children_system
    for day, lines, size in zip((given.old, given.new), made.lines, made.sizes, strict=True):
        path = given.output / f"{day.isoformat()}{FORMATS[given.format]}"
        print(
            f"{path}: {lines:,} entities, {size / 1e6:,.1f} MB of text ({size / lines:,.0f} bytes a line), "
            f"{path.stat().st_size / 1e6:,.1f} MB on disk (1:{size / path.stat().st_size:.1f})"
        )
    print(
        f"{made.events:,} events, {made.truth:,} rows of truth; {seconds:,.1f} s on {given.jobs} job(s), "
        f"{cpu:,.1f} s of CPU, {sum(made.sizes) / 1e6 / cpu:,.1f} MB of text a CPU second"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`factdrift diff-builds`: what differs between two builds of the dataset, and why."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from factdrift.core.errors import InputError


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "compare two builds: updates that came and went, labels, sentences, and the causes"
    verb = commands.add_parser("diff-builds", help=help_, description=help_)
    for name in ("first", "second"):
        verb.add_argument(
            name, type=Path, metavar=name.upper(), help="folder with wikifactdiff.parquet and manifest.json"
        )
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write differences.parquet and differences.html there",
    )
    verb.add_argument("--memory-mb", type=int, default=3000, help="for the tables (default %(default)s)")
    verb.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    import pyarrow.parquet as pq

    from factdrift.core.tables import write_parquet
    from factdrift.pages.compare.causes import cause_of, causes
    from factdrift.pages.compare.differences import differences
    from factdrift.pages.compare.page import write_page

    builds = (options.first, options.second)
    datasets = [folder / "wikifactdiff.parquet" for folder in builds]
    for path in datasets:
        if not path.is_file():
            raise InputError(f"{path}: no such file; name a folder such as results/2021-01-04_2023-02-27")
    why = causes(builds[0] / "manifest.json", builds[1] / "manifest.json")
    found = differences(datasets[0], datasets[1], lambda change: cause_of(change, why), options.memory_mb)
    updates = [pq.read_metadata(path).num_rows for path in datasets]
    if options.output:
        write_parquet(found, options.output / "differences.parquet")
        names = (str(options.first), str(options.second))
        write_page(found, names, (updates[0], updates[1]), why, options.output / "differences.html")
    for path, count in zip(datasets, updates, strict=True):
        print(f"{path}: {count:,} updates")
    print("\n".join(_lines(found.to_pylist())))
    for each in why or ():
        print(f"manifests: {each.key}: {each.before[:80]} -> {each.after[:80]}")


def _lines(found: list[dict[str, str]]) -> Iterator[str]:
    """Counts by kind of change with the cause, label flips by rule; one line if there is no difference."""
    from factdrift.pages.compare.differences import CHANGES

    if not found:
        yield "no difference"
    for change in CHANGES:
        rows = [row for row in found if row["change"] == change]
        if rows:
            yield f"  {change:16}{len(rows):9,}  {rows[0]['cause']}"
        if change == "label":
            flips = [(row["rule_before"], row["before"], row["rule_after"], row["after"]) for row in rows]
            for flip in sorted(set(flips)):
                yield f"    {flip[1]} ({flip[0]}) -> {flip[3]} ({flip[2]}): {flips.count(flip):,}"

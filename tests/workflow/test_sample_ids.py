"""Ids in the default build from the sample: few are made up, and the command that counts them is right."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from factdrift.wikidata.ids import MADE_UP_ITEMS, entity_number

FIRST, MADE_UP_AMONG_FIRST = 1000, 182
"""Updates by popularity, and items in them whose id is not found yet. The second number may only fall.

15 of them are earlier awards, which probes of ripples need: of what stays in a list there were too few.
"""


def made_up(items: list[dict[str, str | None]]) -> set[str]:
    ids = {item["id"] for item in items if item["id"] is not None}
    return {item for item in ids if (entity_number(item) or 0) >= MADE_UP_ITEMS}


def test_few_items_of_the_most_popular_updates_have_a_made_up_id(built: Path) -> None:
    columns = ["subject", "relation", "objects", "subject_popularity"]
    rows = pq.read_table(built / "results" / "wikifactdiff.parquet", columns=columns).to_pylist()
    rows.sort(key=lambda row: (-row["subject_popularity"], row["subject"]["id"], row["relation"]["id"]))
    assert len(rows) > FIRST
    found = set().union(*(made_up([row["subject"], *row["objects"]]) for row in rows[:FIRST]))
    assert len(found) <= MADE_UP_AMONG_FIRST


def test_the_command_counts_them(built: Path) -> None:
    program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    line = [sys.executable, "-c", program, "sample", "check"]
    said = subprocess.run(line, cwd=built, capture_output=True, text=True, check=True).stdout
    rows = pq.read_table(built / "results" / "wfd_repl.parquet").to_pylist()
    whole = set(re.findall(r"'(Q9\d{8})'", str(rows)))
    assert re.search(rf"wfd_repl\.parquet: [\d,]+ items, {len(whole)} with an id made up", said)
    by_part = re.findall(r"^\w+ +\d{4}-\d\d-\d\d +[\d,]+ +([\d,]+) ", said, re.MULTILINE)
    assert sum(int(number.replace(",", "")) for number in by_part) < 600

"""Measures how often the bundled sample answers PAT-Questions as their authors found Wikidata to.

    python benchmarks/pat_questions.py [--misses] [--record benchmarks/RESULTS.md]

PAT-Questions (Meem et al., arXiv 2402.11034) ask who holds an office now and who held it before, with
Wikidata's answers of several dates. `tests/data/pat-questions.tsv` has the answers about subjects and
relations of the sample, tests/data/README.md says where they come from. The sample is rendered as of each
date. The current holder is the one of the statement without an end that started last, the previous one that
of the statement that ended last, of another holder. An answer agrees if one of its ids or labels does.
"""

import argparse
import csv
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from record import add_record, record

from factdrift.core.paths import SAMPLE
from factdrift.snapshots.sample.model import entity_json
from factdrift.snapshots.sample.tables import read_sample

TABLE = Path(__file__).parents[1] / "tests" / "data" / "pat-questions.tsv"

Statements = list[dict[str, Any]]


class Answer(NamedTuple):
    """One question, what PAT-Questions answer (labels) and what the sample does (a label, or empty)."""

    date: str
    which: str
    subject: str
    property: str
    expected: str
    found: str
    agrees: bool


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="How often the sample answers PAT-Questions as Wikidata did."
    )
    parser.add_argument("--misses", action="store_true", help="list the answers that differ")
    add_record(parser)
    given = parser.parse_args(arguments)
    found = answers(TABLE, SAMPLE)
    if given.misses:
        for answer in found:
            if not answer.agrees:
                print(*answer[:-1], sep="\t")
    asked = Counter((answer.date, answer.which) for answer in found)
    agreed = Counter((answer.date, answer.which) for answer in found if answer.agrees)
    rows = [
        (
            date,
            which,
            str(asked[date, which]),
            str(agreed[date, which]),
            f"{agreed[date, which] / number:.1%}",
        )
        for (date, which), number in sorted(asked.items())
    ]
    note = "`python benchmarks/pat_questions.py`, over `tests/data/pat-questions.tsv`."
    record(
        "Answers to PAT-Questions", ("date", "holder", "asked", "agree", "share"), rows, note, given.record
    )
    return 0


def answers(table: Path, tables: Path) -> list[Answer]:
    """The questions of a table that ask about items of the sample, in the order of the table."""
    sample = read_sample(tables)
    rendered: dict[tuple[str, str], dict[str, Any]] = {}

    def entity(item: str, date: str) -> dict[str, Any]:
        if (item, date) not in rendered:
            day = int(date.replace("-", ""))
            rendered[item, date] = entity_json(sample, sample.entities[int(item[1:])], day)
        return rendered[item, date]

    found = []
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            claims = entity(row["subject"], row["date"])["claims"].get(row["property"], [])
            held = holder(claims, row["which"])
            label = entity(held, row["date"])["labels"]["en"]["value"] if held else ""
            agrees = held in row["answers"].split() or label in row["labels"].split("|")
            question = (row["date"], row["which"], row["subject"], row["property"])
            found.append(Answer(*question, row["labels"], label, agrees))
    return found


def holder(claims: Statements, which: str) -> str:
    """The id of the current or the previous holder by the statements of one property; empty: none."""
    known = [
        (_times(claim, "P580"), _times(claim, "P582"), claim["mainsnak"]["datavalue"]["value"]["id"])
        for claim in claims
        if claim["rank"] != "deprecated" and claim["mainsnak"]["snaktype"] == "value"
    ]
    current = max(((start, item) for start, end, item in known if not end), default=("", ""))[1]
    if which == "current":
        return current
    before = ((end, start, item) for start, end, item in known if end and item != current)
    return max(before, default=("", "", ""))[2]


def _times(claim: dict[str, Any], property_: str) -> str:
    """The first time of a qualifier (text that sorts as times after Christ do); empty: there is none."""
    snaks = claim.get("qualifiers", {}).get(property_, [])
    return min((snak["datavalue"]["value"]["time"] for snak in snaks if "datavalue" in snak), default="")


if __name__ == "__main__":
    sys.exit(main())

"""Compares the labels of a build of a synthetic pair with its truth, and prints precision and recall.

    python benchmarks/labels.py --truth DIR/truth.parquet --results results/<old>_<new> --variant paper

Ends with status 1 unless every triple, every reason why one does not reach the dataset and every scenario
agree.
"""

import argparse
import sys
from pathlib import Path

from synthesis.check import Difference, compare
from synthesis.events import VARIANTS


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Precision and recall of the labels on a synthetic pair.")
    parser.add_argument("--truth", type=Path, required=True, metavar="FILE")
    parser.add_argument("--results", type=Path, required=True, metavar="DIR", help="results/<old>_<new>")
    parser.add_argument("--variant", choices=VARIANTS, required=True)
    parser.add_argument("--events", action="store_true", help="a line for each event, too")
    given = parser.parse_args(arguments)
    found = compare(given.truth, given.results, given.variant)
    print(f"{'event':32} {'label':10} {'truth':>8} {'found':>8} {'precision':>10} {'recall':>8}")
    for score in found.scores:
        if given.events or score.event == "(all)" or score.both < max(score.truth, score.found):
            print(
                f"{score.event:32} {score.label:10} {score.truth:8,} {score.found:8,} "
                f"{score.precision:10.4%} {score.recall:8.4%}"
            )
    _say("triples that differ", found.differences)
    _say("triples in the dataset that nobody planted", found.strays)
    _say("statements that another filter dropped, or none", found.filters)
    print(
        f"{given.variant}: {found.triples:,} planted triples, "
        f"{'all as expected' if found.exact else 'NOT as expected'}"
    )
    return 0 if found.exact else 1


def _say(what: str, differences: list[Difference]) -> None:
    if differences:
        print(f"{what}:")
    for each in differences:
        print(
            f"  {each.event}: Q{each.subject} P{each.property} {each.key}: {each.label} dropped by "
            f"{each.dropped_by}, scenario {each.scenario}: {each.truth} in the truth, {each.found} found"
        )


if __name__ == "__main__":
    sys.exit(main())

"""The kinds of check (`resources/audit.tsv`): what each asks of a row, and of which datasets."""

from collections.abc import Mapping
from typing import NamedTuple

from factdrift.core.files import read_tsv
from factdrift.core.paths import RESOURCES

UPDATES, REPLACEMENTS, QUESTIONS, KLOB = "wikifactdiff", "wfd_repl", "tempripple", "klob"
STREAM, ASOF, CORPUS, ASKED, RIPPLES = "stream", "asof", "corpus", "corpus_questions", "ripples"
FOLDERS = "publish"
OF_DATES = (STREAM, ASOF, CORPUS, ASKED)
"""The data sets of a sequence of dates, which lie outside the folder of the pair."""
DATASETS = (UPDATES, REPLACEMENTS, QUESTIONS, KLOB, *OF_DATES, RIPPLES, FOLDERS)


class Kind(NamedTuple):
    """`datasets`: those whose rows are checked; `role`: whether a failure means that the fact is wrong.

    `whole`: all rows are checked. `note`: why some rows of a right build fail; empty if none do.
    """

    datasets: tuple[str, ...]
    role: bool
    whole: bool
    description: str
    note: str


KINDS = {
    row["kind"]: Kind(
        tuple(row["datasets"].split()),
        row["fact"] == "yes",
        row["whole"] == "yes",
        row["description"],
        row["note"],
    )
    for row in read_tsv(RESOURCES / "audit.tsv")
}
"""The kinds of check by name, in the order of the table."""

_ROWS = list(read_tsv(RESOURCES / "audit_unchecked.tsv"))
UNSEEN: Mapping[str, Mapping[str, str]] = {
    dataset: {row["what"]: row["reason"] for row in _ROWS if dataset in row["datasets"].split()}
    for dataset in DATASETS
}
"""Dataset -> what no kind sees of it -> why (`resources/audit_unchecked.tsv`)."""

PASSED, FAILED, DECLARED, UNCHECKED = "passed", "failed", "declared", "unchecked"
"""Outcomes: `declared` is a failure that the row itself reports, in a field such as `leaks`."""

"""What was written, by verdict: shares of all answers of each model, benchmark and state."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.screen import grid
from factdrift.core.tables import records
from factdrift.evaluation.methods.record import title_of
from factdrift.verdict.judge import VERDICTS

UNCLEAR = 0.02
"""Above this share of unclear answers a note names it."""
_Z = 1.96
_COLUMNS = ["model", "benchmark", "method", "question", "edit", "way", "verdict", "correct", "exact"]
_CLOZES = {"#c1": "own wording", "#c": "other wordings"}

Row = dict[str, Any]


def clustered_wilson(right: Sequence[bool], clusters: Sequence[Hashable]) -> tuple[float, float]:
    """The 95 % Wilson interval of a share, for so many values as clusters of alike ones are worth.

    Their number is divided by the design effect: the variance of the mean over clusters to that of
    independent values, at least 1 (Kish, 1965).
    """
    count = len(right)
    share = sum(right) / count
    sums: dict[Hashable, float] = defaultdict(float)
    for one, cluster in zip(right, clusters, strict=True):
        sums[cluster] += one - share
    own = share * (1 - share) / count
    if own:
        spread = math.fsum(each**2 for each in sums.values()) / count**2
        if len(sums) > 1:
            spread *= len(sums) / (len(sums) - 1)
        count_ = count / max(1.0, spread / own)
    else:
        count_ = float(len(sums))
    middle = (share + _Z**2 / (2 * count_)) / (1 + _Z**2 / count_)
    half = _Z * math.sqrt(share * (1 - share) / count_ + _Z**2 / (4 * count_**2)) / (1 + _Z**2 / count_)
    return max(0.0, middle - half), min(1.0, middle + half)


def written_lines(answers: Sequence[Path]) -> Iterator[str]:
    """A table of verdicts, in percent; nothing if nothing was written that is right or wrong.

    Beside the share of right answers: the share that the likelihood has right of the same questions, and how
    often the two disagree.
    """
    cells: dict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    likely: dict[tuple[str, ...], bool] = {}
    for path in answers:
        for row in records(path, _COLUMNS):
            key = (row["model"], row["benchmark"], row["method"], row["question"], row["edit"] or "")
            if row["way"] == "written" and row["verdict"]:
                cells[row["model"], row["benchmark"], row["method"], _wording(row["question"])].append(row)
            elif row["way"] == "loglik":
                found = row["correct"]
                if found is None and row["exact"] and len(row["exact"]) == 1:
                    found = row["exact"][0]
                if found is not None:
                    likely[key] = found
    if not cells:
        return
    yield "What was written, by verdict, in % (right: 95 % Wilson interval, clustered by edit)"
    header = ["", "n", "right", "interval", *VERDICTS[1:], "likelihood", "disagree"]
    body, notes = [], []
    for (model, benchmark, method, wording), rows in cells.items():
        name = ", ".join(filter(None, (model, benchmark, title_of(method), wording)))
        right = [row["verdict"] == "correct" for row in rows]
        clusters = [row["edit"] or row["question"] for row in rows]
        low, high = clustered_wilson(right, clusters)
        verdicts = Counter(row["verdict"] for row in rows)
        shares = [_percent(verdicts[verdict] / len(rows)) for verdict in VERDICTS]
        both = [
            (row["verdict"] == "correct", likely[key])
            for row in rows
            if (key := (model, benchmark, method, row["question"], row["edit"] or "")) in likely
        ]
        beside = ["-", "-"]
        if both:
            beside = [
                _percent(sum(other for _, other in both) / len(both)),
                _percent(sum(one != other for one, other in both) / len(both)),
            ]
        span = f"{_percent(low)} to {_percent(high)}"
        body.append([name, f"{len(rows):,}", shares[0], span, *shares[1:], *beside])
        if verdicts["unclear"] > UNCLEAR * len(rows):
            notes.append(f"{name}: {verdicts['unclear']:,} of {len(rows):,} answers are unclear")
    yield from grid(header, body)
    yield from notes
    yield ""


def _wording(question: str) -> str:
    """Whether a cloze of an update is that of the edit itself; empty for other questions."""
    _, mark, number = question.rpartition("#c")
    if not mark or not number.isdigit():
        return ""
    return _CLOZES["#c1"] if number == "1" else _CLOZES["#c"]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"

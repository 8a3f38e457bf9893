"""Shares of what was written: by verdict, against the unedited model, and beside the likelihood's numbers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import clustered_wilson
from factdrift.tempripple.schemas import TASKS
from factdrift.verdict.judge import VERDICTS

_KEY = ("model", "benchmark", "method", "asked")
_BESIDE = ("exact", "s")
_MATCHES = ("matches", "contains")

WRITTEN_SCORES = schema_of(
    f"{' '.join(_KEY)}: string, stays: bool, answers unanswered subjects {' '.join(VERDICTS)}: int32",
    *(f"{verdict}_low {verdict}_high: float64" for verdict in VERDICTS),
    f"{' '.join(_MATCHES)} compared kept lost gained: int32, kept_low kept_high: float64",
    f"{' '.join(f'{name}_answers' for name in _BESIDE)}: int32",
    *(f"{name} {name}_written {name}_disagrees: float64" for name in _BESIDE),
)
"""One row for each model, benchmark, state and kind of question (docs/tables/written_scores.md)."""


_CLOZES = {"update": "own wording", "generalization": "other wordings", "later": "superseded"}
_KINDS = {"current": "new", "neighbors": "", "retention": "earlier", "staleness": ""}


def asked_of(row: Row) -> str:
    """The kind of a question: `own wording`, `earlier, other wordings`, `nearest`, `new, hop 1`, ..."""
    role = row["role"] or "all"
    if hop := re.fullmatch(r"([1-4]) (\d)", role):  # of TempRIPPLE, and of questions with a date
        task = TASKS[int(hop[1]) - 1]
        return f"{task}, hop {hop[2]}"
    kind = _KINDS.get(row["kind"] or "", row["kind"] or "")
    return ", ".join(filter(None, (kind, _CLOZES.get(role, role))))


def subject_of(row: Row) -> str:
    """What answers are clustered by: the subject of the edit, the edit, or, without one, the question."""
    edit: str = row["edit"] or row["question"]
    subject = re.match(r"(Q\d+)-P\d+", edit)
    return subject[1] if subject else edit


def written_scores(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """WRITTEN_SCORES of rows of GENERATION_SCORES, in their order."""
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        cells[*(row[name] for name in _KEY[:-1]), asked_of(row)].append(row)
    return [dict(zip(_KEY, key, strict=True)) | _scored(cell) for key, cell in cells.items()]


def _scored(rows: Sequence[Row]) -> dict[str, Any]:
    answered = [row for row in rows if row["verdict"] is not None]
    scores: dict[str, Any] = {
        "stays": rows[0]["stays"],
        "answers": len(answered),
        "unanswered": len(rows) - len(answered),
        "subjects": len(set(map(subject_of, answered))),
    }
    verdicts = Counter(row["verdict"] for row in answered)
    for verdict in VERDICTS:
        bounds = _interval(answered, [row["verdict"] == verdict for row in answered])
        scores |= {verdict: verdicts[verdict], f"{verdict}_low": bounds[0], f"{verdict}_high": bounds[1]}
    scores |= {name: sum(bool(row[name]) for row in answered) for name in _MATCHES}
    if rows[0]["stays"]:
        both = [row for row in answered if row["before"] is not None]
        counts = Counter((row["before"], row["correct"]) for row in both)
        low, high = _interval(both, [row["before"] and row["correct"] for row in both])
        scores |= {"compared": len(both), "kept_low": low, "kept_high": high}
        scores |= {"kept": counts[True, True], "lost": counts[True, False], "gained": counts[False, True]}
    for name in _BESIDE:
        both = [row for row in answered if row[name] is not None]
        scores[f"{name}_answers"] = len(both)
        if both:
            scores[name] = fmean(row[name] for row in both)
            scores[f"{name}_written"] = fmean(row["correct"] for row in both)
            scores[f"{name}_disagrees"] = fmean(row["correct"] != row[name] for row in both)
    return scores


def _interval(rows: Sequence[Row], values: Sequence[bool]) -> tuple[float, float] | tuple[None, None]:
    return clustered_wilson(values, [subject_of(row) for row in rows]) if rows else (None, None)

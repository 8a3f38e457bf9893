"""Scores of what follows from updates: by model, state, way and criterion (docs/ripples.md)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import bootstrap
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.ripples import condition_id
from factdrift.ripples import tables

CRITERIA = sorted(tables.CRITERIA, key=lambda name: name not in tables.MUST_CHANGE)
"""Criteria in the order of the tables: first those whose answers must change."""

RIPPLE_SCORES = schema_of(
    "model method way criterion: string, must_change: bool, updates probes unanswered: int32",
    "right low high: float64, known_updates known: int32, known_right known_low known_high: float64",
    "kept lost gained: int32",
)
"""One row for each model, state, way, criterion and `must_change` with an answer."""

COLUMNS = [(name, must) for name in CRITERIA for must in (True, None, False)]
"""Criterion and `must_change` of the rows in their order."""

Column = tuple[str, bool | None]


class Judged(NamedTuple):
    """An answer to a probe: its update, whether it is right, whether the conditions are known to hold, and
    whether the unedited model was right (None: it has no answer)."""

    update: str
    right: bool
    known: bool
    before: bool | None


def write_scores(probes: Path, answers: Sequence[Path], seed: int, output: Path) -> list[Row]:
    """Writes RIPPLE_SCORES and returns its rows.

    Right is, in the way `loglik`, an answer that is the model's likeliest continuation token by token; in
    writing, what the verdict calls correct. A probe is known if all of its conditions are right in the
    unedited model, asked in the same way; without conditions it is. Kept, lost and gained compare with the
    unedited model, for what must not change.
    """
    about = {row["probe_id"]: row for row in pq.read_table(probes).to_pylist()}
    said = _said(answers)
    groups: dict[tuple[str, str, str], dict[Column, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    unanswered = Counter[tuple[str, str, str, Column]]()
    for (model, method, way, question), right in said.items():
        probe = about.get(question)
        if probe is None:
            continue
        column = probe["criterion"], probe["must_change"]
        if right is None:
            unanswered[model, method, way, column] += 1
            continue
        conditions = [said.get((model, "none", way, condition_id(each))) for each in probe["conditions"]]
        before = said.get((model, "none", way, question))
        groups[model, method, way][column].append(
            Judged(probe["update"], right, all(each is True for each in conditions), before)
        )
    rows = [
        _row((*key, column[0]), column[1], found[column], unanswered[(*key, column)], seed)
        for key, found in groups.items()
        for column in COLUMNS
        if column in found
    ]
    write_parquet(pa.Table.from_pylist(rows, schema=RIPPLE_SCORES), output)
    return rows


def _said(answers: Sequence[Path]) -> dict[tuple[str, str, str, str], bool | None]:
    """(model, method, way, question) -> whether it is right; None without an answer."""
    found: dict[tuple[str, str, str, str], bool | None] = {}
    columns = ["model", "method", "way", "question", "exact", "correct", "reason"]
    for path in answers:
        for row in pq.read_table(path, columns=columns).to_pylist():
            right = row["correct"] if row["way"] != "loglik" else row["exact"] and any(row["exact"])
            if row["reason"] == "not_finite":
                right = False
            found[row["model"], row["method"], row["way"], row["question"]] = (
                None if right is None else bool(right)
            )
    return found


def _row(
    key: tuple[str, str, str, str],
    must_change: bool | None,
    found: Sequence[Judged],
    unanswered: int,
    seed: int,
) -> Row:
    known = [each for each in found if each.known]
    changes = Counter((each.before, each.right) for each in found)
    share, of_known = share_of(found, seed), share_of(known, seed)
    return {
        **dict(zip(("model", "method", "way", "criterion"), key, strict=True)),
        "must_change": must_change,
        "updates": len({each.update for each in found}),
        "probes": len(found),
        "unanswered": unanswered,
        **dict(zip(("right", "low", "high"), share, strict=True)),
        "known_updates": len({each.update for each in known}),
        "known": len(known),
        **dict(zip(("known_right", "known_low", "known_high"), of_known, strict=True)),
        "kept": changes[True, True] if must_change is False else None,
        "lost": changes[True, False] if must_change is False else None,
        "gained": changes[False, True] if must_change is False else None,
    }


def share_of(found: Sequence[Judged], seed: int) -> tuple[float, float, float] | tuple[None, None, None]:
    """The share right, with its 95 % interval by bootstrap over updates; None where there are no answers."""
    if not found:
        return None, None, None
    own = sorted(found, key=lambda answer: answer.update)
    right = [answer.right for answer in own]
    return sum(right) / len(right), *bootstrap(right, [answer.update for answer in own], seed)


def text_of(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A table for each model and way: criteria against states, shares of all and of known probes."""
    pairs = dict.fromkeys((row["model"], row["way"]) for row in rows)
    for model, way in sorted(pairs, key=lambda pair: pair[1] != "written"):
        own = [row for row in rows if (row["model"], row["way"]) == (model, way)]
        columns = [column for column in COLUMNS if any(_column(row) == column for row in own)]
        yield f"{model}, {way}: % right of all probes / of those whose conditions the unedited model knows"
        yield f"{'':16}" + "".join(f"{_heading(column):>18}" for column in columns)
        for method in dict.fromkeys(row["method"] for row in own):
            cells = {_column(row): row for row in own if row["method"] == method}
            yield f"{method:16}" + "".join(f"{_cell(cells.get(column)):>18}" for column in columns)
        counts = {_column(row): row for row in own if row["method"] == own[0]["method"]}
        yield f"{'probes / known':16}" + "".join(
            f"{counts[column]['probes']:,} / {counts[column]['known']:,}".rjust(18)
            if column in counts
            else " " * 18
            for column in columns
        )
        yield ""
    if any(row["must_change"] is None for row in rows):
        yield "?: the old dump does not show that the answer was another; it may have been right before."
    yield "Intervals, and what was kept, lost and gained: the table itself (docs/tables/ripple_scores.md)."


def _column(row: Mapping[str, Any]) -> Column:
    return row["criterion"], row["must_change"]


def _heading(column: Column) -> str:
    """The criterion; with a question mark where the old dump does not show that the answer must change."""
    criterion, must_change = column
    return f"{criterion} ?" if must_change is None else criterion


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "-"
    known = row["known_right"]
    shown = "unknown" if known is None else f"{100 * known:.1f}"
    return f"{100 * row['right']:.1f} / {shown}"

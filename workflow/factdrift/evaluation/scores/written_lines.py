"""The tables of what was written, as text: they come before those of the papers' own metrics."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from factdrift.core.columns import Row
from factdrift.core.score_table import HIGHER, LOWER, Column, count, rules, share, table
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.scores.groups import by_columns, state_line
from factdrift.evaluation.scores.written import written_scores

UNCLEAR = 0.02
"""Above this share of unclear answers a note names it."""

NO_ANSWER, NOT_COMPARED = "no answer", "not compared"
"""Cells of a state without any answer, and of one whose answers the unedited model did not give."""

_RIGHT = share("correct", "answers", ends=True, empty=NO_ANSWER)


def _verdicts(*names: str) -> list[Column]:
    """Columns of the shares of verdicts."""
    return [Column(name.capitalize(), share(name, "answers"), LOWER * (name == "stale")) for name in names]


CHANGED = (
    Column("n", count("answers")),
    Column("Right", _RIGHT, HIGHER, fails=50),
    *_verdicts("stale", "both", "refused", "wrong", "denied", "empty", "unclear"),
)
KEPT = (
    Column("n", count("answers")),
    Column("Kept", share("kept", "compared", ends=True, empty=NOT_COMPARED), HIGHER, fails=50),
    Column("Lost", share("lost", "compared"), LOWER),
    Column("Gained", share("gained", "compared")),
    Column("Right", _RIGHT),
    *_verdicts("refused", "empty", "unclear"),
)
FORCED = (
    Column("n", count("exact_answers")),
    Column("Exact", share("exact", "", known="exact_answers")),
    Column("S", share("s", "", known="s_answers")),
    Column("Match", share("matches", "answers", known="exact_answers")),
    Column("Contains", share("contains", "answers", known="exact_answers")),
    Column("Written", share("exact_written", "", known="exact_answers")),
    Column("Disagree", share("exact_disagrees", "", known="exact_answers")),
    Column("with S", share("s_disagrees", "", known="s_answers")),
)

_PARTS = (
    (
        CHANGED,
        "What was written, in % of n answers; in brackets: 95 % Wilson interval, clustered by subject.",
    ),
    (
        KEPT,
        "What must stay: kept, lost and gained are right before and after, before only, after only, in %.",
    ),
    (
        FORCED,
        "What the tables would say with teacher forcing, in %: Exact, S, and what was written.\n"
        "Match: the whole text is an accepted answer (exact match of lm-evaluation-harness).\n"
        "Contains: an accepted answer is anywhere in it (EasyEdit's `verify_answer`).\n"
        "Disagree: how often what was written and Exact (or S) are not both right or both wrong.",
    ),
)
"""Tables of WRITTEN_SCORES with the lines above them."""


def written_lines(rows: Iterable[Row], titles: Mapping[str, str] = {}) -> Iterator[str]:
    """Tables of GENERATION_SCORES: all that must change, what must stay, and teacher forcing beside it.

    Nothing without rows. Rows of several models or benchmarks have them in their names.
    `titles`: method -> its name in the tables, where it is not its own title.
    """
    scores = written_scores(rows)
    if not scores:
        return
    several = [name for name in ("model", "benchmark") if len({row[name] for row in scores}) > 1]
    for row in scores:
        state = titles.get(row["method"], title_of(row["method"]))
        row["name"] = ", ".join([*(row[name] for name in several), state])
    change, stay = ([row for row in scores if row["stays"] is kind] for kind in (False, True))
    for (columns, heading), part in zip(_PARTS, (change, stay, [*change, *stay]), strict=True):
        blocks = by_columns(part, "asked")
        if columns is FORCED:
            blocks = {kind: own for kind, own in blocks.items() if any(row["exact_answers"] for row in own)}
        if blocks:
            yield from heading.split("\n")
        for (kind,), own in blocks.items():
            lines = [
                state_line(row["method"], row, row["name"], (row["model"], row["benchmark"])) for row in own
            ]
            yield from (*table(kind, columns, lines), "")
    yield from rules(CHANGED if change else (), KEPT if stay else ())
    yield from _notes(scores)


def _notes(scores: Sequence[Row]) -> Iterator[str]:
    """What was not answered; and what is unclear, where that is more than UNCLEAR of a cell."""
    for row in scores:
        name = f"{row['name']}, {row['asked']}"
        if row["unanswered"]:
            yield f"{name}: {row['unanswered']:,} questions have no answer"
        if row["unclear"] > UNCLEAR * row["answers"]:
            yield f"{name}: {row['unclear']:,} of {row['answers']:,} answers are unclear"

"""The tables of what was written, as text: they come before those of the papers' own metrics."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from factdrift.core.columns import Row
from factdrift.core.screen import grid
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.scores.verdicts import written_scores

UNCLEAR = 0.02
"""Above this share of unclear answers a note names it."""

_VERDICTS = ("stale", "both", "refused", "wrong", "denied", "empty", "unclear")
_COMPARED = ("kept", "lost", "gained")
NO_ANSWER, NOT_COMPARED = "no answer", "not compared"
"""Cells of a state without any answer, and of one whose answers the unedited model did not give."""


def written_lines(rows: Iterable[Row], titles: Mapping[str, str] = {}) -> Iterator[str]:
    """Tables of rows of WRITTEN: all that must change, what must stay, and teacher forcing beside it.

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
    if change:
        yield "What was written, in % of n answers; in brackets: 95 % Wilson interval, clustered by subject."
        for asked, mine in _by_kind(change):
            header = [asked, "n", "Right", *map(str.capitalize, _VERDICTS)]
            yield from grid(header, [[row["name"], *_written_cells(row)] for row in mine])
            yield ""
    if stay:
        yield (
            "What must stay: kept, lost and gained are right before and after, before only, after only, in %."
        )
        for asked, mine in _by_kind(stay):
            header = [asked, "n", *map(str.capitalize, _COMPARED), "Right", "Refused", "Empty", "Unclear"]
            yield from grid(header, [[row["name"], *_stay_cells(row)] for row in mine])
            yield ""
    if any(row["exact_answers"] for row in scores):
        yield "What the tables would say with teacher forcing, in %: Exact, S, and what was written."
        yield "Match: the whole text is an accepted answer (exact match of lm-evaluation-harness)."
        yield "Contains: an accepted answer is anywhere in it (EasyEdit's `verify_answer`)."
        yield "Disagree: how often what was written and Exact (or S) are not both right or both wrong."
        for asked, mine in _by_kind([*change, *stay]):
            if any(row["exact_answers"] for row in mine):
                header = [asked, "n", "Exact", "S", "Match", "Contains", "Written", "Disagree", "with S"]
                yield from grid(header, [[row["name"], *_forced_cells(row)] for row in mine])
                yield ""
    yield from _notes(scores)


def _by_kind(scores: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for asked in dict.fromkeys(row["asked"] for row in scores):
        yield asked, [row for row in scores if row["asked"] == asked]


def _written_cells(row: Row) -> list[str]:
    if not row["answers"]:
        return ["0", NO_ANSWER, *["-"] * len(_VERDICTS)]
    shares = [percent(row[verdict] / row["answers"]) for verdict in _VERDICTS]
    return [f"{row['answers']:,}", _right(row), *shares]


def _stay_cells(row: Row) -> list[str]:
    if not row["answers"]:
        return ["0", *["-"] * len(_COMPARED), NO_ANSWER, "-", "-", "-"]
    compared = [NOT_COMPARED, "-", "-"]
    if row["compared"]:
        shares = [percent(row[name] / row["compared"]) for name in _COMPARED]
        compared = [f"{shares[0]} [{_bounds(row, 'kept')}]", *shares[1:]]
    others = [percent(row[verdict] / row["answers"]) for verdict in ("refused", "empty", "unclear")]
    return [f"{row['answers']:,}", *compared, _right(row), *others]


def _forced_cells(row: Row) -> list[str]:
    if not row["exact_answers"]:
        return ["0", *["-"] * 7]
    s = [percent(row[name]) if row["s_answers"] else "-" for name in ("s", "s_disagrees")]
    exact, written, disagrees = (percent(row[f"exact{end}"]) for end in ("", "_written", "_disagrees"))
    match, contains = (percent(row[name] / row["answers"]) for name in ("matches", "contains"))
    return [f"{row['exact_answers']:,}", exact, s[0], match, contains, written, disagrees, s[1]]


def _right(row: Row) -> str:
    return f"{percent(row['correct'] / row['answers'])} [{_bounds(row, 'correct')}]"


def _bounds(row: Row, name: str) -> str:
    return f"{percent(row[f'{name}_low'])}, {percent(row[f'{name}_high'])}"


def _notes(scores: Sequence[Row]) -> Iterator[str]:
    """What was not answered; and what is unclear, where that is more than UNCLEAR of a cell."""
    for row in scores:
        name = f"{row['name']}, {row['asked']}"
        if row["unanswered"]:
            yield f"{name}: {row['unanswered']:,} questions have no answer"
        if row["unclear"] > UNCLEAR * row["answers"]:
            yield f"{name}: {row['unclear']:,} of {row['answers']:,} answers are unclear"


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f}"

"""Scores of what follows from updates: by model, state, way and criterion (docs/ripples.md).

What was written is judged as RippleEdits does, too: a name of each answer in the text, tests of several
queries.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import bootstrap
from factdrift.core.score_table import Cell, explained, share
from factdrift.evaluation.questions.clozes import condition_id
from factdrift.evaluation.scores.groups import by_columns, by_state
from factdrift.ripples import tables
from factdrift.words.reasoning import answer_of

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

Key = tuple[str, bool | None]


class Judged(NamedTuple):
    """An answer to a probe: its update, whether it is right, whether the conditions are known to hold, and
    whether the unedited model was right (None: it has no answer)."""

    update: str
    right: bool
    known: bool
    before: bool | None


def scores(probes: Path, answers: Sequence[Path], seed: int) -> pa.Table:
    """RIPPLE_SCORES of ANSWERS to probes.

    Right is, in the way `loglik`, an answer that is the model's likeliest continuation token by token; in
    writing, what the verdict calls correct. A probe is known if all of its conditions are right in the
    unedited model, asked in the same way; without conditions it is. Kept, lost and gained compare with the
    unedited model, for what must not change.
    """
    about = {row["probe_id"]: row for row in pq.read_table(probes).to_pylist()}
    right = _right(answers)
    groups: dict[tuple[str, str, str], dict[Key, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    unanswered = Counter[tuple[str, str, str, Key]]()
    for (model, method, way, question), is_right in right.items():
        probe = about.get(question)
        if probe is None:
            continue
        if is_right is None:
            unanswered[model, method, way, _key(probe)] += 1
            continue
        premises = map(condition_id, probe["conditions"])
        known = all(right.get((model, "none", way, premise)) is True for premise in premises)
        before = right.get((model, "none", way, question))
        groups[model, method, way][_key(probe)].append(Judged(probe["update"], is_right, known, before))
    rows = [
        {
            **dict(zip(("model", "method", "way", "criterion", "must_change"), (*state, *key), strict=True)),
            "unanswered": unanswered[(*state, key)],
            **_scores(own[key], key[1], seed),
        }
        for state, own in groups.items()
        for key in COLUMNS
        if key in own
    ]
    return pa.Table.from_pylist(rows, schema=RIPPLE_SCORES)


def _right(answers: Sequence[Path]) -> dict[tuple[str, str, str, str], bool | None]:
    """(model, method, way, question) -> whether it is right; None without an answer."""
    rights: dict[tuple[str, str, str, str], bool | None] = {}
    columns = ["model", "method", "way", "question", "exact", "correct", "reason"]
    for path in answers:
        for row in pq.read_table(path, columns=columns).to_pylist():
            right = row["correct"] if row["way"] != "loglik" else row["exact"] and any(row["exact"])
            if row["reason"] == "not_finite":
                right = False
            key = row["model"], row["method"], row["way"], row["question"]
            rights[key] = None if right is None else bool(right)
    return rights


def _scores(answers: Sequence[Judged], must_change: bool | None, seed: int) -> Row:
    """The shares right among answers, and what was kept, lost and gained of what must not change."""
    known = [answer for answer in answers if answer.known]
    changes = Counter((answer.before, answer.right) for answer in answers)
    pairs = {"kept": (True, True), "lost": (True, False), "gained": (False, True)}
    return {
        "updates": len({answer.update for answer in answers}),
        "probes": len(answers),
        **dict(zip(("right", "low", "high"), share_of(answers, seed), strict=True)),
        "known_updates": len({answer.update for answer in known}),
        "known": len(known),
        **dict(zip(("known_right", "known_low", "known_high"), share_of(known, seed), strict=True)),
        **{name: changes[pair] if must_change is False else None for name, pair in pairs.items()},
    }


def share_of(answers: Sequence[Judged], seed: int) -> tuple[float, float, float] | tuple[None, None, None]:
    """The share right, with its 95 % interval by bootstrap over updates; None where there are no answers."""
    if not answers:
        return None, None, None
    own = sorted(answers, key=lambda answer: answer.update)
    right = [answer.right for answer in own]
    return sum(right) / len(right), *bootstrap(right, [answer.update for answer in own], seed)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """A table for each model and way: criteria against states, shares of all and of known probes."""
    yield from explained(_tables(rows))
    if any(row["must_change"] is None for row in rows):
        yield "?: the old dump does not show that the answer was another; it may have been right before."
    yield "Intervals, and what was kept, lost and gained: the table itself (docs/tables/ripple_scores.md)."


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    groups = by_columns(rows, "model", "way")
    for (model, way), own in sorted(groups.items(), key=lambda group: group[0][1] != "written"):
        own.sort(key=lambda row: COLUMNS.index(_key(row)))
        first = next(iter(by_columns(own, "method").values()))
        numbers = ", ".join(f"{row['probes']:,}/{row['known']:,}" for row in first)
        yield f"{model}, {way}: % right of all probes / of those whose conditions the unedited model knows"
        yield f"n (probes/known): {numbers}"
        yield from (*by_state(own, _title, _cell), "")


def _key(row: Row) -> Key:
    return row["criterion"], row["must_change"]


def _title(row: Row) -> str:
    """The criterion, with a question mark where nothing shows that the answer must change."""
    return f"{row['criterion']} ?" if row["must_change"] is None else str(row["criterion"])


def _cell(row: Row) -> Cell:
    known = "unknown" if row["known_right"] is None else f"{100 * row['known_right']:.1f}"
    right, low, high = (100 * row[name] for name in ("right", "low", "high"))
    return Cell(f"{right:.1f}", f"/ {known}", right, low, high)


Texts = Mapping[tuple[str, str, str], str]
"""(model, state, question) -> what was written."""


class Tests(NamedTuple):
    """The tests of a model, state and criterion: all, those whose conditions hold, and how many of these are
    passed."""

    model: str
    method: str
    criterion: str
    tests: int
    executed: int
    passed: int


def contains(text: str, answers: Sequence[Row]) -> bool:
    """Whether a text contains some name of each answer; names of one letter count for nothing."""
    return all(
        any(name in text for name in (answer["label"], *answer["aliases"]) if len(name) > 1 or name.isdigit())
        for answer in answers
    )


def judged_tests(probes: Path, answers: Sequence[Path]) -> list[Tests]:
    """The tests of each model and state that has written answers, by criterion.

    A test is executed if the unedited model gives all of its conditions right, and passed if any of its
    queries is right, or all of them where it says so (`every`). A row without `test` is a test of its own. A
    test of which something was not asked or answered is left out.
    """
    texts = _texts(answers)
    tests: dict[str, list[Row]] = defaultdict(list)
    for row in pq.read_table(probes).to_pylist():
        tests[row.get("test") or row["probe_id"]].append(row)
    results: dict[tuple[str, str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for model, method in sorted({key[:2] for key in texts}):
        for rows in tests.values():
            if (result := _test(texts, model, method, rows)) is not None:
                results[model, method, rows[0]["criterion"]].append(result)
    return [
        Tests(*key, len(own), sum(executed for executed, _ in own), sum(map(all, own)))
        for key, own in sorted(results.items(), key=lambda of: (of[0][0], CRITERIA.index(of[0][2]), of[0][1]))
    ]


def _test(texts: Texts, model: str, method: str, rows: Sequence[Row]) -> tuple[bool, bool] | None:
    """Whether a test is executed, and passed; None if something of it has no answer."""
    conditions = rows[0]["conditions"]
    after = [texts.get((model, method, row["probe_id"])) for row in rows]
    before = [texts.get((model, "none", condition_id(condition))) for condition in conditions]
    if None in after or None in before:
        return None
    known, right = (
        [contains(text or "", row["answers"]) for text, row in zip(written, asked, strict=True)]
        for written, asked in ((before, conditions), (after, rows))
    )
    return all(known), all(right) if rows[0].get("every") else any(right)


def _texts(answers: Sequence[Path]) -> dict[tuple[str, str, str], str]:
    texts = {}
    for path in answers:
        columns = ["model", "method", "question", "output"]
        for row in pq.read_table(path, columns=columns, filters=[("way", "=", "written")]).to_pylist():
            if row["output"] is not None:
                texts[row["model"], row["method"], row["question"]] = answer_of(row["output"])
    return texts


def lines_of_tests(tests: Sequence[Tests]) -> Iterator[str]:
    """A table for each model: the tests passed of those executed; nothing without answers in writing."""
    for (model,), own in by_columns((row._asdict() for row in tests), "model").items():
        yield f"{model}, as RippleEdits judges: % passed (of tests executed, of all)"
        yield from (*by_state(own, itemgetter("criterion"), _passed), "")


def _passed(row: Row) -> Cell:
    passed = share("passed", "executed")(row)
    return passed._replace(spread=f"({row['executed']:,}, {row['tests']:,})")

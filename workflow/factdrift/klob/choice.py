"""Which candidates become examples: quotas, shares of pairs and of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa

from factdrift.core.tables import table_of
from factdrift.wikidata.ids import property_id

_LIMITS = pa.schema([("p1", pa.int32()), ("p2", pa.int32()), ("size", pa.int64()), ("of_answer", pa.int64())])

Key = tuple[int | None, ...]
"""A relation, or a pair of relations."""

Answers = Mapping[Key, Sequence[int]]
"""Relation or pair -> for each of its answers the number of candidates that have it."""

Drops = dict[str, dict[str, int]]
"""Relation or pair (`P26>P108`) -> reason -> number of candidates that it dropped."""


def at_most(share: float, size: int) -> int:
    """The most of `size` that a share allows, as its decimal digits say: 29 of 100 for 0.29."""
    return int(Fraction(str(share)) * size)


def largest_output(counts: Sequence[int], quota: int, share: float) -> tuple[int, int]:
    """The largest output in which no group has more than its share, and the limit of a group in it.

    `counts`: candidates of each group. Returns (0, 0) where the share allows none: it takes 1/share groups
    at least.
    """
    groups = np.array(counts, np.int64)
    size = _fixed_point(
        min(quota, int(groups.sum())), lambda size: int(np.minimum(groups, at_most(share, size)).sum())
    )
    return size, at_most(share, size)


def _fixed_point(size: int, room: Callable[[int], int]) -> int:
    """The largest number up to `size` for which there is `room`; `room` grows with its argument."""
    # Nothing between room(size) and size can fit.
    while (fits := room(size)) < size:
        size = fits
    return size


def chain_limits(
    answers: Answers, quota: int, pair_share: float, answer_share: float
) -> tuple[int, int, dict[Key, tuple[int, int]]]:
    """The number of chains, the limit of a pair, and for each pair its own number and the limit of an answer.

    No pair has more than `pair_share` of the chains, no answer more than `answer_share` of its pair.
    """

    def of_pairs(size: int) -> dict[Key, tuple[int, int]]:
        most = at_most(pair_share, size)
        return {pair: largest_output(counts, most, answer_share) for pair, counts in answers.items()}

    size = min(quota, sum(sum(counts) for counts in answers.values()))
    size = _fixed_point(size, lambda size: sum(number for number, _ in of_pairs(size).values()))
    return size, at_most(pair_share, size), of_pairs(size)


def choose_facts(
    db: duckdb.DuckDBPyConnection, candidates: str, quotas: Mapping[int, int | None], answer_share: float = 1
) -> Drops:
    """TEMP TABLE chosen_facts: of each relation the first candidates by `draw`, up to its quota (None: all).

    No object has more than `answer_share` of the facts of its relation. `candidates` is a query with the
    columns of CANDIDATES; rows with `dropped_by` are only counted.
    """
    open_ = f"SELECT * FROM ({candidates}) WHERE dropped_by IS NULL"
    answers = {key: counts for key, counts in _answers(db, open_, ("p1",), "o1").items() if key[0] in quotas}
    limits: dict[Key, tuple[int, int]] = {}
    for key, counts in answers.items():
        assert key[0] is not None
        quota = quotas[key[0]]
        limits[key] = largest_output(counts, sum(counts) if quota is None else quota, answer_share)
    _choose(db, "chosen_facts", open_, limits, "o1")
    drops = _dropped(db, candidates, ("p1",))
    chosen = dict(db.sql("SELECT p1, count(*) FROM chosen_facts GROUP BY ALL").fetchall())
    for key, counts in answers.items():
        spread, _ = largest_output(counts, sum(counts), answer_share)
        _add(drops, key, "answer_share", sum(counts) - spread)
        _add(drops, key, "quota", spread - chosen.get(key[0], 0))
    _report_empty(answers, answer_share)
    return _named(drops)


def choose_chains(
    db: duckdb.DuckDBPyConnection, candidates: str, quota: int, share: float, answer_share: float = 1
) -> Drops:
    """TEMP TABLE chosen_chains: the first candidates by `draw`, no pair with more than its share of them.

    No end of a chain (`o2`) has more than `answer_share` of the chains of its pair. Prints which key to
    change if the shares leave nothing.
    """
    table = f"SELECT * FROM ({candidates}) WHERE dropped_by IS NULL"
    answers = _answers(db, table, ("p1", "p2"), "o2")
    drops = _dropped(db, candidates, ("p1", "p2"))
    size, most, limits = chain_limits(answers, quota, share, answer_share)
    if answers and quota and not size:
        print(
            f"klob.r.max_pair_share: only {len(answers)} pairs of relations have chains, so that none of "
            f"them can stay within {share:g} of the output; KLoB-r is empty. Set the share to "
            f"{1 / len(answers):.2f} or more"
        )
    while True:
        _choose(db, "chosen_chains", table, limits, "o2", size)
        # The limit of the whole may have cut a pair so that an answer has more than its share of the rest.
        kept = _answers(db, "SELECT * FROM chosen_chains", ("p1", "p2"), "o2")
        size, most, limits = chain_limits(kept, size, share, answer_share)
        if size == sum(map(sum, kept.values())):
            break
        table = "SELECT * FROM chosen_chains"
    chosen = {pair: sum(counts) for pair, counts in kept.items()}
    for pair, counts in answers.items():
        spread, _ = largest_output(counts, sum(counts), answer_share)
        _add(drops, pair, "answer_share", sum(counts) - spread)
        _add(drops, pair, "pair_share", max(spread - most, 0))
        _add(drops, pair, "quota", min(spread, most) - chosen.get(pair, 0))
    _report_empty(answers, answer_share)
    return _named(drops)


def _choose(
    db: duckdb.DuckDBPyConnection,
    table: str,
    candidates: str,
    limits: Mapping[Key, tuple[int, int]],
    answer: str,
    size: int | None = None,
) -> None:
    """Makes a TEMP TABLE of the first candidates by `draw` within the limits, `size` of them at most."""
    rows = [(*key, None)[:2] + limit for key, limit in limits.items()]
    db.register("limits", table_of(rows, _LIMITS))
    order = "ORDER BY draw, s, o1, o2"
    db.execute(
        f"""CREATE OR REPLACE TEMP TABLE {table} AS
        WITH spread AS (
            SELECT c.*, size FROM ({candidates}) c
                JOIN limits l ON l.p1 = c.p1 AND l.p2 IS NOT DISTINCT FROM c.p2
            QUALIFY row_number() OVER (PARTITION BY c.p1, c.p2, {answer} {order}) <= of_answer
        ), within AS (
            SELECT * FROM spread QUALIFY row_number() OVER (PARTITION BY p1, p2 {order}) <= size
        )
        SELECT * EXCLUDE (size) FROM within
        ORDER BY draw, s, p1, o1, p2, o2 {"" if size is None else f"LIMIT {size}"}"""
    )
    db.unregister("limits")


def _answers(
    db: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], answer: str
) -> dict[Key, list[int]]:
    names = ", ".join(columns)
    rows = db.sql(
        f"SELECT {names}, list(number ORDER BY number) FROM ("
        f"SELECT {names}, {answer}, count(*) AS number FROM ({table}) GROUP BY ALL) GROUP BY ALL"
    ).fetchall()
    return {tuple(key): counts for *key, counts in sorted(rows)}


def _dropped(
    db: duckdb.DuckDBPyConnection, candidates: str, columns: Sequence[str]
) -> dict[Key, dict[str, int]]:
    dropped: dict[Key, dict[str, int]] = {}
    rows = db.sql(
        f"SELECT {', '.join(columns)}, dropped_by, count(*) FROM ({candidates}) "
        "WHERE dropped_by IS NOT NULL GROUP BY ALL"
    ).fetchall()
    for *key, reason, number in rows:
        dropped.setdefault(tuple(key), {})[reason] = number
    return dropped


def _add(drops: dict[Key, dict[str, int]], key: Key, reason: str, number: int) -> None:
    """Adds to the number of a reason; the recall filter drops some candidates by `quota` before."""
    if number:
        reasons = drops.setdefault(key, {})
        reasons[reason] = reasons.get(reason, 0) + number


def _report_empty(answers: Answers, answer_share: float) -> None:
    """Prints the relations, or pairs, which have too few different answers for the share of one."""
    empty = [
        _name(key)
        for key, counts in answers.items()
        if counts and not largest_output(counts, sum(counts), answer_share)[0]
    ]
    if empty:
        print(
            f"klob.max_answer_share: no answer may have more than {answer_share:g} of the examples of its "
            f"relation, so those with too few different answers have none: {', '.join(empty)}"
        )


def _name(key: Key) -> str:
    return ">".join(property_id(number) for number in key if number is not None)


def _named(drops: dict[Key, dict[str, int]]) -> Drops:
    """With the ids of the relations, in their order."""
    keys = sorted(drops, key=lambda key: tuple(number or 0 for number in key))
    return {_name(key): dict(sorted(drops[key].items())) for key in keys}

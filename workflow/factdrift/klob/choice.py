"""Which candidates become examples: quotas, shares of pairs and of answers."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.tables import table_of
from factdrift.wikidata.ids import property_id

_LIMITS = schema_of("p1 p2: int32, size of_answer: int64")

Key = tuple[int, ...]
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
    db: Connection, candidates: str, quotas: Mapping[int, int | None], answer_share: float = 1
) -> Drops:
    """TEMP TABLE chosen_facts: of each relation the first candidates by `draw`, up to its quota (None: all).

    No object has more than `answer_share` of the facts of its relation. `candidates` is a query with the
    columns of CANDIDATES; rows with `dropped_by` are only counted.
    """
    table = f"SELECT * FROM ({candidates}) WHERE dropped_by IS NULL"
    answers = {key: counts for key, counts in _answers(db, table, "p1", "o1").items() if key[0] in quotas}
    limits = {}
    for key, counts in answers.items():
        quota = quotas[key[0]]
        limits[key] = largest_output(counts, sum(counts) if quota is None else quota, answer_share)
    _choose(db, "chosen_facts", table, limits, "o1")
    chosen = _answers(db, "SELECT * FROM chosen_facts", "p1", "o1")
    return _drops(db, candidates, "p1", answers, chosen, answer_share)


def choose_chains(
    db: Connection, candidates: str, quota: int, share: float, answer_share: float = 1
) -> Drops:
    """TEMP TABLE chosen_chains: the first candidates by `draw`, no pair with more than its share of them.

    No end of a chain (`o2`) has more than `answer_share` of the chains of its pair. Prints which key to
    change if the shares leave nothing.
    """
    table = f"SELECT * FROM ({candidates}) WHERE dropped_by IS NULL"
    answers = _answers(db, table, "p1, p2", "o2")
    size, most, limits = chain_limits(answers, quota, share, answer_share)
    others, _, _ = chain_limits(answers, quota, 1, answer_share)
    if others and not size:
        least = math.ceil(100 / min(len(answers), others)) / 100
        print(
            f"klob.r.max_pair_share: only {len(answers)} pairs of relations have chains, at most {others:,} "
            f"in all (klob.r.quota), so that none of them can stay within {share:g} of the output; KLoB-r is "
            f"empty. Set the share to {least:.2f} or more"
        )
    while True:
        _choose(db, "chosen_chains", table, limits, "o2", size)
        # The limit of the whole may have cut a pair so that an answer has more than its share of the rest.
        kept = _answers(db, "SELECT * FROM chosen_chains", "p1, p2", "o2")
        size, most, limits = chain_limits(kept, size, share, answer_share)
        if size == sum(map(sum, kept.values())):
            return _drops(db, candidates, "p1, p2", answers, kept, answer_share, most)
        table = "SELECT * FROM chosen_chains"


def _choose(
    db: Connection,
    table: str,
    candidates: str,
    limits: Mapping[Key, tuple[int, int]],
    answer: str,
    size: int | None = None,
) -> None:
    """Makes a TEMP TABLE of the first candidates by `draw` within the limits, `size` of them at most."""
    db.register("limits", table_of([(*key, None)[:2] + limit for key, limit in limits.items()], _LIMITS))
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


def _answers(db: Connection, table: str, keys: str, answer: str) -> dict[Key, list[int]]:
    rows = db.sql(
        f"SELECT {keys}, list(number ORDER BY number) FROM ("
        f"SELECT {keys}, {answer}, count(*) AS number FROM ({table}) GROUP BY ALL) GROUP BY ALL"
    ).fetchall()
    return {tuple(key): counts for *key, counts in sorted(rows)}


def _drops(
    db: Connection,
    candidates: str,
    keys: str,
    answers: Answers,
    chosen: Answers,
    answer_share: float,
    most: int | None = None,
) -> Drops:
    """Why candidates are no examples; `most`: the limit of a pair. Prints the keys without examples.

    These have too few different answers for the share of one.
    """
    drops: dict[Key, Counter[str]] = defaultdict(Counter)
    query = (
        f"SELECT {keys}, dropped_by, count(*) FROM ({candidates}) WHERE dropped_by IS NOT NULL GROUP BY ALL"
    )
    for *ids, reason, number in db.sql(query).fetchall():
        drops[tuple(ids)][reason] = number
    empty = []
    for key, counts in answers.items():
        spread, _ = largest_output(counts, sum(counts), answer_share)
        within = spread if most is None else min(spread, most)
        drops[key]["answer_share"] = sum(counts) - spread
        drops[key]["pair_share"] = spread - within
        # The recall filter drops some candidates by `quota` before.
        drops[key]["quota"] += within - sum(chosen.get(key, ()))
        if not spread:
            empty.append(_name(key))
    if empty:
        print(
            f"klob.max_answer_share: no answer may have more than {answer_share:g} of the examples of its "
            f"relation, so those with too few different answers have none: {', '.join(empty)}"
        )
    # A Counter that is added to another keeps what is above 0.
    named = {_name(key): dict(sorted((drops[key] + Counter()).items())) for key in sorted(drops)}
    return {name: reasons for name, reasons in named.items() if reasons}


def _name(key: Key) -> str:
    return ">".join(map(property_id, key))

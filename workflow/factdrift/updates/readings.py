"""How a date of a statement is read for comparison, as SQL over the TIME struct of `factdrift.tables`.

Every date is read as an interval of packed days [low, high]; under `first_day` both ends are the same day.
`a < b` holds only if it holds for every day of both intervals, so `a.high < b.low`. One set of
comparisons thus serves all variants.
"""

from __future__ import annotations

from factdrift.updates.method import Method

YEAR_PRECISION = 9


def low(time: str, method: Method) -> str:
    """SQL: the first day that the TIME expression `time` may mean (BIGINT, null if it is null)."""
    return f"{time}.first" if method.dates == "interval" else _single_day(time, method)


def high(time: str, method: Method) -> str:
    """SQL: the last day that the TIME expression `time` may mean."""
    return f"{time}.last" if method.dates == "interval" else _single_day(time, method)


def _single_day(time: str, method: Method) -> str:
    if method.variant == "reference":
        return f"{time}.written"
    # Below year precision the year stands as it was written; only its month and day are finer than stated.
    return (
        f"CASE WHEN {time}.precision >= {YEAR_PRECISION} THEN {time}.first ELSE {time}.year * 10000 + 101 END"
    )


def inside(time_low: str, time_high: str, method: Method) -> str:
    """SQL: strictly between T_old and T_new; false where there is no date."""
    return f"coalesce({time_low} > {method.t_old} AND {time_high} < {method.t_new}, false)"

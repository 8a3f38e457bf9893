"""SQL that reads a date (TIME struct of `factdrift.wikidata.tables`) as an interval of days, for comparison.

Every date is read as an interval of packed days [low, high]; under `first_day` both ends are the same day.
`a < b` holds only if it holds for every day of both intervals, so `a.high < b.low`. One set of
comparisons thus serves all variants.
"""

from factdrift.updates.method import UpdateSettings
from factdrift.wikidata.tables import time_bound


def low(time: str, method: UpdateSettings) -> str:
    """SQL: the first day that the TIME expression `time` may mean (BIGINT, null if it is null)."""
    return time_bound(time, "first", method.variant, method.dates)


def high(time: str, method: UpdateSettings) -> str:
    """SQL: the last day that the TIME expression `time` may mean."""
    return time_bound(time, "last", method.variant, method.dates)


def inside(time_low: str, time_high: str, method: UpdateSettings) -> str:
    """SQL: strictly between T_old and T_new; false where there is no date."""
    return f"coalesce({time_low} > {method.t_old} AND {time_high} < {method.t_new}, false)"

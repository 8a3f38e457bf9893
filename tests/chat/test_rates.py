"""Rates of requests and tokens, compared with plain counting."""

from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.chat.live import Bucket, Rates
from factdrift.core.errors import InputError


@given(
    st.integers(2, 10_000), st.lists(st.tuples(st.floats(0, 1), st.floats(0, 100)), min_size=1, max_size=60)
)
def test_no_minute_has_more_than_the_limit(limit: int, asked: list[tuple[float, float]]) -> None:
    amounts = [share * limit / 4 for share, _ in asked]
    now, bucket, taken = 0.0, Bucket(limit, max(amounts), 0.0), []
    for amount, (_, idle) in zip(amounts, asked, strict=True):
        now += idle
        now += bucket.wait(amount, now)
        assert bucket.wait(amount, now) < 1e-6
        bucket.take(amount, now)
        taken.append((now, amount))
    for start, _ in taken:
        assert sum(amount for at, amount in taken if start <= at < start + 60) <= limit * (1 + 1e-6)


@given(st.integers(2, 10_000), st.integers(1, 200))
def test_the_limit_is_used_up(limit: int, count: int) -> None:
    bucket, now = Bucket(limit, 1, 0.0), 0.0
    for _ in range(count):
        now += bucket.wait(1, now)
        bucket.take(1, now)
    slowest = 60 / (limit - max(1, limit / 60))
    assert now <= count * slowest + 1e-6


def test_a_token_limit_too_small_for_one_request_names_the_key() -> None:
    async def no_sleep(seconds: float) -> bool:
        return False

    with pytest.raises(InputError, match=r"chat\.tokens_per_minute: 1,000 .* up to 900 tokens"):
        Rates(Mock(requests_per_minute=None, tokens_per_minute=1000), 900, no_sleep)

"""Keeps the rates of requests and tokens below a server's limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from factdrift.core.errors import InputError

_MINUTE = 60.0
_ROUNDING = 1e-9
"""An amount that is missing by rounding only."""


class Bucket:
    """A token bucket that lets at most `limit` pass in any 60 seconds.

    Its capacity is the limit of one second, or the largest amount that is taken at once. It is filled at such
    a rate that its capacity and what flows in during a minute add up to the limit.
    """

    def __init__(self, limit: float, largest: float, now: float) -> None:
        """Raises ValueError if the largest amount is more than half of the limit."""
        self.capacity = max(limit / _MINUTE, largest)
        if self.capacity > limit / 2:
            raise ValueError(f"a limit of {limit:,.0f} leaves no room for {largest:,.0f} at once")
        self.rate = (limit - self.capacity) / _MINUTE
        self._level, self._at = self.capacity, now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` can be taken."""
        self._level = min(self.capacity, self._level + (now - self._at) * self.rate)
        self._at = now
        missing = amount - self._level
        return missing / self.rate if missing > _ROUNDING else 0.0

    def take(self, amount: float, now: float) -> None:
        self.wait(0, now)
        self._level -= amount


class Rates:
    """Lets requests pass one by one, as the limits allow, and none while a Retry-After lasts."""

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        largest: int,
        sleep: Callable[[float], Awaitable[bool]],
    ) -> None:
        """`largest`: tokens of the largest request with its answer; `sleep`: returns True if interrupted.

        Raises InputError if the limit of tokens is too low for the largest request.
        """
        now = time.monotonic()
        self._requests = Bucket(requests_per_minute, 1, now) if requests_per_minute else None
        try:
            self._tokens = Bucket(tokens_per_minute, largest, now) if tokens_per_minute else None
        except ValueError:
            raise InputError(
                f"configuration: chat.tokens_per_minute: {tokens_per_minute:,} is too little for requests "
                f"of up to {largest:,} tokens; set it to at least twice as many, or lower chat.answer_tokens"
            ) from None
        self._sleep = sleep
        self._paused_until = now
        self._turn = asyncio.Lock()

    async def admit(self, tokens: int) -> bool:
        """Waits until a request of that many tokens may be sent; False if the wait was interrupted."""
        taken = [(each, amount) for each, amount in ((self._requests, 1), (self._tokens, tokens)) if each]
        async with self._turn:
            while True:
                now = time.monotonic()
                wait = max(self._paused_until - now, *(each.wait(amount, now) for each, amount in taken), 0.0)
                if not wait:
                    break
                if await self._sleep(wait):
                    return False
            for each, amount in taken:
                each.take(amount, now)
            return True

    def pause(self, seconds: float) -> bool:
        """Stops all requests for that many seconds.

        Returns whether that ends more than a second later than an earlier pause.
        """
        until = time.monotonic() + seconds
        later = until > self._paused_until + 1
        self._paused_until = max(self._paused_until, until)
        return later

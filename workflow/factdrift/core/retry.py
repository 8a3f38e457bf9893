"""Repeating failed requests: one policy for downloads, Wikidata's API, SPARQL servers and chat models.

Wikimedia's rules for programs: https://www.mediawiki.org/wiki/API:Etiquette
"""

import datetime
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from factdrift.core.errors import InputError, redacted

T = TypeVar("T")

_DOUBLINGS = 60
"""A wait is doubled no more often, so that it stays a number."""


class TransientError(Exception):
    """A failure that may not occur again; `after` is the server's Retry-After in seconds, if it sent one.

    `unreached`: no connection came about, because there is no network, no such name or no such server.
    """

    def __init__(self, what: str, after: float | None = None, unreached: bool = False) -> None:
        super().__init__(what)
        self.after, self.unreached = after, unreached


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is repeated, and after how long; times in seconds.

    `tries`: failures in a row after which it is given up. `first`: the wait after the first failure; it is
    doubled with each further one, up to `longest`, and multiplied by a random number between the two of
    `jitter`, so that clients that failed together do not come back together. `patience`: a server that asks
    for a longer wait ends the job. `unreached`: instead of `tries`, if that is more, as long as no connection
    to the server has come about at all; a download that loses its network later has all `tries`.
    """

    tries: int = 10
    first: float = 2.0
    longest: float = 300.0
    patience: float = 3600.0
    jitter: tuple[float, float] = (0.75, 1.25)
    unreached: int = 3

    def wait(
        self,
        server: str,
        failure: TransientError,
        failures: int,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> float:
        """Seconds to wait after that many failures in a row; at least what the server's Retry-After says.

        Raises InputError, which names the server, if Retry-After is more than `patience`.
        """
        after = failure.after or 0.0
        if after > self.patience:
            raise InputError(
                f"{server}: the server asks to come back in {after:,.0f} s ({failure}); run the same command "
                "again then. What has arrived is kept"
            )
        doubled = self.first * 2.0 ** min(failures - 1, _DOUBLINGS)
        seconds = min(doubled, max(self.longest, self.first)) * uniform(*self.jitter)
        return max(seconds, after + uniform(0, min(after, 1)))


class Retries:
    """Counts the failures in a row of one request, or of one download, and waits after each."""

    def __init__(
        self,
        policy: RetryPolicy,
        server: str,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
        reached: bool = False,
    ) -> None:
        """`server` is what messages begin with: an address, or what is being done there. `reached`: whether a
        connection to it has come about before."""
        self.policy, self.server, self.failures = policy, server, 0
        self._sleep, self._uniform, self._reached = sleep, uniform, reached

    def until(self, ask: Callable[[], T]) -> T:
        """What `ask` returns, which is called again after each TransientError."""
        while True:
            try:
                return ask()
            except TransientError as failure:
                self.failed(failure)

    def succeeded(self) -> None:
        """Begins a new row of failures."""
        self.failures = 0

    def failed(self, failure: TransientError) -> None:
        """Waits as long as the policy says. Raises InputError if the request is to be given up."""
        self.failures += 1
        self._reached = self._reached or not failure.unreached
        tries = self.policy.tries if self._reached else min(self.policy.tries, self.policy.unreached)
        if not self._reached and self.failures >= tries:
            raise out_of_reach(self.server, self.failures, str(failure))
        if self.failures >= tries:
            raise InputError(
                f"{self.server}: given up after {self.failures} tries without getting further ({failure}). "
                "The received part is kept: run the same command again later, and it continues from there"
            )
        seconds = self.policy.wait(self.server, failure, self.failures, self._uniform)
        say(self.server, f"{failure}; try {self.failures + 1} of {tries} in {seconds:,.1f} s")
        self._sleep(seconds)


def out_of_reach(server: str, tries: int, why: str) -> InputError:
    """The error of a server with which no connection has come about."""
    return InputError(
        f"{server}: cannot be reached, after {tries} tries ({why}). Check the address, and whether this "
        "machine has a network, or needs a proxy (HTTPS_PROXY)"
    )


def cause_of(error: BaseException) -> str:
    """Why a connection failed, in the words of the system: those of the first error in a chain of errors.

    Libraries wrap it several times, and each repeats address and text of the one before.
    """
    words, chain = "", [error]
    for inner in chain:
        words = (isinstance(inner, OSError) and inner.strerror) or words
        parts = (inner.__cause__, getattr(inner, "reason", None), *inner.args, inner.__context__)
        chain += [part for part in parts if isinstance(part, BaseException) and part not in chain][:1]
    return words or " ".join(str(error).split())[:120] or type(error).__name__


def retry_after(headers: Any, now: datetime.datetime | None = None) -> float | None:
    """Seconds that a server asks to wait, None if it does not.

    `headers`: those of a response, with `get`, by names in any case: `retry-after-ms`, else `retry-after`, a
    number of seconds or a date.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name) or "") / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    # Only now, because importing it takes longer than many commands.
    import email.utils

    def moment(name: str) -> datetime.datetime | None:
        try:
            when = email.utils.parsedate_to_datetime(headers.get(name) or "")
        except (TypeError, ValueError, OverflowError):
            return None
        return when if when.tzinfo else when.replace(tzinfo=datetime.UTC)

    # The date is one of the server's clock, from which this machine's may differ by hours.
    when, sent = moment("retry-after"), moment("date") or now or datetime.datetime.now(datetime.UTC)
    return None if when is None else max((when - sent).total_seconds(), 0.0)


def say(server: str, what: str) -> None:
    """Prints one line about a server to standard error, without the secrets of its address."""
    print(redacted(f"{server}: {what}"), file=sys.stderr, flush=True)

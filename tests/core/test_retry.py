"""The policy of repeating requests: waits, limits, and what servers ask for."""

import datetime
import re
import urllib.request

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from factdrift.core.errors import InputError
from factdrift.core.retry import Retries, RetryPolicy, TransientError, cause_of, retry_after

NOW = datetime.datetime(2026, 11, 20, 12, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        *(({}, None), ({"retry-after": "7"}, 7), ({"retry-after": "1.5"}, 1.5)),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "Fri, 20 Nov 2026 12:03:20 GMT"}, 200),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 -0000"}, 30),
        ({"retry-after": "Fri, 20 Nov 2026 15:00:30 GMT", "date": "Fri, 20 Nov 2026 15:00:00 GMT"}, 30),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT", "date": "today"}, 30),
        *(({"retry-after": text}, None) for text in ("later", "-5", "nan", "9" * 400, "²")),
        ({"retry-after": "Fri, 20 Nov 99999999999 12:00:30 GMT"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.floats(0, 1e6), st.integers(1, 10_000), st.floats(0, 1e5), st.floats(0, 3600))
def test_waits_double_up_to_the_longest_and_are_never_shorter_than_the_server_asks(
    first: float, failures: int, longest: float, after: float
) -> None:
    policy, busy = RetryPolicy(first=first, longest=longest), TransientError("busy", after)
    whole = min(first * 2.0 ** min(failures - 1, 60), max(longest, first))
    seconds = policy.wait("server", busy, failures)
    assert max(whole * 0.75, after) <= seconds <= max(whole * 1.25, after + min(after, 1))
    assert policy.wait("server", busy, failures, lambda low, high: low) == max(whole * 0.75, after)


def test_a_server_that_asks_for_more_than_the_patience_ends_the_job() -> None:
    policy = RetryPolicy(patience=60)
    assert policy.wait("server", TransientError("busy", 60), 1) >= 60
    with pytest.raises(InputError, match=r"server: the server asks to come back in 61 s \(busy\)"):
        policy.wait("server", TransientError("busy", 61), 1)


def test_failures_are_counted_in_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    waits: list[float] = []
    retries = Retries(RetryPolicy(tries=3, first=1), "server", waits.append, lambda low, high: high)
    retries.failed(TransientError("first"))
    retries.failed(TransientError("second"))
    retries.succeeded()
    retries.failed(TransientError("third"))
    retries.failed(TransientError("fourth"))
    assert waits == [1.25, 2.5, 1.25, 2.5]
    with pytest.raises(InputError, match=r"server: given up after 3 tries .*\(fifth\).*is kept"):
        retries.failed(TransientError("fifth"))
    assert capsys.readouterr().err.splitlines()[0] == "server: first; try 2 of 3 in 1.2 s"


def test_a_server_that_is_never_reached_is_given_up_sooner() -> None:
    for policy, reached, tries, said in (
        (RetryPolicy(), False, 3, r"server: cannot be reached, after 3 tries \(no route\)"),
        (RetryPolicy(tries=2), False, 2, r"server: cannot be reached, after 2 tries \(no route\)"),
        (RetryPolicy(tries=5), True, 5, "server: given up after 5 tries"),
    ):
        waits: list[float] = []
        retries = Retries(policy, "server", waits.append, reached=reached)
        for _ in range(tries - 1):
            retries.failed(TransientError("no route", unreached=True))
        with pytest.raises(InputError, match=said):
            retries.failed(TransientError("no route", unreached=True))
        assert len(waits) == tries - 1
    # Any answer shows that it can be reached.
    retries = Retries(RetryPolicy(tries=3, unreached=2), "server", lambda seconds: None)
    retries.failed(TransientError("busy"))
    retries.failed(TransientError("no route", unreached=True))
    with pytest.raises(InputError, match="given up after 3 tries"):
        retries.failed(TransientError("no route", unreached=True))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:9", "Connection refused"),
        ("https://127.0.0.1:9/v1?key=x", "Connection refused"),
        ("http://nowhere.invalid", "Name or service not known|Temporary failure in name resolution"),
    ],
)
def test_the_cause_of_a_failed_connection_is_the_systems(address: str, words: str) -> None:
    for ask, kind in ((requests.get, requests.RequestException), (urllib.request.urlopen, OSError)):
        with pytest.raises(kind) as failed:
            ask(address)
        assert re.fullmatch(words, cause_of(failed.value))
    # An error without a cause is its own.
    assert [cause_of(ValueError("odd")), cause_of(ValueError())] == ["odd", "ValueError"]

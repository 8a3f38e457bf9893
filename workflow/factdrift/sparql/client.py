"""A SPARQL client that keeps the rules of the Wikidata Query Service.

They are (https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Query_limits): a user agent with a
contact, at most 60 seconds of the server's time per minute, few failures, and waiting as long as Retry-After
says. One request at a time never uses more than 60 seconds per minute.
"""

import contextlib
import errno
import http.client
import random
import socket
import time
import urllib.error
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import msgspec
from SPARQLWrapper import JSON, POST, SPARQLWrapper
from SPARQLWrapper.SPARQLExceptions import EndPointInternalError, SPARQLWrapperException

from factdrift.core.errors import InputError
from factdrift.core.nodes import file_lock
from factdrift.core.retry import Retries, RetryPolicy, TransientError, retry_after, say
from factdrift.sparql.answers import Answers, Bindings, Term

POLICY = RetryPolicy(tries=8, first=4.0, unreached=3)
"""Some eight minutes of waiting in all before the job ends. No wait is below three seconds, because the Query
Service allows 30 failures a minute."""

LIMIT = 75.0
"""Seconds that an answer may take in all: the Query Service ends a query after 60."""

OWN_LIMIT = 3600.0
"""The same for the local server, which has no such limit."""

PAUSE = 3.0
"""Seconds to wait between a query that was too much for the server and its first half."""

UNNAMED_WAIT = 60.0
"""Seconds to wait after status 429 without Retry-After."""

_UNREACHED = (errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH)

_TIMED_OUT = ("TimeoutException", "QueryTimeout")
"""Words in the body of status 500 if the query took too long."""


class _Results(msgspec.Struct):
    bindings: list[dict[str, Term]]


class _Answer(msgspec.Struct):
    results: _Results


class TooMuch(Exception):
    """The server did not finish the query, or not in time; it may finish half of it."""


class Client:
    """Asks one server. `requests`: the number of requests made, failed ones included."""

    def __init__(
        self,
        url: str,
        contact: str = "",
        answers: Answers | None = None,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
        clock: Callable[[], float] = time.monotonic,
        limit: float = LIMIT,
    ) -> None:
        """`contact`: a mail or web address, "" for the local server; `answers`: the store of answers.

        `limit`: seconds that an answer may take in all.
        """
        self.url, self.requests, self._answers = url, 0, answers
        self._sleep, self._uniform, self._clock, self._limit = sleep, uniform, clock, limit
        self._reached = False
        who = f" ({contact})" if contact else ""
        agent = f"factdrift/{version('factdrift')}{who} SPARQLWrapper/{version('sparqlwrapper')}"
        self._wrapper = SPARQLWrapper(url, agent=agent, returnFormat=JSON)
        self._wrapper.setMethod(POST)  # a list of subjects is too long for an address
        self._wrapper.setOnlyConneg(True)
        self._wrapper.setTimeout(int(limit))

    def rows(self, query: str, divisible: bool) -> Bindings:
        """The rows of a SELECT, from the store if they are there.

        Transient failures are repeated. Raises TooMuch if the query is `divisible` and the server fails to
        finish it; InputError if the server refuses for good, or has failed as often as POLICY allows.
        """
        asked, rows = self._answers.get(query) if self._answers else (False, None)
        if not asked or (rows is None and not divisible):
            with file_lock(self._answers.lock) if self._answers else contextlib.nullcontext():
                rows = self._repeated(query, divisible)
            if self._answers:
                self._answers.put(query, rows)
        if rows is None:
            raise TooMuch
        return rows

    def _repeated(self, query: str, divisible: bool) -> Bindings | None:
        """Sends the query until it is answered; returns None if it is to be divided."""
        retries = Retries(POLICY, self.url, self._sleep, self._uniform, self._reached)
        while True:
            try:
                return self._ask(query)
            except TooMuch as failure:
                if divisible:
                    say(self.url, f"{failure}; asking for one half at a time")
                    self._sleep(PAUSE)
                    return None
                retries.failed(TransientError(str(failure)))
            except TransientError as failure:
                retries.failed(failure)

    def _ask(self, query: str) -> Bindings:
        self.requests += 1
        self._wrapper.setQuery(query)
        try:
            body = self._body()
        except urllib.error.HTTPError as error:
            raise self._refused(error) from error
        except EndPointInternalError as error:
            if any(word in str(error) for word in _TIMED_OUT):
                raise TooMuch("the query took too long") from error
            raise TransientError("HTTP status 500") from error
        except SPARQLWrapperException as error:
            raise InputError(f"{self.url}: the server refuses a query ({str(error)[:500]})") from error
        except http.client.IncompleteRead as error:
            raise TooMuch("the answer broke off") from error
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, TimeoutError):
                raise TooMuch(f"no answer within {self._limit:.0f} s") from error
            raise TransientError(
                f"the connection failed ({type(error).__name__}: {error})", unreached=_is_unreached(error)
            ) from error
        self._reached = True
        return _bindings(body)

    def _body(self) -> bytes:
        """The body of the answer. Raises TimeoutError if it takes more than `limit` seconds in all."""
        end = self._clock() + self._limit
        response = self._wrapper.query().response
        pieces = []
        while piece := response.read1(1 << 16):
            pieces.append(piece)
            if self._clock() > end:
                response.close()
                raise TimeoutError
        return b"".join(pieces)

    def _refused(self, error: urllib.error.HTTPError) -> Exception:
        after = retry_after(error.headers)
        if error.code == 429:
            return TransientError("HTTP status 429", UNNAMED_WAIT if after is None else after)
        if error.code >= 500:
            return TransientError(f"HTTP status {error.code}", after)
        message = error.read(500).decode("utf-8", "replace").strip()
        hint = "; is the contact one that can be reached?" if error.code == 403 else ""
        return InputError(f"{self.url}: HTTP status {error.code} {error.reason}{hint} {message}".rstrip())


def _is_unreached(error: Exception) -> bool:
    """Whether an error says that no connection came about, also where nothing has answered in time."""
    reason = getattr(error, "reason", None)
    silent = isinstance(reason, socket.gaierror | TimeoutError)
    return silent or getattr(reason, "errno", None) in _UNREACHED


def _bindings(body: bytes) -> Bindings:
    """The rows of an answer.

    Raises TooMuch if it is not JSON, because a query that takes too long ends in the middle, or in HTML;
    TransientError if it is JSON of another form than SPARQL's.
    """
    try:
        rows: list[Any] = msgspec.json.decode(body, type=_Answer).results.bindings
    except (msgspec.ValidationError, RecursionError) as error:
        raise TransientError(f"the answer does not have the form of SPARQL's results ({error})") from error
    except ValueError as error:
        raise TooMuch("an answer that is not whole") from error
    return rows

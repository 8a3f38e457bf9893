"""A SPARQL client that keeps the rules of the Wikidata Query Service.

They are (https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Query_limits): a user agent with a
contact, at most 60 seconds of the server's time per minute, few failures, and waiting as long as Retry-After
says. One request at a time never uses more than 60 seconds per minute. A query that is too much for the
server is asked for in halves.

Answers are kept as results/fetched/sparql/<host>/<2 digits>/<SHA-256 of address and query>.json.gz: address,
query, time of the answer, and rows, null for a query that was too much for the server and is to be divided. A
query with a file is not sent again; remove the file to send it again.
"""

import contextlib
import datetime
import errno
import hashlib
import http.client
import math
import random
import socket
import time
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from SPARQLWrapper import JSON, POST, SPARQLWrapper
from SPARQLWrapper.SPARQLExceptions import EndPointInternalError, SPARQLWrapperException

from factdrift.core.errors import InputError
from factdrift.core.files import keep_answer, kept_answer
from factdrift.core.owned import file_lock
from factdrift.core.retry import Retries, RetryPolicy, TransientError, cause_of, retry_after, say
from factdrift.wikidata.time import pack, pack_date, unpack

POLICY = RetryPolicy(tries=8, first=4.0)
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


Binding = dict[str, dict[str, str]]
"""A row of an answer as SPARQL's JSON has it: for each bound variable `type` and `value`, for literals
perhaps `xml:lang` or `datatype`."""

Kind = Literal["uri", "literal", "typed-literal", "bnode"]
Term = TypedDict(
    "Term", {"type": Kind, "value": str, "xml:lang": NotRequired[str], "datatype": NotRequired[str]}
)

Period = tuple[int, int]
"""The first of some days and the day after the last, packed."""

_Asked = TypeVar("_Asked")


class _Kept(msgspec.Struct):
    """The content of a kept answer."""

    rows: list[dict[str, Term]] | None


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
        answers: Path | None = None,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
        clock: Callable[[], float] = time.monotonic,
        limit: float = LIMIT,
    ) -> None:
        """`contact`: a mail or web address, "" for the local server. `answers`: the folder that keeps the
        answers of all servers; None to keep none. `limit`: seconds that an answer may take in all.
        """
        self.url, self.requests = url, 0
        self.answers = answers / urlsplit(url).netloc.replace(":", "_") if answers else None
        self._sleep, self._uniform, self._clock, self._limit = sleep, uniform, clock, limit
        self._reached = False
        who = f" ({contact})" if contact else ""
        agent = f"factdrift/{version('factdrift')}{who} SPARQLWrapper/{version('sparqlwrapper')}"
        self._wrapper = SPARQLWrapper(url, agent=agent, returnFormat=JSON)
        self._wrapper.setMethod(POST)  # a list of subjects is too long for an address
        self._wrapper.setOnlyConneg(True)
        self._wrapper.setTimeout(max(1, math.ceil(limit)))  # whole seconds; 0 would be no limit

    def rows(self, query: str, divisible: bool) -> list[Binding]:
        """The rows of a SELECT, from the store if they are there.

        Transient failures are repeated. Raises TooMuch if the query is `divisible` and the server fails to
        finish it; InputError if the server refuses for good, or has failed as often as POLICY allows.
        """
        answers = self.answers
        rows = self._kept(answers, query, divisible) if answers else self._repeated(query, divisible)
        if rows is None:
            raise TooMuch
        return rows

    def _kept(self, folder: Path, query: str, divisible: bool) -> list[Binding] | None:
        """The rows of the kept answer; if there is none, those of the server's, which is kept then."""
        name = hashlib.sha256(f"{self.url}\n{query}".encode()).hexdigest()
        path = folder / name[:2] / f"{name}.json.gz"
        with contextlib.suppress(FileNotFoundError):
            kept = cast(list[Binding] | None, kept_answer(path, _Kept).rows)
            if kept is not None or divisible:
                return kept
        with file_lock(folder / ".lock"):  # one process at a time asks a server
            rows = self._repeated(query, divisible)
        keep_answer(path, url=self.url, query=query, rows=rows)
        return rows

    def _repeated(self, query: str, divisible: bool) -> list[Binding] | None:
        """Sends the query until it is answered; returns None if it is to be divided."""

        def ask() -> list[Binding] | None:
            try:
                return self._ask(query)
            except TooMuch as failure:
                if not divisible:
                    raise TransientError(str(failure)) from failure
                say(self.url, f"{failure}; asking for one half at a time")
                self._sleep(PAUSE)
                return None

        return Retries(POLICY, self.url, self._sleep, self._uniform, self._reached).until(ask)

    def _ask(self, query: str) -> list[Binding]:
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
                raise TooMuch(f"no answer within {self._limit:g} s") from error
            failure = f"the connection failed: {cause_of(error)}"
            raise TransientError(failure, unreached=_is_unreached(error)) from error
        self._reached = True
        try:
            rows: list[Any] = msgspec.json.decode(body, type=_Answer).results.bindings
        except (msgspec.ValidationError, RecursionError) as error:
            why = f"the answer does not have the form of SPARQL's results ({error})"
            raise TransientError(why) from error
        except ValueError as error:  # a query that takes too long ends in the middle, or in HTML
            raise TooMuch("an answer that is not whole") from error
        return rows

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


def divided(
    client: Client,
    query: Callable[[_Asked], str],
    parts: Sequence[_Asked],
    halves: Callable[[_Asked], list[_Asked]],
    needed: set[str],
) -> Iterator[Binding]:
    """Yields the rows of all parts, in their order.

    `halves` of a part that cannot be divided is an empty list. Raises InputError if a row lacks one of the
    variables `needed`, or if the server fails for good.
    """
    waiting = list(reversed(parts))
    while waiting:
        part = waiting.pop()
        smaller = halves(part)
        try:
            rows = client.rows(query(part), divisible=bool(smaller))
        except TooMuch:
            waiting.extend(reversed(smaller))
            continue
        for row in rows:
            if missing := needed - row.keys():
                raise unusable(client.url, f"lacks {', '.join(f'?{name}' for name in sorted(missing))}", row)
            yield row


def months(period: Period) -> list[Period]:
    """The period cut at the first day of each month; an empty list if it has no day."""
    first, until = period
    if first >= until:
        return []
    year, month, _ = unpack(first)
    # From 0 for January: the months after the first.
    begins = (pack(number // 12, number % 12 + 1, 1) for number in count(year * 12 + month))
    return list(pairwise([first, *takewhile(lambda day: day < until, begins), until]))


def halved(period: Period) -> list[Period]:
    """The two halves of a period; an empty list if it is a single day."""
    first, until = (datetime.date(*unpack(packed)) for packed in period)
    middle = first + (until - first) // 2
    if middle == first:
        return []
    packed = pack_date(middle)
    return [(period[0], packed), (packed, period[1])]


def unusable(url: str, what: str, row: object) -> InputError:
    """The error for a row that no server with Wikidata's RDF would give; `what` says how it is wrong."""
    shown = str(row)[:300]
    return InputError(
        f"{url}: a row of an answer {what}: {shown}; is this a server with Wikidata's RDF? "
        "Remove its stored answers under results/fetched before the next run"
    )

"""Counts the requests to be asked and estimates their cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from factdrift.chat.prices import Budget, Price, usual_tokens, worst_tokens
from factdrift.chat.requests import Request, check_names, read_requests
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED, Store
from factdrift.core.errors import InputError
from factdrift.core.progress import Progress

_ENOUGH = 20
"""Stored answers of a model from which on the cost of further ones is estimated by them."""
_SHOWN = 5
"""Names of missing requests that a message lists."""


@dataclass
class Survey:
    """Totals of a table of requests; all but `rows` count requests with equal bodies once."""

    rows: int
    answered: int = 0
    failed: int = 0
    """Requests that an earlier run gave up; they are asked again, except in `replay`."""
    missing: int = 0
    """Requests without an answer, including those that failed."""
    never_asked: int = 0
    examples: list[str] = field(default_factory=list)
    """Names of the first requests that are not in the store."""
    size: int = 0
    """Bytes of the bodies of missing requests."""
    answer_tokens: int = 0
    """Tokens that the missing answers may have together."""
    unlimited: str | None = None
    """The name of the first missing request whose answer has no limit."""
    largest: int = 0
    """The most tokens that one missing request can have with its answer."""
    paid: dict[str, list[int]] = field(default_factory=dict)
    """Tokens paid for so far, lost answers included: source -> [of prompts, of answers]."""

    def add(self, request: Request) -> None:
        """Counts a missing request."""
        prompt, answer = worst_tokens(request)
        self.missing += 1
        self.size += request.size
        self.answer_tokens += answer or 0
        self.largest = max(self.largest, prompt + (answer or 0))
        if answer is None and self.unlimited is None:
            self.unlimited = request.name


def survey(path: Path, model: str, store: Store) -> Survey:
    """Reads all requests and looks them up in the store; `paid` only if the store is open for asking.

    Raises InputError if the table or a body cannot be used.
    """
    wanted = Survey(check_names(path))
    seen: set[bytes] = set()
    for batch in read_requests(path, model):
        fresh = list(_unseen(batch, seen))
        keys = [request.key for request in fresh]
        stored = store.rows(keys, ["status"])
        for source, tokens in ({} if store.reading else store.charged(keys)).items():
            paid = wanted.paid.setdefault(source, [0, 0])
            paid[:] = paid[0] + tokens[0], paid[1] + tokens[1]
        for request in fresh:
            row = stored.get(request.key)
            if row and row["status"] == ANSWERED:
                wanted.answered += 1
                continue
            if row:
                wanted.failed += 1
            else:
                wanted.never_asked += 1
                if len(wanted.examples) < _SHOWN:
                    wanted.examples.append(request.name)
            wanted.add(request)
    return wanted


def pending(path: Path, model: str, store: Store) -> Iterator[Request]:
    """The requests without an answer in the order of the table, each body once."""
    keys: set[bytes] = set()
    for batch in read_requests(path, model):
        answered = store.answered(request.key for request in batch)
        yield from (request for request in _unseen(batch, keys) if request.key not in answered)


def _unseen(requests: Iterable[Request], keys: set[bytes]) -> Iterator[Request]:
    for request in requests:
        digest = bytes.fromhex(request.key)
        if digest not in keys:
            keys.add(digest)
            yield request


def budget_for(wanted: Survey, chat: Chat, price: Price | None, store: Store) -> Budget:
    """Prints how much is to be asked and what it will cost; returns the budget.

    Raises InputError if that is more than `max_usd`, or if `max_usd` is needed and not set.
    """
    batch = chat.mode == "batch"
    spent = sum(
        Budget(price, None, source == "batch").cost(*tokens) for source, tokens in wanted.paid.items()
    )
    budget = Budget(price, chat.max_usd, batch, spent)
    usage = store.usage(chat.model)
    known = usage.answers >= _ENOUGH
    if known:
        prompts = wanted.size * usage.prompt_tokens / usage.size
        answers = wanted.missing * usage.completion_tokens / usage.answers
    else:
        prompts, answers = usual_tokens(wanted.size), float(wanted.answer_tokens)
    how = "about" if known else "at most"
    basis = f"estimated from {usage.answers:,} stored answers" if known else "their limit"
    unlimited = "" if known or not wanted.unlimited else ", and those without a limit"
    again = f", {wanted.failed:,} of them again" if wanted.failed else ""
    say(
        f"{wanted.rows:,} requests to {chat.model} at {chat.server}: {wanted.answered:,} answered in "
        f"{store.folder}, {wanted.missing:,} to ask{again}"
    )
    say(f"about {prompts:,.0f} tokens of prompts, {how} {answers:,.0f} of answers ({basis}){unlimited}")
    if price is None:
        return budget
    cost = budget.cost(prompts, answers)
    half = f" by the Batch API ({price.batch:.0%} of the price)" if batch else ""
    before = f", after {spent:.4f} USD that earlier runs have spent" if spent else ""
    text = f"{how} {cost:.4f} USD{half}{before}"
    if budget.limit is None:
        raise InputError(
            f"asking {chat.model} will cost {text}; set chat.max_usd to what it may cost in all. Nothing was "
            "sent"
        )
    if spent + cost > budget.limit:
        raise InputError(
            f"asking {chat.model} will cost {text}, more than chat.max_usd ({budget.limit} USD); raise it or "
            "ask fewer requests. Nothing was sent"
        )
    if wanted.unlimited is not None:
        raise InputError(
            f"the request {wanted.unlimited!r} does not limit its answer (max_completion_tokens), so that "
            "chat.max_usd cannot be kept to. Nothing was sent"
        )
    say(f"{text}; chat.max_usd is {budget.limit} USD")
    return budget


class Tally:
    """Counts answers, failures and errors of a run, and prints them every few seconds."""

    def __init__(self, wanted: Survey, budget: Budget) -> None:
        self.answered = self.failed = self.errors = 0
        self.before = wanted.answered
        self._budget = budget
        self._progress = Progress("chat", wanted.missing, "requests")

    def error(self) -> None:
        """Counts a failed try."""
        self.errors += 1

    def advance(self, failed: bool) -> None:
        """Counts a request that was answered or given up."""
        self.failed += failed
        self.answered += not failed
        self._progress.advance(1, str(self))

    def say(self, note: str = "") -> None:
        self._progress.say(f"{self}{', ' + note if note else ''}")

    def __str__(self) -> str:
        return f"{self.errors:,} errors, {self.failed:,} failed, {self._budget}"


def say(text: str) -> None:
    """Prints a line to standard output."""
    print(f"chat: {text}", flush=True)

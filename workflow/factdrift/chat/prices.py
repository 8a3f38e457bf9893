"""The table of prices, and one run of requests: what it has spent, stored and counted."""

from __future__ import annotations

from pathlib import Path

import msgspec

from factdrift.chat.replies import Failure, Reply
from factdrift.chat.requests import Request, answer_limit
from factdrift.chat.settings import Chat, api_key
from factdrift.chat.store import Store
from factdrift.core.errors import InputError, Redactor
from factdrift.core.files import read_struct
from factdrift.core.progress import Progress

_MILLION = 1e6
BYTES_A_TOKEN = 4
"""Bytes of a body per token, on average; never less than half as many."""
_UNSEEN = 100_000
"""Tokens that a server may count beyond one for each byte that was sent or came: of its own instructions, of
thoughts that it does not show."""
UNCLEAR = 5
"""Stop after this many ambiguous refusals if nothing has been answered yet."""


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens of prompt and answer."""

    input: float
    output: float


FREE = Price(0.0, 0.0)


# No method of Price: with FREE it would be a cycle that Python cannot see, since it does not track structs of
# numbers, and DuckDB would print at the end of each command that it leaks.
def cost_of(price: Price, prompt_tokens: float, completion_tokens: float) -> float:
    """The cost in US dollars."""
    return (prompt_tokens * price.input + completion_tokens * price.output) / _MILLION


class _Table(msgspec.Struct, frozen=True):
    models: dict[str, Price]


def price_of(chat: Chat, table: Path) -> Price:
    """The price of the model in the table; FREE for a server of the user's own that is not in it.

    Raises InputError if the price is needed and missing, or if the table cannot be read.
    """
    price = read_struct(table, _Table).models.get(chat.model)
    if price is None and (chat.max_usd is not None or not chat.base_url):
        unset = " (or leave out chat.max_usd, if your server asks for no money)" if chat.base_url else ""
        raise InputError(
            f"{table}: no price of {chat.model}; add a line such as `{chat.model}: {{input: 0.10, output: "
            f"0.50}}` to its `models`, in US dollars per million tokens{unset}"
        )
    return price or FREE


def worst_tokens(request: Request) -> tuple[int, int]:
    """The most tokens that prompt and answer can have; 0 for an answer that nothing limits."""
    return request.size * 2 // BYTES_A_TOKEN + 1, answer_limit(request.body) or 0


def believed(reply: Reply, request: Request) -> Reply:
    """The reply; a count of tokens that cannot be true (too low, or far too high) becomes None."""
    prompt, answer = reply.prompt_tokens, reply.completion_tokens
    if prompt is not None and not 0 < prompt <= request.size + _UNSEEN:
        prompt = None
    limit, size = answer_limit(request.body) or 0, len(reply.response.encode("utf-8"))
    if answer is not None and not bool(reply.content) <= answer <= max(limit, size) + _UNSEEN:
        answer = None
    return reply._replace(prompt_tokens=prompt, completion_tokens=answer)


class Run:
    """One run that asks for answers: it stores them, and counts them, errors, tokens and US dollars.

    An answer that was lost on its way, or has no credible `usage`, costs as in the worst case.
    """

    def __init__(
        self, chat: Chat, store: Store, price: Price, spent: float, before: int, missing: int
    ) -> None:
        """`spent`: what earlier runs have paid, or may have paid. `before`: how many requests the store has
        answers to; `missing`: how many it lacks. Raises InputError if the API key cannot be used.
        """
        self.chat, self.store, self._price = chat, store, price
        self.key = api_key(chat)
        self.redactor = Redactor(self.key)
        self._before = before
        self.answered = self.errors = self._failed = self._unclear = 0
        self._prompt_tokens = self._completion_tokens = 0
        self.spent = self._spent_before = spent
        self.reserved = self._lost = 0.0
        """US dollars that requests under way may cost; and those of `spent` for what did not arrive."""
        self._progress = Progress("chat", missing, "requests")

    def worst(self, request: Request) -> float:
        """The most that the request can cost in US dollars."""
        return cost_of(self._price, *worst_tokens(request))

    @property
    def room(self) -> float:
        """US dollars that are neither spent nor reserved."""
        limit = self.chat.max_usd
        return float("inf") if limit is None else limit - self.spent - self.reserved

    def charge(self, request: Request, attempt: str) -> None:
        """Stores the worst case as the cost of a try."""
        self.store.keep_all([], [(request.key, attempt, *worst_tokens(request))])

    def keep(self, request: Request, reply: Reply, attempt: str, tries: int) -> None:
        """Stores an answer, and its cost instead of what was charged for the try."""
        paid = worst_tokens(request)
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            paid = reply.prompt_tokens, reply.completion_tokens
        self._prompt_tokens += reply.prompt_tokens or 0
        self._completion_tokens += reply.completion_tokens or 0
        self.spent += cost_of(self._price, *paid)
        self.store.keep(request, self.chat.model, reply, tries, (request.key, attempt, *paid))
        self.answered += 1
        self._progress.advance(1, str(self))

    def lose(self, request: Request, attempt: str) -> None:
        """Counts an answer that did not arrive but may be charged."""
        self.charge(request, attempt)
        self.spent += self.worst(request)
        self._lost += self.worst(request)

    def give_up(self, request: Request, error: str, tries: int) -> None:
        """Stores that a request has no answer, and why."""
        self.store.fail(request, self.chat.model, error, tries)
        self._failed += 1
        self._progress.advance(1, str(self))

    def decided(self, failure: Failure) -> Failure:
        """Counts a failed try; returns it without the key, as `stop` or `never` where it was `unclear`."""
        self.errors += 1
        kind = failure.kind
        if kind == "unclear":
            self._unclear += 1
            hopeless = self._unclear >= UNCLEAR and not self.answered and not self._before
            kind = "stop" if hopeless else "never"
        return failure._replace(kind=kind, error=self.redactor.text(failure.error))

    def exhausted(self) -> InputError:
        """The error of a run whose next request might exceed the limit."""
        return InputError(
            f"stopped before chat.max_usd ({self.chat.max_usd} USD) could be exceeded: {self.spent:.4f} USD "
            "are spent. All answers so far are kept; raise chat.max_usd and run the same command again to "
            "get the others"
        )

    def say(self, note: str = "") -> None:
        """Prints the progress."""
        self._progress.say(f"{self}{', ' + note if note else ''}")

    def __str__(self) -> str:
        text = f"{self.errors:,} errors, {self._failed:,} failed, "
        text += f"{self._prompt_tokens:,} + {self._completion_tokens:,} tokens"
        if self.chat.max_usd is None:
            return text
        lost = f" (up to {self._lost:.4f} of it for answers that did not arrive)" if self._lost else ""
        return f"{text}, {self.spent - self._spent_before:.4f} USD{lost}"


def say(text: str) -> None:
    """Prints a line to standard output."""
    print(f"chat: {text}", flush=True)

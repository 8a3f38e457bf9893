"""The cost of answers: the table of prices, and a budget that is never exceeded."""

from __future__ import annotations

from pathlib import Path

import msgspec

from factdrift.chat.replies import Reply
from factdrift.chat.requests import Request, answer_limit
from factdrift.chat.settings import Chat
from factdrift.core.errors import InputError

_MILLION = 1e6
_USUAL = 4
"""Bytes of a body per token, on average; never less than half as many."""
_UNSEEN = 100_000
"""Tokens that a server may count beyond one for each byte that was sent or came: of its own instructions, of
thoughts that it does not show."""


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens of prompt and answer; `batch`: the share that the Batch API costs."""

    input: float
    output: float
    batch: float = 1.0


class _Table(msgspec.Struct, frozen=True):
    models: dict[str, Price]


def price_of(chat: Chat, table: Path) -> Price | None:
    """The price of the model in the table; None for a server of the user's own that is not in it.

    Raises InputError if the price is needed and missing, or if the table cannot be read.
    """
    try:
        price = msgspec.yaml.decode(table.read_bytes(), type=_Table).models.get(chat.model)
    except (OSError, ValueError) as error:
        raise InputError(f"{table}: cannot be read as a table of prices: {error}") from error
    if price is None and (chat.max_usd is not None or not chat.base_url):
        unset = " (or leave out chat.max_usd, if your server asks for no money)" if chat.base_url else ""
        raise InputError(
            f"{table}: no price of {chat.model}; add a line such as `{chat.model}: {{input: 0.10, output: "
            f"0.50, batch: 0.5}}` to its `models`, in US dollars per million tokens{unset}"
        )
    return price


def worst_tokens(request: Request) -> tuple[int, int | None]:
    """The most tokens that prompt and answer can have; None if nothing limits the answer."""
    return request.size * 2 // _USUAL + 1, answer_limit(request.body)


def usual_tokens(size: float) -> float:
    """Tokens that prompts of `size` bytes have on average."""
    return size / _USUAL


def believed(reply: Reply, request: Request) -> Reply:
    """The reply; a count of tokens that cannot be true (too low, or far too high) becomes None."""
    prompt, answer = reply.prompt_tokens, reply.completion_tokens
    if prompt is not None and not 0 < prompt <= request.size + _UNSEEN:
        prompt = None
    limit = answer_limit(request.body) or 0
    if answer is not None and not bool(reply.content) <= answer <= max(limit, reply.size) + _UNSEEN:
        answer = None
    return reply._replace(prompt_tokens=prompt, completion_tokens=answer)


def paid_tokens(reply: Reply, request: Request) -> tuple[int, int]:
    """Tokens of prompt and answer that count as paid: the server's, or the worst case if it sent none."""
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        prompt, answer = worst_tokens(request)
        return prompt, answer or 0
    return reply.prompt_tokens, reply.completion_tokens


class Budget:
    """Counts US dollars that are spent, and those that requests under way may still cost.

    `limit`: what may be spent in all; `spent`: what earlier runs have paid, or may have paid. An answer that
    was lost on its way, or has no credible `usage`, counts as the worst case.
    """

    def __init__(self, price: Price | None, limit: float | None, batch: bool, spent: float = 0.0) -> None:
        self.price, self.limit, self.spent = price, limit, spent
        self.before = spent
        self.share = price.batch if price and batch else 1.0
        self.reserved = self.lost = 0.0
        self.prompt_tokens = self.completion_tokens = 0

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """US dollars; 0 where there is no price."""
        if self.price is None:
            return 0.0
        price = self.price
        return (prompt_tokens * price.input + completion_tokens * price.output) * self.share / _MILLION

    def worst(self, request: Request) -> float:
        """The most that the request can cost in US dollars. Raises InputError if nothing limits it."""
        if self.price is None:
            return 0.0
        prompt, answer = worst_tokens(request)
        if answer is None:
            raise InputError(
                f"the request {request.name!r} does not limit its answer (max_completion_tokens), so that "
                "chat.max_usd cannot be kept to"
            )
        return self.cost(prompt, answer)

    @property
    def room(self) -> float:
        """US dollars that are neither spent nor reserved."""
        return float("inf") if self.limit is None else self.limit - self.spent - self.reserved

    def count(self, reply: Reply, request: Request) -> None:
        """Adds the cost of an answer that has arrived."""
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0
        self.spent += self.cost(*paid_tokens(reply, request))

    def lose(self, worst: float) -> None:
        """Adds the cost of an answer that did not arrive but may be charged."""
        self.spent += worst
        self.lost += worst

    def __str__(self) -> str:
        text = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        if self.price is None:
            return text
        lost = f" (up to {self.lost:.4f} of it for answers that did not arrive)" if self.lost else ""
        return f"{text}, {self.spent - self.before:.4f} USD{lost}"


def exhausted(budget: Budget) -> InputError:
    """The error for a run whose next request might exceed the limit."""
    return InputError(
        f"stopped before chat.max_usd ({budget.limit} USD) could be exceeded: {budget.spent:.4f} USD are "
        "spent. All answers so far are kept; raise chat.max_usd and run the same command again to get the "
        "others"
    )

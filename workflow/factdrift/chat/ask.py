"""`factdrift chat ask`: gets the answers to a table of requests, and writes them as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from factdrift.chat.prices import BYTES_A_TOKEN, FREE, Run, cost_of, price_of, say, worst_tokens
from factdrift.chat.requests import answer_limit, check_names, distinct_requests, read_requests
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED, ANSWERS, Store, write_rows
from factdrift.core.columns import Row
from factdrift.core.errors import InputError

_ENOUGH = 20
"""Stored answers of a model from which on the cost of further ones is estimated by them."""
_SHOWN = 5
"""Names of missing requests that a message lists."""


def ask(requests: Path, folder: Path, chat: Chat, output: Path, prices: Path) -> None:
    """Asks for the answers that the store does not have, and writes the ANSWERS table.

    `folder`: the store; `prices`: the table of prices. Raises InputError if the requests, the settings or
    the store cannot be used, if the cost would exceed `max_usd`, if the server refuses, or if an answer is
    missing in mode `replay`. Answers that have arrived by then are kept.
    """
    with Store(folder, reading=chat.mode == "replay") as store:
        wanted = _survey(requests, chat.model, store)
        never_asked = wanted.missing - wanted.failed
        if chat.mode == "replay" and never_asked:
            names = ", ".join(repr(name) for name in wanted.examples)
            others = ", ..." if never_asked > len(wanted.examples) else ""
            raise InputError(
                f"{folder}: {never_asked:,} of {wanted.rows:,} answers are missing ({names}{others}); use "
                "a store that has them, or ask with chat.mode live. A request whose model, text or "
                "settings have changed is another request"
            )
        if chat.mode != "replay" and wanted.missing:
            from factdrift.chat.live import ask_live

            run = _begun(wanted, chat, prices, store)
            try:
                ask_live(run, requests, wanted.largest)
            finally:
                run.say()
            say(f"{run.answered:,} answered, {run}")
        elif chat.mode != "replay":
            say(f"all {wanted.rows:,} requests are answered in {folder}; nothing is asked")
        failed = 0

        def rows() -> Iterator[Row]:
            nonlocal failed
            for batch in read_requests(requests, chat.model):
                stored = store.rows((request.key for request in batch), ANSWERS.names[2:])
                for request in batch:
                    row = stored[request.key]
                    failed += row["status"] != ANSWERED
                    yield {"request": request.name} | row

        count = write_rows(rows(), ANSWERS, output)
    print(f"{output}: {count:,} requests, {failed:,} of them failed")
    if failed:
        # Lines that begin so reach the terminal of a run.
        print(
            f"factdrift: {output}: {failed:,} of {count:,} requests to {chat.model} failed and have no "
            "answer; the column `error` says why; to ask them again, remove the file and run again"
        )


@dataclass
class _Survey:
    """Totals of a table of requests; all but `rows` count requests with equal bodies once."""

    rows: int
    answered: int = 0
    failed: int = 0
    """Requests that an earlier run gave up; they are asked again, except in `replay`."""
    missing: int = 0
    """Requests without an answer, including those that failed."""
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
    paid: tuple[int, int] = 0, 0
    """Tokens of prompts and of answers paid for so far, lost answers included."""


def _survey(path: Path, model: str, store: Store) -> _Survey:
    """Reads all requests and looks them up in the store; `paid` only if the store is open for asking.

    Raises InputError if the table or a body cannot be used.
    """
    wanted = _Survey(check_names(path))
    for batch in distinct_requests(path, model):
        keys = [request.key for request in batch]
        stored = store.rows(keys, ["status"])
        if not store.reading:
            prompts, answers = store.charged(keys)
            wanted.paid = wanted.paid[0] + prompts, wanted.paid[1] + answers
        for request in batch:
            status = stored[request.key]["status"] if request.key in stored else None
            if status == ANSWERED:
                wanted.answered += 1
                continue
            if status is not None:
                wanted.failed += 1
            elif len(wanted.examples) < _SHOWN:
                wanted.examples.append(request.name)
            prompt, answer = worst_tokens(request)
            wanted.missing += 1
            wanted.size += request.size
            wanted.answer_tokens += answer
            wanted.largest = max(wanted.largest, prompt + answer)
            if wanted.unlimited is None and answer_limit(request.body) is None:
                wanted.unlimited = request.name
    return wanted


def _begun(wanted: _Survey, chat: Chat, prices: Path, store: Store) -> Run:
    """Prints how much is to be asked and what it will cost; returns the run.

    Raises InputError if that is more than `max_usd`, or if `max_usd` or the API key is needed and not set.
    """
    price = price_of(chat, prices)
    spent = cost_of(price, *wanted.paid)
    stored, size, prompt_tokens, completion_tokens = store.usage(chat.model)
    known = stored >= _ENOUGH
    if known:
        prompts = wanted.size * prompt_tokens / size
        answers = wanted.missing * completion_tokens / stored
    else:
        prompts, answers = wanted.size / BYTES_A_TOKEN, float(wanted.answer_tokens)
    how = "about" if known else "at most"
    basis = f"estimated from {stored:,} stored answers" if known else "their limit"
    unlimited = "" if known or not wanted.unlimited else ", and those without a limit"
    again = f", {wanted.failed:,} of them again" if wanted.failed else ""
    say(
        f"{wanted.rows:,} requests to {chat.model} at {chat.server}: {wanted.answered:,} answered in "
        f"{store.folder}, {wanted.missing:,} to ask{again}"
    )
    say(f"about {prompts:,.0f} tokens of prompts, {how} {answers:,.0f} of answers ({basis}){unlimited}")
    if price is not FREE:
        cost = cost_of(price, prompts, answers)
        before = f", after {spent:.4f} USD that earlier runs have spent" if spent else ""
        text = f"{how} {cost:.4f} USD{before}"
        if chat.max_usd is None:
            raise InputError(
                f"asking {chat.model} will cost {text}; set chat.max_usd to what it may cost in all. "
                "Nothing was sent"
            )
        if spent + cost > chat.max_usd:
            raise InputError(
                f"asking {chat.model} will cost {text}, more than chat.max_usd ({chat.max_usd} USD); raise "
                "it or ask fewer requests. Nothing was sent"
            )
        if wanted.unlimited is not None:
            raise InputError(
                f"the request {wanted.unlimited!r} does not limit its answer (max_completion_tokens), so "
                "that chat.max_usd cannot be kept to. Nothing was sent"
            )
        say(f"{text}; chat.max_usd is {chat.max_usd} USD")
    run = Run(chat, store, price, spent, wanted.answered, wanted.missing)
    if not run.key and not chat.base_url:
        raise InputError(
            "no key for OpenAI: set the environment variable OPENAI_API_KEY, or chat.api_key_file; no key is "
            "needed for a server of your own (chat.base_url)"
        )
    return run

"""Mode `live`: many requests at a time, repeated until they are answered or given up."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx2
import openai

from factdrift.chat.prices import UNCLEAR, Run, believed, say, worst_tokens
from factdrift.chat.replies import Failure, Reply, judge, likelihoods_of, read_reply
from factdrift.chat.requests import Request
from factdrift.chat.settings import Chat
from factdrift.core.errors import InputError
from factdrift.core.retry import TransientError, out_of_reach

_GRACE = 20.0
"""Seconds that a run that is to stop waits for the requests under way, because they are paid for."""
_LONG_WAIT = 10.0
"""Seconds; longer waits that the server asks for are reported."""
_MINUTE = 60.0
NO_LIKELIHOODS = (
    "it returns no log-probabilities of the prompt's own tokens (`echo` with `logprobs`), or no "
    "`usage.prompt_tokens`; serve the model with vLLM, SGLang or llama-cpp-python (`logits_all`), or leave "
    "`loglik` out of answer.scoring"
)
_ROUNDING = 1e-9
"""An amount that is missing by rounding only."""


def ask_live(run: Run, requests: Path, largest: int) -> None:
    """Asks the requests of a table that have no answer, and stores answers and failures.

    `largest`: the most tokens that a request can have with its answer. Raises InputError if the server
    refuses all requests or asks for a longer wait than `patience`, if the budget is exhausted, or after a
    signal; it then waits for the requests under way, and all answers are kept.
    """
    asyncio.run(_Live(run).run(run.store.pending(requests, run.chat.model), largest))


class _Live:
    def __init__(self, run: Run) -> None:
        self._run, self._chat = run, run.chat
        self._under_way = self._given_up_in_a_row = 0
        self._reached = False
        self._why: Exception | None = None
        """Why the run is to stop."""
        self._name = secrets.token_hex(8)
        """The first part of the names of this run's tries in the store."""

    async def run(self, requests: Iterator[Request], largest: int) -> None:
        chat = self._chat
        self._requests = requests
        self._halted, self._freed = asyncio.Event(), asyncio.Event()
        self._rates = Rates(chat, largest, self._sleep)
        # Without a key the client would look for one elsewhere.
        async with openai.AsyncOpenAI(
            api_key=self._run.key or "none", base_url=chat.server, max_retries=0, timeout=chat.timeout
        ) as client:
            self._post = client.post
            self._workers = [asyncio.create_task(self._work()) for _ in range(chat.concurrency)]
            loop = asyncio.get_running_loop()
            for name in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(name, self._signalled, name)
            watch = asyncio.create_task(self._end_after_grace())
            try:
                await asyncio.gather(*self._workers)
            except asyncio.CancelledError:
                if self._why is None:
                    raise
            finally:
                for name in (signal.SIGINT, signal.SIGTERM):
                    loop.remove_signal_handler(name)
                for task in (watch, *self._workers):
                    task.cancel()
                await asyncio.gather(watch, *self._workers, return_exceptions=True)
        if self._why is not None:
            raise self._why

    async def _work(self) -> None:
        try:
            for request in self._requests:
                await self._settle(request)
                if self._why is not None:
                    return
        except Exception as error:
            # `run` raises it when the other workers have stored what they have under way.
            self._halt(error)

    async def _settle(self, request: Request) -> None:
        """Sends a request until it is answered, given up, or the run is to stop."""
        run, chat, worst = self._run, self._chat, self._run.worst(request)
        for tries in range(1, chat.tries + 1):
            attempt = f"{self._name} {tries}"
            if not await self._reserve(worst):
                return
            try:
                if not await self._rates.admit(sum(worst_tokens(request))):
                    return
                run.charge(request, attempt)
                outcome = await self._try(request)
                if isinstance(outcome, Reply):
                    run.keep(request, outcome, attempt, tries)
                    self._given_up_in_a_row, self._reached = 0, True
                    return
                if outcome.billed:
                    run.lose(request, attempt)
                else:
                    run.store.refund(request, attempt)
            finally:
                self._under_way -= 1
                run.reserved -= worst
                self._freed.set()
            failure = run.decided(outcome)
            self._reached = self._reached or not failure.unreached
            if not self._reached and tries >= chat.policy.unreached:
                self._halt(out_of_reach(chat.server, tries, failure.error))
                return
            if failure.kind == "stop":
                self._halt(f"{chat.server} refuses: {failure.error}")
                return
            if failure.kind == "never" or tries == chat.tries:
                run.give_up(request, failure.error, tries)
                self._given_up_in_a_row += failure.kind == "again"
                if self._given_up_in_a_row >= max(chat.concurrency, UNCLEAR):
                    self._halt(
                        f"{self._given_up_in_a_row} requests in a row have failed at {chat.server}, the "
                        f"last with: {failure.error}"
                    )
                return
            seconds = chat.policy.wait(chat.server, TransientError(failure.error, failure.after), tries)
            after = failure.after or 0.0
            if self._rates.pause(after) and after > _LONG_WAIT:
                say(f"the server asks to wait for {after:,.0f} s: {failure.error}")
            if await self._sleep(seconds):
                return

    async def _try(self, request: Request) -> Reply | Failure:
        try:
            # The client's own time-out starts again with each byte that arrives.
            async with asyncio.timeout(self._chat.timeout):
                # The raw response, because it is stored; the client's own method for chat would also
                # refuse fields of the body that it does not know.
                body = request.body
                came = await self._post(
                    "/completions" if "prompt" in body else "/chat/completions",
                    body={"model": self._chat.model, **body},
                    cast_to=httpx2.Response,
                )
                reply = believed(read_reply(self._run.redactor.body(came.content)), request)
                if body.get("echo") and likelihoods_of(reply.content, reply.prompt_tokens) is None:
                    return Failure("stop", NO_LIKELIHOODS, billed=True)
                return reply
        except (openai.OpenAIError, ValueError, TimeoutError) as error:
            failure = judge(error)
            # llama-server answers with status 400 that it supports no echo.
            refused = request.body.get("echo") and failure.kind == "unclear" and "echo" in failure.error
            return failure._replace(kind="stop", error=NO_LIKELIHOODS) if refused else failure

    async def _reserve(self, worst: float) -> bool:
        """Reserves `worst`, the cost of a try in USD, when the budget has room for it.

        Waits until other requests end where it has none. Returns False if the run is to stop.
        """
        while worst > self._run.room and self._why is None:
            if not self._under_way:
                self._halt(self._run.exhausted())
                break
            self._freed.clear()
            await self._freed.wait()
        if self._why is not None:
            return False
        self._under_way += 1
        self._run.reserved += worst
        return True

    async def _sleep(self, seconds: float) -> bool:
        """Waits that many seconds, or until the run is to stop; returns whether it is."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._halted.wait(), seconds)
        return self._halted.is_set()

    def _halt(self, why: str | Exception) -> None:
        """Makes the run stop with an exception, or an InputError of that text; the first reason counts."""
        if self._why is None:
            kept = "all answers so far are kept; run the same command again to get the others"
            self._why = InputError(f"{why}; {kept}") if isinstance(why, str) else why
        self._halted.set()
        self._freed.set()

    def _signalled(self, number: signal.Signals) -> None:
        if self._why is not None:
            for task in self._workers:
                task.cancel()
        else:
            say(
                f"{number.name}: waiting for the {self._under_way} requests under way, {_GRACE:.0f} s at most"
            )
        self._halt(f"stopped by {number.name}")

    async def _end_after_grace(self) -> None:
        await self._halted.wait()
        await asyncio.sleep(_GRACE)
        for task in self._workers:
            task.cancel()


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

    def __init__(self, chat: Chat, largest: int, sleep: Callable[[float], Awaitable[bool]]) -> None:
        """`largest`: tokens of the largest request with its answer; `sleep`: returns True if interrupted.

        Raises InputError if the limit of tokens is too low for the largest request.
        """
        requests_per_minute, tokens_per_minute = chat.requests_per_minute, chat.tokens_per_minute
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
        taken = [
            (bucket, amount) for bucket, amount in ((self._requests, 1), (self._tokens, tokens)) if bucket
        ]
        async with self._turn:
            while True:
                now = time.monotonic()
                waits = (bucket.wait(amount, now) for bucket, amount in taken)
                wait = max(self._paused_until - now, *waits, 0.0)
                if not wait:
                    break
                if await self._sleep(wait):
                    return False
            for bucket, amount in taken:
                bucket.take(amount, now)
            return True

    def pause(self, seconds: float) -> bool:
        """Stops all requests for that many seconds.

        Returns whether that ends more than a second later than an earlier pause.
        """
        until = time.monotonic() + seconds
        later = until > self._paused_until + 1
        self._paused_until = max(self._paused_until, until)
        return later

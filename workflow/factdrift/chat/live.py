"""Mode `live`: many requests at a time, each repeated until it is answered or given up."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Iterator

import httpx2
import openai

from factdrift.chat.prices import Budget, believed, exhausted, paid_tokens, worst_tokens
from factdrift.chat.rates import Rates
from factdrift.chat.replies import Failure, Reply, judge, read_reply
from factdrift.chat.requests import Request
from factdrift.chat.settings import Chat
from factdrift.chat.store import Charge, Store
from factdrift.chat.survey import Survey, Tally, say
from factdrift.core.errors import InputError, Redactor
from factdrift.core.retry import TransientError

_GRACE = 20.0
"""Seconds that a run that is to stop waits for the requests under way, because they are paid for."""
_LONG_WAIT = 10.0
"""Seconds; longer waits that the server asks for are reported."""
UNCLEAR = 5
"""Stop after this many ambiguous refusals if nothing has been answered yet."""


def ask_live(
    requests: Iterator[Request], chat: Chat, key: str, store: Store, budget: Budget, wanted: Survey
) -> Tally:
    """Asks the requests, and stores answers and failures.

    `wanted` is what `survey` says of the requests. Raises InputError if the server refuses all requests or
    asks for a longer wait than `patience`, if the budget is exhausted, or after a signal; it then waits for
    the requests under way, and all answers are kept.
    """
    live = _Live(chat, key, store, budget, wanted)
    asyncio.run(live.run(requests))
    live.tally.say()
    return live.tally


class _Live:
    def __init__(self, chat: Chat, key: str, store: Store, budget: Budget, wanted: Survey) -> None:
        self._chat, self._key, self._store, self._budget, self._found = chat, key, store, budget, wanted
        self.tally = Tally(wanted, budget)
        self._under_way = 0
        self._unclear = self._given_up_in_a_row = 0
        self._why: Exception | None = None
        """Why the run is to stop."""
        self._redactor = Redactor(key)
        self._name = secrets.token_hex(8)
        """The first part of the names of this run's tries in the store."""

    async def run(self, requests: Iterator[Request]) -> None:
        chat = self._chat
        self._requests = requests
        self._halted, self._freed = asyncio.Event(), asyncio.Event()
        self._rates = Rates(
            chat.requests_per_minute, chat.tokens_per_minute, self._found.largest, self._sleep
        )
        # Without a key the client would look for one elsewhere.
        async with openai.AsyncOpenAI(
            api_key=self._key or "none", base_url=chat.server, max_retries=0, timeout=chat.timeout
        ) as client:
            self._post = client.post
            number = min(chat.concurrency, self._found.missing)
            self._workers = [asyncio.create_task(self._work()) for _ in range(number)]
            loop = asyncio.get_running_loop()
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(each, self._signalled, each)
            watch = asyncio.create_task(self._end_after_grace())
            try:
                await asyncio.gather(*self._workers)
            except asyncio.CancelledError:
                if self._why is None:
                    raise
            finally:
                for each in (signal.SIGINT, signal.SIGTERM):
                    loop.remove_signal_handler(each)
                for task in (watch, *self._workers):
                    task.cancel()
                await asyncio.gather(watch, *self._workers, return_exceptions=True)
        if self._why is not None:
            self.tally.say()
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
        chat, worst = self._chat, self._budget.worst(request)
        prompt, answer = worst_tokens(request)
        for tries in range(1, chat.tries + 1):
            if not await self._reserve(worst):
                return
            try:
                if self._why is not None or not await self._rates.admit(prompt + (answer or 0)):
                    return
                charge = Charge(request.key, f"{self._name} {tries}", "live", prompt, answer or 0)
                self._store.charge(charge)
                outcome = await self._try(request)
                if isinstance(outcome, Reply):
                    self._budget.count(outcome, request)
                    paid = Charge(*charge[:3], *paid_tokens(outcome, request))
                    self._store.put(request, chat.model, outcome, "live", tries, paid)
                elif outcome.billed:
                    self._budget.lose(worst)
                else:
                    self._store.refund(charge)
            finally:
                self._release(worst)
            if isinstance(outcome, Reply):
                self.tally.advance(failed=False)
                self._given_up_in_a_row = 0
                return
            self.tally.error()
            failure = self._decided(outcome)
            error = self._redactor.text(failure.error)
            if failure.kind == "stop":
                self._halt(f"{chat.server} refuses: {error}")
                return
            if failure.kind == "never" or tries == chat.tries:
                self._store.fail(request, chat.model, error, "live", tries)
                self.tally.advance(failed=True)
                self._given_up_in_a_row += failure.kind == "again"
                if self._given_up_in_a_row >= max(chat.concurrency, UNCLEAR):
                    self._halt(
                        f"{self._given_up_in_a_row} requests in a row have failed at {chat.server}, the "
                        f"last with: {error}"
                    )
                return
            seconds = chat.policy.wait(chat.server, TransientError(error, failure.after), tries)
            after = failure.after or 0.0
            if self._rates.pause(after) and after > _LONG_WAIT:
                say(f"the server asks to wait for {after:,.0f} s: {error}")
            if await self._sleep(seconds):
                return

    async def _try(self, request: Request) -> Reply | Failure:
        try:
            # The client's own time-out starts again with each byte that arrives.
            async with asyncio.timeout(self._chat.timeout):
                # The raw response, because it is stored; the client's own method for chat would also
                # refuse fields of the body that it does not know.
                came = await self._post(
                    "/chat/completions",
                    body={"model": self._chat.model, **request.body},
                    cast_to=httpx2.Response,
                )
                return believed(read_reply(self._redactor.body(came.content)), request)
        except (openai.OpenAIError, ValueError, TimeoutError) as error:
            return judge(error)

    def _decided(self, failure: Failure) -> Failure:
        """The failure, with kind `stop` or `never` where it was `unclear`."""
        if failure.kind != "unclear":
            return failure
        self._unclear += 1
        hopeless = self._unclear >= min(UNCLEAR, self._found.missing)
        stop = hopeless and not self.tally.answered and not self.tally.before
        return failure._replace(kind="stop" if stop else "never")

    async def _reserve(self, worst: float) -> bool:
        """Reserves `worst`, the cost of one try in USD, when the budget has room for it.

        Waits until other requests end where it has none. Returns False if the run is to stop.
        """
        while worst > self._budget.room and self._why is None:
            if not self._under_way:
                self._halt(exhausted(self._budget))
                break
            self._freed.clear()
            await self._freed.wait()
        if self._why is not None:
            return False
        self._under_way += 1
        self._budget.reserved += worst
        return True

    def _release(self, worst: float) -> None:
        self._under_way -= 1
        self._budget.reserved -= worst
        self._freed.set()

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

"""Mode `batch`: files of requests are uploaded, answered by the server within a day, and fetched.

Every step is recorded on disk before and after it is taken (`batch_files`), so that a run that was stopped
continues where it was, and uploads and creates nothing twice.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from openai.types import Batch

from factdrift.chat.batch_files import Folder, OpenBatch, Outcome, Sent, error_of, keys_in, line_of
from factdrift.chat.batch_server import ENDED, BatchServer
from factdrift.chat.live import UNCLEAR
from factdrift.chat.prices import Budget, believed, exhausted, paid_tokens, worst_tokens
from factdrift.chat.replies import Failure, Malformed, Reply, judge_status, read_reply
from factdrift.chat.requests import Request
from factdrift.chat.settings import Chat, api_key
from factdrift.chat.store import Charge, Row, Store, answer_row
from factdrift.chat.survey import Survey, Tally, pending, say
from factdrift.core.errors import InputError

_AT_ONCE = 500
_MEGABYTE = 1e6
_NO_LINE = "no line in the batch's results"


def ask_batches(requests: Path, chat: Chat, key: str, store: Store, budget: Budget, wanted: Survey) -> Tally:
    """Asks the requests without an answer; those with a transient failure go into another batch.

    Raises InputError if the server refuses, a batch is cancelled by someone, or the budget is exhausted;
    answers are kept, and the next run continues with the open batches.
    """
    tally = Tally(wanted, budget)
    batches = _Batches(chat, key, store, budget, tally)
    try:
        batches.resume({request.key for request in pending(requests, chat.model, store)})
        for _ in range(chat.tries):
            batches.again.clear()
            batches.round(pending(requests, chat.model, store))
            if not batches.again:
                break
        for request in pending(requests, chat.model, store):
            if request.key in batches.again:
                error, tries = batches.again[request.key], batches.tries[request.key]
                store.fail(request, chat.model, error, "batch", tries)
                tally.advance(failed=True)
    except KeyboardInterrupt:
        raise InputError(
            "stopped; the server goes on with open batches, and the same command fetches their results"
        ) from None
    finally:
        batches.close()
    tally.say()
    return tally


def open_keys(folder: Path) -> set[str]:
    """The keys of all requests in the open batches of a store."""
    batches = Folder(folder)
    return set().union(*(keys_in(batches.requests_of(batch)) for batch in batches.open()))


def cancel_batches(folder: Path, chat: Chat) -> tuple[int, int]:
    """Cancels the open batches of a store; returns the number of batches and of answers fetched from them."""
    with Store(folder) as store:
        budget = Budget(None, None, batch=True)
        tally = Tally(Survey(0), budget)
        batches = _Batches(chat, api_key(chat), store, budget, tally)
        try:
            return batches.cancel(), tally.answered
        finally:
            batches.close()


class _Batches:
    def __init__(self, chat: Chat, key: str, store: Store, budget: Budget, tally: Tally) -> None:
        self._chat, self._key, self._store, self._budget, self._tally = chat, key, store, budget, tally
        self._folder = Folder(store.folder)
        self._folder.sweep()
        self._server = BatchServer(chat, key, tally.error)
        self._redactor = self._server.redactor
        self._open: list[OpenBatch] = []
        self._held: set[str] = set()
        """Keys not to be put into a batch now: they are in an open one, or were given up."""
        self.again: dict[str, str] = {}
        """The error of each request that failed in this round, by key."""
        self.tries: Counter[str] = Counter()
        self._unclear = 0
        self._refused: str | None = None
        """The error, if it concerns all requests and not one only."""

    def close(self) -> None:
        self._server.close()

    def resume(self, wanted: set[str]) -> None:
        """Continues with the open batches that hold any of these requests, given by key."""
        for batch in self._folder.open():
            keys = keys_in(self._folder.requests_of(batch))
            if keys.isdisjoint(wanted):
                continue
            self._check_server(batch)
            self._budget.reserved += batch.usd
            self._hold(batch, keys)
            say(f"continues with batch {batch.name} of {batch.requests:,} requests ({batch.step})")
            self._advance(batch, in_doubt=True)

    def round(self, requests: Iterator[Request]) -> None:
        """Puts the requests into batches, as many at a time as the limits allow, and waits for all."""
        self._waiting = (request for request in requests if request.key not in self._held)
        self._next = next(self._waiting, None)
        while True:
            chat = self._chat
            while batch := self._folder.write(self._take, chat.model, chat.server):
                self._hold(batch, keys_in(self._folder.requests_of(batch)))
                self._advance(batch, in_doubt=False)
            if not self._open:
                break
            self._wait()
        if self._next is not None:
            raise exhausted(self._budget)

    def cancel(self) -> int:
        """Cancels all open batches and fetches their results; returns the number of batches."""
        for batch in self._folder.open():
            self._check_server(batch)
            self._hold(batch, keys_in(self._folder.requests_of(batch)))
            batch.batch = batch.batch or self._server.find(batch)
            if not batch.batch:
                self._close(batch)
            elif self._server.retrieve(batch).status not in (*ENDED, "cancelling"):
                self._server.cancel(batch)
        count = len(self._open)
        while self._open:
            self._wait(cancelling=True)
        return count

    def _check_server(self, batch: OpenBatch) -> None:
        if batch.server != self._chat.server:
            raise InputError(
                f"the batch {batch.name} is open at {batch.server}; set chat.base_url to it, or cancel the "
                f"batch with `factdrift chat cancel --store {self._store.folder}`"
            )

    def _take(self, batch: OpenBatch, size: int) -> tuple[Request, int, float] | None:
        """The next request for a batch of `size` bytes, with its prompt tokens and its cost in USD at most.

        None if the batch or the budget is full, or no request is left.
        """
        request, limits = self._next, self._chat.batch
        if request is None or batch.requests >= limits.requests:
            return None
        if size and size + len(line_of(request, batch.model)) > limits.megabytes * _MEGABYTE:
            return None
        prompt, _ = worst_tokens(request)
        worst = self._budget.worst(request)
        enqueued = sum(opened.prompt_tokens for opened in (*self._open, batch)) + prompt
        if limits.enqueued_tokens and enqueued > limits.enqueued_tokens:
            if prompt > limits.enqueued_tokens:
                raise InputError(
                    f"configuration: chat.batch.enqueued_tokens: {limits.enqueued_tokens:,} is less than the "
                    f"tokens that the request {request.name!r} may have by itself ({prompt:,}); raise it"
                )
            return None
        if worst > self._budget.room:
            return None
        self._budget.reserved += worst
        self._next = next(self._waiting, None)
        return request, prompt, worst

    def _hold(self, batch: OpenBatch, keys: set[str]) -> None:
        self._open.append(batch)
        self._held |= keys

    def _advance(self, batch: OpenBatch, in_doubt: bool) -> None:
        """Takes the steps that are left: uploading, creating.

        `in_doubt`: an earlier run may have taken the next step without recording it.
        """
        if batch.step == "written":
            batch.file = self._server.upload(batch, self._folder.requests_of(batch), in_doubt)
            batch.step = "uploaded"
            self._folder.save(batch)
        if batch.step == "uploaded":
            batch.batch = self._server.create(batch, in_doubt)
            batch.step = "created"
            self._folder.save(batch)
            say(f"batch {batch.batch} of {batch.requests:,} requests is on its way ({batch.name})")

    def _wait(self, cancelling: bool = False) -> None:
        """Asks for the state of the open batches after `poll` seconds, and fetches those that have ended."""
        time.sleep(self._chat.batch.poll)
        done = 0
        for batch in list(self._open):
            remote = self._server.retrieve(batch)
            counts = remote.request_counts
            done += (counts.completed + counts.failed) if counts else 0
            if remote.status in ENDED:
                self._fetch(batch, remote)
                self._close(batch)
                if self._refused:
                    raise InputError(f"{self._chat.server} refuses: {self._refused}")
                if not cancelling:
                    self._check_end(batch, remote)
        total = sum(batch.requests for batch in self._open)
        if total:
            self._tally.say(f"open batches: {len(self._open)}, in them {done:,} of {total:,} done")

    def _close(self, batch: OpenBatch) -> None:
        self._folder.remove(batch)
        self._open.remove(batch)
        self._budget.reserved -= batch.usd

    def _check_end(self, batch: OpenBatch, remote: Batch) -> None:
        """Raises InputError for a batch that the server rejected, or that someone has cancelled."""
        if remote.status == "failed":
            faults = (remote.errors.data if remote.errors else None) or []
            text = "; ".join(f"{fault.code}: {fault.message}" for fault in faults[:3]) or "no reason given"
            hint = "; set chat.batch.enqueued_tokens to your limit" if "token_limit_exceeded" in text else ""
            raise InputError(f"batch {remote.id} failed at {self._chat.server}: {text}{hint}")
        if remote.status == "cancelled":
            raise InputError(
                f"batch {remote.id} was cancelled; its answers so far are kept. Run the same command again "
                "to ask the other requests"
            )
        if remote.status == "expired":
            say(f"batch {remote.id} expired; requests without an answer are asked again")

    def _fetch(self, batch: OpenBatch, remote: Batch) -> None:
        """Stores the answers of a batch that has ended, and records which requests are to be asked again."""
        with Sent(self._folder.requests_of(batch)) as sent:
            settled: set[str] = set()
            for file in (remote.output_file_id, remote.error_file_id):
                if file:
                    path = self._folder.path / f"{batch.name}.results"
                    self._server.download(file, path)
                    self._read(path, batch, sent, settled)
            if remote.status != "failed":
                for key in sent:
                    if key not in settled:
                        self._failed(sent.request(key), batch, Failure("again", _NO_LINE))

    def _read(self, path: Path, batch: OpenBatch, sent: Sent, settled: set[str]) -> None:
        rows: list[Row] = []
        charges: list[Charge] = []
        with path.open("rb") as file:
            for line in map(self._redactor.body, file):
                try:
                    outcome = msgspec.json.decode(line, type=Outcome)
                except (ValueError, RecursionError):
                    answer = self._redactor.text(line.decode("utf-8", "replace"))
                    say(f"{path}: skipped a line that is no result: {answer[:80]!r}")
                    continue
                key = outcome.custom_id
                if key in settled or key not in sent:
                    continue
                settled.add(key)
                self.tries[key] += 1
                request, verdict = sent.request(key), _verdict(outcome)
                if isinstance(verdict, Reply):
                    reply = believed(verdict, request)
                    self._budget.count(reply, request)
                    charges.append(Charge(key, batch.name, "batch", *paid_tokens(reply, request)))
                    rows.append(answer_row(request, batch.model, reply, "batch", self.tries[key]))
                    self._tally.advance(failed=False)
                    self.again.pop(key, None)
                else:
                    self._failed(request, batch, verdict)
                if len(rows) >= _AT_ONCE:
                    self._store.put_all(rows, charges)
                    rows.clear()
                    charges.clear()
        self._store.put_all(rows, charges)

    def _failed(self, request: Request, batch: OpenBatch, failure: Failure) -> None:
        self._tally.error()
        error = self._redactor.text(failure.error)
        if failure.billed:
            prompt, answer = worst_tokens(request)
            self._store.charge(Charge(request.key, batch.name, "batch", prompt, answer or 0))
            self._budget.lose(self._budget.worst(request))
        if failure.kind == "stop":
            self._refused = error
        elif failure.kind == "again":
            self.again[request.key] = error
            self._held.discard(request.key)
        else:
            self._store.fail(request, batch.model, error, "batch", self.tries[request.key])
            self._tally.advance(failed=True)
            self._unclear += failure.kind == "unclear"
            if self._unclear >= UNCLEAR and not self._tally.answered and not self._tally.before:
                self._refused = error


def _verdict(outcome: Outcome) -> Reply | Failure:
    response = outcome.response
    if response is None:
        error = outcome.error
        return Failure("again", f"{error.code}: {error.message}" if error else "no response")
    if response.status_code != 200:
        return judge_status(response.status_code, *error_of(response), headers={})
    try:
        return read_reply(bytes(response.body))
    except Malformed as error:
        return Failure("again", f"malformed: {error}", billed=True)

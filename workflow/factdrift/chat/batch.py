"""Mode `batch`: files of requests are uploaded, answered by the server within a day, and fetched.

STORE/batches/NAME.json says how far an open batch has come, NAME.jsonl has its requests. A step is recorded
when the server has confirmed it. A run that finds a step unconfirmed asks the server for things with the
batch's name before it repeats the step; names are random, so that no two batches share one. So a run that was
stopped continues where it was, and uploads and creates nothing twice.
"""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from openai.types import Batch

from factdrift.chat.batch_server import ENDED, ENDPOINT, BatchServer, OpenBatch, Outcome
from factdrift.chat.prices import Run, believed, say, worst_tokens
from factdrift.chat.replies import Failure, Reply
from factdrift.chat.requests import Request, canonical
from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path, remove_unfinished, writer_of_name


def ask_batches(run: Run, requests: Path) -> None:
    """Asks the requests of a table without an answer; transient failures go into another batch.

    Raises InputError if the server refuses, a batch is cancelled by someone, or the budget is exhausted;
    answers are kept, and the next run continues with the open batches.
    """
    store, model = run.store, run.chat.model
    batches = _Batches(run)
    try:
        batches.resume({request.key for request in store.pending(requests, model)})
        for _ in range(run.chat.tries):
            batches.again.clear()
            batches.round(store.pending(requests, model))
            if not batches.again:
                break
        for request in store.pending(requests, model):
            if request.key in batches.again:
                run.give_up(request, batches.again[request.key], batches.tries[request.key])
    except KeyboardInterrupt:
        raise InputError(
            "stopped; the server goes on with open batches, and the same command fetches their results"
        ) from None
    finally:
        batches.server.close()


def open_keys(store: Path) -> set[str]:
    """The keys of all requests in the open batches of a store."""
    return {key for path in (store / "batches").glob("*.json") for key in _sent(path.with_suffix(".jsonl"))}


class _Batches:
    def __init__(self, run: Run) -> None:
        self._run, self._chat = run, run.chat
        self._folder = run.store.folder / "batches"
        sweep(self._folder)
        self.server = BatchServer(run)
        self._open: list[OpenBatch] = []
        self._held: set[str] = set()
        """Keys not to be put into a batch now: they are in an open one, or were given up."""
        self.again: dict[str, str] = {}
        """The error of each request that failed in this round, by key."""
        self.tries: Counter[str] = Counter()
        self._refused: str | None = None
        """The error, if it concerns all requests and not one only."""

    def resume(self, wanted: set[str]) -> None:
        """Continues with the open batches that hold any of these requests, given by key."""
        for path in sorted(self._folder.glob("*.json")):
            try:
                batch = msgspec.json.decode(path.read_bytes(), type=OpenBatch)
            except ValueError as error:
                raise InputError(
                    f"{path}: cannot be read as an open batch ({error}); remove the file to give the batch up"
                ) from error
            keys = set(_sent(self._path(batch)))
            if len(keys) < batch.requests:
                raise _damaged(self._path(batch), f"{len(keys):,} of {batch.requests:,} requests are left")
            if keys.isdisjoint(wanted):
                continue
            if batch.server != self._chat.server:
                raise InputError(
                    f"the batch {batch.name} is open at {batch.server}; set chat.base_url to it, or remove "
                    f"{path} to give the batch up"
                )
            self._run.reserved += batch.usd
            self._held |= keys
            say(f"continues with batch {batch.name} of {batch.requests:,} requests")
            self._advance(batch, in_doubt=True)

    def round(self, requests: Iterator[Request]) -> None:
        """Puts the requests into batches, as many at a time as the limits allow, and waits for all."""
        self._waiting = (request for request in requests if request.key not in self._held)
        self._next = next(self._waiting, None)
        while True:
            while batch := self._written():
                self._advance(batch, in_doubt=False)
            if not self._open:
                break
            self._wait()
        if self._next is not None:
            raise self._run.exhausted()

    def _written(self) -> OpenBatch | None:
        """Writes the next requests into a batch, as many as its limits and the budget allow; None if none."""
        run, limits = self._run, self._chat.batch
        batch = OpenBatch(name=f"factdrift-{secrets.token_hex(8)}", server=self._chat.server)
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._path(batch).open("wb") as file:
            while self._next is not None and batch.requests < limits.requests:
                request, worst = self._next, run.worst(self._next)
                prompt, _ = worst_tokens(request)
                body = {"model": self._chat.model, **request.body}
                line = {"custom_id": request.key, "method": "POST", "url": ENDPOINT, "body": body}
                text = canonical(line).encode("utf-8") + b"\n"
                full = batch.requests and file.tell() + len(text) > limits.megabytes * 1e6
                if worst > run.room or full:
                    break
                enqueued = sum(each.prompt_tokens for each in (*self._open, batch)) + prompt
                if limits.enqueued_tokens and enqueued > limits.enqueued_tokens:
                    if prompt > limits.enqueued_tokens:
                        raise InputError(
                            f"configuration: chat.batch.enqueued_tokens: {limits.enqueued_tokens:,} is less "
                            f"than the tokens that the request {request.name!r} may have by itself "
                            f"({prompt:,}); raise it"
                        )
                    break
                file.write(text)
                batch.requests += 1
                batch.prompt_tokens += prompt
                batch.usd += worst
                run.reserved += worst
                self._held.add(request.key)
                self._next = next(self._waiting, None)
        if not batch.requests:
            self._path(batch).unlink()
            return None
        self._save(batch)
        return batch

    def _advance(self, batch: OpenBatch, in_doubt: bool) -> None:
        """Takes the steps that are left: uploading, creating.

        `in_doubt`: an earlier run may have taken the next step without recording it.
        """
        self._open.append(batch)
        if not batch.file:
            batch.file = self.server.upload(batch, self._path(batch), in_doubt)
            self._save(batch)
        if not batch.batch:
            batch.batch = self.server.create(batch, in_doubt)
            self._save(batch)
            say(f"batch {batch.batch} of {batch.requests:,} requests is on its way ({batch.name})")

    def _wait(self) -> None:
        """Asks for the state of the open batches after `poll` seconds, and fetches those that have ended."""
        time.sleep(self._chat.batch.poll)
        done = 0
        for batch in list(self._open):
            remote = self.server.retrieve(batch)
            counts = remote.request_counts
            done += (counts.completed + counts.failed) if counts else 0
            if remote.status in ENDED:
                self._fetch(batch, remote)
                self._remove(batch)
                self._open.remove(batch)
                self._run.reserved -= batch.usd
                if self._refused:
                    raise InputError(f"{self._chat.server} refuses: {self._refused}")
                self._check_end(remote)
        total = sum(batch.requests for batch in self._open)
        if total:
            self._run.say(f"open batches: {len(self._open)}, in them {done:,} of {total:,} done")

    def _check_end(self, remote: Batch) -> None:
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
        sent = _sent(self._path(batch))
        path = self._path(batch).with_suffix(".results")
        for name in (remote.output_file_id, remote.error_file_id):
            if name:
                self.server.download(name, path)
                with path.open("rb") as file:
                    for line in map(self._run.redactor.body, file):
                        self._read(line, batch, sent)
        if remote.status != "failed":
            for request in sent.values():
                self._failed(request, batch, Failure("again", "no line in the batch's results"))

    def _read(self, line: bytes, batch: OpenBatch, sent: dict[str, Request]) -> None:
        """Settles the request of a line of results, and takes it out of those that were sent."""
        try:
            outcome = msgspec.json.decode(line, type=Outcome)
        except (ValueError, RecursionError):
            answer = self._run.redactor.text(line.decode("utf-8", "replace"))
            say(f"{batch.batch}: skipped a line that is no result: {answer[:80]!r}")
            return
        request = sent.pop(outcome.custom_id, None)
        if request is None:
            return
        self.tries[request.key] += 1
        verdict = outcome.verdict()
        if isinstance(verdict, Reply):
            self._run.keep(request, believed(verdict, request), batch.name, self.tries[request.key])
            self.again.pop(request.key, None)
        else:
            self._failed(request, batch, verdict)

    def _failed(self, request: Request, batch: OpenBatch, failure: Failure) -> None:
        failure = self._run.decided(failure)
        if failure.billed:
            self._run.lose(request, batch.name)
        if failure.kind == "stop":
            self._refused = failure.error
        elif failure.kind == "again":
            self.again[request.key] = failure.error
            self._held.discard(request.key)
        else:
            self._run.give_up(request, failure.error, self.tries[request.key])

    def _path(self, batch: OpenBatch) -> Path:
        return self._folder / f"{batch.name}.jsonl"

    def _save(self, batch: OpenBatch) -> None:
        with atomic_path(self._folder / f"{batch.name}.json") as temporary:
            temporary.write_bytes(msgspec.json.encode(batch))

    def _remove(self, batch: OpenBatch) -> None:
        (self._folder / f"{batch.name}.json").unlink(missing_ok=True)
        sweep(self._folder)


def _sent(path: Path) -> dict[str, Request]:
    """The requests in a batch's file, by key. Raises InputError if the file is lost or damaged."""
    found = {}
    try:
        with path.open("rb") as file:
            for line in map(msgspec.json.decode, file):
                key, body = line["custom_id"], line["body"]
                del body["model"]
                found[key] = Request(key, key, canonical(body))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise _damaged(path, str(error)) from error
    return found


def _damaged(path: Path, why: str) -> InputError:
    record = path.with_suffix(".json").name
    return InputError(f"{path}: no requests of an open batch ({why}); remove {record} to give the batch up")


def sweep(folder: Path) -> None:
    """Removes files of batches that are not open, which a killed run may have left."""
    for path in folder.glob("*"):
        if writer_of_name(path.name):
            remove_unfinished(path)
        own = re.fullmatch(r"(factdrift-[0-9a-f]{16})\.(jsonl|results)", path.name)
        if own and not (folder / f"{own[1]}.json").exists():
            path.unlink()

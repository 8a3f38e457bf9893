"""The calls of the Batch API: each is repeated after transient failures, and creates nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import httpx2
import openai
from openai.types import Batch, FileObject

from factdrift.chat.batch_files import ENDPOINT, OpenBatch
from factdrift.chat.replies import Malformed, judge
from factdrift.chat.settings import Chat
from factdrift.core.errors import InputError, Redactor
from factdrift.core.retry import Retries, TransientError

T = TypeVar("T")

ENDED = ("completed", "expired", "cancelled", "failed")
_LOOK_BACK = 86_400.0
"""Seconds by which the clocks may differ: things older than that do not belong to this batch."""


class BatchServer:
    """Every method raises InputError if the server refuses, or if all tries fail."""

    def __init__(self, chat: Chat, key: str, failed: Callable[[], None]) -> None:
        """`failed` is called for each try that fails."""
        self._chat, self._noted = chat, failed
        self.redactor = Redactor(key)
        # No key at all would make the client look for one elsewhere.
        self._client = openai.OpenAI(
            api_key=key or "none", base_url=chat.server, max_retries=0, timeout=chat.timeout
        )

    def close(self) -> None:
        self._client.close()

    def upload(self, batch: OpenBatch, path: Path, in_doubt: bool) -> str:
        """Uploads the requests; returns the file's id. `in_doubt`: it may have been uploaded already."""
        return self._once(
            "uploading", batch, self._find_file, lambda each: self._upload(each, path), in_doubt
        )

    def create(self, batch: OpenBatch, in_doubt: bool) -> str:
        """Creates the batch from the uploaded file; returns its id."""
        return self._once("creating", batch, self._find_batch, self._create, in_doubt)

    def find(self, batch: OpenBatch) -> str:
        """The id of a batch that may have been created; "" if it was not."""
        if not batch.file:
            batch.file = self._call(f"looking for {batch.name}", lambda: self._find_file(batch)) or ""
        if not batch.file:
            return ""
        return self._call(f"looking for {batch.name}", lambda: self._find_batch(batch)) or ""

    def retrieve(self, batch: OpenBatch) -> Batch:
        return self._call(
            f"asking for batch {batch.batch}", lambda: _made(self._client.batches.retrieve(batch.batch))
        )

    def cancel(self, batch: OpenBatch) -> None:
        self._call(f"cancelling batch {batch.batch}", lambda: _made(self._client.batches.cancel(batch.batch)))

    def download(self, file: str, path: Path) -> None:
        self._call(f"fetching {file}", lambda: self._download(file, path))

    def _once(
        self,
        doing: str,
        batch: OpenBatch,
        find: Callable[[OpenBatch], str | None],
        make: Callable[[OpenBatch], str],
        in_doubt: bool,
    ) -> str:
        """Calls `make` unless `find` returns the thing already; after a failed try it may exist."""
        doubt = in_doubt

        def attempt() -> str:
            nonlocal doubt
            if doubt and (there := find(batch)):
                return there
            doubt = True
            return make(batch)

        return self._call(f"{doing} {batch.name}", attempt)

    def _upload(self, batch: OpenBatch, path: Path) -> str:
        with path.open("rb") as file:
            sent = (f"{batch.name}.jsonl", file)
            return _made(self._client.files.create(file=sent, purpose="batch")).id

    def _create(self, batch: OpenBatch) -> str:
        made = self._client.batches.create(
            input_file_id=batch.file,
            endpoint=ENDPOINT,
            completion_window="24h",
            metadata={"name": batch.name},
        )
        return _made(made).id

    def _find_file(self, batch: OpenBatch) -> str | None:
        name = f"{batch.name}.jsonl"
        files = _listed(lambda: self._client.files.list(purpose="batch", order="desc"))
        return _first(((each.id, each.created_at, each.filename == name) for each in files), batch.began)

    def _find_batch(self, batch: OpenBatch) -> str | None:
        made = _listed(lambda: self._client.batches.list(limit=100))
        return _first(
            ((each.id, each.created_at, each.input_file_id == batch.file) for each in made), batch.began
        )

    def _download(self, file: str, path: Path) -> None:
        """Raises Malformed if what comes is not the file that the server describes."""
        size = _made(self._client.files.retrieve(file)).bytes
        try:
            with self._client.files.with_streaming_response.content(file) as response:
                response.stream_to_file(path)
        except httpx2.HTTPError as error:  # what breaks a stream comes as it is
            raise Malformed(str(error)) from error
        if path.stat().st_size != size:
            raise Malformed(f"{path.stat().st_size:,} bytes came of {size:,}")

    def _call(self, doing: str, call: Callable[[], T]) -> T:
        where = f"{doing} at {self._chat.server}"
        retries = Retries(self._chat.policy, where)
        while True:
            try:
                return call()
            except (openai.OpenAIError, ValueError, RecursionError) as error:
                failure = judge(error)
            self._noted()
            text = self.redactor.text(failure.error)
            if failure.kind != "again":
                raise InputError(
                    f"{where}: {text}. Nothing is lost: run the same command again when that is fixed"
                )
            retries.failed(TransientError(text, failure.after))


Made = TypeVar("Made", Batch, FileObject)


def _made(thing: Made) -> Made:
    """Returns the batch or file that the server has sent. Raises Malformed if it is something else."""
    if not isinstance(getattr(thing, "id", None), str):
        raise Malformed(f"no answer but {str(thing)!r}")
    return thing


def _listed(ask: Callable[[], Iterable[Made]]) -> Iterator[Made]:
    """The entries of a list, over all its pages. Raises Malformed if a page is not a list."""
    try:
        yield from ask()
    except AttributeError as error:  # the client's own, at a page that is not JSON
        raise Malformed("no list") from error


def _first(things: Iterable[tuple[str, int | None, bool]], began: float) -> str | None:
    """The id of the first thing that fits.

    `things`: (id, seconds since 1970 of its creation, whether it fits), the newest first.
    """
    for name, made, fits in things:
        if fits:
            return name
        if made is not None and made < began - _LOOK_BACK:
            return None
    return None

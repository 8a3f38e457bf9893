"""The calls of the Batch API: each is repeated after transient failures, and creates nothing twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx2
import msgspec
import openai
from openai.types import Batch, FileObject

from factdrift.chat.prices import Run
from factdrift.chat.replies import Failure, Malformed, Reply, judge, judge_status, read_reply
from factdrift.core.errors import InputError
from factdrift.core.retry import Retries, TransientError

T = TypeVar("T")
Made = TypeVar("Made", Batch, FileObject)

ENDED = ("completed", "expired", "cancelled", "failed")
ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"


class OpenBatch(msgspec.Struct, kw_only=True):
    """A batch that is not known to have ended."""

    name: str
    server: str
    requests: int = 0
    prompt_tokens: int = 0
    usd: float = 0.0
    """Cost of all answers at most, in US dollars."""
    file: str = ""
    batch: str = ""
    """Ids of the uploaded file and of the batch at the server, "" before they are known."""


class _Error(msgspec.Struct):
    code: Any = None
    message: str | None = None


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _ErrorBody(msgspec.Struct):
    error: _Error | None = None


class Outcome(msgspec.Struct):
    """A line of a batch's output file or error file."""

    custom_id: str
    response: _Response | None = None
    error: _Error | None = None

    def verdict(self) -> Reply | Failure:
        """The answer, or why there is none."""
        response, error = self.response, self.error
        if response is None:
            return Failure("again", f"{error.code}: {error.message}" if error else "no response")
        body = bytes(response.body)
        if response.status_code == 200:
            try:
                return read_reply(body)
            except Malformed as malformed:
                return Failure("again", f"malformed: {malformed}", billed=True)
        try:
            said = msgspec.json.decode(body, type=_ErrorBody).error or _Error()
        except (ValueError, RecursionError):
            said = _Error()
        message = said.message or body.decode("utf-8", "replace")
        return judge_status(response.status_code, said.code, message, headers={})


class BatchServer:
    """Every method raises InputError if the server refuses, or if all tries fail."""

    def __init__(self, run: Run) -> None:
        self._run = run
        # No key at all would make the client look for one elsewhere.
        self._client = openai.OpenAI(
            api_key=run.key or "none", base_url=run.chat.server, max_retries=0, timeout=run.chat.timeout
        )

    def close(self) -> None:
        self._client.close()

    def upload(self, batch: OpenBatch, path: Path, in_doubt: bool) -> str:
        """Uploads the requests; returns the file's id. `in_doubt`: it may have been uploaded already."""

        def make() -> str:
            with path.open("rb") as file:
                return _made(self._client.files.create(file=(path.name, file), purpose="batch")).id

        return self._once(f"uploading {batch.name}", lambda: self._file_of(batch), make, in_doubt)

    def create(self, batch: OpenBatch, in_doubt: bool) -> str:
        """Creates the batch from the uploaded file; returns its id."""

        def make() -> str:
            made = self._client.batches.create(
                input_file_id=batch.file,
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata={"name": batch.name},
            )
            return _made(made).id

        return self._once(f"creating {batch.name}", lambda: self._batch_of(batch), make, in_doubt)

    def retrieve(self, batch: OpenBatch) -> Batch:
        return self._call(
            f"asking for batch {batch.batch}", lambda: _made(self._client.batches.retrieve(batch.batch))
        )

    def download(self, file: str, path: Path) -> None:
        """Raises InputError, too, if what comes is not the file that the server describes.

        Of a file without a size, or of size 0, the last line must be whole.
        """

        def fetch() -> None:
            size = _made(self._client.files.retrieve(file)).bytes
            try:
                with self._client.files.with_streaming_response.content(file) as response:
                    response.stream_to_file(path)
            except httpx2.HTTPError as error:  # what breaks a stream comes as it is
                raise Malformed(str(error)) from error
            if size and path.stat().st_size != size:
                raise Malformed(f"{path.stat().st_size:,} bytes came of {size:,}")
            if not size:
                with path.open("rb") as lines:
                    msgspec.json.decode(next(iter(deque(lines, maxlen=1)), b"{}"))

        self._call(f"fetching {file}", fetch)

    def _file_of(self, batch: OpenBatch) -> str:
        name = f"{batch.name}.jsonl"
        return _first(lambda: self._client.files.list(purpose="batch"), lambda each: each.filename == name)

    def _batch_of(self, batch: OpenBatch) -> str:
        return _first(
            lambda: self._client.batches.list(limit=100), lambda each: each.input_file_id == batch.file
        )

    def _once(self, doing: str, find: Callable[[], str], make: Callable[[], str], in_doubt: bool) -> str:
        """Calls `make` unless `find` returns the thing already; after a failed try it may exist."""
        doubt = in_doubt

        def attempt() -> str:
            nonlocal doubt
            found = find() if doubt else ""
            doubt = True
            return found or make()

        return self._call(doing, attempt)

    def _call(self, doing: str, call: Callable[[], T]) -> T:
        where = f"{doing} at {self._run.chat.server}"
        retries = Retries(self._run.chat.policy, where)
        while True:
            try:
                return call()
            except (openai.OpenAIError, ValueError, RecursionError) as error:
                failure = judge(error)
            self._run.errors += 1
            text = self._run.redactor.text(failure.error)
            if failure.kind != "again":
                raise InputError(
                    f"{where}: {text}. Nothing is lost: run the same command again when that is fixed"
                )
            retries.failed(TransientError(text, failure.after, failure.unreached))


def _made(thing: Made) -> Made:
    """Returns the batch or file that the server has sent. Raises Malformed if it is something else."""
    if not isinstance(getattr(thing, "id", None), str):
        raise Malformed(f"no answer but {str(thing)!r}")
    return thing


def _first(ask: Callable[[], Iterable[Made]], fits: Callable[[Made], bool]) -> str:
    """The id of the first thing that fits in a list, over all its pages; "" if there is none.

    Raises Malformed if a page is not a list.
    """
    try:
        return next((each.id for each in ask() if fits(each)), "")
    except AttributeError as error:  # the client's own, at a page that is not JSON
        raise Malformed("no list") from error

"""Builds and reads requests, and computes their keys.

The key of a request in the store is the SHA-256 of model and body as canonical JSON. Server, API key and
time-outs are not part of it, so that a stored answer serves wherever it came from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.chat.settings import Form
from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet

REQUESTS = schema_of("request body: string")
"""One row per request, in the order in which they are asked: `request` is the caller's name of the row,
unique; `body` is JSON: messages or a prompt, temperature, limits, response format, but not the model."""

_SCHEMA_VERSION = 1
_AT_ONCE = 512
_EXACT = 2**53
_NOT_IN_A_BODY = ("model", "stream", "n")
_ECHO = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
_LIMITS = ("max_completion_tokens", "max_tokens")


class Request(NamedTuple):
    name: str
    """The caller's name of the request, unique in its table."""
    key: str
    text: str
    """The body as canonical JSON, without the model."""

    @property
    def size(self) -> int:
        """Bytes of the body's JSON."""
        return len(self.text.encode("utf-8"))

    @property
    def body(self) -> dict[str, Any]:
        return dict(json.loads(self.text))


def build_body(
    chat: Form, messages: Sequence[dict[str, Any]], schema: dict[str, Any] | None = None, name: str = "answer"
) -> str:
    """The body of a request as canonical JSON, in the form that the settings name.

    `schema`: the JSON schema of the answer, sent if the server can enforce it (`structured`); whoever reads
    the answer must check it in any case. `name`: the schema's name. With `json_object`, servers demand that a
    message contains the word "JSON".
    """
    body: dict[str, Any] = {"messages": list(messages), chat.limit_param: chat.answer_tokens}
    if chat.temperature != "server":
        body["temperature"] = chat.temperature
    if schema is not None and chat.structured == "json_schema":
        form = {"name": name, "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    elif schema is not None and chat.structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    return canonical({**body, **chat.extra})


def text_body(chat: Form, text: str, stop: str = "") -> str:
    """The body of a request to continue a text, up to `stop` unless it is empty."""
    body: dict[str, Any] = {"prompt": text, "max_tokens": chat.answer_tokens}
    if chat.temperature != "server":
        body["temperature"] = chat.temperature
    return canonical(body | ({"stop": [stop]} if stop else {}) | chat.extra)


def likelihood_body(chat: Form, text: str) -> str:
    """The body of a request for the log-probabilities of a text's own tokens.

    The server writes a single token, because some refuse to write none.
    """
    return canonical({"prompt": text} | chat.extra | _ECHO)


def write_bodies(bodies: Iterable[tuple[str, str]], output: Path) -> int:
    """Writes REQUESTS of names and bodies; returns their number."""
    rows = [{"request": name, "body": body} for name, body in bodies]
    return write_parquet(pa.Table.from_pylist(rows, schema=REQUESTS), output)


def write_texts(texts: Iterable[tuple[str, str]], chat: Form, output: Path) -> int:
    """Writes REQUESTS of names and texts, each the only message of a user; returns their number."""
    bodies = ((name, build_body(chat, [{"role": "user", "content": text}])) for name, text in texts)
    return write_bodies(bodies, output)


def canonical(value: Any) -> str:
    """JSON with sorted keys and without white space; 1.0 is written as 1.

    Raises ValueError for what JSON or UTF-8 cannot express: NaN, infinities, halves of surrogate pairs.
    """
    text = json.dumps(
        _whole_numbers(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    text.encode("utf-8")
    return text


def key_of(model: str, text: str) -> str:
    """The key of a request: `text` is the body's canonical JSON."""
    named = f'{{"body":{text},"model":{canonical(model)},"schema":{_SCHEMA_VERSION}}}'
    return hashlib.sha256(named.encode("utf-8")).hexdigest()


def answer_limit(body: dict[str, Any]) -> int | None:
    """The tokens that the answer may have, None if the body does not limit them."""
    limits = [body[name] for name in _LIMITS if type(body.get(name)) is int]
    # -1 means without limit for some servers.
    limits = [limit for limit in limits if 0 < limit < _EXACT]
    return min(limits) if limits else None


def read_requests(path: Path, model: str) -> Iterator[list[Request]]:
    """The rows of a REQUESTS table in their order, some hundreds at a time.

    Raises InputError that names the file and the request if a body cannot be used.
    """
    with _opened(path) as file:
        for batch in file.iter_batches(_AT_ONCE, columns=REQUESTS.names):
            rows = zip(*(batch.column(name).to_pylist() for name in REQUESTS.names), strict=True)
            yield [_request(path, name, body, model) for name, body in rows]


def distinct_requests(path: Path, model: str) -> Iterator[list[Request]]:
    """As `read_requests`; of requests with equal bodies only the first."""
    earlier: set[bytes] = set()
    for batch in read_requests(path, model):
        fresh: dict[bytes, Request] = {}
        for request in batch:
            fresh.setdefault(bytes.fromhex(request.key), request)
        yield [request for key, request in fresh.items() if key not in earlier]
        earlier.update(fresh)


def check_names(path: Path) -> int:
    """The number of requests. Raises InputError if the file is not such a table, or a name occurs twice."""
    with _opened(path) as file:
        names = file.read(columns=["request"])["request"]
    if names.null_count or pc.count_distinct(names).as_py() < len(names):
        counts = pc.value_counts(names).to_pylist()
        twice = next(count["values"] for count in counts if count["counts"] > 1 or count["values"] is None)
        what = "has no name" if twice is None else "occurs more than once"
        raise InputError(f"{path}: the request {twice!r} {what}; names must be unique")
    return len(names)


def _opened(path: Path) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: cannot be read as a table of requests: {error}") from error
    types = {field.name: field.type for field in file.schema_arrow}
    for field in REQUESTS:
        if types.get(field.name) != field.type:
            file.close()
            raise InputError(f"{path}: a table of requests needs a column {field.name} of type {field.type}")
    return file


def _request(path: Path, name: str, text: str | None, model: str) -> Request:
    try:
        body = json.loads(text or "")
        turns, prompt = (body.get("messages"), body.get("prompt")) if isinstance(body, dict) else (None, None)
        if not (isinstance(turns, list) and turns) and not (isinstance(prompt, str) and prompt):
            raise ValueError("it is not an object with `messages`, or a text as `prompt`")
        if foreign := [field for field in _NOT_IN_A_BODY if field in body]:
            raise ValueError(f"`{foreign[0]}` is not allowed in it")
        text = canonical(body)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: the body of the request {name!r} cannot be used: {error}") from error
    return Request(name, key_of(model, text), text)


def _whole_numbers(value: Any) -> Any:
    """The value with 0.0 as 0, because configuration and command line write a number in several ways."""
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value

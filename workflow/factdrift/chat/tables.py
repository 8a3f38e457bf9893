"""Schemas of the tables of requests, answers and stored answers."""

from __future__ import annotations

import pyarrow as pa

REQUESTS = pa.schema([("request", pa.string()), ("body", pa.string())])
"""One row per request, in the order in which they are asked: `request` is the caller's name of the row,
unique; `body` is JSON: messages, temperature, limits, response format, but not the model."""

_SAID = [(name, pa.string()) for name in ("status", "content", "refusal", "finish_reason", "model")]
_TOKENS = [(name, pa.int64()) for name in ("prompt_tokens", "completion_tokens")]
_ERROR = ("error", pa.string())

ANSWERS = pa.schema([("request", pa.string()), ("key", pa.string()), *_SAID, *_TOKENS, _ERROR])
"""One row per request, in the order of the requests: `key` is the SHA-256 of model and body; `status` is
`answered` or `failed`; `model` is the version that the server names. A row that failed has the `error` of the
last try, and null in all columns from `content` to `completion_tokens`."""

STORED = pa.schema(
    [
        *((name, pa.string()) for name in ("key", "requested_model", "body")),
        *_SAID,
        ("fingerprint", pa.string()),
        *_TOKENS,
        _ERROR,
    ]
)
"""One row per request in the store, in the order of `key`, the SHA-256 of `requested_model` and `body`. Times
and numbers of tries are left out, so that equal answers make equal files. The other columns are as in
ANSWERS."""

"""Tables that a job of a stream writes. Does not import torch."""

from __future__ import annotations

import pyarrow as pa

STREAM_PROBES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "method")),
        ("interval", pa.int32()),
        *((name, pa.string()) for name in ("edit", "kind")),
        ("number", pa.int16()),
        ("logprob", pa.float64()),
        ("tokens", pa.int32()),
        ("exact", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""One row for each probe that is put after an interval; `number` is its index in the edit's probes."""

INTERVALS = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "method")),
        ("interval", pa.int32()),
        *((name, pa.string()) for name in ("old_date", "new_date")),
        *((name, pa.int32()) for name in ("edits", "failed", "so_far", "entries")),
        ("state_bytes", pa.int64()),
        ("perplexity", pa.float64()),
        ("tasks", pa.string()),
    ]
)
"""One row for each interval: what was made, what is kept beside the model, and its general ability."""

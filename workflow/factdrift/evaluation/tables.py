"""The tables that the loop writes: answers, edits and states of one model that was told one thing."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

META = [
    *((name, pa.string()) for name in ("model", "revision", "model_digest", "method", "hyper")),
    *((name, pa.string()) for name in ("moments", "prefixes", "mend", "regime")),
    ("group", pa.int32()),
    *((name, pa.string()) for name in ("template", "dtype")),
    *((name, pa.string()) for name in ("torch", "transformers", "factdrift")),
]
"""Provenance columns; digests of files that a method does not use are null."""

ANSWERS = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "method", "benchmark", "question", "edit", "way")),
        ("state", pa.int32()),
        ("interval", pa.int32()),
        ("kind", pa.string()),
        ("role", pa.string()),
        ("logprobs", pa.list_(pa.float64())),
        ("tokens", pa.list_(pa.int32())),
        ("exact", pa.list_(pa.bool_())),
        ("output", pa.string()),
        ("stop", pa.string()),
        ("verdict", pa.string()),
        ("named", pa.list_(pa.string())),
        ("rule", pa.string()),
        ("entropy", pa.float64()),
        ("parsed", pa.int8()),
        ("correct", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""One row for each question, state in which it is asked, and way (docs/tables/evaluation_answers.md)."""

MADE = pa.schema(
    [
        *META,
        *((name, pa.string()) for name in ("source", "edit", "failed", "excluded")),
        ("steps", pa.int32()),
        ("loss", pa.float64()),
        ("state", pa.int32()),
        ("trained", pa.bool_()),
    ]
)
"""One row for each edit, in their order (docs/tables/evaluation_edits.md)."""

STATES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "method")),
        *((name, pa.int32()) for name in ("state", "interval")),
        *((name, pa.string()) for name in ("old_date", "new_date")),
        *((name, pa.int32()) for name in ("edits", "failed", "so_far", "entries")),
        ("state_bytes", pa.int64()),
        ("perplexity", pa.float64()),
        ("tasks", pa.string()),
    ]
)
"""One row for each edited model (docs/tables/evaluation_states.md)."""

TABLES = {"answers": ANSWERS, "edits": MADE, "states": STATES}


def run_id(described: Mapping[str, Any]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of what the rows of a run depend on."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]

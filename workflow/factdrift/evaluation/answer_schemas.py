"""The tables of the stage."""

from __future__ import annotations

import pyarrow as pa

PREDICTIONS = pa.schema(
    [
        *((name, pa.string()) for name in ("run_id", "model", "scoring", "condition", "item_id")),
        ("output", pa.string()),
        ("parsed", pa.int8()),
        ("correct", pa.bool_()),
        ("logprobs", pa.list_(pa.float64())),
        ("reason", pa.string()),
    ]
)
"""One row for each item, condition and way of scoring. `logprobs` are those of the four options, by
`normalise`; null for letters. `reason` says why there is no answer; `correct` is null then."""

SCORES = pa.schema(
    [
        *((name, pa.string()) for name in ("items", "model", "scoring", "condition", "task")),
        ("hop", pa.int8()),
        *((name, pa.int32()) for name in ("n", "right", "unparsed", "unanswered", "beyond_cutoff")),
        ("accuracy", pa.float64()),
        *(
            (f"{name}_{end}", pa.float64())
            for name in ("wilson", "by_timeline", "by_asked_fact")
            for end in ("low", "high")
        ),
        ("asked_facts", pa.int32()),
        ("accuracy_of_asked_facts", pa.float64()),
    ]
)
"""One row for each selection of items, model, way of scoring, condition, task and hop."""

CLOZES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "benchmark", "role", "fact", "prompt", "object")),
        ("logprob", pa.float64()),
        ("exact", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""One row for each cloze test and object, in the order of the benchmarks."""

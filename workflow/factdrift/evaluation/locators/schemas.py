"""The tables of a locator's job."""

from __future__ import annotations

import pyarrow as pa

LOCATED = pa.schema(
    [
        ("sentence", pa.string()),
        ("subtask", pa.string()),
        ("reason", pa.string()),
        ("target", pa.int32()),
        ("target_text", pa.string()),
        ("probability", pa.float64()),
        ("known", pa.bool_()),
        ("mean", pa.float64()),
        ("sd", pa.float64()),
        ("layers", pa.list_(pa.float64())),
        ("top", pa.list_(pa.int32())),
    ]
)
"""One row for each sentence. `reason`: why it is not scored (docs/models.md); other columns are then null.
`target`: the token whose probability is explained, with its `probability`; `known`: it is the likeliest one
(null in KLoB-u, where it is chosen so). `mean`, `sd`: of all units' scores; NaN if one is not finite.
`layers`: sums of the scores over the units of each block. `top`: the best units, the best first."""

KNOWN = pa.schema([field for field in LOCATED if field.name not in ("mean", "sd", "top")])
"""The columns of LOCATED that are no part of the scores, one row for each sentence, in their order."""

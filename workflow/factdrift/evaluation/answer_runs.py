"""What all runs share: conditions, ids, and the order of predictions. Does not import torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa


def ordered(predictions: pa.Table) -> pa.Table:
    """The rows by way of scoring, condition and item."""
    return predictions.sort_by([(name, "ascending") for name in ("scoring", "condition", "item_id")])


def run_id(described: Mapping[str, Any]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of what the rows of a run depend on."""
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

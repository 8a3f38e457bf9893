"""JSON in the form in which Wikidata's software writes it."""

from __future__ import annotations

import json
from typing import Any


def php_json(value: Any) -> bytes:
    """JSON as PHP's json_encode writes it: without blanks, with all but ASCII and slashes escaped."""
    return json.dumps(value, separators=(",", ":")).replace("/", "\\/").encode("ascii")

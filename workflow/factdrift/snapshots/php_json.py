"""JSON as Wikidata's software writes it."""

from __future__ import annotations

import json
from typing import Any


def php_json(value: Any) -> bytes:
    """JSON as PHP's json_encode writes it: no blanks; what is not ASCII is escaped, and so are slashes."""
    return json.dumps(value, separators=(",", ":")).replace("/", "\\/").encode("ascii")

"""The API key is removed from whatever a server sends, before anything of it is kept or shown."""

from __future__ import annotations

import json
from typing import Any

MASK = "[key]"
LONGEST = 500
"""Characters of a server's words that a message repeats."""
_SECRET = 8
"""Characters from which a key is removed from answers too: servers of one's own take placeholders such as
`none` or `EMPTY`, and these words may well be part of an answer."""


class Redactor:
    """Replaces one key; an empty key replaces nothing."""

    def __init__(self, key: str) -> None:
        self._key = key
        quoted = json.dumps(key)[1:-1]
        # JSON may write a slash with a backslash before it.
        self._written = [each for each in {key, quoted, quoted.replace("/", "\\/")} if each]

    def text(self, text: str) -> str:
        """What a message repeats: without the key, in valid Unicode, at most LONGEST characters.

        The key is replaced before the text is cut, so that no part of it is left at the end.
        """
        for written in self._written:
            text = text.replace(written, MASK)
        return text.encode("utf-8", "replace").decode("utf-8")[:LONGEST]

    def body(self, data: bytes) -> bytes:
        """The body of a response without the key; as it came if the key is not in it."""
        if len(self._key) < _SECRET:
            return data
        for written in self._written:
            data = data.replace(written.encode("ascii"), MASK.encode("ascii"))
        if b"\\u" in data:
            data = self._unescaped(data)
        return data

    def _unescaped(self, data: bytes) -> bytes:
        """Replaces a key that JSON writes with escaped letters (`\\u0073k-...`)."""
        try:
            value = json.loads(data)
            if self._key in _texts(value):
                return json.dumps(self._replaced(value)).encode("ascii")
        except (ValueError, RecursionError):
            pass  # no JSON, which the reader of the body reports
        return data

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._replaced(name): self._replaced(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._replaced(each) for each in value]
        return value.replace(self._key, MASK) if isinstance(value, str) else value


def _texts(value: Any) -> str:
    """All texts of a JSON value, one a line."""
    if isinstance(value, dict):
        return "\n".join(f"{name}\n{_texts(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "\n".join(_texts(each) for each in value)
    return value if isinstance(value, str) else ""

"""Errors that are reported to the user without a traceback, and the removal of secrets from what is reported.

A key is removed from what a server sends, and the passwords and signatures of addresses from any text.
"""

import difflib
import re
from collections.abc import Iterable

from factdrift.core.commands import runnable

MASK = "[key]"
LONGEST = 500
"""Characters of a server's words that a message repeats."""
_KEPT = 2_000
"""Characters at the beginning and at the end of a message that are kept."""
_SECRET = 8
"""Characters from which a key is removed from answers too: servers of one's own take placeholders such as
`none` or `EMPTY`, and these words may well be part of an answer."""

_LOGIN = re.compile(
    r"(?i)((?:\b[a-z][a-z0-9+.-]*:)?(?://|%2F%2F))(?:[^/?#\s%]|%(?!2F|3F|23)[0-9A-F]{2})*(@|%40)"
)
_BARE_LOGIN = re.compile(r"(?<![^\s'\"(<])[\w.~-]+:[^\s/@]+(@[\w.-]+[/:])")
"""A user and a password before a server, of an address whose scheme was forgotten."""
_NAME = (
    r"(?:[\w.~-]*(?:sig|signature|token|secret|pass(?:w(?:or)?d)?|pwd|credential|jwt|hmac|api[-_.]?key|access[-_.]?key(?:[-_.]?id)?)"
    r"|key|key-pair-id|[\w.~-]*[-_a-z]key|policy|auth(?:orization)?)"
)
_PARAMETER = re.compile(
    rf"(?i)((?:[?&;]|%3F|%26){_NAME}(?:=|%3D))(?!\[key\])(?:[^&;#:\s'\"<>%]|:(?!\s|$)|%(?!26|23)[0-9A-F]{{2}})+"
)
"""A parameter of a query whose name says that its value is a secret, also of an address that is itself the
value of a parameter."""


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but tab and line feed: a server's words, or a file's name, could steer a terminal."""


def redacted(text: str) -> str:
    """The text with MASK in the place of logins and of secret parameters in addresses.

    Addresses may be percent-encoded, cut or without their server.
    """
    text = _BARE_LOGIN.sub(rf"{MASK}\1", _LOGIN.sub(rf"\1{MASK}\2", text))
    return _PARAMETER.sub(rf"\1{MASK}", text)


def readable(text: str) -> str:
    """A message as a terminal shows it: without secrets and control characters, and cut in the middle if it
    repeats a very long value."""
    text = _CONTROL.sub(" ", redacted(text))
    if len(text) > 2 * _KEPT:
        text = f"{text[:_KEPT]} [{len(text) - 2 * _KEPT:,} characters] {text[-_KEPT:]}"
    return text


class InputError(Exception):
    """Something that the user gave cannot be used; the message names the file, line or key and the remedy.

    Passwords and signatures of addresses, and control characters, in the message are replaced, commands are
    written as they can be typed (`runnable`), and a very long message is cut in the middle.
    """

    def __init__(self, message: str) -> None:
        super().__init__(readable(runnable(message)))


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name most like a name, whatever the case, `_` and `-`; None if none is `alike` (0 to 1)."""
    folded = {re.sub("[_-]", "", other).lower(): other for other in known}
    similar = difflib.get_close_matches(re.sub("[_-]", "", name).lower(), folded, 1, alike)
    return folded[similar[0]] if similar else None


def meant(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """` (did you mean X?)` for a message about a name that is not known; empty if no known one is like it."""
    similar = nearest(name, known, alike)
    return f" (did you mean {similar}?)" if similar else ""


class CannotEdit(InputError):
    """An editing method cannot edit a model, whatever its hyper-parameters; the message says why.

    A run of several methods skips this one and reports the reason, unless `strict` is configured.
    """


class DamagedDump(InputError):
    """A dump cannot be used: it is cut or corrupt, not the published file, or has too many bad lines.

    Commands print it behind `DAMAGED`, by which `factdrift refresh` finds it in the log of a job.
    """


DAMAGED = "damaged dump: "


class Unsupported(CannotEdit):
    """No method can edit a model, because it cannot be run here as it would have to be; the message says why.

    A run of several models skips this one, with all of its methods.
    """


class Redactor:
    """Replaces one key, however it is written; an empty key replaces nothing."""

    def __init__(self, key: str) -> None:
        self._long = len(key) >= _SECRET
        self._written = re.compile("".join(map(_written, key))) if key else None

    def text(self, text: str) -> str:
        """What a message repeats: `redacted`, without the key, in valid Unicode, at most LONGEST characters.

        The key is replaced before the text is cut, so that no part of it is left at the end.
        """
        if self._written:
            text = self._written.sub(MASK, text)
        return redacted(text).encode("utf-8", "replace").decode("utf-8")[:LONGEST]

    def body(self, data: bytes) -> bytes:
        """The body of a response without the key; as it came if the key is not in it."""
        if not self._written or not self._long:
            return data
        # Every byte is a character of Latin-1, and the key is ASCII.
        text = data.decode("latin-1")
        return self._written.sub(MASK, text).encode("latin-1") if self._written.search(text) else data


def _written(letter: str) -> str:
    """A pattern of a letter as it is or as JSON, an address (also one in another) or HTML write it."""
    number = ord(letter)
    forms = [
        re.escape(letter),
        rf"\\+{re.escape(letter)}",
        rf"\\+u(?i:{number:04x})",
        rf"&#0*{number};",
        rf"&#[xX]0*(?i:{number:x});",
        "".join(rf"%(?:25)*(?i:{byte:02x})" for byte in letter.encode("utf-8", "surrogatepass")),
    ]
    return f"(?:{'|'.join(forms)})"

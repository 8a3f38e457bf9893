"""Reads the answers of a chat model: their sentences, or the reason why there are none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from factdrift.verbalize.language import Language
from factdrift.words.mentions import name_key

UNUSED = ("failed", "refused", "truncated", "empty", "malformed", "wrong_language")
"""Kinds of answers of which no sentence is used."""

KINDS = (*UNUSED, "wrong_count", "duplicated", "ok")
"""The kinds of answers; the first that applies counts. Sentences of the last three are judged one by one."""

_FENCE = re.compile(r"^\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(r"^\s*(?:\d{1,3}\s*[.):]|[-*•])\s+(\S.*?)\s*$", re.MULTILINE)


class Parsed(NamedTuple):
    """The kind of an answer (KINDS) and its sentences in order, as written, repeated ones included."""

    kind: str
    sentences: Sequence[str]


def parse(answer: Mapping[str, Any], names: Sequence[str], count: int, language: Language) -> Parsed:
    """Reads a row of `factdrift.chat.store.ANSWERS` to a request for `count` sentences about `names`.

    A JSON object with one list of texts, a JSON list of texts, and numbered or dashed lines are all accepted,
    whichever was asked for, with or without a code fence. Sentences beyond `count` are left out. An answer
    that the token limit cut off is not used at all.
    """
    if answer["status"] != "answered":
        return Parsed("failed", ())
    content = (answer["content"] or "").strip()
    if answer["refusal"] or answer["finish_reason"] == "content_filter":
        return Parsed("refused", ())
    if answer["finish_reason"] == "length":
        return Parsed("truncated", ())
    if not content:
        return Parsed("empty", ())
    sentences = _listed(content)
    if sentences is None:
        refused = content.replace("’", "'").startswith(language.texts.refusals)
        return Parsed("refused" if refused else "malformed", ())
    written = [sentence.strip() for sentence in sentences if sentence.strip()]
    if not written:
        return Parsed("empty", ())
    unnamed = " ".join(written)
    for name in names:
        unnamed = unnamed.replace(name, " ")
    if language.is_other(unnamed):
        return Parsed("wrong_language", ())
    kind = "ok" if len(set(map(sentence_key, written))) == len(written) else "duplicated"
    return Parsed(kind if len(written) == count else "wrong_count", written[:count])


def sentence_key(sentence: str) -> str:
    """A key that is equal for sentences that differ only in case, diacritics and final punctuation."""
    return name_key(sentence).strip(".\"' ")


def _listed(content: str) -> list[str] | None:
    """The sentences of an answer; None if it has none of the accepted forms."""
    if fenced := _FENCE.match(content):
        content = fenced[1].strip()
    try:
        decoded = json.loads(content)
    except (ValueError, RecursionError):
        return _LINE.findall(content) or None
    if isinstance(decoded, dict) and len(decoded) == 1:
        [decoded] = decoded.values()
    if isinstance(decoded, list) and all(isinstance(text, str) for text in decoded):
        return decoded
    return None

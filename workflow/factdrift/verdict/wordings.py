"""The words that are about what a question asks for, such as `census` for a population.

They are those of the templates of its relation, and of the senses in the table of cue words.
"""

from __future__ import annotations

import re
from functools import lru_cache

from factdrift.core.paths import TEMPLATES
from factdrift.core.tables import rows_of
from factdrift.verdict.cues import Cues
from factdrift.verdict.text import keys_of

_ENDING = re.compile(r"(?<=...)(?:ership|ing|ers|ed|es|er|or|s)$")
_SLOT = re.compile(r"\{\w+\}")
_COMMON = ("article", "starter", "verb", "of", "to", "from", "by", "locative", "object", "particle", "known")
"""Rows of words that say nothing of the relation."""


def stem(key: str) -> str:
    return _ENDING.sub("", key)


@lru_cache
def _phrases() -> dict[str, list[tuple[str, ...]]]:
    """Relation -> the keys of its label and of each of its templates."""
    phrases: dict[str, list[tuple[str, ...]]] = {}
    for _, (relation, label, template) in rows_of(TEMPLATES, ("property", "label", "template")):
        own = phrases.setdefault(relation, [keys_of(label)])
        own.append(keys_of(_SLOT.sub(" ", template)))
    return phrases


@lru_cache(maxsize=1 << 12)
def about(asked: tuple[str, ...], cues: Cues) -> frozenset[str]:
    """The words that are about what is asked for, by the words of a question."""
    senses, stems = cues.values["sense"], {stem(key) for key in asked}
    own = {sense for key in asked for sense in senses.get(key, "").split("+") if sense}
    words = {key for key, sense in senses.items() if not own.isdisjoint(sense.split("+"))}
    for phrases in _phrases().values():
        told = (
            {stem(key) for key in keys if not any(cues.has(row, key) for row in _COMMON)} for keys in phrases
        )
        if any(content and content <= stems for content in told):
            words.update(key for keys in phrases for key in keys if not cues.has("foreign", key))
    return frozenset(words)

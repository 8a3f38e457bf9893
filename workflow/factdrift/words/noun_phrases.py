"""Noun phrases of relations, such as "the capital of {x}", which are nested for a chain of facts.

One table, `resources/words/noun_phrases.tsv`, serves KLoB and TempRIPPLE. `wh` is the word that asks for the
phrase (Who, What); `with_ordinal` is the phrase for one holder among several in time ("the {ord} head of
state of {x}"), empty where the relation has none.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import NOUN_PHRASES
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import listed_property

COLUMNS = ("property", "label", "wh", "phrase", "with_ordinal")
SUBJECT, ORDINAL = "{x}", "{ord}"

_BLANK = re.compile(r"\{[^{}]*\}")


class NounPhrase(NamedTuple):
    """A row of the table; `label` is the property's English label in Wikidata."""

    label: str
    wh: str
    phrase: str
    with_ordinal: str


@lru_cache(maxsize=8)
def read_noun_phrases(path: Path = NOUN_PHRASES) -> Mapping[int, NounPhrase]:
    """Property number -> phrase, from a table with COLUMNS.

    Raises InputError, with the line, for an invalid or repeated id, another question word, or a phrase with
    other blanks than it should have.
    """
    phrases: dict[int, NounPhrase] = {}
    for line, (identifier, *fields) in rows_of(path, COLUMNS):
        where = f"{path}, line {line}"
        entry = NounPhrase(*fields)
        number = listed_property(identifier, where)
        if number in phrases:
            raise InputError(f"{where}: {identifier} has a row already; remove one of the two")
        if entry.wh not in ("Who", "What"):
            raise InputError(f"{where}: wh is {entry.wh!r}; write Who or What")
        if _BLANK.findall(entry.phrase) != [SUBJECT]:
            raise InputError(f"{where}: the phrase {entry.phrase!r} must have {SUBJECT} once, no other blank")
        if entry.with_ordinal and _BLANK.findall(entry.with_ordinal) != [ORDINAL, SUBJECT]:
            raise InputError(
                f"{where}: the phrase {entry.with_ordinal!r} must have {ORDINAL}, then {SUBJECT}, once each"
            )
        phrases[number] = entry
    return phrases


def nested(phrases: Iterable[str], subject: str) -> str:
    """Nests the phrases around `subject`, the first innermost: "the employer of the spouse of Ada"."""
    for phrase in phrases:
        before, _, after = phrase.partition(SUBJECT)
        subject = f"{before}{subject}{after}"
    return subject

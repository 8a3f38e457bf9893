"""The cue words of a language: `resources/verdict/cues.tsv`, a row for each language and kind.

The rows of `*` hold for every language. Words of a row are separated by `|`; those with a value are written
`word=value`, and `{can/will} not` is `can not` and `will not`. All of them are compared as texts are: without
case, diacritics and punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise, product
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import CUES
from factdrift.core.tables import rows_of
from factdrift.verdict.text import keys_of
from factdrift.words.templates import read_wordings

ALL = "*"
"""The rows of all languages."""
COLUMNS = ("language", "kind", "words")
PHRASES = (
    *("not", "spared", "retracted", "amended", "took_over", "former", "handed_on", "until", "now"),
    *("refused", "contrast", "hedge", "and", "or", "asked", "beside", "whether", "believed"),
    *("bound", "not_followed", "undecided"),
    *("disclaimer", "attempt", "gives", "doubted", "denied", "fictional", "unknown_future", "stays"),
)
"""Kinds that say something about the names around them; the longest phrase counts."""
WORDS = (
    *("article", "title", "abbreviation", "opening", "starter", "suffix", "thing", "verb", "by"),
    *("place", "particle", "direction", "tenure", "holds", "from", "to", "talk", "doubt", "will", "filling"),
    *("predecessor", "successor", "conjunction", "conceded", "locative", "achieved"),
    *("most", "followed", "remains", "when", "apart", "since"),
    *("lasting", "lost", "past", "present", "leads", "plays", "right", "if", "inverted", "speaker", "modal"),
    *("deputy", "of", "formerly", "dated", "then", "limit", "instead", "neither", "around", "act", "short"),
    *("indefinite", "who", "common", "nearly", "swapped", "arrived", "appoints", "topic"),
    *("departs", "two_surnames", "object", "pronoun", "known", "roughly", "noun", "foreign", "adjective"),
    *("label", "auxiliary", "engaged", "chosen", "gains"),
    *("kin", "claim", "moves", "generic", "other", "rank", "part", "lacking", "linking"),
    *(
        "possessive",
        "bygone",
        "span",
        "speech",
        "check",
        "somebody",
        "family",
        "sourced",
        "restored",
        "naming",
    ),
)
"""Kinds of words, which say what a word is wherever it is."""
VALUES = ("number", "ordinal", "scale", "month", "unit", "event", "office", "sense", "troponym")
"""Kinds of words with a value."""
KINDS = (*PHRASES, *WORDS, *VALUES)


class Cue(NamedTuple):
    """A cue in a text: its kind, and the positions of its first word and behind its last."""

    kind: str
    start: int
    end: int

    @property
    def span(self) -> range:
        return range(self.start, self.end)


class Cues:
    """The cue words of one language.

    `only_names`: it has no offices, so names, dates and turns are read. `capital_nouns`: so its nouns begin.
    """

    def __init__(self, rows: Mapping[str, Sequence[str]]) -> None:
        """`rows`: kind -> its words as the table has them."""
        keys = {kind: [keys_of(word.partition("=")[0]) for word in words] for kind, words in rows.items()}
        phrases = sorted(
            ((phrase, kind) for kind in PHRASES for phrase in keys.get(kind, ())),
            key=lambda pair: -len(pair[0]),
        )
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for phrase, kind in phrases:
            self._by_first.setdefault(phrase[0], []).append((phrase, kind))
        self.only_names = "office" not in rows
        self.capital_nouns = "und" in rows.get("and", ())
        self._words = {kind: frozenset(keys.get(kind, ())) for kind in WORDS}
        self._single = {
            kind: {phrase[0] for phrase in phrases if len(phrase) == 1}
            for kind, phrases in self._words.items()
        }
        values = {kind: [word.partition("=")[2] for word in rows.get(kind, ())] for kind in VALUES}
        self.values: dict[str, dict[str, str]] = {
            kind: dict(zip(map(" ".join, keys.get(kind, ())), values[kind], strict=True))
            | dict(word.split("=") for word in rows.get(kind, ()))
            for kind in VALUES
        }
        """Kind -> word, as a key and as it is written -> its value."""

    def has(self, kind: str, key: str) -> bool:
        """Whether a single word is in the row of this kind."""
        return key in self._single[kind]

    def phrases(self, kind: str) -> frozenset[tuple[str, ...]]:
        """The phrases of a row of words."""
        return self._words[kind]

    def valued(self, kind: str, keys: Sequence[str]) -> dict[int, str]:
        """Position of the first word of each phrase of a row with values, the longest ones -> its value."""
        table, values, at = self.values[kind], dict[int, str](), 0
        while at < len(keys):
            phrases = {size: " ".join(keys[at : at + size]) for size in (3, 2, 1)}
            size = next((size for size, phrase in phrases.items() if phrase in table), 0)
            if size:
                values[at] = table[phrases[size]]
            at += size or 1
        return values

    def find(self, keys: Sequence[str]) -> list[Cue]:
        """The cues in a sequence of words, the longest at each position; they do not overlap."""
        cues, end = list[Cue](), 0
        for at, key in enumerate(keys):
            for phrase, kind in self._by_first.get(key, ()) if at >= end else ():
                if tuple(keys[at : at + len(phrase)]) == phrase:
                    end = at + len(phrase)
                    cues.append(Cue(kind, at, end))
                    break
        return cues


_ENDING = re.compile(r"(?<=...)(?:ership|ing|ers|ed|es|er|or|s)$")
_COMMON = ("article", "starter", "verb", "of", "to", "from", "by", "locative", "object", "particle", "known")
"""Rows of words that say nothing of a relation."""


@lru_cache(maxsize=1 << 12)
def about(asked: tuple[str, ...], cues: Cues, row: str = "sense") -> frozenset[str]:
    """The words of a row that are about what a question asks for, such as `census` for a population.

    They are those with one of its senses; with `sense` also those of the templates of its relation.
    """
    senses, stems = cues.values["sense"], {_ENDING.sub("", key) for key in asked}
    offices = {"general director", *cues.values["office"]}
    leads = any("director" in pair and " ".join(pair) in offices for pair in pairwise(asked))
    own = {
        sense
        for key in asked
        if not (leads and key == "director")
        for sense in senses.get(key, "").split("+")
        if sense
    }
    own |= {"office"} if cues.only_names or cues.valued("office", asked) else set()
    words = {key for key, sense in cues.values[row].items() if not own.isdisjoint(sense.split("+"))}
    relations = _relations(cues) if row == "sense" else ()
    return frozenset(words).union(
        *(of_relation for contents, of_relation in relations if any(map(stems.issuperset, contents)))
    )


@cache
def _relations(cues: Cues) -> list[tuple[list[set[str]], set[str]]]:
    """For each relation what its label and its templates say of it, as sets of stems, and all their words."""
    relations = []
    for label, templates in read_wordings().values():
        wordings = [keys_of(text.format(subject="", object="", relation="")) for text in (label, *templates)]
        words = {key for keys in wordings for key in keys if not cues.has("foreign", key)}
        common = {key for row in _COMMON for key in chain(*wordings) if cues.has(row, key)}
        contents = [{_ENDING.sub("", key) for key in keys if key not in common} for keys in wordings]
        relations.append(([content for content in contents if content], words))
    return relations


def spelled_out(word: str) -> list[str]:
    """A word with alternatives in braces as all that it says."""
    parts = re.split(r"\{([^{}]*)\}", word)
    alternatives = (part.split("/") if number % 2 else [part] for number, part in enumerate(parts))
    return ["".join(words) for words in product(*alternatives)]


@lru_cache(maxsize=16)
def read_cues(language: str = "en", path: Path = CUES) -> Cues:
    """The cues of a language. Raises InputError that names the line of a kind that is unknown or repeated."""
    rows: dict[str, list[str]] = {}
    for line, (code, kind, cell) in rows_of(path, COLUMNS):
        if kind not in KINDS:
            raise InputError(f"{path}, line {line}: kind is {kind!r}; write one of {', '.join(KINDS)}")
        words = [word for alternatives in cell.split("|") for word in spelled_out(alternatives)]
        if any(not keys_of(word.partition("=")[0]) or ("=" in word) != (kind in VALUES) for word in words):
            raise InputError(f"{path}, line {line}: an empty word, or one without the value that {kind} has")
        if code not in (language, ALL):
            continue
        if kind in rows:
            raise InputError(f"{path}, line {line}: {kind} has a row already; join the two")
        rows[kind] = words
    return Cues(rows)

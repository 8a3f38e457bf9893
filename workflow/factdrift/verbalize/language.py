"""The prompts of each language and what is needed to judge its sentences: one YAML file a language."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import yaml

from factdrift.core.errors import InputError
from factdrift.core.tables import rows_of
from factdrift.words.mentions import folded

COMMON_WORDS = "common_words.tsv"

_WORD = re.compile(r"[^\W\d_]+")


class Texts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The file of a language; `resources/prompts/en.yaml` explains each key."""

    task: str
    as_json: str
    as_lines: str
    fact: str
    meaning: str
    example: str
    reminder: str
    longest_description: Annotated[int, msgspec.Meta(ge=1)]
    capitals_are_names: bool
    articles: frozenset[str]
    absorbed_articles: frozenset[str]
    date_words: frozenset[str]
    refusals: tuple[str, ...]


class Language(NamedTuple):
    """A language by its code, with the common words of all languages that are distinguished."""

    code: str
    texts: Texts
    common_words: Mapping[str, frozenset[str]]
    script: str
    """Of the prompts, such as LATIN."""

    def is_other(self, sentence: str) -> bool:
        """Whether a sentence, without its names, is more likely in another language.

        True if most letters are of another script than the prompts, or if it has more common words of another
        language, at least two.
        """
        letters = [_script(letter) == self.script for letter in sentence if letter.isalpha()]
        if sum(letters) * 2 < len(letters):
            return True
        words = _WORD.findall(folded(sentence).text)
        counts = {code: sum(word in common for word in words) for code, common in self.common_words.items()}
        others = [count for code, count in counts.items() if code != self.code]
        return max(others, default=0) >= max(2, counts.get(self.code, 0) + 1)


@cache
def read_language(folder: Path, code: str) -> Language:
    """The language `code` of a folder of prompts. Raises InputError that names the file and what is wrong."""
    path = folder / f"{code}.yaml"
    try:
        texts = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Texts, strict=False)
    except FileNotFoundError:
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        raise InputError(
            f"languages: there are no prompts in {code!r} ({path}); known are {known or 'none'}"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{path}: {error}; write it as resources/prompts/en.yaml is written") from None
    table = rows_of(folder / COMMON_WORDS, ("language", "words"))
    common = {name: frozenset(folded(words).text.split()) for _, (name, words) in table}
    script = _script(next(letter for letter in texts.task if letter.isalpha()))
    return Language(code, texts, common, script)


def words_of(texts: Iterable[str | None]) -> frozenset[str]:
    """The folded words of texts."""
    return frozenset(word for text in texts if text for word in _WORD.findall(folded(text).text))


@lru_cache(maxsize=1 << 14)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]

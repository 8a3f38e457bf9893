"""How names are used in running text: which take an article, and which are plural.

`the` belongs to a name as its capitals do, yet no label of Wikidata has it: "the Netherlands", "the Los
Angeles Lakers", but "France" and "FC Barcelona". The table `resources/words/names.tsv` says it, by the first
of these that holds:

1. `class` without an article: the item is an instance (P31) of a class of titles or persons, which take none
   ("Boardwalk Empire");
2. `name`: the label is this one;
3. `class` with an article: all its instances take it ("the euro");
4. `end`, `start`, `part`: the label ends with, begins with or contains these words; the first row counts.

Of labels that begin with a small letter ("political party" is no name) only a `start` can hold, which then
has a small letter too ("state funeral of"). A label that begins with `The` takes no second article. A
language whose articles have several forms has names only, each with its form as a subject (`die
Niederlande`).
"""

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.paths import NAMES
from factdrift.core.tables import fetched, rows_of, table_of
from factdrift.wikidata.ids import entity_number

COLUMNS = ("language", "match", "text", "article", "number", "note")
MATCHES = ("name", "class", "end", "start", "part")

_PATTERNS = {"end": r"\S.* (?:{})", "start": r"(?:{})(?: .*)?", "part": r"(?:.* )?(?:{})(?: .*)?"}
_USAGES = schema_of("id: int32, article: string, plural: bool")


class Usage(NamedTuple):
    """`article`: before the name inside a sentence, empty if there is none. `plural`: of the verb."""

    article: str = ""
    plural: bool = False


PLAIN = Usage()


class Names(NamedTuple):
    """The names of one language: usages by label, by number of a class, and by pattern of a label."""

    labels: dict[str, Usage]
    classes: dict[int, Usage]
    patterns: list[tuple[re.Pattern[str], Usage, bool]]
    """With whether it may hold for a label that begins with a small letter."""

    def usage(self, label: str, classes: Collection[int] | None = ()) -> Usage:
        """How a name is used; `classes`: numbers of the classes (P31) of its item, empty if not known."""
        of_class = [self.classes[number] for number in classes or () if number in self.classes]
        if PLAIN in of_class:
            return PLAIN
        if (named := self.labels.get(label)) is not None:
            return named
        if of_class:
            return PLAIN if label.startswith("The ") else of_class[0]
        small = label[:1].islower()
        fitting = ((pattern, usage) for pattern, usage, also in self.patterns if also >= small)
        match = next((usage for pattern, usage in fitting if pattern.fullmatch(label)), PLAIN)
        return match._replace(article="") if label.startswith("The ") else match


def written(name: str, usage: Usage, first: bool = False) -> str:
    """The name as a sentence writes it: `the Netherlands`, or `The Netherlands` as its first word."""
    article = usage.article
    return f"{article[:1].upper() if first else article[:1]}{article[1:]} {name}" if article else name


@lru_cache(maxsize=8)
def read_names(language: str = "en", path: Path = NAMES) -> Names:
    """The names of a language. Raises InputError that names the line for what is not formed as it should."""
    labels: dict[str, Usage] = {}
    classes: dict[int, Usage] = {}
    patterns: list[tuple[str, Usage, str]] = []
    known = set()
    for line, (code, match, text, article, number, _) in rows_of(path, COLUMNS):
        where = f"{path}, line {line}"
        if match not in MATCHES:
            raise InputError(f"{where}: match is {match!r}; write one of {', '.join(MATCHES)}")
        if number not in ("singular", "plural"):
            raise InputError(f"{where}: number is {number!r}; write singular or plural")
        if not text or (code, match, text) in known:
            raise InputError(f"{where}: {text!r} is empty or has a row already; remove one of the two")
        known.add((code, match, text))
        item = (entity_number(text) or 0) if match == "class" else 0
        if match == "class" and item <= 0:
            raise InputError(f"{where}: {text!r} is no id of a class such as Q8142")
        usage = Usage(article, number == "plural")
        if code != language:
            continue
        if match == "name":
            labels[text] = usage
        elif match == "class":
            classes[item] = usage
        else:
            patterns.append((match, usage, re.escape(text)))
    compiled = [
        (re.compile(_PATTERNS[match].format("|".join(text for *_, text in alike))), usage, match == "start")
        for (match, usage), alike in groupby(patterns, key=lambda row: row[:2])
    ]
    return Names(labels, classes, compiled)


def create_usages(db: Connection, named: str, names: Names | None) -> None:
    """TEMP TABLE usages (id, article, plural): items of a query `id, label, classes` that are not plain.

    Without `names` it is empty.
    """
    usages = []
    if names is not None:
        rows = fetched(db.execute(f"SELECT id, label, classes FROM ({named}) WHERE label IS NOT NULL"))
        used = ((item, names.usage(label, classes)) for item, label, classes in rows)
        usages = [(item, *usage) for item, usage in used if usage != PLAIN]
    db.register("usages_found", table_of(usages, _USAGES))
    db.execute("CREATE OR REPLACE TEMP TABLE usages AS FROM usages_found")
    db.unregister("usages_found")

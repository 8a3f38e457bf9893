"""How TempRIPPLE asks: its settings and tables, its phrases, and names compared as words."""

import datetime
import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from factdrift.core.files import read_tsv
from factdrift.core.paths import RESOURCES

_COUNTED = (
    *("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
    *("thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"),
    "twentieth",
)
_ORDINALS = ("most recent", "previous", *(f"{word} most recent" for word in _COUNTED))
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


class TempRippleWording(NamedTuple):
    """The key `tempripple` of a build (`settings`), its days as numbers, and the tables of its relations.

    `mutable`: relation -> types of its subjects; `immutable`: relation -> types and guard; `wordings`:
    relation -> question word, phrase, phrase with an ordinal; `classes`: number of a class -> types of its
    items. `unsupported`: a setting under which timelines are not worked out again; empty if there is none.
    """

    settings: Mapping[str, Any]
    window_start: int
    change_start: int
    change_end: int
    immutable_span: tuple[int, int]
    last_day: datetime.date
    is_dated: bool
    capped: bool
    mutable: Mapping[str, Sequence[str]]
    immutable: Mapping[str, tuple[Sequence[str], str]]
    wordings: Mapping[str, tuple[str, str, str]]
    classes: Mapping[int, Set[str]]
    unsupported: str

    def changed(self, start: tuple[int, int], end: tuple[int, int]) -> bool:
        """Whether a holder certainly began in the change period; with `new_rule: any` ended in it."""
        dates = (start, end) if self.settings["new_rule"] == "any" else (start,)
        return any(map(self.began, dates))

    def began(self, start: tuple[int, int]) -> bool:
        """Whether a start certainly lies in the change period."""
        return self.change_start <= start[0] and start[1] < self.change_end


def read_method(settings: Mapping[str, Any], snapshot: str) -> TempRippleWording:
    """Reads the settings of a build and the tables of TempRIPPLE's relations."""
    day = datetime.date.fromisoformat
    begin, end = (day(settings[name]).toordinal() for name in ("window_start", "change_end"))
    until = datetime.date.fromordinal(end - 1)
    first = day(settings["immutable_from"] or settings["window_start"]).toordinal()
    through = day(settings["immutable_until"] or until.isoformat()).toordinal()
    folder = RESOURCES / "tempripple"
    full = settings["immutable"]["set"] == "full53"
    classes: dict[int, set[str]] = {}
    for row in read_tsv(folder / "types.tsv"):
        classes.setdefault(int(row["class"][1:]), set()).add(row["type"])
    unsupported = {
        "on_ambiguous": settings["on_ambiguous"] != "drop",
        "infer_end_from_next": settings["infer_end_from_next"],
        "exclude_object_classes": settings["mutable"]["exclude_object_classes"],
    }
    return TempRippleWording(
        settings=settings,
        window_start=begin,
        change_start=day(settings["change_start"]).toordinal(),
        change_end=end,
        immutable_span=(first, through),
        last_day=min(until, day(snapshot)),
        is_dated=settings["as_of"] == "on" or (settings["as_of"] == "auto" and until.isoformat() < snapshot),
        capped=any(settings["related"].values()),
        mutable={row["property"]: row["subjects"].split() for row in read_tsv(folder / "mutable.tsv")},
        immutable={
            row["property"]: (row["subjects"].split(), row["guard"])
            for row in read_tsv(folder / "immutable.tsv")
            if full or row["seed"] == "yes"
        },
        wordings={
            row["property"]: (row["wh"], row["phrase"], row["with_ordinal"])
            for row in read_tsv(RESOURCES / "words" / "noun_phrases.tsv")
        },
        classes=classes,
        unsupported=", ".join(name for name, is_set in unsupported.items() if is_set),
    )


def ordinal(rank: int) -> str:
    """The words for a position in a timeline, from 1; `21st most recent` above twenty."""
    if rank <= len(_ORDINALS):
        return _ORDINALS[rank - 1]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th") if rank % 100 not in (11, 12, 13) else "th"
    return f"{rank}{ending} most recent"


def question(method: TempRippleWording, relation: str, rank: int, subject: str, hops: Sequence[str]) -> str:
    """The question about a holder and what follows from it, bare of articles and of case."""
    words, phrase, with_ordinal = method.wordings[relation]
    text = with_ordinal.replace("{ord}", ordinal(rank)).replace("{x}", subject)
    verb = "was" if rank > 1 and not hops else "is"
    for hop in hops:
        words, phrase, _ = method.wordings[hop]
        text = phrase.replace("{x}", text)
    return bare(f"{dated(method)}{words} {verb} {text}?")


def context(method: TempRippleWording, relation: str, subject: str, holder: str) -> str:
    """The sentence about the newest holder, bare of articles and of case."""
    _, _, phrase = method.wordings[relation]
    text = phrase.replace("{ord}", ordinal(1)).replace("{x}", subject)
    return bare(f"{dated(method)}{text} is {holder.removesuffix('.')}.")


def dated(method: TempRippleWording) -> str:
    """`As of 31 December 2022, `, or nothing."""
    day = method.last_day
    return f"As of {day.day} {MONTHS[day.month - 1]} {day.year}, " if method.is_dated else ""


def bare(text: str, singular: Mapping[str, str] | None = None) -> str:
    """A text in lower case without the article `the`, to compare wordings.

    `singular`: word -> its singular or present; the endings of genitives are then words of their own.
    """
    words = text.split()
    if singular is not None:
        apart = text.replace("'s", " '").replace("'", " ' ").split()
        words = [singular.get(word, word) for word in apart]
    return " ".join(word for word in words if word.lower() != "the").casefold()


def date_text(day: tuple[int, int, int], precision: int) -> str:
    """`4 July 1776`, `July 1776`, `1776`; before Christ `44 BC`."""
    year, month, number = day
    text = str(year) if year > 0 else f"{-year} BC"
    if precision >= 10:
        text = f"{MONTHS[month - 1]} {text}"
    return f"{number} {text}" if precision >= 11 else text


def words(text: str) -> tuple[str, ...]:
    """The words of a text, to compare names."""
    return tuple(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def contains(text: str, part: str) -> bool:
    """Whether the words of `part` occur in a row in `text`."""
    return has_run(words(text), words(part))


def has_run(words: Sequence[str], run: Sequence[str]) -> bool:
    """Whether some words occur in a row among others; no words never do."""
    starts = range(len(words) - len(run) + 1)
    return bool(run) and any(words[start : start + len(run)] == run for start in starts)


def normal(text: str) -> str:
    """A form in which two names that read the same are equal."""
    return " ".join(words(text)) or unicodedata.normalize("NFKC", text).casefold().strip()

"""Noun phrases with ordinals, statements, questions, and dates in words."""

import datetime
import re
import unicodedata

from factdrift.tempripple.claims import Date
from factdrift.wikidata.time import DAY, MONTH, pack_date, unpack
from factdrift.words.dates import MONTHS, ordinal
from factdrift.words.noun_phrases import ORDINAL, nested

_FIRST = ("most recent", "previous", "third most recent")
_UNITS = ("four", "fif", "six", "seven", "eigh", "nin", "ten", "eleven", "twelf")
_TEENS = ("thir", "four", "fif", "six", "seven", "eigh", "nine")
_WORDS = [*(f"{unit}th" for unit in _UNITS), *(f"{unit}teenth" for unit in _TEENS), "twentieth"]

_WORD = re.compile(r"\w+")


def ordinal_text(index: int) -> str:
    """1 -> `most recent`, 2 -> `previous`, 4 -> `fourth most recent`, 21 -> `21st most recent`."""
    if index <= len(_FIRST):
        return _FIRST[index - 1]
    number = index - len(_FIRST) - 1
    return f"{_WORDS[number] if number < len(_WORDS) else ordinal(index)} most recent"


def holder_phrase(phrase: str, ordinal_words: str, subject: str) -> str:
    """`the {ord} capital of {x}` -> `the previous capital of Kazakhstan`; labels may contain anything."""
    return nested([phrase.replace(ORDINAL, ordinal_words)], subject)


def statement(phrase: str, value: str) -> str:
    """`The most recent capital of Kazakhstan is Astana.`; the full stop of `Fulham F.C.` is not doubled."""
    return f"{phrase[0].upper()}{phrase[1:]} is {value.removesuffix('.')}."


def question(wh: str, phrase: str, verb: str) -> str:
    """`What was the previous capital of Kazakhstan?`; `verb` is `is` or `was`."""
    return f"{wh} {verb} {phrase}?"


def as_of(day: datetime.date, sentence: str) -> str:
    """`As of 31 December 2022, the most recent ...`: the sentence or question, dated."""
    return f"As of {date_text(Date(pack_date(day), DAY))}, {sentence[0].lower()}{sentence[1:]}"


def date_text(date: Date) -> str:
    """`4 July 1776`, `July 1776` or `1776` by precision, which must be that of a year or finer."""
    year, month, day = unpack(date.day)
    text = f"{year}" if year > 0 else f"{-year} BC"
    if date.precision >= MONTH:
        text = f"{MONTHS[month]} {text}"
    if date.precision >= DAY:
        text = f"{day} {text}"
    return text


def year(date: str) -> tuple[str, str]:
    """Id and label of a date's year: `1776-07-04` -> (`1776`, `1776`), `-0044-03` -> (`-0044`, `44 BC`)."""
    before_christ = date.startswith("-")
    number = date.lstrip("-").partition("-")[0]
    return (f"-{number}", f"{int(number)} BC") if before_christ else (number, str(int(number)))


def words(text: str) -> tuple[str, ...]:
    """The words of a text, case-folded and in Unicode's form KC, to compare names."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def normal(text: str) -> str:
    """A form in which two labels that read the same are equal."""
    return " ".join(words(text)) or unicodedata.normalize("NFKC", text).casefold().strip()


def contains(text: str, part: str) -> bool:
    """Whether the words of `part` occur in `text` in a row; False if `part` has no words."""
    inner, outer = words(part), words(text)
    size = len(inner)
    return size > 0 and any(outer[i : i + size] == inner for i in range(len(outer) - size + 1))

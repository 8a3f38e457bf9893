"""Turns a sentence about a triple into a template, or gives the reason why not."""

import re

from factdrift.verbalize.language import Language, words_of
from factdrift.words.mentions import Folded, begins_word, folded, mentions, name_key
from factdrift.words.names import read_names
from factdrift.words.templates import OBJECT, SUBJECT, problem

REASONS = (
    "no_object",
    "object_not_last",
    "no_subject",
    "subject_twice",
    "object_twice",
    "in_name",
    "several_sentences",
    "fragment",
    "glued",
    "article",
    "form",
    "language",
)
"""Reasons why a sentence gives no template, in the order in which they are checked."""

_END = re.compile(r"[.\"' ]*$")
_BOLD = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1")
_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
# A period ends a sentence after a word of five letters or more, and after a lower-case word that a capital or
# a name follows; the periods of "St. ", "U.S. " and "Prof. " do not.
_SENTENCE_END = re.compile(r"[?!…]|[^\W\d_]{5}\.\s|(?<!\w)[a-z]{2,}\.\s+(?=[A-Z]|$)")
# A capitalised word after or before a name, except the first word of the sentence.
_NAME_GOES_ON = re.compile(r" ([A-Z][\w.-]*)")
_NAME_BEGINS = re.compile(r"\S \W*([A-Z][\w.-]*) $")
_WORD = re.compile(r"[^\W\d_]{2}")


Outcome = tuple[str | None, str | None]
"""A template, or the reason why there is none; the other is None."""


def judge(sentence: str, subject: str, object: str, language: Language, relation: str = "") -> Outcome:
    """The template of a sentence that contains the subject once and ends with the object, else a reason.

    Names are found as whole words, whatever the case (`factdrift.words.mentions`); a final period and quotes
    around a name are optional. The blank takes the place of the name with its quotes and of an article that
    the language counts as part of the name: before the subject, and before an object whose name takes one. An
    article of a name that takes one, in a language that has several forms of it, would fit no other name; the
    sentence gives no template. `relation` is the relation's label.
    """
    text = _unquoted(_BOLD.sub(r"\2", " ".join(sentence.split())))
    line = folded(text)
    place = _last(line, name_key(object))
    if place is None:
        return None, "object_not_last" if mentions(line.text, name_key(object)) else "no_object"
    first, end = place
    subjects = [span for span in mentions(line.text, name_key(subject)) if span[1] <= first]
    if len(subjects) != 1:
        return None, "subject_twice" if subjects else "no_subject"
    [(start, stop)] = subjects
    for span in mentions(line.text, name_key(object)):
        if span[1] <= start or stop <= span[0] < span[1] <= first:
            return None, "object_twice"
    before = text[: line.places[start]].translate(_PLAIN)
    between = text[line.places[stop] : line.places[first]].translate(_PLAIN)
    after = text[line.places[end] :].translate(_PLAIN)
    if language.texts.capitals_are_names:
        beside = (_NAME_GOES_ON.match(between), _NAME_BEGINS.search(before), _NAME_BEGINS.search(between))
        own = words_of([relation])
        if any(match and not words_of([match[1]]) <= own for match in beside):
            return None, "in_name"
    return _blanked(before, between, after, subject, object, language)


def _last(line: Folded, name: str) -> tuple[int, int] | None:
    """Start and end of the name at the end of a sentence, whose period may be the name's or be missing."""
    for form in dict.fromkeys((name, name.rstrip("."))):
        start = line.text.rfind(form) if form else -1
        if start >= 0 and begins_word(line.text, start) and _END.match(line.text, start + len(form)):
            return start, start + len(form)
    return None


def _unquoted(text: str) -> str:
    """The sentence without quotes around the whole of it."""
    bare = text.translate(_PLAIN)
    for quote in "\"'":
        if bare.count(quote) == 2 and bare.startswith(quote) and bare.rstrip(".").endswith(quote):
            return text[1:].rstrip(".")[:-1].strip()
    return text


def _blanked(before: str, between: str, after: str, subject: str, object: str, language: Language) -> Outcome:
    quoted = before[-1:] in ('"', "'") and between.startswith(before[-1])
    if quoted:
        before, between = before[:-1], between[1:]
    elif between.startswith("' ") and subject.rstrip().lower().endswith("s"):
        between = f"'s{between[1:]}"
    if between[-1:] in ('"', "'") and between[-1] in after:
        between = between[:-1]
    names, texts = read_names(language.code), language.texts
    *words, last = before.rstrip().rpartition(" ")
    inflected = texts.articles - texts.absorbed_articles
    if last.lower() in texts.absorbed_articles:
        before = "".join(words)
    elif last.lower() in inflected and names.usage(subject).article:
        return None, "article"
    if names.usage(object).article:
        *words, last = between.rstrip().rpartition(" ")
        if last.lower() in texts.absorbed_articles:
            between = "".join(words)
        elif last.lower() in inflected and last.lower() != names.usage(object).article:
            return None, "article"
    template = f"{before}{SUBJECT}{between}{OBJECT}"
    template = template[:1].upper() + template[1:]
    rest = f"{before} {between}"
    if _SENTENCE_END.search(before) or _SENTENCE_END.search(between):
        return None, "several_sentences"
    if not _WORD.search(rest) or between.rstrip()[-1:] in tuple(",;:-–—"):
        return None, "fragment"
    if wrong := problem(template):
        return None, "glued" if "glued" in wrong else "form"
    if rest.count('"') % 2:
        return None, "form"
    if language.is_other(rest):
        return None, "language"
    return template, None

"""Fits a sentence template to the names in it: articles before them, and the verb of a plural subject.

The words that decide are in `resources/words/grammar.tsv`, by `kind`:

* `clause`: words that a clause follows whose subject comes first ("the state that {subject} belongs to");
* `plural`: a verb in the third person singular, and its plural;
* `past`: a verb in the present, and its past, of which templates about the dead and about past days are made;
* `possessive`: a word that refers to the subject, and its plural;
* `article_after`: words that a name follows with its article. After others it is named without: "the party
  {object}", "a team called {object}".
"""

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import GRAMMAR
from factdrift.core.tables import rows_of
from factdrift.words.names import PLAIN, Usage, read_names, written
from factdrift.words.templates import BLANK, OBJECT, SUBJECT

COLUMNS = ("language", "kind", "word", "other")
KINDS = ("clause", "plural", "past", "possessive", "article_after")

_ALWAYS_VERBS = ("is", "are", "has", "have")
_AS_OF = re.compile(r"As of (?:[A-Z][a-z]+ (?:\d{1,2}, )?)?[\d,]*\d(?: BC| AD)?, ")


class Marks(NamedTuple):
    """The blanks of a template."""

    subject: str = SUBJECT
    object: str = OBJECT


MARKS = Marks()


class Grammar:
    """The words of one language; without any, templates are left as they are."""

    def __init__(self, words: dict[str, dict[str, str]]) -> None:
        """`words`: kind -> word -> its other form, empty where the kind has none."""
        plurals = self._plurals = words.get("plural", {})
        self._past = words.get("past", {})
        self._pasts = frozenset(self._past.values())
        self._past_of_plurals = {plurals[verb]: past for verb, past in self._past.items() if verb in plurals}
        self._possessives = words.get("possessive", {})
        self._article_after = frozenset(words.get("article_after", {}))
        # Without any word, `(?!)` matches nothing.
        clauses = "|".join(map(re.escape, words.get("clause", {}))) or "(?!)"
        self._before_subject = re.compile(rf"(?:^|.*, |.*\b(?:{clauses}) )$", re.I)
        possessives = "|".join(map(re.escape, self._possessives)) or "(?!)"
        self._possessive = re.compile(rf"\b(?:{possessives})\b")

    def plural(self, template: str, marks: Marks = MARKS) -> str:
        """The template for a plural subject; the same where the subject governs no verb.

        `{subject} has its capital at {object}` -> `{subject} have their capital at {object}`.
        """
        before, mark, after = template.partition(marks.subject)
        if after.startswith("'s "):
            after = after.replace("'s", "'", 1)
        verb = re.match(r" (\w+)", after)
        if not mark or not self._before_subject.match(before) or verb is None:
            return f"{before}{mark}{after}"
        # What comes before the subject may refer to it as well: "As for its kind, {subject} is".
        before, rest = (
            self._possessive.sub(lambda match: self._possessives[match[0]], text)
            for text in (before, after[verb.end() :])
        )
        return f"{before}{mark} {self._plurals.get(verb[1], verb[1])}{rest}"

    def past(self, template: str, marks: Marks = MARKS) -> str:
        """The template for one who has died, or for a day in the past.

        `{subject} is employed by {object}` -> `{subject} was employed by {object}`.
        """
        words = template.split(" ")
        return " ".join(
            word if word in marks else self._in_past(word, before, before == marks.subject)
            for before, word in zip(["", *words], words, strict=False)
        )

    def _in_past(self, word: str, before: str, after_subject: bool) -> str:
        # "The results of" and "has works in" have nouns.
        if word not in _ALWAYS_VERBS and not after_subject and before not in ("that", "which", "who"):
            return word
        other = self._past.get(word)
        if other is None and after_subject:
            other = self._past_of_plurals.get(word)
        return other or word

    def is_past(self, template: str) -> bool:
        """Whether a template has a verb that is known to be in the past."""
        return not self._pasts.isdisjoint(template.split(" "))

    def article_before_object(self, template: str, marks: Marks = MARKS) -> bool:
        """Whether the name of the object has its article in this template."""
        words = template.partition(marks.object)[0].rstrip(" ").rsplit(" ", 1)
        return words[-1].endswith(",") or words[-1].lower() in self._article_after


def dated(template: str, date: str) -> str:
    """The template as a sentence that begins with a date, such as `As of 2022, `; itself without one."""
    first = template[:1] if not date or template.startswith(SUBJECT) else template[:1].lower()
    return f"{date}{first}{template[1:]}"


def cloze(
    template: str,
    subject: str,
    usage: Usage,
    grammar: Grammar,
    object_article: str = "",
    blank: str = OBJECT,
    marks: Marks = MARKS,
) -> str:
    """The sentence of a template about `subject`, with `blank` in the place of the object.

    `object_article` is put before the blank where the template lets a name have it. An article that the
    template itself has before the subject is not doubled.
    """
    text = grammar.plural(template, marks) if usage.plural else template
    before, _, after = text.partition(marks.subject)
    if after.startswith("' ") and not subject.endswith("s"):  # a plural such as Utah Jazz
        after = f"'s{after[1:]}"
    if usage.article and before.lower().endswith(f"{usage.article} "):
        before = before[: -len(usage.article) - 1]
    if object_article and grammar.article_before_object(template, marks):
        blank = f"{object_article} {blank}"
    return f"{before}{written(subject, usage, not before)}{after.replace(marks.object, blank)}"


@lru_cache(maxsize=8)
def read_grammar(language: str = "en", path: Path = GRAMMAR) -> Grammar:
    """The grammar of a language. Raises InputError that names the line with a wrong kind or repeated word."""
    words: dict[str, dict[str, str]] = {}
    for line, (code, kind, word, other) in rows_of(path, COLUMNS):
        if kind not in KINDS:
            raise InputError(f"{path}, line {line}: kind is {kind!r}; write one of {', '.join(KINDS)}")
        if bool(other) != (kind in ("plural", "past", "possessive")):
            what = "must have another form, or none, as its kind has"
            raise InputError(f"{path}, line {line}: {word!r} {what}")
        if code != language:
            continue
        if word in words.setdefault(kind, {}):
            raise InputError(f"{path}, line {line}: {word!r} has a row already; remove one of the two")
        words[kind][word] = other
    return Grammar(words)


def prompts_like(prompt: str, templates: Sequence[str], subject: str, object: str) -> list[str]:
    """What each template says about `subject` before its object, worded as the cloze test `prompt`.

    A dataset names subject and object, but not the articles, the number and the date with which its prompts
    were made. They are those with which one of the templates gives `prompt`; if none does, labels are filled
    in as they are.
    """
    names, grammar = read_names(), read_grammar()
    others = (Usage(article, plural) for article in ("", "the") for plural in (False, True))
    uses = dict.fromkeys([names.usage(subject), PLAIN, *others])
    articles = dict.fromkeys([names.usage(object).article, "", "the"])
    date = match[0] if (match := _AS_OF.match(prompt)) else ""
    for usage, article in itertools.product(uses, articles):
        texts = (dated(template, date) for template in templates)
        made = [cloze(text, subject, usage, grammar, article, BLANK) for text in texts]
        if prompt in made:
            break
    else:
        made = [cloze(template, subject, PLAIN, grammar, blank=BLANK) for template in templates]
    return [text.removesuffix(BLANK).rstrip(" ") for text in made]

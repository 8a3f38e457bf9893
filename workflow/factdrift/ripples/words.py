"""The sentences of probes: clozes, nested noun phrases, questions, and the past. Pure functions of names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from factdrift.ripples.world import Name
from factdrift.words.grammar import Grammar, cloze, dated
from factdrift.words.mentions import mentions, name_key
from factdrift.words.names import Names, written
from factdrift.words.noun_phrases import NounPhrase, nested
from factdrift.words.templates import BLANK, OBJECT, SUBJECT

_FORMAL = re.compile(
    r"(?:\w+ )?"
    r"(?:City|Commonwealth|Dominion|Empire|Federation|Kingdom|Principality|Province|Republic|State|Union) of "
)
_NICKNAME = re.compile(r"\w+ (?:City|Isle|Land|State)")


class Sentence(NamedTuple):
    """A prompt with its blank, another wording, and a question; empty where there is none."""

    prompt: str
    rewording: str = ""
    question: str = ""


class Words(NamedTuple):
    """The templates and noun phrases of relations, and the grammar."""

    templates: Mapping[int, Sequence[str]]
    phrases: Mapping[int, NounPhrase]
    grammar: Grammar
    names: Names

    def alias(self, alias: str) -> Name:
        """An alias as a name; `Federation of Saint Lucia`, `Bay State` and `The Hub` take an article."""
        usage = self.names.usage(alias)
        if alias.startswith("The "):
            return Name(alias[4:], (), usage._replace(article="the"), 0)
        formal = _FORMAL.match(alias) or _NICKNAME.fullmatch(alias)
        return Name(alias, (), usage._replace(article="the") if formal else usage, 0)

    def cloze(self, relation: int, subject: Name, answer: Name) -> Sentence | None:
        """The cloze of a relation; None if it has none."""
        if not (templates := self.templates.get(relation, ())):
            return None
        prompt, *others = dict.fromkeys(self._filled(text, subject, answer) for text in templates[:2])
        return Sentence(prompt, "".join(others), self._question([relation], subject))

    def past(self, relation: int, subject: Name, answer: Name, when: str) -> Sentence | None:
        """The cloze in the past, after a date such as `March 2019`; None if no template has a known past."""
        past, templates = self.grammar.past, self.templates.get(relation, ())
        texts = [text for text in templates if self.grammar.is_past(past(text))]
        if not texts:
            return None
        plural = self.grammar.plural if subject.usage.plural else str
        dated_texts = [dated(past(plural(text)), f"In {when}, ") for text in texts[:2]]
        return Sentence(*dict.fromkeys(self._filled(text, subject, answer) for text in dated_texts))

    def besides(self, relation: int, subject: Name, answer: Name, others: Sequence[Name]) -> Sentence:
        """`Besides PSG, Messi plays for ____`: the cloze of what holds beside others."""
        names = [written(other.label, other.usage) for other in others]
        listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[:-1] else names)
        texts = (dated(text, f"Besides {listed}, ") for text in self.templates[relation][:2])
        return Sentence(*dict.fromkeys(self._filled(text, subject, answer) for text in texts))

    def composed(self, relations: Sequence[int], subject: Name, answer: Name) -> Sentence | None:
        """`The spouse of the head of government of Germany is ____`; the innermost relation first."""
        if any(relation not in self.phrases for relation in relations):
            return None
        phrase = self._phrase(relations, subject)
        blank = f"{answer.usage.article} {BLANK}" if answer.usage.article else BLANK
        prompt = f"{phrase[0].upper()}{phrase[1:]} is {blank}"
        return Sentence(prompt, "", self._question(relations, subject))

    def reverse(self, texts: Sequence[str], subject: Name, answer: Name) -> Sentence:
        """The sentences of reverse.tsv: `subject` is the object of the relation."""
        swapped = (t.replace(OBJECT, "\0").replace(SUBJECT, OBJECT).replace("\0", SUBJECT) for t in texts)
        return Sentence(*(self._filled(text, subject, answer) for text in swapped))

    def _filled(self, template: str, subject: Name, answer: Name) -> str:
        return cloze(template, subject.label, subject.usage, self.grammar, answer.usage.article, BLANK)

    def _phrase(self, relations: Iterable[int], subject: Name) -> str:
        phrases = (self.phrases[relation].phrase for relation in relations)
        return nested(phrases, written(subject.label, subject.usage))

    def _question(self, relations: Sequence[int], subject: Name) -> str:
        if any(relation not in self.phrases for relation in relations):
            return ""
        return f"{self.phrases[relations[-1]].wh} is {self._phrase(relations, subject)}?"


def contains_name(sentence: str, names: Iterable[str]) -> bool:
    """Whether a sentence contains one of the names as whole words."""
    key = name_key(sentence.replace(BLANK, ""))
    return any(mentions(key, name_key(name)) for name in names if name)


_LETTERS = re.compile(r"[^\W\d_]")


def usable_alias(alias: str, label: str) -> bool:
    """Whether an alias reads as a name: no code, sign, domain or number, and not a spelling of the label."""
    letters = len(_LETTERS.findall(alias))
    if letters < 3 or BLANK in alias or not alias[0].isalnum():
        return False
    if any(sign in alias for sign in "./@#()[]:;_") and not alias.endswith("."):
        return False
    if alias == alias.lower() and label != label.lower():
        return False
    if re.match(r"(?:La|Le|El|Il|Die|Der|Das) ", alias) or re.fullmatch(r"\w+\.", alias):
        return False
    if alias == alias.upper() or re.match("[A-Z]{3}", alias) or sum(map(str.isdigit, alias)) > 1:
        return False
    return name_key(alias).removeprefix("the ") != name_key(label).removeprefix("the ")

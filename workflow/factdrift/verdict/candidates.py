"""Finds the candidates of a question in a text: whole words, the longest name first.

A single surname or given name counts where no other candidate has it and no other full name stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.names import (
    ACCEPTED,
    MOST,
    OTHER,
    STALE,
    UNKNOWN,
    Name,
    Names,
    owners_of,
    same,
    signs_of,
)
from factdrift.verdict.sentences import within_names
from factdrift.verdict.text import Token, keys_of
from factdrift.verdict.values import Value, read_value, values_in

_INNER = frozenset(",.'\"-/:&")
"""Signs that may stand inside any name, whether its label has them or not."""
_TITLE = re.compile(r"(?:kanzler|minister|president|prasident|chef|trainer|vorganger|nachfolger)(?:in)?$")

_HONOUR = re.compile(r"[A-Z](?:[a-z]{0,2}[A-Z]){1,5}")
"""Letters of honour behind a person's name, such as `OBE` and `PhD`, and the number of a king."""


class Mention(NamedTuple):
    """A candidate in a text: the places of its first token and behind its last one."""

    start: int
    end: int
    kind: str
    """ACCEPTED, STALE, OTHER; SHARED by an accepted and a stale one; UNKNOWN: a name of no candidate."""
    name: str
    possessive: bool = False
    value: bool = False
    """Whether it is a date or an amount."""
    person: bool = False

    @property
    def span(self) -> range:
        return range(self.start, self.end)


class Candidates:
    """The candidates of one question."""

    def __init__(
        self,
        accepted: Sequence[str],
        stale: Sequence[str],
        others: Sequence[str],
        question: str,
        cues: Cues,
        language: str,
    ) -> None:
        self.cues, self._language = cues, language
        self.asked = keys_of(question)
        self._values: list[tuple[Value, str, str]] = []
        names: dict[str, list[str]] = {}
        for kind, listed in ((ACCEPTED, accepted), (STALE, stale), (OTHER, others)):
            for text in listed:
                if (value := read_value(text, cues, language)) is not None:
                    self._values.append((value, kind, text))
                else:
                    names.setdefault(kind, []).append(text)
        self._names = Names(names, self.asked, cues)
        self.within = within_names((*accepted, *stale, *others))
        self._number = self._names.number

    def mentions(self, found: Sequence[Token], text: str) -> list[Mention]:
        """The candidates in the tokens of a text, none inside another, in their order; values, too.

        UNKNOWN are values of the kind that is asked for which are none of the candidates'.
        """
        matches: list[tuple[int, int, Name]] = []
        for start, token in enumerate(found):
            for name in self._beginning(token.key) if self._may_begin(found, start) else ():
                end = self._match(found, start, name)
                small = name.part and token.text.islower() and not text.islower() and len(name.keys) == 1
                digits = name.part and token.kind == "number"  # `11` is not the Xi of Xi Jinping
                if end and not (digits or small) and not (name.capital and not self._in_capitals(token)):
                    matches.append((start, end, name))
                    break
        matches.sort(key=lambda match: (-(len(match[2].keys)), match[0]))
        starts = {start for start, *_ in matches}
        taken: set[int] = set()
        mentions = []
        for start, end, name in matches:
            if taken & set(range(start, end)):
                continue
            if self._inside(found, (start, end), name, starts):
                continue
            taken |= set(range(start, end))
            possessive, person = self._possessive(found, end), name.part or self._is_person(name)
            mentions.append(Mention(start, end, name.kind, name.name, possessive, person=person))
        for each in self._people(found):
            if not taken & set(range(each.start, each.end)):
                taken |= set(range(each.start, each.end))
                mentions.append(each)
        if self._values:
            mentions += [
                each for each in self._valued(found, text) if not taken & set(range(each.start, each.end))
            ]
        return sorted(mentions)

    def _beginning(self, key: str) -> Sequence[Name]:
        """The names that begin with a word, in German also those of one word in the genitive."""
        names = self._names.by_first.get(self._number(key), ())
        if not names and self._language == "de" and key.endswith("s"):
            return [
                each for each in self._names.by_first.get(self._number(key[:-1]), ()) if len(each.keys) == 1
            ]
        return names

    def _people(self, found: Sequence[Token]) -> Iterator[Mention]:
        """Persons whose name is written with more or fewer given names and initials than a candidate's."""
        for place, token in enumerate(found) if self._names.people else ():
            for person in self._names.people.get(self._number(token.key), ()):
                end = place + len(person.surname)
                if tuple(self._number(each.key) for each in found[place:end]) != person.surname:
                    continue
                start, given = self._given(found, place, person.given)
                if given and same(given, person, self._names) and not self._goes_on(found, end):
                    kind, name = person.name.kind, person.name.name
                    yield Mention(start, end, kind, name, self._possessive(found, end), person=True)
                    break

    def _given(self, found: Sequence[Token], place: int, first: str) -> tuple[int, list[str]]:
        """Where the given names before a surname begin, and what they are; initials each by itself."""
        given: list[str] = []
        start = place
        while start and len(given) < MOST:
            token = found[start - 1]
            if token.text == "-" and token.end == found[start].start:
                start -= 1
                continue
            named = token.is_capital and not token.possessive and not self._known(token)
            if not named and token.key != first:
                break
            given[:0] = token.key if token.kind == "initials" else (token.key,)
            start -= 1
            if token.key == first:
                break
        return start, given

    def _goes_on(self, found: Sequence[Token], end: int, person: bool = True) -> bool:
        """Whether a longer name goes on behind a place; letters of honour belong to a person's."""
        after = found[end] if end < len(found) else None
        if after is None or not after.is_capital or found[end - 1].possessive:
            return False
        if person and _HONOUR.fullmatch(after.text) and not found[end - 1].text.isupper():
            return after.key.strip("ivx") == ""
        return not (self._known(after) or after.key in self.asked or self.cues.has("suffix", after.key))

    def _possessive(self, found: Sequence[Token], end: int) -> bool:
        last, by_first = found[end - 1], self._names.by_first
        genitive = (
            self._language == "de"
            and last.text.endswith("s")
            and not by_first.get(self._number(last.key))
            and self._number(last.key[:-1]) in by_first
        )
        return (last.possessive or genitive) or (
            end + 1 < len(found)
            and found[end].text == "'"
            and found[end].start == last.end
            and last.key.endswith(("s", "x", "z"))
            and found[end + 1].is_word
        )

    @staticmethod
    def _may_begin(found: Sequence[Token], start: int) -> bool:
        if not (found[start].is_word or found[start].text == "&" or found[start].kind == "bullet"):
            return False
        if start == 0 or found[start].kind == "alone":
            return True
        before = found[start - 1]
        glued = before.end == found[start].start
        return not (glued and before.text in "-_@#" and start > 1 and found[start - 2].end == before.start)

    def _match(self, found: Sequence[Token], start: int, name: Name) -> int:
        """The place behind a name that begins at `start`; 0 if it does not."""
        place, last = start, start
        for number, key in enumerate(name.keys):
            while number and place < len(found) and self._number(found[place].key) != key:
                token = found[place]
                initial = token.is_capital and len(token.key) == 1
                initial = initial and self._names.own(name.keys, name.kind)
                inner = token.text in _INNER or token.text in signs_of(name.name)
                if inner or self.cues.has("article", token.key) or initial:
                    place += 1
                    continue
                break
            if place >= len(found):
                return 0
            own = self._number(found[place].key)
            genitive = (
                self._language == "de" and number == len(name.keys) - 1 and found[place].key == f"{key}s"
            )
            if own != key and not genitive:
                return 0
            owner = number and found[last].possessive and found[last].key not in owners_of(name.name)
            if owner and not genitive and name.keys[number - 1] + "s" != key:
                return 0
            last, place = place, place + 1
        if place < len(found) and found[place].end - found[place].start == 1 and found[last].kind != "alone":
            glued = found[place].text in "-_@" and found[place].start == found[last].end
            if glued and place + 1 < len(found) and found[place + 1].start == found[place].end:
                return 0
        return place

    @staticmethod
    def _in_capitals(token: Token) -> bool:
        return token.text[:1].isupper() and (
            len(token.key) > 3 or token.text.replace(".", "").isupper() or len(token.key) < 2
        )

    def _inside(
        self, found: Sequence[Token], place: tuple[int, int], name: Name, starts: Collection[int]
    ) -> bool:
        """Whether a mention is part of a longer name that is no candidate's, or of the question's words.

        `starts`: where candidates begin.
        """
        start, end = place
        keys = tuple(self._number(token.key) for token in found[start:end] if token.is_word)
        after = found[end] if end < len(found) else None
        if self.asked and name.kind != ACCEPTED:
            asked = tuple(map(self._number, self.asked))
            for size_before, size_after in ((1, 0), (0, 1)):
                run = found[start - size_before if start else 0 : end + size_after]
                longer = tuple(self._number(token.key) for token in run)
                if (
                    len(longer) == len(found[start:end]) + 1
                    and self._plain_run(longer)
                    and _within(longer, asked)
                ):
                    return True
        if after is not None and self._joins_names(after) and end + 1 < len(found):
            following = found[end + 1]  # Santiago de Compostela
            if following.is_capital and not self._known(following) and end + 1 not in starts:
                return True
        if name.part and after is not None and self._of_another_king(name, after):
            return True
        shouted = after is not None and found[start].text.isupper() and after.text.isupper()
        part = name.part or (len(keys) == 1 and keys[0] in self._names.surnames)
        person = name.part or self._is_person(name)
        if end not in starts and self._goes_on(found, end, person) and found[start].is_capital:
            return part or not shouted or not after or after.key.strip("ivx") == ""
        if part and self._is_followed(found, end):
            return True
        while start and part and self.cues.has("particle", found[start - 1].key):
            start -= 1
        before = found[start - 1] if start else None
        if before is None or not before.is_word or before.possessive:
            return False
        if part and (len(keys) == 1 or self.cues.has("particle", keys[0])):
            return self._of_another(before, name, keys)
        return self._of_another_place(found, start, name)

    def _of_another_king(self, name: Name, after: Token) -> bool:
        """Whether the number behind a given name is not that of its holder: `Charles II`."""
        own = {key for key in map(self._number, keys_of(name.name)) if key.isdigit()}
        number = self._number(after.key)
        return bool(own) and after.text.isupper() and number.isdigit() and number not in own

    def _is_followed(self, found: Sequence[Token], end: int) -> bool:
        """Whether what follows a surname or given name makes it another's: `Scholz & Friends`."""
        after, then = ([*found[end : end + 2], None, None])[:2]
        if after is None or found[end - 1].possessive:
            return False
        if after.is_capital and self._number(after.key) in self._names.surnames:
            return True
        joined = after.text == "&" or after.key == "the"
        return joined and then is not None and then.is_capital and not self._known(then)

    def _of_another(self, before: Token, name: Name, keys: tuple[str, ...]) -> bool:
        """Whether the word before a surname or given name is another one's: `Hunter Biden`."""
        if not before.is_capital or self._known(before) or before.key in self.asked:
            return False
        titled = self._language == "de" and _TITLE.search(before.key)
        initial = before.kind == "initials" and any(
            each[-1] == keys[-1] and each[0][0] == before.key[0] for each in self._names.whole
        )
        return not (titled or initial or before.key in self._names.surnames)

    def _of_another_place(self, found: Sequence[Token], start: int, name: Name) -> bool:
        """Whether the word before a name makes it another one: `New Mexico`, `Indian Premier League`."""
        before, person, several = found[start - 1], name.part or self._is_person(name), len(name.keys) > 1
        if not before.is_capital or found[start].text.islower():
            return False
        if self.cues.has("direction", before.key) and not person:
            return True
        first = start < 2 or not found[start - 2].is_word
        if self._language == "de" or before.key.endswith("ly") or (several and person):
            return False
        titled = self.cues.has("title", before.key)
        place = several and self.cues.has("place", name.keys[0])
        if not several and first and len(name.keys[0]) > 1 and not self.cues.has("place", before.key):
            return False  # it may only begin the sentence
        return not (
            (self._known(before) and not (titled and place))  # the Democratic Republic of the Congo
            or before.key in self.asked
            or self.cues.has("thing", before.key)
            or (before.text.isupper() and before.kind != "initials")
        )

    def _is_person(self, name: Name) -> bool:
        return any(name.keys == each.name.keys for people in self._names.people.values() for each in people)

    def _joins_names(self, token: Token) -> bool:
        """Whether a word in small letters is part of a name, and no article of the language."""
        small = token.kind == "word" and token.text.islower() and self.cues.has("particle", token.key)
        return small and not self.cues.has("article", token.key) and not self.cues.has("by", token.key)

    def _plain_run(self, keys: Sequence[str]) -> bool:
        return not any(
            self.cues.has(kind, key) for key in (keys[0], keys[-1]) for kind in ("verb", "article", "starter")
        )

    def _known(self, token: Token) -> bool:
        """Whether a capitalised word says nothing about whose name it is."""
        return (
            any(self.cues.has(kind, token.key) for kind in ("title", "starter", "article", "verb", "opening"))
            or token.key in self.cues.values["month"]
            or any(cue.start == 0 for cue in self.cues.find([token.key]))
        )

    def _valued(self, found: Sequence[Token], text: str) -> Iterator[Mention]:
        kinds = {value.kind for value, *_ in self._values}
        for value in values_in(text, self.cues, self._language, kinds):
            places = [
                place
                for place, token in enumerate(found)
                if token.start < value.end and value.start < token.end
            ]
            if not places:
                continue
            kind, name = UNKNOWN, text[value.start : value.end]
            for side in (ACCEPTED, STALE, OTHER):
                listed = [
                    written for wanted, of, written in self._values if of == side and wanted.holds(value)
                ]
                if listed:
                    kind, name = side, listed[0]
                    break
            yield Mention(places[0], places[-1] + 1, kind, name, value=True)

    @property
    def of_values(self) -> bool:
        """Whether the accepted answers are dates or amounts."""
        return any(kind == ACCEPTED for _, kind, _ in self._values)

    def unknown(self, found: Sequence[Token], mentions: Sequence[Mention]) -> list[Mention]:
        """Runs of capitalised words that are neither candidates nor the question's nor common ones."""
        taken = {place for each in mentions for place in range(each.start, each.end)}

        def is_named(place: int) -> bool:
            token = found[place]
            capital = place not in taken and (token.is_capital or token.kind == "alone")
            if token.key in self.cues.values["event"] and not (place and found[place - 1].is_word):
                return False  # Born in X
            return capital and not self._known(token) and token.key not in self.asked

        runs = [[*run] for named, run in groupby(range(len(found)), is_named) if named]
        return [
            Mention(
                *(run[0], run[-1] + 1, UNKNOWN, " ".join(found[place].text for place in run)),
                possessive=found[run[-1]].possessive,
            )
            for run in runs
        ]


def _within(run: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[place : place + len(run)] == run for place in range(len(words) - len(run) + 1))

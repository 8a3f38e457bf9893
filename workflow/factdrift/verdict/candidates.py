"""Finds the candidates of a question in a text: whole words, the longest name first.

A single surname or given name counts where no other candidate has it and no other full name is around it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from factdrift.verdict.cues import Cues, about
from factdrift.verdict.names import (
    ACCEPTED,
    MOST,
    OTHER,
    SHARED,
    STALE,
    UNKNOWN,
    Name,
    Names,
    abbreviates,
    number_key,
    owners_of,
    same,
    signs_of,
)
from factdrift.verdict.sentences import within_names
from factdrift.verdict.text import Token, keys_of, plain, tokens
from factdrift.verdict.values import Value, read_value, values_in

_INNER = frozenset(",.'\"-/:&")
"""Signs that may be inside any name, whether its label has them or not."""
_TITLE = re.compile(r"(?:kanzler|minister|president|prasident|chef|trainer|vorganger|nachfolger)(?:in)?$")
_HONOUR = re.compile(r"[A-Z](?:[a-z]{0,2}[A-Z]){1,5}")
"""Letters of honour behind a person's name, such as `OBE` and `PhD`, and the number of a king."""


class Mention(NamedTuple):
    """A candidate in a text: the positions of its first token and behind its last one."""

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

    def __init__(self, sides: Sequence[Sequence[str]], question: str, cues: Cues, language: str) -> None:
        """`sides`: the accepted, the stale and the other answers."""
        self.cues, self._language = cues, language
        self.asked = keys_of(question)
        self.subject = {token.key for token in tokens(plain(question))[1:] if token.is_capital}
        """The words of the question that are written as names are."""
        self._values: list[tuple[Value, str, str]] = []
        names: dict[str, list[str]] = {}
        for kind, texts in zip((ACCEPTED, STALE, OTHER), sides, strict=True):
            for text in texts:
                if (value := read_value(text, cues, language)) is not None:
                    self._values.append((value, kind, text))
                else:
                    names.setdefault(kind, []).append(text)
        self._names = Names.read(names, self.asked, cues)
        self.within = within_names(text for texts in sides for text in texts)

    @property
    def of_values(self) -> bool:
        """Whether the accepted answers are dates or amounts."""
        return any(kind == ACCEPTED for _, kind, _ in self._values)

    def mentions(self, tokens: Sequence[Token], text: str) -> list[Mention]:
        """The candidates in the tokens of a text, none inside another, in their order; values, too.

        UNKNOWN are values of the kind that is asked for which are none of the candidates'.
        """
        matches = sorted(self._matches(tokens), key=lambda match: (-len(match[1].keys), match[0].start))
        starts = {span.start for span, _ in matches}
        apart = [match for match in matches if not self._inside(tokens, *match, starts)]
        whole = (self._mention(tokens, *match) for match in apart)
        mentions: list[Mention] = []
        taken: set[int] = set()
        for mention in chain(whole, self._people(tokens), self._valued(tokens, text)):
            if taken.isdisjoint(mention.span):
                taken.update(mention.span)
                mentions.append(mention)
        return sorted(mentions)

    def unknown(self, tokens: Sequence[Token], mentions: Sequence[Mention]) -> list[Mention]:
        """Runs of capitalised words that are neither candidates nor the question's nor common ones."""
        taken = {position for mention in mentions for position in mention.span}

        def is_named(position: int) -> bool:
            token = tokens[position]
            capital = position not in taken and (token.is_capital or token.kind == "alone")
            apposed = [token.text for token in tokens[position - 1 : position + 2 : 2]] == [",", ","]
            behind = position - 1 - apposed
            while behind > 0 and self._is_honour(tokens[behind]):
                behind -= 1
            capital &= not (behind in taken and self._is_honour(token))  # X KC MP; X, MP
            capital &= token.key not in self.cues.values["number"]
            alone = not (position + 1 < len(tokens) and tokens[position + 1].is_capital)
            if token.kind == "initials" and alone and position and tokens[position - 1].text == ",":
                return False  # X, S.C., M.P.
            begins = position == 0 and token.key in about(self.asked, self.cues)  # Ownership lies with X
            return capital and not (begins or self._known(token) or token.key in self.asked)

        runs = [[*run] for named, run in groupby(range(len(tokens)), is_named) if named]
        runs = [run for run in runs if not self._is_subject(tokens, run)]
        names = [" ".join(tokens[position].text for position in run) for run in runs]
        return [
            Mention(run[0], run[-1] + 1, UNKNOWN, name, possessive=tokens[run[-1]].possessive)
            for run, name in zip(runs, names, strict=True)
        ]

    def _is_honour(self, token: Token) -> bool:
        return self.cues.has("suffix", token.key) or bool(_HONOUR.fullmatch(token.text))

    def _is_subject(self, tokens: Sequence[Token], run: Sequence[int]) -> bool:
        """Whether capitals are the question's subject written out, or the noun behind a part of it.

        Such are `Indian Space Research Organisation (ISRO)` and the `Party` of a country's party.
        """
        after = [token.key for token in tokens[run[-1] + 1 : run[-1] + 4]]
        if after[:1] + after[2:] == ["(", ")"] and after[1] in self.asked:
            return True
        behind = tokens[run[-1] + 1 : run[-1] + 3]  # Teatro alla Scala
        if len(behind) == 2 and self.cues.has("linking", behind[0].key) and behind[1].is_capital:
            return behind[1].key in self.asked
        key = tokens[run[0]].key
        initials = len(key) > 2 and abbreviates(key, self.asked)
        return len(run) == 1 and (initials or self.cues.has("thing", key))

    def _mention(self, tokens: Sequence[Token], span: range, name: Name) -> Mention:
        person = self._names.is_person(name)
        end = span.stop + (person and self._has_second_surname(tokens, span))
        return Mention(span.start, end, name.kind, name.name, self._possessive(tokens, end), person=person)

    def _has_second_surname(self, tokens: Sequence[Token], span: range) -> bool:
        """Whether a full name goes on with a second surname, in a country that has them."""
        country = self._language == "es" or any(self.cues.has("two_surnames", key) for key in self.asked)
        if len(span) < 2 or not country:
            return False
        capitals = [token for token in tokens[span.stop : span.stop + 2] if token.is_capital]
        if len(capitals) != 1 or not tokens[span.stop].is_capital or tokens[span.stop - 1].possessive:
            return False
        surname = tokens[span.stop]
        common = self._known(surname) or self.cues.has("place", surname.key) or surname.key in ("jr", "sr")
        return surname.kind == "word" and not common

    def _matches(self, tokens: Sequence[Token]) -> Iterator[tuple[range, Name]]:
        """The longest name that begins at each token."""
        shouted = all(token.text.islower() for token in tokens if token.kind == "word")
        for start, token in enumerate(tokens):
            for name in self._beginning(token) if _may_begin(tokens, start) else ():
                small = name.part and token.text.islower() and not shouted and len(name.keys) == 1
                digits = name.part and token.kind == "number"  # `11` is not the Xi of Xi Jinping
                capitals = token.text.replace(".", "").isupper() or not 2 <= len(token.key) <= 3
                common = name.capital and not (token.text[:1].isupper() and capitals)  # Us is not US
                common |= name.part and len(name.keys) == 1 and self.cues.has("starter", token.key)  # Jae-in
                if small or digits or common:
                    continue
                if end := self._match(tokens, start, name):
                    yield range(start, end), name
                    break

    def _beginning(self, token: Token) -> Sequence[Name]:
        """The names that begin with a word, or with what is behind its article: `l'euro`.

        In German also those of one word in the genitive.
        """
        key, known = token.key, self._names.by_first
        names = known.get(self._number(key), ())
        if not names and self._language == "de" and key.endswith("s"):
            genitive = known.get(self._number(key[:-1]), ())
            return [name for name in genitive if len(name.keys) == 1]
        if not names and key.endswith("s") and token.text.islower():  # euros
            return [name for name in known.get(key[:-1], ()) if len(name.keys) == 1 and name.name.islower()]
        elided = self._language not in ("en", "de") and token.text[:2].casefold() in ("l'", "d'")
        return names or (known.get(self._number(key[1:]), ()) if elided else ())

    def _number(self, key: str) -> str:
        return number_key(key, self.cues)

    def _people(self, tokens: Sequence[Token]) -> Iterator[Mention]:
        """Persons whose name is written with more or fewer given names and initials than a candidate's."""
        for start, token in enumerate(tokens) if self._names.people else ():
            for person in self._names.people.get(self._number(token.key), ()):
                end = start + 2 * len(person.surname) - 1  # Akufo-Addo
                hyphens = {token.text for token in tokens[start + 1 : end : 2]}
                if hyphens != {"-"} and len(person.surname) > 1:
                    end = start + len(person.surname)
                words = [token for token in tokens[start:end] if token.text != "-"]
                if tuple(self._number(token.key) for token in words) != person.surname:
                    continue
                first, given = self._given(tokens, start, person.given)
                span = range(first, end)
                longer = self._goes_on(tokens, end) and not self._has_second_surname(tokens, span)
                if given and same(given, person, self._names) and not longer:
                    yield self._mention(tokens, span, person.name)
                    break

    def _given(self, tokens: Sequence[Token], surname: int, first: str) -> tuple[int, list[str]]:
        """Where the given names before a surname begin, and what they are; initials each by itself."""
        given: list[str] = []
        start = surname
        while start and len(given) < MOST:
            token = tokens[start - 1]
            glued = token.text == "-"
            named = token.is_capital and not token.possessive and not self._known(token)
            if not (glued or named or token.key == first):
                break
            start -= 1
            if not glued:
                given[:0] = token.key if token.kind == "initials" else (token.key,)
            if token.key == first:
                break
        return start, given

    def _goes_on(self, tokens: Sequence[Token], end: int, person: bool = True) -> bool:
        """Whether a longer name goes on behind a position; letters of honour belong to a person's."""
        after = tokens[end] if end < len(tokens) else None
        if after is None or not after.is_capital or tokens[end - 1].possessive:
            return False
        if person and _HONOUR.fullmatch(after.text) and not tokens[end - 1].text.isupper():
            return _is_roman(after)
        return not (self._known(after) or after.key in self.asked or self.cues.has("suffix", after.key))

    def _possessive(self, tokens: Sequence[Token], end: int) -> bool:
        """Whether a name is in the genitive: `Biden's`, `Burns'`, in German `Scholz'` and `Merkels`."""
        last, known = tokens[end - 1], self._names.by_first
        if last.possessive:
            return True
        if self._language == "de" and last.text.endswith("s") and not known.get(self._number(last.key)):
            return self._number(last.key[:-1]) in known
        apostrophe = end + 1 < len(tokens) and tokens[end].text == "'" and tokens[end].start == last.end
        return apostrophe and last.key.endswith(("s", "x", "z")) and tokens[end + 1].is_word

    def _match(self, tokens: Sequence[Token], start: int, name: Name) -> int:
        """The position behind a name that begins at `start`; 0 if it does not."""
        position, last = start, start
        german, signs = self._language == "de", _INNER | signs_of(name.name)
        for number, key in enumerate(name.keys):
            while number and position < len(tokens) and self._number(tokens[position].key) != key:
                token = tokens[position]
                initial = token.is_capital and len(token.key) == 1 and self._names.own(name.keys, name.kind)
                apposed = tokens[position - 1].text == "," and "," not in name.name  # under X, the Y
                article = self.cues.has("article", token.key) and not apposed
                if not (initial or token.text in signs or article):
                    break
                position += 1
            if position >= len(tokens):
                return 0
            token = tokens[position]
            genitive = german and number == len(name.keys) - 1 and token.key == f"{key}s"
            if number and self._number(token.key) != key and not genitive:
                return 0
            owner = number and tokens[last].possessive and tokens[last].key not in owners_of(name.name)
            if owner and not genitive and name.keys[number - 1] + "s" != key:
                return 0
            last, position = position, position + 1
        joined = [tokens[last], *tokens[position : position + 2]]
        glued = len(joined) == 3 and joined[0].end == joined[1].start and joined[1].end == joined[2].start
        return 0 if glued and joined[1].text in "-_@" and tokens[last].kind != "alone" else position

    def _inside(self, tokens: Sequence[Token], span: range, name: Name, starts: Collection[int]) -> bool:
        """Whether a mention is part of a longer name that is no candidate's, or of the question's words.

        `starts`: where candidates begin.
        """
        start, end = span.start, span.stop
        after, following = [*tokens[end : end + 2], None, None][:2]
        person, single = self._names.is_person(name), len(span) == 1
        part = name.part or (single and self._number(tokens[start].key) in self._names.surnames)
        edition = start > 0 and tokens[start - 1].text.islower() and after and after.kind == "number"
        if name.name.islower() and tokens[start].is_capital and edition:
            return True  # Euro 2024
        small = after.key if after and after.kind == "word" and after.text.islower() else ""
        joins = self.cues.has("particle", small) and end + 1 not in starts
        joins &= not any(self.cues.has(kind, small) for kind in ("article", "by", "to"))
        if joins and following and following.is_capital and not self._known(following):
            return True  # Santiago de Compostela
        own = {key for key in map(self._number, keys_of(name.name)) if key.isdigit()}
        number = self._number(after.key) if name.part and own and after and after.text.isupper() else ""
        if number.isdigit() and number not in own:
            return True  # Charles II
        longer = end not in starts and tokens[start].is_capital and self._goes_on(tokens, end, person)
        goes_on = any(token.text == "," or token.text.islower() for token in tokens[end + 1 : end + 2])
        whole = len(span) > 2 and not part and goes_on  # Kirsty Leigh Coventry Seward is
        if longer and not (person and (whole or self._has_second_surname(tokens, span))):
            shouted = tokens[start].text.isupper() and after is not None and after.text.isupper()
            return part or not shouted or (after is not None and _is_roman(after))
        if part and self._is_followed(tokens, end):
            return True
        while start and part and self.cues.has("particle", tokens[start - 1].key):
            start -= 1
        before = tokens[start - 1] if start else None
        if before is None or not before.is_word or before.possessive:
            return False
        if part and (single or self.cues.has("particle", tokens[span.start].key)):
            return self._of_another(before, name, tokens[end - 1])
        return self._of_another_place(tokens, start, name)

    def _is_followed(self, tokens: Sequence[Token], end: int) -> bool:
        """Whether what follows a surname or given name makes it another's: `Scholz & Friends`."""
        after, following = [*tokens[end : end + 2], None, None][:2]
        if after is None or tokens[end - 1].possessive:
            return False
        if after.is_capital and self._number(after.key) in self._names.surnames:
            return True
        if following is None or not (after.text == "&" or after.key == "the"):
            return False
        return following.is_capital and not self._known(following)

    def _of_another(self, before: Token, name: Name, last: Token) -> bool:
        """Whether the word before a surname or given name is another one's: `Hunter Biden`."""
        if not before.is_capital or self._known(before) or before.key in self.asked:
            return before.key in self.asked and last.key in self.asked and not self._known(before)
        titled = self._language == "de" and _TITLE.search(before.key)
        own = {(keys[-1], keys[0][0]) for keys in self._names.whole} if name.kind != SHARED else {}
        initial = before.kind == "initials" and (self._number(last.key), before.key[0]) in own
        return not (titled or initial or before.key in self._names.surnames)

    def _of_another_place(self, tokens: Sequence[Token], start: int, name: Name) -> bool:
        """Whether the word before a name makes it another one: `New Mexico`, `Indian Premier League`."""
        before, person, several = tokens[start - 1], self._names.is_person(name), len(name.keys) > 1
        if not before.is_capital or tokens[start].text.islower():
            return False
        if self.cues.has("direction", before.key) and not person:
            return True
        if self._language == "de" or before.key.endswith("ly") or (several and person):
            return False
        first = start < 2 or not tokens[start - 2].is_word
        if not several and first and len(name.keys[0]) > 1 and not self.cues.has("place", before.key):
            return False  # it may only begin the sentence
        republic = several and self.cues.has("title", before.key) and self.cues.has("place", name.keys[0])
        return not (
            (self._known(before) and not republic)  # the Democratic Republic of the Congo
            or before.key in self.asked
            or self.cues.has("thing", before.key)
            or (before.text.isupper() and before.kind != "initials")
        )

    def _known(self, token: Token) -> bool:
        """Whether a capitalised word says nothing about whose name it is."""
        kinds = ("title", "starter", "article", "verb", "opening", "abbreviation")
        common = any(self.cues.has(kind, token.key) for kind in kinds)
        common |= any(token.key in self.cues.values[kind] for kind in ("month", "office"))
        return common or bool(self.cues.find([token.key]))

    def _valued(self, tokens: Sequence[Token], text: str) -> Iterator[Mention]:
        kinds = {value.kind for value, *_ in self._values}
        metres = any(value.unit in ("m", "km", "cm", "mm") for value, *_ in self._values)
        values = values_in(text, self.cues, self._language, kinds, metres=metres) if kinds else ()
        for value in values:
            inside = [
                at for at, token in enumerate(tokens) if token.start < value.end and value.start < token.end
            ]
            matches = [(kind, name) for wanted, kind, name in self._values if wanted.holds(value)]
            near = [(kind, name) for wanted, kind, name in self._values if wanted.rounds_to(value)]
            matches = matches or (near if len(dict(near)) == 1 else [])
            kind, name = next(iter(matches), (UNKNOWN, text[value.start : value.end]))
            span = kind == UNKNOWN and not any(own.unit for own, *_ in self._values)
            if span and inside and self._counts_time(tokens, inside[-1] + 1):
                continue  # every ten years
            if inside:
                yield Mention(inside[0], inside[-1] + 1, kind, name, value=True)

    def _counts_time(self, tokens: Sequence[Token], at: int) -> bool:
        """Whether a unit of time that is not asked for is at a position."""
        return at < len(tokens) and self.cues.has("span", tokens[at].key) and tokens[at].key not in self.asked


def _may_begin(tokens: Sequence[Token], start: int) -> bool:
    """Whether a name may begin at a token: not behind a hyphen within a word."""
    token = tokens[start]
    if not (token.is_word or token.text == "&" or token.kind == "bullet"):
        return False
    if start < 2 or token.kind == "alone":
        return True
    word, sign = tokens[start - 2 : start]
    return not (sign.text in "-_@#" and word.end == sign.start and sign.end == token.start)


def _is_roman(token: Token) -> bool:
    return token.key.strip("ivx") == ""

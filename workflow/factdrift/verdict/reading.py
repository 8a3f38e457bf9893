"""A sentence with what it names, its cues, and the role of each name as far as it is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import Cue, Cues
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.text import Token


class Role(StrEnum):
    """What a sentence says of a name."""

    ASSERTED = "asserted"
    NOW = "now"
    BEFORE = "before"
    """It was before another."""
    ONCE = "once"
    """Of a time that may be past."""
    DENIED = "denied"
    TWICE = "denied twice"
    TAKEN_BACK = "taken back"
    BESIDE = "beside"
    OPEN = "open"
    """It is left open."""


HOLDS = (Role.ASSERTED, Role.NOW)
CLAIMED = (*HOLDS, Role.ONCE)
"""Roles of names that answer the question, if only for a time."""

STOPS = frozenset(";:()[]!?—–|")
STOPS_BUT_PARENTHESES = STOPS - {"(", ")"}
_REACH = 9
"""Words, at most, between a cue and the name that it is about."""


@dataclass
class Reading:
    """The tokens of a sentence with what it names (`mentions`, `unknown`), its cues, and the roles so far."""

    tokens: Sequence[Token]
    mentions: Sequence[Mention]
    unknown: Sequence[Mention]
    words: Cues
    asked: Sequence[str] = ()
    """The words of the question."""
    subject: Collection[str] = ()
    """Those that are written as names are."""
    cues: list[Cue] = field(default_factory=list)
    roles: dict[int, Role] = field(default_factory=dict)
    """Start of a mention -> its role, if another than ASSERTED."""
    doubts: dict[int, str] = field(default_factory=dict)
    """Start of a mention -> why it may not answer the question although it is asserted."""

    def __post_init__(self) -> None:
        named = {position for mention in self.mentions for position in mention.span}
        positions = [at for at in range(len(self.tokens)) if not self._hyphen(at)]  # real-time is `real time`
        keys = [self.key(at) if self.tokens[at].is_word else f" {self.tokens[at].text}" for at in positions]
        cues = self.words.find(["" if at in named else key for at, key in zip(positions, keys, strict=True)])
        cues = [Cue(cue.kind, positions[cue.start], positions[cue.end - 1] + 1) for cue in cues]
        self.cues = [cue for cue in cues if not self._compound(cue)]
        self.cues += [
            Cue("handed_on", at, at + 1) for at, token in enumerate(self.tokens) if token.text == "→"
        ]
        phrases = [cue for cue in self.cues if len(cue.span) > 1]
        phrases += self.of("refused", "disclaimer", "retracted")
        self.unknown = [
            name
            for name in self.unknown
            if not any(cue.start < name.end and name.start < cue.end for cue in phrases)
        ]

    def _hyphen(self, at: int) -> bool:
        """Whether the hyphen of a compound is at a position."""
        if self.tokens[at].text != "-" or not 0 < at < len(self.tokens) - 1:
            return False
        before, hyphen, after = self.tokens[at - 1 : at + 2]
        glued = before.end == hyphen.start and hyphen.end == after.start
        return glued and before.kind == after.kind == "word"

    def _compound(self, cue: Cue) -> bool:
        """Whether a word is glued to another by a hyphen, such as the `no` of `no-one`; `ex-` is a cue."""
        after = self.tokens[cue.end] if cue.end < len(self.tokens) else None
        glued = after is not None and after.text == "-" and after.start == self.tokens[cue.end - 1].end
        return glued and cue.kind not in ("former", "disclaimer")

    def key(self, position: int) -> str:
        """The key of the token at a position; empty outside of the sentence."""
        return self.tokens[position].key if 0 <= position < len(self.tokens) else ""

    def keys(self, start: int, end: int | None = None) -> list[str]:
        return [token.key for token in self.tokens[max(start, 0) : end]]

    def sign(self, position: int) -> str:
        """The text of the token at a position; empty outside of the sentence."""
        return self.tokens[position].text if 0 <= position < len(self.tokens) else ""

    def is_a(self, position: int, *kinds: str) -> bool:
        """Whether the word at a position is in one of these rows of cue words."""
        return any(self.words.has(kind, self.key(position)) for kind in kinds)

    def has(self, kind: str, start: int, end: int | None = None) -> bool:
        """Whether a word of a row is between two positions."""
        return any(self.words.has(kind, key) for key in self.keys(start, end))

    def lead(self, mention: Mention) -> int:
        """The position of the last word before a name that is neither article nor title; -1 without one."""
        position = mention.start - 1
        while position >= 0 and self.is_a(position, "article", "title"):
            position -= 1
        return position

    def phrase_lead(self, mention: Mention) -> int:
        """As `lead`, before all words of the name's phrase: the `to` of `to his former deputy X`."""
        position = self.lead(mention)
        kinds = ("article", "title", "kin", "deputy", "noun", "thing", "adjective", "possessive")
        while position >= 0 and (
            (self.sign(position).islower() and self.is_a(position, *kinds))
            or self.key(position) == "being"  # from being a member of X
            or self.sign(position) == "-"  # his half-brother X
        ):
            position -= 1
        return position

    def role(self, mention: Mention) -> Role:
        return self.roles.get(mention.start, Role.ASSERTED)

    def assign(self, mention: Mention | None, role: Role, over: Sequence[Role] = (Role.ASSERTED,)) -> None:
        """Gives a name a role unless it has one that is not in `over`."""
        if mention is not None and self.role(mention) in over:
            self.roles[mention.start] = role

    def asserted(self) -> list[Mention]:
        """The candidates that the sentence asserts, in their order."""
        return [mention for mention in self.mentions if self.role(mention) in HOLDS]

    def of(self, *kinds: str) -> list[Cue]:
        return [cue for cue in self.cues if cue.kind in kinds]

    def has_cue(self, kind: str, start: int, end: int) -> bool:
        """Whether a whole cue of a kind is between two positions."""
        return any(start <= cue.start and cue.end <= end for cue in self.of(kind))

    def named(self) -> list[Mention]:
        return sorted([*self.mentions, *self.unknown])

    def _is_noun(self, name: Mention) -> bool:
        """Whether an unknown name may be a noun, in a language whose nouns have capitals."""
        single = name.kind == UNKNOWN and len(name.span) == 1 and not (name.possessive or name.value)
        return single and self.words.capital_nouns

    def positions(self) -> set[int]:
        return {position for mention in self.named() for position in mention.span}

    def stopped(self, start: int, end: int, stops: frozenset[str] = STOPS, kinds: Sequence[str] = ()) -> bool:
        """Whether a sign, the end of a line or a cue of these kinds is between two positions."""
        if any(token.text in stops or token.kind == "break" for token in self.tokens[start:end]):
            return True
        return any(start <= cue.start < end for cue in self.of(*kinds))

    def end(self, start: int, signs: Collection[str] = STOPS | {","}) -> int:
        """The first position from `start` on with any of these signs or keys; else that behind the last."""
        ends = (at for at in range(start, len(self.tokens)) if {self.sign(at), self.key(at)} & {*signs})
        return next(ends, len(self.tokens))

    def next(self, cue: Cue, reach: int = _REACH, stops: frozenset[str] = STOPS) -> Mention | None:
        """The first name after a cue, unless a sign or too many words are between them."""
        later = [mention for mention in self.named() if mention.start >= cue.end][:2]
        if len(later) == 2 and later[0].kind == UNKNOWN and later[0].possessive:  # the BJP's X
            later = later[1:] if later[1].start == later[0].end else later
        return later[0] if later and self._near(cue.end, later[0].start, reach, stops) else None

    def previous(self, cue: Cue, reach: int = _REACH, stops: frozenset[str] = STOPS) -> Mention | None:
        """The last name before a cue, unless a sign or too many words are between them."""
        earlier = [name for name in self.named() if name.end <= cue.start and not self._is_noun(name)][-2:]
        if len(earlier) == 2 and earlier[1].kind == UNKNOWN != earlier[0].kind:  # X of the Labour Party
            of = self.lead(earlier[1])
            stopped = self.stopped(earlier[0].end, of) or "," in self.keys(earlier[0].end, of)
            verb = self.is_a(earlier[0].end, "past", "present") and not stopped
            subject = self.is_a(of, "of") and (of == earlier[0].end or verb)  # X was coach of Z
            subject |= earlier[0].person and not stopped and self.key(of) == "for"  # X was minister for Z
            earlier = earlier[:1] if subject else earlier
        return earlier[-1] if earlier and self._near(earlier[-1].end, cue.start, reach, stops) else None

    def _near(self, start: int, end: int, reach: int, stops: frozenset[str]) -> bool:
        return self.count(start, end) <= reach and not self.stopped(start, end, stops)

    def count(self, start: int, end: int) -> int:
        """The words between two positions."""
        return sum(token.is_word for token in self.tokens[start:end])


def side_by_side(reading: Reading, first: Mention, second: Mention) -> bool:
    """Whether two names are joined: `X and Y`, `X or Y`, `X / Y`, `X, Y`, points of a list."""
    inside = [cue for cue in reading.cues if first.end <= cue.start and cue.end <= second.start]
    joins = [cue for cue in inside if cue.kind in ("and", "or")]
    if any(cue.end <= first.start and len(cue.span) == 2 for cue in reading.of("spared")):  # not only
        joins += [cue for cue in inside if cue.kind == "contrast"]
    cues = [*joins, *(cue for cue in inside if cue.kind in ("spared", "hedge"))]
    covered = {position for cue in cues for position in cue.span}
    covered |= reading.positions()
    left = [
        reading.tokens[at]
        for at in outside(reading.tokens, range(first.end, second.start))
        if at not in covered and not reading.is_a(at, "article", "title")
    ]
    signs = {token.text for token in left if not token.is_word and token.kind not in ("break", "bullet")}
    points = any(token.kind == "bullet" for token in left)
    words = any(token.is_word and token.kind != "bullet" for token in left)
    if not words and signs <= {",", "/", "&", "(", ")", "|", "+", "-", '"', "'", ":"}:
        apposed = signs & {"(", ":"} or signs == {"-"}
        return bool(joins or points or (signs and not apposed))
    if not joins or ";" in signs:
        return False
    last = joins[-1]
    if last.kind == "or" and all(
        reading.has("modal", *gap) for gap in ((0, first.start), (last.end, second.start))
    ):
        return True  # it might be X, or it might still be Y
    tail = [at for at in range(last.end, second.start) if reading.tokens[at].is_word]
    lead = reading.lead(first) + 1
    again = [reading.key(at) for at in tail if not reading.is_a(at, "article", "title", "filling", "kin")]
    again = [] if again in (["his"], ["her"]) else again  # X and his son Y
    if again and again != reading.keys(lead - len(again), lead):  # but one in X and one in Y
        return False
    end = second.end
    if reading.is_a(end, "of"):  # and X of Z was sworn in
        end = next((name.end for name in reading.unknown if name.start == end + 1), end)
    following = reading.keys(end, end + 2)
    verb = reading.is_a(end, "verb", "holds") or reading.key(end) in ("its", "his", "her")
    verb |= reading.key(end) in reading.words.values["event"]
    return last.kind == "or" or not verb or any(key in _TOO for key in following)


def is_also(reading: Reading, mention: Mention) -> bool:
    """Whether the clause of a name ends with `too` or `as well`, or begins with `also`."""
    joins = [cue.start for cue in reading.of("and") if cue.end <= mention.start and len(cue.span) == 1]
    own = [cue for cue in joins if reading.key(cue) not in ("also", "auch")][-1:]
    begin = own[0] if own and reading.is_a(own[0] + 1, "present") else mention.start - 2
    if {"also", "auch"} & {*reading.keys(begin, mention.start)}:
        return True  # and is also a striker for X
    end = reading.end(mention.end, STOPS | {",", "."})
    return reading.key(end - 1) in ("too", "auch") or reading.keys(end - 2, end) == ["as", "well"]


_TOO = ("too", "also", "auch", "both", "beide")


def outside(tokens: Sequence[Token], positions: range) -> list[int]:
    """The positions that are not within parentheses which open and close there."""
    left: list[int] = []
    opened: list[int] = []
    for position in positions:
        left.append(position)
        if tokens[position].text == "(":
            opened.append(len(left) - 1)
        elif tokens[position].text == ")" and opened:
            del left[opened.pop() :]
    return left

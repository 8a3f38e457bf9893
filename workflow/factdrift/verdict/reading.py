"""An answer with what it names, its cues, and the role of each name as far as it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import Cue, Cues
from factdrift.verdict.text import Token


class Role(StrEnum):
    """What is said of a name."""

    ASSERTED = "asserted"
    NOW = "now"
    BEFORE = "before"
    """It is the one before another."""
    ONCE = "once"
    """Of a time that may be past."""
    DENIED = "denied"
    TWICE = "denied twice"
    TAKEN_BACK = "taken back"
    BESIDE = "beside"
    OPEN = "open"
    """It is left open."""


STOPS = frozenset(".;:()[]!?—–|")
STOPS_BUT_PARENTHESES = STOPS - {"(", ")"}
_REACH = 9
"""So many words, at most, are between a cue and the name that it is about."""


@dataclass
class Reading:
    """The tokens of an answer with what it names (`mentions`, `unknown`), its cues, and the roles so far."""

    tokens: Sequence[Token]
    mentions: Sequence[Mention]
    unknown: Sequence[Mention]
    words: Cues
    asked: Sequence[str] = ()
    """The words of the question."""
    cues: list[Cue] = field(default_factory=list)
    roles: dict[int, Role] = field(default_factory=dict)
    """Place of a mention -> its role, if another than ASSERTED."""
    doubts: dict[int, str] = field(default_factory=dict)
    """Place of a mention -> why it may not answer the question although it is asserted."""

    def __post_init__(self) -> None:
        taken = {place for each in self.mentions for place in range(each.start, each.end)}
        keys = [token.key if token.is_word else f" {token.text}" for token in self.tokens]
        places = [at for at in range(len(keys)) if not self._hyphen(at)]  # real-time is `real time`
        cues = self.words.find(["" if at in taken else keys[at] for at in places])
        cues = [Cue(cue.kind, places[cue.start], places[cue.end - 1] + 1) for cue in cues]
        self.cues = [cue for cue in cues if not self._joined(cue)]
        self.cues += [
            Cue("handed_on", at, at + 1) for at, token in enumerate(self.tokens) if token.text == "→"
        ]
        said = [cue for cue in self.cues if cue.end - cue.start > 1]
        empty = [*self.of("refused", "disclaimer", "retracted"), *said]
        self.unknown = [
            each
            for each in self.unknown
            if not any(one.start < each.end and each.start < one.end for one in empty)
        ]

    def _hyphen(self, at: int) -> bool:
        """Whether the hyphen of a compound is at a place."""
        if self.tokens[at].text != "-" or not 0 < at < len(self.tokens) - 1:
            return False
        before, hyphen, after = self.tokens[at - 1 : at + 2]
        glued = before.end == hyphen.start and hyphen.end == after.start
        return glued and before.kind == after.kind == "word"

    def _joined(self, cue: Cue) -> bool:
        """Whether a word is glued to another by a hyphen, such as the `no` of `no-one`; `ex-` is a cue."""
        after = self.tokens[cue.end] if cue.end < len(self.tokens) else None
        glued = after is not None and after.text == "-" and after.start == self.tokens[cue.end - 1].end
        return glued and cue.kind not in ("former", "disclaimer")

    def role(self, mention: Mention) -> Role:
        return self.roles.get(mention.start, Role.ASSERTED)

    def of(self, *kinds: str) -> list[Cue]:
        return [cue for cue in self.cues if cue.kind in kinds]

    def named(self) -> list[Mention]:
        return sorted([*self.mentions, *self.unknown])

    def stopped(self, start: int, end: int, stops: frozenset[str] = STOPS, kinds: Sequence[str] = ()) -> bool:
        """Whether a sign or a cue of these kinds is between two places."""
        if any(token.text in stops or token.kind == "break" for token in self.tokens[start:end]):
            return True
        return any(start <= cue.start < end for cue in self.of(*kinds))

    def next(self, cue: Cue, reach: int = _REACH, stops: frozenset[str] = STOPS) -> Mention | None:
        """The first name after a cue, unless something stands between them."""
        for each in self.named():
            if each.start >= cue.end:
                near = sum(token.is_word for token in self.tokens[cue.end : each.start]) <= reach
                return each if near and not self.stopped(cue.end, each.start, stops) else None
        return None

    def previous(self, cue: Cue, reach: int = _REACH, stops: frozenset[str] = STOPS) -> Mention | None:
        """The last name before a cue, unless something stands between them."""
        for each in reversed(self.named()):
            if each.end <= cue.start:
                near = sum(token.is_word for token in self.tokens[each.end : cue.start]) <= reach
                return each if near and not self.stopped(each.end, cue.start, stops) else None
        return None

    def has_cue(self, kind: str, start: int, end: int) -> bool:
        """Whether a cue of a kind is between two places."""
        return any(start <= cue.start and cue.end <= end for cue in self.of(kind))

    def has(self, kind: str, start: int, end: int) -> bool:
        """Whether a word of the row `kind` is between two places."""
        return any(self.words.has(kind, token.key) for token in self.tokens[start:end])

    def put(self, mention: Mention | None, role: Role, over: Sequence[Role] = (Role.ASSERTED,)) -> None:
        if mention is not None and self.role(mention) in over:
            self.roles[mention.start] = role


def _outside(found: Sequence[Token], places: range) -> list[int]:
    """The places that are not within parentheses which open and close there."""
    left: list[int] = []
    opened: list[int] = []
    for place in places:
        left.append(place)
        if found[place].text == "(":
            opened.append(len(left) - 1)
        elif found[place].text == ")" and opened:
            del left[opened.pop() :]
    return left


_FILLING = frozenset(("also", "auch", "possibly", "maybe", "perhaps", "it", "is", "its", "even"))


def side_by_side(reading: Reading, first: Mention, second: Mention) -> bool:
    """Whether two names are joined: `X and Y`, `X or Y`, `X / Y`, `X, Y`, points of a list."""
    between = _outside(reading.tokens, range(first.end, second.start))
    inside = [cue for cue in reading.cues if first.end <= cue.start and cue.end <= second.start]
    joins = [cue for cue in inside if cue.kind in ("and", "or")]
    if any(cue.end <= first.start and cue.end - cue.start == 2 for cue in reading.of("spared")):  # not only
        joins += [cue for cue in inside if cue.kind == "contrast"]
    spared = [cue for cue in inside if cue.kind in ("spared", "hedge")]
    covered = {place for cue in (*joins, *spared) for place in range(cue.start, cue.end)}
    covered |= {place for each in reading.named() for place in range(each.start, each.end)}

    def counts(token: Token) -> bool:
        return not (reading.words.has("article", token.key) or reading.words.has("title", token.key))

    left = [reading.tokens[place] for place in between if place not in covered]
    left = [token for token in left if counts(token)]
    signs = {token.text for token in left if not token.is_word and token.kind not in ("break", "bullet")}
    points = any(token.kind == "bullet" for token in left)
    words = [token for token in left if token.is_word and token.kind != "bullet"]
    if not words and signs <= {",", "/", "&", "(", ")", "|", "+", "-", '"', "'", ":"}:
        apposed = signs & {"(", ":"} or (signs == {"-"})
        return bool(joins or points or (signs & {",", "/", "&", "|", "+"} and not apposed))
    if not joins:
        return False
    last = joins[-1]
    tail = [token for token in reading.tokens[last.end : second.start] if token.is_word and counts(token)]
    if any(token.key not in _FILLING for token in tail):
        return False
    if last.kind == "or":
        return True
    following = reading.tokens[second.end : second.end + 2]
    verb = any(reading.words.has("verb", token.key) for token in following[:1])
    return not verb or any(token.key in ("too", "also", "auch", "both", "beide") for token in following)

"""What the clause around a name says of it: another event than the one asked for, an attempt, a condition."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.candidates import Mention
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.offices import asked_office, office_fits, other_office
from factdrift.verdict.orders import before_articles
from factdrift.verdict.reading import STOPS, Reading, Role

_BORDERS = frozenset(",;:()–—")
_JOINS = frozenset(("and", "but", "while", "whereas", "where", "und", "aber", "wahrend", "wo"))


def read_events(reading: Reading) -> None:
    """`He was born in X and died in Y`: the verb of the question chooses.

    Names in the clause of another event than the one asked for are beside the answer. Where no event is asked
    for, as of an office, so are names with an event if another one has none: `X founded it; Y runs it`.
    """
    tokens, asked = reading.tokens, asked_events(reading)
    if len(asked) > 1:
        return
    events = reading.words.valued("event", [token.key for token in tokens])
    taken = {position for mention in reading.named() for position in range(mention.start, mention.end)}
    last, clauses = "", _clauses(reading)
    if not asked:
        _read_dates(reading, clauses)
    of: dict[int, str] = {}
    for clause in clauses:
        places = [at for at in clause if at not in taken and at in events]
        led = tokens[clause.start - 1].key if clause.start else ""
        goes_on = led in (",", "(", "and", "und") and all(
            at in taken or not tokens[at].is_word or _is_small(reading, tokens[at].key) for at in clause
        )
        places = [at for at in places if not reading.has("by", max(at - 2, 0), at)]  # by its founders
        for mention in (mention for mention in reading.named() if mention.start in clause):
            near = [at for at in places if at < mention.start][-1:] or places[:1]
            if near and events.get(near[0] - 2) in asked and tokens[near[0] - 1].key in _JOINS:
                near = [near[0] - 2]
            of[mention.start] = events[near[0]] if near else (last if asked and goes_on else "")
            if near and events[near[0]] in asked and mention.kind != UNKNOWN:
                reading.put(mention, Role.NOW)
        last = events[places[-1]] if places else last
    without = [mention for mention in reading.mentions if not of[mention.start]]
    if asked or any(reading.role(mention) in (Role.ASSERTED, Role.NOW) for mention in without):
        for mention in reading.named():
            if of[mention.start] and of[mention.start] not in asked:
                reading.put(mention, Role.BESIDE, (Role.ASSERTED, Role.NOW, Role.ONCE))


def read_subjects(reading: Reading) -> None:
    """`X wrote A; B is by Y`: where B is asked about, X is not the answer."""
    cuts = [at for at, token in enumerate(reading.tokens) if token.text == ";" or token.key in _AND_SO]
    if not cuts:
        return
    parts = [range(*ends) for ends in zip([0, *cuts], [*cuts, len(reading.tokens)], strict=True)]
    own = [
        any(reading.tokens[at].is_capital and reading.tokens[at].key in _subject(reading) for at in part)
        for part in parts
    ]
    for part, is_own in zip(parts, own, strict=True):
        if any(own) and not is_own and any(each.start in part for each in reading.unknown):
            for mention in reading.mentions:
                if mention.start in part:
                    reading.put(mention, Role.BESIDE, (Role.ASSERTED, Role.NOW))


_AND_SO = frozenset(("while", "whereas", "wahrend"))


def _subject(reading: Reading) -> set[str]:
    """The words of the question that may name what it is about."""
    kinds = ("article", "starter", "verb", "title", "thing", "particle")
    return {key for key in reading.asked if not any(reading.words.has(kind, key) for kind in kinds)}


def _clauses(reading: Reading) -> list[range]:
    """The places of the clauses of a sentence; a name is in one."""
    taken = {position for mention in reading.named() for position in range(mention.start, mention.end)}
    begun, clauses = 0, []
    for position, token in enumerate(reading.tokens):
        around = [
            reading.tokens[at].key for at in (position - 1, position + 1) if 0 <= at < len(reading.tokens)
        ]
        both = all(key in reading.words.values["event"] for key in around)  # born and died in X
        if position not in taken and not both and (token.text in _BORDERS or token.key in _JOINS):
            clauses.append(range(begun, position))
            begun = position + 1
    return [*clauses, range(begun, len(reading.tokens))]


def _read_dates(reading: Reading, clauses: Sequence[range]) -> None:
    """`It was signed on X and entered into force on Y`: the question's last words choose."""
    dates = [mention for mention in reading.mentions if mention.value and _has_year(reading, mention)]
    stems = {key[:5]: position for position, key in enumerate(reading.asked) if len(key) > 3}
    best: dict[int, int] = {}
    own: dict[int, bool] = {}
    for mention in dates:
        clause = next(clause for clause in clauses if mention.start in clause)
        words = [reading.tokens[at] for at in clause if at < mention.start or at >= mention.end]
        best[mention.start] = max((stems.get(token.key[:5], -1) for token in words), default=-1)
        own[mention.start] = any(token.kind == "word" and len(token.key) > 4 for token in words)
    chosen = [mention for mention in dates if best[mention.start] == max(best.values())]
    for mention in dates if len(chosen) == 1 else ():
        if mention not in chosen and own[mention.start]:
            reading.put(mention, Role.BESIDE, (Role.ASSERTED, Role.NOW, Role.ONCE))


def _has_year(reading: Reading, mention: Mention) -> bool:
    return any(
        len(token.key) == 4 and token.key.isdigit() for token in reading.tokens[mention.start : mention.end]
    )


def _is_small(reading: Reading, key: str) -> bool:
    """Whether a word only joins a name to what stands before: `and in`, `from the`."""
    kinds = ("article", "by", "from", "to", "particle", "title")
    return (
        key.isdigit()
        or key in ("in", "on", "at", "near", "im", "am")
        or any(reading.words.has(k, key) for k in kinds)
    )


def read_attempts(reading: Reading) -> None:
    """`X tried to buy it`: X has not."""
    for cue in reading.of("attempt"):
        who = reading.previous(cue, 6)
        if who is not None and reading.stopped(who.end, cue.start, kinds=("and", "contrast")):
            who = None
        if any(token.key in _TOOK for token in reading.tokens[cue.end : _next_name(reading, cue.end)]):
            continue
        reading.put(who, Role.DENIED, (Role.ASSERTED, Role.NOW))
        holds = [
            each for each in reading.mentions if each.start >= cue.end and reading.role(each) == Role.BEFORE
        ]
        if who and holds and reading.has_cue("took_over", cue.end, holds[0].start):
            reading.put(holds[0], Role.NOW, (Role.BEFORE,))  # X is expected to succeed Y
        what = reading.next(cue, 4, STOPS | {","})
        if what is not None and not reading.stopped(cue.end, what.start, kinds=("and", "contrast")):
            reading.put(what, Role.BESIDE if who else Role.DENIED)


def _next_name(reading: Reading, place: int) -> int:
    return min((each.start for each in reading.named() if each.start >= place), default=len(reading.tokens))


def read_future(reading: Reading) -> None:
    """`X will be president`, `X should be it`: X is not yet; nor is what somebody will do."""
    for mention in reading.mentions:  # X soll es werden, X should be it
        verb, *then = [token.key for token in reading.tokens[mention.end :]] or [""]
        if (verb in _WISHED and "werden" in then) or (verb == "should" and then[:1] == ["be"]):
            reading.put(mention, Role.DENIED, (Role.ASSERTED, Role.NOW))
        earlier = [token.key for token in reading.tokens[: before_articles(reading, mention) + 1]]
        comes = verb in ("will", "shall") and not (then and then[0] in _STAY)
        if comes or (earlier[-2:] == ["will", "be"] and earlier[0] not in ("that", "it")):
            reading.put(mention, Role.DENIED)
        begin = max(
            (at for at, token in enumerate(reading.tokens[: mention.start]) if token.text in _ENDS), default=0
        )
        if verb in ("could", "might", "may", "would") and then[:1] == ["be"]:
            reading.doubts[mention.start] = "is named with what may be"
        led = [token.key for token in reading.tokens[begin : mention.start]]
        if (
            "will" in led[1:]
            and led[:3] != ["it", "will", "be"]
            and led[led.index("will") - 1] not in ("i", "you", "we", "that", "ich", "du")
        ):
            reading.doubts[mention.start] = "is named with what will be"
            before = [each for each in reading.mentions if each.end <= mention.start]
            if before and reading.role(before[-1]) == Role.BEFORE:  # X will retire and be succeeded by Y
                reading.roles |= {before[-1].start: Role.NOW, mention.start: Role.BESIDE}


_ENDS = STOPS | {","}
_TOOK = frozenset(("confirmed", "elected", "appointed", "sworn", "took", "became", "won"))
_STAY = frozenset(("remain", "continue", "stay", "keep", "serve", "hold"))
_WISHED = frozenset(("soll", "sollte", "will", "wollte", "konnte", "mochte", "durfte"))


def read_gifts(reading: Reading) -> None:
    """`X sold it to Y`: X is the one before Y, whatever stands between the verb and its `to`."""
    for cue in reading.of("gives"):
        first = reading.previous(cue, 3)
        if reading.tokens[cue.start].key in _LOST:
            reading.put(first, Role.BEFORE, (Role.ASSERTED, Role.NOW))
        for mention in reading.named():
            if mention.start < cue.end or reading.stopped(cue.end, mention.start):
                continue
            position = before_articles(reading, mention)
            if other_office(reading, [token.key for token in reading.tokens[cue.end : position]]):
                break  # he handed another post to X
            if position >= cue.end and reading.words.has("to", reading.tokens[position].key):
                reading.put(first, Role.BEFORE, (Role.ASSERTED, Role.NOW))
                reading.put(mention, Role.NOW)
                break
        else:
            before = [
                mention for mention in reading.named() if mention.end <= cue.start
            ]  # hat es an Y übergeben
            position = before_articles(reading, before[-1]) if len(before) > 1 else -1
            if (
                position >= 0
                and position >= before[-2].end
                and reading.words.has("to", reading.tokens[position].key)
            ):
                reading.put(before[-2], Role.BEFORE, (Role.ASSERTED, Role.NOW))
                reading.put(before[-1], Role.NOW)


_LOST = frozenset(("sold", "lost", "conceded", "relinquished", "ceded", "yielded", "verlor", "verkaufte"))
"""Verbs of what is then another's, whoever that is."""
_IF = frozenset(
    ("if", "suppose", "imagine", "assuming", "supposing", "provided", "falls", "wenn", "sofern", "angenommen")
)
_INVERTED = frozenset(("should", "had", "were", "sollte", "ware", "hatte"))
_OF_SPEAKER = frozenset(
    (
        *("i", "im", "you", "youre", "we", "my", "memory", "nothing", "this", "that", "there", "asked", "so"),
        *("not", "any", "needed", "correct", "true", "possible", "it", "no", "ich", "du", "wir", "man"),
        *("meine", "nichts", "es", "das", "nicht", "sich"),
    )
)
"""Words behind `if` that make no condition of an answer: `if I remember`, `if nothing has changed`."""
_HE = frozenset(("he", "she", "they"))
_OPEN = frozenset(("would", "will", "could", "might", "wurde", "ware", "wird", "konnte", "hatte"))


_LEADS = frozenset(
    (
        *(
            "leads",
            "heads",
            "runs",
            "led",
            "headed",
            "ran",
            "manages",
            "managed",
            "coaches",
            "coached",
            "owns",
        ),
        *("governs", "rules", "chairs", "leitet", "fuhrt", "trainiert"),
    )
)
_IS = frozenset(("is", "was", "ist", "war"))


def read_verbs(reading: Reading) -> None:
    """`X visited it`: what is said of the name that begins an answer may leave open whether it answers."""
    for mention in reading.mentions[:1]:
        last = mention.end == sum(token.is_word for token in reading.tokens)
        led = last and mention.start == 1 and bool(reading.unknown) and not mention.person
        if mention.possessive or mention.value:
            continue
        if led and not reading.tokens[0].key.endswith("ly"):
            reading.doubts[mention.start] = "may be a part of a longer name"  # Swiss German
        elif before_articles(reading, mention) < 0 and (doubt := _doubt(reading, mention)):
            reading.doubts[mention.start] = doubt


_KNOWN = ("verb", "holds", "starter", "title", "article", "by", "thing", "tenure", "talk", "particle")
"""Rows whose words say nothing else of the name before them."""


def _doubt(reading: Reading, mention: Mention) -> str:
    """Why a name does not answer for the verb behind it; empty if it may."""
    words, verb = reading.words, reading.tokens[mention.end : mention.end + 1]
    if (
        not verb
        or not verb[0].text.islower()
        or any(cue.start <= mention.end < cue.end for cue in reading.cues)
    ):
        return ""
    rest = [token.key for token in reading.tokens[mention.end :] if token.is_word]
    others = [
        each
        for each in reading.unknown
        if each.start > mention.end and not words.has("article", reading.tokens[each.start - 1].key)
    ]
    if asked_office(reading) and not office_fits(reading, rest):
        own = any(words.has(kind, key) for key in rest[1:] for kind in ("tenure", "holds"))
        own |= any(key in words.values["event"] or key in _RIGHT for key in rest)
        own |= bool(words.valued("office", rest)) and bool(_subject(reading) & set(rest))  # the leader of Y
        own |= bool(reading.of("now", "took_over", "handed_on", "disclaimer"))
        noun = len(rest) > 1 and (
            words.has("article", rest[1])
            or rest[1] in ("on", "at", "with")
            or reading.tokens[mention.end + 1].is_capital
        )
        if words.has("verb", rest[0]) and rest[0] in _IS and noun and not own:
            return "is only described"  # X is a fellow of Z
        if rest[0] in _LEADS and others and not _subject(reading) & set(rest):
            return f"is said to lead {others[0].name}"
        if rest[0] in _PLAYS:
            return "is said to have played"
    stems = {key[:4] for key in (*reading.asked, *(() if asked_office(reading) else words.values["event"]))}
    known = rest[0][:4] in stems or rest[0].endswith("ly") or any(words.has(kind, rest[0]) for kind in _KNOWN)
    if known or any(words.has("holds", key) for key in rest):
        return ""
    return f"is named with {rest[0]!r}, which is not known to answer"


_RIGHT = frozenset(("answer", "one", "antwort", "richtige"))
_PLAYS = frozenset(("played", "plays", "spielt", "spielte"))


def read_conditions(reading: Reading) -> None:
    """`If X won, he is president`, `Y would be if she had won`: left open, or denied, never asserted."""
    tokens = reading.tokens
    words = [position for position, token in enumerate(tokens) if token.is_word]
    for position in words:
        subject = tokens[position + 1 : position + 2]
        inverted = position == words[0] and tokens[position].key in _INVERTED
        inverted &= bool(subject) and (subject[0].is_capital or reading.words.has("starter", subject[0].key))
        inverted |= tokens[position].key == "had" and bool(subject) and subject[0].key in _HE
        if not (tokens[position].key in _IF or inverted):
            continue
        inside = _clause(reading, position)
        named = [mention for mention in reading.named() if mention.start in inside]
        supposed = tokens[position].key in ("suppose", "imagine")
        of_speaker = not subject or subject[0].key in _OF_SPEAKER or subject[0].text == "Sie"
        even = position > 0 and tokens[position - 1].key in ("even", "auch", "selbst", "as")
        if even or (of_speaker and not supposed) or tokens[-1].text == "?":
            continue
        main = [token.key for at, token in enumerate(tokens) if at not in inside]
        open_ = any(key in _OPEN for key in main)
        unreal = open_ and any(tokens[at].key in ("had", "hatte") for at in inside)  # he has not
        for mention in reading.mentions:
            within = mention.start in inside
            if within or open_ or named:
                role = Role.DENIED if unreal else Role.OPEN
                reading.put(mention, role, (Role.ASSERTED, Role.NOW, Role.ONCE, Role.BEFORE))


def _clause(reading: Reading, start: int) -> Sequence[int]:
    """The places of the clause that begins with a conjunction: up to a comma, `then`, or the end."""
    for position in range(start + 1, len(reading.tokens)):
        token = reading.tokens[position]
        if token.text == "," or token.text in STOPS or token.key in ("then", "dann"):
            return range(start, position)
    return range(start, len(reading.tokens))


def asked_events(reading: Reading) -> set[str]:
    """The events that the words of the question name, such as `birth` for `When was she born?`."""
    return set(reading.words.valued("event", reading.asked).values())


def of_asked_event(reading: Reading, position: int) -> bool:
    """Whether a word names the event that is asked for: `owned` for `Who is the owner?`."""
    return reading.words.values["event"].get(reading.tokens[position].key) in asked_events(reading)

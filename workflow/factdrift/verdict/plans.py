"""What is not so yet: attempts and plans, what will be, and what a condition leaves open."""

from __future__ import annotations

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import asked_events, is_year
from factdrift.verdict.cues import Cue
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.offices import is_core
from factdrift.verdict.reading import CLAIMED, HOLDS, STOPS, Reading, Role

_CLAUSE = STOPS | {",", "then", "dann"}
"""Ends of a clause that begins with a conjunction."""
_ALL = ("all", "every", "everyone", "everybody", "always", "alle", "jeder")
"""Words behind `almost` of an amount."""
_NOUN_LEADS = ("the", "a", "whose", "its", "his")
_DONE = ("has", "have", "went", "did", "won", "wins", "lost", "loses", "got", "gets", "became")
"""Verbs of a condition on what somebody did."""
_ELSE = ("otherwise", "else", "sonst", "ansonsten")


def read_attempts(reading: Reading) -> None:
    """`X tried to buy it`: X has not."""
    for cue in reading.of("attempt"):
        engaged = any(reading.is_a(at, "engaged") for at in cue.span) and "marriage" not in asked_events(
            reading
        )
        next_name = min((name.start for name in reading.named() if name.start >= cue.end), default=None)
        near_miss = reading.is_a(cue.start, "nearly")
        end = len(reading.tokens) if next_name is None else next_name
        achieved = any(
            (reading.is_a(at, "achieved", "remains") and not reading.has_cue("not", at - 3, at))
            or (reading.key(at) == "and" and reading.is_a(at + 1, "present"))  # ran and is president
            for at in range(cue.end, end)
        )
        if reading.key(cue.start) == "bid" and reading.key(cue.start - 1) in _NOUN_LEADS:
            continue  # the owner whose bid won
        if engaged or (achieved and not near_miss):
            continue  # X ran for president and won
        who, what = (
            reading.previous(cue, 14 if reading.key(cue.start) == "but" else 6),
            reading.next(cue, 4, STOPS if reading.key(cue.end + 1) == "dass" else STOPS | {","}),
        )
        quoted = reading.key(cue.start - 1) == "i" and '"' in map(reading.sign, range(cue.start))
        if quoted:  # X: "I plan to be president."
            who = reading.previous(cue, 9, frozenset(";"))
        comma = reading.end(cue.end, ",")
        if who is not None and reading.sign(who.end) == "," and reading.is_a(comma + 1, "present"):
            who = None  # X, who ran in the marathon, is president
        later = min((name for name in reading.mentions if name.start >= cue.end), default=None)
        if (
            what is None
            and later is not None
            and reading.sign(later.start - 2) == ","
            and later.start < cue.end + 9
        ):
            what = later if reading.is_a(later.start - 1, "article") else None  # plans a new ground, the X
        verb = cue.start - 1
        while reading.is_a(verb, "verb") or reading.key(verb) in ("often", "widely"):
            verb -= 1
        passive = not reading.key(cue.start).endswith("ing")
        if reading.sign(verb) == "," and passive:  # X, the head of another party, is seen as
            apposed = [name for name in reading.mentions if name.end < verb and reading.sign(name.end) == ","]
            who = apposed[-1] if apposed else who
        if reading.key(cue.start) in ("next", "future"):
            what = reading.next(cue, 4)
        if reading.key(cue.end - 1) in ("elect", "designate") and not reading.is_a(cue.end, "verb"):
            what = None
        amount = reading.key(cue.end)
        if near_miss and (amount[:1].isdigit() or amount in (*reading.words.values["number"], *_ALL)):
            continue  # nearly 20,000, nearly everyone
        label = reading.end(cue.end, ":")
        if cue.start == 0 and reading.sign(label) == ":" and label < cue.end + 4:
            what = reading.next(cue, 4, STOPS - {":"})  # Shortlisted for the post: X
        if reading.key(cue.start) in ("collapsed", "broke", "fell"):
            what = None  # the deal collapsed, and X is still its owner
        apart = (  # X, where he may live; but X gilt als Favorit
            who is not None and who.end < cue.start and reading.is_a(who.end + 1, "when", "conjunction")
        )
        body = who is not None and who.kind != UNKNOWN and not who.person
        apart |= body and reading.is_a(verb, "pronoun")  # at X he wanted to
        also = reading.key(cue.start - 1) == "also"
        divided = who is not None and reading.stopped(who.end, cue.start - also, kinds=("and", "contrast"))
        if apart or (divided and not quoted):
            who = None
        among = reading.key(0) == "among" and not any(name.end <= cue.start for name in reading.named())
        for name in reading.mentions if among else ():  # among those who plan it are X and Y
            reading.assign(name, Role.DENIED, CLAIMED)
        reading.assign(who, Role.DENIED, CLAIMED)
        for name in reading.mentions if who else ():  # X and Y are among the candidates
            beside = who is not None and reading.keys(name.end, who.start) in (["and"], ["or"])
            reading.assign(name if beside else None, Role.DENIED, HOLDS)
        for joins in reading.of("and") if who else ():
            with_ = reading.next(joins) if joins.start >= cue.end and len(joins.span) > 1 else None
            reading.assign(with_, Role.DENIED, HOLDS)  # X ran for it, together with Y
        before = [name for name in reading.mentions if name.start >= cue.end]
        ends = [turn.end for turn in reading.of("took_over") if not reading.is_a(turn.start, "when")]
        if who and before and any(cue.end < end <= before[0].start for end in ends):
            reading.assign(before[0], Role.NOW, (Role.BEFORE,))  # X is expected to succeed Y
        if what is not None:
            _read_goal(reading, cue, who, what)


def _read_goal(reading: Reading, cue: Cue, who: Mention | None, what: Mention) -> None:
    """`Z plans to move to X`: X is what somebody attempts."""
    label = reading.end(cue.end, ":")
    stops = STOPS - {":"} if label < what.start else STOPS
    if reading.stopped(cue.end, what.start, stops, ("and", "contrast")):
        return
    own = who is not None and reading.keys(0, who.start) != ["the"]  # the Z board tried to hire X
    body = not what.person and "who" not in reading.asked  # Z plans to move to X
    own &= not (body and who is not None and who.kind == UNKNOWN)
    reading.assign(what, Role.BESIDE if own else Role.DENIED, HOLDS if who is None else (Role.ASSERTED,))


def read_future(reading: Reading) -> None:
    """`X will be president`, `X should be it`: X is not yet; nor is what somebody will do."""
    for at, token in enumerate(reading.tokens if "next" not in reading.asked else ()):
        begins = at == 0 or reading.is_a(at - 1, "article") or not reading.tokens[at - 1].is_word
        begins = begins or reading.tokens[at - 1].kind == "bullet"
        if token.key in _TO_BE and is_core(reading, at + 1) and begins:
            cue = Cue("attempt", at, at + 1)
            reading.assign(reading.next(cue, 7) or reading.previous(cue, 2), Role.DENIED, HOLDS)
    for mention in reading.mentions if not {"next", "upcoming"} & {*reading.asked} else ():
        verb, to_be = reading.key(mention.end), reading.key(mention.end + 1) == "be"
        planned = "werden" in reading.keys(mention.end, reading.end(mention.end, _CLAUSE))
        now = reading.has_cue("now", mention.end, reading.end(mention.end))
        if planned or (verb == "should" and to_be and not now) or _is_to_come(reading, mention):
            reading.assign(mention, Role.DENIED, HOLDS)  # X soll es werden, X should be it
        unreal = verb == "would" and to_be and reading.is_a(mention.end + 2, "article") and not now
        if unreal and not reading.of("hedge") and reading.role(mention) in HOLDS:
            reading.doubts.setdefault(mention.start, "is only said that it would be so")
        earlier = reading.keys(0, reading.lead(mention) + 1)
        comes = verb in ("will", "shall") and not reading.is_a(mention.end + 1, "lasting")
        if comes or (earlier[-2:] == ["will", "be"] and earlier[0] not in ("that", "it")):
            reading.assign(mention, Role.DENIED)
        joins = reading.end(mention.end, ("and", *STOPS))
        later = reading.keys(joins, joins + 2) == ["and", "will"] and reading.key(joins + 2) in _GETS
        if later and not any(reading.is_a(at, "present") for at in range(mention.end, joins)):
            reading.doubts[mention.start] = "is named with what will be"  # X left Z and will take over
        begin = max((at for at in range(mention.start) if reading.sign(at) in STOPS | {","}), default=0)
        led = reading.keys(begin, mention.start)
        if (
            "will" in led[1:]
            and led[:3] != ["it", "will", "be"]
            and not (mention.value and {led[led.index("will") + 1][:4]} & {key[:4] for key in reading.asked})
            and not any(map(is_year, reading.asked))
            and led[led.index("will") - 1] not in ("i", "you", "we", "that", "ich", "du")
        ):
            reading.doubts[mention.start] = "is named with what will be"
            before = [name for name in reading.mentions if name.end <= mention.start][-1:]
            past = before and reading.role(before[0]) in (Role.BEFORE, Role.ONCE)
            if past:  # X will retire and be succeeded by Y
                reading.roles |= {before[0].start: Role.NOW, mention.start: Role.BESIDE}


_GETS = ("take", "become", "be", "succeed", "replace", "assume", "lead")


_TO_BE = ("next", "future", "possible", "potential", "prospective", "presumptive", "likely", "aspiring")


def _is_to_come(reading: Reading, mention: Mention) -> bool:
    """Whether a name will or may be it: `the president may soon be X`, `X might soon be it`."""
    lead = reading.lead(mention)
    for modal in range(len(reading.tokens)):
        near = modal == mention.end or modal in range(lead - 4, lead)
        if (near and reading.is_a(modal, "modal")) or (near and reading.key(modal) in ("may", "should")):
            span = {*reading.keys(modal + 1, modal + 4)}
            if not span.isdisjoint(_SOON) and not span.isdisjoint(("be", "become", "hold", "lead")):
                return True
    return False


_SOON = ("soon", "someday", "eventually", "one", "next")
"""Words of what is not yet so."""


def read_conditions(reading: Reading) -> None:
    """`If X won, he is president`, `Y would be if she had won`: left open, or denied, never asserted."""
    tokens = reading.tokens
    first = next((at for at, token in enumerate(tokens) if token.is_word), None)
    inside_names = {at for mention in reading.mentions for at in mention.span}
    for at, token in enumerate(tokens):
        subject = tokens[at + 1] if at + 1 < len(tokens) else None
        inverted = at == first and reading.is_a(at, "inverted") and subject is not None
        inverted = inverted and (tokens[at + 1].is_capital or reading.is_a(at + 1, "starter"))
        inverted |= token.key == "had" and reading.key(at + 1) in ("he", "she", "they")
        asked = token.key in reading.asked and not inverted
        asked |= any(at in cue.span for cue in reading.of("spared"))  # si no me equivoco
        if at in inside_names or asked or not (reading.is_a(at, "if") or inverted):
            continue  # Angel Falls, Une si longue lettre
        that = token.key != "if" and reading.key(at + 1) == "that"  # provided that
        of_speaker = subject is None or subject.key == "by" or subject.text == "Sie"
        of_speaker |= reading.is_a(at + 1 + that, "speaker")
        several = len({mention.name for mention in reading.mentions}) > 1
        ifs = sum(reading.is_a(other, "if") for other in range(len(tokens)))
        meant = several and ifs > 1 and reading.has("modal", 0)  # if you mean .., it would be X; if .., Y
        if (
            (of_speaker and not meant)
            or reading.key(at - 1) in ("even", "auch", "selbst", "as", "meme", "incluso", "comme", "como")
            or tokens[-1].text == "?"
        ):
            continue
        then = reading.end(at + 1, STOPS | {"then", "dann"})  # if the winner, X, has, then he is
        inside = range(at, then if reading.key(then) in ("then", "dann") else reading.end(at + 1, _CLAUSE))
        named = any(mention.start in inside for mention in reading.named())
        named |= reading.is_a(at + 1, "pronoun")  # X, if he wins
        named |= reading.words.only_names  # si gana, será X
        named |= not {*_DONE}.isdisjoint(reading.keys(at, inside.stop))
        both = several and any(  # if so X, if not Y
            reading.is_a(other, "if") or reading.key(other) in _ELSE
            for other in range(inside.stop, len(tokens))
        )
        open_ = any(reading.is_a(other, "modal") for other in range(len(tokens)) if other not in inside)
        unreal = open_ and any(key in ("had", "hatte") for key in reading.keys(at, inside.stop))
        for mention in reading.mentions:
            apart = any(token.text == ";" for token in tokens[at : mention.start])  # if X wins; until then Y
            turns = [cue.end for cue in reading.of("contrast") if cue.start >= inside.stop]
            apart |= any(  # but right now it is Y
                reading.has_cue("now", turn, mention.start) for turn in turns if turn <= mention.start
            )
            if mention.start in inside or both or (not apart and (open_ or named)):
                role = Role.DENIED if unreal else Role.OPEN
                reading.assign(mention, role, (*CLAIMED, Role.BEFORE))

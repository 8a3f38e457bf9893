"""Whether a sentence asserts a name in words that are known to do so: all others leave the answer unclear.

The frame of a name is the words before it in its clause, and those behind it up to one of the question's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import NO_NOUNS, asked_events, is_about, is_drawn, is_year, of_asked_event
from factdrift.verdict.cues import about
from factdrift.verdict.descriptions import behind, is_border, is_described
from factdrift.verdict.names import ACCEPTED
from factdrift.verdict.offices import asked_office, is_core, is_object, of_office, office_fits, other_body
from factdrift.verdict.orders import is_visit
from factdrift.verdict.reading import CLAIMED, Reading, Role
from factdrift.verdict.terms import takes_office

_ROWS = (
    *("holds", "article", "by", "tenure", "particle", "locative", "to", "of", "right", "known", "thing"),
    *("lasting", "noun"),
)
"""Rows of words that may be in a frame."""
_CUES = (
    *("spared", "retracted", "amended", "took_over", "former", "handed_on", "contrast", "hedge", "and"),
    *("or", "bound", "disclaimer", "gives", "refused", "not", "beside", "until", "now"),
)
"""Kinds of cues that may be in a frame: the role of the name says what they do to it."""
_NO_ACTS = ("article", "verb", "of", "by", "from", "to", "locative", "holds", "noun", "title")
_ADDRESS = re.compile(r"(?:\w+://)?[\w-]+(?:\.[\w/-]+)+")
"""An address of the web, which is nobody else's."""
_DETAILS = 7
"""Words beside a name, at least, of a sentence in which one unknown word is no reason for doubt."""
_MOST = 40
"""Names of a sentence, at most, whose frames are read."""


def read_frames(reading: Reading, sure: set[int]) -> None:
    """Leaves open the accepted names whose frame has a word that is not known to assert them.

    `sure`: starts of the names that an order, a gift or the verb of the question asserts.
    """
    acts = reading.key(0) != "the" or reading.has("verb", 0) or reading.has("holds", 0)
    acts |= bool(reading.of("gives", "handed_on"))
    for number, mention in enumerate(reading.mentions):
        if reading.role(mention) not in CLAIMED:
            continue
        if mention.kind != ACCEPTED:
            if mention.person and number < _MOST and (holder := _body(reading, mention)):
                reading.doubts.setdefault(mention.start, f"is said to hold an office of {holder}")
            continue
        body = _has_another(reading, mention)
        body |= mention.person and "direction" in asked_events(reading) and bool(_body(reading, mention))
        reason = _of_another_thing(reading, mention) if number < _MOST else ""
        if reason:
            reading.doubts.setdefault(mention.start, reason)
        if body or not ((acts or mention.value) and mention.start in sure):
            reason = _doubt(reading, mention) if number < _MOST else "is one of very many"
            if reason:
                reading.doubts.setdefault(mention.start, reason)


def _doubt(reading: Reading, mention: Mention) -> str:
    """Why a name may not answer the question; empty if its frame asserts it."""
    turned = reading.of("contrast", "hedge", "amended") or any(token.text == ";" for token in reading.tokens)
    if (
        any(
            mention.end <= cue.start <= mention.end + 2 or cue.end <= mention.start
            for cue in reading.of("believed")
            if reading.key(cue.start) != "my"
        )
        and not turned
    ):
        return "is only what some say"
    lead = reading.lead(mention)
    staged = lead > 0 and reading.key(lead - 1) in _STAGED and not reading.is_a(lead, "by")
    staged &= reading.sign(lead) != ","  # until an election is held, it is X
    staged &= reading.is_a(lead, "locative") or reading.key(lead - 1) not in _STAGED[:4]
    staged &= {*_STAGED, "place"}.isdisjoint(reading.asked)
    if staged and not asked_events(reading):
        return "is only where something happened"
    if "death" in asked_events(reading) and not {"alive", "lebt"}.isdisjoint(reading.keys(0)):
        return "is when somebody was alive"
    if is_visit(reading, mention) and not mention.person:
        return "is only where somebody went"
    if body := _body(reading, mention):
        return f"is said to hold an office of {body}"
    if _ADDRESS.fullmatch(mention.name):
        return ""
    after = behind(reading, mention)
    other = "ownership" in asked_events(reading) and (
        _has_another(reading, mention)
        or (reading.key(mention.end) == "holds" and any(name.start in after for name in reading.unknown))
    )
    if other and not any(token.is_capital and token.key in reading.asked for token in reading.tokens):
        return "is said to have it of something else"
    if not mention.person and (subject := _other_subject(reading, mention)):
        return f"speaks of {subject}"
    parts = (at for at in behind(reading, mention) if reading.is_a(at, "part") and reading.is_a(at + 1, "of"))
    if any(reading.key(at) not in reading.asked for at in parts):
        return "is said to hold it of a part"
    if is_described(reading, mention) or _is_another(reading, mention):
        return "is said to be or do something else"
    if _says_nothing_of_it(reading, mention):
        return "is named in a clause that says nothing of what is asked for"
    asked = any(reading.tokens[at].is_capital and reading.key(at) in reading.asked for at in after)
    if reading.words.only_names and mention.person and not asked:
        for name in (name for name in reading.unknown if name.start in after):
            return f"is named with {name.name!r}, in a language whose offices are not known"
    known = {at for cue in reading.of(*_CUES) for at in cue.span}
    for cue in reading.of(*_CUES) if mention.value else ():
        if cue.end == mention.start and (cue.kind == "until" or reading.key(cue.start) in ("since", "seit")):
            known -= {*cue.span}  # since 1998, up to 1,000
    known |= {at for other in reading.mentions for at in other.span}
    odd = [at for at in _frame(reading, mention) if at not in known and not _is_known(reading, at, mention)]
    if odd and not (len(odd) == 1 and _is_detailed(reading, odd[0], mention)):
        return f"is named with {reading.key(odd[0])!r}, which is not known to assert it"
    return ""


def _of_another_thing(reading: Reading, mention: Mention) -> str:
    """Why a name is what is asked for of another subject, whatever verb asserts it; empty if it is not."""
    owner, events = reading.lead(mention), asked_events(reading)
    if "ownership" in events and reading.key(owner - 1) in reading.subject:
        if of_asked_event(reading, owner) and not reading.key(owner).endswith("ed"):
            return "is what the subject of the question owns"
    for at, token in enumerate(reading.tokens[: mention.start]):  # S's brother, the sequel of S
        if token.key in reading.subject and token.is_capital:
            of = at - 1 - reading.is_a(at - 1, "article")
            beside = at + 1 if token.possessive else of - 1 if reading.is_a(of, "of", "around") else -1
            other = reading.is_a(beside, "foreign", "kin") and not is_about(reading, beside)
            if other and reading.sign(beside).islower() and not asked_office(reading):
                return f"is said of the {reading.key(beside)}"
            owned = at + 1 + (reading.key(at + 1) in reading.words.values["ordinal"])
            if token.possessive and mention.value and reading.asked[:1] == ("when",):
                noun = reading.sign(owned).islower() and reading.is_a(owned, "noun")
                if noun and not is_about(reading, owned):
                    return f"is said of the {reading.key(owned)}"
    if mention.value:
        return _of_another_amount(reading, mention)
    if mention.person:
        return _of_another_person(reading, mention)
    core = [at for at in behind(reading, mention) if is_core(reading, at) and reading.is_a(at + 1, "of")]
    if any(reading.is_a(at + 2, "indefinite") for at in core):
        return "is said to hold it of something else"  # the capital of a province
    if reading.is_a(mention.end, "present") and reading.key(mention.end + 1) == "near":
        return "is only near it"
    starts = {key[:4] for key in reading.subject}
    for name in reading.unknown:  # the European headquarters
        noun = is_core(reading, name.end) and reading.sign(name.end).islower()
        noun &= name.end < mention.start and reading.has("verb", name.end, mention.start)
        if noun and len(name.span) == 1 and reading.key(name.start)[:4] not in starts and not name.possessive:
            return f"is what is asked for of {name.name}"
    return ""


def _of_another_amount(reading: Reading, mention: Mention) -> str:
    """As `_of_another_thing`, of a date or an amount: `X people work in S`, `X of the members`."""
    unit, years = mention.end, [at for at, key in enumerate(reading.keys(0)) if is_year(key)]
    of_them = reading.keys(unit, unit + 2) == ["of", "the"] and reading.sign(unit + 2).islower()
    if of_them and reading.asked[:1] == ("how",):
        return "is only a part of them"
    old = [at for at in years if at not in mention.span and reading.key(at) < "2000"]
    of_now = not any(reading.words.has("past", key) for key in reading.asked) and not asked_events(reading)
    clause = range(*_clause(reading, mention))
    was = any(reading.is_a(at, "past") or reading.key(at) == "had" for at in clause)
    if of_now and len(old) == len(years) == 1 and old[0] in clause and was:
        return "is of another time"
    once = "once" in (reading.key(at) for at in clause) or reading.has_cue("until", unit, len(reading.tokens))
    if of_now and {"when", "date", "day"}.isdisjoint(reading.asked) and ((was and once) or ("will" in reading.keys(clause.start, mention.start) and years)):
        return "is of another time"
    counted = reading.sign(unit).islower() and not reading.is_a(unit, "verb", "past", "present")
    verb = unit + 1 + (reading.key(unit + 1) in ("have", "has", "had"))
    acts = counted and reading.sign(verb).islower() and not reading.is_a(verb, *_LINKS)
    if acts and not is_about(reading, verb):
        before = any(reading.key(at) in reading.subject for at in range(mention.start))
        after = any(reading.key(at) in reading.subject for at in range(verb, len(reading.tokens)))
        if after and not before:
            return f"is only how many {reading.key(verb)}"
    return ""


def _of_another_person(reading: Reading, mention: Mention) -> str:
    """As `_of_another_thing`, of a person: `X coaches Z`, `X admired the author`, `X wrote the foreword`."""
    named = not reading.subject or any(key in reading.subject for key in reading.keys(0))
    starts = {name.start for name in reading.unknown if len(name.name) > 3}
    verb = mention.end + reading.is_a(mention.end, "present")
    acts = is_about(reading, verb) and reading.sign(verb).islower() and not reading.is_a(verb, "of")
    acts &= not any(is_core(reading, at) for at in range(len(reading.tokens)) if at != verb)
    if acts and not named and starts & {verb + 1, verb + 1 + reading.is_a(verb + 1, "article")}:
        return "is said to do it to somebody else"
    for at in behind(reading, mention):
        agent = of_asked_event(reading, at) and reading.key(at).endswith(("er", "or")) and not asked_office(reading)
        if agent and reading.is_a(at - 1, "article") and at - 2 > mention.start:
            before = at - 2
            linked = reading.is_a(before, "present", "past", "verb", "holds") or reading.key(before) == "as"
            if not linked and reading.sign(before).islower():
                return "is said of another who did it"  # X admired the author
    if "writing" in asked_events(reading) and not {*_PARTS}.isdisjoint(reading.keys(mention.end)):
        return "is said to have written a part"
    return ""


_PARTS = ("foreword", "preface", "introduction", "afterword", "epilogue", "blurb")
_STAGED = ("lost", "won", "drew", "scored", "held", "hosted", "staged", "organised", "organized", "tenu", "tenue", "celebró")


def _other_subject(reading: Reading, mention: Mention) -> str:
    """A name that begins the sentence instead of what the question is about: `Z has its seat in X`."""
    own = any(token.is_capital and token.key in reading.asked for token in reading.tokens[: mention.start])
    for name in reading.unknown[:1]:
        begins = (
            name.start < 2
            and len(name.span) > 1
            and "'" not in name.name
            and name.end + (reading.sign(name.end) == ",")
        )
        if begins and not own and begins < mention.start and reading.is_a(begins, "verb", "who"):
            return name.name
    return ""


def _has_another(reading: Reading, mention: Mention) -> bool:
    """Whether a verb says that somebody has something that is not asked about: `X also owns Z`."""
    verb = mention.end + (reading.key(mention.end) in ("also", "auch"))
    object_ = verb + 1 + reading.is_a(verb + 1, "article")
    starts = {name.start for name in reading.unknown}
    return reading.is_a(verb, "leads") and bool(starts & {object_, object_ + 1})


def _is_detailed(reading: Reading, odd: int, mention: Mention) -> bool:
    """Whether a sentence with one unknown word says what is asked for, and names a year or another name."""
    beside = (at for at in range(len(reading.tokens)) if at not in (odd, *mention.span))
    words = [at for at in beside if reading.tokens[at].is_word]
    of = reading.lead(mention) == odd + 1 and reading.is_a(odd + 1, "of") and reading.key(odd) != "those"
    of &= "ownership" in asked_events(reading)  # the consoles of X
    if of or len(words) < _DETAILS or reading.is_a(odd, "foreign") or _is_act(reading, odd, mention):
        return False
    more = bool(reading.unknown) or any(reading.tokens[at].kind == "number" for at in words)
    clause = range(*_clause(reading, mention))
    return more and any(at in clause and is_about(reading, at) for at in words)


def _says_nothing_of_it(reading: Reading, mention: Mention) -> bool:
    """Whether a clause of the question's subject says nothing that is asked for: `S was seen with X`."""
    foreign = reading.words.only_names or reading.words.capital_nouns
    dated = mention.value and reading.asked[:1] == ("when",)
    if foreign or (mention.value and not dated) or asked_office(reading) or reading.is_a(reading.lead(mention), "present"):
        return False
    clause = [at for at in range(*_clause(reading, mention)) if reading.tokens[at].is_word]
    clause = [at for at in clause if at not in mention.span]
    words = [at for at in clause if reading.key(at) not in reading.subject]
    if {reading.key(at) for at in words} <= {"by", "with", "is", "are", "the", "a"}:
        return False  # S by X, S is with X
    turned = ("took_over", "handed_on", "gives", "former", "until")
    turns = reading.of("now", "hedge", "amended", *(() if dated else turned))
    if turns or len(words) == len(clause) or not any(reading.sign(at).islower() for at in words):
        return False
    words = [at for at in words if not reading.is_a(at, *_COMMON)]
    one_of = {  # it has an office in X
        at
        for at in words
        if reading.is_a(at + 1, "locative") and reading.has("indefinite", at - 2, at)
    }
    is_a = any(reading.is_a(at, "present") and reading.is_a(at + 1, "indefinite", "title") for at in clause)
    if is_a and not mention.person and reading.is_a(reading.lead(mention), "of", "object", "locative"):
        return False  # S is a guard for X
    if dated and not any(reading.sign(at).islower() for at in words):
        return False  # S joined it on Y, and Z on X
    kinds = ("right", "tenure") if dated else _SAYS
    return not any(
        is_about(reading, at)
        or reading.is_a(at, *kinds)
        or is_drawn(reading, at)
        or _is_gain(reading, at, mention)
        for at in words
        if dated or at not in one_of
    )


_SAYS = ("right", "tenure", "achieved", "holds", "plays", "leads", "chosen", "present")
_COMMON = ("article", "verb", "of", "to", "from", "by", "locative", "object", "particle", "starter")
"""Rows of words that say nothing of a relation."""


def _clause(reading: Reading, mention: Mention) -> tuple[int, int]:
    """Where the clause of a name begins and ends."""
    start = mention.start
    while start and not is_border(reading, start - 1):
        start -= 1
    return start, behind(reading, mention).stop


def _frame(reading: Reading, mention: Mention) -> Iterator[int]:
    """The positions of the words of a name's frame."""
    start, _ = _clause(reading, mention)
    naming = reading.lead(mention) - reading.is_a(reading.lead(mention), "to")
    if reading.is_a(naming, "naming") and any(
        is_core(reading, at) for at in range(mention.end, len(reading.tokens))
    ):
        start = naming + 1  # Reuters calls X the president
    for that in reading.of("whether"):  # Z reports that X is it
        verb = that.start - 1
        while verb > 1 and not reading.sign(verb).islower():
            verb -= 2 if reading.is_a(verb - 1, "locative") else 1  # reported on 21 October 2025 that
        if that.end <= mention.start and reading.is_a(verb, "speech", "naming"):
            start = max(start, that.end)
    for at in range(start, mention.start):
        owner = reading.tokens[at].possessive and not (mention.value or reading.is_a(at, "foreign", "topic"))
        if not owner and _is_common(reading, at, mention):  # Nigeria's X, the orchestra's conductor X
            yield at
    verb = reading.lead(mention) - 1
    governed = reading.is_a(verb + 1, "locative", "by") and reading.key(verb)[:4] in _stems(reading)
    before = {name.start for name in reading.mentions if reading.role(name) in (Role.BEFORE, Role.BESIDE)}
    words = range(start, verb + 2)
    led = any(reading.is_a(at, "verb", "holds") or is_about(reading, at) for at in words)
    led &= not mention.value and not (mention.person and asked_office(reading))
    led &= reading.is_a(mention.end, "locative", "object", "from", "to", "when", "limit")
    for at in behind(reading, mention) if not (mention.value and governed) else ():
        core = is_core(reading, at) and not is_object(reading, at)
        if core or at in before or reading.key(at) in ("according", "laut", "following", "despite"):
            return  # X replaced Y at a fixed rate
        free = led and not reading.is_a(at, "foreign")  # it is X in the top flight
        if not free and (_is_common(reading, at, mention) or reading.key(at) in ("jr", "sr")):
            yield at


def _body(reading: Reading, mention: Mention) -> str:
    return other_body(reading, mention, behind(reading, mention).stop)


def _is_another(reading: Reading, mention: Mention) -> bool:
    """Whether a sentence is about something else: `the winter capital is X`, `the president met X`."""
    (start, _), lead = _clause(reading, mention), reading.lead(mention)
    for at in (at for at in range(start, mention.start) if is_core(reading, at)):
        under = reading.is_a(at - 1, "deputy") and reading.key(at - 1) not in reading.asked
        if under and reading.has("verb", at, mention.start):
            return True  # the deputy president is X
        other = at > start and reading.is_a(at - 1, "noun", "topic") and not reading.is_a(at - 1, "thing")
        other = other and not mention.value and reading.sign(at - 1).islower() and reading.sign(at).islower()
        office = mention.person and office_fits(reading, [reading.key(at)])
        owner = office and reading.tokens[at].possessive and not reading.is_a(at + 1, "tenure", "right")
        if owner or (other and reading.key(at - 1) not in ("executive", *reading.asked)):
            return True
    if not (mention.person and asked_office(reading) and lead > start):
        return False
    if any(is_core(reading, at) and _does(reading, at, lead) for at in range(start, lead)):
        return True
    ends = (at for at in range(start + 1, lead) if reading.is_a(at, "of", "to", "locative", "who", "verb"))
    end = next(ends, lead)
    subject = reading.keys(start, end)
    whoever = subject[-1:] in (["man"], ["woman"], ["person"])
    if whoever and any(is_about(reading, at) for at in range(end, lead)):
        return False  # the man on the bench is X
    head = subject[-1] if subject else ""
    fits = head in reading.asked or any(reading.words.has(kind, head) for kind in ("right", "successor"))
    owned = any(reading.tokens[at].possessive and reading.sign(at).islower() for at in range(start, end))
    fits |= head in about(tuple(reading.asked), reading.words) and not (owned or reading.is_a(end, "of"))
    offices = [subject[-size:] for size in (1, 2, 3) if " ".join(subject[-size:]) in reading.words.values["office"]]
    fits |= any(office_fits(reading, office) is not False for office in offices)
    if reading.is_a(lead, "verb", "present", "past"):
        kinds = ("noun", "topic", "foreign", "title")
        return not fits and any(reading.words.has(kind, head) for kind in kinds)
    cued = any(lead in cue.span and cue.kind != "beside" for cue in reading.cues)
    acts = reading.sign(lead).islower() and not (cued or reading.is_a(lead, *_NO_ACTS))
    return acts and bool(office_fits(reading, subject)) and not reading.has("verb", start, lead)


_LINKS = ("verb", "present", "of", "locative", "by", "who", "conjunction", "from", "to", "object", "article")
"""Rows of words behind an amount that say nothing of what those do who are counted."""
_DOES = (
    *("verb", "present", "past", "holds", "by", "from", "to", "of", "locative", "who", "conjunction", "known"),
    *("modal", "chosen", "achieved", "remains", "lasting", "tenure", "right", "then", "when", "title", "noun"),
)
"""Rows of words behind an office that may say who holds it."""


def _does(reading: Reading, at: int, lead: int) -> bool:
    """Whether somebody with an office does something else: `the president of Z quarrelled with X`."""
    verb = at + 1
    while verb < lead and (
        reading.is_a(verb, "of", "article") or reading.key(verb) in reading.asked or reading.tokens[verb].possessive
    ):
        verb += 1
    cued = any(verb in cue.span for cue in reading.cues)
    act = at + 1 < verb <= lead and reading.sign(verb).islower() and not reading.sign(verb).endswith("ly")
    return act and not (cued or reading.is_a(verb, *_DOES) or is_about(reading, verb))


def _is_common(reading: Reading, at: int, mention: Mention) -> bool:
    """Whether a word is no name: written small, at the beginning, or the subject of the sentence."""
    token = reading.tokens[at]
    begins = at == 0 or not (reading.tokens[at - 1].is_word or reading.sign(at - 1) == "-")
    subject = at == 1 and reading.is_a(0, "article") and reading.sign(2).islower()
    subject &= mention.person or not reading.is_a(2, "of")
    verb = reading.lead(mention) - 1
    subject &= not (reading.is_a(verb + 1, "by") and reading.key(verb)[:4] in _stems(reading))
    name = begins and reading.tokens[at + 1 : at + 2] and reading.tokens[at + 1].is_capital
    name = name and (mention.value or at + 1 < mention.start)
    common = token.text.islower() or ((begins or subject) and not (name or token.text.isupper()))
    return (token.kind == "word" and common) or (mention.value and _is_other(reading, at))


def _is_other(reading: Reading, at: int) -> bool:
    """Whether a name beside a date or an amount is another subject's: `Porto has 1,000 people`."""
    token, after = reading.tokens[at], reading.tokens[at + 1 : at + 2]
    if token.kind == "number":  # Sputnik 2
        return len(token.key) < 3 and token.key not in reading.asked and reading.key(at - 1) in reading.asked
    if not token.is_capital or token.text.isupper() or reading.has("by", at - 2, at):
        return False
    longer = bool(after) and after[0].is_capital and after[0].key in reading.asked  # the Panama Canal
    subject = any(
        other.is_capital and other.key in reading.asked and not reading.words.has("starter", other.key)
        for other in reading.tokens
    )
    return longer or not (subject or asked_events(reading) or reading.tokens[at - 1].is_capital)


def _in_subject(reading: Reading, at: int) -> bool:
    """Whether a word only says whose what is asked for is: `the author of the 1980 novel is X`."""
    for of in range(at - 1, max(at - 5, 0), -1):
        if reading.is_a(of, "verb") or is_border(reading, of):
            return False
        if reading.is_a(of, "of") and (reading.key(of - 1) in reading.asked or of_office(reading, of)):
            return True
    return False


def _is_apposed(reading: Reading, at: int, mention: Mention) -> bool:
    """Whether a word only describes a name: `reformist politician X won`, `it is the maestro X`."""
    start = mention.start
    while start and not (
        is_border(reading, start - 1) or reading.is_a(start - 1, "pronoun", *NO_NOUNS[1:], "verb", "who")
    ):
        start -= 1
        if reading.tokens[start].possessive and reading.sign(start).islower():
            return False  # the boss's friend X
    follows = of_asked_event(reading, mention.end) or is_drawn(reading, mention.end)
    follows |= reading.is_a(mention.end, "verb", "holds", "past", "leads")
    begins = follows and (not start or is_border(reading, start - 1))
    led = mention.person and reading.is_a(start - 1, "verb", "by", "chosen")
    return start <= at < mention.start and (led or begins)


def _is_act(reading: Reading, at: int, mention: Mention) -> bool:
    """Whether a word may be the verb of its clause, or the noun before it: `X visited it`."""
    before = at - 1 - reading.key(at - 1).endswith("ly")
    return reading.key(at + 1) not in ("as", "als") and (
        at == mention.start - 1
        or _is_said_of(reading, at, mention)
        or any(name.end == before + 1 for name in reading.named())
        or (reading.tokens[before].is_capital and reading.key(before) in reading.asked)
        or reading.is_a(before, "pronoun", "verb", "who", "conjunction")
        or (reading.is_a(at + 1, "verb") and reading.sign(before).islower() and is_about(reading, before))
    )


def _is_said_of(reading: Reading, at: int, mention: Mention) -> bool:
    """Whether a word is the verb behind a name: `X a critiqué le président`."""
    return at - reading.is_a(at - 1, "auxiliary") == mention.end


def _is_gain(reading: Reading, at: int, mention: Mention) -> bool:
    """Whether a verb says that somebody gets what is asked for: `Z lured X`, `X cruised to a third term`."""
    if reading.is_a(at, "chosen") and mention.person and "record" not in reading.asked:
        passive = reading.is_a(at - 1, "verb") or reading.has("past", reading.lead(mention), at + 2)
        return reading.lead(mention) - 1 <= at < mention.start or (at > mention.start and passive)
    rest = range(at + 1, behind(reading, mention).stop)
    new = (of for of in rest if not reading.is_a(of - 1, "indefinite"))  # but not a job
    return reading.is_a(at, "gains") and any(reading.is_a(of, "tenure", "right") for of in new)


def _is_known(reading: Reading, at: int, mention: Mention) -> bool:
    words, key, lead = reading.words, reading.key(at), reading.lead(mention)
    if reading.is_a(at, "from") and lead != at:
        return True  # from April it is X
    if of_asked_event(reading, at) or key in about(tuple(reading.asked), words):
        return True  # her husband is X
    if words.only_names and not (mention.person and _is_said_of(reading, at, mention)):
        return not reading.is_a(at, "foreign", "title") or key[:6] in {word[:6] for word in reading.asked}
    the_only = key == "only" and reading.is_a(at - 1, "article")
    own = key in reading.asked or the_only or reading.is_a(at, "deputy", "modal")
    company = reading.key(at - 2) in ("with", "mit") and not mention.person  # he lives with his wife in X
    reigns = (is_core(reading, of) or is_about(reading, of) for of in range(at + 1, lead))
    company |= reading.key(lead) == "as" and any(reigns)  # her son has reigned as King X
    if reading.is_a(at, "kin") and at < mention.start and (company or takes_office(reading, mention)):
        return True  # his eldest son X acceded to the throne
    if reading.is_a(at, "foreign") and not own:
        return False
    if is_drawn(reading, at) or _is_gain(reading, at, mention):
        return True
    rest = range(at + 1, lead) if reading.is_a(lead, "verb") else ()
    another = any(is_core(reading, core) or reading.is_a(core, "thing") for core in rest)
    if not another and ("-" in (reading.sign(at + 1), reading.sign(at - 1)) or key.endswith("ly")):
        return True  # fully state-owned
    speaks = (
        at in (mention.start - 1, mention.end) and reading.is_a(at, "speech") and '"' in reading.keys(0, at)
    )
    titles = [
        of for of, token in enumerate(reading.tokens) if not token.is_capital or reading.is_a(of, "title")
    ]
    if speaks and any(is_core(reading, of) for of in titles):
        return True  # "...", the president X said
    if len(key) > 9 and any(key.endswith(word) for word in reading.asked if len(word) > 6):
        return True  # Bundesfinanzminister
    nouns = range(at + 1, mention.start)
    if nouns and not mention.person and all(reading.is_a(noun, "noun") for noun in nouns):
        return True  # the media group X
    if _is_apposed(reading, at, mention) or _in_subject(reading, at):
        return True  # the author of the novel
    role = any(
        reading.is_a(of, "indefinite") and reading.is_a(of - 1, "present", "past") for of in range(at - 5, at)
    )
    if _describes(reading, at, mention) or (role and not mention.person and reading.is_a(lead, "locative")):
        return True  # she is a professor of physics at X
    that = lead == at and key in ("that", "which") and reading.is_a(at - 2, "article")
    if that or (key == "who" and not reading.sign(at + 1).isalpha()):
        return False  # the man that X succeeded; X or who?
    if lead == at + 1 and reading.is_a(lead, "of") and mention.person and key != "wird":
        return key in reading.asked  # the office of X
    return (
        the_only
        or any(key in words.values[kind] for kind in ("month", "number", "scale", "ordinal"))
        or (at != mention.end and reading.is_a(at, "suffix"))
        or reading.is_a(at, *_ROWS, "roughly" if mention.value else "from")
        or (reading.is_a(at, "title") and (mention.value or not reading.is_a(at + 1, "verb")))
        or bool(office_fits(reading, reading.keys(at - 1, at + 1)))
        or key[:4] in _stems(reading)
    )


_ADJECTIVE = re.compile(
    r".{2,}(?:ic|al|ive|ous|ful|less|able|ible|ish|ary|ory|ant|ent|ese|an|ern|most"
    r"|(?:lich|ig|isch|iv|al|ell|bar|sam|haft|los)(?:e[mnrs]?)?)"
)
_AGENT = re.compile(r".{3,}(?:(?<!ev)er|or|ist|ian|eer|man|woman)")
"""Endings of words that describe somebody, such as `goalkeeper`."""
_INFLECTION = re.compile(r"e[mnrs]?$")


def _describes(reading: Reading, at: int, mention: Mention) -> bool:
    """Whether a word is an adjective before a noun, or says what a person is: `the embattled publisher X`."""
    key, after = reading.key(at), at + 1
    subject = reading.key(after) in reading.asked and reading.tokens[after].is_capital
    if (subject or after == mention.start) and _AGENT.fullmatch(key):
        return subject or mention.person
    noun = after + (reading.sign(after) in ("-", ","))
    adjective = reading.is_a(at, "adjective") or _ADJECTIVE.fullmatch(key)
    core = is_core(reading, noun) and (not mention.person or reading.is_a(at, "topic"))  # commercial capital
    if not adjective or core or reading.is_a(at, "direction"):
        return False
    follows = reading.sign(noun)[:1].isalpha() and not reading.is_a(noun, *NO_NOUNS)
    return follows and not reading.words.has("foreign", _INFLECTION.sub("", key))


def _stems(reading: Reading) -> set[str]:
    return {word[:4] for word in reading.asked if not reading.words.has("starter", word)}

"""Whether a sentence says something of another subject, or nothing of what is asked for: `S owns X`."""

from __future__ import annotations

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import asked_events, is_about, is_drawn, is_year, of_asked_event
from factdrift.verdict.cues import about
from factdrift.verdict.descriptions import behind, is_border
from factdrift.verdict.offices import asked_office, is_core, office_fits
from factdrift.verdict.reading import Reading


def of_another_thing(reading: Reading, mention: Mention) -> str:
    """Why a name is what is asked for of another subject, whatever verb asserts it; empty if it is not."""
    owner, events = reading.lead(mention), asked_events(reading)
    owns = "ownership" in events and reading.key(owner - 1) in reading.subject
    if owns and of_asked_event(reading, owner) and not reading.key(owner).endswith("ed"):
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
    """As `of_another_thing`, of a date or an amount: `X people work in S`, `X of the members`."""
    unit, years = mention.end, [at for at, key in enumerate(reading.keys(0)) if is_year(key)]
    of_them = reading.keys(unit, unit + 2) == ["of", "the"] and reading.sign(unit + 2).islower()
    if of_them and reading.asked[:1] == ("how",):
        return "is only a part of them"
    old = [at for at in years if at not in mention.span and reading.key(at) < "2000"]
    of_now = not any(reading.words.has("past", key) for key in reading.asked) and not asked_events(reading)
    clause = range(*clause_of(reading, mention))
    was = any(reading.is_a(at, "past") or reading.key(at) == "had" for at in clause)
    if of_now and len(old) == len(years) == 1 and old[0] in clause and was:
        return "is of another time"
    once = "once" in (reading.key(at) for at in clause) or reading.has_cue("until", unit, len(reading.tokens))
    if (
        of_now
        and {"when", "date", "day"}.isdisjoint(reading.asked)
        and ((was and once) or ("will" in reading.keys(clause.start, mention.start) and years))
    ):
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


_LINKS = ("verb", "present", "of", "locative", "by", "who", "conjunction", "from", "to", "object", "article")
"""Rows of words behind an amount that say nothing of what those do who are counted."""


def _of_another_person(reading: Reading, mention: Mention) -> str:
    """As `of_another_thing`, of a person: `X coaches Z`, `X admired the author`, `X wrote the foreword`."""
    named = not reading.subject or any(key in reading.subject for key in reading.keys(0))
    starts = {name.start for name in reading.unknown if len(name.name) > 3}
    verb = mention.end + reading.is_a(mention.end, "present")
    acts = is_about(reading, verb) and reading.sign(verb).islower() and not reading.is_a(verb, "of")
    acts &= not any(is_core(reading, at) for at in range(len(reading.tokens)) if at != verb)
    if acts and not named and starts & {verb + 1, verb + 1 + reading.is_a(verb + 1, "article")}:
        return "is said to do it to somebody else"
    for at in behind(reading, mention):
        agent = (
            of_asked_event(reading, at)
            and reading.key(at).endswith(("er", "or"))
            and not asked_office(reading)
        )
        if agent and reading.is_a(at - 1, "article") and at - 2 > mention.start:
            before = at - 2
            linked = reading.is_a(before, "present", "past", "verb", "holds") or reading.key(before) == "as"
            if not linked and reading.sign(before).islower():
                return "is said of another who did it"  # X admired the author
    if "writing" in asked_events(reading) and not {*_PARTS}.isdisjoint(reading.keys(mention.end)):
        return "is said to have written a part"
    return ""


_PARTS = ("foreword", "preface", "introduction", "afterword", "epilogue", "blurb")


def other_subject(reading: Reading, mention: Mention) -> str:
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


def has_another(reading: Reading, mention: Mention) -> bool:
    """Whether a verb says that somebody has something that is not asked about: `X also owns Z`."""
    verb = mention.end + (reading.key(mention.end) in ("also", "auch"))
    object_ = verb + 1 + reading.is_a(verb + 1, "article")
    starts = {name.start for name in reading.unknown}
    return reading.is_a(verb, "leads") and bool(starts & {object_, object_ + 1})


def says_nothing_of_it(reading: Reading, mention: Mention) -> bool:
    """Whether a clause of the question's subject says nothing that is asked for: `S danced with X`."""
    foreign = reading.words.only_names or reading.words.capital_nouns
    dated = mention.value and reading.asked[:1] == ("when",)
    if (
        foreign
        or (mention.value and not dated)
        or asked_office(reading)
        or reading.is_a(reading.lead(mention), "present")
    ):
        return False
    clause = [at for at in range(*clause_of(reading, mention)) if reading.tokens[at].is_word]
    named = {at for name in reading.mentions for at in name.span}
    clause = [at for at in clause if at not in named]
    words = [at for at in clause if reading.key(at) not in reading.subject]
    if {reading.key(at) for at in words} <= {"by", "with", "is", "are", "the", "a"}:
        return False  # S by X, S is with X
    turned = ("took_over", "handed_on", "gives", "former", "until")
    turns = reading.of("now", "hedge", "amended", *(() if dated else turned))
    if turns or len(words) == len(clause) or not any(reading.sign(at).islower() for at in words):
        return False
    words = [at for at in words if not reading.is_a(at, *_COMMON)]
    rooms = {  # it has an office in X
        at for at in words if reading.is_a(at + 1, "locative") and reading.has("indefinite", at - 2, at)
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
        or is_gain(reading, at, mention)
        for at in words
        if dated or at not in rooms
    )


_SAYS = ("right", "tenure", "achieved", "holds", "plays", "leads", "chosen", "present")


_COMMON = ("article", "verb", "of", "to", "from", "by", "locative", "object", "particle", "starter")
"""Rows of words that say nothing of a relation."""


def clause_of(reading: Reading, mention: Mention) -> tuple[int, int]:
    """Where the clause of a name begins and ends."""
    start = mention.start
    while start and not is_border(reading, start - 1):
        start -= 1
    return start, behind(reading, mention).stop


def is_another(reading: Reading, mention: Mention) -> bool:
    """Whether a sentence is about something else: `the winter capital is X`, `the president met X`."""
    (start, _), lead = clause_of(reading, mention), reading.lead(mention)
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
    offices = [
        subject[-size:] for size in (1, 2, 3) if " ".join(subject[-size:]) in reading.words.values["office"]
    ]
    fits |= any(office_fits(reading, office) is not False for office in offices)
    if reading.is_a(lead, "verb", "present", "past"):
        kinds = ("noun", "topic", "foreign", "title")
        return not fits and any(reading.words.has(kind, head) for kind in kinds)
    rows = ("article", "verb", "of", "by", "from", "to", "locative", "holds", "noun", "title")
    cued = any(lead in cue.span and cue.kind != "beside" for cue in reading.cues)
    acts = reading.sign(lead).islower() and not (cued or reading.is_a(lead, *rows))
    return acts and bool(office_fits(reading, subject)) and not reading.has("verb", start, lead)


_DOES = (
    *(
        "verb",
        "present",
        "past",
        "holds",
        "by",
        "from",
        "to",
        "of",
        "locative",
        "who",
        "conjunction",
        "known",
    ),
    *(
        "modal",
        "chosen",
        "achieved",
        "remains",
        "lasting",
        "tenure",
        "right",
        "then",
        "when",
        "title",
        "noun",
    ),
)
"""Rows of words behind an office that may say who holds it."""


def _does(reading: Reading, at: int, lead: int) -> bool:
    """Whether somebody with an office does something else: `the president of Z quarrelled with X`."""
    verb = at + 1
    while verb < lead and (
        reading.is_a(verb, "of", "article")
        or reading.key(verb) in reading.asked
        or reading.tokens[verb].possessive
    ):
        verb += 1
    cued = any(verb in cue.span for cue in reading.cues)
    act = at + 1 < verb <= lead and reading.sign(verb).islower() and not reading.sign(verb).endswith("ly")
    return act and not (cued or reading.is_a(verb, *_DOES) or is_about(reading, verb))


def is_gain(reading: Reading, at: int, mention: Mention) -> bool:
    """Whether a verb says that somebody gets what is asked for: `Z lured X`, `X cruised to a third term`."""
    if reading.is_a(at, "chosen") and mention.person and "record" not in reading.asked:
        passive = reading.is_a(at - 1, "verb") or reading.has("past", reading.lead(mention), at + 2)
        return reading.lead(mention) - 1 <= at < mention.start or (at > mention.start and passive)
    rest = range(at + 1, behind(reading, mention).stop)
    new = (of for of in rest if not reading.is_a(of - 1, "indefinite"))  # but not a job
    return reading.is_a(at, "gains") and any(reading.is_a(of, "tenure", "right") for of in new)

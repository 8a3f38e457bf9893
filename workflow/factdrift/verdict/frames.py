"""Whether a sentence asserts a name in words that are known to do so: all others leave the answer unclear.

The frame of a name is the words before it in its clause, and those behind it up to one of the question's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import NO_NOUNS, asked_events, is_about, is_drawn, of_asked_event
from factdrift.verdict.cues import about
from factdrift.verdict.descriptions import behind, is_border, is_described
from factdrift.verdict.names import ACCEPTED
from factdrift.verdict.offices import asked_office, is_core, is_object, of_office, office_fits, other_body
from factdrift.verdict.orders import is_visit
from factdrift.verdict.reading import CLAIMED, Reading, Role
from factdrift.verdict.subjects import (
    clause_of,
    has_another,
    is_another,
    is_gain,
    of_another_thing,
    other_subject,
    says_nothing_of_it,
)
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
        body = has_another(reading, mention)
        body |= mention.person and "direction" in asked_events(reading) and bool(_body(reading, mention))
        reason = of_another_thing(reading, mention) if number < _MOST else ""
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
        has_another(reading, mention)
        or (reading.key(mention.end) == "holds" and any(name.start in after for name in reading.unknown))
    )
    if other and not any(token.is_capital and token.key in reading.asked for token in reading.tokens):
        return "is said to have it of something else"
    if not mention.person and (subject := other_subject(reading, mention)):
        return f"speaks of {subject}"
    parts = (at for at in behind(reading, mention) if reading.is_a(at, "part") and reading.is_a(at + 1, "of"))
    if any(reading.key(at) not in reading.asked for at in parts):
        return "is said to hold it of a part"
    if is_described(reading, mention) or is_another(reading, mention):
        return "is said to be or do something else"
    if says_nothing_of_it(reading, mention):
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


_STAGED = (
    "lost",
    "won",
    "drew",
    "scored",
    "held",
    "hosted",
    "staged",
    "organised",
    "organized",
    "tenu",
    "tenue",
    "celebró",
)


def _is_detailed(reading: Reading, odd: int, mention: Mention) -> bool:
    """Whether a sentence with one unknown word says what is asked for, and names a year or another name."""
    beside = (at for at in range(len(reading.tokens)) if at not in (odd, *mention.span))
    words = [at for at in beside if reading.tokens[at].is_word]
    of = reading.lead(mention) == odd + 1 and reading.is_a(odd + 1, "of") and reading.key(odd) != "those"
    of &= "ownership" in asked_events(reading)  # the consoles of X
    if of or len(words) < _DETAILS or reading.is_a(odd, "foreign") or _is_act(reading, odd, mention):
        return False
    more = bool(reading.unknown) or any(reading.tokens[at].kind == "number" for at in words)
    clause = range(*clause_of(reading, mention))
    return more and any(at in clause and is_about(reading, at) for at in words)


def _frame(reading: Reading, mention: Mention) -> Iterator[int]:
    """The positions of the words of a name's frame."""
    start, _ = clause_of(reading, mention)
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
    if is_drawn(reading, at) or is_gain(reading, at, mention):
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

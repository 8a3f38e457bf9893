"""Whether the words behind a name only describe it: `X is a general`, `X won in London`, `X is a club`."""

from __future__ import annotations

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import is_about, of_asked_event
from factdrift.verdict.offices import asked_office, is_core, is_object, office_fits
from factdrift.verdict.orders import asks_most
from factdrift.verdict.reading import Reading

_AFTER_WOULD = (
    *("be", "have", "still", "now", "probably", "likely", "currently", "later", "then", "eventually"),
    *("become", "go"),
)
"""Words behind `would` that do not say what somebody would do instead."""
_NARROWER = ("course", "personal", "national", "olympic", "championship", "meeting", "european")
"""Words before `record` that say that it is not the world's."""
BORDERS = frozenset('.;:(),—–"?!|[]')


def is_described(reading: Reading, mention: Mention) -> bool:
    """Whether a verb says nothing of what is asked for: `X is a general`, `X runs Y`, `X is a club`."""
    verb, tokens = mention.end, reading.tokens
    if (
        reading.asked[:1] in (("who",), ("wer",))
        and reading.is_a(verb, "present", "past")
        and reading.keys(verb + 1, verb + 3) == ["one", "of"]
    ):
        return True  # X is one of the greatest managers
    if reading.sign(verb) == "," and reading.is_a(verb + 1, "who") and reading.is_a(verb + 2, "past"):
        act = reading.end(verb + 2, ",") + 1
        kinds = ("verb", "holds", "achieved", "remains", "leads", "starter", "conjunction", "gains", "chosen")
        known = reading.is_a(act, *kinds) or any(act in cue.span for cue in reading.cues)
        if mention.person and reading.sign(act).islower() and not (known or is_about(reading, act)):
            return True  # X, who was a curator, organised a show
    apposed = reading.sign(verb) == "," and reading.is_a(verb + 1, "indefinite")
    aside = range(verb + 2, len(tokens)) if apposed else ()
    if any(is_object(reading, at) and office_fits(reading, [reading.key(at)]) for at in aside):
        return True  # X, a critic of the president
    ranked = any(
        reading.key(at) in reading.words.values["ordinal"] and reading.key(at) not in ("first", "1")
        for at in range(verb, min(verb + 4, len(tokens)))
    )
    ranked &= asks_most(reading) or reading.key(verb + 1) in ("second", "third")
    if ranked and not {"second", "third"} & {*reading.asked}:
        return True  # X is the seventh-largest
    if asks_most(reading) and reading.is_a(verb, "present", "past") and reading.is_a(verb + 1, "indefinite"):
        return True  # X is a statue in India
    if reading.is_a(verb, "plays") and not (is_about(reading, verb) or asked_office(reading)):
        return True  # asked for its owner, X played for Z
    if reading.key(verb + reading.key(verb).endswith("ly")) in ("means", "meant", "derives", "translates"):
        return True  # the name X means a city
    comma = reading.end(verb + 1, ",") if reading.sign(verb) == "," else len(tokens)
    aside = range(verb, comma)
    if reading.is_a(comma + 1, "present", "past") and not any(_says_it(reading, at) for at in aside):
        verb = comma + 1  # X, born in 1981, is a baker
    if _is_made(reading, mention, verb):
        return True
    be = verb + (reading.keys(verb, verb + 2) == ["has", "been"])
    if be > verb and asked_office(reading) and reading.is_a(be + 1, "indefinite"):
        return not office_fits(reading, reading.keys(be + 2))  # X has been a judge of it since 2018
    is_a = reading.is_a(be, "present", "past") or be > verb
    end = reading.end(be + 1, BORDERS)
    own = (at for at in range(be + 2, end) if reading.key(at) not in reading.subject)
    says = any(_says_it(reading, at) for at in range(be + 2, len(tokens)) if tokens[at].text.islower())
    says |= any(_says_it(reading, at) for at in own)
    says |= bool(office_fits(reading, reading.keys(be + 2, end)))
    if not mention.value and is_a and reading.is_a(be + 1, "indefinite") and not says:
        return True  # X is a biologist
    acts = reading.key(verb + 1) not in _AFTER_WOULD
    if reading.key(verb) == "would" and acts and reading.sign(verb + 1).islower():
        return True  # X would pay more
    served = mention.person and reading.keys(verb, verb + 2) == ["served", "in"]
    if served and not any(_says_it(reading, at) for at in behind(reading, mention)):
        return True  # X served in the Army
    would = reading.keys(verb, verb + 2) == ["would", "be"] and reading.is_a(verb + 2, "indefinite")
    if would and not any(
        is_core(reading, at) and tokens[at].text.islower() for at in behind(reading, mention)
    ):
        return True  # X would be a disaster
    kind = reading.is_a(verb + 1, "indefinite") and reading.is_a(verb + 2, "thing")
    if reading.is_a(verb, "present") and kind and not mention.person:
        return True  # X is a club that everybody knows
    if reading.key(verb) == "hosts" and not {"hosts", "host"} & {*reading.asked} and not mention.person:
        return True  # X hosts a race
    wins = reading.key(verb) in ("won", "wins") and reading.is_a(verb + 1, "locative")
    wins |= reading.key(verb) == "became" and "champion" in reading.keys(verb, verb + 4)
    wins |= reading.key(verb) in ("won", "wins") and reading.is_a(verb + 1, "article")
    wins &= "record" in reading.asked
    own = (at for at in behind(reading, mention) if is_core(reading, at))
    if wins and all(reading.key(at - 1) in _NARROWER or tokens[at].is_capital for at in own):
        return True  # X won in London
    subject = any(token.is_capital and token.key in reading.asked for token in tokens)
    if reading.key(verb).endswith("ed") and not subject and mention.person and is_about(reading, verb):
        return any(name.start == verb + 1 for name in reading.unknown)  # X conducted Carmen
    return _has_another_office(reading, mention)


def _is_made(reading: Reading, mention: Mention, verb: int) -> bool:
    """Whether a verb says whose relative or deputy a name is, or what it was made: `X is the son of Z`."""
    tokens = reading.tokens
    as_ = verb + 1 + reading.is_a(verb + 2, "article", "indefinite") + 1
    serves = reading.key(verb + 1) == "as" and reading.is_a(as_, "foreign", "deputy")
    if mention.person and serves and reading.key(as_) not in reading.asked:
        return True  # X serves as deputy to the president
    kin = reading.is_a(verb, "present", "past") and reading.is_a(verb + 1, "article")
    kin = kin and any(reading.is_a(at, "kin") and reading.is_a(at + 1, "of") for at in (verb + 2, verb + 3))
    kin_end = min((name.end for name in reading.named() if name.start > verb), default=verb + 2)
    if kin and not any(
        _says_it(reading, at)
        for at in range(verb + 2, len(tokens))
        if reading.sign(kin_end) != "," or at < kin_end
    ):
        return True  # X is the eldest son of Z, the president
    made = reading.keys(verb, verb + 2) == ["was", "made"] and reading.is_a(verb + 2, "indefinite")
    made |= mention.person and reading.is_a(verb, "present") and reading.key(verb + 1) == "known"
    made |= reading.key(mention.start - 1) == "which" and mention.person and asked_office(reading)
    made &= not reading.is_a(verb, "holds", "gains", "achieved")
    # X was made a cardinal; a show which X co-hosted
    return made and not any(_says_it(reading, at) for at in behind(reading, mention))


def _has_another_office(reading: Reading, mention: Mention) -> bool:
    """Whether a verb says nothing of the office that is asked for: `X served the president coffee`."""
    verb, tokens = mention.end, reading.tokens
    acts = asked_office(reading) and not any(verb in cue.span for cue in reading.cues)
    acts &= reading.sign(verb).islower() and not reading.key(verb).endswith("ly")
    acts &= not reading.is_a(verb, "verb", "present", "past", "achieved", "remains", "starter")
    beside = asked_office(reading) and reading.is_a(verb + 1, "object") and reading.is_a(verb + 2, "article")
    if beside and reading.sign(verb).islower() and office_fits(reading, reading.keys(verb + 3, verb + 5)):
        return True  # X works for the president, X serves under the president
    acts &= reading.is_a(verb + 1, "article") and not reading.is_a(verb + 3, "tenure", "right")
    acts &= not reading.is_a(verb + 4, "tenure", "right")
    if acts and office_fits(reading, reading.keys(verb + 2, verb + 4)) is not None:
        return True  # X served the president coffee
    leads = reading.is_a(verb, "leads") or reading.keys(verb, verb + 2) in (
        ["served", "as"],
        ["served", "in"],
    )
    won = reading.key(verb) in ("won", "wins")
    won &= reading.is_a(verb + 1, "article") or reading.key(verb + 1) in reading.words.values["number"]
    clause = behind(reading, mention)
    posted = "as" in reading.keys(verb, clause.stop) and reading.has("indefinite", verb, clause.stop)
    posted |= not {"board", "cabinet", "government", "council"}.isdisjoint(reading.keys(verb, clause.stop))
    body = any(tokens[at].is_capital and reading.key(at) in reading.asked for at in clause)
    won |= reading.key(verb) in ("joined", "joins", "entered", "represented") and (posted or not body)
    whose = asked_office(reading) or (won and mention.person and not is_about(reading, verb))
    if not (whose and (leads or won or reading.is_a(verb, "past", "present", "plays"))):
        return False
    end = reading.end(verb, BORDERS | ({"and"} if won else set()))
    wins = reading.key(verb) in ("won", "wins")
    if wins and reading.key(end) == "and" and reading.is_a(end + 1, "holds", "gains"):
        end = reading.end(end + 1, BORDERS)  # X won the vote and took office
    rest = [at for at in range(verb + 1, len(tokens)) if tokens[at].is_word and not is_object(reading, at)]
    by = reading.end(verb, ("by",))
    by_holder = any(office_fits(reading, [reading.key(at)]) for at in range(by, end))
    chosen = {at for at in rest if reading.is_a(at, "chosen") and not by_holder}
    turns = reading.of("now", "took_over", "handed_on", "disclaimer")
    turns = [cue for cue in turns if not (won and cue.start > end)]
    turns = [cue for cue in turns if cue.start or not reading.is_a(cue.end, "pronoun")]  # before he came, X
    first = not {"first", "only", "youngest", "oldest"}.isdisjoint(
        reading.keys(verb, end)
    )  # woman to head it
    if turns or any(
        (at < end and (reading.is_a(at, "tenure", "holds", "right", "achieved") or at in chosen))
        or (leads and tokens[at].is_capital and reading.key(at) in reading.asked)
        or (first and reading.key(at - 1) == "to" and reading.words.has("leads", f"{reading.key(at)}s"))
        for at in rest
    ):
        return False
    noun = reading.is_a(verb + 1, "article", "indefinite") and tokens[verb + 2 : verb + 3]
    named = any(tokens[at].is_capital for at in behind(reading, mention))
    described = named or reading.is_a(verb + 1, "object") or reading.key(verb + 1) in ("on", "at")
    described |= bool(noun and noun[0].kind == "word")
    return described and not office_fits(reading, [reading.key(at) for at in rest])


def _says_it(reading: Reading, at: int) -> bool:
    """Whether a word says what is asked for, or speaks of what the question is about."""
    core = (is_core(reading, at) and not is_object(reading, at)) or of_asked_event(reading, at)
    return core or (reading.is_a(at, "right", "tenure") and reading.key(at) != "title")


def behind(reading: Reading, mention: Mention) -> range:
    """The positions behind a name in its clause."""
    ends = (at for at in range(mention.end, len(reading.tokens)) if is_border(reading, at))
    return range(mention.end, next(ends, len(reading.tokens)))


def is_border(reading: Reading, at: int) -> bool:
    """Whether a sign, the end of a line or, behind a name, a conjunction is at a position."""
    joins = reading.is_a(at, "conjunction") and (
        any(other.end <= at for other in reading.named()) or reading.is_a(at + 1, "holds", "past", "verb")
    )
    if joins and reading.tokens[at - 1].is_capital and reading.key(at - 1) in reading.asked:
        joins = all(name.start != at + 1 for name in reading.mentions)  # somebody saw Z and X
    joins |= reading.is_a(at, "lacking") and any(other.end < at for other in reading.mentions)
    return joins or reading.sign(at) in BORDERS or reading.tokens[at].kind == "break"

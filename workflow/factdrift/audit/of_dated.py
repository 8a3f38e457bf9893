"""Checks of one question with a date against all statements of both dumps, those that have ended included."""

import itertools
import re
from collections.abc import Iterator

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import days_of_text, packed
from factdrift.audit.kinds import UNCHECKED
from factdrift.audit.of_tables import differing
from factdrift.audit.of_updates import Dumps, Finding, other_label, outcomes
from factdrift.audit.phrases import date_text
from factdrift.audit.sentences import BLANK
from factdrift.audit.values import (
    DATES,
    END,
    START,
    entity_of,
    identity,
    may_hold,
    plain,
    raw_of,
    spans,
    surely_held,
)
from factdrift.core.columns import Row


def check_question(row: Row, dumps: Dumps, others: bool) -> Iterator[Finding]:
    """The findings of each kind about one question; `others`: the stream has more dumps than these two."""
    if others and row["holds"] != "now" and not any(own(row, dumps)):
        yield "held", UNCHECKED, "neither dump states the answer; another one of the stream may"
    else:
        reasons = itertools.chain(objections(row, dumps), () if others else _undated(row, dumps))
        yield from outcomes("held", reasons)
    yield from outcomes("asked", itertools.chain(_asked(row, dumps), _aliases(row, dumps, others)))
    yield from outcomes("marks", _marks(row))
    if row["options"]:
        yield from outcomes("options", _options(row, dumps))


def claims_of(subject: str, relation: str, dumps: Dumps) -> Iterator[tuple[str, WikidataClaim]]:
    """The statements of subject and relation in both dumps that are not deprecated and have a value."""
    for side, dump in (("new", dumps.new), ("old", dumps.old)):
        line = dump.get(subject)
        for claim in line.of(relation) if line else ():
            if claim.mainsnak.snaktype == "value":
                yield side, claim


def _label(claim: WikidataClaim, dumps: Dumps) -> str:
    if (name := entity_of(claim.mainsnak)) is None:
        return plain(raw_of(claim.mainsnak))
    return dumps.name_of(name)[0] or name


def _is_answer(claim: WikidataClaim, row: Row, dumps: Dumps) -> bool:
    """Whether a statement has the answer as its value: by its id where options give it, else by its label."""
    name = entity_of(claim.mainsnak)
    if row["options"] and name and row["answer_index"] in range(len(row["options"])):
        return bool(name == row["option_ids"][row["answer_index"]])
    return _label(claim, dumps) == plain(row["answer_label"])


def own(row: Row, dumps: Dumps) -> Iterator[tuple[str, WikidataClaim]]:
    """The statements that have the answer of a question as their value."""
    claims = claims_of(row["asked_s"], row["asked_p"], dumps)
    return ((side, claim) for side, claim in claims if _is_answer(claim, row, dumps))


def objections(row: Row, dumps: Dumps) -> Iterator[str]:
    """Why the answer did not hold on the whole date, or not alone."""
    first, last = row["first_day"], row["last_day"]
    claims, mine = list(claims_of(row["asked_s"], row["asked_p"], dumps)), list(own(row, dumps))
    if not mine:
        yield f"neither dump states {row['answer_label']!r}"
        return
    newest = [claim for side, claim in mine if side == "new"] or [claim for _, claim in mine]
    if not any(may_hold(claim, first, last) for claim in newest):
        times = "; ".join(sorted({_times(claim) for claim in newest}))
        yield f"{row['answer_label']!r} did not hold on all of {row['date']}: {times}"
    answers = {identity(claim.mainsnak) for _, claim in mine}
    rivals = set()
    for _, claim in claims:
        if identity(claim.mainsnak) in answers or identity(claim.mainsnak) in rivals:
            continue
        if surely_held(claim, first, last):
            rivals.add(identity(claim.mainsnak))
            yield f"{_label(claim, dumps)!r} held on a day of {row['date']} too: {_times(claim)}"


def _undated(row: Row, dumps: Dumps) -> Iterator[str]:
    """What holds without a date is not asked about at one."""
    claims = [claim for line in dumps.lines_of(row["asked_s"]) for claim in line.of(row["asked_p"])]
    if not any(spans(claim, name) for claim in claims for name in DATES):
        yield f"no statement of {row['asked_s']} {row['asked_p']} gives a date"


def _times(claim: WikidataClaim) -> str:
    start, end = (" or ".join(span.text for span in spans(claim, name)) or "?" for name in (START, END))
    return f"{claim.claim_id} from {start} to {end}"


def _asked(row: Row, dumps: Dumps) -> Iterator[str]:
    subject = next((line for line in dumps.lines_of(row["asked_s"]) if line.label), None)
    first, stem = _dated(row["question"].partition(BLANK)[0])
    due = written(row["date"])
    if first != due or not row["question"].endswith(BLANK):
        yield f"the question {row['question']!r} is not one about {due}"
    last, clause = _dated(row["context"] or "")
    is_present = last == date_text(dumps.t_new, 11)
    if last.isdigit() or not last:
        yield f"the context {row['context']!r} is of no day"
    words, others = stem.split(), clause.split()
    sentence, newest = " ".join(others[: len(words)]), " ".join(others[len(words) :])
    if not newest or sum(word != two for word, two in zip(words, others, strict=False)) > 1:
        yield f"question and context {row['context']!r} are not the same sentence but for the verb"
        return
    if is_present and subject is not None and dumps.templates.source(row["asked_p"]) == "bundled":
        if plain(subject.label) not in plain(sentence):
            sentence = sentence[:1].upper() + sentence[1:]
        named = {"label": subject.label, "description": subject.description}
        reason = dumps.templates.misfit(f"{sentence} {BLANK}", {"id": row["asked_p"], "label": None}, named)
        if reason:
            yield f"the context: {reason}"
    names = {entity_of(claim.mainsnak) for _, claim in own(row, dumps)}
    is_newest = plain(newest).rstrip(".") == plain(row["answer_label"]).rstrip(".")
    if len(names) < 2 and row["discriminates"] == is_newest:
        yield f"discriminates is {row['discriminates']}, the context says {newest!r}"


def _dated(text: str) -> tuple[str, str]:
    """`As of 5 March 2018, the mayor of X is ` -> `5 March 2018` and the rest."""
    match = re.match(r"As of ([^,]+), (.*)", text, re.DOTALL)
    return (match[1], match[2]) if match else ("", text)


def written(date: str) -> str:
    """`2018-03-05` -> `5 March 2018`."""
    year, month, day, *_ = (int(part) for part in f"{date}-0-0".split("-"))
    return date_text((year, month, day), 9 + date.count("-"))


def _aliases(row: Row, dumps: Dumps, others: bool) -> Iterator[str]:
    names = {entity_of(claim.mainsnak) for _, claim in own(row, dumps)}
    lines = [line for name in names if name for line in dumps.lines_of(name)]
    if len(names) == 1 and lines and (lines[0].id in dumps.new or not others):
        due = sorted({*map(plain, lines[0].aliases)} - {""})
        if [plain(alias) for alias in row["answer_aliases"] or ()] != due:
            yield f"the aliases are {row['answer_aliases']}, in the dump {due}"


def _marks(row: Row) -> Iterator[str]:
    as_of, (first, last) = row["as_of"], days_of_text(row["date"]) or (None, None)
    if packed((as_of.year, as_of.month, as_of.day)) != row["last_day"]:
        yield f"as_of is {as_of}, the date ends on {row['last_day']}"
    wanted = {
        "precision": ("year", "month", "day")[row["date"].count("-")],
        "first_day": first,
        "last_day": last,
        "task": 1 if row["holds"] == "now" else 2,
        "hop": 0,
        "asked_s": row["s"],
        "asked_p": row["p"],
        "chain": f"{row['s']}-{row['p']}",
        "open_only": not row["options"],
        **({} if row["options"] else dict.fromkeys(("option_ids", "option_verdicts", "answer_index"))),
        "rel_id": None,
    }
    yield from differing(row, wanted, "date and the other columns")
    for flag in sorted(set(row["flags"]) - {"other_kind"}):
        yield f"flag {flag} is unknown"
    if row["holds"] not in ("now", "before", "then"):
        yield f"holds is {row['holds']}"


def _options(row: Row, dumps: Dumps) -> Iterator[str]:
    options, answer, verdicts = row["options"], row["answer_index"], row["option_verdicts"]
    if len({plain(option).casefold() for option in options}) < len(options):
        yield f"two options are equal: {options}"
    if answer not in range(len(options)) or options[answer] != row["answer_label"]:
        yield f"option {answer} is not the answer {row['answer_label']!r}"
    if [index for index, verdict in enumerate(verdicts or ()) if verdict == "correct"] != [answer]:
        yield f"the verdicts are {verdicts}, the answer is option {answer}"
    stated: dict[str, list[WikidataClaim]] = {}
    for _, claim in claims_of(row["asked_s"], row["asked_p"], dumps):
        stated.setdefault(entity_of(claim.mainsnak) or _label(claim, dumps), []).append(claim)
    for name, label, verdict in zip(row["option_ids"], options, verdicts, strict=True):
        if verdict not in ("correct", "wrong", "never"):
            yield f"the verdict {verdict} is unknown"
        here = name in stated or label in stated
        if (verdict == "never") == here:
            yield f"{label!r} is called {verdict}, and the dumps {'state' if here else 'do not state'} it"
        line = dumps.new.get(name) or dumps.old.get(name)
        yield from other_label(name, label, line.label if line else None)


def named_entities(row: Row) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks of a question need beside the subject's."""
    yield from ((name, frozenset()) for name in row["option_ids"] or () if re.fullmatch(r"[QP]\d+", name))

"""Checks of documents of the corpus and of questions about it, against the statements of the dumps."""

import datetime
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import date_id, days_of_text, packed
from factdrift.audit.kinds import UNCHECKED
from factdrift.audit.of_dated import claims_of, objections, own, written
from factdrift.audit.of_tables import differing, of_rows, records
from factdrift.audit.of_updates import Dumps, Finding, outcomes
from factdrift.audit.sentences import BLANK
from factdrift.audit.values import END, START, entity_of, may_hold, plain, spans
from factdrift.core.columns import Row

# --- documents ------------------------------------------------------------------------------------------


def check_document(row: Row, dumps: Dumps) -> Iterator[Finding]:
    """The findings about a document: of the facts whose dump is of the two, and of its sentences."""
    faults, unread = [], 0
    for fact in row["facts"]:
        if (side := _side(row, fact, dumps)) is None:
            unread += 1
        elif reason := _not_stated(fact, side, dumps):
            faults.append(reason)
    if faults or unread < len(row["facts"]):
        yield from outcomes("stated", faults)
    else:
        yield "stated", UNCHECKED, "the document was of other dumps of the stream"
    yield from outcomes("sentences", _sentences(row, dumps))


def _side(row: Row, fact: Row, dumps: Dumps) -> str | None:
    """The dump by which a fact is stated, `new` or `old`; None if neither."""
    sides = {"new": dumps.t_new, "old": dumps.t_old}
    for side, day in sides.items():
        text = date_id(day, 11)
        if fact["tense"] == "cited":
            if fact["first_day"] == packed(day):
                return side
        elif row["known_from"] <= text and (row["known_until"] is None or text < row["known_until"]):
            return side
    return None


def _not_stated(fact: Row, side: str, dumps: Dumps) -> str:
    """Why the dump does not say that a fact was true on its days; empty if it may have been."""
    line = dumps.side(side).get(fact["subject"])
    claims = [
        claim
        for claim in (line.of(fact["relation"]) if line else ())
        if claim.mainsnak.snaktype == "value" and claim.rank != "deprecated"
        if entity_of(claim.mainsnak) == fact["object"]
    ]
    if fact["statement"].upper() not in {claim.claim_id.upper() for claim in claims}:
        about = f"{fact['subject']} {fact['relation']} {fact['object']}"
        return f"the {side} dump does not state {about} by {fact['statement']}"
    day = packed(dumps.t_new if side == "new" else dumps.t_old)
    days = (day, day) if fact["tense"] == "now" else (fact["first_day"], fact["last_day"])
    if not any(may_hold(claim, *days) for claim in claims):
        return f"{fact['object']} did not hold from {days[0]} to {days[1]}: {claims[0].claim_id}"
    return ""


def _sentences(row: Row, dumps: Dumps) -> Iterator[str]:
    """Sentences are those of facts, from the first letter to the last, and name subject and object."""
    spans = sorted({(fact["start"], fact["end"]) for fact in row["facts"]})
    if " ".join(row["text"][start:end] for start, end in spans) != row["text"] or spans[-1][1] > len(
        row["text"]
    ):
        yield "a sentence is that of no fact, or sentences overlap"
    since, until = row["known_from"], row["known_until"]
    if row["doc"] != f"{row['subject']}@{since}" or not (until is None or since < until):
        yield f"the document is of {row['subject']} from {since} to {until}"
    for fact in row["facts"]:
        if fact["subject"] != fact["statement"].upper().partition("$")[0]:
            yield f"{fact['statement']} is no statement of {fact['subject']}"
        if fact["tense"] != "cited" and fact["subject"] != row["subject"]:
            yield f"a fact of {fact['subject']} is not cited"
        days, day = (fact["first_day"], fact["last_day"]), int(since.replace("-", ""))
        if fact["tense"] not in ("now", "then", "cited") or (fact["tense"] == "now" and days != (day, day)):
            yield f"{fact['tense']} is from {days[0]} to {days[1]}"
        sentence = plain(row["text"][fact["start"] : fact["end"]])
        for name in (fact["subject"], fact["object"]):
            label, _ = dumps.name_of(name)
            if label.rstrip(".") not in sentence:
                yield f"{sentence!r} does not name {label!r}"
        if sentence.startswith("According to a profile of ") != (fact["tense"] == "cited"):
            yield f"{sentence!r} is {fact['tense']}"


def subjects_of_document(row: Row) -> set[str]:
    """The entities whose statements a document's sentences are compared with."""
    return {row["subject"], *(fact["subject"] for fact in row["facts"])}


# --- questions ------------------------------------------------------------------------------------------

Stated = Mapping[str, set[tuple[str, str, str]]]
"""Document -> the facts (subject, relation, object) that it states."""


def stated_in_documents(corpus: Path, questions: Sequence[Row]) -> Stated:
    """What the documents of these questions state."""
    wanted = {*of_rows(questions, lambda row: (*row["right_docs"], *row["stale_docs"]))}
    return {
        row["doc"]: {(fact["subject"], fact["relation"], fact["object"]) for fact in row["facts"] or ()}
        for row in records(corpus, ["doc", "facts"])
        if row["doc"] in wanted
    }


def check_question(row: Row, dumps: Dumps, others: bool, docs: Stated) -> Iterator[Finding]:
    """The findings about a question, by kind; `others`: the stream has more dumps than these two."""
    known = _known(row, dumps)
    asked = [_view(row, *about) for about in _about(row, known)] if known else []
    if known is None or (others and not any(own(view, known) for view in asked)):
        yield "held", UNCHECKED, "neither dump states the answer; another one of the stream may"
    else:
        yield from outcomes("held", _answered(row, asked, known))
    reasons = itertools.chain(_stale(row, asked, known, others), _names(row, dumps, others))
    yield from outcomes("stale", reasons)
    yield from outcomes("asked", _asked(row, dumps))
    yield from outcomes("documents", _documents(row, docs))


def subject_of_question(row: Row) -> str:
    """The entity whose statements decide; of `hop` those of its holders do too."""
    return str(row["chain"].partition("-")[0])


def named_in_question(row: Row) -> Iterator[tuple[str, frozenset[str]]]:
    """The entities whose lines the checks of a question need beside the subject's, with their relations."""
    names = (row["answer_id"], row["premise"], *row["stale_ids"])
    yield from ((name, frozenset()) for name in names if name)
    if row["hop_relation"]:
        for doc in row["right_docs"]:
            yield doc.partition("@")[0], frozenset([row["hop_relation"]])


def _known(row: Row, dumps: Dumps) -> Dumps | None:
    """The dumps up to that whose knowledge counts; None if that is neither."""
    if row["known_at"] == date_id(dumps.t_new, 11):
        return dumps
    return dumps._replace(new={}) if row["known_at"] == date_id(dumps.t_old, 11) else None


def _about(row: Row, known: Dumps) -> list[tuple[str, str]]:
    """The subjects and relations whose values answer: of `hop` those of the holders on that day."""
    chain = subject_of_question(row), row["relation"]
    if not row["hop_relation"]:
        return [chain]
    holders = {
        entity_of(claim.mainsnak)
        for _, claim in claims_of(*chain, known)
        if may_hold(claim, row["first_day"], row["last_day"])
    }
    return [(name, row["hop_relation"]) for name in sorted(filter(None, holders))]


def _view(row: Row, asked_s: str, asked_p: str, answer: str | None = None) -> Row:
    """The question as those with a date are, with a single option."""
    view: Row = {"asked_s": asked_s, "asked_p": asked_p, "option_ids": [answer or row["answer_id"]]}
    label = (row["answers"] or [""])[0]
    view |= {"options": [label], "answer_index": 0, "answer_label": label}
    view |= {name: row[name] for name in ("first_day", "last_day")}
    return view | {"date": row["at"] or row["asked_on"]}


def _answered(row: Row, asked: Sequence[Row], known: Dumps) -> Iterator[str]:
    if row["kind"] == "next":
        yield from _adjoining(row, asked[0], known)
        return
    faults = [list(objections(view, known)) for view in asked] or [
        ["no value of the chain holds on that day"]
    ]
    if row["announced"]:  # others may hold on days of a month or a year before it begins
        faults = [[fault for fault in listed if " held on a day of " not in fault] for listed in faults]
    yield from min(faults, key=len)


def _adjoining(row: Row, view: Row, known: Dumps) -> Iterator[str]:
    """Nobody can have come between two who followed each other."""
    other = _view(row, view["asked_s"], view["asked_p"], row["premise"])
    is_later = re.match(r"(Who|What) followed ", row["question"])
    pair = [[claim for _, claim in own(of, known)] for of in ((other, view) if is_later else (view, other))]
    if not all(pair):
        yield f"the dumps do not state both {row['answer_id']} and {row['premise']}"
    elif not any(_follows(after, before) for before in pair[0] for after in pair[1]):
        yield f"{row['premise']} and {row['answer_id']} do not follow each other: {pair[0][0].claim_id}"


def _follows(after: WikidataClaim, before: WikidataClaim) -> bool:
    """Whether a statement may begin on the day on which another ends, or on the next."""
    starts, ends = spans(after, START), spans(before, END)
    first = [span.first for span in spans(before, START)]
    if first and starts and min(first) > max(span.last for span in starts):
        return False
    if not starts or not ends:
        return True
    end = datetime.date(*max(span.last for span in ends)) + datetime.timedelta(1)
    return datetime.date(*min(span.first for span in starts)) <= end


def _stale(row: Row, asked: Sequence[Row], known: Dumps | None, others: bool) -> Iterator[str]:
    """What is called stale was a value before the date; what a question presupposes began in its year."""
    if known is None or row["hop_relation"]:
        return  # the holder before, whose value is stale, is in no column
    for name in row["stale_ids"]:
        claims = [claim for _, claim in own(asked[0] | {"option_ids": [name]}, known)]
        begun = [span.first for claim in claims for span in spans(claim, START)]
        if not claims and not others:
            yield f"the dumps do not state {name}"
        elif begun and packed(min(begun)) > row["last_day"] and not row["pair"]:
            yield f"{name} began after {row['at'] or row['asked_on']}: {claims[0].claim_id}"
        is_presupposed = claims and row["kind"] == "premise" and name == row["premise"]
        if is_presupposed and int(row["premise_start"]) not in {day[0] for day in begun}:
            yield f"{name} did not begin in {row['premise_start']}: {claims[0].claim_id}"


def _names(row: Row, dumps: Dumps, others: bool) -> Iterator[str]:
    """Answers are the names of their values in the newest dump; no stale answer is right."""
    for name in (row["answer_id"], *row["stale_ids"], row["premise"] or "Q1"):
        if not re.fullmatch(r"Q\d+", name):
            yield f"{name} is no item"
    if others and not all(map(dumps.lines_of, (row["answer_id"], *row["stale_ids"]))):
        return  # an item of another dump of the stream
    right = _of([row["answer_id"]], dumps)
    excused = right | (_of([row["premise"]], dumps) if row["kind"] == "next" else set())
    for column, due in (("answers", right), ("stale_answers", _of(row["stale_ids"], dumps) - excused)):
        names = {*map(plain, row[column])}
        if names != due:
            yield f"{column} are {sorted(names ^ due)} off the names of the dump"


def _of(ids: Sequence[str], dumps: Dumps) -> set[str]:
    names = (dumps.name_of(name) for name in ids)
    return {text for label, aliases in names for text in (label, *aliases)} - {""}


def _asked(row: Row, dumps: Dumps) -> Iterator[str]:
    """The question has subject, premise, date, the words of its prompt, and the tense of the date."""
    first, last = days_of_text(row["at"] or row["asked_on"]) or (None, None)
    # An answer that is announced may begin on a part of the days of its date.
    days = {} if row["announced"] else {"first_day": first, "last_day": last}
    yield from differing(row, {"kind": _kind(row), **days}, "other columns")
    if not row["question"] or bool(row["prompt"]) != (row["kind"] not in ("premise", "next")):
        yield f"the question is {row['question']!r}, its prompt {row['prompt']!r}"
    words, asked = (
        set(re.findall(r"\w+", plain(text or "").replace(BLANK, "").casefold()))
        for text in (row["prompt"], row["question"])
    )
    if missing := words - asked - {"as", "of"}:
        yield f"{row['prompt']!r} has {sorted(missing)} and {row['question']!r} does not"
    texts = [plain(text) for text in (row["question"], row["prompt"]) if text]
    due = [dumps.name_of(name)[0] for name in (subject_of_question(row), row["premise"]) if name]
    due += [written(row["at"])] if row["at"] else []
    due += [" will be "] if row["announced"] else [" is "] if row["kind"] in ("now", "hop") else []
    for part in due:
        if not all(part.rstrip(".") in text or part[:1].upper() + part[1:] in text for text in texts):
            yield f"{row['question']!r} does not have {part!r}"
    if row["prompt"] and not row["prompt"].endswith(BLANK):
        yield f"{row['prompt']!r} has no blank at its end"


def _kind(row: Row) -> str:
    """The kind of a question, by the columns that only one kind has."""
    of = {"hop": row["hop_relation"], "premise": row["premise_start"], "next": row["premise"]}
    of |= {"known": row["pair"], "at": row["at"]}
    return next((kind for kind, value in of.items() if value), "now")


def _documents(row: Row, docs: Stated) -> Iterator[str]:
    """Right documents state the answer, and stale ones another value; none is of a later day."""
    key = subject_of_question(row), row["relation"]
    if (row["at"] or row["asked_on"]) and row["known_at"] != row["asked_on"]:
        yield f"it is asked on {row['asked_on']} of what is known on {row['known_at']}"
    for doc in (*row["right_docs"], *row["stale_docs"]):
        facts, is_right = docs.get(doc, set()), doc in row["right_docs"]
        values = {value for *about, value in facts if tuple(about) == key}
        through = {value for _, relation, value in facts if relation == row["hop_relation"]}
        due = {row["answer_id"]} if is_right else {*row["stale_ids"]}
        if not (values if row["hop_relation"] else values & due) and row["answer_id"] not in through:
            yield f"{doc} states no {'answer' if is_right else 'stale answer'}"
        if doc.partition("@")[2] > row["known_at"]:
            yield f"{doc} is later than {row['known_at']}"
    if both := {*row["right_docs"]} & {*row["stale_docs"]}:
        yield f"{sorted(both)} are right and stale"

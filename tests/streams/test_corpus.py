"""Documents and questions on random small worlds, against timelines that are computed anew for every dump."""

import datetime
import itertools
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.tables import written

from factdrift.streams import jobs
from factdrift.streams.corpus_questions import Asker, known
from factdrift.streams.subjects import SUBJECTS as LISTED
from factdrift.streams.subjects import Name
from factdrift.wikidata.tables import ENTITIES
from factdrift.words.names import Usage
from factdrift.words.noun_phrases import read_noun_phrases

from .definitions import Group, says
from .drawn import ALIASES, CLUB, DATES, DAYS, MAYOR, NAMES, SUBJECTS, VALUES, WORD, Drawn, Row
from .planted import DUMPS as PLANTED
from .planted import Office, known_rows, planted, stated
from .test_known import Early

CALLED = {item: f"Town {item}" for item in SUBJECTS} | NAMES | {602: "Cid"}
SINGLE = {MAYOR: True, CLUB: False, WORD: False}
DUMPS = [date.isoformat() for date in DATES]


class Whole(Early):
    """K_k of all facts, those too that no update mentions."""

    def __init__(self, drawn: Drawn, dumps: int) -> None:
        super().__init__(drawn, dumps)
        self.updated = {*self.groups}

    def functional(self, group: Group) -> bool:
        return super().functional(group) if group in self.updated else SINGLE[group[1]]


class Built(NamedTuple):
    """A corpus with its questions, and K_k by the oracle."""

    docs: list[Row]
    asked: list[Row]
    worlds: list[Whole]

    def tenures(self, dump: int, group: Group) -> list[tuple[Any, ...]]:
        return self.worlds[dump].tenures(group)

    def linked(self) -> set[Group]:
        return self.worlds[-1].updated


@cache
def built(seed: int, history: str, citing: float = 1.0) -> Built:
    drawn = Drawn(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drawn.chains(folder)
        aliases = {item: ALIASES.get(item, []) for item in (*SUBJECTS, *VALUES)}
        called = [(item, CALLED[item], names) for item, names in aliases.items()]
        rows = [{"id": i, "label": label, "aliases": names, "classes": []} for i, label, names in called]
        entities = written(folder / "entities.parquet", ENTITIES, rows)
        near = {item: [other for other in SUBJECTS if other != item][:3] for item in SUBJECTS}
        listed = [{"id": item, "role": "updated", "near": others} for item, others in near.items()]
        subjects = written(folder / "subjects.parquet", LISTED, listed)
        single = pa.schema({"property": "int32", "temporal_functional": "bool"})
        rows = [{"property": number, "temporal_functional": flag} for number, flag in SINGLE.items()]
        relations = written(folder / "relations.parquet", single, rows)
        statements = tuple(folder / f"statements{number}.parquet" for number in range(len(DATES)))
        of_all: dict[str, Any] = {"dates": tuple(DATES), "subjects": subjects}
        facts, dated = folder / "facts.parquet", {"known": folder / "known.parquet", "statements": statements}
        jobs.Facts(**of_all, **dated, relations=relations, output=facts).run()
        of_all |= {"facts": (facts,), "entities": (entities,), "seed": seed}
        corpus, asked = folder / "corpus.parquet", folder / "asked.parquet"
        jobs.Corpus(**of_all, history=history, citing=citing, output=corpus).run()
        jobs.CorpusQuestions(**of_all, corpus=corpus, output=asked).run()
        worlds = [Whole(drawn, number) for number in range(1, len(DATES) + 1)]
        return Built(pq.read_table(corpus).to_pylist(), pq.read_table(asked).to_pylist(), worlds)


def number(entity: str) -> int:
    return int(entity[1:])


def live(docs: list[Row], subject: int, dump: str) -> Row | None:
    """The version of a subject's document by a dump."""
    own = [doc for doc in docs if doc["subject"] == f"Q{subject}" and doc["known_from"] <= dump]
    of_dump = [doc for doc in own if doc["known_until"] is None or dump < doc["known_until"]]
    assert len(of_dump) < 2
    return of_dump[0] if of_dump else None


seeds = st.integers(0, 10**6)
few = settings(max_examples=examples(8), deadline=None)


@few
@given(seed=seeds, history=st.sampled_from(["none", "all"]))
def test_sentences_state_what_the_dumps_so_far_prove_and_all_of_it(seed: int, history: str) -> None:
    """Law 4: in the present on the day of the dump, in the past in its years, quoted on that of a profile."""
    corpus = built(seed, history)
    for dump, (name, day) in enumerate(zip(DUMPS, DAYS, strict=True)):
        for subject in SUBJECTS:
            doc = live(corpus.docs, subject, name)
            facts = doc["facts"] if doc else []
            present = {(number(f["relation"]), number(f["object"])) for f in facts if f["tense"] == "now"}
            due = set()
            for relation in SINGLE:
                tenures = corpus.tenures(dump, (subject, relation))
                values = {value for value, *_ in tenures} - {0, subject}
                due |= {(relation, of) for of in values if says(tenures, of, day, day) == "correct"}
            assert present == due
    assert any(fact["tense"] == "cited" for doc in corpus.docs for fact in doc["facts"])
    for doc in corpus.docs:
        check_sentences(doc)
        dump = DUMPS.index(doc["known_from"])
        for fact in doc["facts"]:
            group = number(fact["subject"]), number(fact["relation"])
            span = fact["first_day"], fact["last_day"]
            by = DAYS.index(span[0]) if fact["tense"] == "cited" else dump
            assert says(corpus.tenures(by, group), number(fact["object"]), *span) == "correct"
            assert (fact["subject"] == doc["subject"]) == (fact["tense"] != "cited")
            assert fact["tense"] != "then" or history == "all"
            if fact["tense"] == "cited":
                assert by < dump or doc["version"] == 1


def check_sentences(doc: Row) -> None:
    """Offsets are those of whole sentences, which name what they state; dates are the years of the past."""
    assert doc["doc"] == f"{doc['subject']}@{doc['known_from']}"
    assert len(doc["text"].split()) <= 300 + 40
    for fact in doc["facts"]:
        sentence = doc["text"][fact["start"] : fact["end"]]
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert fact["start"] == 0 or doc["text"][fact["start"] - 2 : fact["start"]] == ". "
        assert CALLED[number(fact["object"])].removesuffix(".") in sentence
        assert CALLED[number(fact["subject"])] in sentence
        assert sentence.startswith("According to a profile of ") == (fact["tense"] == "cited")
        if fact["tense"] == "then":
            assert f"{fact['last_day'] // 10_000}" in sentence.rsplit(" ", 3)[-1]
    named = {fact[part] for fact in doc["facts"] for part in ("subject", "object")} - {doc["subject"]}
    assert set(doc["links"]) == {item for item in named if number(item) in SUBJECTS}


@few
@given(seed=seeds)
def test_versions_follow_each_other_and_differ(seed: int) -> None:
    corpus = built(seed, "none")
    for before, after in zip(corpus.docs, corpus.docs[1:], strict=False):
        if before["subject"] == after["subject"]:
            assert after["version"] == before["version"] + 1
            assert before["known_until"] is not None
            assert before["known_until"] <= after["known_from"]
            assert before["text"] != after["text"] or before["known_until"] < after["known_from"]
            # A quotation may be of another day in the next version.
            was, now = ([f for f in doc["facts"] if f["tense"] == "now"] for doc in (before, after))
            for fact in now:
                alike = [[f for f in facts if f["relation"] == fact["relation"]] for facts in (was, now)]
                alone = [len(facts) for facts in alike] == [1, 1]
                if alone and alike[0][0]["object"] == fact["object"]:
                    assert after["text"][fact["start"] : fact["end"]] in before["text"]


@few
@given(seed=seeds)
def test_no_quotations_and_no_past_unless_they_are_asked_for(seed: int) -> None:
    plain = built(seed, "none", 0.0)
    assert {fact["tense"] for doc in plain.docs for fact in doc["facts"]} <= {"now"}


@few
@given(seed=seeds, history=st.sampled_from(["none", "all"]))
def test_answers_are_right_by_the_dumps_so_far_and_stale_answers_are_not(seed: int, history: str) -> None:
    corpus = built(seed, history)
    docs = {doc["doc"]: doc for doc in corpus.docs}
    for row in corpus.asked:
        subject, relation = map(number, row["chain"].split("-"))
        dump = DUMPS.index(row["known_at"])
        tenures = corpus.tenures(dump, (subject, relation))
        span = row["first_day"], row["last_day"]
        holders = {value for value, *_ in tenures if value}
        right, stale = number(row["answer_id"]), [*map(number, row["stale_ids"])]
        assert row["kind"] != "now" or span == (DAYS[dump], DAYS[dump])
        assert row["certain"] != row["announced"]
        assert row["asked_on"] == row["known_at"]
        assert not set(row["answers"]) & {*row["stale_answers"], *row["later_answers"]}
        assert row["answers"][0] == CALLED[right]
        if row["kind"] in ("now", "at", "known", "premise") and not row["announced"]:
            verdicts = {value: says(tenures, value, *span) for value, *_ in tenures}
            assert verdicts.pop(right) == "correct"
            assert set(verdicts.values()) <= {"wrong"}
        if row["kind"] != "known":
            before = {value for value, certain, *_ in tenures if certain and certain[1] < span[0]}
            assert {*stale} == (before - {right, 0}) or row["kind"] == "hop"
        assert {*stale} <= holders or row["kind"] in ("known", "hop")
        for name in row["right_docs"]:
            stated = {(f["subject"], f["object"]) for f in docs[name]["facts"]}
            assert (f"Q{subject}", f"Q{right}") in stated or row["kind"] == "hop"
            assert docs[name]["known_from"] <= row["known_at"]
        for name in row["stale_docs"]:
            assert docs[name]["known_from"] <= row["known_at"]
            assert {f["object"] for f in docs[name]["facts"]} & {f"Q{value}" for value in stale}
        assert not {*row["right_docs"]} & {*row["stale_docs"]}
        check_words(row, CALLED[subject])


def check_words(row: Row, subject: str) -> None:
    start = {"premise": "Since when has ", "next": ("Who ", "What ")}.get(row["kind"], ("Who ", "What "))
    assert row["question"].startswith(start)
    assert row["question"].endswith("?")
    assert subject in row["question"]
    assert (row["prompt"] is None) == (row["kind"] in ("premise", "next"))
    if row["prompt"]:
        assert row["prompt"].endswith(" ____")
        assert subject in row["prompt"]
    if row["at"]:
        assert row["at"][:4].lstrip("0") in row["question"]


@few
@given(seed=seeds)
def test_pairs_have_a_question_and_two_answers(seed: int) -> None:
    pairs: dict[str, list[Row]] = {}
    for row in built(seed, "none").asked:
        assert (row["pair"] is None) == (row["kind"] != "known")
        pairs.setdefault(row["pair"] or row["id"], []).append(row)
    for rows in pairs.values():
        if rows[0]["pair"]:
            older, newer = sorted(rows, key=lambda row: row["known_at"])
            assert older["at"] == newer["at"]
            assert older["answer_id"] != newer["answer_id"]
            assert older["answer_id"] in newer["stale_ids"]


class Nothing:
    """Documents that state nothing."""

    def stating(self, *_: object) -> list[str]:
        return []


def test_pairs_are_those_of_the_changes_that_were_entered_late() -> None:
    """Holders are entered in order: a dump's is the holder of the day, or the last whom it has."""
    number = 0
    for seed in range(40):
        office = planted(seed)
        if office.wrong or office.removed:
            continue
        names = {item: Name(f"Holder {item}", (), Usage()) for item in (*range(1, 7), 100)}
        asker = Asker([day.isoformat() for day in PLANTED], names, Nothing(), {}, 0)
        chain = asker.worlds(100, known_rows(stated(office)), 6, read_noun_phrases()[6], "the head")
        rows = list(known(asker, chain))
        pairs = {(a["answer_id"], b["answer_id"]) for a, b in zip(rows[::2], rows[1::2], strict=True)}

        def changed(day: datetime.date, office: Office = office) -> set[tuple[str, str]]:
            of_day = sum(start <= day for start in office.starts)
            dumps = [dump for dump in PLANTED if dump >= day and of_day]
            values = [f"Q{min(of_day, sum(day <= dump for day in office.entered))}" for dump in dumps]
            return {(old, new) for old, new in itertools.pairwise(values) if old not in ("Q0", new)}

        first = PLANTED[0] - datetime.timedelta(400)
        days = [first + datetime.timedelta(day) for day in range((PLANTED[-1] - first).days)]
        of_dumps = set().union(*(changed(day) for day in PLANTED if day not in office.starts))
        assert of_dumps <= pairs <= set().union(*map(changed, days))
        number += len(pairs)
    assert number > 20


@pytest.mark.parametrize("kind", ["now", "at", "known", "premise", "next"])
def test_all_kinds_are_asked(kind: str) -> None:
    assert any(row["kind"] == kind for seed in range(12) for row in built(seed, "none").asked)

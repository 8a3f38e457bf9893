"""The audit of documents: a right one passes, and a plant of every kind is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.audit_dumps import NEW, NEW_HOLDER, OLD, dumps, entity

from factdrift.audit.of_corpus import check_document, subjects_of_document

Row = dict[str, Any]
NOW, OLDER = "The head of government of Atlantis is Zoë.", "Atlantis is governed by Marta."
QUOTED = "According to a profile of January 2021, the head of government of Atlantis was Marta."


def fact(item: str, text: str, tense: str = "now", day: int = 20220601, start: int = 0) -> Row:
    own = "Q1$A" if item == "Q11" else "Q1$B"
    row = {"subject": "Q1", "relation": "P6", "object": item, "statement": own, "tense": tense}
    return row | {"first_day": day, "last_day": day, "start": start, "end": start + len(text)}


def document(text: str, *facts: Row, **more: Any) -> Row:
    row = {"subject": "Q1", "known_from": "2022-06-01", "known_until": None} | more
    return {"doc": f"{row['subject']}@{row['known_from']}", "text": text, "facts": list(facts)} | row


RIGHT = document(NOW, fact("Q12", NOW))
EARLIER = document(OLDER, fact("Q11", OLDER, day=20190101), known_from="2019-01-01", known_until="2022-06-01")
BEFORE = f"{NOW} Atlantis was governed by Marta from 2016 to 2022."
PAST = fact("Q11", BEFORE[len(NOW) + 1 :], "then", 20220301, len(NOW) + 1)
FACTS = [
    RIGHT,
    EARLIER,
    document(BEFORE, fact("Q12", NOW), PAST | {"first_day": 20160531, "last_day": 20220301}),
    document(QUOTED, fact("Q11", QUOTED, "cited", 20210104), subject="Q11"),
]


def failures(row: Row, folder: Path) -> list[tuple[str, str]]:
    lines = [*NEW, entity("Q13", "Nobody"), entity("P6", "head of government")]
    both = dumps(folder, OLD, lines)
    return [(kind, outcome) for kind, outcome, _ in check_document(row, both) if outcome != "passed"]


@pytest.mark.parametrize("row", FACTS)
def test_what_the_dumps_say_passes(row: Row, tmp_path: Path) -> None:
    assert failures(row, tmp_path) == []
    assert subjects_of_document(row) == {row["subject"], "Q1"}


def changed(row: Row, **fields: Any) -> Row:
    return row | {"facts": [fact | fields for fact in row["facts"]]}


@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        # A stale sentence in a new document, and a new one in an old document.
        (lambda: document(OLDER, fact("Q11", OLDER)), "stated"),
        (lambda: EARLIER | {"text": NOW, "facts": [fact("Q12", NOW)]}, "stated"),
        # A value, a relation and a subject that no statement has.
        (lambda: document(NOW.replace("Zoë", "Nobody"), fact("Q13", NOW.replace("Zoë", "Nobody"))), "stated"),
        (lambda: changed(RIGHT, relation="P35"), "stated"),
        (lambda: changed(RIGHT, subject="Q12"), "stated"),
        # The past with years that are not the statement's, and a quotation of another day.
        (lambda: document(BEFORE, fact("Q12", NOW), PAST | {"first_day": 20140101}), "stated"),
        (lambda: document(QUOTED, fact("Q11", QUOTED, "cited", 20230227), subject="Q11"), "stated"),
        # A sentence that no fact has, one that is cut, another name, and a quotation that is none.
        (lambda: RIGHT | {"text": f"{NOW} Atlantis is an island."}, "sentences"),
        (lambda: changed(RIGHT, end=10), "sentences"),
        (lambda: RIGHT | {"text": NOW.replace("Zoë", "Ann")}, "sentences"),
        (lambda: document(QUOTED, fact("Q12", QUOTED), subject="Q11"), "sentences"),
        (lambda: changed(RIGHT, end=len(NOW) + 1), "sentences"),
        # Another name, time or order of the document, another subject, statement, tense or day of its facts.
        (lambda: RIGHT | {"doc": "Q2@2022-06-01"}, "sentences"),
        (lambda: EARLIER | {"known_until": "2018-01-01"}, "sentences"),
        (lambda: changed(RIGHT, tense="later"), "sentences"),
        (lambda: changed(RIGHT, last_day=20220602), "sentences"),
        (lambda: changed(RIGHT, statement="Q2$B"), "sentences"),
        (lambda: changed(RIGHT, statement="Q1$A"), "stated"),
    ],
)
def test_plants_are_found(plant: Callable[[], Row], kind: str, tmp_path: Path) -> None:
    kinds = {kind for kind, outcome in failures(plant(), tmp_path) if outcome == "failed"}
    assert kind in kinds


def test_documents_of_other_dumps_are_not_checked(tmp_path: Path) -> None:
    row = document(OLDER, fact("Q11", OLDER, day=20160101), known_from="2016-01-01", known_until="2019-01-01")
    assert failures(row, tmp_path) == [("stated", "unchecked")]


def test_deprecated_statements_state_nothing(tmp_path: Path) -> None:
    lines = [entity("Q1", "Atlantis", NEW_HOLDER | {"rank": "deprecated"}), *OLD[1:]]
    findings = list(check_document(RIGHT, dumps(tmp_path, OLD, lines)))
    assert ("stated", "failed") in [finding[:2] for finding in findings]

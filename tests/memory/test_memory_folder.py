"""What a memory reads and is asked, and how its answers are judged."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import corpora

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.memory.folder import KEY, Inputs, date_between, events, export, read_facts, read_key
from factdrift.memory.score import OUTCOMES, outcome_of, read_answers, scores
from factdrift.streams.known_table import KNOWN_LABELLED

MERKEL = {
    "kind": "premise",
    "question": "Since when has Angela Merkel been the head of government of Germany?",
    "answers": ["Olaf Scholz", "Scholz"],
    "stale_answers": ["Angela Merkel", "Gerhard Schröder"],
    "later_answers": [],
    "premise_start": "2005",
}
NOW = MERKEL | {"kind": "now", "question": "Who is the head of government of Germany?"}


@pytest.mark.parametrize(
    ("row", "text", "outcome"),
    [
        (NOW, "Olaf Scholz.", "right"),
        (NOW, "Olaf Scholz, who followed Angela Merkel.", "right"),
        (NOW, "Angela Merkel", "stale"),
        (NOW, "The head of government is Angela Merkel.", "stale"),
        (NOW, "Emmanuel Macron", "wrong"),
        (NOW, "I do not know.", "refused"),
        (NOW, "", "refused"),
        (NOW | {"later_answers": ["Friedrich Merz"]}, "Friedrich Merz", "wrong"),
        (MERKEL, "Since 2005.", "stale"),
        (MERKEL, "Angela Merkel has been head of government since 22 November 2005.", "stale"),
        (MERKEL, "She was until 2021. The head of government is Olaf Scholz now.", "right"),
        (MERKEL, "She was from 2005 to 2021; Olaf Scholz is head of government.", "right"),
        (MERKEL, "Olaf Scholz", "right"),
        (MERKEL, "I do not know.", "refused"),
        (MERKEL, "Since 1998.", "wrong"),
    ],
)
def test_outcomes(row, text, outcome):
    assert outcome_of(row, text) == outcome


@pytest.mark.parametrize(
    ("first", "last", "date"),
    [
        *((20210304, 20210304, "2021-03-04"), (20210301, 20210331, "2021-03"), (20210101, 20211231, "2021")),
        *((20210101, 20221231, "2021-01-01"), (20210101, None, "2021-01-01"), (None, 20210304, None)),
        *((20210101, 20210131, "2021-01"), (20200201, 20200228, "2020-02-01")),
    ],
)
def test_dates_of_facts(first, last, date):
    assert date_between(first, last) == date


def known_row(value, first, last, known, until, became=None):
    """A row of KNOWN_LABELLED about Q1 and P6, certain on all of its days."""
    row = dict.fromkeys(KNOWN_LABELLED.names) | {"subject": 1, "property": 6, "value": value}
    row |= {"subject_label": "Atland", "relation_label": "head of government", "statement": f"Q1${value}"}
    row |= {"value_label": f"holder {value}", "stale_after_1y": 0.25, "doubted": False, "dated": True}
    row |= dict.fromkeys(("certain_first", "possible_first", "start_last"), first)
    row |= {"certain_last": last or int(known.replace("-", "")), "possible_last": last}
    return row | {"known_from": known, "known_until": until, "became": became}


KNOWN = [
    known_row(7, 20150301, None, "2019-01-01", "2020-01-01", "extended"),
    known_row(7, 20150301, None, "2020-01-01", "2021-01-01", "ended"),
    known_row(7, 20150301, 20201109, "2021-01-01", None),
    known_row(8, 20201110, None, "2021-01-01", None),
]


@pytest.fixture
def inputs(tmp_path):
    pq.write_table(pa.Table.from_pylist(KNOWN, KNOWN_LABELLED), tmp_path / "known.parquet")
    return Inputs(*corpora.write(tmp_path), tmp_path / "known.parquet")


def test_a_fact_that_goes_on_is_a_single_row(inputs):
    spans = [
        (row["object"], row["valid_from"], row["valid_to"], row["known_from"], row["known_until"])
        for row in read_facts(inputs.known)
    ]
    assert spans == [
        ("Q7", "2015-03-01", None, "2019-01-01", "2021-01-01"),
        ("Q7", "2015-03-01", "2020-11-09", "2021-01-01", None),
        ("Q8", "2020-11-10", None, "2021-01-01", None),
    ]
    assert {row["stale_after_1y"] for row in read_facts(inputs.known)} == {0.25}


def test_events_replay_to_the_last_documents_and_facts(inputs):
    """Whoever applies all events in their order has K_n and the newest documents."""
    days, documents, facts = [], {}, set()
    for event in events(inputs):
        days.append(event["known_from"])
        if event["event"] == "document":
            documents[event["subject"]] = event["doc"]
            continue
        fact = event["object"], event["valid_from"], event["valid_to"]
        if event["event"] == "fact":
            facts.add(fact)
        else:
            facts.remove(fact)
    assert days == sorted(days)
    assert facts == {("Q7", "2015-03-01", "2020-11-09"), ("Q8", "2020-11-10", None)}
    newest = {row["subject"]: row["doc"] for row in corpora.documents() if row["known_until"] is None}
    assert documents == newest


def test_questions_have_no_answers_and_the_key_has_all(inputs, tmp_path):
    export(inputs, tmp_path / "memory")
    lines = (tmp_path / "memory" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    assert {tuple(row) for row in asked} == {("id", "question", "asked_on")}
    key = read_key(tmp_path / "memory")
    assert {row["id"] for row in key} == {row["id"] for row in asked}
    assert pa.Table.from_pylist(key).select(["id", "answers"]).to_pylist() == [
        {name: row[name] for name in ("id", "answers")} for row in corpora.questions()
    ]


def test_scores_are_shares_of_what_was_answered(inputs, tmp_path, capsys):
    key = [{name: row[name] for name in KEY.names} for row in corpora.questions()]
    outcomes = {row["id"]: "stale" if row["stale_answers"] else "right" for row in key[:-1]}
    rows = {row["kind"]: row for row in scores(key, outcomes)}
    assert list(rows) == ["now", "premise", "all"]
    assert rows["all"]["unanswered"] == rows["premise"]["unanswered"] == 1
    for row in rows.values():
        assert sum(row[outcome] for outcome in OUTCOMES) == pytest.approx(1)
    stale = [row for row in key[:-1] if row["stale_answers"]]
    assert rows["all"]["stale"] == pytest.approx(len(stale) / (len(key) - 1))


def test_from_export_to_scores_by_hand(inputs, tmp_path, capsys, refused):
    folder, answers = tmp_path / "memory", tmp_path / "answers.jsonl"
    paths = [f"--{name}={path}" for name, path in inputs._asdict().items()]
    assert main(["memory", "export", str(folder), *paths]) == 0
    lines = [json.dumps({"id": row["id"], "text": row["answers"][0]}) for row in corpora.questions()]
    answers.write_text("\n".join(lines))
    table = tmp_path / "scores.parquet"
    assert main(["memory", "score", str(folder), str(answers), "--output", str(table)]) == 0
    assert [row["right"] for row in pq.read_table(table).to_pylist()] == [1, 1, 1]
    assert "all" in capsys.readouterr().out
    assert "no key.parquet" in refused("memory", "score", tmp_path, answers)
    (folder / "mine").touch()
    refused("memory", "export", folder, *paths)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: no JSON"),
        ('["a"]', "line 2: no JSON object such as"),
        ("", "line 2: the line is empty"),
        ('{"id": "b", "text": "\\ud800"}', "line 2: half of a surrogate pair"),
        ('{"id": "b"}', "line 2: not of the form"),
        ('{"id": "nobody", "text": "x"}', "line 2: 'nobody' is no question"),
        ('{"id": "b", "text": 1}', "line 2: 'b' is no question of the folder, or `text`"),
        ('{"id": "a", "text": "x"}', "line 2: a is answered twice"),
    ],
)
def test_a_wrong_line_of_answers_is_named(tmp_path, line, message):
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{{"id": "a", "text": "x"}}\n{line}\n')
    with pytest.raises(InputError, match=message):
        read_answers(path, {"a": {}, "b": {}})

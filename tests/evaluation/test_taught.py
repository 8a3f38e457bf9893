"""What a bundled model is taught of TempRIPPLE and of ripples holds at T_old."""

import datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from support.tables import written

from factdrift.evaluation.questions.clozes import condition_id
from factdrift.evaluation.questions.taught import ripple_wordings, tempripple_wordings
from factdrift.models.bundled.taught import TAUGHT
from factdrift.ripples.tables import CRITERIA, PROBES
from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED

OLD = datetime.date(2021, 1, 4)
ENTITY = pa.struct([("id", pa.string())])
CHANGES = pa.schema(
    [("subject", ENTITY), ("relation", ENTITY), ("objects", pa.list_(pa.struct([("decision", pa.string())])))]
)


def test_a_fact_is_taught_that_had_certainly_begun_on_the_day(tmp_path):
    days = [OLD + datetime.timedelta(1), OLD, OLD - datetime.timedelta(400), None]
    facts = [
        {"fact_id": f"f{place}", "s": "Q1", "p": "P6", "s_label": "Town", "o_label": f"Mayor {place}"}
        | {"ordinal": place, "ordinal_text": f"{place}th", "start_hi": day}
        | {"phrase": f"the {place}th mayor of Town"}
        | {"statement": f"the {place}th mayor of Town is Mayor {place}"}
        for place, day in enumerate(days, start=4)
    ]
    asked = ((4, 1, "Q4"), (5, 1, "Q5"), (5, 2, "Q5"), (6, 1, "Q6"), (6, 1, "Q5"))
    related = [
        {"rel_id": f"r{place}", "fact_id": f"f{fact}", "hop": hop, "answer_label": f"Home {holder}"}
        | {"path": [{"x": holder, "p": "P19"}]}
        | {"question": f"What is the birthplace of the {fact}th mayor of Town?"}
        for place, (fact, hop, holder) in enumerate(asked)
    ]
    changes = [
        {"subject": {"id": holder}, "relation": {"id": "P19"}, "objects": [{"decision": decision}]}
        for holder, decision in (("Q5", "static"), ("Q6", "new"))
    ]
    tables = (TR_FACTS, facts), (TR_RELATED, related), (CHANGES, changes)
    paths = [written(tmp_path / f"{place}", *table) for place, table in enumerate(tables)]
    taught = tempripple_wordings(*paths, OLD)
    newest, before = "the most recent mayor of Town", "the previous mayor of Town"
    due = [
        ("tempripple", "f5", "Town", "P6 1", "Mayor 5", newest, 3),
        ("tempripple", "f6", "Town", "P6 2", "Mayor 6", before, 3),
        ("tempripple_edge", "Q5 P19", "Mayor 5", "P19", "Home Q5", "the birthplace of Mayor 5", 2),
        ("tempripple_related", "r1", "Town", "P6 1>P19", "Home Q5", f"the birthplace of {newest}", 2),
        ("tempripple_related", "r4", "Town", "P6 2>P19", "Home Q5", f"the birthplace of {before}", 2),
    ]
    date = "As of 4 January 2021,"
    assert [tuple(row[name] for name in TAUGHT) for row in taught] == [
        (*columns, wording)
        for *columns, phrase, number in due
        for wording in (f"T{phrase[1:]} is", f"{date} {phrase} is", f"{date} {phrase} was")[:number]
    ]


@pytest.mark.parametrize("seed", range(4))
def test_of_each_criterion_the_first_conditions_that_end_with_the_blank_are_taught(seed, tmp_path):
    dice = Random(seed)

    def condition() -> dict[str, Any]:
        subject, answers = dice.randrange(1, 9), dice.sample([None, "Q1", "Q2", "Q3"], dice.randrange(1, 4))
        end = dice.choice(("", ".", " now"))
        return {
            "prompt": f"The head of Town {subject} is ____{end}",
            "answers": [{"id": name, "label": f"Mayor {name}", "aliases": []} for name in answers],
            "step": {"subject": f"Q{subject}", "relation": "P6", "object": answers[subject % len(answers)]}
            | {"statement": "x", "dump": "old"},
        }

    probes = [
        {"criterion": dice.choice(CRITERIA), "conditions": [condition() for _ in range(dice.randrange(3))]}
        for _ in range(80)
    ]
    names = [{"id": number, "label": f"Town {number}"} for number in range(1, 9)]
    paths = [
        written(tmp_path / "ripples.parquet", PROBES, [dict.fromkeys(PROBES.names) | row for row in probes]),
        written(tmp_path / "names.parquet", pa.schema({"id": pa.int32(), "label": pa.string()}), names),
    ]
    due: dict[str, list[tuple[str, ...]]] = {}
    for criterion in ("logical", "compose_object", "compose_subject", "preserve", "specific"):
        own = {
            condition_id(each): each
            for row in probes
            if row["criterion"] == criterion
            for each in row["conditions"]
        }
        for name in sorted(own)[:5]:
            step, (prompt, _, end) = own[name]["step"], own[name]["prompt"].partition(" ____")
            town, mayor = f"Town {step['subject'][1:]}", f"Mayor {step['object']}"
            texts = (prompt, f"As of 4 January 2021, the{prompt.removeprefix('The')}")
            rows = [("ripple", f"{step['subject']} P6", town, "P6", mayor, text) for text in texts]
            due[name] = rows if end != " now" else []
    taught = [tuple(row[name] for name in TAUGHT) for row in ripple_wordings(*paths, OLD, 5)]
    assert taught == [row for rows in due.values() for row in rows]

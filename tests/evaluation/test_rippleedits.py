"""RippleEdits' layout: records like theirs read and judged as they judge, and ours there and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.layouts.beside import Beside
from factdrift.evaluation.layouts.counterfact import write as counterfact
from factdrift.evaluation.layouts.easyedit import write as easyedit
from factdrift.evaluation.layouts.files import export, load, load_probes
from factdrift.evaluation.layouts.rippleedits import NAMES, TESTED, read
from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.evaluation.questions.question import Tables
from factdrift.evaluation.questions.ripples import condition_id
from factdrift.evaluation.questions.ripples import read as read_questions
from factdrift.evaluation.questions.updates import Choice, write_edits
from factdrift.evaluation.scores.ripple_tests import contains, judged
from factdrift.evaluation.tables import ANSWERS
from factdrift.ripples.tables import PROBES

Row = dict[str, Any]


def query(prompt: str, *answers: str, subject: str = "Q1", relation: str = "MOTHER", **more: Any) -> Row:
    """A query; an answer is its names, between bars."""
    values = [
        {"value": names[0], "aliases": names[1:]} for names in (answer.split("|") for answer in answers)
    ]
    return {
        "prompt": prompt,
        "answers": values,
        "query_type": "regular",
        "subject_id": subject,
        "relation": relation,
        "target_ids": [f"Q{100 + place}" for place, _ in enumerate(answers)],
        "phrase": None,
        **more,
    }


def record(tests: dict[str, list[Row]], original: str | None = "Norway") -> Row:
    """A record in the layout of their README, about a person made up here."""
    cloze = "The name of the country of citizenship of Anna of Sund is"
    fact = {"subject_id": "Q1", "relation": "COUNTRY_OF_CITIZENSHIP"}
    edit = {"prompt": f"{cloze} New Zealand.", **fact, "target_id": "Q664"}
    if original:
        edit["original_fact"] = {"prompt": f"{cloze} {original}.", **fact, "target_id": "Q20"}
    return {"example_type": "popular", "edit": edit, **{name: tests.get(name, []) for name in NAMES.values()}}


MOTHER = query("The name of the mother of Anna of Sund is", "Berit|B. Sund")
CAPITAL = query(
    "The capital of the country of citizenship of Anna of Sund is",
    "Wellington",
    query_type="two_hop",
    relation="COUNTRY_OF_CITIZENSHIP",
    target_ids=["Q664"],
    second_relation="CAPITAL",
    second_hop_target_ids=["Q23661"],
)
KNOWN = query("The name of the capital city of New Zealand is", "Wellington", subject="Q664")
TESTS: dict[str, list[Row]] = {
    "Relation_Specificity": [
        {"test_queries": [MOTHER], "test_condition": "OR", "condition_queries": [MOTHER]}
    ],
    "Compositionality_I": [
        {"test_queries": [CAPITAL], "test_condition": "OR", "condition_queries": [KNOWN, MOTHER]}
    ],
    "Logical_Generalization": [
        {
            "test_queries": [query("First", "one"), query("Second", "two")],
            "test_condition": joined,
            "condition_queries": [],
        }
        for joined in ("OR", "AND")
    ],
}


def written(path: Path, records: list[Row]) -> Path:
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_subject_and_objects_are_found_in_the_sentence() -> None:
    def found(given: Row) -> tuple[str, ...]:
        row = read(given, 0)
        return row["subject"]["label"], row["update_prompt"], *(each["label"] for each in row["objects"])

    cloze = "The name of the country of citizenship of Anna of Sund is ____"
    assert found(record(TESTS)) == ("Anna of Sund", cloze, "Norway", "New Zealand")
    # Objects that begin alike; without an original fact; without another relation the last `of` counts.
    assert found(record(TESTS, "New Caledonia"))[2:] == ("New Caledonia", "New Zealand")
    assert found(record(TESTS, None))[2:] == ("New Zealand",)
    assert found(record({}))[0] == "Sund"
    given = record(TESTS)
    given["edit"] |= {"prompt": "Anna loves New Zealand", "original_fact": None}
    with pytest.raises(InputError, match="does not show where its object begins"):
        read(given, 0)


@pytest.fixture
def probes(tmp_path: Path) -> Path:
    """The probes of a file like theirs, beside the edits of its updates."""
    path = written(tmp_path / "popular.json", [record(TESTS)])
    line = [
        "edit",
        "import",
        str(path),
        "--layout",
        "rippleedits",
        "--output",
        str(tmp_path / "mine.parquet"),
    ]
    assert main([*line, "--out-ripples", str(tmp_path / "probes.parquet")]) == 0
    write_edits(tmp_path / "mine.parquet", tmp_path / "edits.parquet", Choice())
    return tmp_path / "probes.parquet"


def answers(probes: Path, states: dict[str, dict[str, str]]) -> Path:
    """Written answers of each state, by the beginning of what is asked."""
    asked = read_questions(Tables([probes, probes.with_name("edits.parquet")])).questions
    rows = [
        {"model": "m", "method": state, "question": each.id, "way": "written", "output": text}
        for state, texts in states.items()
        for each in asked
        if not (each.unedited and state != "none")
        for text in [next((said for begin, said in texts.items() if each.prompt.startswith(begin)), "?")]
    ]
    write_parquet(pa.Table.from_pylist(rows, schema=ANSWERS), probes.with_name("answers.parquet"))
    return probes.with_name("answers.parquet")


def test_their_file_is_asked_and_judged_as_they_do(probes: Path) -> None:
    assert pq.read_schema(probes).equals(TESTED)
    rows = pq.read_table(probes).to_pylist()
    assert [row["criterion"] for row in rows] == [*["logical"] * 4, "compose_object", "specific"]
    assert [row["every"] for row in rows[:4]] == [False, False, True, True]
    assert (rows[4]["asked_relation"], rows[4]["answers"][0]["id"]) == ("P36", "Q23661")
    known = {"The name of the mother": "She is B. Sund.", "The name of the capital": "Wellington"}
    said = {
        "none": known,
        "m1": {"First": "it is one", "The name of the mother": "Berit", "The capital": "?"},
    }
    path = answers(probes, said)
    counts = {(each.method, each.criterion): each[3:] for each in judged(probes, [path])}
    # One of two queries right: enough where any is, not where all are asked for.
    assert counts["m1", "logical"] == (2, 2, 1)
    assert counts["m1", "specific"] == (1, 1, 1)
    assert counts["m1", "compose_object"] == (1, 1, 0)
    # All conditions must hold in the unedited model.
    path = answers(probes, said | {"none": {"The name of the mother": "Berit"}})
    counts = {(each.method, each.criterion): each[3:] for each in judged(probes, [path])}
    assert counts["m1", "compose_object"] == (1, 0, 0)
    assert main(["answer", "ripple-tests", str(probes), "--answers", str(path)]) == 0


def test_any_name_of_each_answer_is_contained() -> None:
    def values(*answers: str) -> list[Row]:
        return [{"label": names[0], "aliases": names[1:]} for names in (each.split("|") for each in answers)]

    assert contains("it was B. Sund, they say", values("Berit|B. Sund"))
    assert not contains("only Berit", values("Berit", "Kari"))
    assert contains("Kari and Berit", values("Berit", "Kari"))
    assert not contains("a", values("Ada|a"))
    assert contains("7 of them", values("7"))


def probe(criterion: str, prompt: str, *answers: str, **more: Any) -> Row:
    named = [{"id": f"Q{200 + place}", "label": each, "aliases": []} for place, each in enumerate(answers)]
    step = {"subject": "Q7", "relation": "P36", "object": "Q200", "statement": "s", "dump": "old"}
    return {
        **dict.fromkeys(PROBES.names),
        **{"probe_id": prompt, "subject": "Q1", "relation": "P6", "criterion": criterion},
        **{"path": [step, step], "asked_subject": "Q1", "asked_relation": "P26", "prompt": f"{prompt} ____"},
        "answers": named,
        "conditions": [{"prompt": "Known ____", "answers": named, "step": step}],
        **more,
    }


def update() -> Row:
    """A row of the dataset."""
    objects = pa.array([[]], SCHEMA.field("objects").type).type.value_type
    empty = dict.fromkeys(field.name for field in objects)
    named = {"Q42": ("Marta Kowalska", "obsolete"), "Q6279": ("Joe Biden", "new")}
    return {
        **dict.fromkeys(SCHEMA.names),
        "subject": {"id": "Q1", "label": "Atlantis", "description": None},
        "relation": {"id": "P6", "label": "head of government", "description": None},
        "update_prompt": "The head of government of Atlantis is ____",
        "generalization_prompts": ["Atlantis is led by ____"],
        "is_replace": True,
        "scenario": "ReplaceObject",
        "objects": [
            empty | {"id": item, "label": label, "decision": decision}
            for item, (label, decision) in named.items()
        ],
        "neighborhood": [],
        "random_neighborhood": [],
    }


def test_ours_there_and_back(tmp_path: Path) -> None:
    source = tmp_path / "dataset.parquet"
    write_parquet(pa.Table.from_pylist([update()], schema=SCHEMA), source)
    given = [
        probe("specific", "The spouse of Atlantis is", "Jill Biden"),
        probe("compose_object", "The spouse of the head of Atlantis is", "Jill Biden"),
        probe("preserve", "Atlantis has", "one", "another"),
        probe("history_old", "In 2019, Atlantis had", "nobody"),
    ]
    path = tmp_path / "ripples.parquet"
    write_parquet(pa.Table.from_pylist(given, schema=PROBES), path)
    output = tmp_path / "ours.json"
    with pytest.raises(InputError, match="--ripples"):
        export(source, "rippleedits", output)
    line = ["edit", "export", str(source), "--layout", "rippleedits", "--ripples", str(path)]
    assert main([*line, "--output", str(output)]) == 0
    first = json.loads(output.read_text(encoding="utf-8"))[0]
    assert first["edit"]["relation"] == "HEAD_OF_GOVERNMENT"
    (kept,) = first["Forgetfulness"]
    assert [each["answers"][0]["value"] for each in kept["test_queries"]] == ["one", "another"]
    assert (kept["test_condition"], len(kept["condition_queries"])) == ("OR", 1)
    (composed,) = first["Compositionality_I"]
    assert composed["test_queries"][0]["query_type"] == "two_hop"
    assert composed["test_queries"][0]["second_relation"] == "SPOUSE"
    assert load(output, "rippleedits", tmp_path / "back.parquet")[1] == 0
    back, mine = pq.read_table(tmp_path / "back.parquet").to_pylist(), pq.read_table(source).to_pylist()
    assert [row["update_prompt"] for row in back] == [row["update_prompt"] for row in mine]
    assert [row["objects"] for row in back] == [row["objects"] for row in mine]
    assert load_probes(output, "rippleedits", tmp_path / "probes.parquet") == 4
    rows = pq.read_table(tmp_path / "probes.parquet").to_pylist()
    assert {row["update"] for row in rows} == {"Q1-P6"}
    by_prompt = {row["prompt"]: row for row in rows}
    again = by_prompt["The spouse of Atlantis is ____"]["conditions"][0]
    assert condition_id(again) == condition_id(given[0]["conditions"][0])


def test_other_layouts_are_filled_from_the_probes() -> None:
    row = update()
    given = [
        probe("alias", "The head of government of Old Atlantis is", "Joe Biden"),
        probe("logical", "Joe Biden is the head of government of", "Atlantis"),
        probe("specific", "The head of state of Atlantis is", "Marta Kowalska"),
    ]
    beside = Beside(ripples={("Q1", "P6"): given})
    found = easyedit(row | beside.of(row), 0)
    assert found is not None
    assert found["portability"] == {
        "Subject_Aliasing": [
            {"prompt": "The head of government of Old Atlantis is", "ground_truth": [["Joe Biden"]]}
        ],
        "Logical_Generalization": [
            {"prompt": "Joe Biden is the head of government of", "ground_truth": [["Atlantis"]]}
        ],
    }
    filled, bare = counterfact(row | beside.of(row), 0), counterfact(row | Beside().of(row), 0)
    assert filled is not None
    assert bare is not None
    own = set(filled["neighborhood_prompts"]) - set(bare["neighborhood_prompts"])
    assert own == {"The head of state of Atlantis is"}

"""RippleEdits' layout: records like theirs read and judged as they judge, and ours there and back."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.rows import Row, rows
from support.tables import written

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.layouts.files import export, load_probes
from factdrift.evaluation.layouts.rippleedits import NAMES, TESTED, read
from factdrift.evaluation.layouts.rows import SCHEMA, fields_of, row_of, write_counterfact, write_easyedit
from factdrift.evaluation.questions.clozes import condition_id, read_ripples
from factdrift.evaluation.questions.question import Tables
from factdrift.evaluation.questions.updates import Choice, write_edits
from factdrift.evaluation.scores.ripples import contains, judged_tests
from factdrift.evaluation.tables import ANSWERS
from factdrift.ripples.tables import PROBES

from .test_layouts import named
from .test_layouts import update as germany


def update() -> Row:
    cloze = "The head of government of Atlantis is ____"
    return germany() | {"subject": named("Q1", "Atlantis"), "update_prompt": cloze, "neighborhood": []}


def query(prompt: str, *answers: str, subject: str = "Q1", relation: str = "MOTHER", **more: Any) -> Row:
    """A query; an answer is its names, between bars."""
    names = [answer.split("|") for answer in answers]
    return {
        **{"prompt": prompt, "query_type": "regular", "subject_id": subject, "relation": relation},
        "answers": [{"value": first, "aliases": others} for first, *others in names],
        "target_ids": [f"Q{100 + place}" for place, _ in enumerate(answers)],
        **{"phrase": None, **more},
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


def case(conditions: list[Row], *queries: Row, joined: str = "OR") -> Row:
    return {"test_queries": [*queries], "test_condition": joined, "condition_queries": conditions}


BOTH = query("First", "one"), query("Second", "two")
TESTS: dict[str, list[Row]] = {
    "Relation_Specificity": [case([MOTHER], MOTHER)],
    "Compositionality_I": [case([KNOWN, MOTHER], CAPITAL)],
    "Logical_Generalization": [case([], *BOTH), case([], *BOTH, joined="AND")],
}


def test_subject_and_objects_are_found_in_the_sentence():
    def found(given: Row) -> tuple[str, ...]:
        row = row_of(read(given, 0))
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
def probes(tmp_path) -> Path:
    """The probes of a file like theirs, beside the edits of its updates."""
    path = tmp_path / "popular.json"
    path.write_text(json.dumps([record(TESTS)]), encoding="utf-8")
    outputs = [f"--output={tmp_path / 'mine.parquet'}", f"--out-ripples={tmp_path / 'probes.parquet'}"]
    assert main(["edit", "import", str(path), "--layout", "rippleedits", *outputs]) == 0
    write_edits(tmp_path / "mine.parquet", tmp_path / "edits.parquet", Choice())
    return tmp_path / "probes.parquet"


def answers(probes: Path, states: dict[str, dict[str, str]]) -> Path:
    """Written answers of each state, by the beginning of what is asked."""
    asked = read_ripples(Tables([probes, probes.with_name("edits.parquet")])).questions
    answered = [
        {"model": "m", "method": state, "question": each.id, "way": "written", "output": text}
        for state, texts in states.items()
        for each in asked
        if not (each.unedited and state != "none")
        for text in [next((said for begin, said in texts.items() if each.prompt.startswith(begin)), "?")]
    ]
    return written(probes.with_name("answers.parquet"), ANSWERS, answered)


def test_their_file_is_asked_and_judged_as_they_do(probes):
    assert pq.read_schema(probes).equals(TESTED)
    found = rows(probes)
    assert [row["criterion"] for row in found] == [*["logical"] * 4, "compose_object", "specific"]
    assert [row["every"] for row in found[:4]] == [False, False, True, True]
    assert (found[4]["asked_relation"], found[4]["answers"][0]["id"]) == ("P36", "Q23661")
    known = {"The name of the mother": "She is B. Sund.", "The name of the capital": "Wellington"}
    edited = {"First": "it is one", "The name of the mother": "Berit", "The capital": "?"}
    said = {"none": known, "m1": edited}
    path = answers(probes, said)
    counts = {(each.method, each.criterion): each[3:] for each in judged_tests(probes, [path])}
    # One of two queries right: enough where any is, not where all are asked for.
    assert counts["m1", "logical"] == (2, 2, 1)
    assert counts["m1", "specific"] == (1, 1, 1)
    assert counts["m1", "compose_object"] == (1, 1, 0)
    # All conditions must hold in the unedited model.
    path = answers(probes, said | {"none": {"The name of the mother": "Berit"}})
    counts = {(each.method, each.criterion): each[3:] for each in judged_tests(probes, [path])}
    assert counts["m1", "compose_object"] == (1, 0, 0)
    assert main(["answer", "scores", str(probes), "--benchmark=ripples", "--answers", str(path)]) == 0


def test_any_name_of_each_answer_is_contained():
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


def test_our_probes_there_and_back(tmp_path):
    source = written(tmp_path / "dataset.parquet", SCHEMA, [update()])
    given = [
        probe("specific", "The spouse of Atlantis is", "Jill Biden"),
        probe("compose_object", "The spouse of the head of Atlantis is", "Jill Biden"),
        probe("preserve", "Atlantis has", "one", "another"),
        probe("history_old", "In 2019, Atlantis had", "nobody"),
    ]
    path = written(tmp_path / "ripples.parquet", PROBES, given)
    output = tmp_path / "ours.json"
    with pytest.raises(InputError, match="--ripples"):
        export(source, "rippleedits", output, {})
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
    assert load_probes(output, "rippleedits", tmp_path / "probes.parquet") == 4
    by_prompt = {row["prompt"]: row for row in rows(tmp_path / "probes.parquet")}
    assert {row["update"] for row in by_prompt.values()} == {"rippleedits-0-P6"}
    again = by_prompt["The spouse of Atlantis is ____"]["conditions"][0]
    assert condition_id(again) == condition_id(given[0]["conditions"][0])


def test_other_layouts_are_filled_from_the_probes():
    row = update()
    given = [
        probe("alias", "The head of government of Old Atlantis is", "Joe Biden"),
        probe("logical", "Joe Biden is the head of government of", "Atlantis"),
        probe("specific", "The head of state of Atlantis is", "Angela Merkel"),
    ]
    found = write_easyedit(fields_of(row), row | {"ripples": given})
    filled = [each | {"prompt": each["prompt"].removesuffix(" ____")} for each in given]
    assert found["portability"] == {
        name: [{"prompt": each["prompt"], "ground_truth": [[each["answers"][0]["label"]]]}]
        for name, each in zip(("Subject_Aliasing", "Logical_Generalization"), filled, strict=False)
    }
    row["number"] = 0
    filled, bare = (write_counterfact(fields_of(row), row | more) for more in ({"ripples": given}, {}))
    own = set(filled["neighborhood_prompts"]) - set(bare["neighborhood_prompts"])
    assert own == {"The head of state of Atlantis is"}

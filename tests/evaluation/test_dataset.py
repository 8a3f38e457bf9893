"""Updates as edits with their probes."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.commands import refusal
from support.updates import RULERS, dataset, edits, update

from factdrift.core.errors import InputError
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.updates import EDITS, Choice, draw, write_edits


def rows(path: Path) -> list[dict[str, Any]]:
    table = pq.read_table(path)
    assert table.schema == EDITS
    return table.to_pylist()


def test_a_replacement_has_both_objects_after_all_its_clozes_and_its_neighbors_one_each(tmp_path):
    first, *others = rows(edits(tmp_path))
    assert len(others) == len(RULERS) - 1
    assert (first["edit"], first["kind"], first["split"]) == ("Q1-P6", "replace", "test")
    assert (first["prompt"], first["target"]) == ("The head of government of Atlantis is", "Joe Biden")
    names = ("role", "place", "object", "prompt", "target")
    found = [tuple(each[name] for name in names) for each in first["probes"]]
    assert found[:7] == [
        ("update", 0, "new", "The head of government of Atlantis is", "Joe Biden"),
        ("update", 0, "obsolete", "The head of government of Atlantis is", "Marta Kowalska"),
        ("generalization", 0, "new", "Atlantis has a government led by", "Joe Biden"),
        ("generalization", 0, "obsolete", "Atlantis has a government led by", "Marta Kowalska"),
        ("generalization", 1, "new", "At the head of Atlantis stands", "Joe Biden"),
        ("generalization", 1, "obsolete", "At the head of Atlantis stands", "Marta Kowalska"),
        ("nearest", 0, "neighbor", "The head of government of New Orleans is", "Zoë Müller"),
    ]
    assert [each[:2] for each in found[7:]] == [("nearest", 1), ("random", 0), ("random", 1)]
    assert first["probes"][6]["dist"] == pytest.approx(0.1)


def test_popular_neighbours_are_probes_where_the_dataset_has_them(tmp_path):
    given = update("Atlantis", 1)
    fact = {"dist": 0.7, "popularity": 9.5, "objects": given["neighborhood"][0]["objects"]}
    (edit,) = rows(edits(tmp_path, [given | {"popular_neighborhood": [fact]}]))
    assert [probe["role"] for probe in edit["probes"][6:]] == ["nearest"] * 2 + ["random"] * 2 + ["popular"]
    assert edit["probes"][-1] | {"target": ""} == {
        **{"role": "popular", "place": 0, "object": "neighbor", "target": "", "dist": 0.7, "popularity": 9.5},
        "prompt": edit["probes"][6]["prompt"],
    }


@pytest.mark.parametrize(
    ("fields", "datatype"),
    [
        ({"id": "Q1", "datatype": "wikibase-item"}, "wikibase-item"),
        ({"id": None, "datatype": "quantity"}, "quantity"),
        ({"id": "Q1"}, "wikibase-item"),
        ({}, None),
    ],
)
def test_the_datatype_of_the_objects(tmp_path, fields, datatype):
    given = update("Atlantis", 1)
    objects = [{"id": None, "datatype": None} | fields | value for value in given["objects"]]
    (edit,) = rows(edits(tmp_path, [given | {"objects": objects}]))
    assert edit["datatype"] == datatype


def one_sided(number: int, scenario: str, **labels: str) -> dict[str, Any]:
    objects = [{"label": label, "decision": decision.rstrip("_")} for decision, label in labels.items()]
    return update("Atlantis", number, scenario=scenario, objects=objects)


def test_scenarios_become_what_a_method_can_express(tmp_path):
    given = [
        one_sided(1, "Archive", obsolete="Joe"),
        one_sided(2, "AddRelation", new="Joe"),
        one_sided(3, "AddEntity", new="Joe", new_="Marta"),
        one_sided(4, "AddObject", static="Joe", new="Marta"),
        one_sided(5, "Other", new="Joe", obsolete="Marta", obsolete_="Zoë"),
        update("Atlantis", 6),
    ]
    every = ["replacement", "archive", "add_object", "add_relation", "add_entity", "other"]
    found = rows(edits(tmp_path, given, scenarios=every, archive_target="nobody"))
    assert [(row["edit"], row["kind"], row["target"], row["new"], row["obsolete"]) for row in found] == [
        ("Q1-P6", "archive", "nobody", None, "Joe"),
        ("Q2-P6", "add", "Joe", "Joe", None),
        ("Q3-P6-1", "add", "Joe", "Joe", None),
        ("Q3-P6-2", "add", "Marta", "Marta", None),
        ("Q4-P6", "add", "Marta", "Marta", None),
        ("Q5-P6", "add", "Joe", "Joe", None),
        ("Q6-P6", "replace", "Joe Biden", "Joe Biden", "Marta Kowalska"),
    ]
    assert {each["object"] for each in found[0]["probes"]} == {"obsolete", "neighbor"}
    assert {each["object"] for each in found[1]["probes"]} == {"new", "neighbor"}
    only = rows(edits(tmp_path, given, scenarios=["replacement"]))
    assert [row["edit"] for row in only] == ["Q6-P6"]


def test_what_ends_after_its_object_or_has_no_name_is_no_probe(tmp_path):
    nameless, behind = (
        {"dist": 0.5, "popularity": 1.0, "objects": [{"prompt": prompt, "object": {"label": label}}]}
        for prompt, label in (("X is ____", None), ("____ is X", "Joe"))
    )
    stopped = ["Atlantis is led by ____.", "____ leads Atlantis", "____"]
    changed = update("Atlantis", 1, generalization_prompts=stopped, neighborhood=[nameless, behind])
    (row,) = rows(edits(tmp_path, [changed]))
    prompts = [each["prompt"] for each in row["probes"] if each["role"] == "generalization"]
    assert prompts == ["Atlantis is led by"] * 2
    assert not [each for each in row["probes"] if each["role"] == "nearest"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("known", "limit"), [(1, 0), (2, 0), (9, 0), (2, 4)])
def test_as_many_edits_whose_old_object_a_model_knows_as_others(tmp_path, capsys, known, limit, seed):
    given = [update(name, number) for number in (1, 6) for number, name in enumerate(RULERS, start=number)]
    asked = read_edits(edits(tmp_path, given, recall=True, limit=limit, seed=seed)).questions
    assert {question.role for question in asked} == {"update"}
    assert not any(question.long for question in asked)
    cycle = {"stale": True, "both": True, "correct": False, "wrong": False, None: None}
    verdicts = {
        question.id: list(cycle)[int(question.edit[1:].split("-")[0]) % 5]
        for question in asked
        if question.ways == ("written",)
    }
    answers = [
        {"question": question, "way": "written", "verdict": said} for question, said in verdicts.items()
    ]
    answers += [answer | {"way": "letter", "verdict": "stale"} for answer in answers]
    pq.write_table(pa.Table.from_pylist(answers), tmp_path / "answers.parquet")
    choices: dict[str, Any] = {"known": known, "seed": seed, "answers": tmp_path / "answers.parquet"}
    capsys.readouterr()
    table = rows(edits(tmp_path, given, limit=limit, **choices))
    drawn = sorted(
        (question.removesuffix("#c1") for question in verdicts), key=lambda edit: draw("limit", seed, edit)
    )
    parts = {
        knows: [edit for edit in drawn if cycle[verdicts[f"{edit}#c1"]] is knows] for knows in (True, False)
    }
    expected = {edit for part in parts.values() for edit in part[:known]}
    assert [row["edit"] for row in table] == [
        f"{row['subject']['id']}-P6" for row in given if f"{row['subject']['id']}-P6" in expected
    ]
    assert all(len({probe["role"] for probe in row["probes"]}) == 4 for row in table)
    assert capsys.readouterr().out.splitlines() == [
        f"old object {name}: {min(known, len(part))} edits of {len(part)}"
        for name, part in zip(("known", "not known"), parts.values(), strict=True)
    ]
    with pytest.raises(InputError, match="--answers"):
        edits(tmp_path, given, known=known)


def test_a_limit_keeps_the_facts_of_a_new_entity_together(tmp_path):
    given = [
        one_sided(number, "AddEntity", new="Joe", new_="Marta", new__="Zoë")
        | {"relation": {"id": relation, "label": "r"}}
        for number in range(1, 6)
        for relation in ("P6", "P17")
    ]
    for seed in range(4):
        table = rows(edits(tmp_path, given, scenarios=["add_entity"], limit=12, seed=seed))
        by_subject = [row["subject"] for row in table]
        first = sorted({f"Q{number}" for number in range(1, 6)}, key=lambda item: draw("limit", seed, item))
        assert {item: by_subject.count(item) for item in set(by_subject)} == dict.fromkeys(first[:2], 6)


def test_samples_are_drawn_alike_and_keep_the_order(tmp_path):
    def ids(**choices: Any) -> list[str]:
        return [row["edit"] for row in rows(edits(tmp_path, **choices))]

    every, drawn = ids(), ids(limit=3, seed=1)
    assert len(drawn) == 3
    assert drawn == [edit for edit in every if edit in drawn] == ids(limit=3, seed=1)
    assert any(ids(limit=3, seed=seed) != drawn for seed in range(9))
    assert {row["split"] for row in rows(edits(tmp_path, split="test"))} == {"test"}
    shares = [sum(row["fluency"] for row in rows(edits(tmp_path, fluency_sample=s))) for s in (0, 0.5, 1)]
    assert shares[0] == 0 < shares[1] < shares[2] == len(every)


def test_what_cannot_be_used_is_told(tmp_path):
    path = dataset(tmp_path / "dataset.parquet")
    with pytest.raises(InputError, match="no update of archive"):
        write_edits(path, tmp_path / "edits.parquet", Choice(["archive"]))
    with pytest.raises(InputError, match="no such file"):
        write_edits(tmp_path / "none.parquet", tmp_path / "edits.parquet", Choice())
    twice = pa.concat_tables([pq.read_table(path)] * 2)
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(InputError, match=r"twice\.parquet: the update Q\d+-P\d+ is there 2 times"):
        write_edits(tmp_path / "twice.parquet", tmp_path / "edits.parquet", Choice())
    pq.write_table(pq.read_table(path).drop_columns(["scenario"]), path)
    with pytest.raises(InputError, match="no column scenario"):
        write_edits(path, tmp_path / "edits.parquet", Choice())
    path.write_text("[]")
    with pytest.raises(InputError, match=r"dataset\.parquet: no Parquet file"):
        write_edits(path, tmp_path / "edits.parquet", Choice())
    assert not (tmp_path / "edits.parquet").exists()


def test_a_dated_edit_states_the_month_and_is_asked_without_it(tmp_path):
    plain = rows(edits(tmp_path))
    dated = rows(edits(tmp_path, dated=True, new_date=datetime.date(2023, 2, 27)))
    assert dated[0]["prompt"] == "As of February 2023, the head of government of Atlantis is"
    assert [row | {"prompt": None} for row in dated] == [row | {"prompt": None} for row in plain]
    line = ["edit", "dataset", f"--dataset={tmp_path / 'dataset.parquet'}", f"--output={tmp_path / 'e'}"]
    assert "give it with --new-date" in refusal(*line, "--dated=True")


def test_aliases_in_either_dump_are_accepted(tmp_path):
    """The label of the dataset comes first; a neighbour has its own aliases, a literal none."""
    row = update("Atlantis", 1)
    for number, one in enumerate(row["objects"], start=10):
        one["id"] = f"Q{number}"
    row["neighborhood"][0]["objects"][0]["object"]["id"] = "Q12"
    old = [(10, "M. Kowalska", ["Marta"]), (11, "Joe Biden", ["Joe"]), (99, "Other", ["Marta Kowalska"])]
    new = [(11, "Joseph Biden", ["Joe", "Biden"]), (12, None, ["Kowalska"])]
    tables = []
    for place, items in enumerate((old, new)):
        tables.append(tmp_path / f"{place}.parquet")
        columns = dict(zip(("id", "label", "aliases"), map(list, zip(*items, strict=True)), strict=True))
        pq.write_table(pa.table(columns | {"id": pa.array(columns["id"], pa.int32())}), tables[-1])
    path = edits(tmp_path, [row], entities=tables)
    assert {each["label"]: each["aliases"] for each in rows(path)[0]["names"]} == {
        "Marta Kowalska": ["M. Kowalska", "Marta"],
        "Joe Biden": ["Joe", "Joseph Biden", "Biden"],
        "Zoë Müller": ["Kowalska"],
    }
    asked = next(each for each in read_edits(path).questions if each.role == "update" and each.accepted)
    assert asked.accepted == ("Joe Biden", "Joe", "Joseph Biden", "Biden")
    assert asked.stale == ("Marta Kowalska", "M. Kowalska", "Marta")
    near = next(each for each in read_edits(path).questions if each.role == "nearest")
    assert near.accepted == ("Zoë Müller", "Kowalska")
    assert near.others == asked.accepted
    assert rows(edits(tmp_path, [row]))[0]["names"] == []

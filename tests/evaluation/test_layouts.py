"""Layouts of other projects: ours there and back, theirs read, and what their own loaders ask of a file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.core.errors import InputError
from factdrift.evaluation.layouts.beside import Beside
from factdrift.evaluation.layouts.files import LAYOUTS, export, load
from factdrift.evaluation.layouts.rows import SCHEMA

Row = dict[str, Any]
PROBED = Beside(ripples={})
"""A table without probes, which rippleedits is not written without."""

# The examples are those of the projects' documentation, shortened.
COUNTERFACT = {
    "case_id": 4402,
    "pararel_idx": 11185,
    "requested_rewrite": {
        "prompt": "{} debuted on",
        "relation_id": "P449",
        "target_new": {"str": "CBS", "id": "Q43380"},
        "target_true": {"str": "MTV", "id": "Q43359"},
        "subject": "Singled Out",
    },
    "paraphrase_prompts": ["No one was injured. Singled Out was originally aired on"],
    "neighborhood_prompts": ["Daria premieres on", "Jersey Shore premiered on"],
    "attribute_prompts": ["Survivor premiered on"],
    "generation_prompts": ["Singled Out is known for"],
}
WIKI_COUNTERFACT = {
    "subject": "Frederic Piesch",
    "prompt": "The name of the position held by Frederic Piesch is",
    "target_new": "Archbishop of León, Mexico",
    "ground_truth": "mayor of Vienna",
    "portability": {
        "Subject_Aliasing": [{"prompt": "The position of Frederic is", "ground_truth": "Archbishop"}]
    },
    "locality": {
        "Relation_Specificity": [
            {"prompt": "The gender of Frederic Piesch is", "ground_truth": [["male", "man"]]}
        ],
        "Forgetfulness": [
            {"prompt": "The position of Frederic Piesch was", "ground_truth": "mayor of Vienna"}
        ],
    },
}
KNOWEDIT_ZSRE = {
    "subject": "Epaspidoceras",
    "target_new": "Noctuidae",
    "prompt": "Which family does Epaspidoceras belong to?",
    "ground_truth": ["Aspidoceratidae"],
    "rephrase_prompt": "What family are Epaspidoceras?",
    "locality": {
        "Relation_Specificity": [{"prompt": "The taxon rank of Epaspidoceras is", "ground_truth": ["genus"]}]
    },
}
WIKI_RECENT = {
    "subject": "Leo Arons",
    "prompt": "The place of death of Leo Arons is",
    "target_new": "Berlin",
    "locality": {
        "Relation_Specificity": [{"prompt": "The father of Leo Arons is", "ground_truth": [["Albert Arons"]]}]
    },
}
WIKIBIO = {
    "text": "This is a passage about john reynolds.",
    "labels": "He was a physician.",
    "concept": "john reynolds",
    "locality": {
        "Relation_Specificity": [{"prompt": "john reynolds field of work", "ground_truth": ["medicine"]}]
    },
}
ZSRE = {
    "subject": "Watts Humphrey",
    "src": "What university did Watts Humphrey attend?",
    "pred": "Trinity College",
    "rephrase": "What university did Watts Humphrey take part in?",
    "alt": "University of Michigan",
    "answers": ["Illinois Institute of Technology"],
    "loc": "nq question: who played desmond doss father in hacksaw ridge",
    "loc_ans": "Hugo Weaving",
    "cond": "Trinity College >> University of Michigan || What university did Watts Humphrey attend?",
}

WIKIBIGEDIT = {
    "tag": "new",
    "subject": "Ada Lovelace",
    "update": "Which party does Ada Lovelace belong to?",
    "rephrase": "What is the party of Ada Lovelace?",
    "personas": "Ada Lovelace, me ask party?",
    "ans": "Greens",
    "loc": "Which party does Bo Li belong to?",
    "loc_ans": "Blues",
    "mhop": "In which country is the party of Ada Lovelace?",
    "mhop_ans": "Norway",
}


def named(id: str | None, label: str) -> Row:
    return {"id": id, "label": label, "description": f"what is called {label}"}


def fact(subject: str, prompt: str, label: str) -> Row:
    return {
        "subject": named(f"Q-{subject}", subject),
        "relation": named("P6", "head of government"),
        "dist": 0.25,
        "popularity": 4.5,
        "objects": [
            {"object": named("Q9", label), "prompt": f"{prompt} ____"}
            | {"raw": "Q9", "statement": "Q1$a", "dist": 0.25}
        ],
    }


def object_(label: str, decision: str) -> Row:
    texts = dict.fromkeys(
        ("rule", "old_statement", "new_statement", "start", "end", "point_in_time", "datatype", "raw")
    )
    numbers = {"old_revision": 3, "new_revision": None, "short": None, "announced": False}
    return named(f"Q-{label}", label) | texts | numbers | {"decision": decision, "start": "2021-12-08"}


def update() -> Row:
    return {
        "subject": named("Q183", "Germany"),
        "relation": named("P6", "head of government"),
        "update_prompt": "The head of government of Germany is ____",
        "generalization_prompts": ["Germany is led by ____", "At the head of Germany stands ____"],
        "subject_is_ph_new": False,
        "relation_is_temp_func": True,
        "is_replace": True,
        "subject_popularity": 5.9,
        "objects": [object_("Angela Merkel", "obsolete"), object_("Olaf Scholz", "new")],
        "neighborhood": [
            fact("Belgium", "Belgium is led by", "Alexander De Croo"),
            fact("GDR", "The GDR is led by", "Angela Merkel"),
        ],
        "random_neighborhood": [fact("Scholz & Co", "The owner of Scholz & Co is", "Olaf Scholz")],
        "scenario": "ReplaceObject",
        "split": "train",
        "popularity_source": "sitelinks",
        "template_source": "bundled",
    }


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    other = update() | {"subject": named("Q1", "Jr"), "update_prompt": "Jr, so Jr plays for ____"}
    path = tmp_path / "wfd_repl.parquet"
    pq.write_table(pa.Table.from_pylist([update(), other], SCHEMA), path)
    return path


def read(path: Path) -> list[Row]:
    found: list[Row] = pq.read_table(path).to_pylist()
    return found


def imported(tmp_path: Path, layout: str, *records: Row) -> list[Row]:
    source = tmp_path / "theirs.json"
    source.write_text(json.dumps(records), encoding="utf-8")
    load(source, layout, tmp_path / "ours.parquet")
    return read(tmp_path / "ours.parquet")


def objects(row: Row) -> dict[str, str]:
    return {value["decision"]: value["label"] for value in row["objects"]}


def neighbors(row: Row) -> list[tuple[str, str]]:
    return [
        (fact["objects"][0]["prompt"], fact["objects"][0]["object"]["label"]) for fact in row["neighborhood"]
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_there_and_back(layout: str, dataset: Path, tmp_path: Path) -> None:
    assert export(dataset, layout, tmp_path / "theirs.json", PROBED)[:2] == (2, 0)
    assert load(tmp_path / "theirs.json", layout, tmp_path / "back.parquet") == (2, 0)
    assert read(tmp_path / "back.parquet") == read(dataset)
    assert pq.read_schema(tmp_path / "back.parquet").equals(SCHEMA)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fields_count_more_than_what_stands_beside_them(layout: str, dataset: Path, tmp_path: Path) -> None:
    export(dataset, layout, tmp_path / "theirs.json", PROBED)
    records = json.loads((tmp_path / "theirs.json").read_text(encoding="utf-8"))
    changed = json.loads(json.dumps(records[0]).replace("Olaf Scholz", "Somebody"))
    changed["factdrift"] = records[0]["factdrift"]
    (row,) = imported(tmp_path, layout, changed)
    assert objects(row) == {"obsolete": "Angela Merkel", "new": "Somebody"}
    assert [value["start"] for value in row["objects"]] == ["2021-12-08", None]


def test_counterfact_is_written_as_its_loader_and_metrics_want_it() -> None:
    record = LAYOUTS["counterfact"].write(update(), 7)
    rewrite = record["requested_rewrite"]
    assert record["case_id"] == 7
    assert rewrite["prompt"].format(rewrite["subject"]) == "The head of government of Germany is"
    assert (rewrite["target_new"]["str"], rewrite["target_true"]["str"]) == ("Olaf Scholz", "Angela Merkel")
    # Their metric takes the old object for the neighbours' answer, and the new one for the attribute's.
    assert record["neighborhood_prompts"] == ["The GDR is led by"]
    assert record["attribute_prompts"] == ["The owner of Scholz & Co is"]
    assert set(COUNTERFACT) - set(record) == {"pararel_idx"}


def test_counterfact_blanks_one_place_of_the_subject(dataset: Path, tmp_path: Path) -> None:
    export(dataset, "counterfact", tmp_path / "theirs.json")
    second = json.loads((tmp_path / "theirs.json").read_text(encoding="utf-8"))[1]["requested_rewrite"]
    assert second["prompt"] == "Jr, so {} plays for"


def test_easyedit_is_written_as_its_loader_wants_it() -> None:
    record = LAYOUTS["easyedit"].write(update(), 0)
    assert set(KNOWEDIT_ZSRE) <= set(record)
    assert record["ground_truth"] == "Angela Merkel"
    first = record["locality"]["Relation_Specificity"][0]
    assert first == {"prompt": "Belgium is led by", "ground_truth": [["Alexander De Croo"]]}
    assert record["rephrase_prompt"] == record["rephrase"] == "Germany is led by"


def test_zsre_is_written_as_its_loaders_want_it() -> None:
    record = LAYOUTS["zsre"].write(update(), 0)
    assert set(record) == {*ZSRE, "factdrift"}
    assert record["subject"] in record["src"]
    assert "nq question: " in record["loc"]
    assert (record["alt"], record["answers"]) == ("Olaf Scholz", ["Angela Merkel"])


def test_counterfact_is_read(tmp_path: Path) -> None:
    (row,) = imported(tmp_path, "counterfact", COUNTERFACT)
    assert row["subject"] == {"id": "counterfact-4402", "label": "Singled Out", "description": None}
    assert row["relation"]["id"] == "P449"
    assert row["update_prompt"] == "Singled Out debuted on ____"
    assert row["generalization_prompts"] == ["No one was injured. Singled Out was originally aired on ____"]
    assert objects(row) == {"obsolete": "MTV", "new": "CBS"}
    assert [value["id"] for value in row["objects"]] == ["Q43359", "Q43380"]
    assert neighbors(row) == [("Daria premieres on ____", "MTV"), ("Jersey Shore premiered on ____", "MTV")]
    assert (row["scenario"], row["is_replace"], row["random_neighborhood"]) == ("ReplaceObject", True, [])


def test_all_files_of_knowedit_are_read(tmp_path: Path) -> None:
    rows = imported(tmp_path, "easyedit", WIKI_COUNTERFACT, KNOWEDIT_ZSRE, WIKI_RECENT, WIKIBIO)
    assert [row["subject"]["id"] for row in rows] == [f"knowedit-{number}" for number in range(4)]
    assert [objects(row).get("obsolete") for row in rows] == [
        "mayor of Vienna",
        "Aspidoceratidae",
        None,
        None,
    ]
    assert [row["scenario"] for row in rows] == [
        "ReplaceObject",
        "ReplaceObject",
        "AddRelation",
        "AddRelation",
    ]
    assert neighbors(rows[0]) == [
        ("The gender of Frederic Piesch is ____", "male"),
        ("The position of Frederic Piesch was ____", "mayor of Vienna"),
    ]
    assert rows[1]["generalization_prompts"] == ["What family are Epaspidoceras? ____"]
    assert neighbors(rows[2]) == [("The father of Leo Arons is ____", "Albert Arons")]
    assert (rows[3]["subject"]["label"], objects(rows[3])["new"]) == ("john reynolds", "He was a physician.")


def test_zsre_is_read(tmp_path: Path) -> None:
    (row,) = imported(tmp_path, "zsre", ZSRE | {"alt": ""}, ZSRE)
    assert row["subject"]["id"] == "zsre-1"
    assert row["update_prompt"] == "What university did Watts Humphrey attend? ____"
    assert objects(row) == {"obsolete": "Illinois Institute of Technology", "new": "University of Michigan"}
    assert neighbors(row) == [
        ("nq question: who played desmond doss father in hacksaw ridge ____", "Hugo Weaving")
    ]


def test_wikibigedit_is_read(tmp_path: Path) -> None:
    without = {"mhop": None, "mhop_ans": None}
    rows = imported(tmp_path, "wikibigedit", WIKIBIGEDIT, WIKIBIGEDIT | without | {"ground_truth": "X"})
    assert rows[0]["subject"]["id"] == "wikibigedit-0"
    assert rows[0]["update_prompt"] == "Which party does Ada Lovelace belong to? ____"
    assert rows[0]["generalization_prompts"] == [
        "What is the party of Ada Lovelace? ____",
        "Ada Lovelace, me ask party? ____",
    ]
    assert [objects(row) for row in rows] == [{"new": "Greens"}, {"new": "Greens", "obsolete": "X"}]
    assert [row["scenario"] for row in rows] == ["AddRelation", "ReplaceObject"]
    assert neighbors(rows[0]) == [("Which party does Bo Li belong to? ____", "Blues")]


def test_what_does_not_fit_is_left_out_and_counted(tmp_path: Path) -> None:
    static = object_("Annalena", "new")
    two = update() | {"objects": [*update()["objects"], static]}
    lonely = update() | {"neighborhood": [], "random_neighborhood": []}
    nameless = update() | {"update_prompt": "The chancellor is ____"}
    path = tmp_path / "wfd.parquet"
    pq.write_table(pa.Table.from_pylist([update(), two, lonely, nameless], SCHEMA), path)
    counts = {layout: export(path, layout, tmp_path / f"{layout}.json", PROBED)[:2] for layout in LAYOUTS}
    counted = {"counterfact": (2, 2), "easyedit": (3, 1), "wikibigedit": (2, 2), "zsre": (2, 2)}
    assert counts == counted | {"rippleedits": (3, 1)}


def test_records_with_an_empty_field_are_left_out_where_it_is_needed(tmp_path: Path) -> None:
    """The mean over an empty list is nan, and so is then the mean over all records."""
    lonely = update() | {"neighborhood": [], "random_neighborhood": []}
    path, output = tmp_path / "wfd.parquet", tmp_path / "cf.json"
    pq.write_table(pa.Table.from_pylist([update(), lonely], SCHEMA), path)
    done = export(path, "counterfact", output, needs=["paraphrase_prompts"])
    assert (done.kept, done.left, done.lacking) == (2, 0, 0)
    done = export(path, "counterfact", output, needs=["neighborhood_prompts"])
    assert (done.kept, done.left, done.lacking) == (1, 0, 1)
    assert [bool(record["neighborhood_prompts"]) for record in json.loads(output.read_text())] == [True]
    with pytest.raises(InputError, match="--need: colour: no such field; counterfact has case_id"):
        export(path, "counterfact", output, needs=["colour"])


def _without(record: Row, *path: str) -> Row:
    changed = copy.deepcopy(record)
    place = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return changed


@pytest.mark.parametrize(
    ("layout", "record", "words"),
    [
        (
            "counterfact",
            _without(COUNTERFACT, "requested_rewrite", "subject"),
            "record 1: no field 'subject'",
        ),
        ("counterfact", ZSRE, "record 1: no field 'requested_rewrite'"),
        ("counterfact", COUNTERFACT | {"requested_rewrite": "x"}, "record 1: does not have the layout"),
        ("easyedit", _without(WIKI_RECENT, "target_new"), "record 1: no field 'target_new'"),
        ("wikibigedit", _without(WIKIBIGEDIT, "ans"), "record 1: no field 'ans'"),
        ("zsre", ZSRE | {"answers": []}, "record 1: does not have the layout"),
    ],
)
def test_a_record_of_another_layout_is_named(tmp_path: Path, layout: str, record: Row, words: str) -> None:
    good = {
        "counterfact": COUNTERFACT,
        "easyedit": WIKI_RECENT,
        "wikibigedit": WIKIBIGEDIT,
        "zsre": ZSRE,
    }[layout]
    with pytest.raises(InputError, match=words):
        imported(tmp_path, layout, good, record)
    assert not (tmp_path / "ours.parquet").exists()


@pytest.mark.parametrize(
    ("text", "words"), [("{", "not JSON"), ("{}", "not a JSON list"), ("[]", "no record")]
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=words):
        load(tmp_path / "x.json", "zsre", tmp_path / "ours.parquet")


def test_a_dataset_with_other_columns_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"subject": [1]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="no column relation, update_prompt"):
        export(tmp_path / "x.parquet", "zsre", tmp_path / "theirs.json")

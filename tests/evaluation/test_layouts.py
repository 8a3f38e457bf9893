"""Layouts of other projects: ours there and back, theirs read, and what their own loaders ask of a file."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.commands import printed, refusal
from support.rows import Row, rows
from support.tables import written

from factdrift.core.errors import InputError
from factdrift.evaluation.layouts.files import export, load, read_beside
from factdrift.evaluation.layouts.record import LAYOUTS, READ
from factdrift.evaluation.layouts.rows import SCHEMA

PROBED = {"ripples": {}}
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
    "locality": {
        "Relation_Specificity": [{"prompt": "The gender of Frederic is", "ground_truth": [["male", "man"]]}],
        "Forgetfulness": [{"prompt": "The position of Frederic was", "ground_truth": "mayor of Vienna"}],
    },
}
KNOWEDIT_ZSRE = {
    "subject": "Epaspidoceras",
    "target_new": "Noctuidae",
    "prompt": "Which family does Epaspidoceras belong to?",
    "ground_truth": ["Aspidoceratidae"],
    "rephrase_prompt": "What family are Epaspidoceras?",
    "locality": {"Relation_Specificity": [{"prompt": "Its taxon rank is", "ground_truth": ["genus"]}]},
}
WIKI_RECENT = {
    "subject": "Leo Arons",
    "prompt": "The place of death of Leo Arons is",
    "rephrase": "Leo Arons died in",
    "target_new": "Berlin",
    "locality": {"Relation_Specificity": [{"prompt": "His father is", "ground_truth": [["Albert Arons"]]}]},
}
WIKIBIO = {
    "text": "This is a passage about john reynolds.",
    "labels": "He was a physician.",
    "concept": "john reynolds",
    "locality": {"Relation_Specificity": [{"prompt": "He worked in", "ground_truth": ["medicine"]}]},
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
    values = {"decision": decision, "start": "2021-12-08", "old_revision": 3, "announced": False}
    return named(f"Q-{label}", label) | values


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


LONELY = update() | {"neighborhood": [], "random_neighborhood": []}


@pytest.fixture
def dataset(tmp_path) -> Path:
    other = update() | {"subject": named("Q1", "Jr"), "update_prompt": "Jr, so Jr plays for ____"}
    other |= {"scenario": "Other", "is_replace": False}
    other["objects"] = [object_("The Band", "static"), *other["objects"]]
    return written(tmp_path / "wfd_repl.parquet", SCHEMA, [update(), other])


def imported(tmp_path: Path, layout: str, *records: Row) -> list[Row]:
    source = tmp_path / "theirs.json"
    source.write_text(json.dumps(records), encoding="utf-8")
    load(source, layout, tmp_path / "ours.parquet")
    return rows(tmp_path / "ours.parquet")


def objects(row: Row) -> dict[str, str]:
    return {value["decision"]: value["label"] for value in row["objects"]}


def neighbors(row: Row) -> list[tuple[str, str]]:
    first = [fact["objects"][0] for fact in row["neighborhood"]]
    return [(each["prompt"], each["object"]["label"]) for each in first]


def test_counterfact_is_read(tmp_path):
    (text,) = COUNTERFACT["paraphrase_prompts"]
    assert imported(tmp_path, "counterfact", COUNTERFACT | {"paraphrase_prompts": text}) == imported(
        tmp_path, "counterfact", COUNTERFACT
    )
    (row,) = imported(tmp_path, "counterfact", COUNTERFACT)
    assert row["subject"] == {"id": "counterfact-4402", "label": "Singled Out", "description": None}
    assert row["update_prompt"] == "Singled Out debuted on ____"
    assert row["generalization_prompts"] == ["No one was injured. Singled Out was originally aired on ____"]
    assert objects(row) == {"obsolete": "MTV", "new": "CBS"}
    assert [value["id"] for value in row["objects"]] == ["Q43359", "Q43380"]
    assert neighbors(row) == [("Daria premieres on ____", "MTV"), ("Jersey Shore premiered on ____", "MTV")]
    assert (row["relation"]["id"], row["scenario"], row["is_replace"]) == ("P449", "ReplaceObject", True)


@pytest.mark.parametrize("layout", READ)
def test_there_and_back(layout, dataset, tmp_path):
    assert export(dataset, layout, tmp_path / "theirs.json", PROBED)[:2] == (2, 0)
    assert load(tmp_path / "theirs.json", layout, tmp_path / "back.parquet") == (2, 0)
    assert pq.read_schema(tmp_path / "back.parquet").equals(SCHEMA)
    for row, back in zip(rows(dataset), rows(tmp_path / "back.parquet"), strict=True):
        assert back["subject"]["label"] == row["subject"]["label"]
        assert back["update_prompt"] == row["update_prompt"]
        assert objects(back) == {"obsolete": "Angela Merkel", "new": "Olaf Scholz"}


def test_all_files_of_knowedit_are_read(tmp_path):
    found = imported(tmp_path, "easyedit", WIKI_COUNTERFACT, KNOWEDIT_ZSRE, WIKI_RECENT, WIKIBIO)
    assert [row["subject"]["id"] for row in found] == [f"knowedit-{number}" for number in range(4)]
    old = [objects(row).get("obsolete") for row in found]
    assert old == ["mayor of Vienna", "Aspidoceratidae", None, None]
    assert [row["scenario"] for row in found] == [*["ReplaceObject"] * 2, *["AddRelation"] * 2]
    assert neighbors(found[0]) == [
        ("The gender of Frederic is ____", "male"),
        ("The position of Frederic was ____", "mayor of Vienna"),
    ]
    assert found[1]["generalization_prompts"] == ["What family are Epaspidoceras? ____"]
    assert found[2]["generalization_prompts"] == ["Leo Arons died in ____"]
    assert neighbors(found[2]) == [("His father is ____", "Albert Arons")]
    assert (found[3]["subject"]["label"], objects(found[3])["new"]) == ("john reynolds", WIKIBIO["labels"])


def test_what_does_not_fit_is_left_out_and_counted(tmp_path):
    two = update() | {"objects": [*update()["objects"], object_("Annalena", "new")]}
    nameless = update() | {"update_prompt": "The chancellor is ____"}
    path = written(tmp_path / "wfd.parquet", SCHEMA, [update(), two, LONELY, nameless])
    counts = {
        layout: export(path, layout, tmp_path / f"{layout}.json", PROBED)[:2]
        for layout in LAYOUTS
        if layout != "mquake"
    }
    counted = {"counterfact": (2, 2), "easyedit": (3, 1), "wikibigedit": (2, 2), "zsre": (2, 2)}
    assert counts == counted | {"rippleedits": (3, 1)}


@pytest.mark.parametrize(
    ("layout", "record", "words"),
    [
        ("counterfact", WIKIBIO, "record 1: no field 'requested_rewrite'"),
        ("counterfact", COUNTERFACT | {"requested_rewrite": "x"}, "record 1: does not have the layout"),
        (
            "counterfact",
            COUNTERFACT | {"requested_rewrite": COUNTERFACT["requested_rewrite"] | {"prompt": "It is"}},
            "record 1: `prompt` must have {} once",
        ),
        ("easyedit", WIKIBIO | {"locality": []}, "record 1: does not have the layout"),
    ],
)
def test_a_record_of_another_layout_is_named(tmp_path, layout, record, words):
    with pytest.raises(InputError, match=words):
        imported(tmp_path, layout, COUNTERFACT if layout == "counterfact" else WIKIBIO, record)
    assert not (tmp_path / "ours.parquet").exists()


def test_what_is_no_such_file_is_refused(tmp_path):
    for text, words in (("{", "not JSON"), ("{}", "not a JSON list"), ("[]", "no record")):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(InputError, match=words):
            load(tmp_path / "x.json", "counterfact", tmp_path / "ours.parquet")
    pq.write_table(pa.table({"subject": [1]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="no column relation, update_prompt"):
        export(tmp_path / "x.parquet", "zsre", tmp_path / "theirs.json", {})
    (tmp_path / "x.parquet").write_text("{}")
    with pytest.raises(InputError, match=r"x\.parquet: no Parquet file"):
        export(tmp_path / "x.parquet", "zsre", tmp_path / "theirs.json", {})


# Our files as the released loaders read them. A docstring names the loader and its commit.

NUMBER = update() | {
    "subject": named("Q39", "Switzerland"),
    "relation": named("P1082", "population"),
    "update_prompt": "The population of Switzerland is ____",
    "generalization_prompts": ["Switzerland has so many inhabitants: ____"],
    "objects": [object_("8,419,550", "obsolete") | {"id": None}, object_("8,738,791", "new") | {"id": None}],
    "neighborhood": [fact("Austria", "The population of Austria is", "8,858,775")],
    "random_neighborhood": [],
}
"""A number, without facts of others that have it."""


@pytest.fixture
def tables(tmp_path) -> Path:
    """A folder with a dataset of two updates and the tables beside it."""
    new = update() | {"subject": named("Q183", "Germany")}
    new["objects"][1]["id"] = "Q61053"
    shared = update() | {
        "neighborhood": [
            fact("East Germany", "The GDR was led by", "Angela Merkel"),
            fact("GDR", "In the GDR governs", "Angela Merkel"),
            *(fact(f"Land {n}", f"Land {n} is led by", "Angela Merkel") for n in range(12)),
        ],
        "random_neighborhood": [fact("Hamburg", "Hamburg is led by", "Olaf Scholz")],
    }
    written(tmp_path / "wfd_repl.parquet", SCHEMA, [new, NUMBER])
    written(tmp_path / "shared.parquet", SCHEMA, [shared])
    return tmp_path


def exported(folder: Path, layout: str) -> list[Row]:
    beside = read_beside(folder / "shared.parquet", None)
    output = folder / f"{layout}.json"
    assert export(folder / "wfd_repl.parquet", layout, output, beside)[:2] == (2, 0)
    return json.loads(output.read_text(encoding="utf-8"))


def test_counterfact(tables):
    """kmeng01/rome, 0874014, dsets/counterfact.py and experiments/py/eval_utils_counterfact.py.

    The records are taken as they are. An evaluation fills the subject into the prompt, and asks four lists of
    prompts for both targets, with a blank before them. It needs a list each, of texts; an empty list gives a
    mean over nothing. Neighbours are right if the old target is likelier, attributes if the new one is.
    """
    germany, number = exported(tables, "counterfact")
    for record in (germany, number):
        rewrite = record["requested_rewrite"]
        subject, new, true = (rewrite[name] for name in ("subject", "target_new", "target_true"))
        lists = [[rewrite["prompt"].format(subject)]]
        kinds = ("paraphrase_prompts", "neighborhood_prompts", "attribute_prompts", "generation_prompts")
        lists += [record[kind] for kind in kinds]
        texts = [f"{prefix} {end}" for each in lists for prefix in each for end in (new["str"], true["str"])]
        assert all(text == text.strip() and "  " not in text and "____" not in text for text in texts)
        assert rewrite["relation_id"].startswith("P")
    rewrite = germany["requested_rewrite"]
    assert (rewrite["target_new"]["str"], rewrite["target_true"]["str"]) == ("Olaf Scholz", "Angela Merkel")
    nearest = germany["neighborhood_prompts"]
    assert len(nearest) == 10  # as theirs have; one of each subject
    assert nearest[:3] == ["The GDR was led by", "In the GDR governs", "Land 0 is led by"]
    assert germany["attribute_prompts"] == ["Hamburg is led by", "The owner of Scholz & Co is"]
    assert germany["factdrift"]["empty"] == {}
    assert number["neighborhood_prompts"] == number["attribute_prompts"] == []
    assert set(number["factdrift"]["empty"]) == {"neighborhood_prompts", "attribute_prompts"}


def test_why_a_list_is_empty_is_counted(tables):
    source, output = str(tables / "wfd_repl.parquet"), str(tables / "out.json")
    line = ["edit", "export", source, "--layout", "counterfact", "-o", output]
    said = printed(*line)
    assert said.count("1 without") == 2
    assert "1 without attribute_prompts: the object is no item" in said
    written(tables / "wfd_repl.parquet", SCHEMA, [LONELY])
    assert "1 without neighborhood_prompts: no neighbour fact of the update has" in printed(*line)
    assert "1 without attribute_prompts: no other subject has the object" in printed(
        *line, "--shared", str(written(tables / "none.parquet", SCHEMA, []))
    )


def test_knowedit(tables):
    """zjunlp/EasyEdit, 14cea82, easyeditor/dataset/{knowedit,wiki_recent}.py and run_knowedit_llama2.py.

    Parts of `portability` and `locality` that are there are read, others are None. The example takes the
    first spelling of an answer, however deep, and leaves empty ones out. The batches for trained editors take
    the first fact of the first part that is there, and of its answer the first element, and again the first
    unless that is a text. The second loader draws a spelling of an answer, which must be a whole answer, and
    repeats the prompt without a `rephrase`.
    """
    germany, number = exported(tables, "easyedit")
    for record in (germany, number):
        specific = record["locality"]["Relation_Specificity"]
        assert record["locality"].get("Forgetfulness") is None
        for one in specific:
            answer = one["ground_truth"]
            while isinstance(answer, list):
                answer = answer[0]
            assert isinstance(one["prompt"], str)
            assert answer.strip()
        assert all(len(each) == 1 and len(each[0]) == 1 for each in (one["ground_truth"] for one in specific))
        first = specific[0]["ground_truth"]
        for_t5 = first[0] if isinstance(first[0], str) else first[0][0]
        for_gpt = first if isinstance(first[0], str) else first[0]
        for_gpt = for_gpt if isinstance(for_gpt, str) else for_gpt[0]
        assert for_t5 == for_gpt in ("Alexander De Croo", "8,858,775")
        assert isinstance(record["ground_truth"], str)
        assert record["rephrase"] != record["prompt"]
    assert (germany["target_new"], germany["ground_truth"]) == ("Olaf Scholz", "Angela Merkel")
    assert germany["rephrase"] == germany["rephrase_prompt"] == "Germany is led by"


def test_zsre(tables):
    """kmeng01/memit, 80426fd, dsets/zsre.py, and zjunlp/EasyEdit, 14cea82, easyeditor/dataset/zsre.py.

    Both refuse a `loc` without "nq question: ". MEMIT blanks every occurrence of the subject in `src`, edits
    towards the first of `answers`, and asks `loc` with a question mark for each token of `loc_ans`. EasyEdit
    leaves records with an empty `alt` out and edits towards `alt`.
    """
    germany, number = exported(tables, "zsre")
    assert (germany["alt"], germany["answers"]) == ("Olaf Scholz", ["Angela Merkel"])
    for record in (germany, number):
        assert "nq question: " in record["loc"]
        blanked = record["src"].replace(record["subject"], "{}")
        assert blanked.count("{}") == 1
        assert blanked.format(record["subject"]) == record["src"]
        assert all(isinstance(record[name], str) and record[name] for name in ("rephrase", "loc_ans", "alt"))
        assert record["cond"] == f"{record['answers'][0]} >> {record['alt']} || {record['src']}"


def test_wikibigedit(tables):
    """zjunlp/EasyEdit, 14cea82, easyeditor/dataset/wikibigedit.py and examples/run_WikiBigEdit.py, and
    ExplainableML/WikiBigEdit, 66b4285, EasyEdit_Experiments/run_lifelong_edit.py.

    Needed are `subject`, `update`, `ans`, `rephrase`, `loc` and `loc_ans`, in the second also `tag`, `mhop`
    and `mhop_ans`, and with `personas` also `alt` as its answer. A question over several hops or in the voice
    of a character that is no text is not asked.
    """
    germany, number = exported(tables, "wikibigedit")
    for record in (germany, number):
        for name in ("tag", "subject", "update", "ans", "rephrase", "loc", "loc_ans", "ground_truth"):
            assert isinstance(record[name], str)
            assert record[name]
        assert record["personas"] is record["mhop"] is record["mhop_ans"] is None
        assert record["alt"] == record["ans"]
        assert record["tag"] == "update"
    assert (germany["ans"], germany["ground_truth"]) == ("Olaf Scholz", "Angela Merkel")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("export x.parquet --layout zsr", "--layout: zsr: no such layout here; there are counterfact, "),
        ("export --layout zsre", "--layout: zsre is made of updates; name a dataset such as wfd_repl"),
        ("export x.parquet --layout mquake --facts x", "mquake is made of TempRIPPLE; give --facts"),
        ("export x.parquet --layout zsre --shared x", "--shared: the layout zsre has no field for it"),
        ("import x.json --layout zsre", "zsre: no such layout here; there are counterfact, easyedit, ripple"),
    ],
)
def test_what_a_layout_is_made_of_is_asked_for(line, words):
    assert words in refusal("edit", *line.split(), "-o", "out")


def test_a_table_of_something_else_is_named(tables):
    with pytest.raises(InputError, match=r"shared.parquet: no column criterion"):
        read_beside(None, tables / "shared.parquet")

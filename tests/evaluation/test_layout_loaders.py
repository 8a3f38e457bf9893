"""Our files as the released loaders of the layouts read them. A docstring names the loader and its commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.layouts.beside import read_beside
from factdrift.evaluation.layouts.files import export
from factdrift.evaluation.layouts.rows import SCHEMA

from .test_layouts import fact, named, object_, update

Row = dict[str, Any]

NUMBER = update() | {
    "subject": named("Q39", "Switzerland"),
    "relation": named("P1082", "population"),
    "update_prompt": "The population of Switzerland is ____",
    "generalization_prompts": ["Switzerland has so many inhabitants: ____"],
    "objects": [
        object_("8,419,550", "obsolete") | {"id": None},
        object_("8,738,791", "new") | {"id": None},
    ],
    "neighborhood": [fact("Austria", "The population of Austria is", "8,858,775")],
    "random_neighborhood": [],
}
"""A number, without facts of others that have it."""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
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
    pq.write_table(pa.Table.from_pylist([new, NUMBER], SCHEMA), tmp_path / "wfd_repl.parquet")
    pq.write_table(pa.Table.from_pylist([shared], SCHEMA), tmp_path / "shared.parquet")
    facts = [
        {"fact_id": "a", "s": "Q183", "p": "P6", "o": "Q61053", "role": "new"},
        {"fact_id": "b", "s": "Q183", "p": "P6", "o": "Q567", "role": "old"},
    ]
    asked = {"question": "Where was the head of Germany born?", "answer_label": "Osnabrück"}
    row = {"fact_id": "a", "hop": 1, "discriminates": True, "answer_aliases": ["Osnabrueck"]} | asked
    others = [{"fact_id": "b"}, {"hop": 2}, {"discriminates": False}, {"discriminates": None}]
    related = [row | each | {"question": "wrong"} for each in others] + [row]
    pq.write_table(pa.Table.from_pylist(facts), tmp_path / "facts.parquet")
    pq.write_table(pa.Table.from_pylist(related), tmp_path / "related.parquet")
    return tmp_path


def exported(folder: Path, layout: str) -> list[Row]:
    beside = read_beside(folder / "shared.parquet", folder / "facts.parquet", folder / "related.parquet")
    output = folder / f"{layout}.json"
    assert export(folder / "wfd_repl.parquet", layout, output, beside)[:2] == (2, 0)
    found: list[Row] = json.loads(output.read_text(encoding="utf-8"))
    return found


def test_counterfact(tables: Path) -> None:
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
    assert len(germany["neighborhood_prompts"]) == 10  # as theirs have; one of each subject
    assert germany["neighborhood_prompts"][:3] == [
        "The GDR was led by",
        "In the GDR governs",
        "Land 0 is led by",
    ]
    assert germany["attribute_prompts"] == ["Hamburg is led by", "The owner of Scholz & Co is"]
    assert germany["factdrift"]["empty"] == {}
    assert number["neighborhood_prompts"] == number["attribute_prompts"] == []
    assert set(number["factdrift"]["empty"]) == {"neighborhood_prompts", "attribute_prompts"}


def test_why_a_list_is_empty_is_counted(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["edit", "export", str(tables / "wfd_repl.parquet"), "--layout", "counterfact"]
    line += ["-o", str(tables / "out.json")]
    assert main(line) == 0
    said = capsys.readouterr().out
    assert said.count("1 without") == 2
    assert "1 without attribute_prompts: the object is no item" in said
    lonely = update() | {"neighborhood": [], "random_neighborhood": []}
    pq.write_table(pa.Table.from_pylist([lonely], SCHEMA), tables / "wfd_repl.parquet")
    assert main(line) == 0
    assert "1 without neighborhood_prompts: no neighbour fact of the update has" in capsys.readouterr().out
    pq.write_table(pa.Table.from_pylist([], SCHEMA), tables / "none.parquet")
    assert main([*line, "--shared", str(tables / "none.parquet")]) == 0
    assert "1 without attribute_prompts: no other subject has the object" in capsys.readouterr().out


def test_knowedit(tables: Path) -> None:
    """zjunlp/EasyEdit, 14cea82, easyeditor/dataset/knowedit.py and examples/run_knowedit_llama2.py.

    Parts of `portability` and `locality` that are there are read, others are None. The example takes the
    first spelling of an answer, however deep, and leaves empty ones out. The batches for trained editors take
    the first fact of the first part that is there, and of its answer the first element, and again the first
    unless that is a text.
    """
    for record, portable in zip(exported(tables, "easyedit"), (True, False), strict=True):
        parts = {
            name: record["portability"].get(name)
            for name in ("Reasoning", "Subject_Aliasing", "Logical_Generalization")
        }
        specific = record["locality"].get("Relation_Specificity")
        assert record["locality"].get("Forgetfulness") is None
        assert (parts["Reasoning"] is not None) == portable
        for part in (specific, parts["Reasoning"] or []):
            for one in part:
                answer = one["ground_truth"]
                while isinstance(answer, list):
                    answer = answer[0]
                assert isinstance(one["prompt"], str)
                assert answer.strip()
        first = specific[0]["ground_truth"]
        for_t5 = first[0] if isinstance(first[0], str) else first[0][0]
        for_gpt = first if isinstance(first[0], str) else first[0]
        for_gpt = for_gpt if isinstance(for_gpt, str) else for_gpt[0]
        assert for_t5 == for_gpt in ("Alexander De Croo", "8,858,775")
        assert isinstance(record["ground_truth"], str)
    reasoning = exported(tables, "easyedit")[0]["portability"]["Reasoning"]
    assert reasoning == [
        {
            "prompt": "Where was the head of Germany born?",
            "ground_truth": [["Osnabrück", "Osnabrueck"]],
        }
    ]


def test_wiki_recent(tables: Path) -> None:
    """zjunlp/EasyEdit, 14cea82, easyeditor/dataset/wiki_recent.py.

    It draws a fact of `Relation_Specificity`, of its answers a list, and of that a spelling; every draw must
    give a whole answer. Its paraphrase is called `rephrase`; without one it repeats the prompt.
    """
    for record in exported(tables, "easyedit"):
        assert record["target_new"]
        assert record["rephrase"] != record["prompt"]
        drawn = [
            spelling
            for one in record["locality"]["Relation_Specificity"]
            for spellings in one["ground_truth"]
            for spelling in spellings
        ]
        assert all(len(spelling) > 1 for spelling in drawn)
        assert len(drawn) == len(record["locality"]["Relation_Specificity"])


def test_zsre(tables: Path) -> None:
    """kmeng01/memit, 80426fd, dsets/zsre.py, and zjunlp/EasyEdit, 14cea82, easyeditor/dataset/zsre.py.

    Both refuse a `loc` without "nq question: ". MEMIT blanks every occurrence of the subject in `src`, edits
    towards the first of `answers`, and asks `loc` with a question mark for each token of `loc_ans`. EasyEdit
    leaves records with an empty `alt` out and edits towards `alt`.
    """
    for record in exported(tables, "zsre"):
        assert "nq question: " in record["loc"]
        blanked = record["src"].replace(record["subject"], "{}")
        assert blanked.count("{}") == 1
        assert blanked.format(record["subject"]) == record["src"]
        assert all(isinstance(record[name], str) and record[name] for name in ("rephrase", "loc_ans", "alt"))
        assert isinstance(record["answers"][0], str)
        assert record["answers"][0] != record["alt"]
        assert record["cond"] == f"{record['answers'][0]} >> {record['alt']} || {record['src']}"


def asked(value: Any) -> Sequence[str] | None:
    """How the examples treat a question that may be missing."""
    return [value] if isinstance(value, str) else None


def test_wikibigedit(tables: Path) -> None:
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
        assert asked(record["personas"]) is None
        assert record["alt"] == record["ans"]
        assert (asked(record["mhop"]) is None) == (asked(record["mhop_ans"]) is None)
        assert record["tag"] == "update"
    assert asked(germany["mhop"]) == ["Where was the head of Germany born?"]
    assert germany["mhop_ans"] == "Osnabrück"
    assert number["mhop"] is None


def test_a_table_of_something_else_is_named(tables: Path) -> None:
    with pytest.raises(InputError, match=r"facts.parquet: no column subject, relation, neighborhood"):
        read_beside(tables / "facts.parquet", None, None)
    with pytest.raises(InputError, match="give both tables of TempRIPPLE"):
        read_beside(None, tables / "facts.parquet", None)

"""Templates that others have published, in each of their layouts, right and wrong."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.core.errors import InputError
from factdrift.verbalize.candidates import CANDIDATES, write_published
from factdrift.verbalize.settings import Quality
from factdrift.verbalize.templates import TEMPLATES

LISTED: dict[str, Any] = {
    "P36": [["The capital of XXXX is ____.", 30], ["____ is the capital of XXXX", 9]],
    "P6": [
        *(["XXXX is headed by ____", 3], ["XXXX is headed by ____", 2], ["A word with no blank", 2]),
        *(["XXXX costs $____", 1], ["XXXX has ____", 1]),
    ],
    "P9": [],
}


def published(
    tmp_path: Path, prompts: Path, path: Path, **quality: Any
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    output = tmp_path / "published.parquet"
    dropped = write_published(path, prompts, Quality(**quality), output)
    table = pq.read_table(output)
    assert table.schema == CANDIDATES
    return table.to_pylist(), dropped


def brief(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("property", "rank", "template", "count", "dropped_by")
    return [tuple(row[name] for name in names) for row in rows]


def test_best_templates_keep_order_and_number(tmp_path, prompts):
    (tmp_path / "best_templates.json").write_text(json.dumps(LISTED))
    rows, dropped = published(tmp_path, prompts, tmp_path / "best_templates.json")
    assert brief(rows) == [
        (6, 1, "{subject} is headed by {object}", 3, None),
        (6, 2, "{subject} has {object}", 1, None),
        (6, None, "{subject} is headed by {object}", 2, "duplicate"),
        (6, None, "A word with no blank", 2, "form"),
        (6, None, "{subject} costs ${object}", 1, "glued"),
        (36, 1, "The capital of {subject} is {object}", 30, None),
        (36, None, "{object} is the capital of {subject}", 9, "object_not_last"),
    ]
    assert dropped == {"duplicate": 1, "form": 1, "glued": 1, "object_not_last": 1}
    (tmp_path / "best_templates.json").write_text("{}")
    assert published(tmp_path, prompts, tmp_path / "best_templates.json") == ([], {})


def triple_verb(name: str, object: dict[str, Any], *sentences: str, **others: Any) -> dict[str, Any]:
    """A row in the layout of the public dataset, with the fields that are read."""
    subject = {"id": f"Q{sum(map(ord, name))}", "label": name, "description": "Danish actress"}
    relation = {"id": others.pop("relation", "P569"), "label": "birth", "description": None}
    said = [{"verbalization": text, "contains_object": True} for text in sentences]
    triple = {"subject": subject, "relation": relation, "object": object}
    return {"triple": triple, "verbalizations": said, "total_tokens": 400, "error": None, **others}


DATE = {"id": None, "label": "11-05-2012", "description": "Date"}
ENTITY = {"id": "Q5", "label": "human", "description": "mammal"}
PEOPLE = ("Anna Bo", "Carla Du", "Eva Fo")
BORN = ["X's date of birth is 11-05-2012", "X was born on 11-05-2012.", "11-05-2012 is the day of X"]
BORN += ["Danish actress X has as date of birth 11-05-2012"]
ROWS = [
    *(triple_verb(name, DATE, *(text.replace("X", name) for text in BORN)) for name in PEOPLE),
    triple_verb("Gina Ho", ENTITY, "Gina Ho has as date of birth human"),
    triple_verb("Iris Jo", DATE, error="content_filter"),
    triple_verb("Kim Lo", ENTITY | {"label": None}, "Kim Lo has none"),
]


def test_sentences_of_the_public_dataset_are_filtered_and_counted(tmp_path, prompts):
    path = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    rows, dropped = published(tmp_path, prompts, path)
    assert brief(rows) == [
        (569, 1, "{subject}'s date of birth is {object}", 3, None),
        (569, None, "Danish actress {subject} has as date of birth {object}", 3, "describes"),
        (569, None, "{subject} was born on {object}", 3, "object_kind"),
        (569, None, "{subject} has as date of birth {object}", 1, "narrow"),
    ]
    assert rows[0]["examples"] == [f"{name}'s date of birth is 11-05-2012" for name in PEOPLE]
    once = dict.fromkeys(("answer", "describes", "narrow", "no_label", "object_kind"), 1)
    assert dropped == once | {"sentence: object_not_last": 3}
    paper, _ = published(tmp_path, prompts, path, quality="paper")
    assert [row["count"] for row in paper if row["rank"]] == [3, 3, 3, 1]


def test_our_own_templates(tmp_path, prompts):
    rows: list[dict[str, Any]] = [
        {"property": 36, "template": "A {subject} {object}"},  # without a rank: of a table of candidates
        {"property": 36, "rank": 2, "template": "B {subject} {object}", "source": "bundled"},
        {"property": 36, "rank": 1, "template": "C {subject} {object}", "count": 4, "examples": ["C a b"]},
    ]
    written(tmp_path / "templates.parquet", TEMPLATES, rows)
    found, dropped = published(tmp_path, prompts, tmp_path / "templates.parquet")
    best = [(row["rank"], row["template"][0], row["count"]) for row in found]
    assert best == [(1, "C", 4), (2, "B", None), (3, "A", None)]
    assert (found[0]["examples"], dropped) == (["C a b"], {})


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("best_templates.json", '{"P36": [["a", 1]', "no JSON"),
        ("best_templates.json", "[]", "an object of relations"),
        ("best_templates.json", '{"Q36": []}', "key 'Q36'"),
        ("best_templates.json", '{"P36": [["XXXX is ____"]]}', "key 'P36': a list of [template, number]"),
        ("best_templates.json", '{"P36": [["XXXX is ____", "3"]]}', "key 'P36'"),
        ("none.json", None, "does not exist"),
        ("a.txt", "{}", "docs/verbalization.md"),
        ("a.parquet", "{}", "fetch the file again"),
        ("b.parquet", [{"x": 1}], "templates.parquet"),
        ("c.parquet", [{"verbalizations": 1}], "no column triple, error"),
        ("d.parquet", [{"property": "P6", "template": "x"}], "row 0"),
        ("i.parquet", [{"property": 6, "template": "x", "count": "many"}], "no table can hold"),
        ("j.parquet", [{"property": 1 << 40, "template": "x"}], "no table can hold"),
        ("k.json", r'{"P36": [["XXXX \ud800 ____", 1]]}', "no table can hold"),
        ("e.parquet", [triple_verb("A", ENTITY | {"description": 5})], "row 0: "),
        ("f.parquet", [ROWS[0], ROWS[1] | {"triple": {"relation": {"id": "P6"}}}], "row 1: 'NoneType'"),
        ("g.parquet", pa.Table.from_pylist(ROWS).slice(0, 0), "holds no triple"),
        ("h.parquet", [triple_verb("A", DATE, relation="Q5")], "row 0: 'Q5' is no property"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, prompts, name, content, complaint):
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    elif content is not None:
        pq.write_table(pa.Table.from_pylist(content) if isinstance(content, list) else content, path)
    with pytest.raises(InputError) as error:
        published(tmp_path, prompts, path)
    assert str(path) in str(error.value)
    assert complaint in str(error.value)

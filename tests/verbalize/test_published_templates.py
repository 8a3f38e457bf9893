"""Templates that others have published, in each of their layouts, right and wrong."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.verbalize.candidates import CANDIDATES
from factdrift.verbalize.jobs import Quality
from factdrift.verbalize.published import write_published
from factdrift.verbalize.templates import TEMPLATES
from factdrift.words.templates import OBJECT, SUBJECT

LISTED: dict[str, Any] = {
    "P36": [
        ["The capital of XXXX is ____", 30],
        ["XXXX's capital is ____.", 20],
        ["____ is the capital of XXXX", 9],
    ],
    "P6": [
        ["XXXX is headed by ____", 3],
        ["XXXX is headed by ____", 2],
        ["A word with no blank", 2],
        ["XXXX costs $____", 1],
        ["XXXX and XXXX have ____", 1],
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


def brief(rows: list[dict[str, Any]]) -> list[tuple[int, int | None, str, int, str | None]]:
    return [
        tuple(row[name] for name in ("property", "rank", "template", "count", "dropped_by")) for row in rows
    ]


def test_best_templates_keep_order_and_number(tmp_path, prompts):
    (tmp_path / "best_templates.json").write_text(json.dumps(LISTED))
    rows, dropped = published(tmp_path, prompts, tmp_path / "best_templates.json")
    assert brief(rows) == [
        (6, 1, "{subject} is headed by {object}", 3, None),
        (6, None, "{subject} is headed by {object}", 2, "duplicate"),
        (6, None, "A word with no blank", 2, "form"),
        (6, None, "{subject} costs ${object}", 1, "glued"),
        (6, None, "{subject} and {subject} have {object}", 1, "form"),
        (36, 1, "The capital of {subject} is {object}", 30, None),
        (36, 2, "{subject}'s capital is {object}", 20, None),
        (36, None, "{object} is the capital of {subject}", 9, "object_not_last"),
    ]
    assert dropped == {"duplicate": 1, "form": 2, "glued": 1, "object_not_last": 1}


def test_an_empty_file_of_templates(tmp_path, prompts):
    (tmp_path / "best_templates.json").write_text("{}")
    assert published(tmp_path, prompts, tmp_path / "best_templates.json") == ([], {})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"P36": [["a", 1]', "no JSON"),
        ("[]", "an object of relations"),
        ('{"Q36": []}', "key 'Q36'"),
        ('{"P36": {"a": 1}}', "key 'P36': a list of [template, number]"),
        ('{"P36": [["XXXX is ____"]]}', "key 'P36'"),
        ('{"P36": [["XXXX is ____", "3"]]}', "key 'P36'"),
        ('{"P36": [[3, 3]]}', "key 'P36'"),
    ],
)
def test_what_is_wrong_in_best_templates_is_named(tmp_path, prompts, text, complaint):
    path = tmp_path / "best_templates.json"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        published(tmp_path, prompts, path)
    assert str(path) in str(error.value)
    assert complaint in str(error.value)


def triple_verbs() -> list[dict[str, Any]]:
    """Rows in the layout of the public dataset."""

    def row(subject: str, object: dict[str, Any], *sentences: str, **others: Any) -> dict[str, Any]:
        said = [
            {
                "verbalization": text,
                "contains_object": True,
                "contains_subject": True,
                "ends_with_object": True,
                "fill_in_the_blank": None,
            }
            for text in sentences
        ]
        return {
            "triple": {
                "subject": {
                    "id": f"Q{sum(map(ord, subject))}",
                    "label": subject,
                    "description": "Danish actress",
                },
                "relation": {"id": "P569", "label": "birth", "description": None},
                "object": object,
            },
            "chatgpt_options": {"use_support": True},
            "verbalizations": said,
            "total_tokens": 400,
            "chatgpt_response": "",
            "extraction_failed": False,
            "error": None,
            **others,
        }

    date = {"id": None, "label": "11-05-2012", "description": "Date"}
    entity = {"id": "Q5", "label": "human", "description": "mammal"}
    people = [
        row(
            name,
            date,
            f"{name}'s date of birth is 11-05-2012",
            f"{name} was born on 11-05-2012.",
            f"11-05-2012 is the day of {name}",
            f"Danish actress {name} has as date of birth 11-05-2012",
        )
        for name in ("Anna Bo", "Carla Du", "Eva Fo")
    ]
    odd = row("Gina Ho", entity, "Gina Ho has as date of birth human")
    failed = row("Iris Jo", date, error="content_filter")
    unnamed = row("Kim Lo", {**entity, "label": None}, "Kim Lo has none")
    return [*people, odd, failed, unnamed]


def saved(path: Path, rows: list[dict[str, Any]]) -> Path:
    lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".xz":
        path.write_bytes(lzma.compress(lines))
    else:
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


@pytest.mark.parametrize("name", ["train.parquet", "v.jsonl", "v.jsonl.xz", "v.jsonl.gz"])
def test_sentences_of_the_public_dataset_are_filtered_and_counted(tmp_path, prompts, name):
    rows, dropped = published(tmp_path, prompts, saved(tmp_path / name, triple_verbs()))
    assert brief(rows) == [
        (569, 1, "{subject}'s date of birth is {object}", 3, None),
        (569, None, "Danish actress {subject} has as date of birth {object}", 3, "describes"),
        (569, None, "{subject} was born on {object}", 3, "object_kind"),
        (569, None, "{subject} has as date of birth {object}", 1, "narrow"),
    ]
    assert rows[0]["examples"] == [
        f"{name}'s date of birth is 11-05-2012" for name in ("Anna Bo", "Carla Du", "Eva Fo")
    ]
    assert dropped == {
        "answer": 1,
        "describes": 1,
        "narrow": 1,
        "no_label": 1,
        "object_kind": 1,
        "sentence: object_not_last": 3,
    }
    paper, _ = published(tmp_path, prompts, tmp_path / name, quality="paper")
    assert [row["count"] for row in paper if row["rank"]] == [3, 3, 3, 1]


def test_our_own_templates(tmp_path, prompts):
    full = [
        {"property": 36, "rank": 2, "template": "B {subject} {object}", "count": None, "source": "bundled"},
        {"property": 36, "rank": 1, "template": "C {subject} {object}", "count": 4, "examples": ["C a b"]},
        {"property": 6, "rank": 1, "template": "{object} {subject}", "count": 4},
    ]
    rows = [{name: row.get(name) for name in TEMPLATES.names} for row in full]
    write_parquet(pa.Table.from_pylist(rows, schema=TEMPLATES), tmp_path / "templates.parquet")
    found, dropped = published(tmp_path, prompts, tmp_path / "templates.parquet")
    assert brief(found) == [
        (6, None, f"{OBJECT} {SUBJECT}", 4, "object_not_last"),
        (36, 1, f"C {SUBJECT} {OBJECT}", 4, None),
        (36, 2, f"B {SUBJECT} {OBJECT}", None, None),
    ]
    assert found[1]["examples"] == ["C a b"]
    assert dropped == {"object_not_last": 1}


def damaged(path: Path, prompts: Path, tmp_path: Path) -> str:
    with pytest.raises(InputError) as error:
        published(tmp_path, prompts, path)
    assert path.name in str(error.value)
    return str(error.value)


def test_what_is_wrong_in_other_files_is_named(tmp_path, prompts):
    rows = triple_verbs()
    assert "does not exist" in damaged(tmp_path / "none.json", prompts, tmp_path)
    (tmp_path / "a.txt").write_text("{}")
    assert "docs/verbalization.md" in damaged(tmp_path / "a.txt", prompts, tmp_path)
    (tmp_path / "a.parquet").write_text("{}")
    assert "fetch the file again" in damaged(tmp_path / "a.parquet", prompts, tmp_path)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    assert "templates.parquet" in damaged(tmp_path / "b.parquet", prompts, tmp_path)
    pq.write_table(pa.table({"verbalizations": [1]}), tmp_path / "c.parquet")
    assert "no column triple, error" in damaged(tmp_path / "c.parquet", prompts, tmp_path)
    pq.write_table(pa.table({"property": ["P6"], "template": ["x"]}), tmp_path / "d.parquet")
    assert "row 0" in damaged(tmp_path / "d.parquet", prompts, tmp_path)
    saved(tmp_path / "cut.jsonl.xz", rows).write_bytes((tmp_path / "cut.jsonl.xz").read_bytes()[:-30])
    assert "fetch the file again" in damaged(tmp_path / "cut.jsonl.xz", prompts, tmp_path)
    (tmp_path / "e.jsonl").write_text(f"{json.dumps(rows[0])}\n{{\n")
    assert "line 2" in damaged(tmp_path / "e.jsonl", prompts, tmp_path)
    saved(tmp_path / "f.jsonl", [rows[0], {**rows[1], "triple": {"relation": {"id": "P1"}}}])
    assert "line 2: 'subject' is missing" in damaged(tmp_path / "f.jsonl", prompts, tmp_path)
    (tmp_path / "g.jsonl").write_text("")
    assert "holds no triple" in damaged(tmp_path / "g.jsonl", prompts, tmp_path)
    rows[0]["triple"]["relation"]["id"] = "Q5"
    saved(tmp_path / "h.parquet", rows)
    assert "row 0: 'Q5' is no relation" in damaged(tmp_path / "h.parquet", prompts, tmp_path)

"""templates.parquet and literals.parquet from small updates, neighbour and entity tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.core.errors import InputError
from factdrift.verbalize.candidates import CANDIDATES
from factdrift.verbalize.jobs import Literals, WriteTemplates
from factdrift.verbalize.literals import LITERALS, write_literals
from factdrift.verbalize.templates import TEMPLATES, read_templates, write_templates
from factdrift.wikidata.tables import ENTITIES, PROPERTIES

UPDATE = pa.schema(
    [
        ("property", pa.int32()),
        ("datatype", pa.string()),
        ("object", pa.int32()),
        ("key", pa.string()),
        ("old_json", pa.string()),
        ("new_json", pa.string()),
        ("dropped_by", pa.string()),
    ]
)
NEIGHBOR = pa.schema(
    [
        ("similarity", pa.float64()),
        ("property", pa.int32()),
        ("relation", pa.int32()),
        ("datatype", pa.string()),
        ("object", pa.int32()),
        ("key", pa.string()),
        ("json", pa.string()),
    ]
)
GENERIC = [f"{number}: the {{relation}} of {{subject}} is {{object}}" for number in range(1, 7)]
CAPITAL = [f"{number}: the capital of {{subject}} is {{object}}" for number in range(1, 8)]


def table(path: Path, schema: pa.Schema, *rows: dict[str, Any]) -> Path:
    return written(path, schema, rows)


def quantity(amount: str, unit: int) -> str:
    return json.dumps({"amount": amount, "unit": f"http://www.wikidata.org/entity/Q{unit}"})


@pytest.fixture
def bundled(tmp_path):
    rows = ["property\tlabel\ttemplate"]
    rows += [f"*\tany\t{template}" for template in GENERIC]
    rows += [f"P36\tcapital\t{template}" for template in CAPITAL]
    path = tmp_path / "templates.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def templates(output: Path, updates: Sequence[Path], new: Path, old: Path, **more: Any) -> int:
    """Writes the templates of updates; returns their number."""
    return write_templates(
        WriteTemplates(updates=tuple(updates), new=new, old=old, output=output, **({"kept": 5} | more))
    )


def test_templates_of_the_relations_that_occur(tmp_path, bundled):
    updates = [
        table(tmp_path / "0.parquet", UPDATE, {"property": 36}, {"property": 36}),
        table(tmp_path / "1.parquet", UPDATE, {"property": 1082}),
    ]
    others = [{"property": 50, "relation": number} for number in (6, 97, 99)]
    neighbors = [table(tmp_path / "n.parquet", NEIGHBOR, *others)]
    new = table(
        tmp_path / "new.parquet",
        PROPERTIES,
        {"id": 1082, "label": "population"},
        {"id": 6},
        {"id": 50, "label": "author"},
    )
    old = table(
        tmp_path / "old.parquet", PROPERTIES, {"id": 1082, "label": "people"}, {"id": 6, "label": "leader"}
    )
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nP97\tnoble title\nQ97\tnot a property\nP6\tnot needed\n")
    output = tmp_path / "templates.parquet"

    rows = templates(
        output, updates, new, old, neighbors=tuple(neighbors), labels=(labels,), templates=bundled
    )

    written = pq.read_table(output)
    assert written.schema == TEMPLATES
    assert rows == written.num_rows == 25
    found: dict[int, list[dict[str, Any]]] = {}
    for row in written.to_pylist():
        found.setdefault(row["property"], []).append(row)
    assert list(found) == [6, 36, 97, 99, 1082]
    assert [row["rank"] for row in found[36]] == [1, 2, 3, 4, 5]
    assert [row["template"] for row in found[36]] == CAPITAL[:5]
    assert {row["source"] for row in found[36]} == {"bundled"}
    for number, label in ((6, "leader"), (97, "noble title"), (99, "P99"), (1082, "population")):
        assert [row["template"] for row in found[number]] == [
            template.replace("{relation}", label) for template in GENERIC[:5]
        ]
        assert {row["source"] for row in found[number]} == {"generic"}
    assert {row["count"] for row in written.to_pylist()} == {None}


@pytest.mark.parametrize("label", ["fills ____ in", "fills {subject} in"])
def test_a_relation_whose_label_holds_a_blank_is_named_by_its_id(label, tmp_path, bundled):
    updates = table(tmp_path / "0.parquet", UPDATE, {"property": 6})
    properties = table(tmp_path / "p.parquet", PROPERTIES, {"id": 6, "label": label})
    labels = tmp_path / "labels.tsv"
    labels.write_text(f"id\tlabel\nP6\t{label}\n")
    output = tmp_path / "templates.parquet"
    templates(output, [updates], properties, properties, labels=(labels,), templates=bundled)
    assert pq.read_table(output)["template"][0].as_py() == GENERIC[0].replace("{relation}", "P6")


def test_no_relations_give_an_empty_table(tmp_path, bundled):
    updates = table(tmp_path / "0.parquet", UPDATE)
    properties = table(tmp_path / "p.parquet", PROPERTIES)
    output = tmp_path / "templates.parquet"
    assert templates(output, [updates], properties, properties, templates=bundled) == 0
    assert pq.read_table(output).schema == TEMPLATES


@pytest.mark.parametrize(
    ("row", "line", "complaint"),
    [
        ("P36\tcapital", 8, "2 fields instead of 3"),
        ("P36\tcapital\tThe capital is {object}", 8, "once each"),
        ("P36\tcapital\tThe {relation} of {subject} is {object}", 8, "no other blank"),
        ("*\tany\tThe value of {subject} is {object}", 8, "{relation}"),
        ("Q36\tcapital\tThe capital of {subject} is {object}", 8, "Q36"),
        (f"*\tany\t{GENERIC[0]}", 8, "already"),
        ("P36\tcapital\tA {subject} {object}\nP36\ttown\tB {subject} {object}", 9, "one label"),
        ("", 8, "1 fields"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(tmp_path, row, line, complaint):
    path = tmp_path / "templates.tsv"
    rows = ["property\tlabel\ttemplate", *(f"*\tany\t{template}" for template in GENERIC), row, ""]
    path.write_text("\n".join([*rows, "P6\tleader\tThe leader of {subject} is {object}"]))
    with pytest.raises(InputError) as error:
        read_templates(path)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert complaint in str(error.value)


def test_a_file_must_have_its_header_and_generic_templates(tmp_path):
    path = tmp_path / "templates.tsv"
    with pytest.raises(InputError, match="no such file"):
        read_templates(path)
    path.write_text("P36\tcapital\tThe capital of {subject} is {object}\n")
    with pytest.raises(InputError, match="line 1: the header"):
        read_templates(path)
    path.write_text("property\tlabel\ttemplate\nP36\tcapital\tThe capital of {subject} is {object}\n")
    with pytest.raises(InputError, match="no generic template"):
        read_templates(path)
    path.write_bytes(b"property\tlabel\ttemplate\n\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_templates(path)


@pytest.fixture
def facts(tmp_path):
    """Updates in two buckets and two neighbour tables; units 1 to 4 named in different places, 5 nowhere."""
    day = '{"calendarmodel":"","precision":11,"time":"+2022-09-08T00:00:00Z"}'
    texts: list[dict[str, Any]] = [
        {"datatype": "string", "key": "b", "new_json": '"b"'},
        {"datatype": "wikibase-item", "object": 30, "key": "30", "new_json": None},
        {
            "datatype": "quantity",
            "key": "7 2",
            "old_json": quantity("+7.0", 2),
            "new_json": quantity("+7", 2),
        },
    ]
    more: list[dict[str, Any]] = [
        {"datatype": "string", "key": "a", "old_json": '"a"'},
        {"datatype": "string", "key": "b", "new_json": '"b"'},
        {"datatype": "quantity", "key": "7 1", "new_json": quantity("+7", 1)},
        {"datatype": "quantity", "key": "7 3", "new_json": quantity("+7", 3)},
        {"datatype": "quantity", "key": "7 5", "new_json": quantity("+7", 5)},
        {"datatype": "string", "key": "gone", "new_json": '"gone"', "dropped_by": "unknown"},
    ]
    return {
        "updates": [
            table(tmp_path / "0.parquet", UPDATE, *texts),
            table(tmp_path / "1.parquet", UPDATE, *more),
        ],
        "neighbors": [
            table(tmp_path / "n.parquet", NEIGHBOR, {"datatype": "time", "key": "d", "json": day}),
            table(
                tmp_path / "r.parquet",
                NEIGHBOR,
                {"datatype": "quantity", "key": "7 4", "json": quantity("+7", 4)},
            ),
        ],
        "new": [
            table(tmp_path / "e0.parquet", ENTITIES, {"id": 2, "label": "metre", "symbol": "m"}),
            table(tmp_path / "e1.parquet", ENTITIES, {"id": 1, "label": "euro"}, {"id": 30, "label": "USA"}),
        ],
        "old": [
            table(
                tmp_path / "o0.parquet",
                ENTITIES,
                {"id": 1, "label": "ecu"},
                {"id": 2, "label": "meter", "symbol": "mt"},
                {"id": 3, "label": "gram", "symbol": "g"},
            )
        ],
        "labels": [tmp_path / "labels.tsv"],
    }


def literals(facts: dict[str, list[Path]], tmp_path: Path, variant: str = "paper") -> list[dict[str, Any]]:
    facts["labels"][0].write_text("id\tlabel\nQ4\tdegree\nQ1\tnot needed\n")
    output = tmp_path / "literals.parquet"
    rows = write_literals(Literals(**facts, variant=variant, output=output))
    written = pq.read_table(output)
    assert written.schema == LITERALS
    assert written.num_rows == rows
    found: list[dict[str, Any]] = written.to_pylist()
    return found


def test_every_form_of_a_literal_once_with_its_unit(tmp_path, facts, capsys):
    rows = literals(facts, tmp_path)
    assert [(row["datatype"], row["key"], row["label"], row["raw"]) for row in rows] == [
        ("quantity", "7 1", "7 euros", "+7"),
        # The same value written in two ways: either update shows its own.
        ("quantity", "7 2", "7 m", "+7"),
        ("quantity", "7 2", "7 m", "+7.0"),
        ("quantity", "7 3", "7 g", "+7"),
        ("quantity", "7 4", "7 degrees", "+7"),
        ("quantity", "7 5", "7 Q5", "+7"),
        ("string", "a", "a", "a"),
        ("string", "b", "b", "b"),
        ("time", "d", "September 8, 2022", "+2022-09-08T00:00:00Z"),
    ]
    assert "literals: units without a label, shown by their id: Q5\n" in capsys.readouterr().err


def test_the_reference_shows_literals_raw(tmp_path, facts):
    rows = literals(facts, tmp_path, "reference")
    assert len(rows) == 9
    assert [row["label"] for row in rows] == [row["raw"] for row in rows]
    assert rows[-1]["short"] == "September 8, 2022"


def test_results_depend_on_no_order_of_tables(tmp_path, facts):
    literals(facts, tmp_path)
    first = (tmp_path / "literals.parquet").read_bytes()
    literals({name: paths[::-1] for name, paths in facts.items()}, tmp_path)
    assert (tmp_path / "literals.parquet").read_bytes() == first


def test_literals_need_neither_neighbours_nor_entities(tmp_path):
    updates = table(tmp_path / "0.parquet", UPDATE, {"datatype": "string", "key": "a", "new_json": '"a"'})
    facts = {"updates": [updates], "neighbors": [], "new": [], "old": []}
    assert [row["label"] for row in literals({**facts, "labels": [tmp_path / "l.tsv"]}, tmp_path)] == ["a"]
    empty = table(tmp_path / "1.parquet", UPDATE)
    assert literals({**facts, "updates": [empty], "labels": [tmp_path / "l.tsv"]}, tmp_path) == []


def test_candidates_come_before_what_is_bundled(tmp_path, bundled):
    relations = [{"property": number} for number in (36, 6, 1082)]
    updates = table(tmp_path / "0.parquet", UPDATE, *relations)
    properties = table(tmp_path / "p.parquet", PROPERTIES, {"id": 6, "label": "leader"})
    found = [
        {
            "property": 1082,
            "template": f"{n} {{subject}} {{object}}",
            "rank": n,
            "count": 9 - n,
            "examples": ["x"],
        }
        for n in (1, 2, 3)
    ]
    found.append({"property": 36, "template": "of {subject} {object}", "count": 1, "dropped_by": "narrow"})
    found.append({"property": 777, "template": "not {subject} {object}", "rank": 1, "count": 1})
    candidates = table(tmp_path / "c.parquet", CANDIDATES, *found)
    output = tmp_path / "templates.parquet"
    arguments = (output, [updates], properties, properties)

    assert templates(*arguments, templates=bundled, candidates=(candidates,), source="file", kept=2) == 6
    rows = pq.read_table(output).to_pylist()
    assert [(row["property"], row["rank"], row["source"], row["count"]) for row in rows] == [
        (6, 1, "generic", None),
        (6, 2, "generic", None),
        (36, 1, "bundled", None),
        (36, 2, "bundled", None),
        (1082, 1, "file", 8),
        (1082, 2, "file", 7),
    ]
    assert rows[-1]["examples"] == ["x"]
    assert rows[0]["examples"] == []

    assert templates(*arguments, no_fallback=True, candidates=(candidates,), kept=1) == 1
    assert templates(*arguments, no_fallback=True) == 0

    empty = table(tmp_path / "c.parquet", CANDIDATES)
    assert templates(*arguments, templates=bundled, candidates=(empty,)) == 15
    assert {row["source"] for row in pq.read_table(output).to_pylist()} == {"bundled", "generic"}

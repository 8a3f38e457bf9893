"""templates.parquet and literals.parquet from small updates, neighbour and entity tables."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.core.errors import InputError
from factdrift.neighbors.facts import NEIGHBORS
from factdrift.updates.classify import UPDATES
from factdrift.verbalize.candidates import CANDIDATES
from factdrift.verbalize.jobs import Literals, WriteTemplates
from factdrift.verbalize.literals import LITERALS
from factdrift.verbalize.templates import TEMPLATES
from factdrift.wikidata.tables import ENTITIES, PROPERTIES
from factdrift.words.templates import read_templates

Table = Callable[..., Path]
HEADER = "property\tlabel\ttemplate"
GENERIC = [f"{number}: the {{relation}} of {{subject}} is {{object}}" for number in range(1, 7)]
CAPITAL = [f"{number}: the capital of {{subject}} is {{object}}" for number in range(1, 8)]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    def write(name: str, schema: pa.Schema, *rows: dict[str, Any]) -> Path:
        return written(tmp_path / f"{name}.parquet", schema, rows)

    return write


@pytest.fixture
def bundled(tmp_path):
    rows = [HEADER, *(f"*\tany\t{template}" for template in GENERIC)]
    rows += [f"P36\tcapital\t{template}" for template in CAPITAL]
    path = tmp_path / "templates.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


def templates(updates: Sequence[Path], new: Path, old: Path, **more: Any) -> list[dict[str, Any]]:
    output = new.with_name("templates.parquet")
    given = {"kept": 5} | more
    WriteTemplates(updates=tuple(updates), new=new, old=old, output=output, **given).run()
    found = pq.read_table(output)
    assert found.schema == TEMPLATES
    return found.to_pylist()


def test_templates_of_the_relations_that_occur(tmp_path, table, bundled):
    capital, inhabitants = {"property": 36}, {"property": 1082}
    updates = [table("0", UPDATES, capital, capital), table("1", UPDATES, inhabitants)]
    neighbors = table("n", NEIGHBORS, *({"property": 50, "relation": number} for number in (6, 97, 99)))
    population, author = {"id": 1082, "label": "population"}, {"id": 50, "label": "author"}
    new = table("new", PROPERTIES, population, {"id": 6}, author)
    old = table("old", PROPERTIES, {"id": 1082, "label": "people"}, {"id": 6, "label": "leader"})
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nP97\tnoble title\nQ97\tnot a property\nP6\tnot needed\n")
    given = {"neighbors": (neighbors,), "labels": (labels,), "templates": bundled}
    found: dict[int, list[dict[str, Any]]] = {}
    for row in templates(updates, new, old, **given):
        assert row["count"] is None
        found.setdefault(row["property"], []).append(row)
    assert list(found) == [6, 36, 97, 99, 1082]
    assert [row["rank"] for row in found[36]] == [1, 2, 3, 4, 5]
    assert [row["template"] for row in found[36]] == CAPITAL[:5]
    assert {row["source"] for row in found.pop(36)} == {"bundled"}
    for number, label in ((6, "leader"), (97, "noble title"), (99, "P99"), (1082, "population")):
        named = [template.replace("{relation}", label) for template in GENERIC[:5]]
        assert [row["template"] for row in found[number]] == named
        assert {row["source"] for row in found[number]} == {"generic"}


def test_a_relation_whose_label_holds_a_blank_is_named_by_its_id(tmp_path, table, bundled):
    label = "fills ____ in"
    properties = table("p", PROPERTIES, {"id": 6, "label": label})
    labels = tmp_path / "labels.tsv"
    labels.write_text(f"id\tlabel\nP6\t{label}\n")
    updates = [table("0", UPDATES, {"property": 6})]
    rows = templates(updates, properties, properties, labels=(labels,), templates=bundled)
    assert rows[0]["template"] == GENERIC[0].replace("{relation}", "P6")


@pytest.mark.parametrize(
    ("row", "line", "complaint"),
    [
        ("P36\tcapital", 8, "2 fields instead of 3"),
        ("P36\tcapital\tThe capital is {object}", 8, "once each"),
        ("*\tany\tThe value of {subject} is {object}", 8, "{relation}"),
        ("Q36\tcapital\tThe capital of {subject} is {object}", 8, "Q36"),
        (f"*\tany\t{GENERIC[0]}", 8, "already"),
        ("P36\tcapital\tA {subject} {object}\nP36\ttown\tB {subject} {object}", 9, "one label"),
        ("", 8, "1 fields"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(tmp_path, row, line, complaint):
    path = tmp_path / "templates.tsv"
    rows = [HEADER, *(f"*\tany\t{template}" for template in GENERIC), row, ""]
    path.write_text("\n".join([*rows, "P6\tleader\tThe leader of {subject} is {object}"]))
    with pytest.raises(InputError) as error:
        read_templates(path)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert complaint in str(error.value)


def test_a_file_must_have_its_header_and_generic_templates(tmp_path):
    path = tmp_path / "templates.tsv"
    capital = b"P36\tcapital\tThe capital of {subject} is {object}\n"
    for text, message in (
        (None, "no such file"),
        (capital, "line 1: the header"),
        (HEADER.encode() + b"\n" + capital, "no generic template"),
        (HEADER.encode() + b"\n\xff", "not UTF-8"),
    ):
        if text is not None:
            path.write_bytes(text)
        with pytest.raises(InputError, match=message):
            read_templates(path)


def in_unit(unit: int, amount: str = "+7", side: str = "new_json") -> dict[str, Any]:
    text = json.dumps({"amount": amount, "unit": f"http://www.wikidata.org/entity/Q{unit}"})
    return {"datatype": "quantity", "key": f"7 {unit}", side: text}


def word(text: str, side: str = "new_json", **more: Any) -> dict[str, Any]:
    return {"datatype": "string", "key": text, side: json.dumps(text), **more}


@pytest.fixture
def facts(tmp_path, table):
    """Updates in two buckets and two neighbour tables; units 1 to 4 named in different places, 5 nowhere."""
    day = '{"calendarmodel":"","precision":11,"time":"+2022-09-08T00:00:00Z"}'
    item = {"datatype": "wikibase-item", "object": 30, "key": "30", "new_json": None}
    again = in_unit(2) | in_unit(2, "+7.0", "old_json")
    more = [word("a", "old_json"), word("b"), in_unit(1), in_unit(3), in_unit(5)]
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nQ4\tdegree\nQ1\tnot needed\n")
    units = {"id": 2, "label": "meter", "symbol": "mt"}, {"id": 3, "label": "gram", "symbol": "g"}
    return {
        "updates": [
            table("0", UPDATES, word("b"), item, again),
            table("1", UPDATES, *more, word("gone", dropped_by="unknown")),
        ],
        "neighbors": [
            table("n", NEIGHBORS, {"datatype": "time", "key": "d", "json": day}),
            table("r", NEIGHBORS, in_unit(4, side="json")),
        ],
        "new": [
            table("e0", ENTITIES, {"id": 2, "label": "metre", "symbol": "m"}),
            table("e1", ENTITIES, {"id": 1, "label": "euro"}, {"id": 30, "label": "USA"}),
        ],
        "old": [table("o", ENTITIES, {"id": 1, "label": "ecu"}, *units)],
        "labels": [labels],
    }


def literals(facts: dict[str, list[Path]], tmp_path: Path, variant: str = "paper") -> list[dict[str, Any]]:
    output = tmp_path / "literals.parquet"
    Literals(**facts, variant=variant, output=output).run()
    found = pq.read_table(output)
    assert found.schema == LITERALS
    return found.to_pylist()


def test_every_form_of_a_literal_once_with_its_unit(tmp_path, facts, capsys):
    rows = literals(facts, tmp_path)
    assert [(row["datatype"], row["key"], row["label"], row["raw"]) for row in rows] == [
        ("quantity", "7 1", "7 euros", "+7"),
        # The same value written in two ways: either update shows its own.
        *(("quantity", "7 2", "7 m", "+7"), ("quantity", "7 2", "7 m", "+7.0")),
        *(("quantity", "7 3", "7 g", "+7"), ("quantity", "7 4", "7 degrees", "+7")),
        *(("quantity", "7 5", "7 Q5", "+7"), ("string", "a", "a", "a"), ("string", "b", "b", "b")),
        ("time", "d", "September 8, 2022", "+2022-09-08T00:00:00Z"),
    ]
    assert "literals: units without a label, shown by their id: Q5\n" in capsys.readouterr().err
    # The order of tables does not matter, and `reference` shows literals raw.
    assert literals({name: paths[::-1] for name, paths in facts.items()}, tmp_path) == rows
    rows = literals(facts, tmp_path, "reference")
    assert len(rows) == 9
    assert [row["label"] for row in rows] == [row["raw"] for row in rows]
    assert rows[-1]["short"] == "September 8, 2022"


@pytest.mark.parametrize("rows", [[word("a")], []])
def test_literals_need_neither_neighbours_nor_entities(rows, tmp_path, table):
    found = literals({"updates": [table("0", UPDATES, *rows)]}, tmp_path)
    assert [row["label"] for row in found] == [row["key"] for row in rows]


def test_candidates_come_before_what_is_bundled(table, bundled):
    updates = [table("0", UPDATES, *({"property": number} for number in (36, 6, 1082)))]
    properties = table("p", PROPERTIES, {"id": 6, "label": "leader"})
    best = {"property": 1082, "examples": ["x"]}
    found = [best | {"template": f"{n} {{subject}} {{object}}", "rank": n, "count": 9 - n} for n in (1, 2, 3)]
    narrow = {"property": 36, "template": "of {subject} {object}", "count": 1, "dropped_by": "narrow"}
    other = {"property": 777, "template": "not {subject} {object}", "rank": 1, "count": 1}
    candidates = (table("c", CANDIDATES, *found, narrow, other),)
    given = (updates, properties, properties)
    rows = templates(*given, templates=bundled, candidates=candidates, source="file", kept=2)
    assert [(row["property"], row["rank"], row["source"], row["count"]) for row in rows] == [
        *((6, 1, "generic", None), (6, 2, "generic", None), (36, 1, "bundled", None)),
        *((36, 2, "bundled", None), (1082, 1, "file", 8), (1082, 2, "file", 7)),
    ]
    assert rows[-1]["examples"] == ["x"]
    assert rows[0]["examples"] == []
    assert len(templates(*given, no_fallback=True, candidates=candidates, kept=1)) == 1
    assert templates(*given, no_fallback=True) == []
    rows = templates(*given, templates=bundled, candidates=(table("c", CANDIDATES),))
    assert [row["source"] for row in rows] == ["generic"] * 5 + ["bundled"] * 5 + ["generic"] * 5

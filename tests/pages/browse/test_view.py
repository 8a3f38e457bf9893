"""The comparison of both dumps: every statement once, partners, decisions, values, dates, the time line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.pages.browse.build import Subject
from factdrift.pages.browse.view import Relation, date_text, relations, time_line, value_of
from factdrift.wikidata.time import parse_time

Row = dict[str, Any]

NAMES = {
    -6: {"id": -6, "label": "head of government", "symbol": None},
    1: {"id": 1, "label": "Ann", "symbol": None},
    2: {"id": 2, "label": "Bob", "symbol": None},
    11573: {"id": 11573, "label": "metre", "symbol": "m"},
}
METRE = "http://www.wikidata.org/entity/Q11573"


def day(text: str) -> Row:
    return parse_time(f"+{text}T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985727")._asdict()


def statement(id: str, item: int | None, place: int = 0, **more: Any) -> Row:
    row: Row = {"subject": 30, "property": 6, "statement": id, "position": place, "rank": "normal"}
    row |= {"snak": "value", "datatype": "wikibase-item", "object": item, "key": f"Q{item}", "json": None}
    row |= {"start": None, "start_unknown": False, "end": None, "end_unknown": False, "pit": None}
    return row | {"qualifiers": [], "revision": 7, "dropped_by": None} | more


def triple(old: str | None, new: str | None, label: str, **more: Any) -> Row:
    row: Row = {"subject": 30, "property": 6, "old_statement": old, "new_statement": new, "label": label}
    row |= {"rule": "replaced", "announced": False, "leaks": False, "dropped_by": None, "scenario": None}
    return row | more


def subject(old: list[Row], new: list[Row], triples: list[Row]) -> Subject:
    made = Subject(30)
    made.parts.update(old={6: old}, new={6: new}, triples={6: triples})
    return made


def one(old: list[Row], new: list[Row], triples: list[Row], untouched: list[Row] | None = None) -> Relation:
    found = relations(subject(old, new, triples), NAMES, {}, {6: untouched or []})
    assert len(found) == 1
    return found[0]


def test_untouched_groups_have_the_rule_of_their_relation() -> None:
    rule = {"rule": "undecided", "label": "unknown", "dropped_by": "unknown"}
    relation = one([statement("a", 1)], [statement("b", 1)], [], [rule])
    (pair,) = relation.pairs
    assert None not in (pair.old, pair.new)
    (decision,) = pair.decisions
    assert (decision.name, decision.label, decision.step) == ("undecided", "unknown", "unknown")


ids = st.lists(st.sampled_from("abcdef"), unique=True)


@given(ids, ids, st.data())
def test_every_statement_is_in_one_row(old_ids: list[str], new_ids: list[str], data: st.DataObject) -> None:
    values = st.integers(1, 3)
    sides = old_ids, new_ids
    old, new = ([statement(id, data.draw(values), n) for n, id in enumerate(side)] for side in sides)
    both = data.draw(st.lists(st.tuples(*(st.sampled_from([None, *side]) for side in sides))))
    triples, used = [], set()
    for before, after in both:
        keys = {("old", before), ("new", after)} - {("old", None), ("new", None)}
        if keys and not keys & used:
            used |= keys
            triples.append(triple(before, after, "static"))
    found = relations(subject(old, new, triples), NAMES, {}, {})
    pairs = [(p.old and p.old.id, p.new and p.new.id) for each in found for p in each.pairs]
    assert sorted(before for before, _ in pairs if before) == sorted(old_ids)
    assert sorted(after for _, after in pairs if after) == sorted(new_ids)
    for row in triples:
        sides = (row["old_statement"], row["new_statement"])
        assert sides in pairs or (None in sides and (sides[0] or sides[1],) * 2 in pairs)
    # What no rule decided about has a partner wherever one is left with its value.
    value = {("old", row["statement"]): row["object"] for row in old}
    value |= {("new", row["statement"]): row["object"] for row in new}
    alone = {("old", before) for before, after in pairs if not after}
    alone |= {("new", after) for before, after in pairs if not before}
    left = {side: {value[key] for key in alone - used if key[0] == side} for side in ("old", "new")}
    assert not left["old"] & left["new"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"object": 1}, "Ann"),
        ({"object": 99}, "Q99"),
        ({"snak": "somevalue"}, "unknown value"),
        ({"snak": "novalue"}, "no value"),
        ({"datatype": "monolingualtext", "json": '{"language":"de","text":"Bonn"}'}, "Bonn (de)"),
        ({"datatype": "quantity", "json": f'{{"amount":"+12.50","unit":"{METRE}"}}'}, "12.5 m"),
        ({"datatype": "quantity", "json": "no json"}, "no json"),
        ({"datatype": "globe-coordinate", "json": '{"latitude":56.0,"longitude":-109.5}'}, "56.0, -109.5"),
        ({"datatype": "globe-coordinate", "json": '{"odd":1}'}, '{"odd":1}'),
    ],
)
def test_values(fields: Row, text: str) -> None:
    assert value_of(statement("a", None, **fields), NAMES).text == text


def test_dates() -> None:
    """As in the datasets, however precise."""
    assert date_text(day("2017-01-20")) == "2017-01-20"
    assert date_text(day("2017-01-01") | {"precision": 10}) == "2017-01"
    assert date_text(day("2017-01-20") | {"precision": 14}) == "2017-01-20"
    year = day("2017-01-01") | {"precision": 9}
    assert date_text(year) == "2017"
    assert date_text(year | {"precision": 8}) == "2010s"
    assert date_text(year | {"year": 0}) == "0"


def test_the_time_line_has_the_latest_fact_first() -> None:
    old = [statement("a", 1, start=day("2011-01-01"), end=day("2022-01-01"))]
    new = [statement("b", 2, start=day("2022-01-01"))]
    gone = [statement("c", 1, start=day("1785-01-01"), end=day("1790-01-01"))]
    found = one([*old, *gone], new, [triple("a", None, "obsolete"), triple(None, "b", "new")])
    assert time_line([found], "2021-01-01", "2023-01-01") is None  # nothing of it changed
    found.update = {}
    line = time_line([found], "2021-01-01", "2023-01-01")
    assert line is not None
    bars, marks, (low, high), left_out = line
    assert [bar.value.text for bar in bars] == ["Bob", "Ann"]
    assert bars[0].end is None
    assert bars[1].end is not None
    # What began before the axis is cut at its end; what ended before it is left out.
    assert 0 == bars[1].start < bars[1].end <= bars[0].start < 100
    assert (low, high, left_out) == (2011, 2023.5, 1)
    assert marks[0][1] in ("2011", "2012")
    undated = one([statement("a", 1)], [], [triple("a", None, "new")])
    undated.update = {}
    assert time_line([undated], "2021-01-01", "2023-01-01") is None

"""An old snapshot derived from a newer dump: hand-made cases, and real entities."""

import copy
import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dumps import lines
from support.examples import examples
from support.excerpt import EXCERPT
from support.worlds import datavalue_of

from factdrift.core.errors import InputError
from factdrift.snapshots.compression import php_json
from factdrift.snapshots.derive import CREATION, Derived, derive_dump, derive_line
from factdrift.wikidata.time import parse_time

DAY = 20130101


def snak(name: str, text: str) -> dict[str, Any]:
    """A date as `datavalue_of` reads it, somevalue, novalue, or an item."""
    made: dict[str, Any] = {"snaktype": "value", "property": name, "datatype": "time"}
    if text in ("somevalue", "novalue"):
        return made | {"snaktype": text}
    if text[0] == "Q":
        value = {"value": {"entity-type": "item", "id": text}, "type": "wikibase-entityid"}
        return made | {"datavalue": value, "datatype": "wikibase-item"}
    return made | {"datavalue": {"value": datavalue_of(text), "type": "time"}}


def statement(value: str, rank: str = "normal", name: str = "P6", **dates: str | list[str]) -> dict[str, Any]:
    """A statement with P580 (`start`), P582 (`end`) and P585 (`pit`), each one or several dates."""
    found: dict[str, Any] = {"mainsnak": snak(name, value), "type": "statement"}
    qualifiers = {}
    for key, qualifier in (("start", "P580"), ("end", "P582"), ("pit", "P585")):
        if key in dates:
            texts = [dates[key]] if isinstance(dates[key], str) else dates[key]
            qualifiers[qualifier] = [snak(qualifier, text) for text in texts]
    if qualifiers:
        found |= {"qualifiers": qualifiers, "qualifiers-order": list(qualifiers)}
    return found | {"id": f"Q1${value}", "rank": rank}


def entity(*statements: dict[str, Any], **more: Any) -> dict[str, Any]:
    claims: dict[str, list[dict[str, Any]]] = {}
    for each in statements:
        claims.setdefault(each["mainsnak"]["property"], []).append(each)
    labels = {"en": {"language": "en", "value": "Zürich"}}
    return {"type": "item", "id": "Q1", "labels": labels, "claims": claims, "lastrevid": 7} | more


def derived(*statements: dict[str, Any], **more: Any) -> dict[str, Any] | None:
    line = derive_line(php_json(entity(*statements, **more)), DAY, Derived())
    return None if line is None else json.loads(line)


def left(*statements: dict[str, Any]) -> list[tuple[str, str]]:
    """Value and rank of the statements of P6 that are left."""
    found = derived(*statements)["claims"].get("P6", [])
    return [(each["mainsnak"]["datavalue"]["value"]["id"], each["rank"]) for each in found]


LATE = statement("Q9", "preferred", start="2015-01-01")
DATES = (
    *("2013-01-01", "2013-01-02", "2010-01-01", "2011-01-01", "2015-01-01", "-0044-03-15", "somevalue"),
    # A date counts with its first day; the Julian one is 7 January 2013.
    *("novalue", "2013-07-01/9", "2013-02", "2010s", "2020s", "2012-12-25 julian"),
)


def plainly(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The statements of a property on the day, by the rules that `derive` states."""

    def first(each: dict[str, Any], name: str) -> int | None:
        return min(firsts(each, name), default=None)

    def is_late(each: dict[str, Any]) -> bool:
        return any((day := first(each, name)) is not None and day > DAY for name in ("P580", "P585"))

    def ends_then(each: dict[str, Any]) -> list[dict[str, Any]]:
        """The ends that the day knows: those without a date, and those up to it."""
        ends = each.get("qualifiers", {}).get("P582", [])
        return [
            end for end in ends if all(day <= DAY for day in firsts({"qualifiers": {"P582": [end]}}, "P582"))
        ]

    kept = [copy.deepcopy(each) for each in group if not is_late(each)]
    was_preferred = any(each["rank"] == "preferred" and is_late(each) for each in group)
    if was_preferred and all(each["rank"] != "preferred" for each in kept):
        open_ = [each for each in kept if all(end["snaktype"] == "novalue" for end in ends_then(each))]
        held = [each for each in open_ if each["rank"] == "normal"]
        began = [(first(each, "P580") or first(each, "P585"), each) for each in held]
        known = [pair for pair in began if pair[0] is not None]
        if known:
            max(known, key=lambda pair: pair[0])[1]["rank"] = "preferred"
        elif len(held) == 1:
            held[0]["rank"] = "preferred"
    for each in kept:
        ends = ends_then(each)
        if "P582" in each.get("qualifiers", {}):
            each["qualifiers"]["P582"] = ends
            if not ends:
                del each["qualifiers"]["P582"]
                each["qualifiers-order"].remove("P582")
        if not each.get("qualifiers", True):
            del each["qualifiers"], each["qualifiers-order"]
    return kept


@given(st.randoms(use_true_random=False), st.integers(1, 5))
@settings(max_examples=examples(300))
def test_a_group_is_that_of_the_rules(dice, size):
    group = [
        statement(
            f"Q{number}",
            dice.choice(("normal", "normal", "preferred", "deprecated")),
            **{
                name: dice.sample(DATES, dice.choice((1, 1, 2)))
                for name in ("start", "end", "pit")
                if dice.random() < 0.5
            },
        )
        for number in range(2, 2 + size)
    ]
    assert derived(*group)["claims"].get("P6", []) == plainly(group)


def test_items_created_later_are_dropped():
    for name in CREATION:
        assert derived(statement("2013-01-02", name=name)) is None
        assert derived(statement("2013-01-01", name=name)) is not None
    late = statement("2015-01-01", name="P571")
    for kept in (
        [late, statement("1990-01-01", name="P569")],
        [late | {"rank": "deprecated"}],
        [statement("somevalue", name="P571")],
        [statement("2015-01-01", name="P570")],
    ):
        assert derived(*kept) is not None
    assert derived(late, type="property", id="P1") is not None


def test_a_changed_item_keeps_all_other_parts():
    more = {"descriptions": [], "sitelinks": {"enwiki": {"title": "a/b"}}, "modified": "2022-01-01T00:00:00Z"}
    before = entity(statement("Q2", end="2015-01-01"), statement("Q3", start="2001-01-01"), **more)
    before["claims"]["P7"] = [statement("Q4", name="P7")]
    line = derive_line(php_json(before), DAY, Derived())
    after = {key: value for key, value in before.items() if key not in ("lastrevid", "modified")}
    after["claims"] = before["claims"] | {"P6": [statement("Q2"), statement("Q3", start="2001-01-01")]}
    assert list(json.loads(line).items()) == list(after.items())
    assert line.isascii()
    assert rb"Z\u00fcrich" in line
    assert rb"a\/b" in line


@pytest.mark.parametrize(
    "text",
    [
        b'{"id":"Q1","type":"item"}',
        b'{"id" : "Q1", "claims": [], "x":"P580"}',
        b'{"P580"',
        b'{"type":"item","claims":{"P580":7}}',
        php_json(entity(statement("Q2", start="2001-01-01"))).replace(b",", b" , "),
    ],
)
def test_untouched_and_unreadable_lines_pass_byte_for_byte(text):
    assert derive_line(text, DAY, Derived()) == text


def test_maps_written_as_lists_are_read_and_empty_groups_removed():
    late = statement("Q3", start="2015-01-01")
    assert left(statement("Q2") | {"qualifiers": []}, late) == [("Q2", "normal")]
    assert derived(late)["claims"] == {}


def test_dump_to_dump(tmp_path):
    kept, gone = entity(statement("Q2")), entity(statement("2015-01-01", name="P571"), id="Q2")
    changed = entity(statement("Q2", end="2015-01-01"), LATE, id="Q3")
    dump, path = tmp_path / "new", tmp_path / "old.json.gz"
    given = [php_json(kept), b'{"P580"', php_json(gone), php_json(changed)]
    dump.write_bytes(gzip.compress(b"[\n" + b",\n".join(given) + b"\n]\n"))
    counts = derive_dump(dump, DAY, path)
    assert (counts.lines, counts.unreadable, counts.items_dropped) == (4, 1, 1)
    assert (counts.statements_dropped, counts.ends_dropped, counts.newly_preferred) == (1, 1, 1)
    *same, last = [text for _, _, text in lines(path)]
    assert same == given[:2]
    assert json.loads(last)["id"] == "Q3"


def test_bad_input(tmp_path):
    dump = tmp_path / "new.json.gz"
    array = b"[\n" + php_json(entity())
    for data in (gzip.compress(array)[:-9], gzip.compress(array + b",\n")):  # cut as archive, and as text
        dump.write_bytes(data)
        with pytest.raises(InputError, match="truncated"):
            derive_dump(dump, DAY, tmp_path / "old.json.gz")
    with pytest.raises(InputError, match=r"old\.json: a derived dump is written as"):
        derive_dump(dump, DAY, tmp_path / "old.json")
    assert [path.name for path in tmp_path.iterdir()] == ["new.json.gz"]


def firsts(each: dict[str, Any], name: str) -> list[int]:
    snaks = dict(each.get("qualifiers") or {}).get(name, [])
    values = [snak["datavalue"]["value"] for snak in snaks if snak["snaktype"] == "value"]
    return [parse_time(v["time"], v["precision"], v["calendarmodel"]).first for v in values]


def test_real_entities(tmp_path):
    dump, path = EXCERPT, tmp_path / "old.json.gz"
    counts = derive_dump(dump, DAY, path)
    derived_texts = {json.loads(text)["id"]: text for _, _, text in lines(path)}
    dropped = 0
    for _, _, text in lines(dump):
        new = json.loads(text)
        if new["id"] not in derived_texts:
            continue
        old = json.loads(derived_texts[new["id"]])
        for property_, group in dict(new.get("claims") or {}).items():
            expected = plainly(group)
            assert dict(old.get("claims") or {}).get(property_, []) == expected
            dropped += len(group) - len(expected)
        assert old != new or derived_texts[new["id"]] == text
    assert (counts.lines, counts.unreadable) == (counts.items_dropped + len(derived_texts), 0)
    assert counts.statements_dropped == dropped > 0

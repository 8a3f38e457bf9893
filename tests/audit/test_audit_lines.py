"""The audit reads dumps in every packing and age by itself, and shares no reader, filter or rule."""

import bz2
import gzip
import json
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audit_dumps import NEW, entity, item, statement, time

from factdrift.audit.dates import span
from factdrift.audit.lines import Entity, articles, item_number, read_entities
from factdrift.audit.ripples import value_of
from factdrift.audit.values import identity, may_hold, surely_held
from factdrift.cli import job_of
from factdrift.core.errors import InputError
from factdrift.core.fingerprint import closure, modules_of
from factdrift.core.paths import PACKAGE
from factdrift.wikidata.time import parse_time, unpack
from factdrift.wikidata.values import read_value

MODULES = {path.stem for path in (PACKAGE / "audit").glob("*.py")} - {"__init__", "jobs"}
BUILD = ("statements", "updates", "wikidata", "wikifactdiff", "neighbors", "tempripple", "verbalize", "words")


def test_no_module_that_checks_imports_the_build() -> None:
    assert len(MODULES) > 8
    for module in MODULES:
        reached = closure(f"factdrift.audit.{module}")
        assert not {name.split(".")[1] for name in reached if "." in name} & {*BUILD}, module
        assert "factdrift.core.tables" not in reached, module
    # Nor does the command, which writes published folders again.
    assert not {name for name in modules_of(job_of("audit")) if name.split(".")[1] in BUILD}


def lines(entities: list[dict[str, Any]]) -> bytes:
    return ("[\n" + ",\n".join(map(json.dumps, entities)) + "\n]\n").encode()


def zstd(data: bytes) -> bytes:
    """Two frames."""
    half = len(data) // 2
    return b"".join(bytes(pa.compress(part, "zstd", asbytes=True)) for part in (data[:half], data[half:]))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "dump.json": bytes,
    "dump.jsonl": bytes,
    "dump.json.gz": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
    "dump.json.bz2": bz2.compress,
    "dump.json.zst": zstd,
}


@pytest.mark.parametrize("name", PACKINGS)
def test_every_packing_whatever_the_name_of_the_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "latest").write_bytes(PACKINGS[name](lines(NEW)))
    found = read_entities(tmp_path / "latest", {"Q1": frozenset(["P6"]), "Q12": None, "Q999": None})
    assert list(found) == ["Q1", "Q12"]
    assert found["Q1"].label == "Atlantis"
    assert [claim.claim_id for claim in found["Q1"].of("P6")] == ["Q1$A", "q1$B"]


def only(folder: Path, *entities: dict[str, Any]) -> Entity:
    """The one entity Q1 of these lines, as the audit reads it."""
    path = folder / "dump.json"
    path.write_bytes(lines([*entities]))
    return read_entities(path, {"Q1": None})["Q1"]


@pytest.mark.parametrize("name", ["dump.json.gz", "dump.json.bz2", "dump.json.zst"])
@pytest.mark.parametrize("reads", [lambda path: read_entities(path, {}), lambda path: list(articles(path))])
def test_a_truncated_file_is_an_error(name: str, reads: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(PACKINGS[name](lines(NEW * 50))[:-40])
    with pytest.raises(InputError, match=r"dump.*cannot be read to its end"):
        reads(path)


def test_only_wanted_lines_are_decoded_wherever_their_id_is(tmp_path: Path) -> None:
    late = {"claims": {"P6": [statement("Q1$A", "P6", {**item("Q5"), "value": {"id": "Q5"}})]}, "id": "Q1"}
    path = tmp_path / "dump.json"
    broken = b'{"id":"Q2","labels":{'
    path.write_bytes(b"[\n" + json.dumps(late).encode() + b",\n" + broken + b"\n]\n")
    found = read_entities(path, {"Q1": None, "Q2": None})
    assert list(found) == ["Q1"]
    assert [identity(claim.mainsnak) for claim in found["Q1"].of("P6")] == [("wikibase-entityid", "Q5")]
    assert [each.id for each, _ in articles(path, {"Q1"})] == ["Q1"]


def test_of_two_lines_the_later_revision_counts_and_statements_that_cannot_be_read_do_not(tmp_path):
    odd = {"type": "unheard-of", "value": 1}
    given = statement("Q1$A", "P6", odd), statement("Q1$B", "P6", "novalue")
    given += (statement("Q1$C", "P5061", odd), statement("Q1$D", "P5061", "somevalue"))
    given += (statement("Q1$E", "P5061", {"type": "monolingualtext", "value": {"text": "m"}}),)
    revisions = (("b", 2), ("c", 3), ("a", 1))
    found = only(tmp_path, *(entity("Q1", label, *given, revision=k) for label, k in revisions))
    assert (found.label, found.symbols) == ("c", {"m"})
    assert [claim.claim_id for claim in found.of("P6")] == ["Q1$B"]


YEARS = st.integers(-20_000, 20_000).filter(bool)


@given(YEARS, st.integers(0, 12), st.integers(0, 28), st.integers(0, 11), st.booleans())
def test_dates_are_those_of_the_build(year: int, month: int, day: int, precision: int, julian: bool) -> None:
    text = f"{'-' if year < 0 else '+'}{abs(year):04d}-{month:02d}-{day:02d}T00:00:00Z"
    calendar = f"http://www.wikidata.org/entity/{'Q1985786' if julian else 'Q1985727'}"
    built = parse_time(text, precision, calendar)
    found = span({"time": text, "precision": precision, "calendarmodel": calendar})
    assert found is not None
    days = (built.first, built.last, built.written)
    assert (found.first, found.last, found.written) == tuple(map(unpack, days))


VALUES: list[dict[str, Any]] = [
    *(time(*each) for each in product(("2020-01-01", "2020-05-00", "2029-01-01"), (8, 9, 10))),
    time("2020-01-01", 9, "Q1985786"),
    *({"type": "quantity", "value": {"amount": text, "unit": "1"}} for text in ("+10", "+10.0", "-10")),
    {"type": "quantity", "value": {"amount": "+10", "unit": "http://www.wikidata.org/entity/Q5"}},
    item("Q5"),
    {"type": "wikibase-entityid", "value": {"id": "Q5", "entity-type": "item"}},
    *({"type": "string", "value": text} for text in ("é", "e\N{COMBINING ACUTE ACCENT}", "Q5")),
    *({"type": "monolingualtext", "value": {"text": text, "language": "en"}} for text in ("a", "b")),
    *({"type": "monolingualtext", "value": {"text": text, "language": "de"}} for text in ("a", "b")),
]


def test_values_are_equal_where_the_build_says_so(tmp_path: Path) -> None:
    given = [statement(f"Q1${k}", "P6", each) for k, each in enumerate(VALUES)]
    ours = [identity(claim.mainsnak) for claim in only(tmp_path, entity("Q1", "a", *given)).of("P6")]
    theirs = [(each["type"], read_value(each["type"], each["value"]).key) for each in VALUES]
    assert len(ours) == len(theirs)
    for one, first in enumerate(VALUES):
        for two, second in enumerate(VALUES):
            assert (ours[one] == ours[two]) == (theirs[one] == theirs[two]), (first, second)


def test_the_id_of_an_answer(tmp_path: Path) -> None:
    answers = {
        "Q5": item("Q5"),
        "en:a": {"type": "monolingualtext", "value": {"text": "a", "language": "en"}},
        "a": {"type": "string", "value": "a"},
        "1921-06-10": time("1921-06-10"),
        "1921-06": time("1921-06-10", 10),
        "1700": time("1700-01-01", 9, "Q1985786"),
        "1700-01-11": time("1700-01-01", 11, "Q1985786"),
    }
    given = [statement(f"Q1${name}", "P6", value) for name, value in answers.items()]
    claims = only(tmp_path, entity("Q1", "a", *given)).of("P6")
    assert [value_of(claim) for claim in claims] == [*answers]


def test_what_dates_leave_open_and_what_they_prove(tmp_path: Path) -> None:
    """Of days a and b at which a statement begins and ends, and a span: by the times between the days.

    A statement may hold on a span that its dates do not cut; it surely held if some time between two days is
    in both.
    """
    days = {number: f"2020-01-0{number}" for number in range(1, 6)} | {None: None}
    dated = {}
    for ends in product(days, days):
        dated[ends] = {key: time(days[day]) for key, day in zip(("P580", "P582"), ends, strict=True) if day}
    claims = [statement(f"Q1$N{number}", "P6", item("Q5"), **q) for number, q in enumerate(dated.values())]
    read = only(tmp_path, entity("Q1", "Atlantis", *claims)).of("P6")
    assert len(read) == 36
    for (begin, end), claim in zip(dated, read, strict=True):
        for first, last in combinations(range(1, 6), 2):
            span_ = (20200100 + first, 20200100 + last)
            assert may_hold(claim, *span_) == ((begin or first) <= first and (end or last) >= last)
            times = (half / 2 for half in range(3, 10, 2) if begin and end)
            between = any(first < time < last and begin < time < end for time in times)
            assert surely_held(claim, *span_) == between, (begin, end, first, last)


def test_the_number_of_an_item_is_read_from_whatever_key_a_dump_has() -> None:
    assert [item_number(value) for value in ("Q5", None, ["Q5"])] == [None] * 3
    kinds, names = (None, "item", "property", "lexeme"), (None, "Q7", "P7", "L7")
    for kind, name, number in product(kinds, names, (None, 5, "5")):
        value = {"entity-type": kind, "id": name, "numeric-id": number}
        expected = {"Q7": 7, "P7": -7}.get(str(name))
        if expected is None and number == 5 and kind:
            expected = -5 if kind == "property" else 5
        found = item_number({key: each for key, each in value.items() if each is not None})
        assert found == (None if kind == "lexeme" else expected), value

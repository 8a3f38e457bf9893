"""The source over SPARQL gives what the source over tables gives, row by row; odd rows are refused."""

import gzip
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.ripple_lines import source as source_of_lines
from support.ripples import CITY, COUNTRY, HUMAN, RELATIONS, Ripple, kinds, ripple_of, source_of
from support.sparql import database_of, sparql_source
from support.worlds import UNKNOWN, Amount, Date, Fact, Property, Text, World

from factdrift.core.errors import InputError
from factdrift.sparql.client import Client
from factdrift.sparql.server import serving
from factdrift.tempripple.search import ids
from factdrift.tempripple.sources import StatementSource
from factdrift.tempripple.sparql_source import SparqlSource

ALL = ids(RELATIONS.properties())
PERIOD = (20250101, 20260101)
HEAD, CAPITAL, BIRTH, CODE, NAME, INSTANCE, SUBCLASS = 6, 36, 569, 297, 1477, 31, 279

ITEMS = ids(range(1, 12))

QUESTIONS: dict[str, Callable[[StatementSource], pa.Table]] = {
    "candidates": lambda source: source.candidates(ids({*VALUES} & {*ALL.tolist()}), *PERIOD),
    "candidates of a part of a year": lambda source: source.candidates(ids([HEAD]), 20250105, 20250315),
    "all properties": lambda source: source.statements(ITEMS, ALL, ids([])),
    "one property": lambda source: source.statements(ITEMS, ids([HEAD]), ids([])),
    "one with dates": lambda source: source.statements(ITEMS, ids([BIRTH]), ids([])),
    "restricted": lambda source: source.statements(ITEMS, ids([HEAD, CAPITAL]), ids([518, 642])),
    "classes": lambda source: source.classes(ITEMS, INSTANCE),
    "superclasses": lambda source: source.classes(ITEMS, SUBCLASS),
    "terms": lambda source: source.terms(ids([*range(1, 12), HUMAN, COUNTRY, CITY])),
    "declarations": lambda source: source.declarations(ALL),
    "no items": lambda source: source.statements(ids([]), ALL, ids([])),
    "no properties": lambda source: source.statements(ITEMS, ids([]), ids([])),
}


MENTIONED = [Fact(11, 361, item) for item in range(1, 12)]
"""The RDF holds what the stage can come across: items that a relation of the stage mentions."""


def check(world: World, folder: Path, batch: int = 3, monthly: bool = False) -> Ripple:
    """The answers to all questions, and the whole stage, are the same; the latter is returned."""
    with source_of(world, folder) as tables, serving(database_of(folder / "new")) as url:
        sparql = SparqlSource(Client(url), batch, monthly)
        for name, ask in QUESTIONS.items():
            expected, found = ask(tables), ask(sparql)
            assert found.to_pylist() == expected.to_pylist(), name
            assert found.schema.equals(expected.schema), name
        made, again = (ripple_of(source, restrictive_qualifiers=["P642"]) for source in (tables, sparql))
    assert again == made
    return made


DATES = [
    *(None, UNKNOWN, "2010", "2014-06", "2025-03-14", "2025-06", "2025", "2020s", "1900/7", "-0044-03-15"),
    *("-0044-03-15 julian", "-0500/7", "-0001", "-0001-02-30", "0000", "2025-01-05 julian"),
    *("2025-00-00/11", "2025-02-30", "12345-01-01", "2025-03-14/14", "2025-03-14/3"),
]
VALUES = {
    HEAD: [2, 3, 4, 5, -31],
    CAPITAL: [6, 7, 8],
    26: [2, 3, 9],
    BIRTH: [Date(text) for text in DATES if text not in (None, UNKNOWN)],
    CODE: ["FR", 'a "quote" \\ and\nlines\r\t', "", "e\u0301", "\u00e9"],
    NAME: [Text("pl", "Ma\u0142gorzata"), Text("zh-classical", "\u5b54\u5b50"), Text("be-x-old", "x")],
    INSTANCE: [HUMAN, COUNTRY, CITY, 10],
    SUBCLASS: [10, 11, COUNTRY],
    1082: [Amount("+1000000")],
}


@st.composite
def facts(draw: st.DrawFn, number: int) -> Fact:
    relation = draw(st.sampled_from(sorted(VALUES)))
    snak = draw(st.sampled_from(["value"] * 6 + ["somevalue", "novalue"]))
    value = draw(st.sampled_from(VALUES[relation]))
    kind = {CODE: "external-id", BIRTH: "time"}.get(relation)
    return Fact(
        draw(st.integers(1, 11)),
        relation,
        value if snak == "value" else 0,
        draw(st.sampled_from(DATES)),
        draw(st.sampled_from(DATES)),
        rank=draw(st.sampled_from(["normal", "normal", "preferred", "deprecated"])),
        quals=draw(st.sampled_from([(), (), (518,), (642, 1545)])),
        id=f"Q{number}${number}A-b",
        snak=snak,
        datatype=kind,
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    chosen = [draw(facts(number)) for number in range(draw(st.integers(5, 40)))]
    countries = kinds(**{f"Q{item}": (COUNTRY,) for item in (1, 2)})
    people = kinds(**{f"Q{item}": (HUMAN,) for item in (3, 4, 5)})
    changed = [Fact(1, HEAD, 3, "2010", "2025-03-14"), Fact(1, HEAD, 4, "2025-03-14")]
    return World(
        new=[*chosen, *countries, *people, *changed, *MENTIONED],
        no_label=draw(st.frozensets(st.integers(1, 11), max_size=2)),
        no_article=draw(st.frozensets(st.integers(20, 21), max_size=2)),
        labels={7: 'line\nbreak "quoted" \\', 8: ""},
        classes={9: (10,), 8: (HUMAN, 10)},
        properties=[Property(HEAD), Property(INSTANCE), Property(999)],
    )


@pytest.mark.slow
@settings(max_examples=examples(15))
@given(worlds())
def test_small_worlds(world):
    with TemporaryDirectory() as folder:
        check(world, Path(folder))


def test_all_values_and_dates(tmp_path):
    """Each value and each date at least once, whatever the examples above happen to hold."""
    values = [
        Fact(1 + place % 11, relation, value, id=f"Q1${relation}-{place}")
        for relation, listed in VALUES.items()
        for place, value in enumerate(listed)
    ]
    dated = [
        Fact(2, HEAD, 3, start, end, id=f"Q2$d-{place}-{shift}")
        for shift in (0, 5)
        for place, start in enumerate(DATES)
        for end in [DATES[(place + shift) % len(DATES)]]
    ]
    check(World(new=[*values, *dated, *MENTIONED]), tmp_path)


def test_the_server_loads_texts_in_what_is_no_language(tmp_path):
    tags = dict.fromkeys(("", "1de", "de-", "a b", 'de"@en'), "")
    tags |= {"de_AT": "@de-AT", "zh-classical": "@zh-classical"}
    names = [Fact(1, NAME, Text(tag, f"y{n}"), id=f"Q1$1-{n}") for n, tag in enumerate(tags)]
    with source_of(World(new=[*names, *MENTIONED]), tmp_path):
        database_of(tmp_path / "new")
    text = gzip.decompress((tmp_path / "new" / "rdf.nt.gz").read_bytes()).decode()
    assert all(f'"y{n}"{tag} .' in text for n, tag in enumerate(tags.values()))


def test_the_stage_finds_something(tmp_path):
    """The comparison is of something, and the answers depend neither on batches nor on months."""
    world = World(
        new=[
            *kinds(Q1=(COUNTRY,), Q2=(COUNTRY,), Q3=(HUMAN,), Q4=(HUMAN,)),
            Fact(1, HEAD, 3, "2010", "2025-03-14"),
            Fact(1, HEAD, 4, "2025-03-14"),
            Fact(1, HEAD, 5, "2012", quals=(642,)),
            Fact(2, HEAD, 3, "2010", "2025-03-14"),
            Fact(3, 25, 9),
            Fact(9, 19, 8),
            Fact(4, BIRTH, Date("1950-01-01 julian")),
            *MENTIONED,
        ]
    )
    found = check(world, tmp_path, batch=1, monthly=True)
    assert {fact["o"] for fact in found.facts} == {"Q3", "Q4"}
    assert found.answers(1) == {("P25", "item 9"), ("P569", "1 January 1950")}
    assert found.reasons("mutable") == {("Q2", "P6"): "no_change"}


def test_statements_with_several_dates(tmp_path):
    """From lines of a dump: several starts and ends, lexemes, dates that nobody can read."""
    with source_of_lines(tmp_path) as tables, sparql_source(database_of(tmp_path)) as sparql:
        for name, ask in QUESTIONS.items():
            assert ask(sparql).to_pylist() == ask(tables).to_pylist(), name
        row = sparql.statements(ids([1]), ids([HEAD]), ids([])).to_pylist()[0]
    assert (row["statement"], len(row["starts"])) == ("Q1$a", 2)


def uri(address: str) -> dict[str, str]:
    return {"type": "uri", "value": f"http://www.wikidata.org/{address}"}


@pytest.mark.parametrize(
    ("question", "row", "what"),
    [
        ("all properties", {"s": uri("entity/Q1"), "p": uri("prop/P6")}, r"lacks \?rank, \?st"),
        ("terms", dict.fromkeys(("s", "l", "lang", "kind"), uri("entity/P6")), r"names no item as \?s"),
        ("declarations", {"s": uri("entity/Px"), "type": uri("ontology#WikibaseItem")}, "names no property"),
    ],
)
def test_rows_without_what_was_asked_for_are_refused(question, row, what):
    server = SimpleNamespace(url="http://odd.example/sparql", rows=lambda query, divisible: [row])
    source = SparqlSource(server)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=rf"^http://odd\.example/sparql: a row of an answer {what}"):
        QUESTIONS[question](source)

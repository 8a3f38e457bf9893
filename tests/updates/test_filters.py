"""The filters of one dump, sentence by sentence (spec section 2)."""

from __future__ import annotations

import pyarrow.parquet as pq
from support.worlds import Date, Fact, Property, World

from factdrift.updates.filters import FILTERS, report

PLAIN, SINGLE, MEASURED, FOREIGN = 1000, 2000, 2001, 2002
CONSTRAINTS = [
    Property(PLAIN),
    Property(SINGLE, True),
    Property(MEASURED, True, (585,)),
    Property(FOREIGN, True, (1234,)),
]


def dropped(world, tmp_path, which="new", **switches):
    """Statement id -> filter."""
    return {row["statement"]: row["dropped_by"] for row in world.filtered(tmp_path, which, **switches)}


def test_ranks_snaks_and_datatypes(tmp_path):
    facts = [
        Fact(1, PLAIN, 7, id="kept"),
        Fact(1, PLAIN, 7, id="deprecated", rank="deprecated", snak="novalue"),
        Fact(1, PLAIN, 7, id="some", snak="somevalue"),
        Fact(1, PLAIN, 7, id="none", snak="novalue"),
        Fact(1, PLAIN, "x", id="url", datatype="url"),
        Fact(1, PLAIN, "x", id="math", datatype="math"),
    ]
    expected = {
        "kept": None,
        "deprecated": "rank",
        "some": "snak",
        "none": "snak",
        "url": "datatype",
        "math": "datatype",
    }
    assert dropped(World([], facts), tmp_path / "paper") == expected
    reference = dropped(World([], facts), tmp_path / "reference", variant="reference")
    assert reference == {**expected, "math": None}


PAGES = World(
    [],
    [Fact(number, PLAIN, 7, id=str(number)) for number in range(1, 9)],
    no_article=frozenset({1}),
    classes={2: (4167836,), 3: (50,), 4: (60,), 5: (61,), 6: (62,), 7: (), 8: (5, 50)},
    superclasses={50: (51,), 51: (52,), 52: (53,), 53: (54,), 54: (13406463, 51), 60: (), 61: (), 62: ()},
    class_labels={60: "Wikimedia portal", 61: "template of a ship", 62: "Template, wikimedia"},
)


def test_pages_by_the_closure_of_subclasses_at_any_depth_even_in_a_circle(tmp_path):
    found = dropped(PAGES, tmp_path)
    assert {key for key, value in found.items() if value == "subject"} == {"1", "2", "3", "8"}


def test_reference_knows_pages_by_words_in_the_label_of_a_class(tmp_path):
    found = dropped(PAGES, tmp_path, variant="reference")
    assert {key for key, value in found.items() if value == "subject"} == {"1", "4", "5"}


def test_objects_must_be_relevant_where_the_switch_says_so(tmp_path):
    facts = [
        Fact(1, PLAIN, 7, id="article"),
        Fact(1, PLAIN, 8, id="bare"),
        Fact(1, PLAIN, 9, id="absent"),
        Fact(1, PLAIN, "text", id="text"),
        Fact(1, PLAIN, -PLAIN, id="property"),
    ]
    world = World([], facts, [Property(PLAIN)], no_article=frozenset({8}), absent_new=frozenset({9}))
    strict = {"article": None, "bare": "object", "absent": "object", "text": None, "property": "object"}
    loose = dict.fromkeys(strict)
    assert dropped(world, tmp_path / "1") == strict
    assert dropped(world, tmp_path / "2", objects="any") == loose
    assert dropped(world, tmp_path / "3", variant="reference") == loose
    assert dropped(world, tmp_path / "4", variant="reference", objects="relevant") == strict


def test_relevance_is_each_dumps_own_but_in_revised_either_is_enough(tmp_path):
    facts = [Fact(1, PLAIN, 7, id="subject"), Fact(2, PLAIN, 8, id="object"), Fact(3, PLAIN, 9, id="absent")]
    world = World(facts[:2], facts, no_article_old=frozenset({1, 8, 9}), absent_old=frozenset({3}))
    own = dropped(world, tmp_path / "1", "old")
    assert own == {"subject": "subject", "object": "object"}
    assert dropped(world, tmp_path / "2", "old", variant="revised") == {"subject": None, "object": None}


TYPES = {
    11: (12,), 12: (13,), 13: (61719275,), 14: (11,),
    21: (22,), 22: (23,), 23: (51118821,), 24: (21,),
}  # fmt: skip
"""Three classes below the one in question: the fourth step. 14 and 24 are one step farther."""


def test_meta_relations_within_four_steps(tmp_path):
    relations = {3001: (51118821,), 3002: (21,), 3003: (24,), 3004: (11,)}
    facts = [Fact(1, relation, 7, id=str(relation)) for relation in relations]
    world = World(
        [], facts, [Property(each, classes=types) for each, types in relations.items()], superclasses=TYPES
    )
    found = dropped(world, tmp_path)
    assert found == {"3001": "meta_relation", "3002": "meta_relation", "3003": None, "3004": None}


def test_restrictive_qualifiers(tmp_path):
    types = {
        4001: (61719275,),
        4002: (11,),
        4003: (14,),  # one step too far
        4004: (61719275, 61719274),
        4005: (105388954, 61719274),
        4006: (),
        4007: (61719274,),
        580: (61719275,),
    }
    facts = [Fact(1, PLAIN, 7, id=str(each), quals=(each,)) for each in [*types, 4008, 447]]
    facts += [Fact(1, PLAIN, 7, id="two", quals=(4006, 4001))]
    world = World(
        [], facts, [Property(each, classes=known) for each, known in types.items()], superclasses=TYPES
    )
    found = dropped(world, tmp_path)
    restrictive = {key for key, value in found.items() if value == "restrictive_qualifier"}
    assert restrictive == {"4001", "4002", "4005", "447", "two"}


def latest(tmp_path, facts, **switches):
    """Ids of the facts (id, pit, rank) of a measured relation that the filters keep in the new dump."""
    rows = [
        Fact(1, MEASURED, number, pit=pit, rank=rank, id=name)
        for number, (name, pit, rank) in enumerate(facts, 7)
    ]
    found = dropped(World([], rows, CONSTRAINTS), tmp_path, **switches)
    return {name for name, reason in found.items() if reason is None}


N, P = "normal", "preferred"


KEPT = {
    "all dated": ([("a", "2020", N), ("b", "2022", N), ("c", "2024", N)], {"b"}),
    "all dated: rank does not count": ([("a", "2020", P), ("b", "2022", N)], {"b"}),
    "the dump's own day is not after it": ([("a", "2022", N), ("b", "2023-02-27", N)], {"b"}),
    "all after the dump": ([("a", "2024", N), ("b", "2025", P)], set()),
    "some lack it, one preferred": ([("a", "2020", N), ("b", None, P), ("c", "2022", N)], {"b"}),
    "some lack it: the preferred one has no cap": ([("a", "2024", P), ("b", None, N)], {"a"}),
    "several preferred": ([("a", "2020", P), ("b", None, P), ("c", "2022", N)], {"c"}),
    "none preferred": ([("a", "2020", N), ("b", None, N), ("c", "2024", N)], {"a"}),
    "some lack it, the others are after the dump": ([("a", "2024", N), ("b", None, N)], set()),
    "tie: preferred": ([("b", "2022", N), ("a", "2022", N), ("c", "2022", P)], {"c"}),
    "tie: smallest id": ([("b", "2022", N), ("a", "2022", N)], {"a"}),
    "none dated": ([("a", None, N), ("b", None, N)], {"a", "b"}),
}


def test_keep_latest(tmp_path):
    rows = [
        Fact(subject, MEASURED, number, pit=pit, rank=rank, id=f"{name}: {statement}")
        for subject, (name, (facts, _)) in enumerate(KEPT.items(), 100)
        for number, (statement, pit, rank) in enumerate(facts, 7)
    ]
    found = dropped(World([], rows, CONSTRAINTS), tmp_path)
    kept = {name for name, reason in found.items() if reason is None}
    assert kept == {f"{name}: {statement}" for name, (_, ids) in KEPT.items() for statement in ids}


def test_keep_latest_in_reference_has_no_cap_and_no_preferred_one(tmp_path):
    facts = [("a", "2020", N), ("b", None, P), ("c", "2024", N)]
    assert latest(tmp_path, facts, variant="reference") == {"c"}


def test_of_intervals_that_begin_alike_the_one_that_ends_later_is_the_latest(tmp_path):
    facts = [("a", "2022-01", P), ("b", "2022", N)]
    assert latest(tmp_path / "1", facts, dates="interval") == {"b"}
    assert latest(tmp_path / "2", facts) == {"a"}


def test_which_relations_keep_the_latest(tmp_path):
    facts = [
        Fact(1, relation, 7 + year, pit=str(2018 + year), id=f"{relation} {year}")
        for relation in (PLAIN, SINGLE, MEASURED, FOREIGN)
        for year in (0, 1)
    ]
    world = World([], facts, CONSTRAINTS)
    paper = {name for name, reason in dropped(world, tmp_path / "1").items() if reason == "keep_latest"}
    assert paper == {f"{SINGLE} 0", f"{MEASURED} 0"}
    found = dropped(world, tmp_path / "2", variant="reference")
    assert {name for name, reason in found.items() if reason == "keep_latest"} == {f"{MEASURED} 0"}


def test_an_only_preferred_value_of_a_single_value_relation_stands_alone(tmp_path):
    facts = [
        Fact(number, relation, value, rank=rank, id=f"{number} {relation} {value}")
        for number, ranks in ((1, (N, P, N)), (2, (P, P, N)), (3, (N, N, N)))
        for relation in (PLAIN, FOREIGN)
        for value, rank in enumerate(ranks, 7)
    ]
    found = dropped(World([], facts, CONSTRAINTS), tmp_path)
    assert {name for name, reason in found.items() if reason == "preferred"} == {"1 2002 7", "1 2002 9"}


def test_constraints_are_each_dumps_own_but_in_reference_the_new_ones(tmp_path):
    facts = [Fact(1, FOREIGN, 7, id="a"), Fact(1, FOREIGN, 8, rank=P, id="b")]
    world = World(facts, facts, [Property(FOREIGN)], [Property(FOREIGN, True, (1234,))])
    assert dropped(world, tmp_path / "1", "old") == {"a": "preferred", "b": None}
    assert dropped(world, tmp_path / "2", "new") == {"a": None, "b": None}
    assert dropped(world, tmp_path / "3", "old", variant="reference") == {"a": None, "b": None}


def test_the_report_counts_every_statement_once(tmp_path):
    facts = [
        Fact(1, PLAIN, 7),
        Fact(1, PLAIN, 8, rank="deprecated"),
        Fact(1, 570, Date("2020"), snak="novalue"),
    ]
    dropped(World(facts[:1], facts), tmp_path)
    paths = [tmp_path / which / "filtered.parquet" for which in ("old", "new")]
    report(paths[:1], paths[1:], tmp_path / "report.parquet")
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "report.parquet").to_pylist()]
    assert rows == [
        ("old", PLAIN, "kept", 1),
        ("new", 570, "snak", 1),
        ("new", PLAIN, "kept", 1),
        ("new", PLAIN, "rank", 1),
    ]
    assert {row[2] for row in rows} - {"kept"} <= set(FILTERS)

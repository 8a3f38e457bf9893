"""What becomes of the groups: dropped ones, repeated objects, scenarios, restrictions (spec section 5)."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from support.worlds import RULES, Amount, Date, Fact, Property, Text, World

from factdrift.core.errors import InputError
from factdrift.updates.only import read_subjects
from factdrift.updates.rules import read_rules

PLAIN, SINGLE = 1000, 2000
STATIC, NEW, OBSOLETE = ("2010", None), ("2022-01-01", None), ("2010", "2022-01-01")
IGNORE, UNKNOWN = ("2010", "2015"), (None, None)


def fates(groups, tmp_path, **switches):
    """Name of a group -> what becomes of each of its facts, in order: a filter or the scenario.

    A group lists (object, (start, end)); its facts stand in both dumps. In `reference` such a group would be
    unchanged: the last fact is an added one there and here.
    """
    old, new = [], []
    for subject, facts in enumerate(groups.values(), 100):
        rows = [Fact(subject, PLAIN, o, *times, id=f"{subject} {n}") for n, (o, times) in enumerate(facts)]
        anchor = Fact(subject, 999, 5, start="2000")
        old += [anchor, *rows[:-1]]
        new += [anchor, *rows]
    found: dict[str, list[str]] = {name: [] for name in groups}
    no_label = frozenset({9})
    world = World(old, new, [Property(PLAIN)], no_label=no_label, labels={11: "twin", 12: "twin"})
    for row in world.updates(tmp_path, **switches):
        if row["property"] == PLAIN:
            name = list(groups)[row["subject"] - 100]
            found[name].append(row["dropped_by"] or row["scenario"] + "*" * row["is_replace"])
    return found


def test_drops_and_scenarios(tmp_path):
    groups = {
        "replace": [(7, OBSOLETE), (8, NEW)],
        "archive": [(7, OBSOLETE), (8, OBSOLETE)],
        "archive one": [(7, IGNORE), (8, OBSOLETE)],
        "add object": [(7, STATIC), (8, NEW)],
        "add relation": [(7, NEW), (8, NEW)],
        "other": [(7, OBSOLETE), (6, STATIC), (8, NEW)],
        "unknown": [(7, UNKNOWN), (6, IGNORE), (8, NEW)],
        "ignored": [(7, IGNORE), (8, IGNORE)],
        "static": [(7, STATIC), (8, STATIC)],
        "no label": [(9, OBSOLETE), (7, IGNORE), (8, NEW)],
        "no label, but ignored": [(9, IGNORE), (8, NEW)],
        "blank": [("  ", OBSOLETE), (8, NEW)],
        "blank text": [(Text("en", " "), OBSOLETE), (8, NEW)],
    }
    expected = {
        "replace": ["ReplaceObject*"] * 2,
        "archive": ["Archive"] * 2,
        "archive one": ["ignore", "Archive"],
        "add object": ["AddObject"] * 2,
        "add relation": ["AddRelation"] * 2,
        "other": ["Other"] * 3,
        "unknown": ["unknown"] * 3,
        "ignored": ["ignore"] * 2,
        "static": ["static"] * 2,
        "no label": ["no_label", "ignore", "no_label"],
        "no label, but ignored": ["ignore", "AddRelation"],
        "blank": ["no_label"] * 2,
        "blank text": ["no_label"] * 2,
    }
    assert fates(groups, tmp_path / "1") == expected
    expected["archive"] = ["Other"] * 2
    assert fates(groups, tmp_path / "2", variant="reference") == expected


REPEATED = {
    "all obsolete": [(7, OBSOLETE), (7, OBSOLETE)],
    "new, then static": [(7, NEW), (8, NEW), (7, STATIC)],
    "only one object, new, then static": [(7, NEW), (7, STATIC)],
    "only one object, static, then new": [(7, STATIC), (7, NEW)],
    "obsolete and static": [(8, NEW), (7, OBSOLETE), (7, STATIC)],
    "obsolete and new, and one to ignore": [(6, IGNORE), (7, OBSOLETE), (7, NEW)],
    "ignored ones do not count": [(7, IGNORE), (7, NEW)],
    "same label": [(11, OBSOLETE), (12, NEW)],
    "same amount of another unit": [(Amount("10"), OBSOLETE), (Amount("10", "5"), NEW)],
    "replaced and repeated": [(7, OBSOLETE), (8, NEW), (8, NEW)],
}


def test_repeated_objects_in_paper(tmp_path):
    assert fates(REPEATED, tmp_path) == {
        "all obsolete": ["Archive", "duplicate"],
        "new, then static": ["duplicate", "AddObject", "AddObject"],
        "only one object, new, then static": ["duplicate", "static"],
        "only one object, static, then new": ["static", "duplicate"],
        "obsolete and static": ["anomaly"] * 3,
        "obsolete and new, and one to ignore": ["ignore", "anomaly", "anomaly"],
        "ignored ones do not count": ["ignore", "AddRelation"],
        "same label": ["ReplaceObject*"] * 2,
        "same amount of another unit": ["ReplaceObject*"] * 2,
        "replaced and repeated": ["ReplaceObject*", "ReplaceObject*", "duplicate"],
    }


def test_repeated_objects_in_reference(tmp_path):
    assert fates(REPEATED, tmp_path, variant="reference") == {
        "all obsolete": ["Archive", "duplicate"],
        "new, then static": ["AddRelation", "AddRelation", "duplicate"],
        "only one object, new, then static": ["AddRelation", "duplicate"],
        "only one object, static, then new": ["Other", "duplicate"],
        "obsolete and static": ["anomaly"] * 3,
        "obsolete and new, and one to ignore": ["ignore", "anomaly", "anomaly"],
        "ignored ones do not count": ["ignore", "AddRelation"],
        "same label": ["anomaly"] * 2,
        "same amount of another unit": ["anomaly"] * 2,
        # is_replace was computed while there were two new ones; the scenario comes last
        "replaced and repeated": ["ReplaceObject", "ReplaceObject", "duplicate"],
    }


def test_reference_skips_groups_without_a_change(tmp_path):
    facts = [Fact(1, PLAIN, 7, "2022-01-01"), Fact(1, PLAIN, 8)]
    world = World(facts, facts, [Property(PLAIN)])
    assert {row["dropped_by"] for row in world.updates(tmp_path / "1", variant="reference")} == {"unchanged"}
    assert {row["dropped_by"] for row in world.updates(tmp_path / "2")} == {"unknown"}


def test_a_subject_without_a_label_drops_its_groups_unless_one_is_supplied(tmp_path):
    world = World([], [Fact(1, 571, Date("2022-01-01"))], no_label=frozenset({1}))
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nQ1\tone\n", encoding="utf-8")
    (row,) = world.updates(tmp_path / "1")
    assert (row["dropped_by"], row["scenario"]) == ("no_label", None)
    (row,) = world.updates(tmp_path / "2", labels=[labels])
    assert (row["dropped_by"], row["scenario"]) == (None, "AddEntity")


def test_a_subject_whose_label_holds_the_blank_of_a_cloze_test_drops_its_groups(tmp_path):
    new = [Fact(subject, 571, Date("2022-01-01")) for subject in (1, 2)]
    world = World([], new, labels={1: "Dear ____", 2: "Dear __"})
    assert [row["dropped_by"] for row in world.updates(tmp_path)] == ["no_label", None]


def test_the_old_dumps_label_will_do(tmp_path):
    facts = [Fact(1, PLAIN, 7, *OBSOLETE)]
    world = World(facts, facts, [Property(PLAIN)], no_label_new=frozenset({1, 7}))
    assert [row["scenario"] for row in world.updates(tmp_path)] == ["Archive"]


def test_a_property_as_object_has_its_label_in_either_dump_or_drops_the_group(tmp_path):
    facts = [Fact(1, relation, -number, *OBSOLETE) for relation, number in ((1, 31), (2, 32), (3, 33))]
    world = World(facts, facts, [Property(32)], old_properties=[Property(31)])
    rows = world.updates(tmp_path, objects="any")
    assert [row["dropped_by"] for row in rows] == [None, None, "no_label"]


def test_what_the_old_dump_knew_beforehand_is_marked_as_announced(tmp_path):
    planned, sudden = Fact(1, PLAIN, 7, *NEW), Fact(1, PLAIN, 8, *NEW)
    limited = Fact(1, SINGLE, 7, "2022-01-01", "2024-01-01")
    world = World([planned, limited], [planned, sudden, limited], [Property(PLAIN), Property(SINGLE)])
    rows = world.updates(tmp_path, variant="revised")
    assert [(row["key"], row["label"], row["announced"]) for row in rows] == [
        ("Q7", "new", True),
        ("Q8", "new", False),
        ("Q7", "new", True),
    ]


def test_restricting_to_relations_and_subjects_changes_nothing_else(tmp_path):
    facts = [Fact(s, p, 7, *OBSOLETE) for s in (1, 2) for p in (PLAIN, SINGLE)]
    world = World(facts, facts, [Property(PLAIN), Property(SINGLE)])
    subjects = tmp_path / "subjects.txt"
    subjects.write_text("# one\nQ2  # two\n\n", encoding="utf-8")
    whole = world.updates(tmp_path / "whole")
    part = world.updates(tmp_path / "part", only_relations=[SINGLE], only_subjects=subjects)
    for row, same in zip(part, whole, strict=True):
        if (row["subject"], row["property"]) == (2, SINGLE):
            assert row == same
        else:
            assert (row["dropped_by"], row["scenario"], row["label"]) == ("only", None, "obsolete")


def test_restricting_to_classes_takes_their_subclasses_of_either_dump(tmp_path):
    facts = [Fact(s, PLAIN, 7, *OBSOLETE) for s in (1, 2, 3, 4)]
    world = World(
        facts,
        facts,
        [Property(PLAIN)],
        classes={1: (50,), 2: (51,), 3: (52,)},
        old_classes={4: (51,)},
        superclasses={51: (53,), 53: (50, 53), 52: (54,)},
    )
    subjects = tmp_path / "subjects.txt"
    subjects.write_text("Q2\nQ3\n", encoding="utf-8")

    def kept(name, **options):
        rows = world.updates(tmp_path / name, **options)
        return [row["subject"] for row in rows if row["dropped_by"] != "only"]

    assert kept("all") == [1, 2, 3, 4]
    assert kept("classes", only_classes=[50]) == [1, 2, 4]
    assert kept("several", only_classes=[54, 53]) == [2, 3, 4]
    assert kept("both", only_classes=[50], only_subjects=subjects) == [2]
    assert kept("none", only_classes=[99]) == []


def test_groups_of_which_the_rules_know_nothing_are_counted(tmp_path):
    bare = [Fact(s, p, o) for s in (1, 2) for p in (PLAIN, SINGLE) for o in (7, 8)]
    world = World(bare, [*bare, Fact(2, SINGLE, 9)], [Property(PLAIN), Property(SINGLE)])
    subjects = tmp_path / "subjects.txt"
    subjects.write_text("Q1\n", encoding="utf-8")

    def counted(name, **options):
        rows = world.updates(tmp_path / name, **options)
        assert {(row["subject"], row["property"]) for row in rows} == {(2, SINGLE)}
        table = pq.read_table(tmp_path / name / "untouched.parquet")
        assert set(table["rule"].to_pylist()) == {"undecided"}
        return [
            tuple(row.values()) for row in table.select(["property", "dropped_by", "triples"]).to_pylist()
        ]

    assert counted("all") == [(PLAIN, "unknown", 4), (SINGLE, "unknown", 2)]
    assert counted("reference", variant="reference") == [(PLAIN, "unchanged", 4), (SINGLE, "unchanged", 2)]
    assert counted("some", only_relations=[PLAIN], only_subjects=subjects) == [
        (PLAIN, "only", 2),
        (PLAIN, "unknown", 2),
        (SINGLE, "only", 2),
    ]


@pytest.mark.parametrize(
    ("condition", "label"),
    [("present", "static"), ("value_in", "unknown"), ("object_new and n = 2", "unknown"), ("n = 1", "new")],
)
def test_a_rule_that_decides_about_groups_of_which_nothing_is_known_is_told(tmp_path, condition, label):
    path = tmp_path / "rules.tsv"
    path.write_text(
        HEADER + f"1\tmine\t{label}\t{condition}\t=\t=\t\n2\trest\tunknown\ttrue\t=\t=\t\n", encoding="utf-8"
    )
    bare = [Fact(1, PLAIN, 7)]
    with pytest.raises(
        InputError, match=r"rules\.tsv: .*triples of P1000 that were neither added nor removed"
    ):
        World(bare, bare, [Property(PLAIN)]).updates(tmp_path / "1", rules=path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Q1\nL2\n", "line 2: 'L2' is no id"),
        ("# none\n", "no id in it"),
        ("P2  # properties are no subjects\n", "no item id in it"),
    ],
)
def test_files_of_subjects_that_cannot_be_read(tmp_path, text, message):
    path = tmp_path / "subjects.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_subjects(path)
    with pytest.raises(InputError, match="missing"):
        read_subjects(tmp_path / "nothing.txt")


HEADER = "row\trule\tlabel\tpaper\treference\trevised\tmeaning\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row\trule\tlabel\tpaper\treference\n", "line 1: the column 'revised' is missing"),
        (HEADER + "1\ta\told\ttrue\t=\t=\t\n", "line 2: 'old' is none of new, obsolete"),
        (HEADER + "1\ta\tnew\tadded\t=\t=\t\n2\ta\tnew\ttrue\t=\t=\t\n", "line 3: the rule 'a' occurs twice"),
        (HEADER + "1\ta\tnew\tadded\t=\t=\t\n", "the last rule must hold always"),
        (HEADER, "the last rule must hold always"),
    ],
)
def test_rule_tables_that_cannot_be_read(tmp_path, text, message):
    path = tmp_path / "rules.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_rules(path, "paper")


def test_a_table_of_rules_of_ones_own(tmp_path):
    path = tmp_path / "rules.tsv"
    path.write_text(
        HEADER + "1\tadded\tnew\tadded\t-\t=\t\n2\trest\tstatic\ttrue\t=\t=\t\n", encoding="utf-8"
    )
    assert [rule.name for rule in read_rules(path, "reference")] == ["rest"]
    world = World([Fact(1, PLAIN, 7)], [Fact(1, PLAIN, 7), Fact(1, PLAIN, 8)], [Property(PLAIN)])
    found = [
        (row["rule"], row["label"], row["scenario"]) for row in world.updates(tmp_path / "1", rules=path)
    ]
    assert found == [("rest", "static", "AddObject"), ("added", "new", "AddObject")]


def test_the_shipped_rules_have_the_rows_of_the_paper():
    paper, reference = read_rules(RULES, "paper"), read_rules(RULES, "reference")
    numbers = [str(number) for number in range(1, 21)]
    assert [rule.row for rule in reference if rule.row != "4m"] == numbers
    assert [rule.row for rule in paper if rule.row != "4m"] == [each for each in numbers if each != "18"]
    revised = [rule.row for rule in read_rules(RULES, "revised")]
    assert [row for row in revised if row not in ("8a", "8b")] == [rule.row for rule in paper]
    assert revised.index("8a") + 2 == revised.index("8b") + 1 == revised.index("8")

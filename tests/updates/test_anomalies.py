"""What random worlds do not show of the last steps (spec section 5); for the rest see test_against_oracle."""

import pytest
from support.rows import rows
from support.worlds import Amount, Date, Fact, Property, Text, World

from factdrift.core.errors import InputError
from factdrift.updates.classify import read_subjects
from factdrift.updates.rules import read_rules

PLAIN, SINGLE = 1000, 2000
STATIC, NEW, OBSOLETE = ("2010", None), ("2022-01-01", None), ("2010", "2022-01-01")
IGNORE, UNKNOWN = ("2010", "2015"), (None, None)
HEADER = "row\trule\tlabel\tpaper\treference\trevised\tmeaning\n"


def in_paper(path):
    return read_rules(path, "paper")


# Name -> the facts of a group, what becomes of them in `paper`, and in `reference` if it is something else.
GROUPS = {
    "replace": ([(7, OBSOLETE), (8, NEW)], ["ReplaceObject*"] * 2),
    "archive": ([(7, OBSOLETE), (8, OBSOLETE)], ["Archive"] * 2, ["Other"] * 2),
    "archive one": ([(7, IGNORE), (8, OBSOLETE)], ["ignore", "Archive"]),
    "add object": ([(7, STATIC), (8, NEW)], ["AddObject"] * 2),
    "add relation": ([(7, NEW), (8, NEW)], ["AddRelation"] * 2),
    "other": ([(7, OBSOLETE), (6, STATIC), (8, NEW)], ["Other"] * 3),
    "unknown": ([(7, UNKNOWN), (6, IGNORE), (8, NEW)], ["unknown"] * 3),
    "ignored": ([(7, IGNORE), (8, IGNORE)], ["ignore"] * 2),
    "static": ([(7, STATIC), (8, STATIC)], ["static"] * 2),
    "no label": ([(9, OBSOLETE), (7, IGNORE), (8, NEW)], ["no_label", "ignore", "no_label"]),
    "no label, but ignored": ([(9, IGNORE), (8, NEW)], ["ignore", "AddRelation"]),
    "blank": ([("  ", OBSOLETE), (8, NEW)], ["no_label"] * 2),
    "blank text": ([(Text("en", " "), OBSOLETE), (8, NEW)], ["no_label"] * 2),
    "all obsolete": ([(7, OBSOLETE), (7, OBSOLETE)], ["Archive", "duplicate"]),
    "one object to ignore, and then new twice":
        ([(7, IGNORE), (7, NEW), (7, NEW)], ["ignore", "AddRelation", "duplicate"]),
    "new, then static":
        ([(7, NEW), (8, NEW), (7, STATIC)],
         ["duplicate", "AddObject", "AddObject"], ["AddRelation", "AddRelation", "duplicate"]),
    "one object, new, then static":
        ([(7, NEW), (7, STATIC)], ["duplicate", "static"], ["AddRelation", "duplicate"]),
    "one object, static, then new":
        ([(7, STATIC), (7, NEW)], ["static", "duplicate"], ["Other", "duplicate"]),
    "obsolete and static": ([(8, NEW), (7, OBSOLETE), (7, STATIC)], ["anomaly"] * 3),
    "obsolete and new, and one to ignore":
        ([(6, IGNORE), (7, OBSOLETE), (7, NEW)], ["ignore", "anomaly", "anomaly"]),
    "same label": ([(11, OBSOLETE), (12, NEW)], ["ReplaceObject*"] * 2, ["anomaly"] * 2),
    "same amount of another unit":
        ([(Amount("10"), OBSOLETE), (Amount("10", "5"), NEW)], ["Other"] * 2, ["anomaly"] * 2),
    "another amount of another unit":
        ([(Amount("10"), OBSOLETE), (Amount("20", "5"), NEW)], ["Other"] * 2, ["ReplaceObject*"] * 2),
    # In `reference` is_replace is computed while there are two new ones; the scenario comes last.
    "replaced and repeated":
        ([(7, OBSOLETE), (8, NEW), (8, NEW)],
         ["ReplaceObject*", "ReplaceObject*", "duplicate"], ["ReplaceObject", "ReplaceObject", "duplicate"]),
}  # fmt: skip


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_drops_duplicates_anomalies_and_scenarios(variant, tmp_path):
    """The facts of a group stand in both dumps, but for the last one: `reference` skips unchanged groups."""
    old, new = [], []
    for subject, (facts, *_) in enumerate(GROUPS.values(), 100):
        group = [Fact(subject, PLAIN, o, *times, id=f"{subject} {n}") for n, (o, times) in enumerate(facts)]
        anchor = Fact(subject, 999, 5, start="2000")
        old += [anchor, *group[:-1]]
        new += [anchor, *group]
    world = World(old, new, [Property(PLAIN)], no_label=frozenset({9}), labels={11: "twin", 12: "twin"})
    outcomes: dict[str, list[str]] = {name: [] for name in GROUPS}
    for row in world.updates(tmp_path, variant=variant):
        if row["property"] == PLAIN:
            name = list(GROUPS)[row["subject"] - 100]
            outcomes[name].append(row["dropped_by"] or row["scenario"] + "*" * row["is_replace"])
    expected = -1 if variant == "reference" else 1
    assert outcomes == {name: group[expected] for name, group in GROUPS.items()}


def test_groups_without_a_name_are_dropped(tmp_path):
    """A name in either dump will do, or a supplied one; one that holds the blank of a cloze test is none."""
    both = [Fact(4, PLAIN, 7, *OBSOLETE)]
    both += [Fact(4, relation, -number, *OBSOLETE) for relation, number in ((1, 31), (2, 32), (3, 33))]
    new = [*(Fact(subject, 571, Date("2022-01-01")) for subject in (1, 2, 3)), *both]
    names = {"no_label": frozenset({1}), "no_label_new": frozenset({4, 7})}
    names["labels"] = {2: "Dear ____", 3: "Dear __"}
    world = World(both, new, [Property(PLAIN), Property(32)], old_properties=[Property(31)], **names)
    supplied = tmp_path / "labels.tsv"
    supplied.write_text("id\tlabel\nQ1\tone\n", encoding="utf-8")
    for labels, first in (((), "no_label"), ((supplied,), None)):
        found = world.updates(tmp_path / str(first), labels=labels, objects="any")
        dropped = [row["dropped_by"] for row in found]
        assert dropped == [first, "no_label", None, None, None, "no_label", None]


OBJECT_NAMES = {601: "Ukraine", 602: "cafe bar", 603: "invasion Ukraine", 604: "***"}
LEAKS = [
    *(("Astana", Text("en", "Astana"), True), ("Astana", Text("kk", "Астана"), False)),
    *(("Astana", "ASTANA.", True), ("Ukrainian", 601, False), ("Café-Bar Zoë", 602, True)),
    *(("Russian invasion of Ukraine", 601, True), ("Russian invasion of Ukraine", 603, False)),
    *(("Apollo 11", Amount("11"), True), ("Apollo 11", Amount("+11"), True), ("+++", 604, False)),
    *(("Apollo 11", Amount("1"), False), ("Siege of 984", Date("0984"), True)),
    *(("1984 Summer Olympics", Date(text), text == "1984") for text in ("1984", "1984-08-01", "-1984")),
]


def test_an_object_leaks_if_its_words_stand_in_the_subjects_name(tmp_path):
    facts = [Fact(subject, PLAIN, value, start="2022") for subject, (_, value, _) in enumerate(LEAKS, 100)]
    names = {100 + place: case[0] for place, case in enumerate(LEAKS)}
    # A supplied name counts only where neither dump has one.
    facts += [Fact(subject, PLAIN, "Astana", start="2022") for subject in (200, 201)]
    supplied = tmp_path / "labels.tsv"
    supplied.write_text("id\tlabel\nQ200\tAstana\nQ201\tAstana\n", encoding="utf-8")
    only_old, nowhere = frozenset({200}), frozenset({201})
    labels = OBJECT_NAMES | names | {200: "Akmola"}
    world = World([], facts, labels=labels, no_label_new=only_old, no_label=nowhere)
    leaks = [*(each for _, _, each in LEAKS), False, True]
    for how, fates in (("keep", [None] * len(leaks)), ("drop", ["leak" if each else None for each in leaks])):
        rows = world.updates(tmp_path / how, leaks=how, labels=[supplied])
        assert [row["leaks"] for row in rows] == leaks
        assert [row["dropped_by"] for row in rows] == fates


def test_restricting_to_relations_subjects_and_classes_changes_nothing_else(tmp_path):
    facts = [Fact(s, p, 7, *OBSOLETE) for s in (1, 2, 3, 4) for p in (PLAIN, SINGLE)]
    facts += [Fact(s, p, o) for s in (1, 2) for p in (30, 40) for o in (7, 8)]
    classes = {1: (50,), 2: (51,), 3: (52,)}
    above = {51: (53,), 53: (50, 53), 52: (54,)}
    world = World(facts, facts, classes=classes, old_classes={4: (51,)}, superclasses=above)
    subjects = tmp_path / "subjects.txt"
    subjects.write_text("# two\nQ2\n\nQ3  # three\n", encoding="utf-8")
    whole = world.updates(tmp_path / "whole")

    def kept(name, **options):
        found = world.updates(tmp_path / name, **options)
        others = [row for row in found if row["dropped_by"] == "only"]
        assert {(row["scenario"], row["label"]) for row in others} == {(None, "obsolete")}
        assert all(row in whole or row in others for row in found)
        return [(row["subject"], row["property"]) for row in found if row not in others]

    both = [PLAIN, SINGLE]
    assert kept("rows", only_relations=[SINGLE, 30], only_subjects=subjects) == [(2, SINGLE), (3, SINGLE)]
    # Groups of which the rules know nothing are only counted.
    counted = [tuple(row.values()) for row in rows(tmp_path / "rows" / "untouched.parquet")]
    fate = ("undecided", "unknown")
    assert counted == [(30, *fate, "only", 2), (30, *fate, "unknown", 2), (40, *fate, "only", 4)]
    # Of the subclasses of either dump.
    assert kept("classes", only_classes=[50]) == [(s, p) for s in (1, 2, 4) for p in both]
    several = kept("several", only_classes=[54, 53], only_subjects=subjects)
    assert several == [(s, p) for s in (2, 3) for p in both]


@pytest.mark.parametrize(
    ("condition", "label"),
    [("present", "static"), ("value_in", "unknown"), ("object_new and n = 2", "unknown")],
)
def test_a_rule_that_decides_about_groups_of_which_nothing_is_known_is_told(tmp_path, condition, label):
    path = tmp_path / "rules.tsv"
    lines = f"1\tmine\t{label}\t{condition}\t=\t=\t\n2\trest\tunknown\ttrue\t=\t=\t\n"
    path.write_text(HEADER + lines, encoding="utf-8")
    bare = [Fact(1, PLAIN, 7)]
    with pytest.raises(InputError, match=r"rules\.tsv: .*triples of P1000 that were neither added nor rem"):
        World(bare, bare, [Property(PLAIN)]).updates(tmp_path / "1", rules=path)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_subjects, "Q1\nL2\n", "line 2: 'L2' is no id"),
        (read_subjects, "P2  # properties are no subjects\n", "no item id in it"),
        (read_subjects, None, "missing"),
        (in_paper, "row\trule\tlabel\tpaper\treference\n", "line 1: the column 'revised' is missing"),
        (in_paper, HEADER + "1\ta\tnew\ttrue\n", "line 2: 4 fields instead of 7"),
        (in_paper, HEADER + "1\ta\told\ttrue\t=\t=\t\n", "line 2: 'old' is none of new, obsolete"),
        (in_paper, HEADER + "1\ta\tnew\ta\t=\t=\t\n2\ta\tnew\ttrue\t=\t=\t\n", "line 3: the rule 'a' occurs"),
        (in_paper, HEADER + "1\ta\tnew\tadded\t=\t=\t\n", "the last rule must hold always"),
    ],
)
def test_files_of_subjects_and_of_rules_that_cannot_be_read(tmp_path, read, text, message):
    path = tmp_path / "given"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read(path)

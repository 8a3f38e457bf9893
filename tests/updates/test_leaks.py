"""Objects that the subject's name tells: marked in every variant, left out in `revised` (`leaks: drop`)."""

import pytest
from support.worlds import Amount, Date, Fact, Text, World

RELATION = 1000
NAMES = {
    1: "Astana",
    2: "Russian invasion of Ukraine",
    3: "Ukrainian",
    4: "Café-Bar Zoë",
    5: "Apollo 11",
    6: "1984 Summer Olympics",
    7: "+++",
    8: "Siege of 984",
    601: "Ukraine",
    602: "cafe bar",
    603: "invasion Ukraine",
    604: "***",
}


@pytest.mark.parametrize(
    ("subject", "value", "leaks"),
    [
        (1, Text("en", "Astana"), True),
        (1, Text("kk", "Астана"), False),
        (1, "ASTANA.", True),
        (2, 601, True),
        (2, 603, False),
        (3, 601, False),
        (4, 602, True),
        (5, Amount("11"), True),
        (5, Amount("+11"), True),
        (5, Amount("1"), False),
        (8, Date("0984"), True),
        (7, 604, False),
        (6, Date("1984"), True),
        (6, Date("1984-08-01"), False),
        (6, Date("-1984"), False),
    ],
)
def test_an_object_leaks_if_its_words_stand_in_the_subjects_name(subject, value, leaks, tmp_path):
    world = World([], [Fact(subject, RELATION, value, start="2022")], labels=NAMES)
    (row,) = world.updates(tmp_path)
    assert (row["leaks"], row["dropped_by"]) == (leaks, None)
    (row,) = world.updates(tmp_path, leaks="drop")
    assert row["dropped_by"] == ("leak" if leaks else None)


def test_a_supplied_name_counts_only_where_neither_dump_has_one(tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nQ1\tAstana\n", encoding="utf-8")
    new = [Fact(1, RELATION, "Astana", start="2022")]
    for name, (absent, leaks) in {"one": ({"no_label_new"}, False), "none": ({"no_label"}, True)}.items():
        world = World([], new, labels={1: "Akmola"}, **{key: frozenset({1}) for key in absent})
        assert [row["leaks"] for row in world.updates(tmp_path / name, labels=[labels])] == [leaks]

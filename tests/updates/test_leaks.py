"""Objects that the subject's name tells: marked in every variant, left out in `revised` (`leaks: drop`)."""

from support.worlds import Amount, Date, Fact, Text, World

RELATION = 1000
NAMES = {601: "Ukraine", 602: "cafe bar", 603: "invasion Ukraine", 604: "***"}
CASES = [
    ("Astana", Text("en", "Astana"), True),
    ("Astana", Text("kk", "Астана"), False),
    ("Astana", "ASTANA.", True),
    ("Russian invasion of Ukraine", 601, True),
    ("Russian invasion of Ukraine", 603, False),
    ("Ukrainian", 601, False),
    ("Café-Bar Zoë", 602, True),
    ("Apollo 11", Amount("11"), True),
    ("Apollo 11", Amount("+11"), True),
    ("Apollo 11", Amount("1"), False),
    ("Siege of 984", Date("0984"), True),
    ("+++", 604, False),
    ("1984 Summer Olympics", Date("1984"), True),
    ("1984 Summer Olympics", Date("1984-08-01"), False),
    ("1984 Summer Olympics", Date("-1984"), False),
]


def test_an_object_leaks_if_its_words_stand_in_the_subjects_name(tmp_path):
    facts = [Fact(subject, RELATION, value, start="2022") for subject, (_, value, _) in enumerate(CASES, 100)]
    world = World([], facts, labels=NAMES | {100 + place: case[0] for place, case in enumerate(CASES)})
    rows = world.updates(tmp_path / "keep")
    assert [(*case[:2], row["leaks"]) for case, row in zip(CASES, rows, strict=True)] == CASES
    assert {row["dropped_by"] for row in rows} == {None}
    dropped = [row["dropped_by"] for row in world.updates(tmp_path / "drop", leaks="drop")]
    assert dropped == ["leak" if leaks else None for _, _, leaks in CASES]


def test_a_supplied_name_counts_only_where_neither_dump_has_one(tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nQ1\tAstana\nQ2\tAstana\n", encoding="utf-8")
    new = [Fact(subject, RELATION, "Astana", start="2022") for subject in (1, 2)]
    only_old, nowhere = frozenset({1}), frozenset({2})
    world = World([], new, labels={1: "Akmola"}, no_label_new=only_old, no_label=nowhere)
    assert [row["leaks"] for row in world.updates(tmp_path, labels=[labels])] == [False, True]

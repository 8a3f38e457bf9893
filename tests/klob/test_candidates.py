"""Which statements are facts, which facts and chains can be examples, and the reason of every other."""

from support.worlds import Fact

from .conftest import Snapshot, rows

P17, P36, P108, P488, P1376 = 17, 36, 108, 488, 1376


def test_statements_that_are_no_facts(built):
    facts = [
        Fact(1, P17, 50, rank="deprecated", id="a"),
        *(Fact(2, P17, 50, rank="preferred", id="b"), Fact(2, P17, 51, id="c")),
        Fact(3, P17, None, snak="somevalue", id="d"),
        Fact(4, P17, "text", id="e"),
        Fact(5, P17, 50, end="2023-02-26", id="f"),
        Fact(6, P17, 50, end="2023-02-28", id="g"),
        Fact(12, P17, 50, end="2023-02-27", id="h"),
        *(Fact(10, P17, 50, id="k"), Fact(10, P17, 50, id="l")),
        *(Fact(14, P17, 50, id="r"), Fact(14, P17, 50, id="q")),
    ]
    found = built(Snapshot(facts))
    table = {row["statement"]: row for row in rows(found.folder / "bucket.parquet")}
    reasons = {"a": "deprecated", "c": "rank", "d": "snak", "e": "datatype", "f": "ended", "h": "ended"}
    # Of equal ones the first in the order of the dump is taken, whatever its id.
    reasons |= {"l": "duplicate", "q": "duplicate"}
    assert {key: row["dropped_by"] for key, row in table.items()} == dict.fromkeys("bgkr") | reasons
    assert table["k"]["objects"] == 1


NAMES: list[tuple[str, str, list[str], str | None]] = [
    ("Bank of Japan", "Japan", [], "leak"),
    ("Japanese tea", "Japan", [], None),
    ("STRASSE 5", "straße", [], "leak"),
    ("Rio de Janeiro (state)", "Rio de  Janeiro", [], "leak"),
    ("New York-York", "york york", [], "leak"),
    ("ΟΔΟΣ Αθηνών", "οδος", [], "leak"),
    ("Beatles for Sale", "The Beatles", [], "leak"),
    ("Whole Lotta Love", "The Who", [], None),
    ("The", "the", [], "leak"),
    ("!!!", "!!!", [], None),
    ("South Holland", "Netherlands", ["the Low Countries", "Holland"], "alias_leak"),
    ("North Holland", "Netherlands", ["holland!"], "alias_leak"),
    ("East Holland", "Netherlands", ["Hollander", "!!!", ""], None),
    ("Oz", "the land at the far end", [], "words"),
    ("Erewhon", "land at the far end", [], None),
]
"""Label of a subject, label and aliases of its object, and why the fact is no example."""


def test_names_are_compared_as_sequences_of_words(built):
    subjects = range(1, len(NAMES) + 1)
    labels, aliases, reasons = {}, {}, {}
    for number, (subject, object_, others, reason) in enumerate(NAMES, start=1):
        labels |= {number: subject, 100 + number: object_}
        aliases[100 + number] = others
        reasons[str(number), "17", str(100 + number)] = reason
    facts = [Fact(number, P17, 100 + number) for number in subjects]
    assert built(Snapshot(facts, labels=labels, aliases=aliases)).reasons("facts") == reasons


def test_single_words_and_labels_that_the_dump_lacks(built, tmp_path):
    extra = tmp_path / "labels.tsv"
    extra.write_text("id\tlabel\nQ1\tKyoto\nQ2\tJapan\n", encoding="utf-8")
    # One subject with two objects is no two subjects with one name.
    facts = [Fact(1, P17, 2), Fact(3, P17, 4), Fact(3, P17, 5)]
    snapshot = Snapshot(facts, labels={1: None, 4: "tax collector"}, absent=frozenset({2}))
    found = built(snapshot, min_sitelinks=0, labels=[extra], object_words="single", single_valued=False)
    assert [row["o1_label"] for row in found.subtask("c")] == ["Japan"]
    assert [found.reasons("facts")["3", "17", object_] for object_ in "45"] == ["words"] * 2


def test_inverse_relations_make_no_chain(built):
    """The project's, also where only the noun phrases have the second hop, and the snapshot's."""
    facts = [Fact(50, P36, 60), Fact(60, P1376, 50), Fact(60, P17, 51), Fact(70, P1376, 50)]
    snapshot = Snapshot([*facts, Fact(1, P108, 2), Fact(2, P488, 3)], inverses={P108: [P488]})
    assert built(snapshot, second_hop="all_np").reasons("chains") == {
        ("50", "36", "60", "1376", "50"): "inverse_pair",
        ("50", "36", "60", "17", "51"): None,
        ("60", "1376", "50", "36", "60"): "inverse_pair",
        ("70", "1376", "50", "36", "60"): "inverse_pair",
        ("1", "108", "2", "488", "3"): "inverse_pair",
    }

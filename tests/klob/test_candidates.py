"""Which statements are facts, which facts and chains can be examples, and the reason of every other."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.worlds import UNKNOWN, Fact

from .conftest import PAGE, Build, Snapshot, rows

P17, P26, P36, P106, P108, P1376, P127, P1830 = 17, 26, 36, 106, 108, 1376, 127, 1830


def test_statements_that_are_no_facts(built: Build) -> None:
    facts = [
        Fact(1, P17, 50, rank="deprecated", id="a"),
        Fact(2, P17, 50, rank="preferred", id="b"),
        Fact(2, P17, 51, id="c"),
        Fact(3, P17, None, snak="somevalue", id="d"),
        Fact(4, P17, "text", id="e"),
        Fact(5, P17, 50, end="2023-02-26", id="f"),
        Fact(6, P17, 50, end="2023-02-28", id="g"),
        Fact(7, P17, 50, end="2023", id="h"),
        Fact(8, P17, 50, end=UNKNOWN, id="i"),
        Fact(9, P17, 50, end="2024", id="j"),
        Fact(10, P17, 50, id="k"),
        Fact(10, P17, 50, id="l"),
        Fact(11, P17, None, snak="somevalue", rank="preferred", id="m"),
        Fact(11, P17, 50, id="n"),
        Fact(12, P17, 50, end="2023-02-27", id="o"),
        Fact(13, 31, 50, id="p"),
        Fact(14, P17, 50, id="r"),
        Fact(14, P17, 50, id="q"),
    ]
    found = built(Snapshot(facts))
    table = {row["statement"]: row for row in rows(found.folder / "bucket.parquet")}
    assert {key: row["dropped_by"] for key, row in table.items()} == {
        "a": "deprecated",
        "b": None,
        "c": "rank",
        "d": "snak",
        "e": "datatype",
        "f": "ended",
        "g": None,
        "h": "ended",
        "i": "ended",
        "j": None,
        "k": None,
        "l": "duplicate",
        "m": "snak",
        "n": "rank",
        "o": "ended",
        # The first in the order of the dump, whatever its id.
        "r": None,
        "q": "duplicate",
    }
    assert table["k"]["objects"] == 1


def test_facts_that_are_no_examples(built: Build) -> None:
    facts = [
        Fact(1, P106, 50),
        Fact(1, P106, 51),
        Fact(2, P17, 52),
        Fact(3, P17, 50),
        Fact(4, P17, 53),
        Fact(5, P17, 54),
        Fact(6, P17, 50),
        Fact(7, P17, 50),
        Fact(8, P17, 55),
        Fact(9, P17, 50),
        Fact(10, P17, 56),
        Fact(11, P36, 50),
        Fact(12, P17, 57),
    ]
    labels = {
        **{3: None, 50: "Wonderland", 52: None, 54: "Neverland", 5: "University of NEVERLAND"},
        **{6: "Springfield", 7: "Springfield", 11: "Springfield"},
        **{55: "the land at the far end", 10: "Neverlands", 56: "Neverland", 57: "land at the far end"},
    }
    found = built(
        Snapshot(
            facts,
            labels=labels,
            sitelinks={9: 9, 10: 10},
            classes={53: [900]},
            superclasses={900: [901], 901: [PAGE]},
        )
    )
    assert found.reasons("facts") == {
        ("1", "106", "50"): "multi_valued",
        ("1", "106", "51"): "multi_valued",
        ("2", "17", "52"): "no_label",
        ("3", "17", "50"): "no_label",
        ("4", "17", "53"): "page",
        ("5", "17", "54"): "leak",
        ("6", "17", "50"): "twin",
        ("7", "17", "50"): "twin",
        ("8", "17", "55"): "words",
        ("9", "17", "50"): "sitelinks",
        ("10", "17", "56"): None,
        ("11", "36", "50"): None,
        ("12", "17", "57"): None,
    }


def test_a_name_is_that_of_one_subject(built: Build) -> None:
    """Of several in different relations the best known one; one that is no example takes no name away."""
    facts = [Fact(1, P17, 50), Fact(2, P36, 51), Fact(3, P106, 52), Fact(4, P36, 51), Fact(5, P17, 50)]
    names = {1: "Georgia", 2: "Georgia", 3: "Georgia", 4: "Paris", 5: "Paris"}
    found = built(Snapshot(facts, labels=names, sitelinks={1: 30, 2: 40, 3: 9, 4: 20, 5: 20}))
    assert found.reasons("facts") == {
        ("1", "17", "50"): "homonym",
        ("2", "36", "51"): None,
        ("3", "106", "52"): "sitelinks",
        ("4", "36", "51"): None,
        ("5", "17", "50"): "homonym",
    }


@pytest.mark.parametrize(
    ("subject", "object_", "leaks"),
    [
        ("Bank of Japan", "Japan", True),
        ("Japanese tea", "Japan", False),
        ("STRASSE 5", "straße", True),
        ("Rio de Janeiro (state)", "Rio de  Janeiro", True),
        ("New York-York", "york york", True),
        ("ΟΔΟΣ Αθηνών", "οδος", True),
        ("Beatles for Sale", "The Beatles", True),
        ("Whole Lotta Love", "The Who", False),
        ("The", "the", True),
        ("anything", "!!!", False),
        ("!!!", "!!!", False),
    ],
)
def test_leaks_are_sequences_of_words(built: Build, subject: str, object_: str, leaks: bool) -> None:
    found = built(Snapshot([Fact(1, P17, 2)], labels={1: subject, 2: object_}))
    assert found.reasons("facts") == {("1", "17", "2"): "leak" if leaks else None}


@pytest.mark.parametrize(
    ("aliases", "reason"),
    [
        (["the Low Countries", "Holland"], "alias_leak"),
        (["holland!"], "alias_leak"),
        (["Hollander", "!!!", ""], None),
        ([], None),
    ],
)
def test_leaks_of_aliases(built: Build, aliases: list[str], reason: str | None) -> None:
    labels = {1: "South Holland", 2: "Netherlands"}
    found = built(Snapshot([Fact(1, P17, 2)], labels=labels, aliases={2: aliases}))
    assert found.reasons("facts") == {("1", "17", "2"): reason}


def test_switches_of_the_facts(built: Build) -> None:
    snapshot = Snapshot(
        [Fact(1, P106, 50), Fact(1, P106, 51), Fact(2, P106, 52)],
        labels={50: "writer", 51: "poet", 52: "tax collector"},
        sitelinks={2: 0},
    )
    literal = built(snapshot, single_valued=False, min_sitelinks=0, folder="a")
    assert set(literal.reasons("facts").values()) == {None}
    single = built(snapshot, object_words="single", min_sitelinks=0, folder="b")
    assert single.reasons("facts")["2", "106", "52"] == "words"


def test_labels_that_the_dump_lacks_can_be_supplied(built: Build, tmp_path: Path) -> None:
    extra = tmp_path / "labels.tsv"
    extra.write_text("id\tlabel\nQ1\tKyoto\nQ2\tJapan\n", encoding="utf-8")
    snapshot = Snapshot([Fact(1, P17, 2)], labels={1: None}, absent=frozenset({2}))
    found = built(snapshot, min_sitelinks=0, labels=[extra])
    assert [row["o1_label"] for row in found.subtask("c")] == ["Japan"]


def chain_world(**more: object) -> Snapshot:
    facts = [
        Fact(1, P17, 50),  # a place in a country,
        Fact(50, P36, 60),  # whose capital
        Fact(60, P1376, 50),  # is the capital of it:
        Fact(2, P36, 61),
        Fact(61, P17, 2),  # comes back to where it began
        Fact(3, P26, 4),
        Fact(4, P26, 5),  # married to somebody else
        Fact(6, P17, 51),
        Fact(51, P36, 62),  # named as the country
        Fact(7, P17, 52),
        Fact(52, P36, 63),  # without a label
        Fact(8, P17, 53),
        Fact(53, P36, 64),
        Fact(53, P36, 65),  # two capitals
        Fact(9, P17, 50),
        Fact(9, P17, 51),  # two countries
        Fact(10, P127, 54),
        Fact(54, P17, 50),  # owner's country
    ]
    labels = {51: "Luxia", 62: "Luxia City", 63: None}
    return Snapshot(facts, labels=labels, **more)  # type: ignore[arg-type]


def test_chains(built: Build) -> None:
    found = built(chain_world(sitelinks={1: 0})).reasons("chains")
    assert found == {
        ("1", "17", "50", "36", "60"): None,
        # The country that the chain goes on from is no place with few sitelinks: only c asks for them.
        ("10", "127", "54", "17", "50"): None,
        ("2", "36", "61", "17", "2"): "same_item",
        ("3", "26", "4", "26", "5"): "inverse_pair",
        ("54", "17", "50", "36", "60"): None,
        ("60", "1376", "50", "36", "60"): "inverse_pair",
        ("61", "17", "2", "36", "61"): "same_item",
        ("6", "17", "51", "36", "62"): None,
        ("7", "17", "52", "36", "63"): "no_label",
    }


def test_capital_of_a_capital_is_an_inverse_pair(built: Build) -> None:
    facts = [Fact(50, P36, 60), Fact(60, P1376, 50), Fact(60, P17, 51), Fact(70, P1376, 50)]
    # P1376 is no second hop of MQuAKE, but has a noun phrase.
    found = built(Snapshot(facts), second_hop="all_np").reasons("chains")
    assert found["50", "36", "60", "1376", "50"] == "inverse_pair"
    assert found["70", "1376", "50", "36", "60"] == "inverse_pair"
    assert found["50", "36", "60", "17", "51"] is None


def test_the_snapshot_names_more_inverses(built: Build) -> None:
    snapshot = Snapshot([Fact(1, P108, 2), Fact(2, 488, 3)], inverses={P108: [488]})
    assert built(snapshot).reasons("chains") == {("1", "108", "2", "488", "3"): "inverse_pair"}


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({1: "Paris Opera", 2: "opera", 3: "x"}, "fact"),
        ({1: "Opera of Paris", 2: "France", 3: "Paris"}, "leak"),
        ({1: "x", 2: "Mexico City", 3: "Mexico"}, "leak"),
        ({1: "x", 2: "Mexico", 3: "Mexico City"}, None),
    ],
)
def test_leaks_in_chains(built: Build, labels: dict[int, str], reason: str | None) -> None:
    found = built(Snapshot([Fact(1, P17, 2), Fact(2, P36, 3)], labels=labels))
    expected = {} if reason == "fact" else {("1", "17", "2", "36", "3"): reason}
    assert found.reasons("chains") == expected


def test_leaks_of_aliases_in_chains(built: Build) -> None:
    facts = [Fact(1, P17, 2), Fact(2, P36, 3), Fact(4, P17, 5), Fact(5, P36, 6)]
    labels = {1: "Big Apple Circus", 2: "x", 3: "New York", 4: "y", 5: "Kingdom of Oz", 6: "Emerald City"}
    aliases = {3: ["the Big", "Big Apple"], 6: ["Oz"], 5: ["not in y"]}
    found = built(Snapshot(facts, labels=labels, aliases=aliases))
    assert found.reasons("chains") == {
        ("1", "17", "2", "36", "3"): "alias_leak",
        ("4", "17", "5", "36", "6"): "alias_leak",
    }


def test_rare_pairs(built: Build) -> None:
    facts = [Fact(number, P17, 50) for number in range(1, 4)] + [Fact(50, P36, 60), Fact(50, 35, 61)]
    facts += [Fact(9, P26, 8), Fact(8, P17, 51)]
    found = built(Snapshot(facts), min_pair_support=3).reasons("chains")
    assert found.pop(("9", "26", "8", "17", "51")) == "pair_support"
    assert len(found) == 6
    assert set(found.values()) == {None}

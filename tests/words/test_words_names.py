"""Which names take an article and which are plural: the bundled table, and how it is read."""

import re
from pathlib import Path

import duckdb
import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import NAMES, SAMPLE
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import entity_number
from factdrift.words.names import COLUMNS, PLAIN, Names, Usage, create_usages, read_names, written

RIVER, FILM, SERIES = 4022, 11424, 5398426


@pytest.fixture(scope="module")
def english() -> Names:
    return read_names()


WITH_THE = [
    *("United States of America", "United States", "Netherlands", "Philippines", "Czech Republic"),
    *("Democratic Republic of the Congo", "Solomon Islands", "Soviet Union", "Kingdom of Italy"),
    *("Democratic Party", "African National Congress", "University of Oxford", "European Union"),
    *("United States Navy", "Bundestag", "Louvre", "Internet", "Pacific Ocean", "Bank of England"),
    *("Argentina national football team", "2022 FIFA World Cup final", "Nobel Prize in Physics"),
]
WITHOUT = [
    *("France", "Germany", "Japan", "Turkey", "Ukraine", "Vatican City", "Ireland", "North America"),
    *("FC Barcelona", "Arsenal F.C.", "Queens Park Rangers F.C.", "Bank of America", "Netflix", "NATO"),
    *("Prime Minister of the United Kingdom", "President of the United States", "physics", "French"),
    *("political party", "Oxford", "Google", "The Bahamas", "The Walt Disney Company", ""),
]


def test_which_names_take_the_and_which_are_plural(english: Names) -> None:
    plural = ("Los Angeles Lakers", "Miami Heat", "2020 Summer Olympics", "Rhaetian Alps")
    expected = {
        **dict.fromkeys(WITH_THE, Usage("the")),
        **dict.fromkeys(plural, Usage("the", plural=True)),
        **dict.fromkeys((*WITHOUT, "General Motors"), PLAIN),
        "The Beatles": Usage("", plural=True),
    }
    assert {label: english.usage(label) for label in expected} == expected


def test_classes_decide_where_the_label_does_not(english: Names) -> None:
    assert english.usage("Rhine", [RIVER]) == english.usage("Elde", [RIVER]) == Usage("the")
    assert english.usage("Elde") == PLAIN
    # Titles are not used like the names that they are made of.
    assert english.usage("Boardwalk Empire") == Usage("the")
    assert english.usage("Boardwalk Empire", [SERIES]) == english.usage("United States", [FILM]) == PLAIN
    assert english.usage("Rhine", [RIVER, FILM]) == english.usage("Rhine", [FILM, RIVER]) == PLAIN


def test_written() -> None:
    assert written("Netherlands", Usage("the")) == "the Netherlands"
    assert written("Netherlands", Usage("the"), first=True) == "The Netherlands"
    assert written("iPhone 13", PLAIN, first=True) == "iPhone 13"


def test_german_names_of_the_sample_are_all_decided() -> None:
    """Countries, currencies and unions, as German writes them in a sentence."""
    assert read_names("de").usage("Niederlande") == Usage("die", plural=True)
    columns = ("id", "language", "label", "description", "source")
    german = {row[0]: row[2] for _, row in rows_of(SAMPLE / "translations.tsv", columns)}
    articles = {label: read_names("de").usage(label).article for label in german.values()}
    assert {label: article for label, article in articles.items() if article} == {
        **dict.fromkeys(("Niederlande", "Vereinigte Staaten", "Volksrepublik China"), "die"),
        **{"Vereinigtes Königreich": "das", "Euro": "der", "US-Dollar": "der"},
    }


def test_usages_in_the_database(english: Names) -> None:
    named = (
        "SELECT * FROM (VALUES (55, 'Netherlands', [6256]), (142, 'France', NULL), (3, NULL, NULL), "
        f"(4, 'Elde', [{RIVER}]), (5, 'Los Angeles Lakers', NULL)) AS items(id, label, classes)"
    )
    with duckdb.connect() as db:
        create_usages(db, named, english)
        found = db.sql("FROM usages ORDER BY id").fetchall()
        assert found == [(4, "the", False), (5, "the", True), (55, "the", False)]
        create_usages(db, named, None)
        assert db.sql("FROM usages").fetchall() == []


def table(folder: Path, *rows: str) -> Path:
    path = folder / "names.tsv"
    path.write_text("\n".join(["\t".join(COLUMNS), *("\t".join(row.split("|")) for row in rows)]) + "\n")
    return path


def test_earlier_rows_of_a_kind_decide(tmp_path: Path) -> None:
    rows = ("en|end|F.C.||singular|", "en|end|Rangers|the|plural|", "en|part|Rangers|the|singular|")
    names = read_names("en", table(tmp_path, *rows))
    assert names.usage("Texas Rangers") == Usage("the", plural=True)
    assert names.usage("Rangers F.C.") == PLAIN
    assert names.usage("Rangers of Texas") == names.usage("Rangers") == Usage("the")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("en|label|Hague|the|singular|", "line 2: match is 'label'; write one of name, class"),
        ("en|name|Hague|the|two|", "line 2: number is 'two'"),
        ("en|class|river|the|singular|", "line 2: 'river' is no id of a class"),
        ("en|name||the|singular|", "line 2: '' is empty"),
    ],
)
def test_rows_that_cannot_be_used(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_names("en", table(tmp_path, row))
    with pytest.raises(InputError, match="line 3: 'Hague' is empty or has a row already"):
        read_names("en", table(tmp_path, *2 * ("en|name|Hague|the|singular|",)))


def test_every_row_of_the_table_holds_for_some_label(english: Names) -> None:
    examples = {"name": "{}", "end": "Aa {}", "start": "{} aa", "part": "Aa {} aa"}
    for line, (code, match, text, article, number, _) in rows_of(NAMES, COLUMNS):
        if code != "en":
            continue
        usage = Usage(article, number == "plural")
        if match == "class":
            assert english.usage("Aa", [entity_number(text) or 0]) == usage, line
        else:
            labels = [examples[match].format(text), text, f"Aa {text}"]
            assert usage in [english.usage(label) for label in labels], (line, text)

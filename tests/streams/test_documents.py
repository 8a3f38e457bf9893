"""How facts are worded in documents."""

import pytest

from factdrift.core.paths import TEMPLATES
from factdrift.streams.documents import Claim, Writer, indefinite, years
from factdrift.streams.subjects import Name
from factdrift.words.grammar import read_grammar
from factdrift.words.names import read_names
from factdrift.words.templates import read_templates

LABELS = {1: "Germany", 2: "Angela Merkel", 3: "Netherlands", 4: "Utah Jazz", 5: "Fulham F.C.", 6: "album"}


@pytest.fixture(scope="module")
def writer() -> Writer:
    names = {item: Name(label, (), read_names().usage(label)) for item, label in LABELS.items()}
    return Writer(names, read_templates(TEMPLATES).bundled, read_grammar(), 0)


def claim(subject: int, relation: int, value: int) -> Claim:
    return Claim(subject, relation, value, None, "now", 20150101, 20150101)


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ([claim(2, 31, 6)], "Angela Merkel is an album."),
        ([claim(4, 31, 6), claim(4, 31, 1)], "The Utah Jazz are an album and a Germany."),
        ([claim(2, 54, 5)], "The side that Angela Merkel turns out for is Fulham F.C."),
        ([claim(1, 47, 3), claim(1, 47, 5)], "Germany borders on the Netherlands and Fulham F.C."),
    ],
)
def test_facts_in_the_present(writer: Writer, claims: list[Claim], sentence: str) -> None:
    assert writer.present(claims, len(claims) > 1).text == sentence


def test_facts_of_the_past_and_in_quotations(writer: Writer) -> None:
    past = writer.past(claim(4, 286, 2), "from 2005 to 2021")
    assert past
    managed = "The team of the Utah Jazz was managed from the sideline by Angela Merkel"
    assert past.text == f"{managed} from 2005 to 2021."
    cited = writer.cited(claim(1, 6, 2), "January 2019")
    assert cited
    led = "the person in charge of the government of Germany was Angela Merkel."
    assert cited.text == f"According to a profile of January 2019, {led}"
    assert writer.past(claim(1, 99999, 2), "in 2005") is None


def test_wordings_depend_on_the_seed_and_are_drawn_by_subject_and_relation(writer: Writer) -> None:
    texts = {writer._replace(seed=seed).present([claim(1, 6, 2)], False).text for seed in range(40)}
    assert len(texts) == 5
    assert all("Germany" in text and text.endswith("Angela Merkel.") for text in texts)


@pytest.mark.parametrize(
    ("certain", "possible", "text"),
    [
        ((20050101, 20210101), (20050101, 20211231), "from 2005 to 2021"),
        *(((20050101, 20210101), (first, 20211231), "until 2021") for first in (20040101, None)),
        ((20210201, 20210301), (20210201, 20210301), "in 2021"),
        *(((20050101, 20210101), (20050101, last), None) for last in (20220101, None)),
    ],
)
def test_years_of_the_past(certain, possible, text):
    names = ("certain_first", "certain_last", "possible_first", "possible_last")
    assert years(dict(zip(names, (*certain, *possible), strict=True))) == text


@pytest.mark.parametrize(
    ("article", "labels"),
    [
        (
            "a",
            "human, university, FIFA World Cup, UEFA cup, European Union, U.S. state, television series, bus",
        ),
        ("a", "municipality of the Netherlands, city with town rights"),
        ("an", "hour, urban area, NBA season, Olympic venue"),
        ("one of the", "countries bordering the Baltic Sea, Summer Olympic Games"),
    ],
)
def test_classes_in_a_sentence(article: str, labels: str) -> None:
    for label in labels.split(", "):
        assert indefinite(label) == f"{article} {label}"

"""The templates that the project brings along: their form, what they cover."""

import re
from pathlib import Path

import pytest

from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import property_number
from factdrift.words.templates import read_templates

RESOURCES = Path(__file__).parents[2] / "resources"

NO_FACTS = {"external-id", "url", "commonsMedia", "globe-coordinate", "geo-shape", "tabular-data"}
"""Datatypes that a filter drops or that are no values to be said (spec section 2)."""

NO_RELATIONS = {
    # Said of statements, not of things: they stand in qualifiers only.
    *("P447", "P459", "P518", "P642", "P805", "P1264", "P1480", "P1534", "P1545", "P2096", "P2241"),
    *("P2868", "P3005", "P3831", "P5102"),
    # Said of properties and units.
    *("P1696", "P1855", "P2302", "P4155", "P5061"),
    # Said of Wikimedia's own pages, or of an item's place in its projects.
    *("P301", "P360", "P373", "P910", "P971", "P1151", "P1424", "P1464", "P1754", "P5008"),
}


@pytest.fixture(scope="module")
def templates():
    return read_templates(RESOURCES / "templates" / "templates.tsv")


@pytest.fixture(scope="module")
def properties():
    """Property id -> (label, datatype) of the sample."""
    path = RESOURCES / "sample" / "properties.tsv"
    header = path.read_text(encoding="utf-8").split("\n", 1)[0].split("\t")
    rows = (dict(zip(header, fields, strict=True)) for _, fields in rows_of(path, header))
    return {row["id"]: (row["label"], row["datatype"]) for row in rows}


def test_every_relation_of_the_sample_has_templates(templates, properties):
    said = {name for name, (_, datatype) in properties.items() if datatype not in NO_FACTS} - NO_RELATIONS
    assert {name for name in said if property_number(name) not in templates.bundled} == set()


def test_labels_are_those_of_the_sample(templates, properties):
    known = {property_number(identifier): label for identifier, (label, _) in properties.items()}
    shared = known.keys() & templates.labels.keys()
    assert len(shared) > 100
    assert {number: templates.labels[number] for number in shared} == {n: known[n] for n in shared}


def test_five_different_sentences_each(templates):
    assert list(templates.bundled) == sorted(templates.bundled)
    for number, sentences in {**templates.bundled, 0: templates.generic}.items():
        assert len(sentences) >= 5, number
        # Different also when case, possessive forms and the order of subject and relation are set aside.
        words = {frozenset(re.findall(r"\w+", sentence.lower().replace("'s", ""))) for sentence in sentences}
        assert len(words) == len(sentences), (number, sentences)
        for sentence in sentences:
            assert re.match(r"[A-Z{]", sentence), sentence
            # Whether an article fits depends on the object, which a template does not know.
            assert not re.search(r"\b(a|an|the) \{object\}$", sentence), sentence


def test_dates_take_no_preposition_that_depends_on_their_precision(templates, properties):
    dates = [i for i, (_, datatype) in properties.items() if datatype == "time"]
    assert dates
    for identifier in dates:
        for sentence in templates.bundled[property_number(identifier)]:
            assert not re.search(r"\b(on|in|at|since|until) \{object\}$", sentence), sentence

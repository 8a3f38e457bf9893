"""One sentence about a triple: its template, or the reason why it gives none."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from factdrift.verbalize.filters import REASONS, judge
from factdrift.verbalize.language import read_language
from factdrift.words.templates import problem

GOLDEN = Path(__file__).parents[1] / "data" / "golden-sentences.tsv"


@pytest.mark.parametrize(
    ("subject", "object", "sentence", "template"),
    [
        ("France", "Paris", "The capital of France is Paris.", "The capital of {subject} is {object}"),
        ("France", "Paris", "the capital of FRANCE is paris", "The capital of {subject} is {object}"),
        ("France", "Paris", "France's capital is Paris.", "{subject}'s capital is {object}"),
        ("France", "Paris", "France’s capital is “Paris”.", "{subject}'s capital is {object}"),
        ("James", "Paris", "James’ home is Paris", "{subject}'s home is {object}"),
        ("Thriller", "Jackson", "“Thriller” was sung by ‘Jackson.’", "{subject} was sung by {object}"),
        ("Thriller", "Jackson", "The song 'Thriller' is by Jackson", "The song {subject} is by {object}"),
        (
            "Netherlands",
            "Amsterdam",
            "The Netherlands is led from Amsterdam",
            "{subject} is led from {object}",
        ),
        ("Hague", "Netherlands", "Hague is in the Netherlands.", "{subject} is in {object}"),
        (
            "United States",
            "Washington, D.C.",
            "The United States has Washington, D.C",
            "{subject} has {object}",
        ),
        ("Foo (film)", "Bar (actor)", "Foo (film) stars Bar (actor).", "{subject} stars {object}"),
        (
            "Foo",
            "Bar",
            "The star (a person) of Foo (film) is Bar",
            "The star (a person) of {subject} (film) is {object}",
        ),
        ("a.*b", "x+y$", "The sum of a.*b is x+y$.", "The sum of {subject} is {object}"),
        ("\\1", "[^a]", "The escape of \\1 is [^a]", "The escape of {subject} is {object}"),
        ("C", "C++", "C inspired C++", "{subject} inspired {object}"),
        ("Paris", "Paris", "Paris is named after Paris.", "{subject} is named after {object}"),
        ("{subject}", "{object}", "The value of {subject} is {object}", "The value of {subject} is {object}"),
        ("New York", "York", "New York was named after York", "{subject} was named after {object}"),
        ("York", "New York", "York gave its name to New York", "{subject} gave its name to {object}"),
        ("Q", "3rd century BC", "Q dates from the 3rd century BC.", "{subject} dates from the {object}"),
        (
            "Foo",
            "Bar",
            "Everyone at St. Mary knows that Foo is Bar",
            "Everyone at St. Mary knows that {subject} is {object}",
        ),
        ("Rīga", "Latvija", "Riga lies in LATVIJA.", "{subject} lies in {object}"),
    ],
)
def test_templates(english, subject, object, sentence, template):
    assert judge(sentence, subject, object, english) == (template, None)


@pytest.mark.parametrize(
    ("subject", "object", "sentence", "reason"),
    [
        ("France", "Paris", "The capital of France is Lyon.", "no_object"),
        ("France", "Paris", "The capital of France is Parisian.", "no_object"),
        ("Oslo", "709,037", "The population of Oslo is 1,709,037.", "no_object"),
        ("Foo", "5", "Foo costs $5.", "no_object"),
        ("France", "Paris", "Paris is the capital of France.", "object_not_last"),
        ("France", "Paris", "The capital of France is Paris today.", "object_not_last"),
        ("France", "Paris", "The capital of the country is Paris.", "no_subject"),
        ("Ann", "Oslo", "Anna lives in Oslo.", "no_subject"),
        ("France", "Paris", "The France-based club is from Paris.", "no_subject"),
        ("University of Paris", "Paris", "Paris has the University of Paris.", "no_subject"),
        ("France", "Paris", "France is large, and the capital of France is Paris", "subject_twice"),
        ("France", "Paris", "Paris is what France calls Paris", "object_twice"),
        ("France", "Paris", "France calls Paris what is named Paris", "object_twice"),
        ("Apple", "Steve Jobs", "Apple Records was not founded by Steve Jobs", "in_name"),
        ("Elizabeth II", "Windsor", "The home of Queen Elizabeth II is Windsor", "in_name"),
        ("Foo", "York", "The home of Foo is New York", "in_name"),
        ("France", "Paris", "What is the capital of France? Paris", "several_sentences"),
        ("France", "Paris", "France is a country. Its capital is Paris", "several_sentences"),
        ("France", "Paris", "France is old. Its capital is Paris", "several_sentences"),
        ("France", "Paris", "That is big. France has its seat in Paris", "several_sentences"),
        ("France", "Paris", "France: Paris", "fragment"),
        ("France", "Paris", "France Paris", "fragment"),
        ("France", "Paris", "The capital of France, Paris.", "fragment"),
        ("France", "Paris", "The 'France is led from Paris", "glued"),
        ("United States", "Hawaii", "Part of an United States is Hawaii", "article"),
        ("France", "Paris", "The {relation} of France is Paris", "form"),
        ("France", "Paris", 'The capital of "France is Paris', "form"),
        ("Germany", "Berlin", "Die Hauptstadt von Germany ist Berlin", "language"),
        ("Россия", "Москва", "Столица страны Россия - это Москва", "language"),
        ("France", "", "The capital of France is ", "no_object"),
        ("", "Paris", "The capital is Paris", "no_subject"),
    ],
)
def test_reasons(english, subject, object, sentence, reason):
    assert reason in REASONS
    assert judge(sentence, subject, object, english) == (None, reason)


def test_each_reason_is_tested():
    [mark] = [mark for mark in test_reasons.pytestmark if mark.name == "parametrize"]
    assert {case[-1] for case in mark.args[1]} == set(REASONS)


def test_words_of_the_relation_are_no_names(english):
    sentence = "Norway has the Human Development Index 0.961"
    assert judge(sentence, "Norway", "0.961", english).reason == "in_name"
    assert judge(sentence, "Norway", "0.961", english, "Human Development Index").reason is None


def test_an_article_is_part_of_a_name_that_takes_one(english, german):
    sentence = "Hawaii is a state of the United States"
    assert judge(sentence, "Hawaii", "United States", english).template == "{subject} is a state of {object}"
    assert (
        judge("The dog is of the France", "dog", "France", english).template == "{subject} is of the {object}"
    )
    # German would need another form of it in the place of each name.
    sentence = "Die Hauptstadt der Niederlande ist Amsterdam."
    assert judge(sentence, "Niederlande", "Amsterdam", german).reason == "article"
    sentence = "Amsterdam ist die Hauptstadt der Niederlande."
    assert judge(sentence, "Amsterdam", "Niederlande", german).reason == "article"
    sentence = "Als Hauptstadt von Polen gilt Warschau."
    assert (
        judge(sentence, "Polen", "Warschau", german).template == "Als Hauptstadt von {subject} gilt {object}"
    )


def test_german_keeps_its_articles_and_capitals(german):
    sentence = "Die Hauptstadt der Stadtlandschaft ist Bern."
    assert judge(sentence, "Stadtlandschaft", "Bern", german).template == (
        "Die Hauptstadt der {subject} ist {object}"
    )
    assert judge("Der Präsident Macron regiert Frankreich", "Macron", "Frankreich", german).reason is None
    assert judge("The capital of the Schweiz is Bern", "Schweiz", "Bern", german).reason == "language"


names = st.text(alphabet="abcDÉß .+*([$'\"-0", min_size=1, max_size=8).map(
    lambda text: " ".join(text.split())
)
middles = st.sampled_from(["is made by", "has as its color", "was given to", "is, as is known, part of"])
befores = st.sampled_from(["", "Everything about", "It is said that", "The color of"])


@given(
    names,
    names,
    befores,
    middles,
    st.sampled_from(["", ".", " ", '".', "."]),
    st.sampled_from([str, str.upper]),
)
def test_what_was_put_together_is_taken_apart(subject, object, before, middle, end, case):
    """A sentence made from a template gives that template or none, whatever the names hold."""
    language = read_language(Path(__file__).parents[2] / "resources" / "prompts", "en")
    template = f"{before} {{subject}} {middle} {{object}}".strip()
    quote = '"' if end.startswith('"') else ""
    sentence = f"{before} {case(subject)} {middle} {quote}{case(object)}{end}".strip()
    outcome = judge(sentence, subject, object, language)
    assert (outcome.template is None) != (outcome.reason is None)
    plain = subject.isalpha() and object.isalpha() and len(subject) > 2 and len(object) > 2
    if plain and subject.lower() != object.lower():
        assume(not {subject.lower(), object.lower()} & set(f"{before} {middle}".lower().split()))
        assert outcome.template == template
    if outcome.template is not None:
        assert problem(outcome.template) is None


@given(st.text(max_size=30), st.text(max_size=8), st.text(max_size=8))
def test_nothing_breaks_it(sentence, subject, object):
    language = read_language(Path(__file__).parents[2] / "resources" / "prompts", "en")
    template, reason = judge(sentence, subject, object, language)
    assert (template is None) == (reason in REASONS)


def test_precision_and_recall_on_the_golden_sentences(english):
    """The numbers stand in docs/verbalization.md; a change of them is to be recorded there."""
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 60
    good = [row["keep"] == "yes" for row in rows]
    kept = [
        judge(row["sentence"], row["subject"], row["object"], english).template is not None for row in rows
    ]
    right = sum(map(min, good, kept))
    assert (right, sum(kept), sum(good)) == (30, 32, 33)
    text = (Path(__file__).parents[2] / "docs" / "verbalization.md").read_text(encoding="utf-8")
    assert f"precision {right / sum(kept):.3f}, recall {right / sum(good):.3f}" in text

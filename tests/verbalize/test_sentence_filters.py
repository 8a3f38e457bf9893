"""One sentence about a triple: its template, or the reason why it gives none."""

import csv
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from factdrift.verbalize.sentences import REASONS, judge
from factdrift.words.templates import problem

GOLDEN = Path(__file__).parents[1] / "data" / "golden-sentences.tsv"


@pytest.mark.parametrize(
    ("subject", "object", "sentence", "template"),
    [
        ("France", "Paris", "The capital of France is Paris.", "The capital of {subject} is {object}"),
        ("France", "Paris", "the capital of FRANCE is paris", "The capital of {subject} is {object}"),
        ("France", "Paris", "France’s capital is “Paris”.", "{subject}'s capital is {object}"),
        ("James", "Paris", "James’ home is Paris", "{subject}'s home is {object}"),
        ("Thriller", "Jackson", "“Thriller” was sung by ‘Jackson.’", "{subject} was sung by {object}"),
        ("Netherlands", "Amsterdam", "The Netherlands has Amsterdam", "{subject} has {object}"),
        ("Hague", "Netherlands", "Hague is in the Netherlands.", "{subject} is in {object}"),
        ("USA", "Washington, D.C.", "USA has Washington, D.C", "{subject} has {object}"),
        ("Foo (film)", "Bar (actor)", "Foo (film) stars Bar (actor).", "{subject} stars {object}"),
        ("Foo", "Bar", "Star (a man) of Foo (film) is Bar", "Star (a man) of {subject} (film) is {object}"),
        ("a.*b", "x+y$", "The sum of a.*b is x+y$.", "The sum of {subject} is {object}"),
        ("C", "C++", "C inspired C++", "{subject} inspired {object}"),
        ("Paris", "Paris", "Paris is named after Paris.", "{subject} is named after {object}"),
        ("{subject}", "{object}", "The value of {subject} is {object}", "The value of {subject} is {object}"),
        ("New York", "York", "New York was named after York", "{subject} was named after {object}"),
        ("York", "New York", "York gave its name to New York", "{subject} gave its name to {object}"),
        ("Q", "3rd century BC", "Q dates from the 3rd century BC.", "{subject} dates from the {object}"),
        ("Foo", "Bar", "I know at St. Mary that Foo is Bar", "I know at St. Mary that {subject} is {object}"),
        ("France", "Paris", '"The capital of France is Paris."', "The capital of {subject} is {object}"),
        ("France", "Paris", "'The capital of France is Paris'.", "The capital of {subject} is {object}"),
        ("Rīga", "Latvija", "Riga lies in LATVIJA.", "{subject} lies in {object}"),
    ],
)
def test_templates(english, subject, object, sentence, template):
    assert judge(sentence, subject, object, english) == (template, None)


@pytest.mark.parametrize(
    ("subject", "object", "sentence", "reason"),
    [
        ("France", "Paris", "The capital of France is Lyon.", "no_object"),
        ("Oslo", "709,037", "The population of Oslo is 1,709,037.", "no_object"),
        ("Foo", "5", "Foo costs $5.", "no_object"),
        ("France", "Paris", "Paris is the capital of France.", "object_not_last"),
        ("France", "Paris", "The capital of France is Paris today.", "object_not_last"),
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
        ("France", "Paris", "The capital of France, Paris.", "fragment"),
        ("France", "Paris", "The 'France is led from Paris", "glued"),
        ("United States", "Hawaii", "Part of an United States is Hawaii", "article"),
        ("France", "Paris", "The {relation} of France is Paris", "form"),
        ("France", "Paris", 'The capital of "France is Paris', "form"),
        ("Germany", "Berlin", "Die Hauptstadt von Germany ist Berlin", "language"),
        ("France", "", "The capital of France is ", "no_object"),
        ("", "Paris", "The capital is Paris", "no_subject"),
    ],
)
def test_reasons(english, subject, object, sentence, reason):
    assert reason in REASONS
    assert judge(sentence, subject, object, english) == (None, reason)


def test_words_of_the_relation_are_no_names(english):
    sentence = "Norway has the Human Development Index 0.961"
    assert judge(sentence, "Norway", "0.961", english) == (None, "in_name")
    assert judge(sentence, "Norway", "0.961", english, "Human Development Index")[1] is None


def test_an_article_is_part_of_a_name_that_takes_one(english, german):
    """German would need another form of it in the place of each name, and keeps it elsewhere."""
    for language, subject, object, sentence, wanted in (
        (english, "Hawaii", "United States", "Hawaii is of the United States", "{subject} is of {object}"),
        (english, "dog", "France", "The dog is of the France", "{subject} is of the {object}"),
        (german, "Niederlande", "Bern", "Die Hauptstadt der Niederlande ist Bern.", "article"),
        (german, "Bern", "Niederlande", "Bern ist die Hauptstadt der Niederlande.", "article"),
        (german, "Polen", "Bern", "Als Sitz von Polen gilt Bern.", "Als Sitz von {subject} gilt {object}"),
        (german, "Stadt", "Bern", "Der Name der Stadt ist Bern.", "Der Name der {subject} ist {object}"),
        (german, "Macron", "Polen", "Der Herr Macron regiert Polen", "Der Herr {subject} regiert {object}"),
        (german, "Schweiz", "Bern", "The capital of the Schweiz is Bern", "language"),
    ):
        assert wanted in judge(sentence, subject, object, language), sentence


names = st.text("abcDÉß .+*([$'\"-0", min_size=1, max_size=8).map(lambda text: " ".join(text.split()))
middles = st.sampled_from(["is made by", "has as its color", "was given to", "is, as is known, part of"])
befores = st.sampled_from(["", "Everything about", "It is said that", "The color of"])


ends = st.sampled_from(["", ".", " ", '".', "."])


@given(names, names, befores, middles, ends, st.sampled_from([str, str.upper]))
def test_what_was_put_together_is_taken_apart(english, subject, object, before, middle, end, case):
    """A sentence made from a template gives that template or none, whatever the names hold."""
    template = f"{before} {{subject}} {middle} {{object}}".strip()
    quote = '"' if end.startswith('"') else ""
    sentence = f"{before} {case(subject)} {middle} {quote}{case(object)}{end}".strip()
    found, reason = judge(sentence, subject, object, english)
    assert (found is None) != (reason is None)
    plain = subject.isalpha() and object.isalpha() and len(subject) > 2 and len(object) > 2
    if plain and subject.lower() != object.lower():
        assume(not {subject.lower(), object.lower()} & set(f"{before} {middle}".lower().split()))
        assert found == template
    if found is not None:
        assert problem(found) is None


@given(st.text(max_size=30), st.text(max_size=8), st.text(max_size=8))
def test_nothing_breaks_it(english, sentence, subject, object):
    template, reason = judge(sentence, subject, object, english)
    assert (template is None) == (reason in REASONS)


def test_precision_and_recall_on_the_golden_sentences(english):
    """The numbers stand in docs/verbalization.md; a change of them is to be recorded there."""
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 60
    good = [row["keep"] == "yes" for row in rows]
    kept = [judge(row["sentence"], row["subject"], row["object"], english)[0] is not None for row in rows]
    right = sum(map(min, good, kept))
    assert (right, sum(kept), sum(good)) == (30, 32, 33)
    text = (Path(__file__).parents[2] / "docs" / "verbalization.md").read_text(encoding="utf-8")
    assert f"precision {right / sum(kept):.3f}, recall {right / sum(good):.3f}" in text

"""Templates are fitted to the names in them: articles, plural verbs, the past tense."""

import itertools
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import KLOB_TEMPLATES, TEMPLATES
from factdrift.core.tables import rows_of
from factdrift.klob.templates import OWN_COLUMNS
from factdrift.wikidata.tables import TIME
from factdrift.wikidata.time import parse_time
from factdrift.wikifactdiff.assemble import create_wording
from factdrift.words.grammar import COLUMNS, Grammar, Marks, cloze, dated, prompts_like, read_grammar
from factdrift.words.names import PLAIN, Usage
from factdrift.words.templates import BLANK, read_templates

THE, LAKERS = Usage("the"), Usage("the", plural=True)


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return read_grammar()


@pytest.fixture(scope="module")
def bundled() -> list[str]:
    read = read_templates(TEMPLATES)
    return [text for texts in read.bundled.values() for text in texts]


@pytest.mark.parametrize(
    ("template", "plural"),
    [
        ("{subject} is based in {object}", "{subject} are based in {object}"),
        ("{subject} has its seat in {object}", "{subject} have their seat in {object}"),
        ("In sport, {subject} competes in {object}", "In sport, {subject} compete in {object}"),
        ("The state that {subject} belongs to is {object}", "The state that {subject} belong to is {object}"),
        ("As for its kind, {subject} is {object}", "As for their kind, {subject} are {object}"),
        ("{subject} reached its peak in {object}", "{subject} reached their peak in {object}"),
        # The verb's subject is another one.
        ("The capital of {subject} is {object}", "The capital of {subject} is {object}"),
        ("{subject} won {object}", "{subject} won {object}"),
        ("{subject}'s tally is {object}", "{subject}' tally is {object}"),
    ],
)
def test_plural(grammar: Grammar, template: str, plural: str) -> None:
    assert grammar.plural(template) == plural


def test_every_verb_of_the_bundled_templates_has_a_plural(grammar: Grammar, bundled: list[str]) -> None:
    """What follows the subject of a clause and ends in s is a verb of the table, or one without a plural."""
    own = [row[2].replace("[X]", "{subject}") for _, row in rows_of(KLOB_TEMPLATES, OWN_COLUMNS)]
    seen = set()
    for text in (*bundled, *own):
        found = re.search(r"(?:^|, |\b(?:that|which|whom|where|what|when|how) )\{subject\} (\w+s)\b", text)
        if found:
            seen.add(found[1])
            assert grammar.plural(text) != text, text
    assert len(seen) > 50


def test_the_first_template_of_every_relation_has_a_past(grammar: Grammar) -> None:
    for texts in read_templates(TEMPLATES).bundled.values():
        for text in (texts[0], grammar.plural(texts[0])):
            past = grammar.past(text)
            assert grammar.is_past(past), text
            assert not re.search(r"\b(is|are|has|have)\b", past), past
            assert grammar.past(past) == past


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("{subject} has works in the hands of {object}", "{subject} had works in the hands of {object}"),
        ("The results of {subject} are {object}", "The results of {subject} were {object}"),
        ("A river that flows into {subject} is {object}", "A river that flowed into {subject} was {object}"),
        ("{subject} play for {object}", "{subject} played for {object}"),
        ("The least that work is paid in {subject}", "The least that work was paid in {subject}"),
        ("{subject} frobnicates {object}", "{subject} frobnicates {object}"),
    ],
)
def test_the_past_changes_verbs_only(grammar: Grammar, text: str, past: str) -> None:
    assert grammar.past(text) == past
    assert grammar.is_past(past) == (text != past)


def test_the_past_of_klobs_templates_has_no_present(grammar: Grammar) -> None:
    marks = Marks("[X]", "[Y]")
    of_people = {"P26", "P39", "P101", "P103", "P106", "P108", "P140", "P413", "P1303", "P1412"}
    texts = [row[2] for _, row in rows_of(KLOB_TEMPLATES, OWN_COLUMNS) if row[0] in of_people]
    assert len(texts) == 3 * len(of_people)
    for text in texts:
        past = grammar.past(text, marks)
        assert not re.search(r"\b(is|are|has|plays|holds|serves|works|uses|pursues|performs)\b", past), past
        assert past != text, text
    assert grammar.past("[X] is employed by [Y]", marks) == "[X] was employed by [Y]"


@pytest.mark.parametrize(
    ("template", "subject", "usage", "article", "sentence"),
    [
        ("{subject} is led by {object}", "Netherlands", THE, "", "The Netherlands is led by ____"),
        ("{subject} is based in {object}", "LA Lakers", LAKERS, "", "The LA Lakers are based in ____"),
        ("{subject}'s seat is {object}", "LA Lakers", LAKERS, "", "The LA Lakers' seat is ____"),
        ("{subject}'s seat is {object}", "Utah Jazz", LAKERS, "", "The Utah Jazz's seat is ____"),
        ("{subject} is a citizen of {object}", "Ada", PLAIN, "the", "Ada is a citizen of the ____"),
        ("{subject} has its capital, {object}", "Ada", PLAIN, "the", "Ada has its capital, the ____"),
        ("{subject} belongs to the party {object}", "Ada", PLAIN, "the", "Ada belongs to the party ____"),
        ("{subject} plays the {object}", "Ada", PLAIN, "the", "Ada plays the ____"),
        ("The {subject} lies in {object}", "Rhine", THE, "", "The Rhine lies in ____"),
        ("In the {subject} lies {object}", "Rhine", THE, "", "In the Rhine lies ____"),
        ("In {subject} lies {object}", "{object} {subject}", THE, "", "In the {object} {subject} lies ____"),
    ],
)
def test_cloze(grammar, template, subject, usage, article, sentence):
    assert cloze(template, subject, usage, grammar, article, BLANK) == sentence


def test_sentences_of_a_dataset_are_worded_like_those_of_the_language(tmp_path, bundled, grammar):
    """SQL and Python make the same cloze of every bundled template."""
    texts = [*bundled, "The {subject} lies in the {object}"]
    for plural in (grammar.past(grammar.plural(text)) for text in texts):
        assert grammar.plural(plural) == plural  # `ripples` words the past of plurals once more
    numbers, ranks = pa.array(range(len(texts)), pa.int32()), pa.array([1] * len(texts), pa.int32())
    columns = {"property": numbers, "rank": ranks, "template": texts, "source": ["bundled"] * len(texts)}
    pq.write_table(pa.table(columns), tmp_path / "templates.parquet")
    day = parse_time("+2022-12-00T00:00:00Z", 10, "Q1985727")._asdict()
    names = "SELECT 1 AS id, 'Los Angeles Lakers' AS label, NULL AS classes "
    names += "UNION ALL SELECT 2, 'Rhine', [4022]"
    with duckdb.connect() as db:
        db.register("pits", pa.table({"pit": pa.array([day, None], TIME)}))
        create_wording(db, tmp_path / "templates.parquet", names, "SELECT pit FROM pits", True)
        assert db.sql("SELECT text FROM dates").fetchall() == [("December 2022",)]
        db.execute("CREATE TEMP TABLE uses AS FROM usages UNION ALL SELECT 3, NULL, false")
        uses = {1: LAKERS, 2: THE, 3: PLAIN}.items()
        options = ("Names", "Names {object}"), ("the", ""), ("December 2022", "")
        for (item, usage), name, article, date in itertools.product(uses, *options):
            made = db.sql(
                f"""SELECT cloze(sentences[1], '{name}', {{'article': article, 'plural': plural}},
                    nullif('{article}', ''), nullif('{date}', ''))
                FROM templates, uses WHERE id = {item} ORDER BY property"""
            ).fetchall()
            start = f"As of {date}, " if date else ""
            dates = [dated(text, start) for text in texts]
            due = [cloze(text, name, usage, grammar, article, BLANK) for text in dates]
            assert [text for (text,) in made] == due


@pytest.mark.parametrize("usage", [PLAIN, THE, LAKERS])
@pytest.mark.parametrize("article", ["", "the"])
@pytest.mark.parametrize("date", ["", "As of 2022, "])
def test_prompts_are_worded_as_the_one_that_was_seen(grammar, usage, article, date):
    texts = ["The seat of {subject} is {object}", "{subject} is based in {object}", "{subject} has {object}"]
    made = [cloze(dated(text, date), "Foo", usage, grammar, article, BLANK) for text in texts]
    for seen in made[1:]:
        assert prompts_like(seen, texts, "Foo", "Bar") == [text.removesuffix(BLANK).rstrip() for text in made]
    assert prompts_like("Something else ____", texts, "Foo", "Bar")[0] == "The seat of Foo is"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("en|verb|is|are", "kind is 'verb'"),
        ("en|plural|is|", "'is' must have another form, or none"),
        ("en|clause|that|those", "'that' must have another form, or none"),
    ],
)
def test_rows_that_cannot_be_used(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "grammar.tsv"
    lines = ["\t".join(COLUMNS), row.replace("|", "\t")]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=f"line 2: {re.escape(message)}"):
        read_grammar("en", path)
    path.write_text("\n".join([lines[0], *2 * ["en\tplural\tis\tare"]]) + "\n")
    with pytest.raises(InputError, match="line 3: 'is' has a row already"):
        read_grammar("en", path)

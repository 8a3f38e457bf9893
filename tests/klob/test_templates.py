"""Tables of templates, the project's and users', noun phrases, and the checks T01 to T15 of templates."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import KLOB_TEMPLATES
from factdrift.klob.random_words import read_words
from factdrift.klob.relations import RelationChoice
from factdrift.klob.templates import (
    Finding,
    Template,
    Templates,
    WordLists,
    check_templates,
    golden_sentences,
    read_golden,
    read_templates,
    read_word_lists,
)
from factdrift.words.noun_phrases import COLUMNS, read_noun_phrases

TEXTS = ["[X] 's tongue is , as it were, [Y]", "The  tongue of [X] : [Y]", "[X]\u00a0speaks [Y]"]


def published(path: Path, rows: list[tuple[str, str]]) -> Path:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows([("relation", "template"), *rows])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def test_published_layouts(tmp_path, choice):
    """One template a row, the relation on the first; three in one cell; JSON."""
    rows = [("native_(P103)", TEXTS[0]), ("", TEXTS[1]), ("", TEXTS[2])]
    rows += [("P19", "[X] born [Y]"), ("", "born [X] [Y]"), ("", "[X] [Y]")]
    read = read_templates(published(tmp_path / "t.tsv", rows), choice.relations)
    assert [template.text for template in read.of[103]] == TEXTS
    assert [template.id for template in read.of[19]] == ["P19-1", "P19-2", "P19-3"]
    one = read_templates(published(tmp_path / "t.tsv", [("P103", "\n".join(TEXTS))]), choice.relations)
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"P103": TEXTS}), encoding="utf-8")
    other = read_templates(path, choice.relations)
    assert [template.text for template in one.all()] == TEXTS == [t.text for t in other.all()]
    assert len(one.sha256) == 64
    assert one.sha256 != other.sha256


HEADER = b"relation\ttemplate\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\n", "line 1: the header"),
        (HEADER + b"P103\t[X] says [Y]\n\tin [X] says [Y]\n", r"t\.tsv: .*P103 has 2 templates"),
        (HEADER + b"P999\t[X] says [Y]\n", "P999 is none of the relations"),
        (HEADER + b"\t[X] says [Y]\n", "row 2: no relation"),
        (HEADER + b"native\t[X] says [Y]\n", "'native' is no relation"),
        (HEADER + b'P103\t"[X] [Y]\nThe tongue is [Y]\n[X] is [Y]"\n', "P103-2: the template .* cannot be"),
        (HEADER + b'P103\t"[X] [Y]\n[X] says [Y] .\n[X] is [Y]"\n', "P103-2: the template .* cannot be"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "no JSON"),
        (b'{"P103": [1, 2, 3]}', "P103: a list of 3"),
        (HEADER + b"P103\tx\ty\n", "row 2: 3 cells"),
        (b"pid\tn\ttemplate\tverb\tcues\nQ1\t1\t[X] is [Y]\tis\tx\n", "line 2: 'Q1' is no property id"),
        (None, "no such file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, choice, content, message):
    path = tmp_path / "t.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_templates(path, choice.relations)


def test_noun_phrases():
    phrases = read_noun_phrases()
    assert phrases[17].with_ordinal == "the {ord} country in which {x} is located"
    assert {entry.wh for entry in phrases.values()} == {"Who", "What"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["Q6", "l", "Who", "the head of {x}", ""], "line 2: 'Q6' is no property id"),
        (["P6", "l", "Where", "the head of {x}", ""], "line 2: wh is 'Where'"),
        (["P6", "l", "Who", "the {ord} head of {x}", ""], "line 2: the phrase"),
        (["P6", "l", "Who", "the head of {x}", "the head of {x}"], r"must have \{ord\}"),
    ],
)
def test_noun_phrases_that_cannot_be_used(row, message, tmp_path):
    good = ["P6", "l", "Who", "the head of {x}", ""]
    for name, rows, said in (("a", [row], message), ("b", [good] * 2, "line 3: P6 has a row already")):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join("\t".join(each) + "\n" for each in (COLUMNS, *rows)))
        with pytest.raises(InputError, match=said):
            read_noun_phrases(path)


@pytest.fixture(scope="module")
def own(choice: RelationChoice) -> Templates:
    return read_templates(KLOB_TEMPLATES, choice.relations)


@pytest.fixture(scope="module")
def lists() -> WordLists:
    return read_word_lists()


@pytest.fixture(scope="module")
def words() -> frozenset[str]:
    return frozenset(word.lower() for word in read_words("web2").entries)


@pytest.fixture(scope="module")
def golden() -> dict[str, str]:
    return read_golden()


@pytest.fixture(scope="module")
def check(own, choice, words, lists):
    """The findings in a table."""

    def found(table: Sequence[Template], golden: Mapping[str, str] | None = None) -> list[Finding]:
        return check_templates(table, own.all(), choice.relations, words, lists, golden or {})

    return found


def test_our_96_templates_have_no_defect(own, choice, check, golden):
    assert len(own.all()) == 96
    assert {template.relation for template in own.all()} == set(choice.relations)
    assert all(template.verb and all(template.cues) for template in own.all())
    assert check(own.all(), golden) == []


def test_the_relations(choice):
    assert len(choice.relations) == 32
    assert sum(relation.examples for relation in choice.relations.values()) == 13_675
    assert len(choice.second_hops) == 44
    assert {*choice.relations, *choice.second_hops} <= set(choice.phrases)
    assert len(choice.shared) == 25
    assert choice.shared <= set(choice.relations) & set(choice.second_hops)
    assert (36, 1376) in choice.inverses
    assert (1376, 36) in choice.inverses


def test_no_allowed_word_is_needless(own, words, lists):
    used = {word for template in own.all() for word in re.findall(r"[a-z]+", template.text.lower())}
    assert lists["allowed"] <= used - words


def test_golden_sentences_of_the_direction_pairs(own, choice, golden):
    assert golden_sentences(own.all(), choice.relations) == golden
    assert golden["P36-2"] == "The capital of France is Paris"
    assert golden["P1376-1"] == "Paris is the capital of France"
    assert len(golden) == 96


# Each of the classes of defects of the published table, in one row of an otherwise good one.
DEFECTS = {
    "T01": (103, 1, "[X] and [X] are native speakers of [Y]"),
    "T02": (103, 1, "[X] has [Y] as native language"),
    "T03": (106, 2, "the profession that [X] pursues is that of [Y]"),
    "T04": (69, 3, "As a student, [X] took his degree at [Y]"),
    "T05": (413, 1, "[X] plays in the position of a [Y]"),
    "T06": (276, 1, "[X] is located in the administrative unit of [Y]"),
    "T07": (449, 3, "The performance of [X] was first credited to [Y]"),
    "T08": (19, 2, "[X] has been born in [Y]"),
    "T09": (413, 3, "On the team , the role of [X] is that of [Y]"),
    "T10": (178, 1, "Developer of [X] [Y]"),
    "T11": (36, 1, "[X] is the seat of government for [Y]"),
    "T12": (176, 2, "Manufacturer Nokia makes the product [X] with [Y]"),
    "T13": (407, 2, "The languange of [X] is [Y]"),
    "T14": (641, 2, "In association sport, [X] is known for [Y]"),
    "T15": (108, 3, "The company that [X] works for is [Y]"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_triggers_its_check(name, own, check, golden):
    relation, n, text = DEFECTS[name]
    table = [
        template._replace(text=text) if (template.relation, template.n) == (relation, n) else template
        for template in own.all()
    ]
    found = check(table, golden)
    mine = [finding for finding in found if finding.check == name]
    assert mine, [str(finding) for finding in found]
    assert all(f"P{relation}" in finding.where for finding in mine)
    assert all(finding.error == (name != "T07") for finding in mine)


@pytest.mark.parametrize(
    ("relation", "text", "wanted"),
    [
        (36, "[X] is the capital of [Y]", {"T11"}),  # the wrong direction
        (17, "[X] has its headquarters in [Y]", {"T11"}),  # the wrong relation
        (140, "The religion of [X] is the [Y]", {"T05"}),
        (1303, "[X] plays the [Y]", set()),
        (1303, "[X] plays a [Y]", {"T05", "T11"}),
        (103, "The native language of [X]: [Y]", {"T09", "T10"}),
        (103, "The native language of [X] 's child is [Y]", {"T09"}),
        (103, "The native language of [X] in 1900 is [Y]", {"T12"}),
        (136, "[X] is a musician whose music belongs to the genre of [Y]", {"T15"}),
        # Most subjects of this relation are events.
        (276, "The place where one finds [X] is [Y]", {"T11", "T13", "T15"}),
    ],
)
def test_single_templates(relation, text, wanted, check):
    """What a template of a user's table, without verb and cues, shows by itself."""
    found = check([Template(relation, 1, text)])
    assert {finding.check for finding in found} - {"T08"} == wanted

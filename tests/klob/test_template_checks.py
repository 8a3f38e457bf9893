"""The checks T01 to T15: ours triggers none, one defect of each class triggers its own."""

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

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


Check = Callable[..., list[Finding]]


@pytest.fixture(scope="module")
def check(own: Templates, choice: RelationChoice, words: frozenset[str], lists: WordLists) -> Check:
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

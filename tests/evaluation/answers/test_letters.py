"""The options' orders, and the option that a reader would take a text to choose."""

import re
from pathlib import Path

import pytest

import factdrift
from factdrift.evaluation.questions.letters import LETTERS, chosen, listed, orders

OPTIONS = {
    "cities": ["Paris", "London", "Rome", "Berlin"],
    "clubs": ["Chelsea F.C.", "Serie A", "C. S. Lewis", "D.C. United"],
    "capitals": ["Washington, D.C.", "Serie A", "Chelsea F.C.", "C. S. Bo"],
    "people": ["Marta Kowalska", "Joe Biden", "Ann Smith", "Bo Smithers"],
    "twelve": [f"Person {number}" for number in range(1, 13)],
}
FORMS = [
    line.split("\t") for line in Path(__file__).with_name("letters.tsv").read_text("utf-8").splitlines()[1:]
]
"""Options, the letter that a person reads (`-`: none), and the output, in which `\\n` ends a line."""


@pytest.mark.parametrize("name", OPTIONS)
def test_outputs_are_read_as_a_person_reads_them(name):
    options = OPTIONS[name]
    wrong = []
    for named, letter, output in FORMS:
        if named == name:
            place = chosen(output.replace("\\n", "\n"), options)
            if ("-" if place is None else LETTERS[place]) != letter:
                wrong.append((output, letter, place))
    assert not wrong


@pytest.mark.parametrize("number", range(2, 27))
def test_each_letter_of_each_number_of_options_is_read(number):
    names = [f"Town {place}" for place in range(number)]
    for place, letter in enumerate(LETTERS):
        expected = place if place < number else None
        for form in ("{}", "{}.", "({})", "The answer is {}.", "**{}**", "Option {}", "{} is correct."):
            assert chosen(form.format(letter), names) == expected, form
        if place < number:
            for line in (listed(names).splitlines()[place], f"Answer: {letter}) {names[place]}"):
                assert chosen(line, names) == place
    assert chosen(listed(names), names) is None


@pytest.mark.parametrize("number", range(2, 27))
def test_every_option_has_another_letter_in_each_order(number):
    for key in ("1/Q1-P6/letters", "2/Q1-P6/letters"):
        first, second = orders(number, key)
        assert sorted(first) == sorted(second) == [*range(number)]
        # So a model that gives one letter whatever is asked never names one option twice.
        assert all(one != other for one, other in zip(first, second, strict=True))
        assert orders(number, key) == [first, second]


@pytest.mark.parametrize(
    "text", ["Option A is wrong, not B, I think. ", "A ", "the answer is not ", "<", "A, B and C or "]
)
def test_long_outputs_are_read_like_short_ones(text):
    assert chosen(text * 2000, OPTIONS["cities"]) == chosen(text * 3, OPTIONS["cities"])


def test_letters_are_listed_and_read_in_one_module():
    folder = Path(factdrift.__file__).parent
    letters = re.compile(r"ascii_uppercase|ABCD|\[A-[A-Z](a-z)?\]")
    modules = {path for room in ("evaluation", "chat") for path in folder.glob(f"{room}/**/*.py")}
    assert {path.name for path in modules if letters.search(path.read_text("utf-8"))} == {"letters.py"}

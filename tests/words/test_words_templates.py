"""The form of sentence templates."""

import pytest

from factdrift.words.templates import problem


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("{subject} is {object}", ""),
        ("In {subject}, the capital is {object}", ""),
        ("The capital is {object}", "once each"),
        ("{subject}, {subject} is {object}", "once each"),
        ("The {relation} of {subject} is {object}", "no other blank"),
        ("{object} is the capital of {subject}", "must end"),
        ("The capital of {subject} is {object}.", "must end"),
        ("The capital of  {subject} is {object}", "blanks"),
        (" The capital of {subject} is {object}", "blanks"),
        ("The non{subject} is {object}", "glued"),
        ("The capital of {subject}is {object}", "glued"),
    ],
)
def test_templates(template: str, complaint: str) -> None:
    found = problem(template) or ""
    assert complaint in found if complaint else found == ""


def test_a_generic_template_names_the_relation() -> None:
    assert problem("The {relation} of {subject} is {object}", generic=True) is None
    assert "{relation}" in (problem("The capital of {subject} is {object}", generic=True) or "")

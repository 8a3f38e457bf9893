"""A cloze test in the past, which questions about a day before the last dump take."""

import pytest

from factdrift.streams.asof import in_past


@pytest.mark.parametrize(
    ("prompt", "label", "past"),
    [
        ("The head of state of What Is ____", "What Is", "The head of state of What Is ____"),
        ("The head of What is is ____", "What is", "The head of What is was ____"),
        ("The Beatles have their seat in ____", "Beatles", "The Beatles had their seat in ____"),
        ("Georgia (sovereign state) borders ____", "Georgia", "Georgia (sovereign state) bordered ____"),
        ("Lyon frobnicates ____", "Lyon", "Lyon frobnicates ____"),
    ],
)
def test_a_cloze_test_in_the_past(prompt: str, label: str, past: str) -> None:
    assert in_past(prompt, label, "sovereign state") == past

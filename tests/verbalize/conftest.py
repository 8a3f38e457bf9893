"""The prompts of the project, and what the tests of the chat route share."""

from pathlib import Path

import pytest

from factdrift.verbalize.language import read_language

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def prompts():
    return ROOT / "resources" / "prompts"


@pytest.fixture(scope="session")
def english(prompts):
    return read_language(prompts, "en")


@pytest.fixture(scope="session")
def german(prompts):
    return read_language(prompts, "de")

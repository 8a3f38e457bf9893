"""A headless Chromium."""

from collections.abc import Iterator

import pytest
from browser import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.open() as opened:
        yield opened

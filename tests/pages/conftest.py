"""A headless Chromium."""

import contextlib
from collections.abc import Callable, Iterator

import pytest
from browser import Browser

Quiet = Callable[[str, int], contextlib.AbstractContextManager[None]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.open() as opened:
        yield opened


@pytest.fixture
def quiet(browser: Browser) -> Quiet:
    """In `with quiet(address, width)` nothing is said, and nothing asked for but what the address begins."""

    @contextlib.contextmanager
    def inside(address: str, width: int) -> Iterator[None]:
        browser.size(width, 844)
        browser.said.clear()
        browser.requests.clear()
        yield
        assert browser.said == []
        assert [each for each in browser.requests if not each.startswith(address)] == []

    return inside

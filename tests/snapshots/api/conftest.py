"""An API of Wikidata on loopback."""

from collections.abc import Iterator

import pytest
from support.wikidata_api import Wiki, serving


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    with serving(Wiki()) as found:
        yield found

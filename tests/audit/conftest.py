"""A right update of two small dumps."""

import copy
from typing import Any

import pytest
from support.audit_dumps import UPDATE


@pytest.fixture
def update() -> dict[str, Any]:
    return copy.deepcopy(UPDATE)

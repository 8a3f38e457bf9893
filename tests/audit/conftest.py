"""A right update of two small dumps."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from support.audit_dumps import UPDATE


@pytest.fixture
def update() -> dict[str, Any]:
    return copy.deepcopy(UPDATE)

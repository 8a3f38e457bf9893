"""Columns of Arrow arrays from Python values, without what pyarrow would import for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("not needed here", name=fullname)
        return None


def spare_pandas() -> None:
    """Converts something, so that pyarrow finds no pandas, for which it looks at its first conversion.

    The import costs every job half a second for nothing. Where pandas is asked for later, it is found.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas())
        try:
            pa.array([None])
        finally:
            del sys.meta_path[0]

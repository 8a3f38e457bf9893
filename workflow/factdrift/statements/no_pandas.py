"""Stops pyarrow from importing pandas, which costs every job half a second and is not used."""

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
    """Makes pyarrow's first conversion of Python values, at which it looks for pandas, fail to find it.

    A later `import pandas` of anyone works.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas())
        try:
            pa.array([None])
        finally:
            del sys.meta_path[0]

"""YAML files of the project, parsed by libyaml where PyYAML has it: every run begins with the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> dict[str, Any]:
    """A file whose outermost value is a mapping."""
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    return found

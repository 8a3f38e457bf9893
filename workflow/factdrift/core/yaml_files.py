"""YAML files of the project, parsed by libyaml where PyYAML has it: every run begins with the schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> dict[str, Any]:
    """A file whose outermost value is a mapping."""
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    return found


def files_like(path: Path) -> list[Path]:
    """A file and, where its key `like` names another one beside it, that file and those that it is like."""
    other = read_yaml(path).get("like")
    return [path, *(files_like(path.with_name(f"{other}.yaml")) if other else [])]


def read_alike(path: Path) -> dict[str, Any]:
    """A file laid over those that it is like: mappings are joined, and other values replaced."""
    found: dict[str, Any] = {}
    for file in reversed(files_like(path)):
        found = _laid(found, read_yaml(file))
    return found


def _laid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            joined[key] = _laid(below[key], above[key])
    return joined

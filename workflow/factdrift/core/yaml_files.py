"""YAML files of the project, parsed by libyaml where PyYAML has it: every run begins with the schema."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from factdrift.core.errors import InputError

Kind = TypeVar("Kind", bound=msgspec.Struct)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> dict[str, Any]:
    """A file whose outermost value is a mapping."""
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    return found


def read_struct(path: Path, kind: type[Kind]) -> Kind:
    """A file as a struct. Raises InputError that names a key which is missing, unknown or of another type."""
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}; correct it, or name another file") from None

"""Keys of the configuration as values of commands: description, default and limits come from the schema.

A field of a job has one key, or a struct of several: a frozen `msgspec.Struct`, given as JSON. The keys of
the struct are those of a part of `config/config.schema.yaml`, where a nested key (`c.quota`) is the field
`c_quota`, or `quota` if no other key of the part ends so; or the field `c` is itself such a struct, with a
field `quota`. A key elsewhere in the configuration is the field of its full name (`seed`, `snapshots_old`).
Values must be within the limits that the schema sets.
"""

import json
import math
import re
import textwrap
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from factdrift.core.errors import InputError, meant
from factdrift.core.files import no_number, once, read_yaml
from factdrift.core.paths import SCHEMA
from factdrift.core.switches import switches

Settings = TypeVar("Settings", bound=msgspec.Struct)


def read_settings(text: str, kind: type[Settings], part: str, option: str = "--settings") -> Settings:
    """The settings that an option gives, with defaults filled in.

    `text` is a JSON object, or `@` and the name of a file that holds one. Raises InputError that names the
    file or the key if it is not valid.
    """
    source = text[1:] if text.startswith("@") else option
    keys = read_json(text, option)
    if not isinstance(keys, dict):
        raise InputError(f"{source}: {type(keys).__name__} where an object such as {{}} is wanted")
    try:
        settings = msgspec.convert(_with_defaults(keys, kind, part), kind)
        _check_limits(settings, part)
    except ValueError as error:
        unknown = re.search("unknown field `(.*?)`", str(error))
        hint = meant(unknown[1], _names(kind)) if unknown else ""
        raise InputError(
            f"{source}: {error}{hint}; the keys are those of {_part_name(part)}; --help lists them"
        ) from error
    return settings


def read_json(text: str, option: str, form: str = "an object such as {}") -> Any:
    """What an option gives as JSON, or as `@` and the name of a file that holds it.

    Raises InputError that names the option or the file, and `form`, if it is not valid.
    """
    source = option
    if text.startswith("@"):
        source = text[1:]
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{option}: {source}: {error}") from error
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: not JSON: {error}; give {form}, or @FILE") from error


def _names(kind: type[msgspec.Struct]) -> Iterator[str]:
    """The names of the keys of a struct, and of the structs in it."""
    for field in msgspec.structs.fields(kind):
        yield field.encode_name
        if is_struct(field.type):
            yield from _names(field.type)


def _with_defaults(keys: dict[str, Any], kind: type[msgspec.Struct], part: str) -> dict[str, Any]:
    described, filled = _described(part), dict(keys)
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        if is_struct(field.type):
            if isinstance(inner := filled.get(name, {}), dict):
                filled[name] = _with_defaults(inner, field.type, f"{part}.{name}")
        elif "default" in described.get(name, {}):
            filled.setdefault(name, described[name]["default"])
    return filled


def _check_limits(settings: msgspec.Struct, part: str) -> None:
    """Raises ValueError that names the first key whose value the schema does not allow."""
    described = _described(part)
    for field in msgspec.structs.fields(type(settings)):
        value = getattr(settings, field.name)
        if is_struct(field.type):
            _check_limits(value, f"{part}.{field.encode_name}")
        elif field.encode_name in described and value not in (None, field.default):
            # The struct's own default means a key that the configuration does not have.
            _check_value(_paths(part)[field.encode_name], value)


def _check_value(path: tuple[str, ...], value: Any) -> None:
    """Raises ValueError that names the key if the schema does not allow its value."""
    # As JSON has it: a tuple is an array.
    value, entry = json.loads(msgspec.json.encode(value)), _entries()[path]
    if value == entry.get("default") or _is_allowed_text(entry, value):
        return
    for fault in validator()({**entry, "$defs": read_schema().get("$defs", {})}).iter_errors(value):
        raise ValueError(f"{'.'.join(path)}: {fault.message}")


def _is_allowed_text(entry: dict[str, Any], value: Any) -> bool:
    """Whether a text is among the values of an entry, or of its pattern, where the entry asks for no more.

    These are what most files of settings change, and importing jsonschema takes longer than many commands.
    """
    asks = entry.keys() - {"$ref", "default", "description", "format", "type"}
    if not isinstance(value, str) or entry.get("type", "string") != "string":
        return False
    return (asks == {"enum"} and value in entry["enum"]) or (
        asks == {"pattern"} and _matches(entry["pattern"], value)
    )


def _matches(expression: str, text: str) -> bool:
    """Whether a text has the pattern of a schema, in which `$` is the end of the text only."""
    return re.search(expression.replace("$", r"\Z"), text) is not None


@cache
def validator() -> Any:
    """A class of validators that follow JSON Schema where jsonschema's differ: numbers are finite, and `$` in
    a pattern is the end of the text only, not also the place before a last line end."""
    from jsonschema import Draft202012Validator, ValidationError, validators

    def is_finite(checker: Any, value: Any) -> bool:
        return Draft202012Validator.TYPE_CHECKER.is_type(value, "number") and bool(abs(value) < math.inf)

    def pattern(validator: Any, expression: str, value: Any, schema: Any) -> Iterator[ValidationError]:
        if isinstance(value, str) and not _matches(expression, value):
            yield ValidationError(f"{value!r} does not match {expression!r}")

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", is_finite)
    extend: Callable[..., Any] = validators.extend
    return extend(Draft202012Validator, {"pattern": pattern}, type_checker=types)


def check_value(key: str, value: Any, option: str) -> None:
    """Raises InputError that names the option and the key if the schema does not allow its value."""
    try:
        _check_value(tuple(key.split(".")), value)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from error


def default_of(key: str) -> Any:
    """The default of a key of the configuration; None if it has none."""
    return _entries()[tuple(key.split("."))].get("default")


def description_of(key: str) -> str:
    """What the schema says of a key of the configuration, with its default."""
    entry = _entries()[tuple(key.split("."))]
    text = " ".join(entry.get("description", "").split())
    return text + (f" [default: {json.dumps(entry['default'])}]" if "default" in entry else "")


def is_struct(kind: Any) -> bool:
    """Whether a type is a struct of settings."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def settings_of(config: Mapping[str, Any], kind: type[msgspec.Struct], part: str, only: str = "") -> str:
    """What a configuration says for the keys of `kind` that it has, as JSON for `--settings`.

    `only`: the fields that are wanted, if not all.
    """
    values, named = _values(config, kind, part), only.split()
    if unknown := set(named) - {field.encode_name for field in msgspec.structs.fields(kind)}:
        raise KeyError(", ".join(sorted(unknown)))
    return json.dumps({key: values[key] for key in named or values if key in values}, sort_keys=True)


def _values(config: Mapping[str, Any], kind: type[msgspec.Struct], part: str) -> dict[str, Any]:
    paths, values = _paths(part), {}
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        if is_struct(field.type):
            values[name] = _values(config, field.type, f"{part}.{name}")
        elif (value := value_of(config, paths[name])) is not msgspec.UNSET:
            values[name] = value
    return values


def value_of(config: Mapping[str, Any], path: Iterable[str]) -> Any:
    """What a configuration says for a key; UNSET if it does not have it.

    Of a switch that is left to the variant, what the variant says. Raises KeyError if the schema has no such
    key.
    """
    *above, last = path
    _entries()[*above, last]
    values: Any = config
    for key in above:
        values = values[key]
    value = values.get(last, msgspec.UNSET)
    return switches(config).get(last, value) if value == "variant" else value


def _part_name(part: str) -> str:
    return f"'{part}' in the configuration" if part else "the configuration"


def listing(kind: type[msgspec.Struct], part: str, option: str = "--settings", only: str = "") -> str:
    """The keys of an option's settings, a line or more a key: name, type, description, default.

    `only`: as for `settings_of`.
    """
    return "\n".join([f"keys of {option} ({_part_name(part)}):", *_keys(kind, part, only=only.split())])


def _keys(kind: type[msgspec.Struct], part: str, prefix: str = "", only: Sequence[str] = ()) -> Iterator[str]:
    """The lines of every key; `prefix` comes before the names of a nested struct's keys."""
    described = _described(part)
    for field in msgspec.structs.fields(kind):
        if only and field.encode_name not in only:
            continue
        if is_struct(field.type):
            yield from _keys(field.type, f"{part}.{field.encode_name}", f"{prefix}{field.encode_name}.")
            continue
        known = described.get(field.encode_name, {})
        name = f"{prefix}{field.encode_name} ({_type_name(field.type)})"
        text = f"{name}: {known.get('description', '').strip()}".rstrip(": ")
        if (default := known.get("default", field.default)) is not msgspec.NODEFAULT:
            text += f" [default: {json.dumps(default)}]"
        yield from textwrap.wrap(text, 100, initial_indent="  ", subsequent_indent="      ")


_WORDS = {int: "number", float: "number", str: "text", bool: "true or false", type(None): "none"}


def _type_name(kind: Any) -> str:
    """The values of a key in words: `auto or number`."""
    inner = get_args(kind)
    if get_origin(kind) is Literal:
        return " or ".join(map(str, inner))
    if get_origin(kind) is Annotated:
        return _type_name(inner[0])
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_type_name, inner)))
    if get_origin(kind) in (tuple, list):
        return f"list: {_type_name(inner[0])}"
    return "object" if get_origin(kind) is dict else _WORDS.get(kind, getattr(kind, "__name__", "text"))


@cache
def _described(part: str) -> dict[str, dict[str, Any]]:
    """Field name -> its entry of the schema; see `_paths`."""
    entries = _entries()
    return {name: entries[path] for name, path in _paths(part).items()}


@cache
def _paths(part: str) -> dict[str, tuple[str, ...]]:
    """Field name -> its path in the configuration.

    All keys under `part`, nested ones too; keys elsewhere have their full names, such as `snapshots_old`.
    """
    every = list(_entries())
    above = tuple(part.split(".")) if part else ()
    under = [path for path in every if path[: len(above)] == above]
    ends = Counter(path[-1] for path in under)
    names = {"_".join(path): path for path in every}
    names |= {path[-1]: path for path in under if ends[path[-1]] == 1}
    return names | {"_".join(path[len(above) :]): path for path in under}


@cache
def _entries() -> dict[tuple[str, ...], dict[str, Any]]:
    """Path of each key of the configuration -> its entry of the schema."""
    return dict(_leaves(read_schema(), ()))


@cache
def read_schema() -> dict[str, Any]:
    """The schema of the configuration, which nobody may change."""
    return read_yaml(SCHEMA)


def _leaves(node: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for key, entry in node.get("properties", {}).items():
        if "$ref" in entry:
            entry = {**read_schema()["$defs"][entry["$ref"].rpartition("/")[2]], **entry}
        if "properties" in entry:
            yield from _leaves(entry, (*path, key))
        else:
            yield (*path, key), entry

"""What the user chose: the configuration, checked against its schema and filled with its defaults.

The rules hand single values of it to the commands, so that no command reads the configuration itself.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import yaml


class InputError(Exception):
    """Something that the user gave cannot be used; the message names the file, line or key and the remedy."""


def configure(config: dict[str, Any], schema_file: Path) -> None:
    """Normalises dates, checks every key, fills in the defaults; in place.

    Raises InputError that names each wrong key and what it should be.
    """
    from jsonschema import Draft202012Validator, FormatChecker

    schema = yaml.safe_load(schema_file.read_text(encoding="utf-8"))
    _normalise(config)
    faults = sorted(
        Draft202012Validator(schema, format_checker=FormatChecker(["date"])).iter_errors(config),
        key=lambda fault: [str(part) for part in fault.absolute_path],
    )
    if faults:
        raise InputError("configuration: " + "; ".join(_explain(fault, config) for fault in faults))
    _fill_defaults(schema, config)
    old, new = config["snapshots"]["old"], config["snapshots"]["new"]
    if old >= new:
        raise InputError(
            f"configuration: snapshots.old ({old}) is not before snapshots.new ({new}); swap or change them"
        )
    if isinstance(config["dumps"], dict):
        for date in (old, new):
            if date not in config["dumps"]:
                derive = f" (or `{date}: derive`)" if date == old else ""
                raise InputError(f"configuration: dumps has no entry for {date}; add `{date}: PATH`{derive}")
        if config["dumps"][new] == "derive":
            raise InputError(
                f"configuration: dumps.{new}: only the old snapshot can be derived; give this dump's path"
            )


def check_files(config: dict[str, Any]) -> None:
    """Raises InputError that names the first file or directory of the configuration that is missing."""
    named = {f"only.subjects: {config['only']['subjects']}": config["only"]["subjects"]}
    named |= {f"labels: {path}": path for path in config["labels"]}
    if isinstance(config["dumps"], dict):
        for date in config["snapshots"].values():
            path = dump_source(config, date)
            named[f"dumps.{date}: {path}"] = "" if path == "derive" else path
    if config["pageviews"] != "none":
        named[f"pageviews: {config['pageviews']}"] = config["pageviews"]
    for key, path in named.items():
        if path and not Path(path).exists():
            raise InputError(f"configuration: {key} does not exist; mend the path or fetch the file")


def dump_source(config: dict[str, Any], date: str) -> str:
    """`sample`, `derive` or the path of the dump of one date."""
    return "sample" if config["dumps"] == "sample" else str(config["dumps"][date])


def method(config: dict[str, Any]) -> str:
    """The JSON that the commands of the updates stage take as `--method`: constants and resolved switches."""
    variant = config["variant"]
    constants = {key: _numbers(value) for key, value in config["method"].items()}
    reference_datatypes = constants.pop("dropped_datatypes_reference")
    if variant == "reference":
        constants["dropped_datatypes"] = reference_datatypes
    del constants["popularity_months"]
    days = {f"t_{which}": int(config["snapshots"][which].replace("-", "")) for which in ("old", "new")}
    return json.dumps({"variant": variant, **switches(config), **days, **constants}, sort_keys=True)


def switches(config: dict[str, Any]) -> dict[str, str]:
    """`dates`, `objects` and `merges`, with the variant's own where the configuration leaves it to that."""
    variant = config["variant"]
    own = {
        "dates": "interval" if variant == "revised" else "first_day",
        "objects": "any" if variant == "reference" else "relevant",
        "merges": "detect" if variant == "revised" else "off",
    }
    return {key: value if config[key] == "variant" else config[key] for key, value in own.items()}


def scope(config: dict[str, Any]) -> str:
    """`revised` takes an item for relevant in both dumps if it is in either, so it needs all of both."""
    return "all" if config["variant"] == "revised" else str(config["scope"])


def names(config: dict[str, Any]) -> str:
    """`held` if nothing is asked about items that a snapshot does not hold, else `all`.

    `reference` asks for the labels of all classes and objects, `merges: detect` whether an item stands in
    the new dump at all.
    """
    chosen = switches(config)
    wanted = config["variant"] == "reference" or chosen["objects"] == "any" or chosen["merges"] == "detect"
    return "all" if wanted or scope(config) == "all" else "held"


def _numbers(value: Any) -> Any:
    """P585 -> 585, Q5 -> 5, in lists too; anything else as it is."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, str) and value[:1] in ("P", "Q") and value[1:].isdigit():
        return int(value[1:])
    return value


def _normalise(config: dict[str, Any]) -> None:
    """YAML dates, strings and integers (20210104) as `2021-01-04`; anything else is left for the schema."""
    if config.get("merges") is False:  # an unquoted `off` is a truth value in YAML
        config["merges"] = "off"
    snapshots = config.get("snapshots")
    if isinstance(snapshots, dict):
        for which, value in snapshots.items():
            snapshots[which] = _date(value)
    dumps = config.get("dumps")
    if isinstance(dumps, dict):
        config["dumps"] = {_date(date): source for date, source in dumps.items()}


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = str(value)
    if len(text) == 8 and text.isdigit():
        return f"{text[:4]}-{text[4:6]}-{text[6:]}"
    return value if isinstance(value, dict | list) else text


def _fill_defaults(schema: dict[str, Any], value: dict[str, Any]) -> None:
    for key, part in schema.get("properties", {}).items():
        if "default" in part and key not in value:
            value[key] = json.loads(json.dumps(part["default"]))
        if isinstance(value.get(key), dict):
            _fill_defaults(part, value[key])


def _explain(fault: Any, config: dict[str, Any]) -> str:
    key = ".".join(str(part) for part in fault.absolute_path)
    description = fault.schema.get("description", "").strip()
    # What a key may be, where it may be several things, is told by its whole description.
    expected = description if fault.validator == "oneOf" else description.split(". ")[0].removesuffix(".")
    if fault.validator == "additionalProperties":
        known = fault.schema.get("properties", {})
        unknown = sorted(set(fault.instance) - set(known))
        where = f"{key}." if key else ""
        return f"unknown key {', '.join(where + name for name in unknown)}; known are {', '.join(known)}"
    if fault.validator == "required":
        return f"{fault.message}{' in ' + key if key else ''}"
    if fault.validator in ("format", "pattern") and "date" in (
        fault.schema.get("format"),
        fault.validator_value,
    ):
        return f"{key or 'dumps'}: {fault.instance!r} is no date; write it as 2021-01-04"
    hint = f" ({expected})" if expected else ""
    return f"{key}: {fault.message}{hint}"

"""Manifests of builds, for whoever shows or publishes a build: reading, what others may see, warnings."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError
from factdrift.core.products import no_file

_PRIVATE = ("contact", "api_key_file")
"""Keys of the configuration whose values concern the person who builds."""


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a build; InputError if there is none."""
    if not path.is_file():
        raise no_file(path)
    try:
        manifest: dict[str, Any] = {**json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: is no JSON object ({error}); remove it and build it again") from error
    return manifest


def public(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without what concerns person and machine: contact, key file, folders of absolute paths."""
    return {**manifest, "configuration": _public(manifest["configuration"])}


def _public(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _public(entry) for key, entry in value.items() if key not in _PRIVATE}
    if isinstance(value, list):
        return [_public(entry) for entry in value]
    if isinstance(value, str) and value.startswith(("/", "~")):
        return Path(value).name
    return value


def incomplete(account: Mapping[str, Any], day: str) -> str:
    """That the sample is not complete on a date, from its account in a manifest; empty if it is."""
    longer = account["longer"]
    ends = ", ".join(
        f"{part} until {account['complete_until'][part]}" + (f" but {longer[part]}" if part in longer else "")
        for part in account["incomplete"]
    )
    return f"sample is not complete on {day} ({ends}): what changed later is missing" if ends else ""


def warnings(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What a reader has to know about the bundled sample, if the build is from it."""
    for day, account in manifest["sample"].items():
        if sentence := incomplete(account, day):
            yield f"The {sentence}."
    for account in list(manifest["sample"].values())[:1]:
        yield (
            f"Built from the bundled sample, a table of {account['facts']:,} dated facts, not from a dump of "
            f"Wikidata. {account['made_up_ids']:,} of its {account['items']:,} items have ids made up by the "
            "project."
        )

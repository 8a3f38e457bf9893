"""What all releases of a series have in common: the configuration on which their contents depend."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.settings import scope
from factdrift.core.switches import switches

WHOLE = ("buckets", "seed", "test_share", "undersample", "variant", "verbalizer")
"""Keys that are compared as they are. Results do not depend on `buckets`, but names of files do."""

PARTS = ("method", "verbalization")
"""Keys that are mappings, all of whose keys are compared."""

CHAT = ("model", "temperature", "answer_tokens", "limit_param", "structured", "extra")
"""Keys of `chat` that shape a request."""


def configuration(config: Mapping[str, Any]) -> dict[str, Any]:
    """Key (`method.start`) -> value, of every key of a complete configuration on which a release depends.

    Switches have the value that the variant gives them. A file is its SHA-256, so that another path is no
    change. Keys that concern other products, or how and where jobs run, are left out. Raises InputError if a
    file is missing.
    """
    keys = {key: config[key] for key in WHOLE} | dict(switches(config)) | {"scope": scope(dict(config))}
    keys |= {f"{part}.{key}": value for part in PARTS for key, value in config[part].items()}
    keys |= {f"neighbors.{key}": config["neighbors"][key] for key in ("entities", "facts", "random")}
    keys |= {f"only.{key}": config["only"][key] for key in ("relations", "classes")}
    if config["verbalizer"] == "chat":
        keys |= {f"chat.{key}": config["chat"][key] for key in CHAT if key in config["chat"]}
    files = {"only.subjects": [config["only"]["subjects"]], "labels": config["labels"]}
    files["templates_file"] = [config["templates_file"]] if config["verbalizer"] == "file" else []
    for key, paths in files.items():
        keys[key] = [_digest(key, Path(path)) for path in paths if path]
    # From a server or from files: the same months.
    keys["pageviews"] = config["pageviews"] != "none"
    normal: dict[str, Any] = json.loads(json.dumps(keys, sort_keys=True))
    return normal


def check_unchanged(
    recorded: Mapping[str, Any], now: Mapping[str, Any], default: Mapping[str, Any], where: Path
) -> None:
    """Raises InputError that names each key whose value in a series' releases is not that of `now`.

    `recorded`: what the release whose account is `where` was made with. A key that it lacks, because an older
    version did not have it, counts as its `default`. All three as `configuration` returns them.
    """
    changed = [
        f"{key} (was {_shown(before)}, is {_shown(value)})"
        for key, value in now.items()
        if (before := recorded.get(key, default.get(key))) != value
    ]
    if changed:
        raise InputError(
            f"configuration: {', '.join(changed)}: changed since the releases of this series ({where}), "
            "whose snapshots and intervals are kept. Put the old values back, or begin another series: run "
            "`factdrift refresh` in another directory"
        )


def _digest(key: str, path: Path) -> str:
    if not path.is_file():
        raise InputError(f"configuration: {key}: {path} does not exist; correct the path or fetch the file")
    return sha256(path)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 100 else f"{text[:100]}..."

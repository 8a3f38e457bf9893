"""One release: a folder named by the newest date, with copies of the products and an account of them.

What all releases of a series have in common is the configuration on which their contents depend.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urldefrag

from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.manifests import read_manifest
from factdrift.core.owned import atomic_path
from factdrift.core.products import products
from factdrift.core.settings import scope
from factdrift.core.switches import switches

ACCOUNT = "release.json"
MANIFEST = "manifest.json"
STREAM = "stream.parquet"

RELEASED = [name for product in products() if product.released for name in product.names]
"""The products in a release: those of the newest pair, with its manifest, and the stream."""

WHOLE = ("buckets", "seed", "test_share", "undersample", "variant", "verbalizer")
"""Keys that are compared as they are. Results do not depend on `buckets`, but names of files do."""

PARTS = ("method", "verbalization")
"""Keys that are mappings, all of whose keys are compared."""

CHAT = ("model", "temperature", "answer_tokens", "limit_param", "structured", "extra")
"""Keys of `chat` that shape a request."""


class Release(NamedTuple):
    """What the next release has to know of one: its sequence of dates, where each dump came from, and the
    configuration on which its contents depend."""

    dates: list[str]
    dumps: dict[str, str]
    configuration: dict[str, Any]


def write_release(files: Sequence[Path], release: Release, output: Path) -> None:
    """Copies `files`, of which one is stream.parquet, to the folder `output`, with release.json beside them.

    The folder appears when it is complete. release.json says nothing of the time or the machine. Raises
    InputError if the manifest among `files` is not that of the newest pair, from the dumps of `release`.
    """
    # Only here, because the workflow imports this module each time it is read.
    import pyarrow.parquet as pq

    from factdrift.core.tables import database, sql

    with atomic_path(output) as folder:
        folder.mkdir()
        described = {}
        for path in sorted(files):
            shutil.copyfile(path, folder / path.name)
            rows = {"rows": pq.read_metadata(path).num_rows} if path.suffix == ".parquet" else {}
            described[path.name] = {"bytes": path.stat().st_size, "sha256": sha256(path), **rows}
        _check_manifest(folder / MANIFEST, release)
        with database() as db:
            stream = f"FROM read_parquet({sql(folder / STREAM)})"
            newest = f"{stream} WHERE interval = {len(release.dates) - 1}"
            query = f"SELECT scenario, count(*) {newest} GROUP BY 1 ORDER BY 2 DESC, 1"
            scenarios = dict(db.sql(query).fetchall())
            (further, reverts) = db.sql(
                f"SELECT count(*) FILTER (link > 1), count(*) FILTER (reverts) {newest}"
            ).fetchall()[0]
            (total,) = db.sql(f"SELECT count(*) {stream}").fetchall()[0]
        account = {
            "date": release.dates[-1],
            **release._asdict(),
            "factdrift": version("factdrift"),
            "files": described,
            "updates": total,
            # What the updates of the newest interval do to those before.
            "new": {
                "updates": sum(scenarios.values()),
                "scenarios": scenarios,
                "of_chains_before": further,
                "reverts": reverts,
            },
        }
        (folder / ACCOUNT).write_text(json.dumps(account, indent=2) + "\n", encoding="utf-8")


def last_release(folder: Path) -> Path | None:
    """The newest folder with an account in a folder of releases; None if there is none."""
    releases = [path.parent for path in folder.glob(f"*/{ACCOUNT}")]
    dated = [path for path in releases if re.fullmatch(r"\d{4}-\d{2}-\d{2}", path.name)]
    return max(dated, key=lambda path: path.name, default=None)


def read_release(folder: Path) -> tuple[Release, dict[str, Any]]:
    """A release and its account, proved by its files.

    Raises InputError that says what a complete release lacks: a readable account of its dates, the manifest
    of its newest pair with the dumps that the account names, and each file with its size and SHA-256.
    """
    release, account = read_account(folder)
    if missing := sorted(set(RELEASED) - account["files"].keys()):
        raise InputError(f"{folder / ACCOUNT}: lists no {missing[0]}; {_REMEDY}")
    for name, described in account["files"].items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"{path} is missing; {_REMEDY}")
        for key, actual in (("bytes", path.stat().st_size), ("sha256", sha256(path))):
            if described.get(key) != actual:
                raise InputError(f"{path}: {key} is {actual}, {ACCOUNT} says {described.get(key)}; {_REMEDY}")
    _check_manifest(folder / MANIFEST, release)
    return release, account


_REMEDY = (
    "put the file back, or move the folder of this release away, and the next refresh begins from the "
    "release before it"
)


def read_account(folder: Path) -> tuple[Release, dict[str, Any]]:
    """A release and its account, as the account has it. Raises InputError if it cannot be read."""
    path = folder / ACCOUNT
    if not path.is_file():
        raise InputError(f"{path} is missing")
    try:
        account = json.loads(path.read_text("utf-8"))
        release = Release(
            [str(date) for date in account["dates"]], dict(account["dumps"]), dict(account["configuration"])
        )
        if release.dates[1:][-1:] != [path.parent.name] or not release.dumps.keys() >= set(release.dates):
            raise ValueError("its dates are not those of the folder and the dumps")
        account["files"] = {str(name): dict(described) for name, described in account["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not the account of a release ({error}); {_REMEDY}") from None
    return release, account


def _check_manifest(path: Path, release: Release) -> None:
    """Raises InputError unless the manifest is that of the release's newest pair, from the dumps it names."""
    manifest = read_manifest(path)
    pair = dict(zip(("old", "new"), release.dates[-2:], strict=True))
    if manifest.get("dates") != pair:
        raise InputError(f"{path}: of the dates {manifest.get('dates')}, not {pair}")
    for date in pair.values():
        used: Mapping[str, Any] = manifest["dumps"].get(date, {})
        for key, value in parse_qsl(urldefrag(release.dumps[date]).fragment):
            if key in used and str(used[key]) != value:
                raise InputError(
                    f"{path}: the dump of {date} has {key} {used[key]}, the one on the server {value}; "
                    f"another file was used. Remove results/snapshots/{date} to fetch that one"
                )


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
        named = [Path(path) for path in paths if path]
        for path in named:
            if not path.is_file():
                raise InputError(
                    f"configuration: {key}: {path} does not exist; correct the path or fetch the file"
                )
        keys[key] = [sha256(path) for path in named]
    # From a server or from files: the same months.
    keys["pageviews"] = config["pageviews"] != "none"
    normal: dict[str, Any] = json.loads(json.dumps(keys, sort_keys=True))
    return normal


def check_unchanged(recorded: Mapping[str, Any], now: Mapping[str, Any], where: Path) -> None:
    """Raises InputError that names each key whose value in a series' releases is not that of `now`.

    `recorded`: what the release whose account is `where` was made with. Both as `configuration` returns them.
    """
    changed = [
        f"{key} (was {_shown(before)}, is {_shown(value)})"
        for key, value in now.items()
        if (before := recorded.get(key)) != value
    ]
    if changed:
        raise InputError(
            f"configuration: {', '.join(changed)}: changed since the releases of this series ({where}), "
            "whose snapshots and intervals are kept. Put the old values back, or begin another series: run "
            "`factdrift refresh` in another directory"
        )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 100 else f"{text[:100]}..."

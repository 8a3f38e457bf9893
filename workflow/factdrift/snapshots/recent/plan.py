"""Writes the files of a build: the list of items, and the configuration that fetches them as of two days."""

import datetime
import shlex
from collections.abc import Sequence
from pathlib import Path

import yaml

from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.owned import LIST, is_own, list_files
from factdrift.snapshots.recent.search import Found, Search
from factdrift.wikidata.ids import entity_id, property_id

TARGET = "results/wikifactdiff.parquet"


def write_plan(folder: Path, wanted: Search, changes: Found, items: Sequence[int], api: str) -> Path:
    """Writes `entities.txt` and `config.yaml` into a folder; returns the path of the latter.

    A file that would have the same content is left as it is, so that a repeated run makes nothing again.
    Raises InputError, and writes nothing, if another one was changed since it was written.
    """
    entities, path = folder / "entities.txt", folder / "config.yaml"
    asked = ", ".join(property_id(relation) for relation in wanted.relations)
    last = wanted.until - datetime.timedelta(days=1)
    lines = [
        f"# {len(items)} of {len(changes)} items with a statement of {asked}",
        f"# dated {wanted.since} to {last}" + (", or edited since" if wanted.changed else ""),
        *(f"{entity_id(item)}  # {' '.join(map(property_id, sorted(changes[item])))}" for item in items),
    ]
    # A date is inside if it is strictly between the dates of the two snapshots, which are as of the ends of
    # their days.
    old, new = str(wanted.since - datetime.timedelta(days=1)), str(wanted.until)
    config = {
        "snapshots": {"old": old, "new": new},
        "dumps": {date: {"entities": str(entities)} for date in (old, new)},
        "wikidata_api": api,
        "scope": wanted.scope,
        "only": {"relations": [property_id(relation) for relation in wanted.relations]},
        "undersample": {"P1082": 1},
    }
    texts = {entities: "\n".join(lines) + "\n", path: yaml.safe_dump(config, sort_keys=False)}
    others = [file for file, text in texts.items() if not _holds(file, text)]
    for file in others:
        if file.exists() and not _is_as_written(file):
            raise InputError(
                f"{file}: has been changed since this command wrote it, so it is not replaced; name your own "
                "keys in another file (snakemake --configfile A B), or move this one away"
            )
    for file in others:
        write_text(texts[file], file)
    list_files(folder, texts)
    return path


def arguments(config: Path, cores: str) -> list[str]:
    """The arguments of Snakemake that build the dataset of a configuration."""
    return ["--cores", cores, TARGET, "--configfile", str(config)]


def shown(config: Path, cores: str, contact: str) -> str:
    """The command that builds the dataset, for a shell."""
    return shlex.join(["snakemake", *arguments(config, cores), "--config", f"contact={contact}"])


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode("utf-8")


def _is_as_written(path: Path) -> bool:
    """Whether a file is as `write_plan` left it. The list was written last, and an edit may keep the size."""
    return is_own(path) and path.stat().st_mtime_ns <= path.with_name(LIST).stat().st_mtime_ns

"""Joins the shards of a locator into a folder of scores that `factdrift klob score` takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path, claim
from factdrift.core.tables import write_parquet
from factdrift.evaluation.locators.prompts import read_sentences
from factdrift.evaluation.locators.schemas import KNOWN, LOCATED
from factdrift.models.names import split_name

_BATCH = 1024
"""Rows that are read at a time."""


def write_skipped(locator: str, model: str, reason: str, output: Path, out_about: Path) -> str:
    """Writes in the place of a shard's scores why there are none; returns a line that says so."""
    name, _ = split_name(model)
    write_parquet(LOCATED.empty_table(), output)
    with atomic_path(out_about) as path:
        path.write_text(json.dumps({"name": locator, "model": name, "skipped": reason}, indent=1) + "\n")
    return f"{locator} on {name}: skipped: {reason}"


def skipped(description: Path) -> str | None:
    """Why there are no scores, in a line, by the description of a shard or folder; None if there are some."""
    about = json.loads(description.read_text(encoding="utf-8"))
    return f"{about['name']} on {about['model']}: skipped: {about['skipped']}" if "skipped" in about else None


def gather(sentences: Path, shards: Sequence[Path], about: Sequence[Path], folder: Path) -> int:
    """Writes the folder (docs/klob_scores.md) with known.parquet beside the scores; returns the sentences.

    `about`: what each shard's job wrote beside its table. A sentence that is not scored has moments NaN, so
    the scorer excludes and counts it. If the model was skipped, the reason is written, and tables without
    rows. Raises InputError if the shards do not belong together or lack a sentence, or a file in the folder
    is not ours.
    """
    claim(folder, ("scores.json", "sentences.txt", "units.npy", "mean.npy", "sd.npy", "known.parquet"))
    first = json.loads(about[0].read_text(encoding="utf-8"))
    if "skipped" in first:
        for name, shape in (("units", (0, 0)), ("mean", (0,)), ("sd", (0,))):
            with atomic_path(folder / f"{name}.npy") as path, path.open("wb") as file:
                np.save(file, np.zeros(shape, np.int32 if name == "units" else np.float64))
        (folder / "sentences.txt").write_text("")
        write_parquet(KNOWN.empty_table(), folder / "known.parquet")
        with atomic_path(folder / "scores.json") as path:
            path.write_text(json.dumps(first, indent=1) + "\n", encoding="utf-8")
        return 0
    order = {row["sentence"]: place for place, row in enumerate(read_sentences(sentences))}
    kinds = read_about(about)
    width = next((len(top) for batch in _batches(shards) for top in batch["top"].to_pylist() if top), 0)
    seen = np.zeros(len(order), bool)
    rows: list[dict[str, Any] | None] = [None] * len(order)
    mean, sd = np.full(len(order), np.nan), np.full(len(order), np.nan)
    with atomic_path(folder / "units.npy") as path:
        # Mapped into memory: K units of each sentence may be more than the memory holds.
        units: Any = np.lib.format.open_memmap(path, "w+", np.int32, shape=(len(order), width))
        for batch in _batches(shards):
            tops = batch["top"].to_pylist()
            for row, top in zip(batch.select(KNOWN.names).to_pylist(), tops, strict=True):
                place = order.get(row["sentence"])
                if place is None or seen[place]:
                    raise InputError(f"{folder}: the shards name {row['sentence']} twice, or it is unknown")
                seen[place], rows[place] = True, row
                units[place] = top if top else np.arange(width)
            places = [order[name] for name in batch["sentence"].to_pylist()]
            for values, name in ((mean, "mean"), (sd, "sd")):
                values[places] = batch[name].to_numpy(zero_copy_only=False)
        units.flush()
        del units
    if not seen.all():
        missing = next(name for name, place in order.items() if not seen[place])
        raise InputError(f"{folder}: {(~seen).sum():,} sentences are in no shard, the first is {missing}")
    for name, values in (("mean", mean), ("sd", sd)):
        with atomic_path(folder / f"{name}.npy") as path, path.open("wb") as file:
            np.save(file, values)
    with atomic_path(folder / "sentences.txt") as path:
        path.write_text("".join(f"{name}\n" for name in order), encoding="utf-8")
    write_parquet(pa.Table.from_pylist(rows, schema=KNOWN), folder / "known.parquet")
    named = {**kinds, "sign": "as_given"}
    with atomic_path(folder / "scores.json") as path:
        path.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")
    return len(order)


_PER_JOB = ("batches", "device", "threads")
"""Keys of a job's description that differ between shards."""


def read_about(paths: Sequence[Path]) -> dict[str, Any]:
    """What the shards' descriptions say in common; raises InputError if they contradict each other."""
    found: dict[str, Any] = {}
    for path in paths:
        given = json.loads(path.read_text(encoding="utf-8"))
        mine = {key: value for key, value in given.items() if key not in _PER_JOB}
        for key, value in mine.items():
            # A shard without sentences does not know its units.
            if found.setdefault(key, value) != value:
                raise InputError(
                    f"{path}: {key} is {value!r}, and {found[key]!r} in another shard; run all shards with "
                    "the same model and settings"
                )
    if "units" not in found:
        raise InputError(f"{paths[0]}: no sentence could be scored; see the reasons in the tables beside it")
    return found


def _batches(shards: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    for path in shards:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(_BATCH)

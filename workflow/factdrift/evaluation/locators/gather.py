"""Joins the shards of a locator into a folder of scores that `factdrift klob score` takes."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.files import write_json, write_text
from factdrift.core.owned import atomic_path, claim
from factdrift.core.tables import write_parquet
from factdrift.evaluation.locators.sentences import read_sentences
from factdrift.models.names import split_name

LOCATED = pa.schema(
    [
        *((name, pa.string()) for name in ("sentence", "subtask", "reason")),
        ("target", pa.int32()),
        ("target_text", pa.string()),
        ("probability", pa.float64()),
        ("known", pa.bool_()),
        *((name, pa.float64()) for name in ("mean", "sd")),
        ("layers", pa.list_(pa.float64())),
        ("top", pa.list_(pa.int32())),
    ]
)
"""One row for each sentence. `reason`: why it is not scored (docs/models.md); other columns are then null.
`target`: the token whose probability is explained, with its `probability`; `known`: it is the likeliest one
(null in KLoB-u, where it is chosen so). `mean`, `sd`: of all units' scores; NaN if one is not finite.
`layers`: sums of the scores over the units of each block. `top`: the best units, the best first."""

KNOWN = pa.schema([field for field in LOCATED if field.name not in ("mean", "sd", "top")])
"""The columns of LOCATED that are no part of the scores, one row for each sentence, in their order."""

_BATCH = 1024
"""Rows that are read at a time."""


def write_skipped(locator: str, model: str, reason: str, output: Path, out_about: Path) -> str:
    """Writes in the place of a shard's scores why there are none; returns a line that says so."""
    name, _ = split_name(model)
    write_parquet(LOCATED.empty_table(), output)
    write_json({"name": locator, "model": name, "skipped": reason}, out_about)
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
    if skipped(about[0]):
        described, order = json.loads(about[0].read_text(encoding="utf-8")), []
    else:
        described = {**read_about(about), "sign": "as_given"}
        order = [row["sentence"] for row in read_sentences(sentences)]
    columns = [name for name in LOCATED.names if name != "top"]
    rows = pa.concat_tables(pq.read_table(path, columns=columns) for path in shards)
    names = rows["sentence"].to_pylist()
    found, wanted = Counter(names), Counter(order)
    if wrong := (found - wanted) + (wanted - found):
        raise InputError(f"{folder}: the shards do not name each sentence once, such as {min(wrong)}")
    places = {name: place for place, name in enumerate(names)}
    known = rows.take(pa.array([places[name] for name in order], pa.int64()))
    for name in ("mean", "sd"):
        with atomic_path(folder / f"{name}.npy") as path, path.open("wb") as file:
            np.save(file, known[name].to_numpy())
    width = next((len(top) for _, top in _tops(shards) if top), 0)
    places = {name: place for place, name in enumerate(order)}
    with atomic_path(folder / "units.npy") as path:
        # Mapped, because memory may hold fewer than all of them.
        units: Any = np.lib.format.open_memmap(path, "w+", np.int32, shape=(len(order), width))
        for name, top in _tops(shards):
            units[places[name]] = top or np.arange(width)
        units.flush()
        del units
    write_text("".join(f"{name}\n" for name in order), folder / "sentences.txt")
    write_parquet(known.select(KNOWN.names).cast(KNOWN), folder / "known.parquet")
    write_json(described, folder / "scores.json")
    return len(order)


_PER_JOB = ("batches", "device", "threads")
"""Keys of a job's description that differ between shards."""


def read_about(paths: Sequence[Path]) -> dict[str, Any]:
    """What the shards' descriptions say in common; raises InputError if they contradict each other."""
    found: dict[str, Any] = {}
    for path in paths:
        given = json.loads(path.read_text(encoding="utf-8"))
        for key, value in given.items():
            # A shard without sentences does not know its units.
            if key not in _PER_JOB and found.setdefault(key, value) != value:
                raise InputError(
                    f"{path}: {key} is {value!r}, and {found[key]!r} in another shard; run all shards with "
                    "the same model and settings"
                )
    if "units" not in found:
        raise InputError(f"{paths[0]}: no sentence could be scored; see the reasons in the tables beside it")
    return found


def _tops(shards: Sequence[Path]) -> Iterator[tuple[str, list[int] | None]]:
    """Each sentence with its best units; None for one that is not scored."""
    for path in shards:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH, columns=["sentence", "top"]):
                yield from zip(batch["sentence"].to_pylist(), batch["top"].to_pylist(), strict=True)

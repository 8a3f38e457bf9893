"""What locators gave: joined from shards, and RSim and RSD of all of them, compared where KLoB allows it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.files import write_json, write_text
from factdrift.core.owned import atomic_path, claim
from factdrift.core.tables import write_parquet
from factdrift.evaluation.locators.sentences import LOCATED, read_sentences
from factdrift.klob.scoring import evaluate
from factdrift.klob.scoring.inputs import GRANULARITIES, Examples, Scores, read_scores
from factdrift.klob.scoring.report import Group
from factdrift.models.names import check_same_weights

KNOWN = pa.schema([field for field in LOCATED if field.name not in ("mean", "sd", "top")])
"""The columns of LOCATED that are no part of the scores, one row for each sentence, in their order."""

_PROBABILITIES = ("probability", "random", "named", "permuted")

_BATCH = 1024
"""Rows that are read at a time."""


def skipped(description: Path) -> str | None:
    """Why there are no scores, in a line, by the description of a shard or folder; None if there are some."""
    about = json.loads(description.read_text(encoding="utf-8"))
    return f"{about['name']} on {about['model']}: skipped: {about['skipped']}" if "skipped" in about else None


def without_effect(description: Path) -> str | None:
    """Why no effect of removing units is measured, in a line, by a folder's description; None if it is."""
    about = json.loads(description.read_text(encoding="utf-8"))
    by_others = None if "parameters" in about else "no locator was run on the model, with locate.parameters"
    reason = about.get("not_removed", by_others)
    return reason and f"{about['name']} on {about['model']}: no effect: {reason}"


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
    located, wanted = Counter(names), Counter(order)
    if wrong := (located - wanted) + (wanted - located):
        raise InputError(f"{folder}: the shards do not name each sentence once, such as {min(wrong)}")
    indices = {name: index for index, name in enumerate(names)}
    known = rows.take(pa.array([indices[name] for name in order], pa.int64()))
    for name in ("mean", "sd"):
        with atomic_path(folder / f"{name}.npy") as path, path.open("wb") as file:
            np.save(file, known[name].to_numpy())
    width = next((len(top) for _, top in _tops(shards) if top), 0)
    indices = {name: index for index, name in enumerate(order)}
    with atomic_path(folder / "units.npy") as path:
        # Mapped, because memory may hold fewer than all of them.
        units: Any = np.lib.format.open_memmap(path, "w+", np.int32, shape=(len(order), width))
        for name, top in _tops(shards):
            units[indices[name]] = top or np.arange(width)
        units.flush()
        del units
    write_text("".join(f"{name}\n" for name in order), folder / "sentences.txt")
    write_parquet(known.select(KNOWN.names).cast(KNOWN), folder / "known.parquet")
    write_json(described, folder / "scores.json")
    return len(order)


def read_about(paths: Sequence[Path]) -> dict[str, Any]:
    """What the shards' descriptions say in common; raises InputError if they contradict each other."""
    common: dict[str, Any] = {}
    for path in paths:
        for key, value in json.loads(path.read_text(encoding="utf-8")).items():
            # What is of the job alone differs; and a shard without sentences does not know its units.
            if key not in ("batches", "device", "threads") and common.setdefault(key, value) != value:
                raise InputError(
                    f"{path}: {key} is {value!r}, and {common[key]!r} in another shard; run all shards with "
                    "the same model and settings"
                )
    if "units" not in common:
        raise InputError(f"{paths[0]}: no sentence could be scored; see the reasons in the tables beside it")
    return common


def _tops(shards: Sequence[Path]) -> Iterator[tuple[str, list[int] | None]]:
    """Each sentence with its best units; None for one that is not scored."""
    for path in shards:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH, columns=["sentence", "top"]):
                yield from zip(batch["sentence"].to_pylist(), batch["top"].to_pylist(), strict=True)


SCORES = schema_of(
    "model revision granularity: string, units: int64, kind locator token hyper source: string",
    "parameters: float64",
    *(field for field in evaluate.MEASURES if field.name != "locator"),
)
"""One row for each measure (docs/tables/locate_scores.md). `kind`: `method` or `reference`. Locators can be
compared if model, revision, granularity and units are the same, by EFFECT also if model and `parameters` (the
percentage that is removed) are. `hyper`: hyper-parameters as JSON."""


Units = tuple[str, str, str, int]
"""Model, revision, granularity and number of units, by which locators can be compared."""


def grouped(folders: Sequence[Path]) -> dict[Units, dict[Path, Scores]]:
    """The folders' scores by units, in the order of models as given and from fine to coarse units."""
    groups: dict[Units, dict[Path, Scores]] = {}
    weights = []
    for folder in folders:
        scores = read_scores(folder)
        about = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        # Scores that others have made need not say from which weights.
        if "model_digest" in about:
            weights.append((f"{scores.model}@{scores.revision}", about["model_digest"], str(folder)))
        key = scores.model, scores.revision, scores.granularity, scores.units
        mine = groups.setdefault(key, {})
        if any(scores.name == other.name for other in mine.values()):
            raise InputError(
                f"locators: two of {_title(key)} are called {scores.name}; rename one in scores.json"
            )
        mine[folder] = scores
    check_same_weights(weights)
    models = list(dict.fromkeys(key[:2] for key in groups))
    order = sorted(groups, key=lambda key: (models.index(key[:2]), GRANULARITIES.index(key[2]), key[3]))
    return {key: groups[key] for key in order}


def _title(units: Units) -> str:
    model, _, granularity, number = units
    return f"{model}, {number:,} {granularity}{'' if number == 1 else 's'}"


def compare(
    folders: Sequence[Path], subtasks: Mapping[str, Examples], choices: evaluate.Choices
) -> tuple[list[Group], pa.Table]:
    """Evaluates every folder, and the reference locators with as many units as each group; with SCORES."""
    words = evaluate.lexical(subtasks, choices)
    groups = []
    rows: list[dict[str, Any]] = []
    for units, methods in grouped(folders).items():
        common = dict(zip(("model", "revision", "granularity", "units"), units, strict=True))
        group = Group(_title(units), [], [*evaluate.references(subtasks, choices, units[3]), words])
        for folder, scores in methods.items():
            about = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
            own = common | {
                "kind": "method",
                "token": about.get("token") or None,
                "hyper": json.dumps(about["hyper"], sort_keys=True) if "hyper" in about else None,
                "source": about.get("source"),
                "parameters": about.get("parameters"),
            }
            evaluation = evaluate.evaluate(scores, subtasks, choices)
            if (folder / "known.parquet").is_file():
                table = pq.read_table(folder / "known.parquet").drop_columns("layers").to_pylist()
                _add_recalled(evaluation, table)
                _add_effect(evaluation, table, subtasks)
            group.methods.append(evaluation)
            rows += [own | row for row in evaluation.measures]
        measures = (row for evaluation in group.references for row in evaluation.measures)
        rows += [common | {"kind": "reference"} | row for row in measures]
        groups.append(group)
    return groups, pa.Table.from_pylist(rows, schema=SCORES)


def _add_recalled(evaluation: evaluate.Evaluation, table: Sequence[Row]) -> None:
    """Adds how often the answer's first token is the likeliest one, and its mean probability.

    The mean is over the sentences for which the model's output is finite; the others count as not known. Of
    folders that others have written nothing is known.
    """
    for subtask in ("c", "r"):
        asked = [row for row in table if row["subtask"] == subtask and row["known"] is not None]
        for measure in ("known", "probability"):
            values = [float(row[measure]) for row in asked if row[measure] is not None]
            value = sum(values) / len(values) if values else None
            evaluation.add(subtask, measure, value, len(values))


def _add_effect(
    evaluation: evaluate.Evaluation, table: Sequence[Row], subtasks: Mapping[str, Examples]
) -> None:
    """Adds the share of the answers' probability that removing the named units takes away.

    It is that of the probability left without as many parameters at random; of these, of the whole model's.
    """
    rows = {row["sentence"]: row for row in table if row.get("random") is not None}
    for name in ("c", "r"):
        examples = subtasks[name]
        facts = [fact for key, fact in zip(examples.sentences, examples.fact, strict=True) if key in rows]
        columns = np.array(
            [[rows[key][column] for key in examples.sentences if key in rows] for column in _PROBABILITIES],
            np.float64,
        )
        whole, random, named, permuted = columns
        for measure, population, lost, of in (
            (evaluate.EFFECT, "all", permuted - named, random),
            ("effect", "all", random - named, random),
            ("effect", "permuted", random - permuted, random),
            ("effect", "random", whole - random, whole),
        ):
            ratio = evaluate.ratio_of_means(lost, of, np.array(facts, np.int64))
            evaluation.add(name, measure, population=population, **ratio)

"""RSim and RSD of all locators on all models, compared where KLoB's scorer allows it."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.klob.scoring.evaluate import MEASURES, Choices, Evaluation, evaluate, lexical, references
from factdrift.klob.scoring.inputs import GRANULARITIES, Examples, Scores, read_scores
from factdrift.klob.scoring.report import Group
from factdrift.models.names import check_same_weights

SCORES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "revision", "granularity")),
        ("units", pa.int64()),
        *((name, pa.string()) for name in ("kind", "locator", "token", "hyper", "source")),
        *(field for field in MEASURES if field.name != "locator"),
    ]
)
"""One row for each measure (docs/tables/locate_scores.md). `kind`: `method` or `reference`. Locators can be
compared if model, revision, granularity and units are the same. `hyper`: hyper-parameters as JSON."""


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
    folders: Sequence[Path],
    subtasks: Mapping[str, Examples],
    percents: Sequence[Fraction],
    scratch: Path,
    seed: int,
) -> tuple[list[Group], pa.Table]:
    """Evaluates every folder, and the reference locators with as many units as each group; with SCORES."""
    choices = Choices(tuple(sorted(set(percents))), seed=seed, scratch=scratch)
    words = lexical(subtasks, seed=seed)
    groups = []
    rows: list[dict[str, Any]] = []
    for units, methods in grouped(folders).items():
        common = dict(zip(("model", "revision", "granularity", "units"), units, strict=True))
        group = Group(_title(units), [], [*references(subtasks, choices, units[3]), words])
        for folder, scores in methods.items():
            about = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
            own = common | {
                "kind": "method",
                "token": about.get("token") or None,
                "hyper": json.dumps(about["hyper"], sort_keys=True) if "hyper" in about else None,
                "source": about.get("source"),
            }
            found = evaluate(scores, subtasks, choices)
            _add_recalled(found, folder)
            group.found.append(found)
            rows += [own | row for row in found.measures]
        rows += [common | {"kind": "reference"} | row for one in group.references for row in one.measures]
        groups.append(group)
    return groups, pa.Table.from_pylist(rows, schema=SCORES)


def _add_recalled(found: Evaluation, folder: Path) -> None:
    """Adds how often the answer's first token is the likeliest one, and its mean probability.

    The mean is over the sentences for which the model's output is finite; the others count as not known. Of
    folders that others have written nothing is known.
    """
    path = folder / "known.parquet"
    if not path.is_file():
        return
    columns = ("known", "probability")
    table = pq.read_table(path, columns=["subtask", *columns]).to_pylist()
    for subtask in ("c", "r"):
        asked = [row for row in table if row["subtask"] == subtask and row["known"] is not None]
        for measure in columns:
            values = [float(row[measure]) for row in asked if row[measure] is not None]
            value = sum(values) / len(values) if values else None
            found.add(subtask, measure, value, len(values))

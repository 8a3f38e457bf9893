"""RSim and RSD of all locators on all models, compared where KLoB's scorer allows it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.klob.scoring.evaluate import MEASURES, Choices, Evaluation, evaluate, lexical
from factdrift.klob.scoring.examples import Examples
from factdrift.klob.scoring.locator import GRANULARITIES, Scores, read_scores
from factdrift.klob.scoring.reference import REFERENCES, reference
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


@dataclass
class Group:
    """Locators that can be compared: they score the same units of the same model."""

    model: str
    revision: str
    granularity: str
    units: int
    methods: list[tuple[Scores, Path]] = field(default_factory=list)
    found: list[Evaluation] = field(default_factory=list)
    references: list[Evaluation] = field(default_factory=list)

    @property
    def title(self) -> str:
        plural = "" if self.units == 1 else "s"
        return f"{self.model}, {self.units:,} {self.granularity}{plural}"


def groups_of(folders: Sequence[Path]) -> list[Group]:
    """The folders' scores in groups, in the order of models as given and from fine to coarse units."""
    groups: dict[tuple[Any, ...], Group] = {}
    weights = []
    for folder in folders:
        scores = read_scores(folder)
        about = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        # Scores that others have made need not say from which weights.
        if "model_digest" in about:
            weights.append((f"{scores.model}@{scores.revision}", about["model_digest"], str(folder)))
        key = scores.model, scores.revision, scores.granularity, scores.units
        groups.setdefault(key, Group(*key)).methods.append((scores, folder))
    check_same_weights(weights)
    models = list(dict.fromkeys((group.model, group.revision) for group in groups.values()))
    for group in groups.values():
        names = [scores.name for scores, _ in group.methods]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"locators: two of {group.title} are called {twice}; rename one in scores.json")

    def order(group: Group) -> tuple[int, int, int]:
        place = models.index((group.model, group.revision))
        return place, GRANULARITIES.index(group.granularity), group.units

    return sorted(groups.values(), key=order)


def compare(
    folders: Sequence[Path],
    subtasks: Mapping[str, Examples],
    percents: Sequence[Fraction],
    scratch: Path,
    seed: int,
) -> list[Group]:
    """Evaluates every folder, and the reference locators with as many units as each group."""
    groups = groups_of(folders)
    choices = Choices(tuple(sorted(set(percents))), seed=seed, scratch=scratch)
    words = lexical(subtasks, seed=seed)
    parts = list(subtasks.values())
    for group in groups:
        for scores, folder in group.methods:
            found = evaluate(scores, subtasks, choices)
            group.found.append(found._replace(measures=[*found.measures, *recalled(folder, scores.name)]))
        for kind in REFERENCES:
            drawn = reference(kind, parts, group.units, seed, like=group.methods[0][0])
            group.references.append(evaluate(drawn, subtasks, choices))
        group.references.append(words)
    return groups


def write_table(groups: Sequence[Group], output: Path) -> int:
    """Writes SCORES; returns the number of rows."""
    rows: list[dict[str, Any]] = []
    for group in groups:
        common = {name: getattr(group, name) for name in ("model", "revision", "granularity", "units")}
        for (_, folder), found in zip(group.methods, group.found, strict=True):
            about = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
            own = common | {
                "kind": "method",
                "token": about.get("token") or None,
                "hyper": json.dumps(about["hyper"], sort_keys=True) if "hyper" in about else None,
                "source": about.get("source"),
            }
            rows += [own | row for row in found.measures]
        rows += [common | {"kind": "reference"} | row for found in group.references for row in found.measures]
    return write_parquet(pa.Table.from_pylist(rows, schema=SCORES), output)


def recalled(folder: Path, locator: str) -> Iterator[dict[str, Any]]:
    """Rows of MEASURES: how often the answer's first token is the likeliest one, and its mean probability.

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
            named = {"locator": locator, "subtask": subtask, "measure": measure}
            yield dict.fromkeys(MEASURES.names) | named | {"value": value, "n": len(values)}

"""Does locating say where to edit? Scores of each block beside the success of edits at that block.

Hase et al., 2023, "Does Localization Inform Editing?" (arXiv 2301.04213), compare tracing effects with edit
success over facts at a fixed block. Here that, and the comparison over blocks: for each fact, and of the
means over the facts. Only ranks are compared (Spearman).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import stats

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.intervals import Z, percentiles
from factdrift.core.owned import scratch
from factdrift.core.score_table import HIGHER, Cell, Column, Line, bounded, rules, table
from factdrift.core.tables import write_rows
from factdrift.evaluation.locators.table import read_about, skipped
from factdrift.evaluation.methods.hyperparameters import at_block
from factdrift.evaluation.scores.groups import by_columns, by_text
from factdrift.evaluation.scores.metrics import Runs, weights_of, write_scores
from factdrift.models.names import check_same_weights

METRICS = (
    *("efficacy_d", "efficacy_s", "generalization_d", "generalization_s"),
    *("bleedover_random", "bleedover_nearest"),
)
SHOWN = "efficacy_d"
"""The metric of the text and the figure."""
RESAMPLES = 1000
"""Bootstrap samples of the facts."""

VS_EDIT = schema_of(
    "model locator granularity method metric measure: string, layer: int32, value low high: float64",
    "n left_out: int64",
)
"""One row for each measure (docs/tables/locate_vs_edit.md)."""


Numbers = NDArray[np.float64]
Edited = dict[str, dict[str, dict[str, Numbers]]]
"""Method -> metric -> edit -> [blocks]; NaN where an edit failed."""


class Located(NamedTuple):
    """A locator's scores of the blocks of a model: fact -> [blocks]."""

    locator: str
    granularity: str
    scores: dict[str, Numbers]
    weights: str
    """The `model_digest` of its job."""


def against_edits(
    runs: Runs, folders: Sequence[Path], locators: Sequence[str], seed: int
) -> tuple[list[Row], list[str]]:
    """Rows of VS_EDIT, and notes on what could not be compared.

    `runs`: of the models, and of each with edits at every block. `folders`: of each model, with those of its
    locators.
    """
    rows = []
    notes: list[str] = []
    for model, folder in zip(runs.models, folders, strict=True):
        located = []
        for name in locators:
            shards = sorted((folder / name).glob("edits.*.parquet"))
            about = [path.with_suffix(".json") for path in shards]
            if not about:
                raise InputError(f"--folders: {folder / name}: no edits.*.parquet; run `locate run` first")
            if reason := skipped(about[0]):
                notes.append(reason)
                continue
            kind, columns = read_about(about), ["sentence", "reason", "layers"]
            read = (row for path in shards for row in pq.read_table(path, columns=columns).to_pylist())
            known = (row for row in read if row["reason"] is None and row["layers"] is not None)
            scores = {row["sentence"]: np.array(row["layers"], np.float64) for row in known}
            if scores:
                located.append(Located(kind["name"], kind["granularity"], scores, kind["model_digest"]))
            else:
                print(f"{name} on {model}: its units are not numbered block by block; it is left out")
        if not located:
            continue
        layers = max(len(values) for locator in located for values in locator.scores.values())
        weights = [(model, locator.weights, locator.locator) for locator in located]
        check_same_weights([*weights, *(own for own in weights_of(runs.made) if own[0] == model)])
        at = [at_block(method, layer) for method in runs.methods for layer in range(layers)]
        edited = _read_edited(replace(runs, models=[model], methods=at), layers)
        rows += list(compare(model, located, edited, seed))
        notes += unedited(model, edited, runs.methods, layers)
    return rows, notes


def _read_edited(runs: Runs, layers: int) -> Edited:
    """The metrics of the edits of one model; `runs.methods` are names of `at_block`."""
    with scratch() as folder:
        path = folder / "scores.parquet"
        write_scores(runs, path, folder / "probes.parquet")
        rows = pq.read_table(path, columns=["edit", "method", *METRICS]).to_pylist()
    edited: Edited = {}
    for row in rows:
        method, _, layer = row["method"].rpartition("@")
        for metric in METRICS:
            values = edited.setdefault(method, {}).setdefault(metric, {})
            mine = values.setdefault(row["edit"], np.full(layers, np.nan))
            mine[int(layer)] = np.nan if row[metric] is None else row[metric]
    return edited


def unedited(model: str, edited: Edited, methods: Sequence[str], layers: int) -> Iterator[str]:
    """A line for each method that made no edit at some block of a model, so that it is not compared."""
    for method in methods:
        scores = [values for metric in edited.get(method, {}).values() for values in metric.values()]
        lost = [str(layer) for layer in range(layers) if not any(np.isfinite(row[layer]) for row in scores)]
        if lost:
            yield (
                f"{method} on {model}: not compared, since no edit was made at block {', '.join(lost)}; the "
                "log of its job says why"
            )


def compare(model: str, located: Sequence[Located], edited: Edited, seed: int) -> Iterator[Row]:
    """Rows of VS_EDIT of one model."""
    locators = [
        (own.scores, {"model": model, "locator": own.locator, "granularity": own.granularity})
        for own in located
    ]
    metrics = [
        (values, {"model": model, "method": method, "metric": metric})
        for method, of_metric in edited.items()
        for metric, values in of_metric.items()
    ]
    for measure, tables in (("located", locators), ("edited", metrics)):
        for values, own in tables:
            for layer, column in enumerate(np.array(list(values.values())).T):
                mean = _mean(column)
                yield own | {"measure": measure, "layer": layer, "left_out": len(column) - mean["n"]} | mean
    for (scores, locator), (values, metric) in product(locators, metrics):
        common = [name for name in scores if name in values]
        both = [name for name in common if all(np.isfinite(of[name]).all() for of in (scores, values))]
        every = len(scores.keys() | values.keys())
        if both:
            left, right = (np.array([table[name] for name in both]) for table in (scores, values))
            for row in correlations(left, right, seed):
                yield locator | metric | row | {"left_out": every - row["n"]}


def correlations(left: Numbers, right: Numbers, seed: int) -> Iterator[Row]:
    """Rank correlations of scores and metrics, [facts, blocks] each: of means, per fact, at each block."""
    draws = np.random.default_rng(seed).integers(len(left), size=(RESAMPLES, len(left)))
    means = _resampled(left.mean(0), right.mean(0), left[draws].mean(1), right[draws].mean(1))
    yield {"measure": "rank_of_means", "layer": None, "n": len(left), **means}
    yield {"measure": "rank_per_fact", "layer": None, **_mean(spearman(left, right))}
    for layer, (mine, its) in enumerate(zip(left.T, right.T, strict=True)):
        rank = _resampled(mine, its, mine[draws], its[draws])
        yield {"measure": "rank_at_layer", "layer": layer, "n": len(left), **rank}


def _mean(values: Numbers) -> Row:
    """Mean and 95 % interval over the values that are not NaN, with their number `n`."""
    known = values[np.isfinite(values)]
    mean = known.mean() if len(known) else np.nan
    half = Z * known.std(ddof=1) / len(known) ** 0.5 if len(known) > 1 else np.nan
    return _measured(mean, mean - half, mean + half) | {"n": len(known)}


def _resampled(left: Numbers, right: Numbers, lefts: Numbers, rights: Numbers) -> Row:
    """The rank correlation of two vectors; its interval by those of bootstrap samples, a row each."""
    value = spearman(left[None], right[None])[0]
    ends = percentiles(spearman(lefts, rights)) if np.isfinite(value) else [np.nan] * 2
    return _measured(value, *ends)


def _measured(*numbers: float) -> Row:
    """A value and the ends of its interval; null for NaN."""
    known = (float(number) if np.isfinite(number) else None for number in numbers)
    return dict(zip(("value", "low", "high"), known, strict=True))


def spearman(left: Numbers, right: Numbers) -> Numbers:
    """[rows]: Spearman's rank correlation of each row of two arrays [rows, values]; NaN for constant rows."""
    ranks = [stats.rankdata(values, axis=1) for values in (left, right)]
    first, second = (of - of.mean(1, keepdims=True) for of in ranks)
    norms = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        ranked: Numbers = np.where(norms > 0, (first * second).sum(1) / norms, np.nan)
    return ranked


def write_against(rows: Sequence[Row], notes: Sequence[str], output: Path) -> int:
    """Writes VS_EDIT; raises InputError, with the notes, if there is nothing to compare."""
    if not any(row["measure"].startswith("rank") for row in rows):
        reason = (
            "locate: no locator's scores can be compared with edits: their units are not numbered block by "
            "block, no edited fact could be located, or no method could edit every block"
        )
        raise InputError("\n".join([reason, *notes]))
    return write_rows(rows, VS_EDIT, output)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The comparison as text: for each model and method the rank correlations of all locators."""
    yield "Rank correlation between a block's score and the success of edits at that block (95 %)"
    ranked = (row for row in rows if row["measure"] == "rank_of_means")
    for model, method in by_columns(ranked, "model", "method"):
        every = [row for row in rows if (row["model"], row.get("method")) == (model, method)]
        own = [row for row in every if row["metric"] == SHOWN]
        edited = [row for row in own if row["measure"] == "edited" and row["value"] is not None]
        by_layer = "  ".join(f"{row['layer']}: {row['value']:.2f}" for row in edited)
        yield from ("", f"{model}, {method}; {SHOWN} by block  {by_layer}")
        ranks = by_columns((row for row in own if row.get("locator")), "locator")
        compared = [Line(name, of) for (name,), of in ranks.items()]
        yield from table("", COLUMNS, compared)
        counts = []
        for line in compared:
            (means, *_) = line.row
            lost = f", {means['left_out']:,} left out" if means["left_out"] else ""
            counts.append((f"n = {means['n']:,} facts{lost}", line.name))
        yield from by_text(counts, always=False)
        for name in dict.fromkeys(row["locator"] for row in every if row.get("locator")):
            if (name,) not in ranks:
                yield f"{name}: no fact has a value of {SHOWN} at every block"
    yield from rules(COLUMNS)


def _rank(number: int) -> Callable[[Sequence[Row]], Cell]:
    return lambda rows: bounded(*(rows[number][name] for name in ("value", "low", "high")))


def _span(rows: Sequence[Row]) -> Cell:
    """From the least to the greatest rank correlation at a block."""
    at = [row["value"] for row in rows[2:] if row["value"] is not None]
    return Cell(f"{min(at):.2f} to {max(at):.2f}") if at else Cell()


COLUMNS = (
    Column("blocks, means", _rank(0), HIGHER, fails=0),
    Column("blocks, a fact", _rank(1), HIGHER, fails=0),
    Column("facts, a block", _span),
)
"""Of the rank correlations of a locator: of means, per fact, at each block."""

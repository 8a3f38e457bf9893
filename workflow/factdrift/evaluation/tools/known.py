"""`factdrift edit known`: updates whose old object a model knows, and as many whose old object it does not.

Imports torch.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.owned import scratch
from factdrift.core.tables import write_parquet
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.updates import SCENARIOS, Choice, draw, write_edits
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.settings import Settings
from factdrift.evaluation.states.edited import Condition
from factdrift.models.loaded import Loaded

OLD = ("stale", "both")
"""Verdicts of answers that name the old object: the unedited model knows it."""


class Choosing(NamedTuple):
    """Which updates of a dataset are asked about and chosen."""

    dataset: Path
    split: str
    """`train`, `test` or `all`."""
    number: int
    """Updates of each of both groups."""
    seed: int
    settings: Settings
    output: Path


def choose(choosing: Choosing, model: Loaded) -> Iterator[str]:
    """Asks the unedited model in writing for the object of each update; yields the lines to print.

    Writes rows of the dataset, in its order: so many replacements whose old object the model names, and so
    many of the others, as far as there are, drawn by a seeded hash. Raises InputError if none can be asked.
    """
    with scratch() as folder:
        edits = folder / "edits.parquet"
        write_edits(choosing.dataset, edits, Choice(split=choosing.split, fluency_sample=0))
        known = _answers(choosing, model, edits, folder)
    table = pq.read_table(choosing.dataset)
    drawn: dict[bool, list[str]] = {}
    for knows in (True, False):
        names = (edit for edit, stale in known.items() if stale is knows)
        drawn[knows] = sorted(names, key=lambda edit: draw("known", choosing.seed, edit))
    yield (
        f"{model.name} names the old object of {len(drawn[True]):,} of {len(known):,} replacements "
        f"({choosing.dataset}, split {choosing.split})"
    )
    chosen = {knows: names[: choosing.number] for knows, names in drawn.items()}
    both = {edit for names in chosen.values() for edit in names}
    if not both:
        raise InputError(f"{choosing.dataset}: {model.name} can be asked about no replacement in writing")
    rows = table.filter([edit in both for edit in _ids(table.to_pylist())])
    write_parquet(rows, choosing.output)
    named, others = (f"{len(chosen[knows]):,}" for knows in (True, False))
    yield f"{choosing.output}: {named} of these and {others} others, drawn with seed {choosing.seed}"


def _answers(choosing: Choosing, model: Loaded, edits: Path, folder: Path) -> dict[str, bool]:
    """Edit -> whether the unedited model names its old object in writing, where it is asked and answers."""
    benchmark = read_edits(edits)
    benchmark = benchmark.without(excluded(model, benchmark))
    questions = [question for question in benchmark.questions if question.words and question.role == "update"]
    asked = dataclasses.replace(benchmark, questions=questions)
    condition = Condition(Prepared(Hyper("none", model.name, "", {})), choosing.settings.regime)
    run = Run.of(Session(model, choosing.settings), asked, [condition], choosing.seed)
    files = Files.under(folder, "none")
    evaluate(dataclasses.replace(run, ways=["written"]), files)
    rows = written_table([files.answers], [edits]).to_pylist()
    return {row["edit"]: row["verdict"] in OLD for row in rows if row["verdict"]}


def _ids(rows: list[Row]) -> Iterator[str]:
    """The id of the edit that each replacement is; "" of other updates."""
    for row in rows:
        same = row["scenario"] == SCENARIOS["replacement"]
        yield f"{row['subject']['id']}-{row['relation']['id']}" if same else ""

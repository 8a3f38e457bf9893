"""Methods run on the same few updates of one model, so that they can be compared; kept runs are not repeated.

Imports torch.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from factdrift.core.files import sha256
from factdrift.core.fingerprint import of_module
from factdrift.core.owned import claim
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.session import Session
from factdrift.evaluation.settings import Settings
from factdrift.evaluation.states.edited import Condition
from factdrift.evaluation.tables import TABLES, run_id
from factdrift.models.loaded import Loaded
from factdrift.models.names import folder_of


def scored(
    model: Loaded, edits: Path, conditions: Sequence[Condition], settings: Settings, folder: Path
) -> Path:
    """Writes the scores of the conditions, the unedited model first, into a folder; returns their table.

    `edits`: a table EDITS. Says first what has to run, and how long the questions take without any edit.
    """
    benchmark = read_edits(edits)
    kept = [(condition, _kept(model, edits, condition, settings, folder)) for condition in conditions]
    missing = [(condition, files) for condition, files in kept if not _complete(files)]
    asked = sum("loglik" in question.ways for question in benchmark.questions)
    names = ", ".join(title_of(condition.method) for condition, _ in missing) or "nothing, all is kept"
    print(f"{model.name}: {len(benchmark.edits):,} updates, {asked:,} questions a method; to run: {names}")
    for condition, files in missing:
        start = time.perf_counter()
        run = Run.of(Session(model, settings), benchmark, [condition], 0)
        claim(files.parts.parent, [path.name for path in _tables(files)])
        evaluate(replace(run, ways=["loglik"]), files)
        left = len(missing) - 1
        if condition.unedited and left:
            seconds = round((time.perf_counter() - start) * left) + 1
            print(
                f"questions of {left} methods: about {seconds:,} s, besides the time of the edits", flush=True
            )
    return _written(model, edits, kept, folder)


def _kept(model: Loaded, edits: Path, condition: Condition, settings: Settings, folder: Path) -> Files:
    """Where the tables of a run are kept: under a digest of all that they depend on."""
    about = {
        **condition.meta(Session(model, settings)),
        "edits": sha256(edits),
        "settings": msgspec.to_builtins(settings),
        "code": of_module("factdrift.evaluation.run"),
    }
    return Files.under(folder / f"{folder_of(model.name)}-{condition.method}-{run_id(about)}", "0-of-1")


def _tables(files: Files) -> list[Path]:
    return [getattr(files, name) for name in TABLES]


def _complete(files: Files) -> bool:
    return all(path.is_file() for path in _tables(files))


def _written(model: Loaded, edits: Path, kept: Sequence[tuple[Condition, Files]], folder: Path) -> Path:
    answers, made, states = zip(*(_tables(files) for _, files in kept), strict=True)
    methods = [condition.method for condition, _ in kept]
    scores = folder / "edit_scores.parquet"
    claim(folder, [scores.name, "probes.parquet"])
    runs = Runs(edits, answers, made, states, models=[model.name], methods=methods)
    write_scores(runs, scores, folder / "probes.parquet")
    return scores

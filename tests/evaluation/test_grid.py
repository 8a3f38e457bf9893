"""The grid: each method is asked each benchmark in each way, and answers or says why not."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.asking import Told, ask, command, saved
from support.benchmarks import write_benchmarks
from support.methods_in_few_steps import artefacts, hyper_in
from support.own_methods import write_examples
from support.tiny_models import tiny_model

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED, record_of, records
from factdrift.evaluation.questions.question import WAYS, Benchmark
from factdrift.models.loaded import Loaded

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:second moments")]

OWN = {"mine.py:edit": {"layer": 1, "steps": 2}, "batched.py:edit": {"layer": 1}}
METHODS = (*records(), CONTEXT, *OWN)
REFUSED = {"prompt": {"sequential", "batch"}, "ultraedit": {"independent"}, "merge": {"independent"}}
"""Method -> regimes in which it says that it cannot edit; others of one edit at a time refuse `batch`."""


class World(NamedTuple):
    """A model, and all benchmarks."""

    folder: Path
    loaded: Loaded
    benchmarks: dict[str, Benchmark]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    folder = write_examples(tmp_path_factory.mktemp("world"))
    benchmarks = {name: given.read(name) for name, given in write_benchmarks(folder).items()}
    return World(folder, tiny_model("llama", positions=192), benchmarks)


def hyper_of(world: World, method: str) -> Hyper:
    if method in OWN:
        return read_hyper(f"{world.folder}/{method}", "tiny", OWN[method])
    return Hyper(method, "tiny", "", {}) if method == CONTEXT else hyper_in(world.loaded, method, 1)


def check(told: Told, benchmark: Benchmark, edited: bool) -> None:
    """Every question was asked in each of its ways, and has an answer or a reason in each state.

    Not those of a stream that wait for a later edit, nor after edits what the unedited model alone is asked.
    """
    asked = {(row["question"], row["way"]) for row in told.answers}
    wanted = {
        (question.id, way)
        for question in benchmark.questions
        for way in question.ways
        if question.role != "later" and not (edited and question.unedited)
    }
    assert wanted <= asked
    for row in told.answers:
        answer = row["logprobs"] if row["way"] == "loglik" else row["output"]
        assert (answer is None) == (row["reason"] is not None), row
        assert row["state"] is not None


def cells(world: World, method: str) -> Iterator[tuple[str, str, Benchmark | None]]:
    """(benchmark, regime, the stream after whose intervals another benchmark is asked) of each cell."""
    for regime in ("independent", "sequential", "batch"):
        yield "updates", regime, None
    yield "stream", "stream", None
    yield "tempripple", "stream", world.benchmarks["stream"]
    for name in ("tempripple", "asof", "klob", "ripples"):
        yield name, "sequential" if record_of(method).not_alone else "independent", None


@pytest.mark.parametrize("method", METHODS)
def test_each_benchmark_is_answered_or_says_why_not(method, world, tmp_path):
    hyper = hyper_of(world, method)
    given = {"answer_scoring": list(WAYS), "answer_tokens": 2, "written_tokens": 2, "length": 16, "group": 3}
    given |= {"artefacts": artefacts(world.loaded, hyper)}
    refused: dict[str, str] = {}
    for name, regime, told in cells(world, method):
        keys = {"stream": True, "told": told} if regime == "stream" else {"regime": regime}
        out = tmp_path / f"{name}-{regime}-{told is None}"
        try:
            found = ask(world.loaded, world.benchmarks[name], out, hyper, **given, **keys)
        except CannotEdit as error:
            refused[regime] = str(error)
        else:
            check(found, world.benchmarks[name], method not in UNEDITED)
    record = record_of(method)
    by_one = record.changes == "weights" and not record.together and method not in UNEDITED
    assert set(refused) == REFUSED.get(method, {"batch"} if by_one else set())
    assert all(reason.startswith(f"edit.regime: {regime}: ") for regime, reason in refused.items())


def test_the_command_writes_the_reason(world, tmp_path):
    """A method without edits to make, and one that cannot make them so, write why into `out_run`."""
    model, path = saved(tmp_path / "model"), world.folder / "klob_c.parquet"
    job = command(model, tmp_path / "job", "klob", [path], "ft")
    assert job.rows() == []
    assert "klob: there is no edit to make: no table of edits is given" in job.about["skipped"]
    given = f"--edits={world.folder / 'edits.parquet'}"
    job = command(model, tmp_path / "batch", "klob", [path], "ft", given, regime="batch")
    assert "cannot edit so" in job.about["skipped"]
    job = command(model, tmp_path / "made", "klob", [path], "ft", given)
    assert [row["way"] for row in job.rows()] == ["loglik"]

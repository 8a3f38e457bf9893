"""The grid: each method is asked each benchmark in each way, and answers or says why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.asking import Told, ask, command, saved  # noqa: E402
from support.benchmarks import write_benchmarks  # noqa: E402
from support.own_methods import write_examples  # noqa: E402
from support.tiny_edits import SETTINGS, tiny_artefacts  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.core.errors import CannotEdit  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper, read_given  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts  # noqa: E402
from factdrift.evaluation.methods.mend import gradients  # noqa: E402
from factdrift.evaluation.methods.mend_editor import HyperNet, edited_matrices  # noqa: E402
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED, record_of, records  # noqa: E402
from factdrift.evaluation.questions.question import WAYS, Benchmark  # noqa: E402
from factdrift.models.alignment import align  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:second moments")]

OWN = ("mine.py:edit", "batched.py:edit")
METHODS = (*records(), CONTEXT, *OWN)
VALUES: dict[str, dict[str, Any]] = {
    **SETTINGS,
    **{method: {"layers": [1], "steps": 2} for method in ("ft", "ft_l")},
    "ft_l": {"layers": [1], "steps": 2, "norm_constraint": 0.1},
    "lora": {"rank": 2, "alpha": 4, "steps": 2},
    "mend": {"blocks": 2},
    "grace": {"layer": 1, "steps": 2},
    "ultraedit": {"layers": [1, 2]},
    "merge": {"rank": 2, "alpha": 4, "steps": 2},
    "replay": {"rank": 2, "alpha": 4, "steps": 2, "replayed": 2},
    "wise": {"layer": 1, "steps": 2, "contexts": 1, "margins": [0.1, 0.5, 0.3], "shard": 2, "lr": 0.5},
    "mine.py:edit": {"layer": 1, "steps": 2},
    "batched.py:edit": {"layer": 1},
}
REFUSED = {
    **{method: {"batch"} for method in ("ft", "ft_l", "mend", "rome", *OWN)},
    "prompt": {"sequential", "batch"},
    "ultraedit": {"independent"},
    "merge": {"independent"},
}
"""Method -> regimes in which it says that it cannot edit."""


class World(NamedTuple):
    """A model, what methods need, and all benchmarks."""

    folder: Path
    loaded: Loaded
    artefacts: Artefacts
    benchmarks: dict[str, Benchmark]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = write_examples(tmp_path_factory.mktemp("world"))
    loaded = tiny_model("llama", positions=192)
    benchmarks = {name: given.read(name) for name, given in write_benchmarks(folder).items()}
    updates = benchmarks["updates"]
    net = HyperNet(edited_matrices(loaded, 2), 5, 0.01).to(loaded.dtype)
    sentences = [align(loaded.tokenizer, edit.prompt, edit.target) for edit in updates.edits]
    net.see(gradients(loaded, net.matrices, sentences)[1])
    found = tiny_artefacts(loaded)
    return World(folder, loaded, Artefacts(found.prefixes, found.moments, net), benchmarks)


def hyper_of(world: World, method: str) -> Hyper:
    if method == CONTEXT:
        return Hyper(method, "tiny", "", {})
    return read_given(f"{world.folder}/{method}" if method in OWN else method, "tiny", VALUES.get(method))


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
def test_each_benchmark_is_answered_or_says_why_not(method: str, world: World, tmp_path: Path) -> None:
    given = {"answer_scoring": list(WAYS), "answer_tokens": 2, "length": 16, "group": 3}
    given |= {"artefacts": world.artefacts}
    refused: dict[str, str] = {}
    for name, regime, told in cells(world, method):
        keys = {"stream": True, "told": told} if regime == "stream" else {"regime": regime}
        out = tmp_path / f"{name}-{regime}-{told is None}"
        try:
            found = ask(world.loaded, world.benchmarks[name], out, hyper_of(world, method), **given, **keys)
        except CannotEdit as error:
            refused[regime] = str(error)
        else:
            check(found, world.benchmarks[name], method not in UNEDITED)
    assert set(refused) == REFUSED.get(method, set())
    assert all(reason.startswith(f"edit.regime: {regime}: ") for regime, reason in refused.items())


def test_the_command_writes_the_reason(world: World, tmp_path: Path) -> None:
    """A method without edits to make, and one that cannot make them so, write why into `out_run`."""
    model, path = saved(tmp_path / "model"), world.folder / "klob_c.parquet"
    job = command(model, tmp_path / "job", "klob", [path], "ft")
    assert job.rows() == []
    assert "klob: there is no edit to make: no table of edits is given" in job.about["skipped"]
    given = f"--edits={world.folder / 'edits.parquet'}"
    assert (
        "cannot edit so"
        in command(model, tmp_path / "b", "klob", [path], "ft", given, regime="batch").about["skipped"]
    )
    job = command(model, tmp_path / "made", "klob", [path], "ft", given)
    assert [row["way"] for row in job.rows()] == ["loglik"]

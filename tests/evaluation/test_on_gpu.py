"""On a GPU every method, question and continuation is what it is on the CPU, in float64, in all families.

So it is for a model that is spread over two devices. A machine without a GPU pretends that it has one.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.forked import quiet
from support.methods_in_few_steps import artefacts, editable, hyper_in
from support.tiny_edits import EDITS, SETTINGS
from support.tiny_edits import tiny_artefacts as artefacts_of
from support.tiny_models import LISTED, spread_over, tiny_model
from support.tiny_sentences import context, sentences, targets
from support.writing import continued

from factdrift.evaluation.locators.gradients import per_layer
from factdrift.evaluation.locators.plan import locator_of
from factdrift.evaluation.locators.plan import records as locators
from factdrift.evaluation.locators.removal import Removal
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.record import records
from factdrift.evaluation.states.edited import edited
from factdrift.models.alignment import align
from factdrift.models.moments import count_moments
from factdrift.models.scoring import score

EDITING = [name for name, record in records().items() if record.changes in ("weights", "codebook")]
PRETENDED = "support.pretended"
CLOSE = 1e-4
"""The largest relative difference of a change: families that compute parts in float32 round differently."""


@pytest.fixture
def gpus() -> Iterator[list[Any]]:
    """A GPU, or what pretends to be one, and another device: a second GPU, or the CPU."""
    if torch.cuda.is_available():
        second = torch.device("cuda:1" if torch.cuda.device_count() > 1 else "cpu")
        yield [torch.device("cuda:0"), second]
    elif pretended := sys.modules.get(PRETENDED):
        with pretended.device() as place:
            yield [place, torch.device("cpu")]
    else:
        pytest.skip("needs a GPU, or a process that pretends to have one")


@pytest.mark.skipif(torch.cuda.is_available() or PRETENDED in sys.modules, reason="all of it runs here")
@pytest.mark.parametrize(
    ("names", "least"), [("llama and (questions or rome)", 3), pytest.param("", 100, marks=pytest.mark.slow)]
)
def test_a_device_that_refuses_what_a_gpu_refuses(names, least):
    """One family or all of this file on it, in a process of its own: torch counts devices at its first
    backward pass."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "support.pretended",
        "-p",
        "no:cacheprovider",
        *("-k", names),
        __file__,
    ]
    done = subprocess.run(
        [*words, "--deselect", f"{__file__}::{test_a_device_that_refuses_what_a_gpu_refuses.__name__}"],
        env=quiet(PYTHONPATH=str(Path(__file__).parents[1]), PYTEST_ADDOPTS=""),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) > least


@pytest.mark.parametrize("family", LISTED)
def test_questions_and_continuations(gpus, family):
    here = tiny_model(family)
    asked = [align(here.tokenizer, edit.prompt, edit.target) for edit in EDITS]
    for there in (spread_over(here, gpus[0]), spread_over(here, *gpus)):
        found, wanted = score(there, asked), score(here, asked)
        assert abs(found.logprob - wanted.logprob).max() < CLOSE
        said = [continued(one, [each.ids for each in asked], [4] * len(asked)) for one in (here, there)]
        assert said[0] == said[1]


@pytest.mark.filterwarnings("ignore:second moments")
def test_second_moments(gpus):
    here = tiny_model("gpt2")
    texts = [f"{edit.prompt} {edit.target}" for edit in EDITS]
    found, wanted = (
        count_moments(one, [1], texts, ridge=1e-3)[1] for one in (spread_over(here, gpus[0]), here)
    )
    key = torch.ones(1, len(wanted.total), dtype=torch.float64)
    solved = found.solve(key.to(gpus[0]))
    assert solved.device == gpus[0]
    assert torch.allclose(solved.cpu(), wanted.solve(key), rtol=CLOSE)


@pytest.mark.filterwarnings("ignore:second moments", "ignore:.*is trained instead")
@pytest.mark.parametrize("method", EDITING)
@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma2", "qwen2_moe"])
def test_changes(gpus, family, method):
    changes(gpus[:1], family, method)


@pytest.mark.filterwarnings("ignore:second moments")
@pytest.mark.parametrize(
    ("family", "method"),
    [*(("llama", each) for each in EDITING), *(("qwen3_5_text", each) for each in ("rome", "grace"))],
)
def test_changes_of_a_model_on_two(gpus, family, method):
    changes(gpus, family, method)


def changes(places: list[Any], family: str, method: str) -> None:
    here = tiny_model(family)
    blocks = editable(here.spec, method)
    if not blocks:
        pytest.skip(f"{method} refuses all blocks of {family}")
    there = spread_over(here, *places)
    # In the middle: behind the last block no later token sees a subject, and a gradient is rounding alone.
    hyper = hyper_in(here, method, blocks[len(blocks) // 2])
    regime = "batch" if hyper.record.not_alone else "independent"
    asked = [align(here.tokenizer, edit.prompt, edit.target) for edit in EDITS[:2]]
    logprobs = []
    for loaded in (here, there):
        made = edited(loaded, EDITS[:2], hyper, artefacts(loaded, hyper), regime)
        assert not made.failed
        owners = list(range(len(asked))) if regime == "independent" else [0] * len(asked)
        logprobs.append(score(loaded, asked, made.changes, owners).logprob)
    plain = score(here, asked).logprob
    assert abs(logprobs[0] - plain).max() > 10 * CLOSE
    assert abs(logprobs[1] - logprobs[0]).max() < CLOSE * max(1, abs(logprobs[0] - plain).max())


@pytest.mark.filterwarnings("ignore:second moments")
@pytest.mark.parametrize("method", EDITING)
def test_edits_after_others(gpus, method):
    here = tiny_model("llama")
    asked = [align(here.tokenizer, edit.prompt, edit.target) for edit in EDITS]
    logprobs = []
    for loaded in (here, spread_over(here, *gpus)):
        hyper = hyper_in(here, method, 1)
        given = artefacts(loaded, hyper)
        for interval in (EDITS[:2], EDITS[2:4]):
            made = edited(loaded, interval, hyper, given, "stream")
            given = replace(given, before=made.deltas, memory=made.memory)
        logprobs.append(score(loaded, asked, made.changes, [0] * len(asked)).logprob)
    assert abs(logprobs[1] - logprobs[0]).max() < CLOSE


@pytest.mark.filterwarnings("ignore:second moments")
@pytest.mark.parametrize("method", ["ft", "rome", "memit"])
def test_an_edit_that_ends_before_others(gpus, method):
    here = tiny_model("llama")
    few: dict[str, Any] = {"layers": [1]} if method == "ft" else SETTINGS[method]
    found = []
    for loaded in (here, spread_over(here, *gpus)):
        first = edited(
            loaded, EDITS, read_hyper(method, "tiny", few | {"steps": 1}), artefacts_of(loaded)
        ).losses
        assert first is not None
        hyper = read_hyper(method, "tiny", few | {"steps": 12, "stop_loss": first.median().item()})
        made = edited(loaded, EDITS, hyper, artefacts_of(loaded))
        assert len({*made.steps.tolist()}) > 1
        found.append((made.steps.tolist(), made.losses.tolist()))
    (steps, losses), (others, again) = found
    assert steps == others
    assert losses == pytest.approx(again, rel=CLOSE)


@pytest.mark.parametrize("locator", locators())
def test_locators(gpus, locator):
    here, of = tiny_model("llama"), sentences()
    given = {"layer": 1} if "layer" in context(locator, here).hyper else {}
    found = []
    for loaded in (here, spread_over(here, gpus[0])):
        scores = locator_of(locator)(loaded, of, targets(of), context(locator, loaded, **given))
        found.append(scores.detach().cpu())
    assert torch.allclose(*found, rtol=CLOSE, atol=CLOSE * found[0].abs().max().item())


@pytest.mark.parametrize("granularity", ["neuron", "head", "layer"])
def test_removed_units(gpus, granularity):
    here, of = tiny_model("llama"), sentences()
    units = here.spec.layers * per_layer(here, granularity)
    rows = [
        {"mean": 0.0, "top": list(range(units)), "target": target, "probability": None}
        for target in targets(of)
    ]
    found = [
        Removal(loaded, granularity, units, units, 5).left(of, rows, 0)
        for loaded in (here, spread_over(here, gpus[0]), spread_over(here, *gpus))
    ]
    for columns in zip(*found, strict=True):
        assert columns[0] == pytest.approx(columns[1], rel=CLOSE)
        assert columns[0] == pytest.approx(columns[2], rel=CLOSE)


def test_tensors_of_two_devices_are_refused(gpus):
    there = torch.ones(2, device=gpus[0])
    for mixed in (lambda: there + torch.ones(2), lambda: torch.ones(2)[there.long()]):
        with pytest.raises(RuntimeError, match="device"):
            mixed()
    with pytest.raises(TypeError, match="to"):
        there.numpy()
    assert ((there + torch.tensor(1.0))[torch.tensor([1])]).tolist() == [2.0]

"""On a GPU every method, question and continuation is what it is on the CPU, in float64, in all families."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.methods_in_few_steps import artefacts, hyper_in  # noqa: E402
from support.tiny_edits import EDITS  # noqa: E402
from support.tiny_models import LISTED, tiny_model  # noqa: E402
from support.writing import continued  # noqa: E402

from factdrift.evaluation.methods.record import records  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402
from factdrift.evaluation.tools.fitting import editable  # noqa: E402
from factdrift.models.alignment import align  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402
from factdrift.models.moments import count_moments  # noqa: E402
from factdrift.models.scoring import score  # noqa: E402

GPU = torch.device("cuda:0")
EDITING = [name for name, record in records().items() if record.changes in ("weights", "codebook")]
CLOSE = 1e-4
"""The largest relative difference of a change: families that compute parts in float32 round differently."""

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def on_gpu(loaded: Loaded) -> Loaded:
    return replace(loaded, model=deepcopy(loaded.model).to(GPU), device=GPU)


@pytest.mark.parametrize("family", LISTED)
def test_questions_and_continuations(family: str) -> None:
    here = tiny_model(family)
    there = on_gpu(here)
    asked = [align(here.tokenizer, edit.prompt, edit.target) for edit in EDITS]
    found, wanted = score(there, asked), score(here, asked)
    assert abs(found.logprob - wanted.logprob).max() < CLOSE
    said = [continued(one, [each.ids for each in asked], [4] * len(asked)) for one in (here, there)]
    assert said[0] == said[1]


@pytest.mark.filterwarnings("ignore:second moments")
def test_second_moments() -> None:
    here = tiny_model("gpt2")
    texts = [f"{edit.prompt} {edit.target}" for edit in EDITS]
    found, wanted = (count_moments(one, [1], texts, ridge=1e-3)[1] for one in (on_gpu(here), here))
    key = torch.ones(1, len(wanted.total), dtype=torch.float64)
    solved = found.solve(key.to(GPU))
    assert solved.device.type == "cuda"
    assert torch.allclose(solved.cpu(), wanted.solve(key), rtol=CLOSE)


@pytest.mark.filterwarnings("ignore:second moments", "ignore:.*is trained instead")
@pytest.mark.parametrize("method", EDITING)
@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma2", "qwen2_moe"])
def test_changes(family: str, method: str) -> None:
    here = tiny_model(family)
    blocks = editable(here.spec, method)
    if not blocks:
        pytest.skip(f"{method} refuses all blocks of {family}")
    there = on_gpu(here)
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

from collections import Counter
from dataclasses import replace

import pytest
import torch
from support.asking import chance
from support.tiny_edits import EDITS, PREFIXES, tiny_artefacts, tiny_hyper
from support.tiny_models import FAMILIES, rounding, tiny_model
from torch import Tensor
from torch.overrides import TorchFunctionMode

from factdrift.evaluation.methods.memit import rome
from factdrift.evaluation.methods.optimise import _Batch, contexts_of, hidden_states, optimise
from factdrift.models.deltas import matrix
from factdrift.models.hooks import hooked

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


def parts(loaded, hyper, artefacts, edits=EDITS):
    """Name of the edited matrix, keys and outputs at the subject [E, prefixes, ...], in the edits' order."""
    name = loaded.spec.module(hyper["layer"], loaded.spec.down)
    contexts, failed = contexts_of(loaded, edits, hyper, artefacts)
    assert not failed
    keys, outputs = hidden_states(loaded, contexts, name, name)
    order = torch.tensor([one.index for one in contexts]).argsort()
    return name, keys[order], outputs[order]


@pytest.mark.parametrize(
    ("family", "values"),
    [
        *((family, {}) for family in FAMILIES),
        ("llama", {"keys": "averaged"}),
        ("llama", {"covariance": False}),
    ],
)
def test_the_key_gives_the_value_that_was_found(family, values):
    """W'k + b = v*, v* = what the MLP put out for the bare prompt + the change that was found, along u."""
    loaded = tiny_model(family)
    hyper, artefacts = tiny_hyper("rome", **values), tiny_artefacts(loaded)
    name, seen, outputs = parts(loaded, hyper, artefacts)
    edited = rome(loaded, EDITS, hyper, artefacts)
    assert not edited.failed
    key = seen[:, 0] if hyper["keys"] == "reference" else seen.mean(1)
    module = loaded.model.get_submodule(name)
    bias = 0 if getattr(module, "bias", None) is None else module.bias
    weight = matrix(loaded.model, name)
    u = artefacts.moments[1].solve(seen.mean(1)) if hyper["covariance"] else seen.mean(1)
    (delta,) = edited.deltas.values()
    contexts, _ = contexts_of(loaded, EDITS, hyper, artefacts)  # in one batch, where `rome` makes several
    places = torch.tensor([one.index for one in contexts])
    values = outputs[places, 0] + optimise(loaded, contexts, hyper, hyper["layer"], at="mlp").change
    for place, value in zip(places, values, strict=True):
        change = delta.dense(place)[0]
        assert ((weight + change) @ key[place] + bias - value).norm() < 1e-6 * value.norm()
        assert delta.read.shape[2] == 1
        assert torch.cosine_similarity(delta.read[place, :, 0], u[place], 0).item() == pytest.approx(1)
        assert (value - outputs[place, 0]).norm() > 0.1


@pytest.mark.parametrize("family", ["gpt2", "olmo2"])
def test_the_edited_model_says_what_was_optimised(family):
    """The loss that was reported is that of the bare prompt with what W'k now gives in place."""
    loaded = tiny_model(family)
    settings = {"kl": 0, "weight_decay": 0, "stop_loss": 0}
    hyper, artefacts = tiny_hyper("rome", **settings), tiny_artefacts(loaded, prefixes=("",))
    name, seen, outputs = parts(loaded, hyper, artefacts)
    edited = rome(loaded, EDITS, hyper, artefacts)
    (delta,) = edited.deltas.values()
    for place, edit in enumerate(EDITS):
        contexts, _ = contexts_of(loaded, [edit], hyper, artefacts)
        (sentence,) = contexts[0].prompts
        value = outputs[place, 0] + delta.dense(place)[0] @ seen[place, 0]

        def put(taken, given, last=sentence.subject_last, value=value):
            given[0, last] = value
            return given

        with hooked(loaded.model, {name: put}):
            loss = -chance(loaded, edit.prompt, edit.target)
        assert edited.losses[place] == pytest.approx(loss, rel=1e-5)


@pytest.fixture(scope="module")
def world():
    loaded = tiny_model("llama")
    artefacts = tiny_artefacts(loaded)
    contexts, _ = contexts_of(loaded, EDITS, tiny_hyper("rome"), artefacts)
    block = loaded.spec.module(1, "")
    return loaded, contexts, hidden_states(loaded, contexts, block, block)[1][:, 0]


def run(world, **changes):
    loaded, contexts, _ = world
    return optimise(loaded, contexts, tiny_hyper("rome", **changes), 1, at="block")


def test_the_first_loss_is_that_of_the_unedited_model(world):
    """So the drift is 0 at the start, whatever it weighs."""
    loaded, contexts, _ = world
    expected = []
    for edit in (EDITS[one.index] for one in contexts):
        chances = [chance(loaded, prefix + edit.prompt, edit.target) for prefix in PREFIXES]
        expected.append(-sum(chances) / len(chances))
    for kl in (0, 1000):
        found = run(world, steps=1, kl=kl)
        assert found.losses.tolist() == pytest.approx(expected, rel=1e-9)
        assert (found.change == 0).all()
        assert (found.steps == 0).all()


def test_updates_are_one_fewer_than_steps_and_those_of_torch(world):
    loaded, contexts, start = world
    found = run(world, steps=4, clamp=1000, stop_loss=0)
    assert (found.steps == 3).all()
    hyper = tiny_hyper("rome")
    batch = _Batch(loaded, contexts[:1], hyper, 1, "block")
    delta = torch.zeros(1, loaded.spec.hidden, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([delta], lr=hyper["lr"])
    for _ in range(3):
        adam.zero_grad()
        decay = hyper["weight_decay"] * delta.norm() / start[0].norm() ** 2
        (batch.losses(delta).sum() + decay).backward()
        adam.step()
    assert torch.allclose(found.change[0], delta.detach()[0], rtol=1e-9, atol=1e-12)


def test_no_change_is_longer_than_its_bound(world):
    _, _, start = world
    found = run(world, steps=8, clamp=0.25, stop_loss=0)
    ratio = found.change.norm(dim=1) / start.norm(dim=1)
    assert ratio.max() <= 0.25 * (1 + 1e-6)
    assert ratio.max() > 0.249


def test_what_has_reached_its_goal_stands_still(world):
    """With steps for a look at the finished between: those are dropped, and the others go on as if alone."""
    loaded, contexts, _ = world
    long = run(world, steps=24, stop_loss=6.2)
    assert int((long.steps < 23).sum()) > 0
    assert len(set(long.steps.tolist())) > 1
    for place, count in enumerate(long.steps.tolist()):
        # With as many updates as it made and none more, the change is the same.
        short = optimise(
            loaded,
            contexts[place : place + 1],
            tiny_hyper("rome", steps=count + 1, stop_loss=0),
            1,
            at="block",
        )
        assert torch.allclose(short.change[0], long.change[place], rtol=1e-8, atol=1e-10)
        assert float(short.losses[0]) == pytest.approx(float(long.losses[place]), rel=1e-8)


def test_all_that_stop_end_the_run_early(world):
    assert (run(world, steps=1000, stop_loss=1e9).steps == 0).all()


@pytest.mark.parametrize("kl_at", ["subject", "last"])
def test_the_loss_is_that_of_whole_passes(world, kl_at):
    """The change is added behind the block at the subject; the drift is that at the place that is named."""
    loaded, _, _ = world
    hyper = tiny_hyper("rome", kl_at=kl_at, kl=300.0, essence="{subject} is a")
    contexts, _ = contexts_of(loaded, EDITS, hyper, tiny_artefacts(loaded))
    batch = _Batch(loaded, contexts, hyper, 1, "block")
    delta = (
        0.3
        * torch.randn(len(contexts), loaded.spec.hidden, generator=torch.Generator().manual_seed(0)).double()
    )
    batch.losses(torch.zeros_like(delta))
    found = batch.losses(delta).tolist()

    def logs(sentence, added):
        def plus(_, output, place=sentence.subject_last):
            output[0, place] += added
            return output

        with torch.no_grad(), hooked(loaded.model, {loaded.spec.module(1, ""): plus}):
            return loaded.model(torch.tensor([sentence.ids])).logits[0].double().log_softmax(1)

    for place, context in enumerate(contexts):
        likelihoods = []
        for sentence in context.prompts:
            target = range(sentence.target, len(sentence.ids))
            said = logs(sentence, delta[place])
            likelihoods.append(
                sum(float(said[token - 1, sentence.ids[token]]) for token in target) / len(target)
            )
        at = context.essence.subject_last if kl_at == "subject" else len(context.essence.ids) - 1
        after, before = (logs(context.essence, added)[at] for added in (delta[place], 0))
        drift = float((after.exp() * (after - before)).sum())
        assert drift > 1e-5
        assert found[place] == pytest.approx(300 * drift - sum(likelihoods) / len(likelihoods), rel=1e-6)


WAITING = {
    getattr(of, name): name
    for of, names in (
        (Tensor, "item tolist numpy cpu __bool__ __int__ __float__ __index__ nonzero masked_select unique"),
        (torch, "nonzero masked_select"),
    )
    for name in names.split()
}


class Waits(TorchFunctionMode):
    """Within it, `found` counts values that are read by Python, and results whose size depends on values.

    On a GPU each of these empties the queue of kernels: the host waits for the device, then the device for
    the host. On a CPU they cost nothing and are counted all the same.
    """

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in WAITING:
            self.found[WAITING[func]] += 1
        elif func in (Tensor.__getitem__, Tensor.__setitem__) and by_mask(args[1]):
            self.found["mask"] += 1
        return func(*args, **(kwargs or {}))


def by_mask(index):
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Tensor) and part.dtype == torch.bool for part in parts)


def test_the_host_waits_for_the_device_once_in_a_step(world):
    """To see which edits are finished, and never more: a GPU stands still meanwhile."""
    found = {}
    for steps in (1, 21):
        with Waits() as waits:
            run(world, steps=steps, stop_loss=0)
        found[steps] = waits.found
    assert found[21] - found[1] == {"nonzero": 20}


@pytest.mark.parametrize("family", FAMILIES)
def test_behind_the_block_a_change_does_what_it_does_behind_the_down_projection(family):
    """In families in which something lies between, the search adds it within the block."""
    loaded = tiny_model(family)
    hyper = tiny_hyper("rome", stop_loss=0)
    contexts, _ = contexts_of(loaded, EDITS, hyper, tiny_artefacts(loaded))
    within = replace(loaded, spec=replace(loaded.spec, post_norm=True))
    batches = [_Batch(one, contexts, hyper, 1, "mlp") for one in (loaded, within)]
    assert batches[1].within
    assert (batches[0].within is None) == (loaded.spec.no_target(1) is None)
    generator = torch.Generator().manual_seed(0)
    delta = torch.randn(len(contexts), loaded.spec.hidden, dtype=loaded.change_dtype, generator=generator)
    first, second = (batch.losses(delta) for batch in batches)
    assert torch.allclose(first, second, rtol=max(1e-9, 1000 * rounding(family)), atol=0)

import pytest
import torch
from support.asking import chance
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import FAMILIES, tiny_model

from factdrift.evaluation.methods.contexts import contexts_of, look
from factdrift.evaluation.methods.optimise import optimise
from factdrift.evaluation.methods.rome import rome
from factdrift.models.deltas import matrix
from factdrift.models.hooks import hooked

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


def parts(loaded, hyper, artefacts, edits=EDITS):
    """Name of the edited matrix, keys and outputs at the subject [E, prefixes, ...], in the edits' order."""
    name = loaded.spec.module(hyper["layer"], loaded.spec.down)
    contexts, failed = contexts_of(loaded, edits, hyper, artefacts)
    assert not failed
    keys, outputs = look(loaded, contexts, name, name)
    order = torch.tensor([one.place for one in contexts]).argsort()
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
    places = torch.tensor([one.place for one in contexts])
    start = outputs[places, 0]
    values = start + optimise(loaded, contexts, hyper, hyper["layer"], start, at="mlp").change
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


def test_one_bare_prompt_makes_the_two_kinds_of_key_one():
    loaded = tiny_model("llama")
    artefacts = tiny_artefacts(loaded, prefixes=("",))
    one, other = (
        next(iter(rome(loaded, EDITS, tiny_hyper("rome", keys=keys), artefacts).deltas.values()))
        for keys in ("reference", "averaged")
    )
    for edit in range(len(EDITS)):
        assert torch.allclose(one.dense(edit)[0], other.dense(edit)[0], atol=1e-12)

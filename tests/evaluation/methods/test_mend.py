"""MEND: the editor networks, what they make of a gradient, and edits made by them."""

import copy
from collections.abc import Sequence

import pytest
import torch
from support.asking import chance
from support.tiny_edits import EDITS as ALL
from support.tiny_models import rounding, tiny_model

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.editors import read_editor
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.mend import HyperNet, edited_matrices, mend
from factdrift.evaluation.methods.mend_training import loss_of
from factdrift.evaluation.methods.shared import EPSILON, gradients
from factdrift.models.alignment import Sentence, align
from factdrift.models.deltas import LowRank, written
from factdrift.models.loaded import Loaded

EDITS = ALL[:3]
HYPER = Hyper("mend", "tiny", "test", {"precision": "float32"})
FAMILIES = ("gpt2", "llama")


def sentences(loaded: Loaded) -> list[Sentence]:
    return [align(loaded.tokenizer, edit.prompt, edit.target) for edit in EDITS]


def untrained(loaded: Loaded, rate: float = 0.01) -> HyperNet:
    """An editor that has seen some gradients and learned nothing."""
    torch.manual_seed(0)
    net = HyperNet(edited_matrices(loaded, 2), 5, rate).to(loaded.dtype)
    net.see(gradients(loaded, net.matrices, sentences(loaded))[1])
    return net


def trained(loaded: Loaded) -> HyperNet:
    """One whose every parameter differs from where it began."""
    net = untrained(loaded)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    return net


def edited(loaded: Loaded, net: HyperNet, edits: Sequence[Edit] = EDITS) -> dict[str, LowRank]:
    result = mend(loaded, edits, HYPER, Artefacts(editor=net))
    assert all(isinstance(delta, LowRank) for delta in result.deltas.values())
    return {name: delta for name, delta in result.deltas.items() if isinstance(delta, LowRank)}


def dense(change: LowRank, edit: int) -> torch.Tensor:
    return change.dense(edit)[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_factors_are_those_of_the_gradient_by_the_weights(family):
    loaded = tiny_model(family)
    names = edited_matrices(loaded, 2)
    losses_, factors = gradients(loaded, names, sentences(loaded))
    for place, sentence in enumerate(sentences(loaded)):
        model = copy.deepcopy(loaded.model).requires_grad_(True)
        target = torch.tensor(sentence.ids[sentence.target :])
        logits = model(torch.tensor([sentence.ids])).logits[0, sentence.target - 1 : -1]
        loss = torch.nn.functional.cross_entropy(logits, target)
        loss.backward()
        bound = max(1e-9, 100 * rounding(family))
        torch.testing.assert_close(losses_[place], loss.detach(), rtol=bound, atol=0)
        for name, (u, delta) in factors.items():
            # In the last block the tokens before the target's bear a gradient, below it all up to them.
            last = f".{loaded.spec.layers - 1}." in name
            bearing = len(sentence.ids) - (sentence.target if last else 1)
            assert (delta[place] != 0).any(1).sum() == bearing
            module = model.get_submodule(name)
            want = module.weight.grad
            want = want.T if type(module).__name__ == "Conv1D" else want
            assert want.abs().max() > 0
            error = (delta[place].T @ u[place] - want).abs().max()
            assert error <= bound * want.abs().max()


@pytest.mark.parametrize("family", FAMILIES)
def test_an_untrained_editor_gives_the_normalised_gradient(family):
    """Spec section 6, 23: U = 0 is the identity on the normalised factors."""
    loaded = tiny_model(family)
    net = untrained(loaded, rate=0.01)
    _, factors = gradients(loaded, net.matrices, sentences(loaded))
    by_shape: dict[tuple[int, int], list[str]] = {}
    for name, shape in net.matrices.items():
        by_shape.setdefault(shape, []).append(name)
    changes = edited(loaded, net)
    for names in by_shape.values():
        real = {name: (factors[name][1] != 0).any(2) for name in names}
        seen = [torch.cat([factors[name][side][real[name]] for name in names]) for side in (0, 1)]
        for name in names:
            u, delta = (
                (factors[name][side] - seen[side].mean(0)) / (seen[side].std(0) + EPSILON) for side in (0, 1)
            )
            for place in range(len(EDITS)):
                here = real[name][place]
                want = net.rates[0].detach() * delta[place][here].T @ u[place][here]
                torch.testing.assert_close(dense(changes[name], place), want, rtol=1e-9, atol=1e-12)


def test_gradients_of_training_are_those_through_edited_weights():
    """Against central differences of the loss with each edit written into the weights."""
    loaded = tiny_model("gpt2")
    net = trained(loaded)
    tokens = sentences(loaded)
    practice = [(tokens[0], tokens[1], tokens[2]), (tokens[1], tokens[2], tokens[0])]
    hyper = Hyper("mend", "tiny", "test", {"edit_weight": 0.1, "locality_weight": 1.0})
    loss_of(loaded, net, practice, hyper).backward()

    def in_place() -> float:
        with torch.no_grad():
            _, factors = gradients(loaded, net.matrices, [edit for edit, _, _ in practice])
            deltas = {**net(factors)}
            total = 0.0
            for edit, (_, _, other) in enumerate(practice):
                kept = torch.tensor([other.ids])
                before = loaded.model(kept).logits.log_softmax(2)
                with written(loaded.model, deltas, edit):
                    after = loaded.model(kept).logits.log_softmax(2)
                    total -= 0.1 * chance(loaded, EDITS[edit + 1].prompt, EDITS[edit + 1].target)
                total += (before.exp() * (before - after)).sum(2).mean().item()
            return total / len(practice)

    assert in_place() == pytest.approx(loss_of(loaded, net, practice, hyper).item(), rel=1e-9)
    step = 1e-5
    for name, parameter in net.named_parameters():
        place = int(parameter.grad.abs().argmax())
        want = parameter.grad.flatten()[place].item()
        flat = parameter.data.view(-1)
        start = flat[place].item()
        ends = []
        for end in (start + step, start - step):
            flat[place] = end
            ends.append(in_place())
        flat[place] = start
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(want, rel=1e-3, abs=1e-8), name


def test_an_editor_is_read_as_it_was_written_for_its_model_only(tmp_path):
    loaded = tiny_model("llama", dtype=torch.float32)
    net, path = trained(loaded), tmp_path / "mend.safetensors"
    net.write(path, {"model": loaded.digest})
    back = read_editor(path, HYPER, loaded)
    assert [*back.matrices.items()] == [*net.matrices.items()]  # in the order of the learned rates
    state = back.state_dict()
    assert all(torch.equal(state[name], value) for name, value in net.state_dict().items())
    assert state.keys() == net.state_dict().keys()
    for about, said in (
        ({"model": "another"}, "another model than tiny-llama"),
        ({"model": loaded.digest, "template": "chat"}, "trained with --template chat; delete it"),
    ):
        net.write(path, about)
        with pytest.raises(InputError, match=said):
            read_editor(path, HYPER, loaded)
    with pytest.raises(InputError, match="make it with `factdrift edit train-editor`"):
        read_editor(tmp_path / "none.safetensors", HYPER, loaded)

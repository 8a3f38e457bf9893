"""ROME, MEMIT, FT and MEND on one fact at a time, in the way in which their published programs are built.

For comparison only: the weights are changed in place and put back from a copy, each step runs all prompts
in full and makes logits for every token, each look at a number waits for the device, MEMIT solves a system
of the width of the keys by LU in each layer, and the probes are scored with the model as it was after each
edit anew. What is computed is what `factdrift.evaluation` computes, from the same prompts, prefixes and
second moments.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.mend import HyperNet
from factdrift.evaluation.methods.optimise import Contexts
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import matrix
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.moments import Moments
from factdrift.models.padding import padded

Change = dict[str, Tensor]
"""Full name of a matrix -> its change, [d_out, d_in]."""


def rome(loaded: Loaded, one: Contexts, hyper: Hyper, inverse: Tensor) -> Change:
    """`inverse`: that of C, which the reference computes once."""
    spec, layer = loaded.spec, hyper["layer"]
    name = spec.module(layer, spec.down)
    keys, outputs = at_subject(loaded, one, name, name)
    u = inverse @ keys.mean(0)
    u = u / u.norm()
    mlp = spec.module(layer, spec.mlp)
    value = outputs[0] + search(loaded, one, hyper, mlp, outputs[0])
    right = (value - outputs[0]) / (keys[0] @ u)
    return {name: right[:, None] @ u[None]}


def memit(loaded: Loaded, one: Contexts, hyper: Hyper, moments: dict[int, Moments]) -> Change:
    """`moments` lie in the host's memory and are brought to the device for each edit, as in the reference."""
    spec, layers = loaded.spec, hyper["layers"]
    block = spec.module(layers[-1], "")
    start = at_subject(loaded, one, block, block)[1][0]
    value = start + search(loaded, one, hyper, block, start)
    changes: Change = {}
    copies = {layer: weight_of(loaded, layer).clone() for layer in layers}
    for place, layer in enumerate(layers):
        name = spec.module(layer, spec.down)
        keys, states = at_subject(loaded, one, name, block)
        key = ((keys[0] + keys[1:].mean(0)) / 2)[:, None].double()
        residual = (value - states[0]) / (len(layers) - place)
        c = moments[layer].matrix.to(loaded.device)
        solved = torch.linalg.solve(hyper["moment_weight"] * c + key @ key.T, key)
        changes[name] = (residual.double()[:, None] @ solved.T).float()
        weight_of(loaded, layer).add_(changes[name].to(loaded.dtype))
    for layer, copy in copies.items():
        weight_of(loaded, layer).copy_(copy)
    return changes


def ft(loaded: Loaded, sentence: Sentence, hyper: Hyper) -> Change:
    """Loss of the target's tokens at the prompt's last token, Adam on the weight itself."""
    (layer,) = hyper["layers"]
    name = loaded.spec.module(layer, loaded.spec.down)
    parameter = loaded.model.get_submodule(name).weight
    start = parameter.detach().clone()
    parameter.requires_grad_(True)
    adam = torch.optim.Adam([parameter], lr=hyper["lr"])
    ids = torch.tensor([sentence.ids[: sentence.target]], device=loaded.device)
    target = torch.tensor(sentence.ids[sentence.target :], device=loaded.device)
    bound = hyper.get("norm_constraint")
    for _ in range(hyper["steps"]):
        adam.zero_grad()
        loss = -loaded.model(ids).logits[0, -1].float().log_softmax(0)[target].mean()
        if loss.item() < hyper["stop_loss"]:
            break
        loss.backward()
        adam.step()
        if bound is not None:
            with torch.no_grad():
                parameter.copy_(parameter.clamp(start - bound, start + bound))
    parameter.requires_grad_(False)
    now = matrix(loaded.model, name).float().clone()
    parameter.copy_(start)
    return {name: now - matrix(loaded.model, name).float()}


def search(loaded: Loaded, one: Contexts, hyper: Hyper, name: str, start: Tensor) -> Tensor:
    """The change of what the module `name` puts out at the subject, by torch's Adam on full passes."""
    sentences = [*one.prompts, one.essence]
    rows = [sentence.ids[:-1] for sentence in one.prompts] + [one.essence.ids]
    ids = padded(rows, loaded.device)
    places = torch.tensor([sentence.subject_last for sentence in sentences], device=loaded.device)
    targets = torch.full_like(ids, -100)
    for row, sentence in enumerate(one.prompts):
        for place in range(sentence.target, len(sentence.ids)):
            targets[row, place - 1] = sentence.ids[place]
    counted = targets != -100
    each = torch.arange(len(rows), device=loaded.device)
    delta = torch.zeros(len(start), device=loaded.device, requires_grad=True)
    adam = torch.optim.Adam([delta], lr=hyper["lr"])
    before: Tensor | None = None

    def add(taken: Tensor, given: Tensor) -> Tensor:
        changed = given.clone()
        changed[each, places] += delta.to(given.dtype)
        return changed

    for step in range(hyper["steps"]):
        adam.zero_grad()
        with hooked(loaded.model, {name: add}):
            logits = loaded.model(ids).logits.float()
        logs = logits.log_softmax(2)
        drift = logs[-1, places[-1]]
        before = drift.detach().clone() if before is None else before
        told = logs.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0] * counted
        likelihood = (told[:-1].sum(1) / counted[:-1].sum(1)).mean()
        loss = -likelihood + hyper["kl"] * (drift.exp() * (drift - before)).sum()
        loss = loss + hyper["weight_decay"] * delta.norm() / start.norm() ** 2
        if loss.item() < hyper["stop_loss"] or step == hyper["steps"] - 1:
            break
        loss.backward()
        adam.step()
        bound = hyper["clamp"] * start.norm()
        if delta.norm() > bound:
            with torch.no_grad():
                delta.mul_(bound / delta.norm())
    return delta.detach()


def mend(loaded: Loaded, sentence: Sentence, net: HyperNet) -> Change:
    """MEND: backward to the weights themselves, what the networks need kept by hooks, dense changes."""
    kept: dict[str, tuple[Tensor, Tensor]] = {}

    def keeping(name: str) -> Callable[[Tensor, Tensor], None]:
        def keep(taken: Tensor, given: Tensor) -> None:
            given.retain_grad()
            kept[name] = taken.detach(), given

        return keep

    weights = [loaded.model.get_submodule(name).weight for name in net.matrices]
    for weight in weights:
        weight.requires_grad_(True)
    with torch.enable_grad(), hooked(loaded.model, {name: keeping(name) for name in net.matrices}):
        ids = torch.tensor([sentence.ids[:-1]], device=loaded.device)
        logs = loaded.model(ids).logits[0, sentence.target - 1 :].float().log_softmax(1)
        target = torch.tensor(sentence.ids[sentence.target :], device=loaded.device)
        (-logs.gather(1, target[:, None]).mean()).backward()
    for weight in weights:
        weight.requires_grad_(False)
        weight.grad = None
    with torch.no_grad():
        made = net({name: (taken.float(), given.grad.float()) for name, (taken, given) in kept.items()})
    return {name: change.dense(0)[0] for name, change in made.items()}


@torch.no_grad()
def at_subject(loaded: Loaded, one: Contexts, entering: str, leaving: str) -> tuple[Tensor, Tensor]:
    """What enters one module and leaves another at the subject, for each prompt; float32."""
    ids = padded([sentence.ids for sentence in one.prompts], loaded.device)
    each = torch.arange(len(ids), device=loaded.device)
    places = torch.tensor([sentence.subject_last for sentence in one.prompts], device=loaded.device)
    seen: dict[str, Tensor] = {}

    def see(side: str) -> Callable[[Tensor], None]:
        return lambda value: seen.__setitem__(side, value[each, places].float())

    with (
        hooked(loaded.model, {entering: lambda taken, given: see("entering")(taken)}),
        hooked(loaded.model, {leaving: lambda taken, given: see("leaving")(given)}),
    ):
        loaded.model(ids)
    return seen["entering"], seen["leaving"]


def weight_of(loaded: Loaded, layer: int) -> Tensor:
    """The edited matrix of a layer, [d_out, d_in]; a view of the parameter."""
    return matrix(loaded.model, loaded.spec.module(layer, loaded.spec.down))


def probed(loaded: Loaded, change: Change, probes: Sequence[Sentence]) -> list[float]:
    """Log-probabilities with the change in the weights, and without it once more, as in the reference."""
    copies = {name: matrix(loaded.model, name).clone() for name in change}
    for name, value in change.items():
        matrix(loaded.model, name).add_(value.to(loaded.dtype))
    found = scored(loaded, probes)
    for name, copy in copies.items():
        matrix(loaded.model, name).copy_(copy)
    return found + scored(loaded, probes)


@torch.no_grad()
def scored(loaded: Loaded, probes: Sequence[Sentence]) -> list[float]:
    """The mean log-probability of each target, read token by token."""
    ids = padded([sentence.ids for sentence in probes], loaded.device)
    logs = loaded.model(ids).logits.float().log_softmax(2)
    found = []
    for row, sentence in enumerate(probes):
        places = range(sentence.target, len(sentence.ids))
        found.append(sum(logs[row, place - 1, sentence.ids[place]].item() for place in places) / len(places))
    return found

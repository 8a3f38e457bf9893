"""Knowledge neurons (Dai et al., 2022, "Knowledge Neurons in Pretrained Transformers", arXiv 2104.08696).

The score of a neuron is the integrated gradient of the answer's probability by the neuron's activation at the
last token, from zero to its value, with all neurons of its block scaled together. As in the port by
EleutherAI (knowledge-neurons), only the last token's activations are scaled. Here the activation is what
enters the MLP's second matrix, behind the nonlinearity.

Scaling the last token changes nothing at other tokens, so a step of a block repeats only the last
token from that block on, all of them in one batch.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from factdrift.core.progress import watched
from factdrift.evaluation.locators.gradients import per_layer
from factdrift.evaluation.locators.interface import Context, probability
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.models.fork import Branches, Whole
from factdrift.models.hooks import hooked, hooked_before
from factdrift.models.loaded import Loaded


def knowledge_neurons(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, neurons]: integrated gradients, refined over the wordings of a fact if asked."""
    spec, device, hyper = loaded.spec, loaded.device, context.hyper
    per_layer(loaded, "neuron")  # raises if there are none
    activations: list[Tensor] = []
    last = torch.tensor([sentence.last for sentence in sentences], device=device)
    every = torch.arange(len(sentences), device=device)
    names = [spec.module(layer, spec.down) for layer in range(spec.layers)]

    def keep(entering: Tensor, output: Tensor) -> None:
        activations.append(entering[every, last])

    with hooked(loaded.model, dict.fromkeys(names, keep)):
        whole = Whole(loaded, [sentence.ids for sentence in sentences])
    scales = nodes(hyper["steps"], hyper["rule"], torch.float64).to(device)
    wanted = torch.as_tensor(targets, device=device)
    attributions = []
    # A step of a block is one token.
    size = max(1, context.budget // (len(scales) * spec.layers))
    for start in watched(range(0, len(sentences), size), "gradients", "steps"):
        rows = torch.arange(start, min(start + size, len(sentences)), device=device)
        mine = [values[rows] for values in activations]
        slopes = _slopes(loaded, whole, rows, last[rows], wanted[rows], mine, scales)
        attributions.append(torch.cat([slope * value for slope, value in zip(slopes, mine, strict=True)], 1))
    scores = torch.cat(attributions)
    if not hyper["refine"]:
        return scores
    groups = [sentence.group or sentence.id for sentence in sentences]
    return refined(scores, groups, hyper["threshold"], hyper["share"])


def nodes(steps: int, rule: str, kind: torch.dtype) -> Tensor:
    """[steps]: the scales at which gradients are taken.

    `midpoint`: centres of equal intervals. `paper`: their right ends, k / m. `eleuther`: from 0 to 1 with
    both ends, as in the port, whose mean over the steps has an error of the order of a step.
    """
    if rule == "eleuther":
        return torch.linspace(0, 1, steps, dtype=kind)
    shift = {"midpoint": 0.5, "paper": 1.0}[rule]
    return (torch.arange(steps, dtype=kind) + shift) / steps


def _slopes(
    loaded: Loaded,
    whole: Whole,
    rows: Tensor,
    last: Tensor,
    targets: Tensor,
    activations: Sequence[Tensor],
    scales: Tensor,
) -> list[Tensor]:
    """For each block [rows, inner]: the mean gradient by its activations at the last token."""
    spec, steps = loaded.spec, len(scales)
    number = len(rows)
    shape = (spec.layers, steps, number)
    row, start, target = (value.expand(shape).flatten() for value in (rows, last, targets))
    layer = torch.arange(spec.layers, device=rows.device)[:, None, None].expand(shape).flatten()
    branches = Branches(whole, row, start, layer)
    leaves = [
        (scales[:, None, None] * value).to(value.dtype).flatten(0, 1).requires_grad_(True)
        for value in activations
    ]

    def running(block: int, count: int) -> AbstractContextManager[None]:
        joined = count - steps * number

        def scale(entering: Tensor) -> Tensor:
            return torch.cat([entering[:joined], leaves[block][:, None]])

        return hooked_before(loaded.model, {spec.module(block, spec.down): scale})

    with torch.enable_grad():
        chances = probability(whole.logits(branches.run(running=running)), target)
        slopes = torch.autograd.grad(chances.sum(), leaves)
    return [slope.reshape(steps, number, -1).mean(0) for slope in slopes]


def refined(scores: Tensor, groups: Sequence[str], threshold: float, share: float) -> Tensor:
    """[sentences, neurons]: scores of the neurons that the wordings of a fact have in common, else 0.

    A wording has those whose score is above `threshold` times its largest; common are those of more than
    `share` of the wordings.
    """
    strong = (scores > threshold * scores.amax(1, keepdim=True)) & (scores > 0)
    numbers = {name: index for index, name in enumerate(dict.fromkeys(groups))}
    group = torch.tensor([numbers[name] for name in groups], device=scores.device)
    counts = torch.zeros(len(numbers), scores.shape[1], dtype=torch.long, device=scores.device)
    counts.index_add_(0, group, strong.long())
    sizes = torch.bincount(group, minlength=len(numbers))
    common = counts[group] > share * sizes[group, None]
    return torch.where(common, scores.clamp(min=0), torch.zeros_like(scores))

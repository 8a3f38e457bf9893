"""Methods of one forward and at most one backward pass: activation, gradient x input, attribution patching.

A unit may have many channels (a head, a module, a layer); its score is the sum over them. Imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from factdrift.evaluation.locators.causal_tracing import noise_of
from factdrift.evaluation.locators.interface import Context, at, last_logits, positions, probability
from factdrift.evaluation.locators.prompts import Sentence
from factdrift.evaluation.locators.units import seen, summed
from factdrift.models.hooks import After, hooked
from factdrift.models.loaded import Loaded


def activation(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: the size of each unit's value, a Euclidean norm if it has many channels.

    The targets play no part. With several tokens the sizes are added.
    """
    granularity = context.hyper["granularity"]
    values: dict[int, Tensor] = {}
    with torch.no_grad(), seen(loaded, granularity, values.__setitem__):
        last_logits(loaded, sentences)
    places = positions(sentences, context.hyper["token"])
    squares = torch.zeros(())
    for place in range(max(map(len, places))):
        # One token of each sentence at a time: a norm is taken for each of them.
        mine = [each[place : place + 1] for each in places]
        values_at = [at(values[index].square(), mine) for index in range(len(values))]
        squares = squares.to(values_at[0]) + summed(loaded, granularity, values_at).sqrt()
    return squares


def gradient_x_input(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: value times gradient of the target's probability, over tokens and channels."""
    granularity = context.hyper["granularity"]
    values, slopes, _ = gradients(loaded, sentences, targets, granularity)
    places = positions(sentences, context.hyper["token"])
    products = [at(value * slope, places) for value, slope in zip(values, slopes, strict=True)]
    return summed(loaded, granularity, products)


def attribution_patching(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: the first-order estimate of causal tracing's indirect effect of each unit.

    (clean value - corrupted value) times the gradient of the target's probability in the corrupted run,
    summed over tokens and channels, and averaged over the noise samples (Nanda, 2023, "Attribution Patching:
    Activation Patching At Industrial Scale").
    """
    granularity = context.hyper["granularity"]
    noise = noise_of(loaded, sentences, context)
    samples = len(noise[0])
    clean: dict[int, Tensor] = {}
    with torch.no_grad(), seen(loaded, granularity, clean.__setitem__):
        last_logits(loaded, sentences)
    values, slopes, _ = gradients(loaded, sentences, targets, granularity, noise)
    places = positions(sentences, context.hyper["token"])
    products = [
        at((clean[index].repeat(samples, 1, 1) - value) * slope, places * samples)
        .reshape(samples, len(sentences), -1)
        .mean(0)
        for index, (value, slope) in enumerate(zip(values, slopes, strict=True))
    ]
    return summed(loaded, granularity, products)


def gradients(
    loaded: Loaded,
    sentences: Sequence[Sentence],
    targets: Sequence[int],
    granularity: str,
    noise: Sequence[Tensor] = (),
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Values of the units, gradients of the target's probability by them, and the probabilities.

    [rows, tokens, width] each. With noise [samples, tokens of the subject, hidden] of each sentence there
    is a row for each sample and sentence, row `s * B + b`, with the noise on the embeddings.
    """
    samples = len(noise[0]) if noise else 1
    values: dict[int, Tensor] = {}

    def embed(ids: Tensor, given: Tensor) -> Tensor:
        changed = given.reshape(samples, len(sentences), *given.shape[1:]).clone()
        for row, (one, mine) in enumerate(zip(sentences, noise, strict=False)):
            first, behind = one.subject or (0, len(one.ids))
            changed[:, row, first:behind] += mine
        # Parameters have no gradients here, so the graph begins at the embeddings.
        return changed.reshape(given.shape).requires_grad_(True)

    functions: Mapping[str, After] = {loaded.spec.embedding: embed}
    with (
        torch.enable_grad(),
        hooked(loaded.model, functions),
        seen(loaded, granularity, values.__setitem__),
    ):
        chances = probability(last_logits(loaded, sentences, samples), list(targets) * samples)
        ordered = [values[index] for index in range(len(values))]
        slopes = torch.autograd.grad(chances.sum(), ordered)
    return [value.detach() for value in ordered], list(slopes), chances.detach()

"""Methods of one forward and at most one backward pass: activation, gradient x input, attribution patching.

A unit may have many channels (a head, a module, a layer); its score is the sum over them. Imports torch.
"""

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

from factdrift.evaluation.locators.causal_tracing import corrupted, noise_of
from factdrift.evaluation.locators.interface import Context, at, last_logits, positions, probability
from factdrift.evaluation.locators.prompts import Sentence
from factdrift.evaluation.locators.units import seen, summed, values_of
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded


def activation(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: the size of each unit's value, a Euclidean norm if it has many channels.

    The targets play no part. With several tokens the sizes are added.
    """
    granularity = context.hyper["granularity"]
    squares = [value.square() for value in values_of(loaded, granularity, sentences)]
    places = positions(sentences, context.hyper["token"])
    # One token of each sentence at a time: a norm is taken for each of them.
    chosen = ([mine[place : place + 1] for mine in places] for place in range(max(map(len, places))))
    sizes = (summed(loaded, granularity, [at(value, mine) for value in squares]).sqrt() for mine in chosen)
    return reduce(torch.add, sizes)


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
    clean = values_of(loaded, granularity, sentences)
    values, slopes, _ = gradients(loaded, sentences, targets, granularity, noise)
    places = positions(sentences, context.hyper["token"])
    products = [
        at((quiet.repeat(samples, 1, 1) - value) * slope, places * samples)
        .reshape(samples, len(sentences), -1)
        .mean(0)
        for quiet, value, slope in zip(clean, values, slopes, strict=True)
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

    def embed(ids: Tensor, given: Tensor) -> Tensor:
        # Parameters have no gradients here, so the graph begins at the embeddings.
        return (corrupted(given, sentences, noise) if noise else given.clone()).requires_grad_(True)

    with torch.enable_grad(), hooked(loaded.model, {loaded.spec.embedding: embed}):
        with seen(loaded, granularity) as values:
            logits = last_logits(loaded, sentences, samples)
        chances = probability(logits, list(targets) * samples)
        slopes = torch.autograd.grad(chances.sum(), values)
    return [value.detach() for value in values], list(slopes), chances.detach()

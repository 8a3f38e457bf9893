"""Methods of a forward and at most a backward pass: activation, gradient x input, attribution patching.

Units are numbered block by block: neuron n of block l is unit `l * inner + n`, and likewise heads and
modules (attention, then MLP). A layer is a whole block. A unit may have many channels (a head, a module, a
layer); its score is the sum over them. Imports torch.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.causal_tracing import corrupted, noise_of
from factdrift.evaluation.locators.interface import Context, at, last_logits, positions, probability
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.models.hooks import After, hooked
from factdrift.models.loaded import Loaded


def activation(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: the size of each unit's value, a Euclidean norm if it has many channels.

    The targets play no part. With several tokens the sizes are added.
    """
    granularity = context.hyper["granularity"]
    squares = [value.square() for value in _values(loaded, granularity, sentences)]
    tokens = positions(sentences, context.hyper["token"])
    # One token of each sentence at a time: a norm is taken for each of them.
    chosen = ([mine[index : index + 1] for mine in tokens] for index in range(max(map(len, tokens))))
    sizes = (summed(loaded, granularity, [at(value, mine) for value in squares]).sqrt() for mine in chosen)
    return reduce(torch.add, sizes)


def gradient_x_input(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: value times gradient of the target's probability, over tokens and channels."""
    granularity = context.hyper["granularity"]
    values, slopes = gradients(loaded, sentences, targets, granularity)
    tokens = positions(sentences, context.hyper["token"])
    products = [at(value * slope, tokens) for value, slope in zip(values, slopes, strict=True)]
    return summed(loaded, granularity, products)


def attribution_patching(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: the first-order estimate of causal tracing's indirect effect of a unit.

    (clean value - corrupted value) times the gradient of the target's probability in the corrupted run,
    summed over tokens and channels, and averaged over the noise samples (Nanda, 2023, "Attribution Patching:
    Activation Patching At Industrial Scale").
    """
    granularity = context.hyper["granularity"]
    noise = noise_of(loaded, sentences, context)
    samples = len(noise[0])
    clean = _values(loaded, granularity, sentences)
    values, slopes = gradients(loaded, sentences, targets, granularity, noise)
    tokens = positions(sentences, context.hyper["token"])
    shape = (samples, len(sentences), -1)
    products = [
        at((quiet.repeat(samples, 1, 1) - value) * slope, tokens * samples).reshape(shape).mean(0)
        for quiet, value, slope in zip(clean, values, slopes, strict=True)
    ]
    return summed(loaded, granularity, products)


def gradients(
    loaded: Loaded,
    sentences: Sequence[Sentence],
    targets: Sequence[int],
    granularity: str,
    noise: Sequence[Tensor] = (),
) -> tuple[list[Tensor], list[Tensor]]:
    """Values of the units, and gradients of the target's probability by them.

    [rows, tokens, width] each. With the sentences' noise [samples, tokens of the subject, hidden]
    there is a row for each sample and sentence, row `s * B + b`, with the noise on the embeddings.
    """
    samples = len(noise[0]) if noise else 1

    def embed(ids: Tensor, output: Tensor) -> Tensor:
        # Parameters have no gradients here, so the graph begins at the embeddings.
        return (corrupted(output, sentences, noise) if noise else output.clone()).requires_grad_(True)

    with torch.enable_grad(), hooked(loaded.model, {loaded.spec.embedding: embed}):
        with unit_values(loaded, granularity) as values:
            logits = last_logits(loaded, sentences, samples)
        chances = probability(logits, list(targets) * samples)
        slopes = torch.autograd.grad(chances.sum(), values)
    return [value.detach() for value in values], list(slopes)


def _values(loaded: Loaded, granularity: str, sentences: Sequence[Sentence]) -> list[Tensor]:
    """The values of all units in a pass of the sentences, as in `unit_values`."""
    with torch.no_grad(), unit_values(loaded, granularity) as values:
        last_logits(loaded, sentences)
    return values


def per_layer(loaded: Loaded, granularity: str) -> int:
    """The number of units of each block.

    Raises InputError if blocks differ in what has the units: neurons of experts, heads of a recurrent state.
    """
    spec = loaded.spec
    if granularity == "neuron":
        if not spec.uniform():
            raise InputError(
                f"locators: {loaded.name}: the blocks of the family {spec.family} do not have equally many "
                "neurons in one MLP (mixture of experts), so that neurons cannot be numbered; use a locator "
                "of modules or layers"
            )
        return spec.inner
    if granularity == "head":
        if spec.recurrent:
            raise InputError(
                f"locators: {loaded.name}: some blocks of the family {spec.family} mix tokens by a recurrent "
                "state and have no attention heads; use a locator of modules or layers"
            )
        return int(loaded.model.config.get_text_config().num_attention_heads)
    return {"module": 2, "layer": 1}[granularity]


@contextmanager
def unit_values(loaded: Loaded, granularity: str) -> Iterator[list[Tensor]]:
    """Keeps the values [rows, tokens, width] of all units in the latest forward pass, in a list.

    A block has a value, or two for modules, in the order of the units: the input of the down
    projection (neurons: a channel), the input of attention's output projection (heads: equal shares
    of the channels), the outputs of attention and MLP (modules), the block's output (layers).
    """
    per_layer(loaded, granularity)  # raises if there are none
    spec = loaded.spec
    inside = granularity in ("neuron", "head")
    parts = {
        "neuron": [spec.down],
        "head": [spec.attention_out],
        "module": [spec.attention_out, spec.mlp],
        "layer": [""],
    }[granularity]
    names = [spec.module(layer, part) for layer in range(spec.layers) for part in parts]
    values = [torch.empty(0)] * len(names)

    def keeping(index: int) -> After:
        def keep(entering: Tensor, output: Tensor) -> Tensor | None:
            values[index] = entering if inside else output
            # Falcon adds to the MLP's output in place, which must not change the value that was seen.
            return None if inside else output.clone()

        return keep

    with hooked(loaded.model, {name: keeping(index) for index, name in enumerate(names)}):
        yield values


def summed(loaded: Loaded, granularity: str, values: list[Tensor]) -> Tensor:
    """Sums over the channels of each unit: of `unit_values` [rows, width], to [rows, units]."""
    if granularity == "neuron":
        return torch.cat(values, 1)
    shares = per_layer(loaded, granularity) if granularity == "head" else 1
    return torch.cat([value.reshape(len(value), shares, -1).sum(2) for value in values], 1)

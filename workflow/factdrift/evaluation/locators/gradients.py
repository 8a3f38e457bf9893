"""Values of units and gradients by them, one by one and integrated; and the block that a method edits.

Units are numbered block by block: neuron n of block l is unit `l * inner + n`, and likewise heads and
modules (attention, then MLP). A layer is a whole block. A unit may have many channels (a head, a module, a
layer); its score is the sum over them. Imports torch.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.causal_tracing import corrupted, noise_of
from factdrift.evaluation.locators.interface import Context, at, last_logits, positions, probability
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.models.fork import Branches, Whole, unembedded
from factdrift.models.hooks import After, hooked, hooked_before
from factdrift.models.loaded import Loaded


def activation(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, units]: the size of each unit's value, a Euclidean norm if it has many channels.

    The targets play no part. With several tokens the sizes are added.
    """
    granularity = context.hyper["granularity"]
    squares = [value.square() for value in _values(loaded, granularity, sentences)]
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
    values, slopes = gradients(loaded, sentences, targets, granularity)
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
    clean = _values(loaded, granularity, sentences)
    values, slopes = gradients(loaded, sentences, targets, granularity, noise)
    places = positions(sentences, context.hyper["token"])
    products = [
        at((quiet.repeat(samples, 1, 1) - value) * slope, places * samples)
        .reshape(samples, len(sentences), -1)
        .mean(0)
        for quiet, value, slope in zip(clean, values, slopes, strict=True)
    ]
    return summed(loaded, granularity, products)


def projections(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, modules]: how much each module changes the state of the last token, as PMET looks at it.

    Li et al., 2023, "PMET: Precise Model Editing in a Transformer" (arXiv 2308.08742), compare the hidden
    state of the last token before and after each module, also projected onto the vocabulary. Here the states
    are those of the residual stream: before, and with what the module adds to it.

    `signal`: `cosine`, 1 - cosine similarity of the states; `jaccard`, 1 - Jaccard similarity of their `top`
    likeliest next tokens; `probability`, the target's probability after the module minus that before. Raises
    InputError for families that normalise what modules put out: the state behind attention is not known.
    """
    if loaded.spec.post_norm:
        raise InputError(
            f"locators: {context.hyper.method}: {loaded.name} normalises what its modules put out before it "
            "adds it (post-norm), so that the state between them is not known; leave this locator out"
        )
    signal, top = context.hyper["signal"], context.hyper["top"]
    norm = loaded.model.get_submodule(loaded.spec.final_norm)
    found = []
    for before, after in _states(loaded, sentences):
        if signal == "cosine":
            similar = torch.nn.functional.cosine_similarity(before.double(), after.double(), dim=1)
            found.append(1 - similar)
            continue
        with torch.no_grad():
            logits = [unembedded(loaded, norm(state)) for state in (before, after)]
        if signal == "jaccard":
            found.append(1 - _jaccard(*(each.topk(min(top, each.shape[1])).indices for each in logits)))
        else:
            chances = [probability(each, targets) for each in logits]
            found.append(chances[1] - chances[0])
    return torch.stack(found, 1)


def _states(loaded: Loaded, sentences: Sequence[Sentence]) -> list[tuple[Tensor, Tensor]]:
    """For each module [sentences, hidden]: the last token's state before it, and with its output added."""
    spec = loaded.spec
    last = torch.tensor([one.last for one in sentences], device=loaded.device)
    each = torch.arange(len(sentences), device=loaded.device)
    seen: dict[tuple[int, str], Tensor] = {}

    def keep(layer: int, part: str) -> After:
        """Of a block what enters it, of its parts what they put out."""
        return lambda taken, given: seen.__setitem__((layer, part), (given if part else taken)[each, last])

    parts = ("", spec.attention_out, spec.mlp)
    places = [(layer, part) for layer in range(spec.layers) for part in parts]
    with torch.no_grad(), hooked(loaded.model, {spec.module(*place): keep(*place) for place in places}):
        last_logits(loaded, sentences)
    found = []
    for layer in range(spec.layers):
        start = seen[layer, ""]
        attention, mlp = (seen[layer, part] * spec.residual_factor for part in parts[1:])
        between = start if spec.parallel else start + attention
        found += [(start, start + attention), (between, between + mlp)]
    return found


def _jaccard(first: Tensor, second: Tensor) -> Tensor:
    """[rows]: the Jaccard similarity of two sets of K different tokens [rows, K]."""
    common = (first[:, :, None] == second[:, None, :]).sum((1, 2)).double()
    return common / (2 * first.shape[1] - common)


def edited_layer(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, blocks]: 1 for each block that the editing method `method` edits, else 0.

    The block is that of config/methods/, unless `layer` names another.
    """
    given = context.hyper["layer"]
    layers = [given]
    if given < 0:
        layers = read_hyper(context.hyper["method"], loaded.name, sizes=lambda: loaded.spec).layers
    scores = torch.zeros(len(sentences), loaded.spec.layers)
    if not all(layer < loaded.spec.layers for layer in layers):
        raise InputError(
            f"locators: {context.hyper.method}: {loaded.name} has {loaded.spec.layers} blocks, and layer "
            f"{max(layers)} is to be edited; set locate.hyper.{context.hyper.method}.layer"
        )
    scores[:, layers] = 1
    return scores


def gradients(
    loaded: Loaded,
    sentences: Sequence[Sentence],
    targets: Sequence[int],
    granularity: str,
    noise: Sequence[Tensor] = (),
) -> tuple[list[Tensor], list[Tensor]]:
    """Values of the units, and gradients of the target's probability by them.

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
    return [value.detach() for value in values], list(slopes)


def _values(loaded: Loaded, granularity: str, sentences: Sequence[Sentence]) -> list[Tensor]:
    """The values of all units in a pass of the sentences, as in `seen`."""
    with torch.no_grad(), seen(loaded, granularity) as values:
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
def seen(loaded: Loaded, granularity: str) -> Iterator[list[Tensor]]:
    """Keeps the values [rows, tokens, width] of all units in the latest forward pass, in a list.

    There is one value for each block, or two for modules, in the order of the units: the input of the down
    projection (neurons: one channel each), the input of attention's output projection (heads: equal shares
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

    def seeing(index: int) -> After:
        def look(taken: Tensor, given: Tensor) -> Tensor | None:
            values[index] = taken if inside else given
            # Falcon adds to the MLP's output in place, which must not change the value that was seen.
            return None if inside else given.clone()

        return look

    with hooked(loaded.model, {name: seeing(index) for index, name in enumerate(names)}):
        yield values


def summed(loaded: Loaded, granularity: str, values: list[Tensor]) -> Tensor:
    """Sums over the channels of each unit: of values [rows, width] of `seen`, to [rows, units]."""
    if granularity == "neuron":
        return torch.cat(values, 1)
    shares = per_layer(loaded, granularity) if granularity == "head" else 1
    return torch.cat([value.reshape(len(value), shares, -1).sum(2) for value in values], 1)


def knowledge_neurons(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, neurons]: integrated gradients, refined over the wordings of a fact if asked.

    The score of a neuron (Dai et al., 2022, "Knowledge Neurons in Pretrained Transformers", arXiv 2104.08696)
    is the integrated gradient of the answer's probability by the neuron's activation at the last token, from
    zero to its value, with all neurons of its block scaled together. As in the port by EleutherAI
    (knowledge-neurons), only the last token's activations are scaled. Here the activation is what enters the
    MLP's second matrix, behind the nonlinearity. Scaling the last token changes nothing at other tokens, so
    each step of each block repeats only the last token from that block on, all of them in one batch.
    """
    spec, device, hyper = loaded.spec, loaded.device, context.hyper
    per_layer(loaded, "neuron")  # raises if there are none
    activations: list[Tensor] = []
    last = torch.tensor([one.last for one in sentences], device=device)
    each = torch.arange(len(sentences), device=device)
    names = [spec.module(layer, spec.down) for layer in range(spec.layers)]

    def see(taken: Tensor, given: Tensor) -> None:
        activations.append(taken[each, last])

    with hooked(loaded.model, dict.fromkeys(names, see)):
        whole = Whole(loaded, [one.ids for one in sentences])
    scales = nodes(hyper["steps"], hyper["rule"], torch.float64).to(device)
    wanted = torch.as_tensor(targets, device=device)
    found = []
    # Each step of each block is one token.
    size = max(1, context.budget // (len(scales) * spec.layers))
    for start in range(0, len(sentences), size):
        rows = torch.arange(start, min(start + size, len(sentences)), device=device)
        mine = [values[rows] for values in activations]
        slopes = _slopes(loaded, whole, rows, last[rows], wanted[rows], mine, scales)
        found.append(torch.cat([slope * value for slope, value in zip(slopes, mine, strict=True)], 1))
    scores = torch.cat(found)
    if not hyper["refine"]:
        return scores
    return refined(scores, [one.group or one.id for one in sentences], hyper["threshold"], hyper["share"])


def nodes(steps: int, rule: str, kind: torch.dtype) -> Tensor:
    """[steps]: the scales at which gradients are taken.

    `midpoint`: centres of equal intervals. `paper`: their right ends, k / m. `eleuther`: from 0 to 1 with
    both ends, as in the port, whose mean over the steps has an error of the order of one step.
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

        def scale(taken: Tensor) -> Tensor:
            return torch.cat([taken[:joined], leaves[block][:, None]])

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
    numbers = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    group = torch.tensor([numbers[name] for name in groups], device=scores.device)
    counts = torch.zeros(len(numbers), scores.shape[1], dtype=torch.long, device=scores.device)
    counts.index_add_(0, group, strong.long())
    sizes = torch.bincount(group, minlength=len(numbers))
    common = counts[group] > share * sizes[group, None]
    return torch.where(common, scores.clamp(min=0), torch.zeros_like(scores))

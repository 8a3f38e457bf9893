"""What attention and MLP of each block do to the prediction, as PMET looks at it.

Li et al., 2023, "PMET: Precise Model Editing in a Transformer" (arXiv 2308.08742), compare the hidden
state of the last token before and after each module, also projected onto the vocabulary. Here the states
are those of the residual stream: before, and with what the module adds to it. Imports torch.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.interface import Context, last_logits, probability
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.models.fork import unembedded
from factdrift.models.hooks import After, hooked
from factdrift.models.loaded import Loaded


def projections(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, modules]: how much each module changes the state of the last token.

    `signal`: `cosine`, 1 - cosine similarity of the states; `jaccard`, 1 - Jaccard similarity of their `top`
    likeliest next tokens; `probability`, the target's probability after the module minus that before. Raises
    InputError for families that normalise the output of modules: the state behind attention is not known.
    """
    if loaded.spec.post_norm:
        raise InputError(
            f"locators: {context.hyper.method}: {loaded.name} normalises the output of its modules before it "
            "adds it (post-norm), so that the state between them is not known; leave this locator out"
        )
    signal, top = context.hyper["signal"], context.hyper["top"]
    norm = loaded.model.get_submodule(loaded.spec.final_norm)
    changes = []
    for before, after in _states(loaded, sentences):
        if signal == "cosine":
            similar = torch.nn.functional.cosine_similarity(before.double(), after.double(), dim=1)
            changes.append(1 - similar)
            continue
        with torch.no_grad():
            logits = [unembedded(loaded, norm(state)) for state in (before, after)]
        if signal == "jaccard":
            changes.append(1 - _jaccard(*(logit.topk(min(top, logit.shape[1])).indices for logit in logits)))
        else:
            chances = [probability(logit, targets) for logit in logits]
            changes.append(chances[1] - chances[0])
    return torch.stack(changes, 1)


def _states(loaded: Loaded, sentences: Sequence[Sentence]) -> list[tuple[Tensor, Tensor]]:
    """For each module [sentences, hidden]: the last token's state before it, and with its output added."""
    spec = loaded.spec
    last = torch.tensor([sentence.last for sentence in sentences], device=loaded.device)
    every = torch.arange(len(sentences), device=loaded.device)
    states: dict[tuple[int, str], Tensor] = {}

    def keep(layer: int, part: str) -> After:
        """Of a block what enters it, of its parts their output."""
        return lambda entering, output: states.__setitem__(
            (layer, part), (output if part else entering)[every, last]
        )

    parts = ("", spec.attention_out, spec.mlp)
    modules = [(layer, part) for layer in range(spec.layers) for part in parts]
    with torch.no_grad(), hooked(loaded.model, {spec.module(*module): keep(*module) for module in modules}):
        last_logits(loaded, sentences)
    pairs = []
    for layer in range(spec.layers):
        start = states[layer, ""]
        attention, mlp = (states[layer, part] * spec.residual_factor for part in parts[1:])
        between = start if spec.parallel else start + attention
        pairs += [(start, start + attention), (between, between + mlp)]
    return pairs


def _jaccard(first: Tensor, second: Tensor) -> Tensor:
    """[rows]: the Jaccard similarity of two sets of K different tokens [rows, K]."""
    common = (first[:, :, None] == second[:, None, :]).sum((1, 2)).double()
    return common / (2 * first.shape[1] - common)

"""Causal tracing and integrated gradients in the way in which their published programs are built.

For comparison only: one fact at a time, and for each place that is restored a full pass of the clean and the
noisy rows through all blocks, with logits for every token, after which the loop waits for one number. For
each block, integrated gradients run the whole prompt once for every step. What is computed is what
`factdrift.evaluation` computes, from the same noise.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.evaluation.locators.causal_tracing import windows
from factdrift.evaluation.locators.knowledge_neurons import nodes
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.models.hooks import After, hooked, hooked_before
from factdrift.models.loaded import Loaded


@torch.no_grad()
def causal_trace(
    loaded: Loaded, one: Sentence, target: int, noise: Tensor, tokens: Sequence[int], kind: str, window: int
) -> Tensor:
    """[tokens, blocks]: the probability with each place restored, minus that with noise alone."""
    spec = loaded.spec
    ids = torch.tensor([one.ids] * (1 + len(noise)), device=loaded.device)
    first, behind = one.subject or (0, len(one.ids))

    def corrupt(taken: Tensor, given: Tensor) -> Tensor:
        changed = given.clone()
        changed[1:, first:behind] += noise
        return changed

    def run(names: Sequence[str], token: int) -> float:
        def restore(taken: Tensor, given: Tensor) -> Tensor:
            changed = given.clone()
            changed[1:, token] = given[0, token]
            return changed

        functions: dict[str, After] = {spec.embedding: corrupt, **dict.fromkeys(names, restore)}
        with hooked(loaded.model, functions):
            logits = loaded.model(ids).logits
        return float(logits[1:, -1].float().softmax(1).mean(0)[target].item())

    low, high = windows(spec.layers, window, torch.device("cpu"))
    base = run([], 0)
    found = torch.zeros(len(tokens), spec.layers)
    for row, token in enumerate(tokens):
        for layer in range(spec.layers):
            names = [spec.module(layer, "")]
            if kind != "state":
                part = spec.mlp if kind == "mlp" else spec.attention_out
                names = [spec.module(block, part) for block in range(int(low[layer]), int(high[layer]))]
            found[row, layer] = run(names, token) - base
    return found


def integrated_gradients(loaded: Loaded, one: Sentence, target: int, steps: int, rule: str) -> Tensor:
    """[blocks, inner]: activation times mean gradient, a full pass for each block with its steps as rows."""
    ids = torch.tensor([one.ids], device=loaded.device)
    found = []
    for layer in range(loaded.spec.layers):
        name = loaded.spec.module(layer, loaded.spec.down)
        kept: list[Tensor] = []
        with (
            torch.no_grad(),
            hooked(loaded.model, {name: lambda taken, given, kept=kept: kept.append(taken)}),
        ):
            loaded.model(ids)
        value = kept[0][0, -1]
        scales = nodes(steps, rule, torch.float64).to(value)
        leaf = (scales[:, None] * value).requires_grad_(True)

        def put(taken: Tensor, leaf: Tensor = leaf) -> Tensor:
            return torch.cat([taken[:, :-1], leaf[:, None]], 1)

        with torch.enable_grad(), hooked_before(loaded.model, {name: put}):
            logits = loaded.model(ids.repeat(steps, 1)).logits[:, -1].float()
            (slope,) = torch.autograd.grad(logits.softmax(1)[:, target].sum(), leaf)
        found.append(slope.mean(0) * value)
    return torch.stack(found)

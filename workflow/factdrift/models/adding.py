"""How the blocks of a model add up, measured in one run on a few tokens. Imports torch."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from factdrift.models.families import ModelSpec, Unclear, is_norm

PROBE = 8
"""Tokens of the run."""
ROUNDINGS = 32
"""The largest difference that counts as rounding, relative to the largest value, in units of precision."""


@dataclass
class Seen:
    """Inputs and outputs of a block and of its parts: [tokens, hidden] each, in float64."""

    block: tuple[Tensor, Tensor]
    attention: Tensor
    """The output of attention's last matrix."""
    mlp: tuple[Tensor, Tensor]
    """What enters the first matrix or the whole of the MLP, and what the MLP puts out."""
    norms: list[tuple[Tensor, Tensor]] = field(default_factory=list)


@torch.inference_mode()
def measured(model: Any, spec: ModelSpec) -> dict[str, Any]:
    """`parallel`, `post_norm`, `residual_factor` and `logit_factor` of a model whose module names are known.

    Raises Unclear if a block's output is not its input plus what attention and MLP put out, at most
    normalised or multiplied by one number; or if no key of the configuration gives the factors.
    """
    ids = torch.arange(1, min(PROBE, spec.positions) + 1)[None] % spec.vocabulary
    device = model.get_submodule(spec.embedding).weight.device
    kind = next(model.parameters()).dtype
    precision = max(torch.finfo(kind).eps, torch.finfo(torch.float32).eps) * ROUNDINGS
    with watched(model, spec) as (blocks, final):
        logits = model(ids.to(device), use_cache=False).logits[0].double()
    found = [sum_of(seen, f"{spec.blocks}.{layer}", precision) for layer, seen in enumerate(blocks)]
    kinds = {(parallel, post_norm) for parallel, post_norm, _ in found}
    if len(kinds) > 1:
        raise Unclear("its blocks do not all add attention and MLP in the same way")
    ((parallel, post_norm),) = kinds
    config = model.config.get_text_config()
    factors = [factor for _, _, factor in found]
    head = model.get_submodule(spec.head)(final[0]).double()
    bound = getattr(config, "final_logit_softcapping", None)
    if bound is not None:
        logits = torch.atanh(logits / bound) * bound
    scale = float((head * logits).sum() / (head * head).sum())
    return {
        "parallel": parallel,
        "post_norm": post_norm,
        "residual_factor": known(config, sum(factors) / len(factors), precision, "outputs of its blocks"),
        "logit_factor": known(config, scale, precision, "its logits"),
    }


@contextlib.contextmanager
def watched(model: nn.Module, spec: ModelSpec) -> Iterator[tuple[list[Seen], list[Tensor]]]:
    """What the blocks take in and give in a run, filled at its end, and what the final norm gives."""
    blocks: list[Seen] = []
    final: list[Tensor] = []
    kept: dict[str, list[tuple[Tensor, Tensor]]] = {}
    with contextlib.ExitStack() as stack:

        def watch(name: str) -> None:
            kept[name] = []

            def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
                taken = args[0] if args else kwargs["hidden_states"]
                given = output[0] if isinstance(output, tuple) else output
                # Some families add to these tensors in place afterwards.
                pair = (value.detach().double().reshape(-1, value.shape[-1]) for value in (taken, given))
                kept[name].append((next(pair).clone(), next(pair).clone()))

            module = model.get_submodule(name)
            stack.callback(module.register_forward_hook(keep, with_kwargs=True).remove)

        norms: list[list[str]] = []
        for layer in range(spec.layers):
            block = spec.module(layer, "")
            own = [n for n, child in model.get_submodule(block).named_children() if is_norm(child)]
            norms.append([f"{block}.{name}" for name in own])
            parts = (
                block,
                *(spec.module(layer, part) for part in (spec.attention_out, spec.mlp, entry(spec))),
            )
            for name in dict.fromkeys((*parts, *norms[-1])):
                watch(name)
        last = model.get_submodule(spec.final_norm)
        stack.callback(last.register_forward_hook(lambda m, a, out: final.append(out[0])).remove)
        yield blocks, final
    for layer in range(spec.layers):
        once = [kept[spec.module(layer, part)] for part in ("", spec.attention_out, spec.mlp, entry(spec))]
        if any(len(calls) != 1 for calls in once):
            raise Unclear(f"a part of {spec.module(layer, '')} does not run once for a block")
        (block_,), (attention,), (mlp,), (first,) = once
        inside = [pair for name in norms[layer] for pair in kept[name]]
        blocks.append(Seen(block_, attention[1], (first[0], mlp[1]), inside))


def entry(spec: ModelSpec) -> str:
    """The module that the MLP begins with: the MLP or, if it has no module of its own, its first matrix."""
    return spec.mlp if spec.mlp != spec.down else spec.mlp_matrices[0]


def sum_of(seen: Seen, name: str, precision: float) -> tuple[bool, bool, float]:
    """Whether MLP and attention of a block are parallel, whether the MLP is post-norm, and the factor."""
    taken, given = seen.block
    entering, output = seen.mlp
    before = next((into for into, out in seen.norms if torch.equal(out, entering)), entering)
    behind = next((out for into, out in seen.norms if torch.equal(into, output)), None)
    attention = next((out for into, out in seen.norms if torch.equal(into, seen.attention)), seen.attention)
    parallel = torch.equal(before, taken)
    added = output if behind is None else behind
    added = added + attention if parallel else added
    factor = float(((given - before) * added).sum() / (added * added).sum())
    miss = (given - before - factor * added).abs().max()
    largest = max(value.abs().max() for value in (given, before, added))
    if not miss <= precision * largest:
        raise Unclear(
            f"the output of {name} is not what enters it plus what attention and MLP put out (it differs by "
            f"{float(miss):.3g}, of {float(largest):.3g} at most)"
        )
    return parallel, behind is not None, factor


def known(config: Any, factor: float, precision: float, what: str) -> float:
    """1, or the number of the configuration, or its inverse, that a measured factor equals.

    Raises Unclear if there is none.
    """
    if abs(factor - 1) <= precision:
        return 1.0
    numbers = {
        key: float(value)
        for key, value in config.to_dict().items()
        if ("scal" in key or "mult" in key) and isinstance(value, int | float) and value
    }
    for number in numbers.values():
        for candidate in (number, 1 / number):
            if abs(factor / candidate - 1) <= precision:
                return candidate
    raise Unclear(f"{what} are multiplied by {factor:.6g}, which no key of its configuration gives")

"""Checks that the logits computed here are a model's own, in float32 whatever the type of its weights.

Imports torch.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from factdrift.core.errors import InputError, Unsupported
from factdrift.models.families import ModelSpec
from factdrift.models.fork import Fork, unembedded
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.quantized import is_quantized

PROBE = 8
"""Tokens of the text on which logits are compared."""
HEAD_ROUNDINGS, FORK_ROUNDINGS = 4, 16
"""The largest difference in float32 or float64 that counts as rounding, relative to the largest logit, in
units of the precision of the type: of the head alone, and of all blocks, there times the square root of their
number."""
MERGED_ROUNDINGS = 2
"""As FORK_ROUNDINGS, of the root mean square, for an adapter that is merged in half precision."""
QUANTIZED_ROUNDINGS = 4
"""As FORK_ROUNDINGS, of the root mean square and in units of bfloat16. In 8 bits all tokens of a batch decide
which columns are computed in half precision, so that results differ a little for fewer tokens."""


@torch.no_grad()
def check_logits(loaded: Loaded) -> None:
    """Compares the logits of `unembedded`, and those after a Fork, with the model's own on a short text.

    A family may scale its logits, or run its blocks, in a way of its own; every loss would then be wrong. So
    it would be if padding on the left of a text reached its recurrent state. In half precision rounding would
    hide that, so the model is run in float32. Where that fails, and for quantized weights, the differences'
    root mean square is compared, which rounding changes less than the largest one. Raises Unsupported with
    the difference if it is more than rounding can explain, and InputError if logits are not finite in the
    type of the weights, as where float16 ends too early.
    """
    spec = loaded.spec
    ids = torch.tensor([_text(spec)], device=loaded.device)
    if not loaded.model(ids, use_cache=False).logits.isfinite().all():
        raise InputError(
            f"models: {loaded.name}: its logits are not finite in {loaded.dtype}; choose "
            "bfloat16 or float32 (edit.dtype), or get its files again"
        )
    kind = torch.finfo(loaded.dtype)
    # GPT-J attends in float32 whatever the type of its weights.
    rounding, found = max(kind.eps, torch.finfo(torch.float32).eps), None
    quantized = is_quantized(loaded.model.config)
    if kind.bits < 32 and not quantized:
        with contextlib.suppress(Exception), in_float32(loaded.model):
            rounding, found = torch.finfo(torch.float32).eps, _logits(loaded)
    exact = found is not None or (kind.bits >= 32 and not quantized)
    head, fork = (HEAD_ROUNDINGS, FORK_ROUNDINGS) if exact else (1, 1)
    if quantized:
        rounding, fork = max(rounding, torch.finfo(torch.bfloat16).eps), QUANTIZED_ROUNDINGS
    blocks = fork * rounding * spec.layers**0.5
    for (ours, own), bound in zip(found or _logits(loaded), (head * rounding, blocks, blocks), strict=False):
        apart = _apart(ours, own, exact)
        if not apart <= bound:
            raise Unsupported(
                f"models: {loaded.name}: the logits that factdrift computes from its hidden states, or of a "
                f"padded text, differ from the model's own by {apart:.2g} of their size "
                f"(rounding gives {bound:.1g}). Models of the family {spec.family!r} compute something in a "
                "way of their own, such as a scale of the logits, so that every loss would be wrong; it is "
                "not supported"
            )


def _apart(ours: Tensor, own: Tensor, exact: bool) -> float:
    """The difference of logits relative to their size: the largest one or, if not `exact`, that in the mean.

    The mean is that of squares. NaN if a logit is not finite.
    """
    difference, whole = (ours.double() - own.double()).flatten(), own.double().flatten()
    apart, size = (float(value.norm(torch.inf if exact else 2)) for value in (difference, whole))
    return apart / max(size, torch.finfo(torch.float64).tiny)


def merging(loaded: Loaded, ours: Tensor, own: Tensor) -> tuple[float, float]:
    """The difference of a merged model's logits from those with an adapter beside the weights, and its bound.

    Both are relative to the size of the logits; the bound is what rounding explains in the type of the
    weights, to which merging rounds. Quantized ones are rounded to fewer bits, which it does not explain.
    """
    kind = torch.finfo(loaded.dtype)
    exact = kind.bits >= 32 and not is_quantized(loaded.model.config)
    roundings = FORK_ROUNDINGS if exact else MERGED_ROUNDINGS
    rounding = max(kind.eps, torch.finfo(torch.float32).eps)
    return _apart(ours, own, exact), roundings * rounding * loaded.spec.layers**0.5


def _text(spec: ModelSpec) -> list[int]:
    """The tokens on which logits are compared."""
    return [index % spec.vocabulary for index in range(1, min(PROBE, spec.positions) + 1)]


def _logits(loaded: Loaded) -> list[tuple[Tensor, Tensor]]:
    """Logits that factdrift computes and the model's own.

    They are those of the head alone, of all blocks, and, in models with a recurrent state, of a text behind
    padding.
    """
    model, spec = loaded.model, loaded.spec
    ids = _text(spec)
    start = len(ids) // 2
    final: list[Tensor] = []
    with hooked(model, {spec.final_norm: lambda taken, given: final.append(given)}):
        logits = model(torch.tensor([ids], device=loaded.device), use_cache=False).logits
    fork = Fork(loaded, [ids], [start], 0)
    again = fork.run(fork.hidden)
    pairs = [(unembedded(loaded, final[0]), logits), (unembedded(loaded, again), logits[:, start:])]
    if spec.recurrent:
        # The text padded on the left, here by itself, and masked, as continuations are.
        row = torch.tensor([[*ids, *ids]], device=loaded.device)
        mask = (torch.arange(row.shape[1], device=loaded.device) >= len(ids))[None]
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        padded = model(input_ids=row, attention_mask=mask.long(), position_ids=positions, use_cache=False)
        pairs.append((padded.logits[:, len(ids) :], logits))
    return pairs


@contextlib.contextmanager
def in_float32(model: nn.Module) -> Iterator[None]:
    """Runs `model` in float32 inside the `with` block: each module's own tensors are converted while it runs.

    So only the tensors of the modules that are being run take more memory, and all are restored as they were.
    """
    kept: dict[Tensor, Tensor] = {}
    handles = []

    def wider(module: nn.Module, taken: Any) -> None:
        for tensor in _half(module):
            kept[tensor] = tensor.data
            tensor.data = tensor.data.float()

    def narrower(module: nn.Module, taken: Any, given: Any) -> None:
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            if tensor in kept:
                tensor.data = kept.pop(tensor)

    try:
        for module in model.modules():
            if _half(module):
                handles.append(module.register_forward_pre_hook(wider, prepend=True))
                handles.append(module.register_forward_hook(narrower, always_call=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
        for tensor, data in kept.items():
            tensor.data = data


def _half(module: nn.Module) -> list[Tensor]:
    """A module's own tensors in half precision."""
    own = (*module.parameters(recurse=False), *module.buffers(recurse=False))
    return [one for one in own if one.dtype in (torch.float16, torch.bfloat16)]

"""Collects the results of a method's batches, in the order of the edits; checks those of users' methods."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.contexts import Contexts
from factdrift.evaluation.methods.interface import Edited
from factdrift.evaluation.methods.optimise import Optimised
from factdrift.evaluation.methods.own import DOCUMENT
from factdrift.models.deltas import Deltas, Dense, LowRank
from factdrift.models.families import shape_of
from factdrift.models.loaded import Loaded


def collected(
    loaded: Loaded,
    edits: int,
    contexts: Sequence[Contexts],
    results: Sequence[tuple[Deltas, Optimised]],
    failed: dict[int, str],
    ranks: Mapping[str, int],
) -> Edited:
    """The changes of all edits; zero for those that failed or whose changes are not finite.

    `edits`: their number. `contexts`: in the order of the results. `ranks`: module -> rank of its changes.
    """
    kind = loaded.change_dtype
    places = torch.tensor([one.place for one in contexts], dtype=torch.long, device=loaded.device)
    finite = torch.ones(len(contexts), dtype=torch.bool, device=loaded.device)
    deltas: Deltas = {}
    for name, rank in ranks.items():
        factors = []
        for width, side in zip(reversed(shape_of(loaded.model.get_submodule(name))), (0, 1), strict=True):
            whole = torch.zeros(edits, width, rank, dtype=kind, device=loaded.device)
            if results:
                part = torch.cat([_factor(found[name], side) for found, _ in results])
                finite &= part.isfinite().all(2).all(1)
                whole[places] = part
            factors.append(whole)
        deltas[name] = LowRank(*factors)
    steps = torch.zeros(edits, dtype=torch.long, device=loaded.device)
    losses = torch.full((edits,), torch.nan, dtype=kind, device=loaded.device)
    if results:
        steps[places] = torch.cat([found.steps for _, found in results])
        losses[places] = torch.cat([found.losses for _, found in results])
    diverged = places[~finite].tolist()
    for delta in deltas.values():
        for factor in (_factor(delta, 0), _factor(delta, 1)):
            factor[diverged] = 0
    return Edited(deltas, failed=failed | dict.fromkeys(diverged, "diverged"), steps=steps, losses=losses)


def _factor(delta: object, side: int) -> torch.Tensor:
    assert isinstance(delta, LowRank)
    return (delta.read, delta.write)[side]


def checked(given: str, loaded: Loaded, edits: int, made: Any) -> Edited:
    """What a user's own method returned for `edits` edits; those with values that are not finite have failed.

    `given`: the method as the user named it. Raises InputError that says what is wrong.
    """

    def wrong(what: str) -> InputError:
        return InputError(f"methods: {given}: {what} ({DOCUMENT})")

    if not isinstance(made, Edited):
        raise wrong(f"it returned {type(made).__name__} where an Edited is wanted")
    if not set(made.failed) <= set(range(edits)):
        raise wrong(f"failed has keys other than 0 to {edits - 1}")
    if made.contexts is not None and len(made.contexts) != edits:
        raise wrong(f"{len(made.contexts)} contexts for {edits} edits")
    if made.codebooks:
        raise wrong("it returned codebooks, which are not for your own; return changes of weights as deltas")
    own = made.owner if made.owner is not None else list(range(edits))
    if len(own) != edits:
        raise wrong(f"owner has {len(own)} entries for {edits} edits")
    if made.deltas and made.owner is None and any(len(delta) != edits for delta in made.deltas.values()):
        raise wrong(f"{len(next(iter(made.deltas.values())))} changes for {edits} edits, without owner")
    least = min(map(len, made.deltas.values()), default=edits)
    if strange := [each for each in own if each not in range(-1, least)]:
        raise wrong(f"owner has the entry {strange[0]!r}; the index of a change is expected, or -1 for none")
    for name, delta in made.deltas.items():
        for what, tensor, shape in _expected(wrong, loaded, name, delta):
            if tuple(tensor.shape) != (len(delta), *shape):
                raise wrong(
                    f"{what} of {name} has shape {tuple(tensor.shape)}; {(len(delta), *shape)} is expected"
                )
            if tensor.device != loaded.device or tensor.dtype != loaded.change_dtype:
                raise wrong(
                    f"{what} of {name} is {tensor.dtype} on {tensor.device}; {loaded.change_dtype} on "
                    f"{loaded.device} is expected (loaded.change_dtype, loaded.device)"
                )
            finite = tensor.isfinite().flatten(1).all(1).tolist()
            for place, owner in enumerate(own):
                if owner >= 0 and not finite[owner]:
                    made.failed.setdefault(place, "diverged")
    return made


def _expected(
    wrong: Any, loaded: Loaded, name: str, delta: Any
) -> Iterator[tuple[str, torch.Tensor, tuple[int, ...]]]:
    """The tensors of a change, each with the shape that it must have for each edit."""
    modules = dict(loaded.model.named_modules())
    if name not in modules or getattr(modules[name], "weight", None) is None:
        raise wrong(f"{loaded.name} has no module {name} with a weight")
    if modules[name].weight.ndim != 2:
        raise wrong(f"the weight of {name} is no matrix")
    out, into = shape_of(modules[name])
    if isinstance(delta, LowRank):
        rank = delta.read.shape[-1]
        yield from (("read", delta.read, (into, rank)), ("write", delta.write, (out, rank)))
    elif isinstance(delta, Dense):
        yield "weight", delta.weight, (out, into)
        if delta.bias is not None:
            if getattr(modules[name], "bias", None) is None:
                raise wrong(f"{name} has no bias to change")
            yield "bias", delta.bias, (out,)
    else:
        raise wrong(f"the change of {name} is {type(delta).__name__}, neither LowRank nor Dense")

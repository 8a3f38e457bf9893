"""The methods by name, and those that users have written, whose results are checked."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import torch

from factdrift.core.errors import InputError
from factdrift.core.functions import function_of, named_function, read_function
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Method
from factdrift.evaluation.methods.own import DOCUMENT, Entry
from factdrift.models.deltas import Dense, LowRank
from factdrift.models.families import shape_of
from factdrift.models.loaded import Loaded
from factdrift.models.snapshot import leaving_alone


def named(function: str) -> Callable[..., Any]:
    """A function that the record of a method names, MODULE.FUNCTION."""
    return named_function(__package__, function)


def method_of(hyper: Hyper) -> Method:
    """The method whose hyper-parameters these are.

    Of a user's own it is checked what it returns, and that it leaves model and tokenizer alone.
    """
    own = hyper.own
    if own is None:
        return named(hyper.record.edit)
    function = own_function(own)

    def method(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
        instead = f"a batched method returns its changes in an Edited ({DOCUMENT})"
        values = replace(hyper, settings=deepcopy(dict(hyper)))
        given = replace(artefacts, before=dict(artefacts.before), memory=deepcopy(artefacts.memory))
        with leaving_alone(loaded, f"methods: {own.given}", instead):
            made = function(loaded, edits, values, given)
        return checked(own.given, loaded, len(edits), made)

    return method


@cache
def own_function(own: Entry) -> Callable[..., Any]:
    """The function of a user's own method, imported; raises InputError if that fails."""
    assert own.path is not None
    if not own.module:
        return read_function(own.path, own.function, "methods")
    try:
        module = import_module(own.module)
    except Exception as error:
        raise InputError(
            f"methods: {own.given}: {own.module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return function_of(module, own.function, own.module, "methods")


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

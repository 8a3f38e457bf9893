"""Notices what the code of a user leaves behind in a model or its tokenizer. Imports torch."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

from factdrift.core.errors import InputError
from factdrift.models.loaded import Loaded
from factdrift.models.snapshot import Snapshot
from factdrift.models.templated import untemplated

_TENSORS: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()
"""Model -> checksums of its tensors, which are computed once."""
ROUNDING = 1e-4
"""The largest difference between results of the same call, made twice, that counts as rounding; or the
precision of the weights' type, if that is less fine.
"""
NAMED = 3
"""Changes that a message names at most."""
LONGEST = 1000
"""Characters of a value of a variable that are compared."""


@contextmanager
def leaving_alone(loaded: Loaded, given: str, instead: str) -> Iterator[None]:
    """Checks that the code inside leaves the model, its hooks and classes, and the tokenizer as they were.

    Attributes that change no result (`requires_grad`, gradients, training mode) are restored. `given`: how
    the user named the function; `instead`: what it should do. Raises InputError that names what was changed.
    """
    before = Snapshot(loaded.model, (), _TENSORS.get(loaded.model))
    _TENSORS[loaded.model] = before.tensors
    tokens = tokenizer_state(loaded.tokenizer)
    yield
    changed = [*before.changed_code(), *before.changed_tensors()]
    if tokenizer_state(loaded.tokenizer) != tokens:
        changed.append("the tokenizer")
    if changed:
        more = f" and {len(changed) - NAMED} others" if len(changed) > NAMED else ""
        raise InputError(
            f"{given}: it changed {', '.join(changed[:NAMED])}{more} of {loaded.name} and did not undo it, "
            f"so that all later results would be others; {instead}"
        )
    before.restore()


def tokenizer_state(tokenizer: Any) -> tuple[Any, ...]:
    """What the tokens of a text depend on, as values that can be compared.

    Padding and truncation, which every call of a tokenizer sets, are not among it.
    """
    plain = untemplated(tokenizer)
    parts: list[Any] = [len(plain), plain.padding_side, plain.truncation_side, plain.model_max_length]
    parts += [plain.chat_template, repr(plain.special_tokens_map), plain.clean_up_tokenization_spaces]
    backend = getattr(plain, "backend_tokenizer", None)
    if backend is not None:
        parts.append(sorted((key, repr(value)) for key, value in backend.get_added_tokens_decoder().items()))
        parts += [
            part and part.__getstate__()
            for part in (backend.normalizer, backend.pre_tokenizer, backend.post_processor, backend.decoder)
        ]
    return tuple(parts)


def variables(function: Callable[..., Any]) -> dict[str, str]:
    """Name -> a short text on the value of each variable of a function's module, and of the function itself.

    Two texts may agree though the values differ; for messages.
    """
    names: Mapping[str, Any] = getattr(function, "__globals__", {})
    found = {name: value for name, value in names.items() if not name.startswith("__")}
    found |= {f"{function.__name__}.{name}": value for name, value in vars(function).items()}
    return {
        name: f"{id(value)} {repr(value)[:LONGEST]}"
        for name, value in found.items()
        if not callable(value) and not isinstance(value, ModuleType)
    }

"""Notices what the code of a user leaves behind in a model or its tokenizer, and restores the model.

Imports torch.
"""

import copy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, PretrainedConfig

from factdrift.core.errors import InputError
from factdrift.models.alignment import untemplated
from factdrift.models.loaded import Loaded

_TENSORS: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()
"""Model -> checksums of its tensors, which are computed once."""
ROUNDING = 1e-4
"""The largest difference between results of the same call, made twice, that counts as rounding; or the
precision of the weights' type, if that is less fine."""
NAMED = 3
"""Changes that a message names at most."""
LONGEST = 1000
"""Characters of a value of a variable that are compared."""
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
HOME = "cpu"
"""The device whose tensors are copied without comparing them."""
CHUNK = 1 << 20
"""Numbers of a tensor that its checksum takes at a time."""
_WRITTEN_LATE = ("__annotations__", "__annotations_cache__", "__annotate_func__", "__abstractmethods__")
"""What Python itself adds to a class when it is first asked for."""


class _Kept(NamedTuple):
    """A parameter or buffer as it was."""

    name: str
    tensor: Tensor
    data: Tensor
    """Its own storage, also if another one is put in its place."""
    requires_grad: bool
    content: Tensor | None
    """A copy on the CPU; None if only the checksum is kept."""
    checksum: int | None
    """None if the tensor is on the CPU and copied: comparing would take longer than copying."""


class Snapshot:
    """The state of a model: its tensors, modules, hooks, configurations and all other attributes.

    The classes of its modules and the Python modules that define them are part of the state. Tensors are
    copied to the memory of the CPU. `patterns`: of the names of the parameters that are copied; of the others
    a checksum is kept, by which `restore` notices that they have changed. Without patterns buffers are not
    copied either, and those that no checkpoint has, which a forward pass may write, are left out. `tensors`:
    those of an earlier snapshot of the model, which are then not copied or summed again. `since`: an earlier
    snapshot, whose copies serve for tensors of a GPU that have not changed since.
    """

    def __init__(
        self,
        model: nn.Module,
        patterns: Sequence[str] = ("*",),
        tensors: list[_Kept] | None = None,
        since: "Snapshot | None" = None,
    ):
        self._modules = [(module, type(module), _attributes(module)) for module in model.modules()]
        self._names = {module: name for name, module in model.named_modules()}
        classes = {base: None for module in model.modules() for base in type(module).__mro__[:-1]}
        named = {sys.modules.get(kind.__module__): None for kind in classes}
        owners: list[Any] = [*classes, *(one for one in named if one and one.__name__ != "builtins")]
        self._namespaces = [(owner, dict(vars(owner))) for owner in (*owners, nn.functional)]
        """Classes of modules, what they inherit from, and their Python modules; what their names meant."""
        shared = [value for name, value in vars(nn.modules.module).items() if name.startswith("_global_")]
        self._everywhere = [(hooks, dict(hooks)) for hooks in shared if isinstance(hooks, dict)]
        """The mappings in which torch keeps hooks that every module runs, and what was in them."""
        configs = {
            id(value): value
            for module, _, _ in self._modules
            for value in vars(module).values()
            if isinstance(value, PretrainedConfig | GenerationConfig)
        }
        self._configs = [(config, _attributes(config)) for config in configs.values()]
        lasting = model.state_dict(keep_vars=True)
        known = {tensor.name: tensor for tensor in since.tensors} if since else {}
        copied = {name for name in lasting if any(fnmatchcase(name, pattern) for pattern in patterns)}
        copied |= {name for name, _ in model.named_buffers() if patterns}
        self.tensors: list[_Kept] = tensors or [
            _kept(name, tensor, name in copied, known.get(name))
            for name, tensor in (*model.named_parameters(), *model.named_buffers())
            if patterns or name in lasting
        ]

    def changed_code(self) -> Iterator[str]:
        """What differs from the state that is kept, besides values of tensors and plain attributes, in words.

        A model of which nothing does computes each row of a batch by itself, as it did before. Hooks of
        transformers itself, with which it collects hidden states, do not count.
        """
        for hooks, saved_hooks in self._everywhere:
            if not _same(hooks, saved_hooks):
                yield "a hook on all modules"
        for owner, names in self._namespaces:
            now = vars(owner)
            where = owner.__name__
            yield from (f"{where}.{name}" for name, value in names.items() if now.get(name) is not value)
            if isinstance(owner, type):
                yield from (f"{where}.{name}" for name in _added(owner, names))
        for module, kind, saved in self._modules:
            now = vars(module)
            where = self._names[module] or "the model"
            if type(module) is not kind:
                yield f"the class of {where}"
            if ("forward" in now) != ("forward" in saved):
                yield f"the function forward of {where}"
            for key, (_, content) in saved.items():
                if key == "_modules" and not _same(now.get(key), content):
                    yield f"the modules inside {where}"
                elif "hooks" in key and not _same(_own_hooks(now.get(key)), _own_hooks(content)):
                    yield f"a hook on {where}"
                elif key in ("_parameters", "_buffers") and set(now.get(key, ())) != set(content):
                    yield f"the parameters of {where}"

    def changed_tensors(self) -> list[str]:
        """The names of parameters that were replaced, and of tensors that differ from their checksums."""
        replaced = [
            f"{self._names[module]}.{name}".lstrip(".")
            for module, _, saved in self._modules
            for name, value in saved["_parameters"][1].items()
            if vars(module)["_parameters"].get(name) is not value
        ]
        return replaced + [
            tensor.name
            for tensor in self.tensors
            if tensor.checksum is not None
            and (
                tensor.tensor.dtype != tensor.data.dtype
                or _checksum(tensor.tensor.detach()) != tensor.checksum
            )
        ]

    @torch.no_grad()
    def restore(self) -> list[str]:
        """Restores the state bit by bit; returns the parameters that differ and were not copied."""
        for hooks, content in self._everywhere:
            hooks.clear()
            hooks.update(content)
        for owner, names in self._namespaces:
            for name, value in names.items():
                if vars(owner).get(name) is not value:
                    setattr(owner, name, value)
            # A Python module may get new names when it is first used, which change nothing.
            for name in _added(owner, names) if isinstance(owner, type) else ():
                delattr(owner, name)
        for module, kind, saved in self._modules:
            module.__class__ = kind
            _restore(module, saved)
        for config, saved in self._configs:
            _restore(config, saved)
        lost = []
        for tensor in self.tensors:
            if not tensor.tensor.is_leaf:
                tensor.tensor.detach_()
            tensor.tensor.data = tensor.data
            tensor.tensor.requires_grad_(tensor.requires_grad)
            tensor.tensor.grad = None
            if tensor.content is None:
                if _checksum(tensor.data) != tensor.checksum:
                    lost.append(tensor.name)
            elif 0 in tensor.data.stride():
                continue  # an expanded buffer is a view of another one
            elif tensor.checksum is None or _checksum(tensor.data) != tensor.checksum:
                tensor.data.copy_(tensor.content)
        return lost


def _added(kind: type, names: dict[str, Any]) -> list[str]:
    return [name for name in vars(kind) if name not in names and name not in _WRITTEN_LATE]


def _own_hooks(hooks: Any) -> Any:
    """Hooks but for those of transformers."""
    if not isinstance(hooks, dict):
        return hooks
    return {
        key: hook
        for key, hook in hooks.items()
        if not str(getattr(hook, "__module__", "")).startswith("transformers.")
    }


def _kept(name: str, tensor: Tensor, copied: bool, known: _Kept | None) -> _Kept:
    data = tensor.detach()
    # Copying all weights of a GPU to the CPU and back takes longer than comparing there.
    checksum = _checksum(data) if not copied or data.device.type != HOME else None
    content = None
    if copied:
        kind = data.shape, data.dtype, checksum
        same = known and checksum is not None and kind == (known.data.shape, known.data.dtype, known.checksum)
        content = known.content if known and same else None
        content = data.to("cpu", copy=True) if content is None else content
    return _Kept(name, tensor, data, tensor.requires_grad, content, checksum)


@torch.no_grad()
def _checksum(tensor: Tensor) -> int:
    """A number that depends on the bit patterns of all elements and on their order."""
    bits = tensor.contiguous().view(_INTEGERS[tensor.element_size()]).flatten()
    factors = _factors(str(tensor.device))
    total = torch.zeros((), dtype=torch.int64, device=tensor.device)
    for chunk in torch.split(bits, CHUNK):
        total = total * _STEP + (chunk * factors[: len(chunk)]).sum()
    return int(total.item())


_STEP = 6364136223846793005
"""An odd number, by which the sum of the chunks before is multiplied."""


@cache
def _factors(device: str) -> Tensor:
    """[CHUNK] random integers of 64 bits, the same in every process."""
    drawing = torch.Generator().manual_seed(0)
    return torch.randint(-(2**63), 2**63 - 1, (CHUNK,), generator=drawing).to(device)


def _attributes(thing: Any) -> dict[str, tuple[Any, Any]]:
    """Name -> value of each attribute, and a copy of its content if it is a container."""
    return {
        name: (value, copy.copy(value) if isinstance(value, dict | list | set) else None)
        for name, value in vars(thing).items()
    }


def _restore(thing: Any, saved: dict[str, tuple[Any, Any]]) -> None:
    now = vars(thing)
    now.clear()
    for name, (value, content) in saved.items():
        now[name] = value
        if isinstance(value, list):
            value[:] = content
        elif isinstance(value, dict | set):
            value.clear()
            value.update(content)


def _same(one: Any, other: dict[Any, Any]) -> bool:
    """Whether two mappings have the same objects under the same keys, in the same order."""
    mine, theirs = (
        [(key, id(value)) for key, value in each.items()] if isinstance(each, dict) else None
        for each in (one, other)
    )
    return mine == theirs


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
    if (backend := getattr(plain, "backend_tokenizer", None)) is not None:
        parts.append(sorted((key, repr(value)) for key, value in backend.get_added_tokens_decoder().items()))
        steps = backend.normalizer, backend.pre_tokenizer, backend.post_processor, backend.decoder
        parts += [step and step.__getstate__() for step in steps]
    return tuple(parts)


def variables(function: Callable[..., Any]) -> dict[str, str]:
    """Name -> a short text on the value of each variable of a function's module, and of the function itself.

    Two texts may agree though the values differ; for messages.
    """
    names: Mapping[str, Any] = getattr(function, "__globals__", {})
    kept = {name: value for name, value in names.items() if not name.startswith("__")}
    kept |= {f"{function.__name__}.{name}": value for name, value in vars(function).items()}
    plain = {name: value for name, value in kept.items() if not callable(value)}
    values = ((name, value) for name, value in plain.items() if not isinstance(value, ModuleType))
    return {name: f"{id(value)} {repr(value)[:LONGEST]}" for name, value in values}

"""A device for machines without a GPU: it computes on the CPU, and refuses what a GPU refuses.

That is an operation on tensors of two devices, and a tensor that is to be an array of numpy. As on a GPU, it
takes single numbers of the CPU, and indices there into a tensor that is here. It cannot be saved: its tensors
have no bytes of their own. torch has it as its PrivateUse1, of which a process has one, for good.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._pytree import tree_leaves, tree_map_only

NAME = "pretended"
COPIES = ("copy_", "_to_copy")
_HELD = pytest.StashKey[contextlib.ExitStack]()
INDEXED = ("index", "index_put", "index_put_", "_index_put_impl_")


class Pretended(torch.Tensor):
    """A tensor on the device, with its numbers in one on the CPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor, device: torch.device) -> Pretended:
        given = {"strides": inner.stride(), "storage_offset": inner.storage_offset(), "dtype": inner.dtype}
        made: Pretended = torch.Tensor._make_wrapper_subclass(cls, inner.size(), device=device, **given)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # A view of a tensor from outside of inference mode is none of inference mode.
        with torch.inference_mode(False), torch._C._AutoDispatchBelowAutograd():
            return dispatched(function, args, dict(kwargs or {}))

    @property
    def data(self) -> torch.Tensor:
        return self.detach()

    @data.setter
    def data(self, value: Pretended) -> None:
        torch.Tensor.data.__set__(self, value)
        self.inner = value.inner

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(as_indices(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(as_indices(key), value)

    def tolist(self) -> Any:
        return self.inner.tolist()

    def new_tensor(self, data: Any, **given: Any) -> torch.Tensor:
        return torch.tensor(data, dtype=self.dtype, **given).to(self.device)

    def numpy(self, **given: Any) -> Any:
        raise TypeError(f"a tensor on {self.device} is no array; copy it to the CPU")

    def __array__(self, *given: Any) -> Any:
        return self.numpy()

    def __repr__(self) -> str:
        return f"{self.device} {self.inner}"


def as_indices(key: Any) -> Any:
    """Lists in an index as tensors on the CPU."""
    if isinstance(key, tuple):
        return tuple(map(as_indices, key))
    return torch.tensor(key, dtype=None if key else torch.long) if isinstance(key, list) else key


def dispatched(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an operation gives; raises RuntimeError if it mixes devices."""
    name = function.overloadpacket.__name__
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    first = next((each.device for each in tensors if isinstance(each, Pretended)), torch.device(NAME, 0))
    checked = [each for each in tensors if each.dim()]
    if name in INDEXED:
        checked = [each for each in (*args[:1], *args[2:3]) if isinstance(each, torch.Tensor) and each.dim()]
        checked += [each for each in tree_leaves(args[1]) if isinstance(each, Pretended)]
    if name not in COPIES and len({each.device for each in checked}) > 1:
        places = ", ".join(sorted({str(each.device) for each in checked}))
        raise RuntimeError(f"{function}: all tensors must be on the same device, and not on {places}")
    target = torch.device(kwargs["device"]) if kwargs.get("device") is not None else first
    if target.type == NAME and "device" in kwargs:
        kwargs["device"] = torch.device("cpu")
    given = tree_map_only(Pretended, lambda each: each.inner, (args, kwargs))
    found = function(*given[0], **given[1])
    if function._schema.is_mutable:
        return (kwargs["out"] if "out" in kwargs else args[0]) if function._schema.returns else None
    if target.type != NAME:
        return found
    return tree_map_only(
        torch.Tensor, lambda each: each if isinstance(each, Pretended) else Pretended(each, target), found
    )


class Module(backend_registration._DummyBackendModule):
    """What torch asks of a device; random numbers are those of the CPU."""

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.uint8)

    def set_rng_state(self, state: torch.Tensor, device: Any = None) -> None:
        pass


class Moved(TorchFunctionMode):
    """Makes tensors of numbers on the CPU and moves them: torch's own steps know no subclass."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        there = function in (torch.tensor, torch.as_tensor) and torch.device(given.get("device") or "cpu")
        if there and there.type == NAME:
            return function(*args, **given | {"device": "cpu"}).to(there)
        return function(*args, **given)


class Generator:
    """Makes the generators of the CPU, also for the device."""

    MADE = torch.Generator

    def __new__(cls, device: Any = "cpu") -> Any:
        return cls.MADE("cpu" if torch.device(device).type == NAME else device)


@cache
def _registered() -> list[torch.library.Library]:
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=Module())
    every, some = (torch.library.Library(name, "IMPL") for name in ("_", "aten"))
    every.fallback(lambda function, *args, **kwargs: dispatched(function, args, kwargs), "PrivateUse1")
    for name in ("", ".start", ".start_step"):
        # Of an empty tensor, which torch would resize.
        function = getattr(torch.ops.aten.arange, name.removeprefix(".") or "default")
        some.impl(f"arange{name}", partial(_made, function), "PrivateUse1")
    return [every, some]


def _made(function: Any, *args: Any, **kwargs: Any) -> Any:
    return dispatched(function, args, kwargs)


@contextlib.contextmanager
def device() -> Iterator[torch.device]:
    """The device, which can be used within the `with` block."""

    _registered()
    with pytest.MonkeyPatch.context() as patch, Moved():
        patch.setattr(torch, "Generator", Generator)
        yield torch.device(NAME, 0)


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin, `PYTHONPATH=tests pytest -p support.pretended`: models that are loaded are on the device.

    Tests then fail that save a model, or that look for the name of the CPU.
    """
    from factdrift.models import loading

    place = config.stash.setdefault(_HELD, contextlib.ExitStack()).enter_context(device())
    plain = loading.devices_and_type

    def devices_and_type(given: str, dtype: str) -> tuple[list[torch.device], torch.dtype]:
        places, kind = plain(given, dtype)
        return ([place] if places[0].type == "cpu" else places), kind

    loading.devices_and_type = devices_and_type

"""Hooks on the input or output of modules, removed at the end of a `with` block.

Modules return a tensor in some families and a tuple in others (GPT-J), and take their input by position or by
keyword. Functions given here always see the tensor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

After = Callable[[Tensor, Tensor], Tensor | None]
"""(input, output) of a module -> the new output, or None to keep the output."""
Before = Callable[[Tensor], Tensor | None]
"""Input of a module -> the new input, or None to keep the input."""

NAME = "hidden_states"
"""The keyword by which modules of transformers take their input if not by position."""


@contextlib.contextmanager
def hooked(model: nn.Module, functions: Mapping[str, After]) -> Iterator[None]:
    """Calls `functions[name]` after each forward pass of that module; removed also after an exception."""
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            module = model.get_submodule(name)
            handle = module.register_forward_hook(_after(function), with_kwargs=True)
            stack.callback(handle.remove)
        yield


@contextlib.contextmanager
def hooked_before(model: nn.Module, functions: Mapping[str, Before]) -> Iterator[None]:
    """Calls `functions[name]` before each forward pass of that module; removed also after an exception."""
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            module = model.get_submodule(name)
            handle = module.register_forward_pre_hook(_before(function), with_kwargs=True)
            stack.callback(handle.remove)
        yield


class Stopped(Exception):
    """Ends a forward pass early; raised by the hook of `stopping`."""


@contextlib.contextmanager
def stopping(model: nn.Module, name: str) -> Iterator[None]:
    """Ends the forward pass inside the `with` block as soon as module `name` has run; it returns nothing.

    Hooks that were set on that module before still run. The forward pass must be the last statement of the
    block.
    """

    def stop(taken: Tensor, given: Tensor) -> None:
        raise Stopped

    with contextlib.suppress(Stopped), hooked(model, {name: stop}):
        yield


def _after(function: After) -> Callable[..., Any]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        given = output[0] if isinstance(output, tuple) else output
        changed = function(args[0] if args else kwargs[NAME], given)
        if changed is None:
            return None
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    return hook


def _before(function: Before) -> Callable[..., Any]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        changed = function(args[0] if args else kwargs[NAME])
        if changed is None:
            return None
        return ((changed, *args[1:]), kwargs) if args else (args, {**kwargs, NAME: changed})

    return hook

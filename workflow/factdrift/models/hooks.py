"""Hooks on the input or output of modules, removed at the end of a `with` block.

Modules return a tensor in some families and a tuple in others (GPT-J), and take their input by position or by
keyword. Mixtures of experts, and the blocks of OPT, put the tokens of all rows into one dimension. Functions
given here always see a tensor, with rows and tokens apart, on the device of the model's first parameter, also
where the model is spread over several devices.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.activations import NewGELUActivation

After = Callable[[Tensor, Tensor], Tensor | None]
"""(input, output) of a module -> the new output, or None to keep the output."""
Before = Callable[[Tensor], Tensor | None]
"""Input of a module -> the new input, or None to keep the input."""

NAME = "hidden_states"
"""The keyword by which modules of transformers take their input if not by position."""
ROTATION = "apply_rotary_pos_emb"
"""The function by which modules of transformers turn queries and keys."""


@contextlib.contextmanager
def hooked(model: nn.Module, functions: Mapping[str, After]) -> Iterator[None]:
    """Calls `functions[name]` after each forward pass of that module; removed also after an exception."""
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            hook = _after(function, _rows_of(model, name, stack), next(model.parameters()).device)
            stack.callback(model.get_submodule(name).register_forward_hook(hook, with_kwargs=True).remove)
        yield


@contextlib.contextmanager
def hooked_before(model: nn.Module, functions: Mapping[str, Before]) -> Iterator[None]:
    """Calls `functions[name]` before each forward pass of that module; removed also after an exception."""
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            hook = _before(function, _rows_of(model, name, stack), next(model.parameters()).device)
            stack.callback(model.get_submodule(name).register_forward_pre_hook(hook, with_kwargs=True).remove)
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


@contextlib.contextmanager
def lean(model: nn.Module, length: int) -> Iterator[None]:
    """Lets the model compute the same, up to rounding, with less work on rows of at most `length` tokens.

    GPT-J copies its table of rotary embeddings for every row, so only the positions in use stay in it; and
    its turns, seven operations, become one product of complex numbers. GELU by tanh, eight operations in the
    module of GPT-2 and GPT-J, becomes one. In half precision on a CPU the slopes of torch's fused attention
    take ten times as long as those of plain products, which take its place.
    """
    with contextlib.ExitStack() as stack:
        weight = next(model.parameters())
        half = weight.dtype in (torch.bfloat16, torch.float16)
        if weight.device.type == "cpu" and half:
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        for module in model.modules():
            table = dict(module.named_buffers(recurse=False)).get("embed_positions")
            if table is not None:
                stack.callback(setattr, module, "embed_positions", table)
                module.embed_positions = table[:length]
                if not half:
                    code = sys.modules[type(module).__module__]
                    stack.callback(setattr, code, ROTATION, getattr(code, ROTATION))
                    setattr(code, ROTATION, _rotated)
            if type(module) is NewGELUActivation and "forward" not in vars(module):
                stack.callback(delattr, module, "forward")
                module.forward = partial(nn.functional.gelu, approximate="tanh")  # type: ignore[method-assign]
        yield


def _rotated(tensor: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
    """`tensor` [rows, tokens, heads, width], each pair of numbers turned by an angle, as GPT-J does it."""
    pairs = torch.view_as_complex(tensor.reshape(*tensor.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.complex(cos, sin)[:, :, None]).flatten(-2)


Apart = Callable[[Tensor], Tensor]


def _rows_of(model: nn.Module, name: str, stack: contextlib.ExitStack) -> Apart:
    """Gives [rows x tokens, width] of a module as [rows, tokens, width]; other tensors as they are.

    The numbers of rows and tokens are those of what enters the block that the module is in.
    """
    path = name.split(".")
    block = max((index for index, part in enumerate(path) if part.isdigit()), default=len(path))
    if block >= len(path) - 1:
        return lambda value: value
    shape: list[int] = []

    def note(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        shape[:] = (args[0] if args else kwargs[NAME]).shape[:-1]

    whole = model.get_submodule(".".join(path[: block + 1]))
    stack.callback(whole.register_forward_pre_hook(note, with_kwargs=True).remove)
    return lambda value: value.reshape(*shape, -1) if value.ndim == 2 else value


def _after(function: After, rows: Apart, home: torch.device) -> Callable[..., Any]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        given = output[0] if isinstance(output, tuple) else output
        taken = rows(args[0] if args else kwargs[NAME])
        apart = rows(given)
        if (changed := function(taken.to(home), apart.to(home))) is None:
            return None
        changed = changed.to(given.device)
        changed = changed.reshape(given.shape) if apart is not given else changed
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    return hook


def _before(function: Before, rows: Apart, home: torch.device) -> Callable[..., Any]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        taken = args[0] if args else kwargs[NAME]
        if (changed := function(rows(taken).to(home))) is None:
            return None
        changed = changed.to(taken.device)
        changed = changed.reshape(taken.shape) if rows(taken) is not taken else changed
        return ((changed, *args[1:]), kwargs) if args else (args, {**kwargs, NAME: changed})

    return hook

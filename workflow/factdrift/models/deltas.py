"""Changes of weights for many edits at a time, kept outside of the model.

The weights of the model never change. A hook on each edited module adds, to each row of a batch, the output
of that row's own edit. So no edit has to be undone, and no change is rounded to the type of the weights.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from factdrift.core.errors import CannotEdit
from factdrift.models.codebooks import Codebook, replacing
from factdrift.models.families import shape_of, transposed
from factdrift.models.hooks import After, hooked
from factdrift.models.memories import Memories, routing


@dataclass
class LowRank:
    """Changes of one matrix by E edits: that of edit e is `write[e] @ read[e].T`, [out, in]."""

    read: Tensor
    """[E, d_in, rank]"""
    write: Tensor
    """[E, d_out, rank]"""

    def dense(self, edit: int) -> tuple[Tensor, None]:
        return self.write[edit] @ self.read[edit].T, None

    def __len__(self) -> int:
        return len(self.read)


@dataclass
class Dense:
    """Changes of one matrix, and of its bias, by E edits."""

    weight: Tensor
    """[E, d_out, d_in], also for modules that keep their weight as [d_in, d_out]"""
    bias: Tensor | None = None
    """[E, d_out]"""

    def dense(self, edit: int) -> tuple[Tensor, Tensor | None]:
        return self.weight[edit], None if self.bias is None else self.bias[edit]

    def __len__(self) -> int:
        return len(self.weight)


Deltas = dict[str, LowRank | Dense]
"""The full name of a module -> the changes of its weight."""
Change = LowRank | Dense | Codebook | Memories
Changes = Mapping[str, Change]
"""The full name of a module -> the changes of its weight, or what it puts out instead."""


def look_at_prompts(changes: Changes) -> bool:
    """Whether what a row is changed by depends on its prompt, and so on where that ends."""
    return any(isinstance(change, Codebook | Memories) for change in changes.values())


@contextlib.contextmanager
def applied(
    model: nn.Module,
    changes: Changes,
    owner: Tensor | int,
    ends: Tensor | None = None,
    starts: Tensor | None = None,
) -> Iterator[None]:
    """Runs `model` with the change of edit `owner[row]` in each row of a batch, or of one edit in all rows.

    `owner` is [rows], with -1 for rows without an edit, whose output is bitwise that of the model as loaded.
    Outputs are added in the type of the deltas, and are differentiable with respect to them. Codebooks and
    side memories need `ends` [rows], the index of the last token of each row's prompt, and serve one batch
    (`replacing`, `routing`). `starts` [rows]: that of its first token; 0 if they are not given. Raises
    ValueError if a batch does not have `len(owner)` rows.
    """

    def after(change: Change) -> After:
        if isinstance(change, LowRank | Dense):
            return _adding(change, owner)
        if ends is None:
            raise ValueError("a codebook is applied without the ends of the prompts")
        if isinstance(change, Codebook):
            return replacing(change, owner, ends)
        return routing(change, owner, torch.zeros_like(ends) if starts is None else starts, ends)

    with hooked(model, {name: after(change) for name, change in changes.items()}):
        yield


def _adding(delta: LowRank | Dense, owner: Tensor | int) -> After:
    change = _of_all(delta, owner) if isinstance(owner, int) else _of_each(delta, owner)
    kind = delta.read.dtype if isinstance(delta, LowRank) else delta.weight.dtype

    def add(taken: Tensor, given: Tensor) -> Tensor:
        if isinstance(owner, Tensor) and len(taken) != len(owner):
            raise ValueError(f"a batch of {len(taken)} rows, of which {len(owner)} have an owner")
        return (given.to(kind) + change(taken.to(kind))).to(given.dtype)

    return add


def _of_all(delta: LowRank | Dense, edit: int) -> Callable[[Tensor], Tensor]:
    """Input [rows, tokens, d_in] -> what one edit adds to the output of all rows, [rows, tokens, d_out]."""
    if isinstance(delta, LowRank):
        return lambda taken: taken @ delta.read[edit] @ delta.write[edit].T
    weight, bias = delta.dense(edit)
    return lambda taken: nn.functional.linear(taken, weight, bias)


def _of_each(delta: LowRank | Dense, owner: Tensor) -> Callable[[Tensor], Tensor]:
    """Input [rows, tokens, d_in] -> what edit `owner[row]` adds to the output of each row."""
    if isinstance(delta, LowRank):
        # Index -1 selects the appended zero.
        read, write = (_with_none(factor)[owner] for factor in (delta.read, delta.write))

        def product(taken: Tensor) -> Tensor:
            # Some attention puts an axis of length one between rows and tokens.
            rows: Tensor = taken.flatten(1, -2) @ read @ write.transpose(1, 2)
            return rows.view(*taken.shape[:-1], rows.shape[2])

        return product
    rows_of = [(edit, (owner == edit).nonzero()[:, 0]) for edit in sorted({*owner.tolist()} - {-1})]

    def change(taken: Tensor) -> Tensor:
        # Edit by edit: one tensor for all rows would hold a copy of the matrix for each row.
        out = taken.new_zeros(*taken.shape[:-1], delta.weight.shape[1])
        for edit, rows in rows_of:
            out = out.index_add(0, rows, nn.functional.linear(taken[rows], *delta.dense(edit)))
        return out

    return change


def _with_none(factor: Tensor) -> Tensor:
    return torch.cat([factor, factor.new_zeros(1, *factor.shape[1:])])


@contextlib.contextmanager
def written(model: nn.Module, deltas: Deltas, edit: int) -> Iterator[None]:
    """Runs `model` with one edit written into its weights, which are then restored from a copy.

    Raises CannotEdit if a weight is quantized.
    """
    with contextlib.ExitStack() as stack, torch.no_grad():
        for name, delta in deltas.items():
            matrix(model, name)
            module = model.get_submodule(name)
            for parameter, change in zip(_parameters(module), delta.dense(edit), strict=True):
                if change is None:
                    continue
                if parameter is None:
                    raise ValueError(f"{name} has no bias to change")
                stack.callback(parameter.copy_, parameter.clone())
                change = _oriented(module, change).to(parameter.device)
                parameter.copy_(parameter.to(change.dtype) + change)
        with torch.enable_grad():
            yield


def rounded(model: nn.Module, deltas: Deltas) -> Deltas:
    """What remains of the deltas after weight + delta has been rounded to the type of the weights.

    That is what programs evaluate that write edits into half-precision weights. The result is dense:
    E x d_out x d_in numbers for each matrix.
    """
    out: Deltas = {}
    for name, delta in deltas.items():
        module = model.get_submodule(name)
        weight, bias = delta.dense(0)
        like = bias if _parameters(module)[1] is not None else None
        kept = Dense(
            weight.new_empty(len(delta), *weight.shape),
            None if like is None else like.new_empty(len(delta), *like.shape),
        )
        for edit in range(len(delta)):
            for parameter, change, place in zip(
                _parameters(module), delta.dense(edit), (kept.weight, kept.bias), strict=True
            ):
                if parameter is not None and change is not None and place is not None:
                    before = _oriented(module, parameter.detach()).to(change.device, change.dtype)
                    torch.sub((before + change).to(parameter.dtype).to(change.dtype), before, out=place[edit])
        out[name] = kept
    return out


def matrix(model: nn.Module, name: str) -> Tensor:
    """A view of a module's weight as [d_out, d_in]; `name` is the module's full name.

    Raises CannotEdit if the weight is quantized.
    """
    module = model.get_submodule(name)
    weight = _parameters(module)[0]
    if weight is None:
        raise ValueError(f"{name} has no weight")
    whole = tuple(_oriented(module, weight).shape) == shape_of(module)
    if not (whole and weight.is_floating_point() and weight.dtype.itemsize > 1):
        raise CannotEdit(
            f"methods: the weight of {name} is quantized, so it is no matrix that can be changed"
        )
    return _oriented(module, weight.detach())


def _parameters(module: nn.Module) -> tuple[nn.Parameter | None, nn.Parameter | None]:
    found = dict(module.named_parameters(recurse=False))
    return found.get("weight"), found.get("bias")


def _oriented(module: nn.Module, value: Tensor) -> Tensor:
    """Converts a weight between [d_out, d_in] and the module's own orientation; a bias is unchanged."""
    return value.T if transposed(module) and value.ndim == 2 else value

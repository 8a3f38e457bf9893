"""Changes of weights, and codebooks, of many edits at a time, kept outside of the model. Imports torch.

The weights of the model never change. A hook on each edited module adds, to each row of a batch, the output
of that row's own edit. So no edit has to be undone, and no change is rounded to the type of the weights.

A codebook is what a module puts out in place of its own output, if the input is near to a key: a hook looks
at the input of the module at the last token of each row's prompt, finds the nearest key of that row's own
edit, and puts that key's value in place of the output if the key is near enough.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from factdrift.core.errors import CannotEdit
from factdrift.models.families import shape_of, transposed
from factdrift.models.hooks import After, hooked
from factdrift.models.memories import Memories, routing

Output = Callable[[Tensor], Tensor]
"""Input of a module [rows, tokens, d_in] -> what one edit adds to the output of all rows, or each row's own
edit to that of the row, [rows, tokens, d_out]."""


@dataclass
class LowRank:
    """Changes of one matrix by E edits: that of edit e is `write[e] @ read[e].T`, [out, in]."""

    read: Tensor
    """[E, d_in, rank]"""
    write: Tensor
    """[E, d_out, rank]"""

    def dense(self, edit: int) -> tuple[Tensor, None]:
        return self.write[edit] @ self.read[edit].T, None

    def output(self, owner: Tensor | int) -> Output:
        if isinstance(owner, int):
            return lambda taken: taken @ self.read[owner] @ self.write[owner].T
        # Index -1 selects the appended zero.
        factors = self.read, self.write
        read, write = (torch.cat([each, each.new_zeros(1, *each.shape[1:])])[owner] for each in factors)

        def product(taken: Tensor) -> Tensor:
            # Some attention puts an axis of length one between rows and tokens.
            rows: Tensor = taken.flatten(1, -2) @ read @ write.transpose(1, 2)
            return rows.view(*taken.shape[:-1], rows.shape[2])

        return product

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

    def output(self, owner: Tensor | int) -> Output:
        if isinstance(owner, int):
            return lambda taken: nn.functional.linear(taken, *self.dense(owner))
        rows_of = [(edit, (owner == edit).nonzero()[:, 0]) for edit in sorted({*owner.tolist()} - {-1})]

        def change(taken: Tensor) -> Tensor:
            # Edit by edit: one tensor for all rows would hold a copy of the matrix for each row.
            out = taken.new_zeros(*taken.shape[:-1], self.weight.shape[1])
            for edit, rows in rows_of:
                out = out.index_add(0, rows, nn.functional.linear(taken[rows], *self.dense(edit)))
            return out

        return change

    def __len__(self) -> int:
        return len(self.weight)


Tokens = Literal["last", "prompt", "all"]
"""The tokens whose outputs are replaced: the prompt's last one, those before it, or all."""

NEVER = -1.0
"""The radius of an entry that is never taken."""


@dataclass
class Codebook:
    """Entries of E edits for one module; those of different edits are never mixed."""

    keys: Tensor
    """[E, entries, d_in]"""
    values: Tensor
    """[E, entries, d_out]"""
    radii: Tensor
    """[E, entries]: the greatest distance from a key at which its value is taken, or NEVER."""
    tokens: Tokens

    def __len__(self) -> int:
        return len(self.keys)


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
    change = delta.output(owner)
    kind = delta.read.dtype if isinstance(delta, LowRank) else delta.weight.dtype

    def add(taken: Tensor, given: Tensor) -> Tensor:
        if isinstance(owner, Tensor) and len(taken) != len(owner):
            raise ValueError(f"a batch of {len(taken)} rows, of which {len(owner)} have an owner")
        return (given.to(kind) + change(taken.to(kind))).to(given.dtype)

    return add


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
            for parameter, change, index in zip(
                _parameters(module), delta.dense(edit), (kept.weight, kept.bias), strict=True
            ):
                if parameter is not None and change is not None and index is not None:
                    before = _oriented(module, parameter.detach()).to(change.device, change.dtype)
                    torch.sub((before + change).to(parameter.dtype).to(change.dtype), before, out=index[edit])
        out[name] = kept
    return out


def matrix(model: nn.Module, name: str) -> Tensor:
    """A view of a module's weight as [d_out, d_in]; `name` is the module's full name.

    Raises CannotEdit if the weight is quantized.
    """
    module = model.get_submodule(name)
    if (weight := _parameters(module)[0]) is None:
        raise ValueError(f"{name} has no weight")
    whole = tuple(_oriented(module, weight).shape) == shape_of(module)
    if not (whole and weight.is_floating_point() and weight.dtype.itemsize > 1):
        raise CannotEdit(
            f"methods: the weight of {name} is quantized, so it is no matrix that can be changed"
        )
    return _oriented(module, weight.detach())


def _parameters(module: nn.Module) -> tuple[nn.Parameter | None, nn.Parameter | None]:
    parameters = dict(module.named_parameters(recurse=False))
    return parameters.get("weight"), parameters.get("bias")


def _oriented(module: nn.Module, value: Tensor) -> Tensor:
    """Converts a weight between [d_out, d_in] and the module's own orientation; a bias is unchanged."""
    return value.T if transposed(module) and value.ndim == 2 else value


def replacing(book: Codebook, owner: Tensor | int, ends: Tensor) -> After:
    """A hook for one batch and its continuations with a cache.

    `owner`: the edit of each row [rows], -1 for none, or that of all rows. `ends` [rows]: the index of the
    last token of each row's prompt. The first pass has to contain the prompts; those after it are taken to
    continue the rows, for which nothing is looked up anew. Raises ValueError if a batch does not have
    `len(ends)` rows.
    """
    taken_values: list[tuple[Tensor, Tensor]] = []

    def replace(taken: Tensor, given: Tensor) -> Tensor:
        if len(taken) != len(ends):
            raise ValueError(f"a batch of {len(taken)} rows, of which {len(ends)} have the end of a prompt")
        begun = not taken_values
        if begun:
            taken_values.append(looked_up(book, owner, taken[torch.arange(len(ends)), ends]))
        values, near = taken_values[0]
        at = tokens_of(book.tokens, ends, given.shape[1])
        if not begun:
            at = torch.full_like(at, book.tokens == "all")
        return put(values, at & near[:, None], given)

    return replace


def looked_up(book: Codebook, owner: Tensor | int, queries: Tensor) -> tuple[Tensor, Tensor]:
    """The value of the key nearest to each query [rows, d_in], and whether it is near enough.

    Returns [rows, d_out] and [rows]; of equally near keys the first counts. Entries with the radius NEVER
    fill codebooks of unequal length, and are not compared.
    """
    values = book.values.new_zeros(len(queries), book.values.shape[2])
    near = torch.zeros(len(queries), dtype=torch.bool, device=queries.device)
    owners = torch.full_like(near, owner, dtype=torch.long) if isinstance(owner, int) else owner
    for edit in sorted({*owners.tolist()} - {-1}):
        rows = (owners == edit).nonzero()[:, 0]
        gaps = distances(queries[rows], book.keys[edit]).masked_fill(book.radii[edit] == NEVER, torch.inf)
        least, index = gaps.min(1)
        values[rows], near[rows] = book.values[edit, index], least <= book.radii[edit, index]
    return values, near


def distances(queries: Tensor, keys: Tensor) -> Tensor:
    """Euclidean distances [rows, entries] in the type of the keys, without the rounding of a product."""
    return torch.cdist(queries.to(keys.dtype), keys, compute_mode="donot_use_mm_for_euclid_dist")


def tokens_of(which: Tokens, ends: Tensor, count: int) -> Tensor:
    """[rows, count]: the tokens that `which` means, for prompts whose last token has the index `ends`."""
    indices = torch.arange(count, device=ends.device)
    if which == "all":
        return torch.ones(len(ends), count, dtype=torch.bool, device=ends.device)
    return indices == ends[:, None] if which == "last" else indices < ends[:, None]


def put(values: Tensor, at: Tensor, given: Tensor) -> Tensor:
    """`given` [rows, tokens, d_out] with the value of the row, [rows, d_out], at the tokens `at`."""
    return torch.where(at[:, :, None], values[:, None].to(given.dtype), given)

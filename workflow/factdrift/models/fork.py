"""Runs only the last tokens of a batch through the last blocks, as often as something changes there.

A change at one token of one block has no effect before that token or below that block. So a batch runs once
in full, and what blocks take in is kept, with the attention keys and values. A `Fork` then runs all rows from
one block on, as often as an optimisation needs. `Branches` of a `Whole` are any number of continuations of
each row; each joins at its own block, so that a sweep over all blocks is one pass in which the batch grows.

Some blocks mix tokens by a recurrent state, such as gated delta rules. Their state before a token cannot be
cut from that of the whole text, as keys and values can. So what enters the mixing of such a block is kept,
and each run repeats the mixing, and nothing else of the block, on all tokens. Imports torch.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from factdrift.models.hooks import stopping
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded

ROTARY = "position_embeddings"
"""The block argument with the cosines and sines of rotary embeddings, [1 or rows, tokens, ...] each, or with
both in one complex tensor."""
MASK = "attention_mask"
"""The block argument that says what each token attends to: [1 or rows, 1, tokens, tokens], or None."""

Joining = Callable[[int, slice, Tensor], Tensor]
"""(block, its new branches, what they take in [branches, tokens, hidden]) -> what they take in instead. The
block's number is that of all blocks for branches that join behind the last one."""
Running = Callable[[int, int], contextlib.AbstractContextManager[Any]]
"""(block, number of branches that run through it) -> a context in which the block runs, such as hooks."""


class Fork:
    """A batch of sentences that can be run from block `layer` on and from token `starts[row]` on.

    Hooks that are set during construction see the full batch. Hooks that are set during `run` see only the
    tokens from the start on, at the positions of a `Tail`.
    """

    def __init__(self, loaded: Loaded, rows: Sequence[Sequence[int]], starts: Sequence[int], layer: int):
        model, spec, device = loaded.model, loaded.spec, loaded.device
        self.norm: nn.Module = model.get_submodule(spec.final_norm)
        self.blocks = [model.get_submodule(spec.module(number, "")) for number in range(layer, spec.layers)]
        # Of the last block the keys and values are wanted, and hooks are below it where others are run.
        end = spec.mixing(spec.layers - 1) if len(self.blocks) > 1 else None
        calls, self.mixed, cached = run_whole(loaded, rows, self.blocks or [self.norm], end)
        whole = calls[0].input.to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        self.tail = Tail(lengths, torch.tensor(starts, device=device), whole.dtype)
        self.hidden = whole.gather(1, self.tail.places[:, :, None].expand(-1, -1, whole.shape[2]))
        """[rows, tokens from the start on, hidden]: the input of the block."""
        self.past: list[Past | None] = []
        before = self.tail.before
        for number, cache in enumerate(cached):
            keyed = number not in spec.recurrent
            if layer <= number < spec.layers:
                self.past.append(
                    Past(cache.keys[:, :, :before].clone(), cache.values[:, :, :before].clone())
                    if keyed
                    else None
                )
            if keyed:
                cache.keys = cache.values = None  # frees the rest of the cache
        self.calls = [call.at(self.tail) for call in calls] if self.blocks else []

    def run(self, hidden: Tensor) -> Tensor:
        """The output of the final normalisation for the block input `hidden`, both [rows, tokens, hidden]."""
        for block, past, call in zip(self.blocks, self.past, self.calls, strict=True):
            hidden = run_block(block, hidden, call, self.tail, past, self.mixed.get(block))
        final: Tensor = self.norm(hidden)
        return final.to(self.tail.places.device)

    def keep(self, rows: Tensor) -> None:
        """Drops all other rows."""
        tail = self.tail
        tail.places, tail.start, self.hidden = tail.places[rows], tail.start[rows], self.hidden[rows]
        self.past = [past and past.of(rows) for past in self.past]
        for mixed in self.mixed.values():
            mixed.input = mixed.input[rows.to(mixed.input.device)]
        masks: dict[int, Tensor] = {}
        for call in self.calls:
            if MASK in call:
                call[MASK] = masks.setdefault(id(call[MASK]), call[MASK][rows])
            if ROTARY in call:
                call[ROTARY] = of_tables(call[ROTARY], lambda table: table[rows])


class Whole:
    """A batch that has been run in full, without gradients.

    Hooks that are set during construction act on it.
    """

    def __init__(self, loaded: Loaded, rows: Sequence[Sequence[int]]):
        model, spec = loaded.model, loaded.spec
        self.loaded = loaded
        self.norm = model.get_submodule(spec.final_norm)
        self.blocks = [model.get_submodule(spec.module(number, "")) for number in range(spec.layers)]
        self.lengths = torch.tensor([len(row) for row in rows], device=loaded.device)
        self.calls, self.mixed, cached = run_whole(loaded, rows, [*self.blocks, self.norm])
        self.inputs: list[Tensor] = [call.input for call in self.calls]
        """[rows, tokens, hidden]: the input of each block, then that of the final normalisation."""
        self.past = [
            None if number in spec.recurrent else Past(cache.keys, cache.values)
            for number, cache in enumerate(cached[: spec.layers])
        ]

    def last(self) -> Tensor:
        """[rows, hidden]: the input of the final normalisation at the last token."""
        each = torch.arange(len(self.lengths), device=self.lengths.device)
        return self.inputs[-1][each, self.lengths - 1]

    def logits(self, hidden: Tensor) -> Tensor:
        """[rows, vocabulary] from inputs of the final normalisation [rows, hidden]; float32 or float64."""
        return unembedded(self.loaded, self.norm(hidden))


class Branches:
    """Continuations of the rows of a Whole: branch b repeats `row[b]` from token `start[b]` on.

    It joins at block `enter[b]` with what the row had there; the branches must be sorted by `enter`. Indices
    of tokens are those of a `Tail`.
    """

    def __init__(self, whole: Whole, row: Tensor, start: Tensor, enter: Tensor):
        self.whole = whole
        lengths = whole.lengths[row]
        self.last = lengths - 1 - start
        """[branches]: the index of each one's last token."""
        self.tail = Tail(lengths, start, whole.inputs[0].dtype, row)
        numbers = torch.arange(len(whole.blocks) + 1, device=enter.device)
        self.counts: list[int] = torch.searchsorted(enter, numbers, right=True).tolist()
        """For each block, and for the end, the number of branches that have joined."""

    def run(self, joining: Joining | None = None, running: Running | None = None) -> Tensor:
        """[branches, hidden]: the input of the final normalisation at each branch's last token."""
        whole, tail = self.whole, self.tail
        assert tail.row is not None
        hidden = whole.inputs[0].new_empty(0, tail.places.shape[1], whole.inputs[0].shape[2])
        joined = 0
        for number, count in enumerate(self.counts):
            if count > joined:
                new = slice(joined, count)
                fresh = whole.inputs[number][tail.row[new, None], tail.places[new]]
                if joining is not None:
                    fresh = joining(number, new, fresh)
                hidden = torch.cat([hidden, fresh])
                joined = count
            if not joined or number == len(whole.blocks):
                continue
            if (past := whole.past[number]) is not None:
                row, before = tail.row[:count], tail.before
                past = Past(past.keys[row, :, :before], past.values[row, :, :before])
            block = whole.blocks[number]
            others = whole.calls[number].at(tail, count)
            with running(number, count) if running is not None else contextlib.nullcontext():
                hidden = run_block(block, hidden, others, tail, past, whole.mixed.get(block))
        return hidden[torch.arange(len(hidden), device=hidden.device), self.last]


def run_whole(
    loaded: Loaded, rows: Sequence[Sequence[int]], modules: Sequence[nn.Module], end: str | None = None
) -> tuple[list[Call], dict[nn.Module, Call], list[Any]]:
    """Runs a batch in full, or as far as the module `end`, without gradients.

    Returns the calls of `modules`; of recurrent blocks among them the calls of the modules that mix their
    tokens, by block; and the cache of each block of the model.
    """
    spec, submodule = loaded.spec, loaded.model.get_submodule
    cache = DynamicCache(config=loaded.model.config) if spec.recurrent else DynamicCache()
    # Keys and values of all tokens, also of blocks with a sliding window.
    cache.layers = [
        kept if number in spec.recurrent else DynamicLayer()  # type: ignore[no-untyped-call]
        for number, kept in enumerate(cache.layers)
    ]
    calls = [Call(module) for module in modules]
    mixed: dict[nn.Module, Call] = {}
    for layer in sorted(spec.recurrent):
        block = submodule(spec.module(layer, ""))
        if block in modules:
            mixed[block] = Call(submodule(spec.mixing(layer)))
    with contextlib.ExitStack() as stack, torch.no_grad():
        for call in (*calls, *mixed.values()):
            stack.callback(call.module.register_forward_pre_hook(call, with_kwargs=True).remove)
        if end is not None:
            stack.enter_context(stopping(loaded.model, end))
        backbone(loaded)(padded(rows, loaded.device), past_key_values=cache, use_cache=True)
    return calls, mixed, list(cache.layers)


def run_block(
    block: nn.Module,
    hidden: Tensor,
    others: Mapping[str, Any],
    tail: Tail,
    past: Past | None,
    mixing: Call | None,
) -> Tensor:
    """The output of a block for `hidden`, the input of the first rows of `tail`.

    `others`: its further arguments in a full run. `mixing`: the call of the module that mixes its tokens, if
    it is recurrent.
    """
    positions = tail.places[: len(hidden)]
    own = {"position_ids": positions, "past_key_values": past, "layer_past": past}
    with _mixing_all(mixing, tail) if mixing is not None else contextlib.nullcontext():
        out = block(hidden, **{name: own.get(name, value) for name, value in others.items()})
    given: Tensor = out[0] if isinstance(out, tuple) else out
    return given


@contextlib.contextmanager
def _mixing_all(call: Call, tail: Tail) -> Iterator[None]:
    """Lets a mixing module run on all tokens where it is called with those of the first rows of `tail`."""
    module = call.module
    forward, own = module.forward, vars(module).get("forward")

    def whole(hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        # Padding behind a row changes nothing before it, so there is no mask; and no state is kept.
        kwargs |= dict.fromkeys({"attention_mask", "cache_params", "past_key_values"} & kwargs.keys())
        count, width, device = len(hidden_states), hidden_states.shape[1], hidden_states.device
        taken = call.input if tail.row is None else call.input[tail.row[:count].to(call.input.device)]
        start = tail.start[:count, None].to(device)
        where = torch.arange(taken.shape[1], device=device).expand(count, -1)
        inside = (where - start).clamp(0, width - 1)
        behind = hidden_states.gather(1, inside[:, :, None].expand(-1, -1, hidden_states.shape[2]))
        out = forward(torch.where((where < start)[:, :, None], taken, behind), *args, **kwargs)
        given = out[0] if isinstance(out, tuple) else out
        positions = tail.places[:count].to(given.device)
        last = given.gather(1, positions[:, :, None].expand(-1, -1, given.shape[2]))
        return (last, *out[1:]) if isinstance(out, tuple) else last

    module.forward = whole
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            # accelerate has put its own in the place of the class's.
            module.forward = own


class Call:
    """A pre-forward hook that records the input and the other arguments of a module."""

    def __init__(self, module: nn.Module):
        self.module = module

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        values = {**bound, **bound.pop("kwargs", {})}
        self.input: Tensor = values.pop(next(iter(values)))
        self.values: dict[str, Any] = values

    def at(self, tail: Tail, count: int | None = None) -> dict[str, Any]:
        """The other arguments, with rotary embeddings and the mask of the first `count` rows of `tail`."""
        values, positions = dict(self.values), tail.places[:count]
        if MASK in values:
            mask = tail.mask(values[MASK])
            values[MASK] = mask if count is None else mask[:count]  # blocks share one and the same
        if ROTARY in values:
            # Positions begin at 0 in every row, so the tables of one row serve all.
            values[ROTARY] = of_tables(values[ROTARY], lambda table: table[0].to(positions.device)[positions])
        return values


def of_tables(tables: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """`function` of each table of rotary embeddings, given as a tuple or as one tensor; None for None.

    Hybrids of recurrent blocks and attention, such as Granite 4, may have no positions at all.
    """
    if tables is None:
        return None
    return function(tables) if isinstance(tables, Tensor) else tuple(function(table) for table in tables)


class Tail:
    """The tokens of rows from `start[row]` on: token `start[row] + place` of a row is at index `place`.

    Indices after the end of a row repeat its last token.
    """

    def __init__(self, lengths: Tensor, start: Tensor, kind: torch.dtype, row: Tensor | None = None):
        """`kind`: of masks. `row`: the row of a batch that each row is; the batch's own rows by default."""
        self.start, self.row, self.before = start, row, int(start.max())
        width, device = int((lengths - start).max()), start.device
        self.places = torch.minimum(start[:, None] + torch.arange(width, device=device), lengths[:, None] - 1)
        """[rows, tokens from the start on]: the index of each in the whole row."""
        seen = torch.arange(self.before, device=device) < start[:, None]
        causal = torch.ones(width, width, dtype=torch.bool, device=device).tril()
        allowed = torch.cat([seen[:, None, :].expand(-1, width, -1), causal.expand(len(start), -1, -1)], 2)
        plain = torch.zeros(allowed.shape, dtype=kind, device=device)
        self._plain = plain.masked_fill(~allowed, torch.finfo(kind).min)[:, None]
        self._kept: dict[int, Tensor] = {}

    def mask(self, whole: Tensor | None) -> Tensor:
        """Additive attention mask [rows, 1, width, before + width]: 0 where attention is allowed.

        A token attends to all before it but for what `whole` forbids: sliding windows, and chunks that tokens
        do not look beyond. `whole` is the mask of a block in the full run, [1 or rows, 1, tokens, tokens or
        more], which the caller keeps. Blocks with the same mask share the result.
        """
        if whole is None or whole.ndim != 4:
            return self._plain
        if id(whole) not in self._kept:
            allowed = whole if whole.dtype == torch.bool else whole > torch.finfo(whole.dtype).min / 2
            positions = self.places
            allowed = allowed.to(positions.device)
            row = torch.arange(len(positions), device=positions.device) if self.row is None else self.row
            row = row if len(allowed) > 1 else torch.zeros_like(row)
            seen = allowed[row[:, None], 0, positions]  # [rows, tokens from the start on, all tokens]
            past = torch.arange(self.before, device=positions.device).expand(len(positions), -1)
            columns = torch.cat([past, positions], 1)[:, None].expand(-1, positions.shape[1], -1)
            forbidden = ~seen.gather(2, columns)[:, None]
            self._kept[id(whole)] = self._plain.masked_fill(forbidden, torch.finfo(self._plain.dtype).min)
        return self._kept[id(whole)]


class Past:
    """Stands in for a block's cache: attention keys and values of the tokens before the start."""

    def __init__(self, keys: Tensor, values: Tensor):
        self.before, self.keys, self.values = keys.shape[2], keys, values

    def of(self, rows: Tensor) -> Past:
        """The same for some rows only."""
        rows = rows.to(self.keys.device)
        return Past(self.keys[rows, :, : self.before], self.values[rows, :, : self.before])

    def update(self, keys: Tensor, values: Tensor, *more: Any, **others: Any) -> tuple[Tensor, Tensor]:
        """All keys and values. The next call with the same number of tokens overwrites them."""
        if self.keys.shape[2] != self.before + keys.shape[2]:
            pairs = (self.keys[:, :, : self.before], keys), (self.values[:, :, : self.before], values)
            self.keys, self.values = (torch.cat([past, new.detach()], 2) for past, new in pairs)
        return _behind(self.keys.detach(), keys), _behind(self.values.detach(), values)

    def get_seq_length(self, *of: Any) -> int:
        """The number of tokens before the start, of the row that has most of them.

        Llama 4 asks, to scale attention from the 8,192nd token on; no sentence of an edit is so long.
        """
        return self.before


class _Behind(torch.autograd.Function):
    """Writes new keys or values behind those of a past: a step copies what changes, and not the past too."""

    @staticmethod
    def forward(context: Any, whole: Tensor, new: Tensor) -> Tensor:
        context.width = new.shape[2]
        whole[:, :, -context.width :] = new
        context.mark_dirty(whole)
        return whole

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, gradient[:, :, -context.width :]


_behind: Callable[[Tensor, Tensor], Tensor] = _Behind.apply


def backbone(loaded: Loaded) -> Any:
    """The model without its language-model head."""
    model = loaded.model
    whole = getattr(model, model.base_model_prefix, None)
    # In Llama 4 the prefix is that of the model with images, which is not there.
    return whole if whole is not None else model.get_submodule(loaded.spec.final_norm.rpartition(".")[0])


def unembedded(loaded: Loaded, hidden: Tensor) -> Tensor:
    """Logits [..., vocabulary] from the output of the final normalisation, in float32 or float64."""
    logits: Tensor = loaded.model.get_submodule(loaded.spec.head)(hidden).to(hidden.device)
    logits = logits.float() if logits.dtype != torch.float64 else logits
    if loaded.spec.logit_factor != 1:
        logits = logits * loaded.spec.logit_factor
    bound = getattr(loaded.model.config.get_text_config(), "final_logit_softcapping", None)
    return logits if bound is None else torch.tanh(logits / bound) * bound

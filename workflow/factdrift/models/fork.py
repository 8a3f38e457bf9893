"""Runs only the last tokens of a batch through the last blocks, as often as an optimisation needs.

A change at one token of one block has no effect before that token or below that block. A Fork runs a batch
once in full and caches the input of the block from that token on, and the attention keys and values of the
earlier tokens. Each further run starts from there. Blocks that mix tokens by a recurrent state have no keys
and values: their mixing runs on all tokens each time (`recurring.py`), and only the rest of the block on the
last ones. Imports torch.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from factdrift.core.errors import Unsupported
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded
from factdrift.models.precise import in_float32
from factdrift.models.quantized import is_quantized
from factdrift.models.recurring import Recorded, empty_cache, mixers, rerun

ROTARY = "position_embeddings"
"""The block argument with the cosines and sines of rotary embeddings, [1 or rows, tokens, ...] each, or with
both in one complex tensor.
"""
MASK = "attention_mask"
"""The block argument that says what each token attends to: [1 or rows, 1, tokens, tokens], or None."""


class Fork:
    """A batch of sentences that can be run from block `layer` on and from token `starts[row]` on.

    Hooks that are set during construction see the full batch. Hooks that are set during `run` see only the
    tokens from the start on: token `starts[row] + place` of a sentence is at index `place`. Values after the
    end of a sentence are padding.
    """

    def __init__(self, loaded: Loaded, rows: Sequence[Sequence[int]], starts: Sequence[int], layer: int):
        model, spec = loaded.model, loaded.spec
        device = loaded.device
        self.norm: nn.Module = model.get_submodule(spec.final_norm)
        self.blocks = [model.get_submodule(spec.module(number, "")) for number in range(layer, spec.layers)]
        lengths = torch.tensor([len(row) for row in rows], device=device)
        start = torch.tensor(starts, device=device)
        before = max(starts)
        width = max(len(row) - begin for row, begin in zip(rows, starts, strict=True))
        calls, self.mixed, cached = run_whole(loaded, rows, [*self.blocks, self.norm])
        # Padding: indices after the end of a sentence repeat its last token.
        self.places = torch.minimum(start[:, None] + torch.arange(width, device=device), lengths[:, None] - 1)
        whole = calls[0].input.to(device)
        self.hidden = whole.gather(1, self.places[:, :, None].expand(-1, -1, whole.shape[2]))
        """[rows, tokens from the start on, hidden]: the input of the block."""
        self.start = start
        self.past: list[Past | None] = []
        for number, one in enumerate(cached):
            keyed = number not in spec.recurrent
            if layer <= number < spec.layers:
                self.past.append(
                    Past(one.keys[:, :, :before].clone(), one.values[:, :, :before].clone())
                    if keyed
                    else None
                )
            if keyed:
                one.keys = one.values = None  # frees the rest of the cache
        plain = block_mask(start, before, width, self.hidden.dtype)
        masks = Masks(plain, self.places, before)
        self.calls = [call.at(self.places, masks) for call in calls[:-1]]

    def run(self, hidden: Tensor) -> Tensor:
        """The output of the final normalisation for the block input `hidden`, both [rows, tokens, hidden]."""
        for block, past, call in zip(self.blocks, self.past, self.calls, strict=True):
            with rerun(self.mixed.get(block), self.start, self.places):
                hidden = run_block(block, hidden, call, self.places, past)
        final: Tensor = self.norm(hidden)
        return final.to(self.places.device)

    def keep(self, rows: Tensor) -> None:
        """Drops all other rows."""
        self.places, self.hidden, self.start = (
            value[rows] for value in (self.places, self.hidden, self.start)
        )
        self.past = [past and past.of(rows) for past in self.past]
        for mixed in self.mixed.values():
            mixed.keep(rows)
        masks: dict[int, Tensor] = {}
        for call in self.calls:
            if MASK in call:
                call[MASK] = masks.setdefault(id(call[MASK]), call[MASK][rows])
            if ROTARY in call:
                call[ROTARY] = of_tables(call[ROTARY], lambda table: table[rows])


def run_whole(
    loaded: Loaded, rows: Sequence[Sequence[int]], modules: Sequence[nn.Module]
) -> tuple[list[Call], dict[nn.Module, Recorded], list[Any]]:
    """Runs a batch in full, without gradients.

    Returns the calls of `modules`, what enters the mixing of recurrent blocks among them, by block, and the
    cache of each block of the model.
    """
    calls, cache = [Call() for _ in modules], empty_cache(loaded)
    mixed = {block: Recorded(module) for block, module in mixers(loaded).items() if block in modules}
    hooks: list[tuple[nn.Module, Any]] = list(zip(modules, calls, strict=True))
    hooks += [(each.module, each) for each in mixed.values()]
    with contextlib.ExitStack() as stack, torch.no_grad():
        for module, hook in hooks:
            stack.callback(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
        backbone(loaded)(padded(rows, loaded.device), past_key_values=cache, use_cache=True)
    return calls, mixed, list(cache.layers)


def run_block(
    block: nn.Module, hidden: Tensor, others: Mapping[str, Any], places: Tensor, past: Past | None
) -> Tensor:
    """The output of a block for `hidden` at `places` with `others`, its further arguments in a full run."""
    own = {"position_ids": places, "past_key_values": past, "layer_past": past}
    out = block(hidden, **{name: own.get(name, value) for name, value in others.items()})
    given: Tensor = out[0] if isinstance(out, tuple) else out
    return given


def unembedded(loaded: Loaded, hidden: Tensor) -> Tensor:
    """Logits [..., vocabulary] from the output of the final normalisation, in float32 or float64."""
    logits: Tensor = loaded.model.get_submodule(loaded.spec.head)(hidden).to(hidden.device)
    logits = logits.float() if logits.dtype != torch.float64 else logits
    if loaded.spec.logit_factor != 1:
        logits = logits * loaded.spec.logit_factor
    bound = getattr(loaded.model.config.get_text_config(), "final_logit_softcapping", None)
    return logits if bound is None else torch.tanh(logits / bound) * bound


PROBE = 8
"""Tokens of the text on which logits are compared."""
HEAD_ROUNDINGS, FORK_ROUNDINGS = 4, 16
"""The largest difference in float32 or float64 that counts as rounding, relative to the largest logit, in
units of the precision of the type: of the head alone, and of all blocks, there times the square root of their
number.
"""
QUANTIZED_ROUNDINGS = 4
"""As FORK_ROUNDINGS, of the root mean square and in units of bfloat16. In 8 bits all tokens of a batch decide
which columns are computed in half precision, so that results differ a little for fewer tokens.
"""

Logits = list[tuple[Tensor, Tensor]]
"""Logits that factdrift computes and the model's own: of the head alone, of all blocks, and, in models with a
recurrent state, of a text behind padding.
"""


@torch.no_grad()
def check_logits(loaded: Loaded) -> None:
    """Compares the logits of `unembedded`, and those after a Fork, with the model's own on a short text.

    A family may scale its logits, or run its blocks, in a way of its own; every loss would then be wrong. So
    it would be if padding on the left of a text reached its recurrent state. In half precision rounding would
    hide that, so the model is run in float32. Where that fails, and for quantized weights, the differences'
    root mean square is compared, which rounding changes less than the largest one. Raises Unsupported with
    the difference if it is more than rounding can explain.
    """
    spec = loaded.spec
    kind = torch.finfo(loaded.dtype)
    # GPT-J attends in float32 whatever the type of its weights.
    rounding, found = max(kind.eps, torch.finfo(torch.float32).eps), None
    quantized = is_quantized(loaded.model.config)
    if kind.bits < 32 and not quantized:
        with contextlib.suppress(Exception), in_float32(loaded.model):
            rounding, found = torch.finfo(torch.float32).eps, _logits(loaded)
    exact = found is not None or (kind.bits >= 32 and not quantized)
    head, fork = (HEAD_ROUNDINGS, FORK_ROUNDINGS) if exact else (1, 1)
    if quantized:
        rounding, fork = max(rounding, torch.finfo(torch.bfloat16).eps), QUANTIZED_ROUNDINGS
    blocks = fork * rounding * spec.layers**0.5
    for (ours, own), bound in zip(found or _logits(loaded), (head * rounding, blocks, blocks), strict=False):
        apart, whole = (ours.double() - own.double()).flatten(), own.double().flatten()
        order = torch.inf if exact else 2
        difference, size = (value.norm(order).item() for value in (apart, whole))
        if not difference <= bound * size:
            raise Unsupported(
                f"models: {loaded.name}: the logits that factdrift computes from its hidden states, or of a "
                f"padded text, differ from the model's own by {difference / size:.2g} of their size "
                f"(rounding gives {bound:.1g}). Models of the family {spec.family!r} compute something in a "
                "way of their own, such as a scale of the logits, so that every loss would be wrong; it is "
                "not supported"
            )


def _logits(loaded: Loaded) -> Logits:
    """Logits to be compared; raises Unsupported if the blocks of an unlisted family cannot be run alone."""
    model, spec = loaded.model, loaded.spec
    ids = [place % spec.vocabulary for place in range(1, min(PROBE, spec.positions) + 1)]
    start = len(ids) // 2
    final: list[Tensor] = []
    with hooked(model, {spec.final_norm: lambda taken, given: final.append(given)}):
        logits = model(torch.tensor([ids], device=loaded.device), use_cache=False).logits
    try:
        fork = Fork(loaded, [ids], [start], 0)
        again = fork.run(fork.hidden)
    except Exception as error:
        if spec.listed:
            raise
        raise Unsupported(
            f"models: {loaded.name}: blocks of the family {spec.family!r}, which is not in families.yaml, "
            f"cannot be run alone ({type(error).__name__}: {error}); it is not supported"
        ) from error
    pairs = [(unembedded(loaded, final[0]), logits), (unembedded(loaded, again), logits[:, start:])]
    return [*pairs, (_behind_padding(loaded, ids), logits)] if spec.recurrent else pairs


def _behind_padding(loaded: Loaded, ids: list[int]) -> Tensor:
    """The logits of a text that is padded on the left, here by itself, and masked, as continuations are."""
    row = torch.tensor([[*ids, *ids]], device=loaded.device)
    mask = (torch.arange(row.shape[1], device=loaded.device) >= len(ids))[None]
    places = (mask.cumsum(1) - 1).clamp(min=0)
    found: Tensor = loaded.model(
        input_ids=row, attention_mask=mask.long(), position_ids=places, use_cache=False
    ).logits
    return found[:, len(ids) :]


class Call:
    """A pre-forward hook that records the input and the other arguments of a block."""

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        values = {**bound, **bound.pop("kwargs", {})}
        self.input: Tensor = values.pop(next(iter(values)))
        self.values: dict[str, Any] = values

    def at(self, places: Tensor, masks: Masks) -> dict[str, Any]:
        """The other arguments, with rotary embeddings and the mask taken at `places` [rows, tokens]."""
        values = dict(self.values)
        if MASK in values:
            values[MASK] = masks.at(values[MASK], len(places))
        if ROTARY in values:
            # Positions begin at 0 in every row, so the tables of one row serve all.
            values[ROTARY] = of_tables(values[ROTARY], lambda table: table[0].to(places.device)[places])
        return values


def of_tables(tables: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """`function` of each table of rotary embeddings, given as a tuple or as one tensor; None for None.

    Hybrids of recurrent blocks and attention, such as Granite 4, may have no positions at all.
    """
    if tables is None:
        return None
    return function(tables) if isinstance(tables, Tensor) else tuple(function(table) for table in tables)


class Masks:
    """Masks of the last tokens, from `plain`, with which a token attends to all before it."""

    def __init__(self, plain: Tensor, places: Tensor, before: int, row: Tensor | None = None):
        self._plain, self._places, self._before = plain, places, before
        self._row = torch.arange(len(places), device=places.device) if row is None else row
        self._kept: dict[int, Tensor] = {}

    def at(self, whole: Tensor | None, count: int) -> Tensor:
        """`plain` without what `whole` forbids: sliding windows, and chunks that tokens do not look beyond.

        The first `count` rows of it. `whole` is the mask of a block in the full run, [1 or rows, 1, tokens,
        tokens or more], which the caller keeps. Blocks with the same mask share the result.
        """
        found = self._plain if whole is None or whole.ndim != 4 else self._without(whole)
        return found if count == len(found) else found[:count]

    def _without(self, whole: Tensor) -> Tensor:
        if id(whole) not in self._kept:
            allowed = whole if whole.dtype == torch.bool else whole > torch.finfo(whole.dtype).min / 2
            allowed = allowed.to(self._places.device)
            row = self._row if len(allowed) > 1 else torch.zeros_like(self._row)
            places = self._places
            seen = allowed[row[:, None], 0, places]  # [rows, tokens from the start on, all tokens]
            past = torch.arange(self._before, device=places.device).expand(len(places), -1)
            columns = torch.cat([past, places], 1)[:, None].expand(-1, places.shape[1], -1)
            forbidden = ~seen.gather(2, columns)[:, None]
            lowest = torch.finfo(self._plain.dtype).min
            self._kept[id(whole)] = self._plain.masked_fill(forbidden, lowest)
        return self._kept[id(whole)]


class Past:
    """Stands in for a block's cache: attention keys and values of the tokens before the start."""

    def __init__(self, keys: Tensor, values: Tensor):
        self.keys, self.values = keys, values

    def of(self, rows: Tensor) -> Past:
        """The same for some rows only."""
        rows = rows.to(self.keys.device)
        return Past(self.keys[rows], self.values[rows])

    def update(self, keys: Tensor, values: Tensor, *more: Any, **others: Any) -> tuple[Tensor, Tensor]:
        return torch.cat([self.keys, keys], 2), torch.cat([self.values, values], 2)

    def get_seq_length(self, *of: Any) -> int:
        """The number of tokens before the start, of the row that has most of them.

        Llama 4 asks, to scale attention from the 8,192nd token on; no sentence of an edit is so long.
        """
        return self.keys.shape[2]


def block_mask(start: Tensor, before: int, width: int, kind: torch.dtype) -> Tensor:
    """Additive attention mask [rows, 1, width, before + width]: 0 where attention is allowed."""
    seen = torch.arange(before, device=start.device) < start[:, None]
    causal = torch.ones(width, width, dtype=torch.bool, device=start.device).tril()
    allowed = torch.cat([seen[:, None, :].expand(-1, width, -1), causal.expand(len(start), -1, -1)], dim=2)
    mask = torch.zeros(allowed.shape, dtype=kind, device=start.device)
    return mask.masked_fill(~allowed, torch.finfo(kind).min)[:, None]


def backbone(loaded: Loaded) -> Any:
    """The model without its language-model head."""
    model = loaded.model
    whole = getattr(model, model.base_model_prefix, None)
    # In Llama 4 the prefix is that of the model with images, which is not there.
    return whole if whole is not None else model.get_submodule(loaded.spec.final_norm.rpartition(".")[0])

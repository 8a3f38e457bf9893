"""Blocks that mix tokens by a recurrent state, such as gated delta rules, in runs of the last tokens alone.

Their state before a token cannot be cut from that of the whole text, as keys and values can. So what enters
the mixing of such a block is kept, and each run repeats the mixing, and nothing else of the block, on all
tokens. Imports torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from factdrift.models.hooks import NAME
from factdrift.models.loaded import Loaded


def empty_cache(loaded: Loaded) -> DynamicCache:
    """A cache that keeps the keys and values of all tokens, also of blocks with a sliding window."""
    if not loaded.spec.recurrent:
        return DynamicCache()
    cache = DynamicCache(config=loaded.model.config)
    cache.layers = [
        kept if number in loaded.spec.recurrent else DynamicLayer()  # type: ignore[no-untyped-call]
        for number, kept in enumerate(cache.layers)
    ]
    return cache


def mixers(loaded: Loaded) -> dict[nn.Module, nn.Module]:
    """Block -> the module that mixes its tokens, for recurrent blocks."""
    spec, found = loaded.spec, loaded.model.get_submodule
    return {
        found(spec.module(layer, "")): found(spec.module(layer, spec.attention_out).rpartition(".")[0])
        for layer in sorted(spec.recurrent)
    }


class Recorded:
    """A pre-forward hook that keeps what a mixing module takes in: [rows, tokens, hidden]."""

    def __init__(self, module: nn.Module):
        self.module = module
        self.taken = torch.empty(0)

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.taken = args[0] if args else kwargs[NAME]

    def keep(self, rows: Tensor) -> None:
        """Drops all other rows."""
        self.taken = self.taken[rows.to(self.taken.device)]

    def joined(self, last: Tensor, start: Tensor, row: Tensor | None = None) -> Tensor:
        """All tokens [rows, tokens, hidden]: those before `start` [rows] as kept, then `last`.

        `row`: row of what is kept of each row, if they are not the same.
        """
        start = start.to(last.device)
        taken = self.taken if row is None else self.taken[row.to(self.taken.device)]
        where = torch.arange(taken.shape[1], device=last.device).expand(len(last), -1)
        inside = (where - start[:, None]).clamp(0, last.shape[1] - 1)
        behind = last.gather(1, inside[:, :, None].expand(-1, -1, last.shape[2]))
        return torch.where((where < start[:, None])[:, :, None], taken, behind)


@contextlib.contextmanager
def rerun(
    recorded: Recorded | None, start: Tensor, places: Tensor, row: Tensor | None = None
) -> Iterator[None]:
    """Lets a mixing module run on all tokens where it is called with those from `start` on.

    `places` [rows, tokens]: the tokens that it is called with. `row`: see `Recorded.joined`. Does nothing
    without `recorded`.
    """
    if recorded is None:
        yield
        return
    module = recorded.module
    forward, own = module.forward, vars(module).get("forward")

    def whole(hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        # Padding behind a row changes nothing before it, so there is no mask; and no state is kept.
        kwargs |= {
            name: None for name in kwargs if name in ("attention_mask", "cache_params", "past_key_values")
        }
        out = forward(recorded.joined(hidden_states, start, row), *args, **kwargs)
        given = out[0] if isinstance(out, tuple) else out
        where = places.to(given.device)[:, :, None].expand(-1, -1, given.shape[2])
        last = given.gather(1, where)
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

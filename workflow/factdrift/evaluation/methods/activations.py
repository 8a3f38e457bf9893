"""Hidden states at one token of each text, of the unedited model or with edits applied by hooks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.evaluation.methods.contexts import Contexts
from factdrift.models.hooks import hooked, stopping
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded


def look(loaded: Loaded, contexts: Sequence[Contexts], entering: str, leaving: str) -> tuple[Tensor, Tensor]:
    """Hidden states at the subject's last token: the input of `entering` and the output of `leaving`.

    `leaving` is the same module or a later one. Both results are [E, prefixes, width], float64, for E edits
    with the same number of prefixes. Tokens after the subject are not run, since they have no effect.
    """
    sentences = [sentence for one in contexts for sentence in one.prompts]
    rows = [sentence.ids[: (sentence.subject_last or 0) + 1] for sentence in sentences]
    seen = at_end(loaded, rows, entering, leaving)
    first, second = (states.reshape(len(contexts), -1, states.shape[1]) for states in seen)
    return first, second


def at_end(
    loaded: Loaded, rows: Sequence[Sequence[int]], entering: str, leaving: str
) -> tuple[Tensor, Tensor]:
    """Hidden states at the last token of each row of tokens, as `look`; both are [rows, width], float64."""
    last = torch.tensor([len(row) - 1 for row in rows], device=loaded.device)
    each = torch.arange(len(rows), device=loaded.device)
    seen: dict[str, Tensor] = {}

    def see(name: str, value: Tensor) -> None:
        seen[name] = value[each, last].double()

    model = loaded.model
    with (
        torch.no_grad(),
        hooked(model, {entering: lambda taken, given: see("entering", taken)}),
        hooked(model, {leaving: lambda taken, given: see("leaving", given)}),
        stopping(model, leaving),
    ):
        model(padded(rows, loaded.device), use_cache=False)
    return seen["entering"], seen["leaving"]

"""Log-probabilities of many targets after the same prompts: each prompt runs once for all of them. Imports
torch.

The keys and values of a prompt are repeated for its targets, of which only the tokens behind the first one
run. A model without keys and values in some block, or one that is `Loaded.alone`, runs every text in full.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from factdrift.models.alignment import Sentence
from factdrift.models.hooks import hooked_before
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import BUDGET, score

Prompt = tuple[int, ...]


@torch.inference_mode()
def score_options(loaded: Loaded, sentences: Sequence[Sentence], budget: int = BUDGET) -> NDArray[np.float64]:
    """Mean natural log-probability of the tokens of each sentence's target; NaN where it is not finite.

    `budget`: tokens of a batch, those of repeated prompts included. Raises ValueError if a target has no
    token or no token before it.
    """
    if loaded.alone or loaded.spec.recurrent:
        found = score(loaded, sentences, budget=budget).logprob
    else:
        if any(not 0 < one.target < len(one.ids) for one in sentences):
            raise ValueError("a sentence without target, or with nothing before it, cannot be scored")
        unique = list(dict.fromkeys((one.ids, one.target) for one in sentences))
        of_prompt: dict[Prompt, list[Prompt]] = defaultdict(list)
        for ids, target in unique:
            of_prompt[ids[:target]].append(ids[target:])
        known: dict[tuple[Prompt, Prompt], float] = {}
        for batch in _batches(of_prompt, budget):
            means = _means(loaded, batch).tolist()
            pairs = [(prompt, target) for prompt, targets in batch for target in targets]
            known.update(zip(pairs, means, strict=True))
        found = np.array([known[one.ids[: one.target], one.ids[one.target :]] for one in sentences])
    return np.where(np.isfinite(found), found, np.nan)


Batch = list[tuple[Prompt, Sequence[Prompt]]]


def _batches(of_prompt: dict[Prompt, list[Prompt]], budget: int) -> Iterator[Batch]:
    """Prompts of equal length with their targets; many targets of one prompt fill several batches.

    Prompts of one length need no padding, and so no mask, which some families apply in their own way.
    """
    batch: Batch = []
    rows = width = longest = 0
    for prompt in sorted(of_prompt, key=lambda ids: (len(ids), ids)):
        if batch and len(prompt) != width:
            yield batch
            batch, rows, longest = [], 0, 0
        width = len(prompt)
        left = sorted(of_prompt[prompt], key=lambda ids: (len(ids), ids))
        while left:
            longest = max(longest, len(left[-1]))
            room = max(budget // (width + longest) - rows, 0)
            if not room and batch:
                yield batch
                batch, rows, longest = [], 0, 0
                continue
            taken, left = left[: max(room, 1)], left[max(room, 1) :]
            batch.append((prompt, taken))
            rows += len(taken)
    if batch:
        yield batch


def _means(loaded: Loaded, batch: Batch) -> Tensor:
    """Mean log-probability of each target of the batch, in its order; float64."""
    device, head = loaded.device, loaded.spec.head
    rows = [(place, target) for place, (_, targets) in enumerate(batch) for target in targets]
    ids = torch.tensor([prompt for prompt, _ in batch], device=device)
    # Of rows with gaps between them torch would multiply one by one, each with a copy of the weights.
    with hooked_before(loaded.model, {head: lambda hidden: hidden[:, -1:].contiguous()}):
        output = loaded.model(input_ids=ids, use_cache=True)
    owner = torch.tensor([place for place, _ in rows], device=device)
    first = torch.tensor([target[0] for _, target in rows], device=device)
    logits = output.logits[:, -1].float()
    total = (logits[owner, first] - logits.logsumexp(1)[owner]).double()
    long = [row for row, (_, target) in enumerate(rows) if len(target) > 1]
    if long:
        total[long] += _further(loaded, output.past_key_values, [rows[row] for row in long])
    mean: Tensor = total / torch.tensor([len(target) for _, target in rows], device=device)
    return mean


def _further(loaded: Loaded, past: Any, rows: Sequence[tuple[int, Prompt]]) -> Tensor:
    """Sum of the log-probabilities of the tokens behind the first one of each target."""
    device = loaded.device
    past.batch_select_indices(torch.tensor([place for place, _ in rows], device=device))
    steps = max(len(target) for _, target in rows) - 1
    # Padding follows the tokens that count, which cannot see it.
    ids = torch.tensor(
        [[*target[:-1], *[0] * (steps + 1 - len(target))] for _, target in rows], device=device
    )
    wanted = [
        (row, place, target[place + 1])
        for row, (_, target) in enumerate(rows)
        for place in range(len(target) - 1)
    ]
    row, place, token = torch.tensor(wanted, device=device).T
    slicing = {loaded.spec.head: lambda hidden: hidden[row, place].unsqueeze(0)}
    with hooked_before(loaded.model, slicing):
        output = loaded.model(input_ids=ids, past_key_values=past, use_cache=True)
    logits = output.logits[0].float()
    each = (logits.gather(1, token[:, None])[:, 0] - logits.logsumexp(1)).double()
    return torch.zeros(len(rows), dtype=torch.float64, device=device).index_add(0, row, each)

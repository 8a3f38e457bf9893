"""Log-probabilities of many targets after the same prompts: each prompt runs once for all of them. Imports
torch.

The keys and values of a prompt are repeated for its targets, of which only the tokens before the last one
run. Where many prompts begin alike, or many targets of a prompt, their beginning runs once, too. A model
without keys and values in some block, or one that is `Loaded.alone`, runs every text in full.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from factdrift.core.progress import Progress
from factdrift.models.alignment import Sentence
from factdrift.models.hooks import hooked_before
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded
from factdrift.models.scoring import BUDGET, log_totals, score

Prompt = tuple[int, ...]
KEPT, MORE = 2e9, 4
"""Bytes of keys and values up to which a CPU has that many times the tokens in a batch; most do not run."""


@torch.inference_mode()
def score_options(loaded: Loaded, sentences: Sequence[Sentence], budget: int = BUDGET) -> NDArray[np.float64]:
    """Mean natural log-probability of the tokens of each sentence's target; NaN where it is not finite.

    `budget`: tokens of a batch, those of repeated prompts included. Raises ValueError if a target has no
    token or no token before it.
    """
    if loaded.alone or loaded.spec.recurrent:
        found = score(loaded, sentences, budget=budget).logprob
    else:
        if any(not 0 < sentence.target < len(sentence.ids) for sentence in sentences):
            raise ValueError("a sentence without target, or with nothing before it, cannot be scored")
        unique = list(dict.fromkeys((sentence.ids, sentence.target) for sentence in sentences))
        of_prompt: dict[Prompt, list[Prompt]] = defaultdict(list)
        for ids, target in unique:
            of_prompt[ids[:target]].append(ids[target:])
        known: dict[tuple[Prompt, Prompt], float] = {}
        if loaded.device.type == "cpu":
            most = KEPT / (2 * loaded.spec.layers * loaded.spec.hidden * loaded.dtype.itemsize)
            budget = max(budget, min(MORE * budget, int(most)))
        # The last token of a target does not run, and what others begin with only once.
        total = sum(map(len, of_prompt)) + sum(len(ids) - 1 - target for ids, target in unique)
        with Progress("likelihoods", total, "tokens") as progress:
            for batch in _batches(of_prompt, budget):
                means = _means(loaded, batch, progress).tolist()
                pairs = [(prompt, target) for prompt, targets in batch for target in targets]
                known.update(zip(pairs, means, strict=True))
        keys = ((sentence.ids[: sentence.target], sentence.ids[sentence.target :]) for sentence in sentences)
        found = np.array([known[key] for key in keys])
    return np.where(np.isfinite(found), found, np.nan)


Batch = list[tuple[Prompt, Sequence[Prompt]]]
PASS = 32
"""Tokens that a CPU could run in the time that each pass takes besides its own."""


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
        left = sorted(of_prompt[prompt])  # those that begin alike in one batch, whatever their lengths
        while left:
            longest = max(longest, *map(len, left))
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


def _means(loaded: Loaded, batch: Batch, progress: Progress) -> Tensor:
    """Mean log-probability of each target of the batch, in its order; float64.

    What texts have in common runs once: they run in parts, of which each has a row for each beginning up to
    the part's end, and goes on from the keys and values of the part before.
    """
    device, width = loaded.device, len(batch[0][0])
    texts = [(*prompt, *target) for prompt, targets in batch for target in targets]
    total = torch.zeros(len(texts), dtype=torch.float64, device=device)
    past: Any = None
    above: dict[Prompt, int] = {}
    begin = 0
    of_prompts = _cheapest({text[:width] for text in texts}, 0)
    for end in of_prompts + _cheapest({text[:-1] for text in texts}, width):
        running = [index for index, text in enumerate(texts) if len(text) - 1 > begin]
        own: dict[Prompt, int] = {}
        logits: dict[tuple[int, int], int] = {}
        wanted: list[tuple[int, int, int]] = []
        for index in running:
            text = texts[index]
            row = own.setdefault(text[:-1][:end], len(own))
            for at in range(max(begin, width - 1), min(end, len(text) - 1)):
                wanted.append((index, logits.setdefault((row, at - begin), len(logits)), text[at + 1]))
        if past is not None:
            past.batch_select_indices(torch.tensor([above[ids[:begin]] for ids in own], device=device))
        past, output = _run(loaded, [ids[begin:] for ids in own], list(logits) or [(0, 0)], past)
        if wanted:
            text_, row_, token = torch.tensor(wanted, device=device).T
            gains = output[row_, token].float() - log_totals(output)[row_]
            total.index_add_(0, text_, gains.double())
        ran = [min(len(texts[index]) - 1, end) - begin for index in running]
        progress.advance(sum(ran) if begin >= width else len(batch) * (end - begin))
        above, begin = own, end
    mean: Tensor = total / torch.tensor([len(text) - width for text in texts], device=device)
    return mean


def _cheapest(texts: Collection[Prompt], begin: int) -> list[int]:
    """The ends after `begin` for which padded tokens and passes (PASS) take least, by dynamic programming."""
    last = max(map(len, texts))
    least: list[tuple[int, list[int]]] = [(0, [])]
    for end in range(begin + 1, last + 1):
        choices = []
        for start in range(begin, end):
            own = {text[:end] for text in texts if len(text) > start}
            before, ends = least[start - begin]
            choices.append((before + PASS + len(own) * (max(map(len, own)) - start), [*ends, end]))
        least.append(min(choices))
    return least[-1][1]


def _run(
    loaded: Loaded, rows: Sequence[Prompt], places: Sequence[tuple[int, int]], past: Any
) -> tuple[Any, Tensor]:
    """Keys and values after the rows; logits at places (row, token), [places, vocabulary]."""
    row, token = torch.tensor(places, device=loaded.device).T
    # Padding follows the tokens that count, which cannot see it.
    ids = padded(rows, loaded.device)
    with hooked_before(loaded.model, {loaded.spec.head: lambda hidden: hidden[row, token].unsqueeze(0)}):
        output = loaded.model(input_ids=ids, past_key_values=past, use_cache=True)
    return output.past_key_values, output.logits[0]

"""Log-probabilities of targets after prompts. Imports torch.

Each row of a batch has its own edit. Rows of similar length share a batch. A text that is a prefix of another
is scored from the longer one. Logits are computed only where a target token is predicted. Results are copied
to the host at the end. Of a model that is `Loaded.alone` every text is a batch of its own, run in full.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import Changes, applied, look_at_prompts
from factdrift.models.devices import free_bytes, in_batches
from factdrift.models.hooks import hooked_before
from factdrift.models.loaded import Loaded
from factdrift.models.padding import batches, padded

BUDGET = 8192
"""Tokens of a batch, padding included; on a GPU as many more as its memory holds."""
SHARE = 0.5
"""Share of the free memory that a batch may use, by estimate."""
VALUES_PER_TOKEN = 32
"""Vectors of the hidden size that one block needs for each token at a time, without a backward pass."""
ROWS = 64
"""Of logits that are summed together."""

Tokens = tuple[int, ...]
Text = tuple[int, int, Tokens]
"""What is run: an edit or -1, the index of the last token of the prompt or -1, and the tokens."""


def budget_of(loaded: Loaded) -> int:
    """The number of tokens of a batch for which the memory suffices, at least BUDGET."""
    return max(BUDGET, int(SHARE * free_bytes(loaded.device, 0) / token_bytes(loaded)))


def token_bytes(loaded: Loaded) -> int:
    """Bytes that a token takes which is run without a backward pass."""
    kept = 2 * loaded.spec.layers  # keys and values of a continuation
    return (kept + VALUES_PER_TOKEN) * loaded.spec.hidden * loaded.dtype.itemsize


@dataclass(frozen=True)
class Scores:
    """One entry for each sentence, in their order."""

    logprob: NDArray[np.float64]
    """Mean natural log-probability of the target's tokens."""
    tokens: NDArray[np.int32]
    """Number of the target's tokens."""
    exact: NDArray[np.bool_]
    """Whether every token of the target is the most probable one after the tokens before it."""


@torch.inference_mode()
def score(
    loaded: Loaded,
    sentences: Sequence[Sentence],
    changes: Changes | None = None,
    owners: Sequence[int] | None = None,
    budget: int = BUDGET,
) -> Scores:
    """Scores the target of each sentence under the model with edit `owners[row]` of `changes`.

    Owner -1, or no owners, means the unedited model. `budget`: tokens of a batch, padding included; batches
    that do not fit into memory are halved. Raises ValueError if a target has no token or no token before it,
    and InputError if a text is longer than the model's positions.
    """
    if any(not 0 < sentence.target < len(sentence.ids) for sentence in sentences):
        raise ValueError("a sentence without target, or with nothing before it, cannot be scored")
    longest = max((len(sentence.ids) for sentence in sentences), default=0)
    if longest > loaded.spec.positions + 1:
        raise InputError(
            f"models: {loaded.name} takes texts of {loaded.spec.positions:,} tokens, and one has "
            f"{longest:,}; leave it out or shorten it"
        )
    given = owners if owners is not None else [-1] * len(sentences)
    # The end of the prompt makes texts differ only where a change looks at it.
    looks = look_at_prompts(changes or {})
    ends = [sentence.target - 1 if looks else -1 for sentence in sentences]
    runs = [sentence.ids[:-1] for sentence in sentences]
    texts: list[Text] = list(zip(given, ends, runs, strict=True))
    hosts = {text: text for text in texts} if loaded.alone else _hosts(texts)
    rows = sorted(set(hosts.values()), key=lambda row: (len(row[2]), row))
    read: dict[Text, list[int]] = {row: [] for row in rows}
    for index, text in enumerate(texts):
        read[hosts[text]].append(index)

    order: list[int] = []
    found: list[tuple[Tensor, Tensor]] = []

    def run(batch: Sequence[int]) -> None:
        chosen = [rows[index] for index in batch]
        found.append(_targets(loaded, chosen, [read[row] for row in chosen], sentences, changes))
        order.extend(index for row in chosen for index in read[row])

    lengths = [len(tokens) for *_, tokens in rows]
    with Progress("likelihoods", sum(lengths), "tokens") as progress:
        for batch in batches_of(loaded, lengths, budget):
            in_batches(batch, len(batch), run)
            progress.advance(sum(lengths[index] for index in batch))
    logprob = np.concatenate([values.float().cpu().numpy() for values, _ in found] or [np.empty(0)])
    hit = np.concatenate([values.cpu().numpy() for _, values in found] or [np.empty(0, bool)])
    counts = np.array([len(sentence.ids) - sentence.target for sentence in sentences], np.int32)
    result = Scores(np.empty(len(sentences)), counts, np.empty(len(sentences), bool))
    if order:
        starts = np.concatenate([[0], np.cumsum(counts[order])[:-1]])
        result.logprob[order] = np.add.reduceat(logprob.astype(np.float64), starts) / counts[order]
        result.exact[order] = np.logical_and.reduceat(hit, starts)
    return result


def batches_of(loaded: Loaded, lengths: Sequence[int], budget: int) -> Iterable[Sequence[int]]:
    """Places of rows in batches (`padding.batches`); of a model that is `Loaded.alone` one by one."""
    return ([index] for index in range(len(lengths))) if loaded.alone else batches(lengths, budget)


def _hosts(texts: Sequence[Text]) -> dict[Text, Text]:
    """Maps each text to the longest one of its edit and end that begins with it, which is run instead."""
    ascending = sorted(set(texts))
    hosts = {text: text for text in ascending}
    for text, following in reversed(list(pairwise(ascending))):
        if text[:2] == following[:2] and following[2][: len(text[2])] == text[2]:
            hosts[text] = hosts[following]
    return hosts


def _targets(
    loaded: Loaded,
    rows: Sequence[Text],
    read: Sequence[Sequence[int]],
    sentences: Sequence[Sentence],
    changes: Changes | None,
) -> tuple[Tensor, Tensor]:
    """For each target token: its log-probability, and whether it is the most probable one.

    `read[row]` are the indices of the sentences that are read off row `row`.
    """
    ids = padded([tokens for *_, tokens in rows], loaded.device)
    wanted = [
        (row, index - 1, sentences[one].ids[index])
        for row, ones in enumerate(read)
        for one in ones
        for index in range(sentences[one].target, len(sentences[one].ids))
    ]
    row, index, target = torch.tensor(wanted).T.to(loaded.device)
    if loaded.alone:
        given = logits_of(loaded, ids)[0, index]
    else:
        slicing = {loaded.spec.head: lambda hidden: hidden[row, index].unsqueeze(0)}
        owner, ends = torch.tensor([row[:2] for row in rows]).T.to(loaded.device)
        with applied(loaded.model, changes or {}, owner, ends), hooked_before(loaded.model, slicing):
            given = loaded.model(input_ids=ids, use_cache=False).logits[0]
    chosen = given.gather(1, target[:, None])[:, 0].float()
    return chosen - log_totals(given), given.argmax(1) == target


def logits_of(loaded: Loaded, ids: Tensor) -> Tensor:
    """The logits of one text in full, [1, tokens, vocabulary]."""
    logits: Tensor = loaded.model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    return logits


def log_totals(logits: Tensor) -> Tensor:
    """The logarithm of the sum of the exponentials of each row, [rows], computed in float32.

    Some rows at a time stay in the cache of a CPU, which takes a third of the time of all at once.
    """
    some = (logits[first : first + ROWS].float() for first in range(0, len(logits), ROWS))
    return torch.cat([rows.logsumexp(1) for rows in some])


@torch.inference_mode()
def next_tokens(
    loaded: Loaded, prompt: Sequence[int], count: int, changes: Changes | None = None, owner: int = -1
) -> list[tuple[int, float]]:
    """The `count` most probable next tokens after a prompt, with their probabilities."""
    owners = torch.tensor([owner], device=loaded.device)
    with applied(loaded.model, changes or {}, owners, torch.full_like(owners, len(prompt) - 1)):
        logits = logits_of(loaded, torch.tensor([list(prompt)], device=loaded.device))
    chances, tokens = logits[0, -1].float().softmax(0).topk(count)
    return list(zip(tokens.tolist(), chances.tolist(), strict=True))

"""What a locating method takes and gives, also a method of the user's (docs/locating.md). Imports torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from factdrift.evaluation.locators.sentences import Sentence
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.models.hooks import hooked_before
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded


@dataclass(frozen=True)
class Context:
    """What a method knows besides the sentences of a batch."""

    hyper: Hyper
    noise_scale: float = 0.0
    """The standard deviation of the embeddings of all subjects' tokens."""
    seed: int = 0
    budget: int = 8192
    """Tokens of one pass of the model, padding included."""


Locator = Callable[[Loaded, Sequence[Sentence], Sequence[int], Context], Tensor]
"""(model, sentences of a batch, the tokens whose probabilities are explained) -> [sentences, units].

The batch holds the other wordings of each sentence, too."""


def last_logits(loaded: Loaded, sentences: Sequence[Sentence], repeat: int = 1) -> Tensor:
    """[repeat x sentences, vocabulary]: logits at the last tokens, with gradients if a hook asks for them.

    All sentences are run `repeat` times, copy after copy of the batch.
    """
    ids = padded([sentence.ids for sentence in sentences], loaded.device).repeat(repeat, 1)
    last = torch.tensor([sentence.last for sentence in sentences], device=loaded.device).repeat(repeat)
    every = torch.arange(len(ids), device=loaded.device)
    with hooked_before(loaded.model, {loaded.spec.head: lambda hidden: hidden[every, last].unsqueeze(0)}):
        logits: Tensor = loaded.model(input_ids=ids, use_cache=False).logits[0]
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def probability(logits: Tensor, targets: Sequence[int] | Tensor) -> Tensor:
    """[rows]: the probability of a row's target token, from logits [rows, vocabulary]."""
    chosen = torch.as_tensor(targets, device=logits.device)
    return (logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(1)).exp()


def positions(sentences: Sequence[Sentence], token: str) -> list[list[int]]:
    """For each sentence the indices of the tokens that a method looks at.

    `token`: `last`, `subject_last` (the last token in a sentence without subject) or `all`.
    """
    if token == "all":
        return [list(range(len(sentence.ids))) for sentence in sentences]
    if token == "last":
        return [[sentence.last] for sentence in sentences]
    return [[sentence.subject[1] - 1 if sentence.subject else sentence.last] for sentence in sentences]


def at(values: Tensor, tokens: Sequence[Sequence[int]]) -> Tensor:
    """[rows, width]: sums of values [rows, tokens, width] over some tokens of a row."""
    mask = torch.zeros(values.shape[:2], dtype=values.dtype, device=values.device)
    for row, mine in enumerate(tokens):
        mask[row, list(mine)] = 1
    return torch.einsum("rt,rtw->rw", mask, values)

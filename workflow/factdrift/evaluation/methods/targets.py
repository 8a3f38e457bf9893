"""Losses of targets: the indices of target tokens, and their mean log-probability. Imports torch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.evaluation.methods.interface import Edit
from factdrift.models.alignment import AlignmentError, Sentence, align
from factdrift.models.fork import unembedded
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded


def aligned(loaded: Loaded, edits: Sequence[Edit]) -> tuple[dict[int, Sentence], dict[int, str]]:
    """Tokens of prompt and target by the index of the edit, and the reasons of edits that have none."""
    sentences: dict[int, Sentence] = {}
    failed: dict[int, str] = {}
    for place, edit in enumerate(edits):
        try:
            sentence = align(loaded.tokenizer, edit.prompt, edit.target)
        except AlignmentError as error:
            failed[place] = error.reason
            continue
        if len(sentence.ids) > loaded.spec.positions:
            failed[place] = "too_long"
        else:
            sentences[place] = sentence
    return sentences, failed


class Targets:
    """The targets of a batch of sentences, scored on the output of the final normalisation.

    A target token is predicted at the token before it. With `at_prompt_end`, all target tokens are predicted
    at the last token of the prompt. `starts`: the token of each sentence with which the hidden states begin
    that are scored; 0 if they are not given.
    """

    def __init__(
        self,
        loaded: Loaded,
        sentences: Sequence[Sentence],
        *,
        at_prompt_end: bool = False,
        starts: Sequence[int] | None = None,
    ):
        self._loaded = loaded
        targets = [one.ids[one.target :] for one in sentences]
        self.rows = [one.ids[: one.target] if at_prompt_end else one.ids[:-1] for one in sentences]
        """The tokens to run, one list for each sentence."""
        places = [
            [one.target - 1] * len(target) if at_prompt_end else range(one.target - 1, len(one.ids) - 1)
            for one, target in zip(sentences, targets, strict=True)
        ]
        begun = starts or [0] * len(sentences)
        places = [[place - start for place in row] for row, start in zip(places, begun, strict=True)]
        self._tokens, self._places = (padded(rows, loaded.device) for rows in (targets, places))
        self._counts = torch.tensor([len(target) for target in targets], device=loaded.device)

    def losses(self, hidden: Tensor) -> Tensor:
        """[rows] the mean over the target's tokens of their negative log-probability.

        `hidden`: [rows, tokens, hidden], the output of the final normalisation.
        """
        read = hidden.gather(1, self._places[:, :, None].expand(-1, -1, hidden.shape[2]))
        logs = unembedded(self._loaded, read).log_softmax(2).gather(2, self._tokens[:, :, None])[:, :, 0]
        real = torch.arange(logs.shape[1], device=logs.device) < self._counts[:, None]
        return -(logs * real).sum(1) / self._counts

    def keep(self, rows: Tensor) -> None:
        """Drops all other rows; `self.rows` is unchanged."""
        self._tokens, self._places, self._counts = (
            values[rows] for values in (self._tokens, self._places, self._counts)
        )

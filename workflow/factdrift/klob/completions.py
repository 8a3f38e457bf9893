"""What a language model writes after the recall filter's prompts. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from factdrift.core.errors import InputError
from factdrift.klob.recall import NEW_TOKENS
from factdrift.models.loaded import Loaded
from factdrift.models.writing import Begun, write


class CausalModel:
    """A loaded model as the recall filter asks it: greedily, `budget` tokens at a time."""

    def __init__(self, loaded: Loaded, budget: int):
        self.name, self.revision = loaded.name, loaded.revision
        self.dtype = str(loaded.dtype).removeprefix("torch.")
        self._loaded, self._budget = loaded, budget

    def continued(self, prompts: Sequence[str]) -> list[str]:
        """The text that follows each prompt, up to the model's end-of-text token, NEW_TOKENS tokens at most.

        Raises InputError if a prompt and its answer are longer than the model's context.
        """
        tokenizer = self._loaded.tokenizer
        ids = [tokenizer(prompt)["input_ids"] for prompt in prompts]
        longest = max(map(len, ids), default=0) + NEW_TOKENS
        if longest > self._loaded.spec.positions:
            raise InputError(
                f"klob.recall.model: {self.name} has room for {self._loaded.spec.positions} tokens, and a "
                f"prompt with its answer needs {longest}; take a model with a longer context, or give "
                "shorter demonstrations (klob.recall.demos)"
            )
        written = write(self._loaded, [Begun(each, NEW_TOKENS) for each in ids], budget=self._budget)
        ends = {tokenizer.eos_token_id, *_end_tokens(self._loaded.model)}
        before_end = (list(takewhile(lambda token: token not in ends, tokens)) for tokens in written)
        return [tokenizer.decode(tokens, skip_special_tokens=True) for tokens in before_end]


def _end_tokens(model: Any) -> Sequence[int]:
    """The tokens at which the model's own settings for generation end a text."""
    ends = getattr(model.generation_config, "eos_token_id", None)
    return ends if isinstance(ends, list) else [] if ends is None else [ends]

"""A language model that is loaded, as all that runs it takes it."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch

from factdrift.models.alignment import Templated
from factdrift.models.families import ModelSpec


@dataclass(frozen=True)
class Loaded:
    """A model in evaluation mode without gradients on its parameters, and what identifies it."""

    model: Any
    tokenizer: Any
    spec: ModelSpec
    name: str
    revision: str
    """The commit of a model from a hub; otherwise the revision as the user gave it."""
    digest: str
    """SHA-256 over all files that shape its results (`weights.digest_of`)."""
    device: torch.device
    """Device of the embedding: takes token ids, returns logits, holds the changes of weights."""
    dtype: torch.dtype
    others: tuple[torch.device, ...] = ()
    """Further devices over which the model is spread."""
    alone: bool = False
    """Each text is scored in a run of its own, without padding and without deltas: for a model with modules
    or hooks of others, whose output for a row may depend on the rest of the batch or on the row's end."""

    @property
    def change_dtype(self) -> torch.dtype:
        """The type in which changes of weights are computed and kept: float32, or float64 beside float64."""
        return torch.float64 if self.dtype == torch.float64 else torch.float32

    @property
    def devices(self) -> tuple[torch.device, ...]:
        return self.device, *self.others

    @property
    def template(self) -> str:
        """The value of `edit.template` by which `alignment.align` makes sentences for the tokenizer."""
        return "chat" if isinstance(self.tokenizer, Templated) else "none"

    def with_template(self, template: str) -> Self:
        """The model with the tokenizer for a value of `edit.template`; raises what Templated raises."""
        return replace(self, tokenizer=Templated(self.tokenizer, self.name)) if template == "chat" else self

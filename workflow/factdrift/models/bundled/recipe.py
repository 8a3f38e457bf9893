"""Recipes of the bundled models, `config/models/<name>.yaml`: architecture, data and optimisation."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import read_struct

Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
PositiveShare = Annotated[float, msgspec.Meta(gt=0, le=1)]
"""Not 0, because something is divided by it."""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Architecture, data and optimisation of one model."""

    model: dict[str, Any]
    """Configuration for transformers, with `model_type`; size and ids of the vocabulary are added."""
    vocabulary: Count
    """Number of entries of the tokenizer, including 256 bytes and the end of text."""
    name_weight: int
    """How often each name is added to the training text of the tokenizer, so that names have few tokens."""
    begins: bool
    """Whether the tokenizer puts the end-of-text token before every text, as Llama's does."""
    fact_epochs: Count
    context_epochs: int
    """Epochs with documents that contradict a fact consistently, after the epochs without."""
    context_share: Share
    """Share of the facts that are contradicted in each such epoch."""
    context_length: Count
    """Number of sentences of such a document."""
    starts: Share
    """Share of the sentences that begin a document."""
    row: Count
    """Maximum number of tokens of a row."""
    batch: Count
    """Number of rows of a step."""
    learning_rate: float
    warmup: Count
    """Number of steps of warm-up."""
    decay: PositiveShare
    """Share of the steps, at the end, over which the learning rate falls to 0."""
    betas: tuple[float, float]
    weight_decay: float
    clip: float
    """Bound on the norm of the gradient of a step."""
    other_weight: float
    """Loss weight of tokens outside of objects; those of objects weigh 1."""
    other_share: PositiveShare
    """Share of those tokens that is drawn into the loss of a step; their weight is divided by it."""
    name_loss: float
    """Loss weight of the first mention of a new object's name in a document."""
    threads: Count
    """CPU threads of the training, fixed because another number gives another model."""
    expected: float
    """Expected recall of held-out wordings; a lower one is reported as a warning."""


def read_recipe(path: Path) -> Recipe:
    """Raises InputError that names the file and the key that is missing, unknown or of the wrong kind."""
    recipe = read_struct(path, Recipe)
    if "model_type" not in recipe.model:
        raise InputError(f"{path}: model: model_type is missing, such as llama")
    return recipe

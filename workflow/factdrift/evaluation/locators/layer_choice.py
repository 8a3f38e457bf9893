"""The layer that an editing method edits, as a locating result: the same for every sentence."""

from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.interface import Context
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.models.loaded import Loaded


def edited_layer(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, blocks]: 1 for each block that the editing method `method` edits, else 0.

    The block is that of config/methods/, unless `layer` names another.
    """
    layer = context.hyper["layer"]
    layers = [layer]
    if layer < 0:
        layers = read_hyper(context.hyper["method"], loaded.name, sizes=lambda: loaded.spec).layers
    scores = torch.zeros(len(sentences), loaded.spec.layers)
    if not all(layer < loaded.spec.layers for layer in layers):
        raise InputError(
            f"locators: {context.hyper.method}: {loaded.name} has {loaded.spec.layers} blocks, and layer "
            f"{max(layers)} is to be edited; set locate.hyper.{context.hyper.method}.layer"
        )
    scores[:, layers] = 1
    return scores

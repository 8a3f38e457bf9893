"""Each method with few steps in one block of an untrained model."""

from typing import Any

import torch

from factdrift.evaluation.methods.hyperparameters import Hyper, needs, read_hyper
from factdrift.evaluation.methods.interface import Artefacts
from factdrift.evaluation.methods.mend import HyperNet, edited_matrices
from factdrift.evaluation.methods.record import refusal
from factdrift.evaluation.methods.shared import aligned, gradients
from factdrift.models.families import ModelSpec
from factdrift.models.loaded import Loaded
from factdrift.models.moments import count_moments
from support.tiny_edits import EDITS
from support.tiny_models import TEXT

FEW: dict[str, Any] = {"steps": 3, "rank": 4, "prefixes": [], "contexts": 0, "others": {}, "dropout": 0}
"""Hyper-parameters, where a method has them, that make it quick."""


def editable(spec: ModelSpec, method: str) -> list[int]:
    """The blocks of a model that a method can edit."""
    return [layer for layer in range(spec.layers) if refusal(spec, method, layer) is None]


def hyper_in(loaded: Loaded, method: str, layer: int) -> Hyper:
    """Values of the bundled model, or those derived from its sizes, but few steps, in one block."""
    hyper = read_hyper(method, "sample-llama", sizes=lambda: loaded.spec)
    blocks = 1 if hyper.record.edits == "all" else hyper.get("blocks")
    own = {**FEW, "layer": layer, "layers": [layer], "blocks": blocks}
    changes = {key: value for key, value in own.items() if key in hyper}
    return read_hyper(method, "sample-llama", changes, sizes=lambda: loaded.spec)


def artefacts(loaded: Loaded, hyper: Hyper) -> Artefacts:
    layers = hyper.layers if hyper.get("covariance") else []
    moments = count_moments(loaded, layers, TEXT, ridge=1e-3) if layers else {}
    net = None
    if "editor" in needs(hyper):  # an untrained editor that has seen the gradients of the edits
        torch.manual_seed(0)
        net = HyperNet(edited_matrices(loaded, hyper["blocks"]), hyper["rank"], hyper["edit_lr"])
        net.to(loaded.device, loaded.change_dtype)
        net.see(gradients(loaded, net.matrices, list(aligned(loaded, EDITS[:2])[0].values()))[1])
        net.requires_grad_(False)
    return Artefacts(("", "Therefore I am. "), moments, net)

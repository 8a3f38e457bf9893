"""Names of the modules of each model family (`config/models/families.yaml`), and sizes of a loaded model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from factdrift.errors import InputError
from factdrift.paths import FAMILIES

if TYPE_CHECKING:
    from torch import nn
    from transformers import PretrainedConfig


@dataclass(frozen=True)
class ModelSpec:
    """Names of the modules of a model, and its sizes.

    `mlp`, `down`, `mlp_matrices` and `attention_out` are relative to a block; the other names are full names.
    """

    family: str
    blocks: str
    mlp: str
    down: str
    """The MLP's second matrix, [hidden, inner], which the editing methods change. Its input is the key."""
    mlp_matrices: tuple[str, ...]
    attention_out: str
    embedding: str
    final_norm: str
    head: str
    parallel: bool
    """Attention and MLP of a block read the same input."""
    post_norm: bool
    """The output of the MLP is normalised before it is added to the residual stream."""
    layers: int
    hidden: int
    inner: int
    vocabulary: int
    positions: int

    def module(self, layer: int, part: str) -> str:
        """The full name of a module inside block `layer`, or of the block itself if `part` is empty."""
        return f"{self.blocks}.{layer}.{part}".rstrip(".")


@cache
def read_families(path: Path = FAMILIES) -> dict[str, dict[str, Any]]:
    """The entries of families.yaml, by the `model_type` of a model's configuration."""
    families: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return families


def family_of(config: PretrainedConfig, name: str, path: Path = FAMILIES) -> dict[str, Any]:
    """The entry of a model's family.

    Raises InputError with the list of supported families if there is none.
    """
    families = read_families(path)
    if config.model_type not in families:
        known = ", ".join(f"{family['title']} ({kind})" for kind, family in families.items())
        raise InputError(
            f"models: {name} is of the family {config.model_type!r}, which is not supported; supported are "
            f"{known}. A family with the same architecture is added by naming its modules in {path}"
        )
    return families[config.model_type]


def spec_of(model: nn.Module, name: str, path: Path = FAMILIES) -> ModelSpec:
    """The module names and sizes of a loaded model.

    Raises InputError if its family is not supported or it lacks a module of its family.
    """
    config: Any = model.config
    family = family_of(config, name, path)
    text = config.get_text_config()

    def part(dotted: str) -> Any:
        try:
            return model.get_submodule(dotted)
        except AttributeError:
            raise InputError(
                f"models: {name} has no module {dotted}, which models of the family {config.model_type!r} "
                f"have; see {path}"
            ) from None

    names = {key: value for key, value in family.items() if key not in ("title", "parallel", "mlp_matrices")}
    parallel = family["parallel"]
    blocks = part(family["blocks"])
    within = (family["mlp"], family["down"], family["attention_out"], *family["mlp_matrices"])
    for layer, inside in ((layer, inside) for layer in range(len(blocks)) for inside in within):
        part(f"{family['blocks']}.{layer}.{inside}")
    for whole in (family["final_norm"], family["head"]):
        part(whole)
    embedding = part(family["embedding"])
    down = part(f"{family['blocks']}.0.{family['down']}")
    hidden, inner = shape_of(down)
    return ModelSpec(
        family=config.model_type,
        parallel=getattr(config, parallel) if isinstance(parallel, str) else parallel,
        mlp_matrices=tuple(family["mlp_matrices"]),
        layers=len(blocks),
        hidden=hidden,
        inner=inner,
        vocabulary=embedding.weight.shape[0],
        positions=text.max_position_embeddings,
        **names,
    )


def transposed(module: nn.Module) -> bool:
    """Whether a module keeps its weight as [in, out] (GPT-2's Conv1D) instead of [out, in]."""
    return type(module).__name__ == "Conv1D"


def shape_of(module: nn.Module) -> tuple[int, int]:
    """(d_out, d_in) of a Linear or Conv1D."""
    weight: Any = module.weight
    first, second = weight.shape
    return (second, first) if transposed(module) else (first, second)

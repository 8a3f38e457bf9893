"""Names of the modules of each model family (`config/models/families.yaml`), and sizes of a loaded model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.files import read_yaml
from factdrift.core.paths import FAMILIES

if TYPE_CHECKING:
    from torch import nn
    from transformers import PretrainedConfig

KEYS = (
    *("title", "blocks", "mlp", "down", "mlp_matrices", "attention_out", "embedding", "final_norm"),
    *("head", "parallel", "post_norm"),
)
OPTIONAL = (
    *("experts", "shared", "shared_gate", "recurrent_out", "residual_factor"),
    *("logits_times", "logits_over"),
)
"""Keys of an entry of families.yaml: those of every family, and those of some."""
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
"""Keys of a configuration that say how long a text may be."""
ORIGINAL = "original_max_position_embeddings"
"""The key for the longest text whose rotary frequencies are the first of two sets (`longrope`)."""


@dataclass(frozen=True)
class ModelSpec:
    """Names of the modules of a model, and its sizes.

    `mlp`, `down`, `mlp_matrices` and `attention_out` are relative to a block; the other names are full names.
    Blocks may differ (`differs`), so a module inside a block is named by `module`.
    """

    family: str
    blocks: str
    mlp: str
    """The module whose output is added to the residual stream; a mixture of experts in `experts`."""
    down: str
    """The MLP's second matrix, [hidden, inner], which the editing methods change. Its input is the key."""
    mlp_matrices: tuple[str, ...]
    attention_out: str
    """The last matrix of attention, or of what mixes the tokens of a block in its place."""
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
    """The width of the keys in the first block that has a down projection; 0 if none has."""
    vocabulary: int
    positions: int
    residual_factor: float = 1.0
    """By which outputs of attention and MLP are multiplied before they are added to the residual stream."""
    logit_factor: float = 1.0
    """By which the outputs of the head are multiplied to give logits."""
    experts: frozenset[int] = frozenset()
    """Blocks whose MLP is a mixture of experts."""
    gated: bool = False
    """The shared expert of a mixture is weighted for each token."""
    recurrent: frozenset[int] = frozenset()
    """Blocks that mix tokens by a recurrent state instead of keys and values."""
    differs: Mapping[int, Mapping[str, str | None]] = field(default_factory=dict)
    """Block -> usual name of a module -> its name in that block, None if the block has none."""
    inners: Mapping[int, int] = field(default_factory=dict)
    """Block -> the width of its keys, where it is not `inner`; 0 without a down projection."""

    def module(self, layer: int, part: str) -> str:
        """The full name of a module inside block `layer`, or of the block itself if `part` is empty.

        `part` is the usual name, as `down`. Raises CannotEdit if the block has nothing in its place.
        """
        if (own := self.differs.get(layer, {}).get(part, part)) is None:
            raise CannotEdit(self.lacking(layer))
        return f"{self.blocks}.{layer}.{own}".rstrip(".")

    def has_down(self, layer: int) -> bool:
        """Whether block `layer` has one down projection, of its MLP or of a shared expert."""
        return self.differs.get(layer, {}).get(self.down, self.down) is not None

    def trained(self, layer: int) -> str:
        """Full name of the matrix that fine-tuning changes in block `layer`.

        It is the down projection or, where experts have none in common, the output projection of attention.
        """
        return self.module(layer, self.down if self.has_down(layer) else self.attention_out)

    def mixing(self, layer: int) -> str:
        """Full name of the module of block `layer` that mixes tokens: attention, or one in its place."""
        return self.module(layer, self.attention_out).rpartition(".")[0]

    def inner_at(self, layer: int) -> int:
        """The width of the keys of block `layer`; 0 if it has no down projection."""
        return self.inners.get(layer, self.inner)

    def lacking(self, layer: int) -> str:
        """Why block `layer` has no down projection, and which blocks have one, as a message."""
        dense = ", ".join(str(number) for number in range(self.layers) if self.has_down(number))
        return (
            f"mixture of experts: block {layer} of the family {self.family} has a matrix for each expert and "
            f"no down projection that every token passes{f'; blocks with one: {dense}' if dense else ''}"
        )

    def no_target(self, layer: int) -> str | None:
        """Why a missing part of the hidden state is no target for the down projection of block `layer`.

        None if what the matrix puts out is added to the hidden state, times `residual_factor`.
        """
        if self.post_norm:
            return (
                f"in the family {self.family} what the MLP puts out is normalised before it is added to "
                "the residual stream, so that the difference between wanted and current hidden state is "
                "no target for the edited matrix"
            )
        if self.gated and layer in self.experts:
            return (
                f"mixture of experts: in block {layer} of the family {self.family} what the shared expert "
                "puts out is weighted for each token before it is added to the residual stream, so that "
                "the difference between wanted and current hidden state is no target for its matrix"
            )
        return None

    def uniform(self) -> bool:
        """Whether every block has a down projection, all of the same width."""
        return all(self.inner_at(layer) == self.inner != 0 for layer in range(self.layers))


@cache
def read_families() -> dict[str, dict[str, Any]]:
    """The entries of families.yaml, by the `model_type` of a model's configuration.

    Raises InputError that names a key which an entry lacks, or which is unknown.
    """
    families: dict[str, dict[str, Any]] = read_yaml(FAMILIES)
    for name, family in families.items():
        faults = [f"{key} is missing" for key in KEYS if key not in family]
        faults += [f"{key} is no key" for key in family if key not in (*KEYS, *OPTIONAL)]
        if faults:
            raise InputError(f"{FAMILIES}: {name}: {', '.join(faults)}; see the comment in that file")
    return families


def check_listed(config: PretrainedConfig, name: str) -> None:
    """Raises Unsupported unless the family of a model, or of the language model inside it, is listed."""
    families = read_families()
    if config.model_type not in families and config.get_text_config().model_type not in families:
        raise Unsupported(
            f"models: {name} is of the family {config.model_type!r}, which is not in {FAMILIES}; if it is a "
            "decoder whose blocks add attention and MLP to a residual stream, name its modules in that file, "
            "as the entries there do"
        )


def spec_of(model: nn.Module, name: str) -> ModelSpec:
    """The module names and sizes of a loaded model, by the entry of its family in families.yaml.

    Raises Unsupported if there is no entry, or the model lacks a module of its family.
    """
    config: Any = model.config
    check_listed(config, name)
    text = config.get_text_config()
    families = read_families()
    family = families.get(config.model_type, families.get(text.model_type, {}))
    blocks, attention, down = family["blocks"], family["attention_out"], family["down"]

    def part(dotted: str) -> Any:
        try:
            return model.get_submodule(dotted)
        except AttributeError:
            raise Unsupported(
                f"models: {name} has no module {dotted}, which models of the family {config.model_type!r} "
                f"have; see {FAMILIES}"
            ) from None

    layers = range(len(part(blocks)))
    names = {found for found, _ in model.named_modules()}
    experts, recurrent = (
        frozenset(layer for layer in layers if f"{blocks}.{layer}.{family.get(key)}" in names)
        for key in ("experts", "recurrent_out")
    )
    differs: dict[int, dict[str, str | None]] = {layer: {} for layer in sorted(experts | recurrent)}
    for layer in experts:
        for matrix in (down, *family["mlp_matrices"]):
            within = matrix.removeprefix(f"{family['mlp']}.")
            differs[layer][matrix] = f"{family['shared']}.{within}" if "shared" in family else None
    for layer in recurrent:
        differs[layer][attention] = family["recurrent_out"]
    inners: dict[int, int] = {}
    for layer in layers:
        own = differs.get(layer, {})
        for inside in (family["mlp"], down, attention, *family["mlp_matrices"]):
            if own.get(inside, inside) is not None:
                part(f"{blocks}.{layer}.{own.get(inside, inside)}")
        at = own.get(down, down)
        inners[layer] = 0 if at is None else shape_of(part(f"{blocks}.{layer}.{at}"))[1]
    first = next((width for width in inners.values() if width), 0)
    for whole in (family["final_norm"], family["head"]):
        part(whole)
    if (positions := longest_text(text)) is None:
        raise Unsupported(
            f"models: {name}: its configuration (model_type {text.model_type!r}) has none of "
            f"{', '.join(POSITIONS)}, so it is not known how long a text may be; if you know, add the first "
            "one to its config.json"
        )
    return ModelSpec(
        family=config.model_type,
        **{key: family[key] for key in ("blocks", "mlp", "down", "attention_out")},
        **{key: family[key] for key in ("embedding", "final_norm", "head", "post_norm")},
        mlp_matrices=tuple(family["mlp_matrices"]),
        parallel=_says(text, family["parallel"]),
        layers=len(layers),
        hidden=shape_of(part(f"{blocks}.0.{differs.get(0, {}).get(attention) or attention}"))[0],
        inner=first,
        vocabulary=part(family["embedding"]).weight.shape[0],
        positions=positions,
        residual_factor=_number(text, family.get("residual_factor")),
        logit_factor=_number(text, family.get("logits_times")) / _number(text, family.get("logits_over")),
        experts=experts,
        gated="shared_gate" in family and bool(experts),
        recurrent=recurrent,
        differs=differs,
        inners={layer: width for layer, width in inners.items() if width != first},
    )


def longest_text(config: Any) -> int | None:
    """How many tokens a text may have at most; None if the configuration of a language model does not say.

    Of rotary frequencies with a set for short and one for long texts (`longrope`) only the first is used:
    transformers chooses by the longest text of a batch, so that a score would depend on its batch.
    """
    given = [getattr(config, key, None) for key in POSITIONS]
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    for each in (rope, *(part for part in rope.values() if isinstance(part, Mapping))):
        if each.get("rope_type", each.get("type")) in ("longrope", "su"):
            given.insert(0, each.get(ORIGINAL) or getattr(config, ORIGINAL, None))
    return next((number for number in given if isinstance(number, int)), None)


def _says(config: Any, given: bool | str | list[str]) -> bool:
    """A truth value of a family, or any of the keys of the configuration that give it."""
    if isinstance(given, bool):
        return given
    return any(bool(getattr(config, key, False)) for key in ([given] if isinstance(given, str) else given))


def _number(config: Any, key: str | None) -> float:
    """The factor that a key of the configuration gives; 1 without a key."""
    if key is None:
        return 1.0
    if not hasattr(config, key):
        raise Unsupported(
            f"models: the configuration of the type {config.model_type!r} has no {key}, which {FAMILIES} "
            "names for its family; correct the entry"
        )
    return float(getattr(config, key))


def transposed(module: nn.Module) -> bool:
    """Whether a module keeps its weight as [in, out] (GPT-2's Conv1D) instead of [out, in]."""
    return type(module).__name__ == "Conv1D"


def shape_of(module: nn.Module) -> tuple[int, int]:
    """(d_out, d_in) of a Linear or Conv1D, also of one whose weight is kept in another form."""
    given = getattr(module, "out_features", None), getattr(module, "in_features", None)
    if isinstance(given[0], int) and isinstance(given[1], int):
        return given[0], given[1]
    weight: Any = module.weight
    first, second = weight.shape
    return (second, first) if transposed(module) else (first, second)

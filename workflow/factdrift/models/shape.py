"""Tells the modules of a model of an unlisted family by their shape, and how its blocks add up by running it.

The names of a decoder's parts differ between families, their shapes hardly do: a list of like blocks between
embedding and head; in a block one part that mixes tokens and one that does not; in each a last matrix that
leads back to the hidden size. What the modules do not say is measured in one run on a few tokens
(`adding.py`): a block's output must be its input plus what attention and MLP put out. Imports torch.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn
from transformers import DynamicCache

from factdrift.core.errors import Unsupported
from factdrift.core.paths import FAMILIES
from factdrift.models.adding import measured
from factdrift.models.families import ModelSpec, Unclear, is_norm, read_families, shape_of, spec_from

MIXES = re.compile(r"att|mixer|delta|mamba|conv|temporal|recurrent", re.IGNORECASE)
"""What the name or class of a part that mixes tokens contains, if the name does not say that it does not."""
PLAIN = re.compile(r"mlp|ffn|moe|feed_?forward|expert", re.IGNORECASE)
"""What the name of a part that does not mix tokens contains."""
ENTERS = re.compile(r"(^|_)(q|k|v|qkv|kv|query|key|value|in|gate|up|w1|w3|fc1|router)(_|$|proj)|c_attn|Wqkv")
"""Names of matrices that are not the last of their part."""
LEAVES = re.compile(r"^(o_proj|out_proj|down_proj|c_proj|fc_out|fc2|w2|dense|dense_4h_to_h|wo|o)$")
"""Names of last matrices, asked for if shapes leave a choice."""


@dataclass(frozen=True)
class Part:
    """Attention or MLP of one block, with names relative to the block."""

    name: str
    last: str | None
    """The last matrix; None in a mixture of experts without a shared one."""
    matrices: tuple[str, ...]
    experts: str | None = None
    shared: str | None = None
    shared_gate: str | None = None


def spec_of(model: nn.Module, name: str) -> ModelSpec:
    """The module names and sizes of a loaded model.

    A family that is not in families.yaml is detected from its modules (`discovered`). Raises Unsupported if
    the shape is not clear, or if the model lacks a module of its family.
    """
    config: Any = model.config
    family = read_families().get(config.model_type)
    return discovered(model, name) if family is None else spec_from(model, name, family)


def discovered(model: Any, name: str) -> ModelSpec:
    """The module names and sizes of a model whose family is not listed.

    A model on the device `meta` is not run: `parallel`, `post_norm` and the factors are those of most
    families then. Raises Unsupported, with what was looked for, if the shape is not clear.
    """
    try:
        family = told(model)
        spec = spec_from(model, name, family, listed=False)
        if next(model.parameters()).device.type != "meta":
            spec = replace(spec, **measured(model, spec))
            print(f"models: {name}: {said(spec)}", file=sys.stderr)
    except Unclear as unclear:
        raise Unsupported(
            f"models: {name} is of the family {model.config.model_type!r}, which is not in {FAMILIES}, and "
            f"its shape is not clear: {unclear}. If it is a decoder whose blocks add attention and MLP to a "
            "residual stream, name its modules in that file, as the entries there do"
        ) from None
    return spec


def said(spec: ModelSpec) -> str:
    """One line about the modules that were detected."""
    mixture = f", mixture of experts in {len(spec.experts)} of them" if spec.experts else ""
    recurrent = f", recurrent state in {len(spec.recurrent)} of them" if spec.recurrent else ""
    down = spec.down if any(map(spec.has_down, range(spec.layers))) else "none"
    factors = "".join(
        f", {what} multiplied by {factor:g}"
        for what, factor in (("outputs", spec.residual_factor), ("logits", spec.logit_factor))
        if factor != 1
    )
    return (
        f"the family {spec.family!r} is not in families.yaml; detected by its shape: {spec.layers} blocks "
        f"{spec.blocks}{mixture}{recurrent}, attention's last matrix {spec.attention_out}, MLP {spec.mlp} "
        f"with down projection {down} [{spec.hidden}, {spec.inner}], MLP "
        f"{'beside' if spec.parallel else 'after'} attention, "
        f"{'post' if spec.post_norm else 'pre'}-norm{factors}"
    )


def told(model: Any) -> dict[str, Any]:
    """The entry of families.yaml that the modules give, with `parallel` and `post_norm` false.

    Raises Unclear.
    """
    names = {module: name for name, module in model.named_modules()}
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    if embedding is None or embedding not in names or head is None or head not in names:
        raise Unclear("it has no embedding of tokens or no head that leads to them")
    blocks = _blocks(model, names[embedding].rpartition(".")[0])
    config = model.config.get_text_config()
    hidden: int = getattr(config, "hidden_size", None) or embedding.weight.shape[1]
    above = blocks.rpartition(".")[0]
    norms = [name for name, child in model.get_submodule(above).named_children() if is_norm(child)]
    # A norm of the embeddings stands before the blocks; LFM2 calls its final one so.
    norms = [name for name in norms if "emb" not in name] or norms
    if not norms:
        raise Unclear(f"beside the blocks {blocks} there is no final normalisation")
    attentions, mlps = zip(
        *(
            _parts(block, f"{blocks}.{layer}", hidden)
            for layer, block in enumerate(model.get_submodule(blocks))
        ),
        strict=True,
    )
    return {
        "blocks": blocks,
        "embedding": names[embedding],
        "head": names[head],
        "final_norm": f"{above}.{norms[-1]}".lstrip("."),
        "parallel": False,
        "post_norm": False,
        **_attention(attentions, model, blocks),
        **_mlp(mlps, blocks),
    }


def _blocks(model: nn.Module, near: str) -> str:
    """The longest list of like modules beside the embedding, not inside of another one."""
    found = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList)
        and len({type(block) for block in module}) == 1
        and any(is_matrix(inside) for inside in module.modules())
        and (not near or f"{name}.".startswith(f"{near}."))
    ]
    outer = [
        (len(module), name)
        for name, module in found
        if not any(name.startswith(f"{other}.") for other, _ in found)
    ]
    best: list[tuple[int, str]] = sorted(outer, reverse=True)
    if not best or (len(best) > 1 and best[0][0] == best[1][0]):
        lists = ", ".join(name for _, name in best) or "none"
        raise Unclear(f"one longest list of like blocks was looked for beside the embedding; found: {lists}")
    return best[0][1]


def is_matrix(module: nn.Module) -> bool:
    """Whether a module is a linear map."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _parts(block: nn.Module, where: str, hidden: int) -> tuple[Part, Part]:
    """Attention and MLP of a block."""
    mixing: list[str] = []
    other: list[str] = []
    direct: list[str] = []
    for name, child in block.named_children():
        if is_matrix(child):
            direct.append(name)
        elif any(is_matrix(inside) or _holds_experts(inside) for inside in child.modules()):
            mixes = MIXES.search(name) or MIXES.search(type(child).__name__)
            (mixing if mixes and not PLAIN.search(name) else other).append(name)
    if len(mixing) != 1 or len(other) + bool(direct) != 1:
        raise Unclear(
            f"one part that mixes tokens and one MLP were looked for in {where}; found: mixing "
            f"{', '.join(mixing) or 'none'}; other {', '.join((*other, *direct)) or 'none'}"
        )
    attention = _dense(block, mixing[0], where, hidden)
    if direct:
        # The matrices of the MLP are the block's own, so that its output is that of the last one.
        last = _last(block, direct, where, hidden)
        return attention, Part(last, last, (*(name for name in direct if name != last), last))
    return attention, _mlp_of(block, other[0], where, hidden)


def _dense(block: nn.Module, name: str, where: str, hidden: int) -> Part:
    part = block.get_submodule(name)
    matrices = [f"{name}.{inside}" for inside, module in part.named_modules() if is_matrix(module)]
    last = _last(block, matrices, f"{where}.{name}", hidden)
    return Part(name, last, (*(one for one in matrices if one != last), last))


def _last(block: nn.Module, matrices: Sequence[str], where: str, hidden: int) -> str:
    """The matrix that leads back to the hidden size, by its shape or, if several fit, by its name."""
    fitting = [name for name in matrices if shape_of(block.get_submodule(name))[0] == hidden]
    for keep in (lambda own: True, lambda own: not ENTERS.search(own), LEAVES.match):
        left = [name for name in fitting if keep(name.rpartition(".")[2])]
        if len(left) == 1:
            return left[0]
        fitting = left or fitting
    raise Unclear(
        f"one last matrix, which leads to {hidden} numbers, was looked for in {where}; found: "
        f"{', '.join(fitting) or 'none'}"
    )


def _holds_experts(module: nn.Module) -> bool:
    """Whether a module holds the matrices of several experts: in one tensor, or as a list of like modules."""
    if isinstance(module, nn.ModuleList):
        return len(module) > 1 and any(is_matrix(inside) for inside in module.modules())
    return sum(value.ndim == 3 for value in module.parameters(recurse=False)) > 1


def _mlp_of(block: nn.Module, name: str, where: str, hidden: int) -> Part:
    """The MLP of a block: dense, or a mixture of experts with or without one that sees every token."""
    part = block.get_submodule(name)
    experts = [inside for inside, child in part.named_children() if _holds_experts(child)]
    if not experts:
        if _holds_experts(part) or any(_holds_experts(child) for child in part.modules()):
            raise Unclear(f"the experts of {where}.{name} are no module of their own")
        return _dense(block, name, where, hidden)
    shared = [
        inside
        for inside, child in part.named_children()
        if inside not in experts and sum(is_matrix(module) for module in child.modules()) > 1
    ]
    if len(experts) > 1 or len(shared) > 1:
        raise Unclear(f"{where}.{name} has several groups of experts: {', '.join((*experts, *shared))}")
    found = Part(name, None, (), experts=f"{name}.{experts[0]}")
    if not shared:
        return found
    dense = _dense(block, f"{name}.{shared[0]}", where, hidden)
    gates = [
        f"{name}.{inside}"
        for inside, child in part.named_children()
        if is_matrix(child) and shape_of(child)[0] == 1
    ]
    return replace(
        found,
        last=dense.last,
        matrices=dense.matrices,
        shared=dense.name,
        shared_gate=gates[0] if gates else None,
    )


def _attention(parts: Sequence[Part], model: Any, blocks: str) -> dict[str, Any]:
    """The output projections of the blocks: those of attention, and those of recurrent states."""
    kept: Any = DynamicCache(config=model.config).layers
    if len(kept) != len(parts):
        raise Unclear(
            f"the cache of its configuration is for {len(kept)} blocks, but {blocks} are {len(parts)}"
        )
    pairs = list(zip(parts, kept, strict=True))
    keyed = {part.last for part, layer in pairs if hasattr(layer, "keys")}
    recurrent = {part.last for part, layer in pairs if not hasattr(layer, "keys")}
    if len(keyed) > 1 or len(recurrent) > 1 or (keyed & recurrent):
        names = ", ".join(sorted(map(str, keyed | recurrent)))
        raise Unclear(f"the blocks {blocks} mix tokens in more than two ways: {names}")
    entry = {"attention_out": next(iter(keyed or recurrent))}
    return entry | ({"recurrent_out": next(iter(recurrent))} if recurrent else {})


def _mlp(parts: Sequence[Part], blocks: str) -> dict[str, Any]:
    """What families.yaml says of the MLPs of all blocks."""
    dense = {(part.name, part.last, part.matrices) for part in parts if part.experts is None}
    mixed = {
        (part.name, part.experts, part.shared, part.shared_gate, part.last, part.matrices)
        for part in parts
        if part.experts is not None
    }
    if len(dense) > 1 or len(mixed) > 1:
        raise Unclear(f"the MLPs of the blocks {blocks} are of more than two kinds")
    entry: dict[str, Any] = {}
    for name, experts, shared, gate, last, matrices in mixed:
        entry |= {"experts": experts} | ({"shared": shared} if shared else {})
        entry |= {"shared_gate": gate} if gate else {}
        # Usual names, which spec_from turns into those of the shared expert.
        usual = [matrix.replace(f"{shared}.", f"{name}.", 1) for matrix in matrices] or USUAL
        down = last.replace(f"{shared}.", f"{name}.", 1) if last else f"{name}.{USUAL[-1]}"
        entry |= {"mlp": name, "down": down}
        entry["mlp_matrices"] = usual if matrices else [f"{name}.{one}" for one in USUAL]
    for name, last, matrices in dense:
        entry |= {"mlp": name, "down": last, "mlp_matrices": list(matrices)}
    return entry


USUAL = ["gate_proj", "up_proj", "down_proj"]
"""Names of the matrices of an MLP, for models in which every block is a mixture without a shared expert."""

"""Tells the modules of a model of an unlisted family by their shape, and how its blocks add up by running it.

The names of a decoder's parts differ between families, their shapes hardly do: a list of like blocks between
embedding and head; in a block one part that mixes tokens and one that does not; in each a last matrix that
leads back to the hidden size. What the modules do not say is measured in one run on a few tokens: a block's
output must be its input plus what attention and MLP put out. Imports torch.
"""

import contextlib
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from factdrift.core.errors import Unsupported
from factdrift.core.paths import FAMILIES
from factdrift.models.families import ModelSpec, is_norm, read_families, shape_of, spec_from

MIXES = re.compile(r"att|mixer|delta|mamba|conv|temporal|recurrent", re.IGNORECASE)
"""What the name or class of a part that mixes tokens contains, if the name does not say that it does not."""
PLAIN = re.compile(r"mlp|ffn|moe|feed_?forward|expert", re.IGNORECASE)
"""What the name of a part that does not mix tokens contains."""
ENTERS = re.compile(r"(^|_)(q|k|v|qkv|kv|query|key|value|in|gate|up|w1|w3|fc1|router)(_|$|proj)|c_attn|Wqkv")
"""Names of matrices that are not the last of their part."""
LEAVES = re.compile(r"^(o_proj|out_proj|down_proj|c_proj|fc_out|fc2|w2|dense|dense_4h_to_h|wo|o)$")
"""Names of last matrices, asked for if shapes leave a choice."""
USUAL = ["gate_proj", "up_proj", "down_proj"]
"""Names of the matrices of an MLP, for models in which every block is a mixture without a shared expert."""
PROBE = 8
"""Tokens of the run."""
ROUNDINGS = 32
"""The largest difference that counts as rounding, relative to the largest value, in units of precision."""


class Unclear(Exception):
    """The shape does not show a module; the message says which one, or what was found instead."""


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
    outputs = f", outputs multiplied by {spec.residual_factor:g}" if spec.residual_factor != 1 else ""
    logits = f", logits multiplied by {spec.logit_factor:g}" if spec.logit_factor != 1 else ""
    return (
        f"the family {spec.family!r} is not in families.yaml; detected by its shape: {spec.layers} blocks "
        f"{spec.blocks}{mixture}{recurrent}, attention's last matrix {spec.attention_out}, MLP {spec.mlp} "
        f"with down projection {down} [{spec.hidden}, {spec.inner}], MLP "
        f"{'beside' if spec.parallel else 'after'} attention, "
        f"{'post' if spec.post_norm else 'pre'}-norm{outputs}{logits}"
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
    parts = [
        _parts(block, f"{blocks}.{layer}", hidden) for layer, block in enumerate(model.get_submodule(blocks))
    ]
    mlps = [mlp for _, mlp in parts]
    kinds = [[mlp for mlp in mlps if ("experts" in mlp) == mixed] for mixed in (True, False)]
    if any(mlp != alike[0] for alike in kinds for mlp in alike):
        raise Unclear(f"the MLPs of the blocks {blocks} are of more than two kinds")
    of_mlp = {key: value for alike in kinds for mlp in alike[:1] for key, value in mlp.items()}
    return {
        "blocks": blocks,
        "embedding": names[embedding],
        "head": names[head],
        "final_norm": f"{above}.{norms[-1]}".lstrip("."),
        "parallel": False,
        "post_norm": False,
        **_attention([attention for attention, _ in parts], model, blocks),
        **of_mlp,
    }


def _blocks(model: nn.Module, near: str) -> str:
    """The longest list of like modules beside the embedding, not inside of another one."""
    found = {
        name: len(module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList)
        and len({type(block) for block in module}) == 1
        and any(is_matrix(inside) for inside in module.modules())
        and (not near or f"{name}.".startswith(f"{near}."))
    }
    outer = [name for name in found if not any(name.startswith(f"{other}.") for other in found)]
    best: list[tuple[int, str]] = sorted(((found[name], name) for name in outer), reverse=True)
    if not best or (len(best) > 1 and best[0][0] == best[1][0]):
        lists = ", ".join(name for _, name in best) or "none"
        raise Unclear(f"one longest list of like blocks was looked for beside the embedding; found: {lists}")
    return best[0][1]


def is_matrix(module: nn.Module) -> bool:
    """Whether a module is a linear map."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _parts(block: nn.Module, where: str, hidden: int) -> tuple[str, dict[str, Any]]:
    """The last matrix of what mixes tokens in a block, and what families.yaml would say of its MLP."""
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
    attention: str = _dense(block, mixing[0], where, hidden)["down"]
    if direct:
        # The matrices of the MLP are the block's own, so that its output is that of the last one.
        last = _last(block, direct, where, hidden)
        matrices = [*(name for name in direct if name != last), last]
        return attention, {"mlp": last, "down": last, "mlp_matrices": matrices}
    return attention, _mlp_of(block, other[0], where, hidden)


def _dense(block: nn.Module, name: str, where: str, hidden: int) -> dict[str, Any]:
    part = block.get_submodule(name)
    matrices = [f"{name}.{inside}" for inside, module in part.named_modules() if is_matrix(module)]
    last = _last(block, matrices, f"{where}.{name}", hidden)
    return {"mlp": name, "down": last, "mlp_matrices": [*(one for one in matrices if one != last), last]}


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


def _mlp_of(block: nn.Module, name: str, where: str, hidden: int) -> dict[str, Any]:
    """The MLP of a block: dense, or a mixture of experts with or without one that sees every token."""
    part = block.get_submodule(name)
    children = dict(part.named_children())
    experts = [inside for inside, child in children.items() if _holds_experts(child)]
    if not experts:
        if any(map(_holds_experts, part.modules())):
            raise Unclear(f"the experts of {where}.{name} are no module of their own")
        return _dense(block, name, where, hidden)
    shared = [
        inside
        for inside, child in children.items()
        if inside not in experts and sum(is_matrix(module) for module in child.modules()) > 1
    ]
    if len(experts) > 1 or len(shared) > 1:
        raise Unclear(f"{where}.{name} has several groups of experts: {', '.join((*experts, *shared))}")
    found: dict[str, Any] = {"mlp": name, "experts": f"{name}.{experts[0]}"}
    usual = USUAL
    if shared:
        found["shared"] = f"{name}.{shared[0]}"
        matrices = _dense(block, found["shared"], where, hidden)["mlp_matrices"]
        # Usual names, which spec_from turns into those of the shared expert.
        usual = [matrix.removeprefix(f"{found['shared']}.") for matrix in matrices]
        gates = [inside for inside, child in children.items() if is_matrix(child) and shape_of(child)[0] == 1]
        found |= {"shared_gate": f"{name}.{gates[0]}"} if gates else {}
    return found | {"down": f"{name}.{usual[-1]}", "mlp_matrices": [f"{name}.{one}" for one in usual]}


def _attention(lasts: Sequence[str], model: Any, blocks: str) -> dict[str, Any]:
    """The output projections of the blocks: those of attention, and those of recurrent states."""
    kept: Any = DynamicCache(config=model.config).layers
    if len(kept) != len(lasts):
        raise Unclear(
            f"the cache of its configuration is for {len(kept)} blocks, but {blocks} are {len(lasts)}"
        )
    keyed, recurrent = (
        {last for last, layer in zip(lasts, kept, strict=True) if hasattr(layer, "keys") == wanted}
        for wanted in (True, False)
    )
    if len(keyed) > 1 or len(recurrent) > 1 or (keyed & recurrent):
        names = ", ".join(sorted(keyed | recurrent))
        raise Unclear(f"the blocks {blocks} mix tokens in more than two ways: {names}")
    entry = {"attention_out": next(iter(keyed or recurrent))}
    return entry | ({"recurrent_out": next(iter(recurrent))} if recurrent else {})


@torch.inference_mode()
def measured(model: Any, spec: ModelSpec) -> dict[str, Any]:
    """`parallel`, `post_norm`, `residual_factor` and `logit_factor` of a model whose module names are known.

    Raises Unclear if a block's output is not its input plus what attention and MLP put out, at most
    normalised or multiplied by one number; or if no key of the configuration gives the factors.
    """
    ids = torch.arange(1, min(PROBE, spec.positions) + 1)[None] % spec.vocabulary
    kind = next(model.parameters()).dtype
    precision = max(torch.finfo(kind).eps, torch.finfo(torch.float32).eps) * ROUNDINGS
    names = [spec.final_norm]
    for layer in range(spec.layers):
        names += [spec.module(layer, part) for part in ("", spec.attention_out, spec.mlp, _entry(spec))]
        names += _norms(model, spec.module(layer, ""))
    kept: dict[nn.Module, Calls] = {model.get_submodule(name): [] for name in names}

    def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        taken = args[0] if args else kwargs["hidden_states"]
        given = output[0] if isinstance(output, tuple) else output
        # Some families add to these tensors in place afterwards.
        before, after = (value.detach().double().reshape(-1, value.shape[-1]) for value in (taken, given))
        kept[module].append((before.clone(), after.clone()))

    with contextlib.ExitStack() as stack:
        for module in kept:
            stack.callback(module.register_forward_hook(keep, with_kwargs=True).remove)
        device = model.get_submodule(spec.embedding).weight.device
        logits = model(ids.to(device), use_cache=False).logits[0].double()
    seen = {name: kept[model.get_submodule(name)] for name in names}
    found = [_sum_of(seen, model, spec, layer, precision) for layer in range(spec.layers)]
    kinds = {(parallel, post_norm) for parallel, post_norm, _ in found}
    if len(kinds) > 1:
        raise Unclear("its blocks do not all add attention and MLP in the same way")
    ((parallel, post_norm),) = kinds
    config = model.config.get_text_config()
    factors = [factor for _, _, factor in found]
    _, final = seen[spec.final_norm][0]
    head = model.get_submodule(spec.head)(final.to(kind)).double()
    bound = getattr(config, "final_logit_softcapping", None)
    if bound is not None:
        logits = torch.atanh(logits / bound) * bound
    scale = float((head * logits).sum() / (head * head).sum())
    return {
        "parallel": parallel,
        "post_norm": post_norm,
        "residual_factor": _known(config, sum(factors) / len(factors), precision, "outputs of its blocks"),
        "logit_factor": _known(config, scale, precision, "its logits"),
    }


Calls = list[tuple[Tensor, Tensor]]
"""Input and output of a module in each of its calls, [tokens, width], in float64."""


def _entry(spec: ModelSpec) -> str:
    """The module that the MLP begins with: the MLP or, if it has no module of its own, its first matrix."""
    return spec.mlp if spec.mlp != spec.down else spec.mlp_matrices[0]


def _norms(model: nn.Module, block: str) -> list[str]:
    children = model.get_submodule(block).named_children()
    return [f"{block}.{name}" for name, child in children if is_norm(child)]


def _sum_of(
    seen: dict[str, Calls], model: nn.Module, spec: ModelSpec, layer: int, precision: float
) -> tuple[bool, bool, float]:
    """Whether MLP and attention of a block are parallel, whether the MLP is post-norm, and the factor."""
    name = spec.module(layer, "")
    once = [seen[spec.module(layer, part)] for part in ("", spec.attention_out, spec.mlp, _entry(spec))]
    if any(len(calls) != 1 for calls in once):
        raise Unclear(f"a part of {name} does not run once for a block")
    ((taken, given),), ((_, attention),), ((_, output),), ((entering, _),) = once
    norms = [call for norm in _norms(model, name) for call in seen[norm]]
    before = next((into for into, out in norms if torch.equal(out, entering)), entering)
    behind = next((out for into, out in norms if torch.equal(into, output)), None)
    attention = next((out for into, out in norms if torch.equal(into, attention)), attention)
    parallel = torch.equal(before, taken)
    added = output if behind is None else behind
    added = added + attention if parallel else added
    factor = float(((given - before) * added).sum() / (added * added).sum())
    miss = (given - before - factor * added).abs().max()
    largest = max(value.abs().max() for value in (given, before, added))
    if not miss <= precision * largest:
        raise Unclear(
            f"the output of {name} is not what enters it plus what attention and MLP put out (it differs by "
            f"{float(miss):.3g}, of {float(largest):.3g} at most)"
        )
    return parallel, behind is not None, factor


def _known(config: Any, factor: float, precision: float, what: str) -> float:
    """1, or the number of the configuration, or its inverse, that a measured factor equals.

    Raises Unclear if there is none.
    """
    if abs(factor - 1) <= precision:
        return 1.0
    numbers = {
        key: float(value)
        for key, value in config.to_dict().items()
        if ("scal" in key or "mult" in key) and isinstance(value, int | float) and value
    }
    for number in numbers.values():
        for candidate in (number, 1 / number):
            if abs(factor / candidate - 1) <= precision:
                return candidate
    raise Unclear(f"{what} are multiplied by {factor:.6g}, which no key of its configuration gives")

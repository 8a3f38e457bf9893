"""Describes a model from its configuration and tokenizer, without its weights. Imports torch."""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from factdrift.core.files import read_struct
from factdrift.core.paths import REAL_MODEL
from factdrift.models.bundled.real import ORIGIN, Origin
from factdrift.models.families import POSITIONS, ModelSpec, read_families, shape_of, transposed
from factdrift.models.gguf import is_gguf, read_header
from factdrift.models.loading import FOLDER, read_config, within, without_weights
from factdrift.models.quantized import described, is_quantized

Lines = Iterable[tuple[str, str]]
"""A property and its value each."""


def describe(
    name: str,
    more: Callable[[Any, ModelSpec, str], Lines],
    revision: str = "main",
    folder: Path = FOLDER,
    trust_remote_code: bool = False,
) -> str:
    """The description as text, one property a line.

    `more`: further lines, given the model without weights and the path or name from which it is loaded.
    Raises InputError if the model cannot be read or its family or tokenizer is not supported.
    """
    config, tokenizer, source = read_config(name, revision, folder, trust_remote_code)
    model, spec = without_weights(config, name, trust_remote_code)
    title = read_families()[spec.family]["title"]
    lines = [
        ("model", f"{name} ({source}, revision {revision})" if source != name else f"{name} ({revision})"),
        ("family", f"{title} ({spec.family}), {type(model).__name__}"),
        *_origin(source),
        *_sizes(model, spec),
        *_block(model, spec),
        *_tokenizer(tokenizer, spec, name),
        *more(model, spec, source),
    ]
    width = max(len(what) for what, _ in lines)
    return "\n".join(f"{what:{width}}  {text}" for what, text in lines)


def ranges(layers: list[int]) -> str:
    """Block numbers as text, with ranges for consecutive ones."""
    starts, ends = ([layer for layer in layers if layer + step not in layers] for step in (-1, 1))
    pairs = zip(starts, ends, strict=True)
    parts = ", ".join(f"{start} to {end}" if end > start else f"{start}" for start, end in pairs)
    return f"block{'s' if len(layers) > 1 else ''} {parts}"


def _origin(source: str) -> Iterator[tuple[str, str]]:
    """Where weights are from that were quantized in a GGUF file."""
    if is_gguf(source):
        kinds = read_header(source).types or "not quantized"
        yield "weights", f"computed from those of a GGUF file ({kinds})"
    elif Path(source) == REAL_MODEL:
        origin = read_struct(REAL_MODEL / ORIGIN, Origin)
        yield "origin", f"{origin.model}; {origin.license}"
        yield "weights", f"computed from {Path(origin.file).name} in {origin.package} {origin.version}"


def _sizes(model: Any, spec: ModelSpec) -> Iterator[tuple[str, str]]:
    yield "parameters", f"{sum(parameter.numel() for parameter in model.parameters()):,}"
    if is_quantized(model.config):
        yield "quantized", described(model.config)
    yield "blocks", f"{spec.layers} ({spec.blocks}.0 to {spec.blocks}.{spec.layers - 1})"
    yield "sizes", f"hidden {spec.hidden:,}, MLP {spec.inner:,}, positions {spec.positions:,}"
    text = model.config.get_text_config()
    if (whole := getattr(text, POSITIONS[0], 0) or 0) > spec.positions:
        yield "", f"of {whole:,}: beyond, all positions of a batch would have other rotary frequencies"
    heads = text.num_attention_heads
    shared = getattr(text, "num_key_value_heads", None) or heads
    keys = f"{shared} of keys and values (grouped queries)" if shared < heads else "each with keys and values"
    yield "attention", f"{heads} heads, {keys}"
    same = model.get_submodule(spec.head).weight is model.get_submodule(spec.embedding).weight
    tied = f"{'tied to' if same else 'apart from'} {spec.embedding}"
    yield "head", f"{spec.head}, {spec.vocabulary:,} entries, {tied}"


def _block(model: Any, spec: ModelSpec) -> Iterator[tuple[str, str]]:
    """How the blocks are built, and the matrices of each kind of block that methods edit."""
    yield "build", "attention and MLP side by side" if spec.parallel else "MLP after attention"
    yield "normalisation", "after the MLP (post-norm)" if spec.post_norm else "before the MLP (pre-norm)"
    if spec.residual_factor != 1:
        yield "residual stream", f"outputs of attention and MLP are multiplied by {spec.residual_factor:g}"
    if spec.logit_factor != 1:
        yield "logits", f"outputs of the head are multiplied by {spec.logit_factor:g}"
    if spec.experts:
        shared = ", with a shared expert" if spec.has_down(min(spec.experts)) else ""
        yield "mixture of experts", f"{ranges(sorted(spec.experts))}{shared}"
    if spec.recurrent:
        yield "recurrent state", f"instead of attention in {ranges(sorted(spec.recurrent))}"
    kinds: dict[tuple[str, ...], tuple[int, tuple[str, ...]]] = {}
    for layer in range(spec.layers):
        parts = spec.mlp_matrices if spec.has_down(layer) else (spec.attention_out,)
        names = tuple(spec.module(layer, part).removeprefix(f"{spec.module(layer, '')}.") for part in parts)
        kinds.setdefault((*names, str(spec.inner_at(layer))), (layer, parts))
    for layer, parts in kinds.values():
        for part in parts:
            name = spec.module(layer, part)
            module = model.get_submodule(name)
            out, into = shape_of(module)
            kept = ", kept as [in, out]" if transposed(module) else ""
            bias = "with bias" if getattr(module, "bias", None) is not None else "no bias"
            yield "matrix", f"{name}: {out:,} x {into:,}{kept}, {bias}"


def _tokenizer(tokenizer: Any, spec: ModelSpec, name: str) -> Iterator[tuple[str, str]]:
    entries = len(tokenizer)
    tokenizer = within(tokenizer, spec.vocabulary, name)
    more = f", {entries - len(tokenizer)} of them without a row of the embedding"
    less = more if entries > len(tokenizer) else ""
    yield "tokenizer", f"{type(tokenizer).__name__}, fast, {entries:,} entries{less}"
    encoded = tokenizer("a", return_special_tokens_mask=True)
    pairs = zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
    added = [token for token, special in takewhile(lambda pair: pair[1], pairs)]
    start = " ".join(tokenizer.convert_ids_to_tokens(added))
    yield "text begins", f"with {start} (added)" if start else "with its first word, nothing is added"
    ids = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("Paris", " Paris"))
    alone, inside = map(tokenizer.convert_ids_to_tokens, ids)
    same = "is the same token" if alone == inside else "is another token"
    yield "blank before a word", f"part of the word's token: {inside}; the word at the start {same}: {alone}"
    if inside[:1] and not inside[0].strip("Ġ▁ "):
        yield "", "a blank is a token of its own"
    pad = tokenizer.pad_token or tokenizer.eos_token or tokenizer.unk_token
    yield "pad token", f"{pad}" if tokenizer.pad_token else f"none; {pad} is used"

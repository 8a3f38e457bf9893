"""The memory of a GPU that a model needs to be asked, and to be edited by each method, by arithmetic.

Weights, changes and second moments are counted from the shapes of a model without weights. What a pass
through the blocks needs is what `models/scoring.py`, `methods/optimise.py` and `states/edited.py` estimate.
Imports torch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml
from factdrift.core.paths import SHAPES
from factdrift.evaluation.methods.hyperparameters import Hyper, needs, read_hyper
from factdrift.evaluation.methods.mend import HyperNet, edited_matrices
from factdrift.evaluation.methods.optimise import LOGIT_BYTES, VALUES_PER_TOKEN, edit_bytes
from factdrift.evaluation.methods.record import records
from factdrift.evaluation.methods.shared import named
from factdrift.evaluation.states.edited import check_able, matrix_bytes
from factdrift.models.families import ModelSpec, shape_of
from factdrift.models.loaded import Loaded
from factdrift.models.loading import stored_bytes, without_weights
from factdrift.models.quantized import bits_of, is_quantized
from factdrift.models.scoring import token_bytes

GPUS = (12, 16, 24, 48, 80)
"""Sizes of GPUs in GiB, as they are sold."""
USABLE, CONTEXT = 0.95, 10**9
"""The share of a GPU that programs can have, and the bytes that CUDA and its libraries take of it."""
ASKED = 512
"""Tokens of a batch of questions; larger ones are halved where they do not fit."""
LENGTH, WIDTH, TARGETS = 32, 12, 4
"""Tokens of the sentence of an edit, from its subject on, and of its target."""
SCALES = {4: 4 / 64, 8: 0.01}
"""Bits -> bytes for each number of a quantized matrix besides the number: a scale in float32 for 64 of them,
or for a row."""
SOLVED, DECOMPOSED = 2, 6
"""Matrices in float64 that are held at a time while the second moments of a block are factorised, and while
their eigenvectors are found."""
ADAPTED = 2
"""Inputs in float32 that a matrix with an adapter keeps for each token until the backward pass."""
COMBINED = 8
"""Matrices in float32 that are held at a time while an adapter is combined with others as a full matrix."""
PACKED = {
    4: {"quant_method": "bitsandbytes", "load_in_4bit": True},
    8: {"quant_method": "bitsandbytes", "load_in_8bit": True},
}
"""Bits -> the `quantization_config` of a model."""
VARIANTS = {
    **{"gpt2-xl": (16,), "gpt-j-6b": (16,), "llama-2-7b": (16, 8, 4), "llama-3-8b": (16, 8, 4)},
    **{"qwen3-4b": (16, 4), "qwen3-8b": (16, 4)},
}
"""The models of the table, each with the bits of a number of its blocks."""


class Needs(NamedTuple):
    """Bytes that a method needs beside the weights."""

    kept: int
    """Whatever the number of edits."""
    each: int
    """For each edit that is made at a time."""


def shapes() -> Mapping[str, Mapping[str, Any]]:
    """Name -> configuration of the models in config/models/shapes.yaml."""
    found: Mapping[str, Mapping[str, Any]] = read_yaml(SHAPES)
    return found


def shaped(name: str, bits: int = 16) -> Loaded:
    """A model of shapes.yaml without weights, in bfloat16 or quantized as bitsandbytes does."""
    sizes = dict(shapes()[name])
    config = AutoConfig.for_model(sizes.pop("model_type"), **sizes)
    if bits in PACKED:
        config.quantization_config = PACKED[bits]
    return _loaded(*without_weights(config, name), name)


def _loaded(model: Any, spec: ModelSpec, name: str) -> Loaded:
    """A model without weights as one on a GPU."""
    return Loaded(model, None, spec, name, "", "", torch.device("meta"), torch.bfloat16)


def weight_bytes(loaded: Loaded, source: str = "") -> int:
    """Bytes of the weights of a model on a GPU; of a quantized one those of its files, if it is a folder."""
    config, kind = loaded.model.config, loaded.dtype.itemsize
    everything: int = sum(one.numel() for one in loaded.model.parameters())
    if not is_quantized(config):
        return everything * kind
    stored = stored_bytes(Path(source)) if source else 0
    if stored:
        return stored
    packed = sum(out * into for out, into in _matrices(loaded))
    bits = bits_of(config) or 8 * kind
    return int((everything - packed) * kind + packed * (bits / 8 + SCALES.get(bits, SCALES[8])))


def _matrices(loaded: Loaded) -> Iterator[tuple[int, int]]:
    """The shapes of the matrices in the blocks."""
    for module in loaded.model.get_submodule(loaded.spec.blocks).modules():
        weight = getattr(module, "weight", None)
        if isinstance(weight, torch.Tensor) and weight.ndim == 2:
            yield weight.shape[0], weight.shape[1]


def unpacked_bytes(loaded: Loaded) -> int:
    """Bytes of the largest matrix of a quantized model as it is while it is multiplied; 0 for others."""
    if not is_quantized(loaded.model.config):
        return 0
    return max(out * into for out, into in _matrices(loaded)) * loaded.dtype.itemsize


def edit_needs(loaded: Loaded, hyper: Hyper) -> Needs:
    """What a method needs beside the weights; raises CannotEdit if it cannot edit the model."""
    check_able(loaded, hyper)
    wanted, spec = needs(hyper), loaded.spec
    if hyper.record.changes in ("text", "nothing"):
        return Needs(0, 0)
    kept = 0
    if "moments" in wanted:
        squares = [spec.inner_at(layer) ** 2 * torch.float64.itemsize for layer in hyper.layers]
        kept += sum(squares) + max(squares) * ((DECOMPOSED if "null_space_below" in hyper else SOLVED) - 1)
    if "mend" in wanted:
        with torch.device("meta"):
            net = HyperNet(edited_matrices(loaded, hyper["blocks"]), hyper["rank"], 0.0)
        kept += sum(one.numel() * one.element_size() for one in net.state_dict().values())
    names = named(hyper.record.adapter)(loaded, hyper) if hyper.record.adapter else ()
    shapes = [shape_of(loaded.model.get_submodule(name)) for name in names]
    if hyper.get("combination", "linear") != "linear":
        numbers = [out * into for out, into in shapes]
        kept += (sum(numbers) + COMBINED * max(numbers)) * loaded.change_dtype.itemsize
    if "prefixes" in hyper and not hyper.record.adapter:
        # Of WISE's texts the first ones come before a prompt; one of the others is run, too.
        drawn = sum(kind["number"] for kind in hyper["prefixes"])
        rows = 2 + hyper.get("contexts", drawn)
        run = edit_bytes(loaded, rows, WIDTH, LENGTH, TARGETS)
    else:
        # Beside an update, of the texts that are replayed all tokens are targets.
        texts = hyper.get("replayed", 0) * max(
            (kind["tokens"] for kind in hyper.get("prefixes", ())), default=0
        )
        adapted = ADAPTED * sum(into for _, into in shapes) * loaded.change_dtype.itemsize
        values = VALUES_PER_TOKEN * spec.layers * spec.hidden * loaded.dtype.itemsize + adapted
        run = (LENGTH + texts) * values + (TARGETS + texts) * LOGIT_BYTES * spec.vocabulary
    return Needs(kept, matrix_bytes(loaded, hyper) + run)


class Row(NamedTuple):
    """A model and what it needs in bytes."""

    name: str
    weights: int
    asked: int
    methods: Mapping[str, int | None]
    """Method -> with one edit at a time; None if it cannot edit the model."""


def row_of(loaded: Loaded, title: str, source: str = "") -> Row:
    """What a model needs, with the hyper-parameters that each method has for it."""
    weights = weight_bytes(loaded, source)
    beside = weights + unpacked_bytes(loaded)
    asked = beside + ASKED * token_bytes(loaded)
    methods: dict[str, int | None] = {}
    for name, record in records().items():
        if record.changes in ("text", "nothing"):
            continue
        try:
            hyper = read_hyper(name, loaded.name, sizes=lambda: loaded.spec)
            found = edit_needs(loaded, hyper)
        except InputError:
            methods[name] = None
        else:
            methods[name] = max(asked, beside + found.kept + found.each)
    return Row(title, weights, asked, methods)


def smallest(need: int | None) -> str:
    """The smallest of GPUS with at least this many bytes; `no` for None."""
    if need is None:
        return "no"
    fitting = (size for size in GPUS if need <= usable(size))
    return str(next(fitting, f"> {GPUS[-1]}"))


def usable(size: int) -> int:
    """Bytes that a program can have of a GPU of `size` GiB."""
    return int(USABLE * size * 2**30) - CONTEXT


def table(rows: Sequence[Row], said: Callable[[int | None], str] = smallest) -> str:
    """Rows as Markdown: weights in GB, then the smallest GPU on which the model is asked, and edited."""
    methods = list(rows[0].methods)
    header = ["model", "weights, GB", "asked", *methods]
    lines = [header, ["---"] * len(header)]
    for row in rows:
        cells = [said(row.asked), *(said(row.methods[name]) for name in methods)]
        lines.append([row.name, f"{row.weights / 1e9:.1f}", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def known_rows() -> list[Row]:
    """The rows of VARIANTS."""
    return [
        row_of(shaped(name, bits), name if bits == 16 else f"{name}, {bits} bits")
        for name, variants in VARIANTS.items()
        for bits in variants
    ]


def lines_of(model: Any, spec: ModelSpec, name: str, source: str) -> Iterator[tuple[str, str]]:
    """The lines of `models describe` about the memory of a GPU; `model` has no weights."""
    row = row_of(_loaded(model, spec, name), name, source)
    form = "quantized" if is_quantized(model.config) else "in bfloat16"
    yield "weights on a GPU", f"{_size(row.weights)}, {form}"
    told = [f"asked {_size(row.asked)}"]
    told += [f"{method} {_size(need)}" for method, need in row.methods.items() if need is not None]
    yield "with one edit", f"{', '.join(told)} (by estimate)"


def _size(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"

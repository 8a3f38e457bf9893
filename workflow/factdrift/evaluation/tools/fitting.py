"""The memory of a GPU that a model and each method on it need, by arithmetic.

Weights, changes and second moments are counted from the shapes of a model without weights. What a pass
through the blocks needs is what `models/scoring.py`, `methods/optimise.py` and `states/edited.py` estimate.
Imports torch.
"""

import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import Hyper, needs, read_hyper
from factdrift.evaluation.methods.optimise import LOGIT_BYTES, VALUES_PER_TOKEN, edit_bytes
from factdrift.evaluation.methods.record import records
from factdrift.evaluation.methods.shared import named
from factdrift.evaluation.states.edited import check_layers, matrix_bytes
from factdrift.models.devices import LARGE, fast_type
from factdrift.models.families import ModelSpec, shape_of
from factdrift.models.loaded import Loaded
from factdrift.models.loading import stored_bytes
from factdrift.models.quantized import bits_of, is_quantized
from factdrift.models.scoring import token_bytes

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


RUN, READ, BESIDE = 262_000, 216_000, 1.3
"""Tokens that `cutoff` runs for the bundled chains, those after which it reads the head, and how much longer
it takes than the products of matrices."""


class Needs(NamedTuple):
    """Bytes that a method needs beside the weights."""

    kept: int
    """Whatever the number of edits."""
    each: int
    """For each edit that is made at a time."""


def weight_bytes(loaded: Loaded, source: str = "") -> int:
    """Bytes of the weights of a model on a GPU; of a quantized one those of its files, if it is a folder."""
    config, kind = loaded.model.config, loaded.dtype.itemsize
    everything: int = sum(parameter.numel() for parameter in loaded.model.parameters())
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


def edit_needs(loaded: Loaded, hyper: Hyper) -> Needs:
    """What a method needs beside the weights; raises CannotEdit if it cannot edit the model."""
    check_layers(loaded, hyper)
    wanted, spec = needs(hyper), loaded.spec
    if hyper.record.changes in ("text", "nothing"):
        return Needs(0, 0)
    kept = 0
    if "moments" in wanted:
        squares = [spec.inner_at(layer) ** 2 * torch.float64.itemsize for layer in hyper.layers]
        kept += sum(squares) + max(squares) * ((DECOMPOSED if "null_space_below" in hyper else SOLVED) - 1)
    if hyper.record.editor:
        kept += named(hyper.record.editor.size)(loaded, hyper)
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
        longest = max((kind["tokens"] for kind in hyper.get("prefixes", ())), default=0)
        texts = hyper.get("replayed", 0) * longest
        adapted = ADAPTED * sum(into for _, into in shapes) * loaded.change_dtype.itemsize
        values = VALUES_PER_TOKEN * spec.layers * spec.hidden * loaded.dtype.itemsize + adapted
        run = (LENGTH + texts) * values + (TARGETS + texts) * LOGIT_BYTES * spec.vocabulary
    return Needs(kept, matrix_bytes(loaded, hyper) + run)


def needed(loaded: Loaded, source: str = "") -> tuple[int, dict[str, int | None]]:
    """Bytes of the weights, and in all: `asked`, and of each method with one edit at a time.

    Hyper-parameters are those that a method has for the model; None if it cannot edit the model.
    """
    weights = weight_bytes(loaded, source)
    beside = weights
    if is_quantized(loaded.model.config):  # the largest matrix, as it is while it is multiplied
        beside += max(out * into for out, into in _matrices(loaded)) * loaded.dtype.itemsize
    asked = beside + ASKED * token_bytes(loaded)
    in_all: dict[str, int | None] = {"asked": asked}
    for name, record in records().items():
        if record.changes in ("text", "nothing"):
            continue
        try:
            need = edit_needs(loaded, read_hyper(name, loaded.name, sizes=lambda: loaded.spec))
            in_all[name] = max(asked, beside + need.kept + need.each)
        except InputError:
            in_all[name] = None
    return weights, in_all


def lines_of(model: Any, spec: ModelSpec, name: str, source: str) -> Iterator[tuple[str, str]]:
    """The lines of `models describe` about the memory of a GPU; `model` has no weights."""
    loaded = Loaded(model, None, spec, name, "", "", torch.device("meta"), torch.bfloat16)
    weights, in_all = needed(loaded, source)
    form = "quantized" if is_quantized(model.config) else "in bfloat16"
    yield "weights on a GPU", f"{_size(weights)}, {form}"
    told = [f"{what} {_size(need)}" for what, need in in_all.items() if need is not None]
    yield "with one edit", f"{', '.join(told)} (by estimate)"
    if sum(out * into for out, into in _matrices(loaded)) > LARGE:
        seconds, kind = cutoff_seconds(loaded)
        on = f"{torch.get_num_threads()} threads of this machine, {str(kind).removeprefix('torch.')}"
        yield "its date", f"`factdrift cutoff` takes about {seconds / 60:,.0f} min of {on} (by estimate)"


def cutoff_seconds(loaded: Loaded) -> tuple[float, torch.dtype]:
    """Seconds that `cutoff` takes for the bundled chains on the CPU of this machine, and the type in which.

    By the products of matrices, at the best speed of some that are measured: that of a machine at rest.
    """
    spec, numbers = loaded.spec, sum(out * into for out, into in _matrices(loaded))
    kind = fast_type(numbers)
    taken, matrix = torch.ones(256, spec.hidden, dtype=kind), torch.ones(spec.inner, spec.hidden, dtype=kind)
    times = timeit.repeat(lambda: torch.nn.functional.linear(taken, matrix), number=1, repeat=25)
    products = RUN * numbers + READ * spec.hidden * spec.vocabulary
    return BESIDE * products / (len(taken) * matrix.numel()) * min(times), kind


def _size(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"

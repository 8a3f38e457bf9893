"""Second moments of the input k of a matrix: C = mean of k k^T over the tokens of a corpus, not centred.

ROME and MEMIT use the inverse of C to keep an edit away from directions that are common in text. Sums are in
float64, so moments of parts of a corpus can be added. Imports torch.
"""

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import torch
import transformers
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import write_json
from factdrift.core.owned import atomic_path
from factdrift.core.progress import Progress
from factdrift.models.hooks import After, hooked, stopping
from factdrift.models.loaded import Loaded
from factdrift.models.padding import batches, padded

RIDGE = 1e-6
TOKENS_PER_INPUT, FEWEST_TOKENS = 10, 200_000
"""Default number of tokens: this multiple of the width of the keys (arXiv 2506.04226), at least that many."""
KEPT = ("tokens", "model", "layer", "corpus", "ridge", "texts")
"""Attributes of Moments in the metadata of a file."""
ABOUT = "about"
"""The one key of a file's metadata: safetensors writes several in no fixed order."""
REASON = "skipped.json"
"""The file in a folder of moments that says why some blocks have none."""
PORTION = 64
"""Texts are sorted by length within this number of batches."""


@dataclass(frozen=True)
class Moments:
    """The second moments of the keys of one layer.

    They stay on the CPU; only what solves with them is kept on the device (for GPT-J 2.1 GB a layer).
    """

    total: Tensor
    """[inner, inner], float64: the sum of k k^T"""
    tokens: int
    model: str
    """Digest of the model."""
    layer: int
    corpus: str
    """SHA-256 of the tokens of the texts."""
    ridge: float = RIDGE
    """Added to the diagonal of C, relative to the mean of the diagonal, so that C can be inverted."""
    texts: str = ""
    """What the texts are, for people."""
    device: torch.device = field(default=torch.device("cpu"), compare=False)
    """Where systems are solved."""

    @property
    def matrix(self) -> Tensor:
        """C with its ridge, [inner, inner], float64, on the CPU; computed anew each time."""
        mean: Tensor = self.total / self.tokens
        return mean + self.ridge * mean.diagonal().mean() * torch.eye(
            len(mean), dtype=mean.dtype, device=mean.device
        )

    @cached_property
    def factor(self) -> Tensor:
        """The lower Cholesky factor of `matrix`, [inner, inner]; computed once for all edits."""
        factor: Tensor = torch.linalg.cholesky(self.matrix.to(self.device))
        return factor

    @cached_property
    def eigen(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues of `matrix`, ascending [inner], and its eigenvectors as columns [inner, inner]."""
        values, vectors = torch.linalg.eigh(self.matrix.to(self.device))
        return values, vectors

    def solve(self, keys: Tensor) -> Tensor:
        """C^-1 k for each row of `keys`, [n, inner]; float64."""
        return torch.cholesky_solve(keys.double().T, self.factor).T

    def __add__(self, other: Self) -> Self:
        """The moments over both corpora; raises ValueError if layer, model or ridge differ."""
        others = [name for name in ("model", "layer", "ridge") if getattr(self, name) != getattr(other, name)]
        if others:
            raise ValueError(f"moments of another {' and '.join(others)} cannot be added")
        both = hashlib.sha256(f"{self.corpus} {other.corpus}".encode()).hexdigest()
        texts = " + ".join(dict.fromkeys([self.texts, other.texts]))
        total, tokens = self.total + other.total, self.tokens + other.tokens
        return replace(self, total=total, tokens=tokens, corpus=both, texts=texts)

    def write(self, path: Path) -> None:
        about = {name: getattr(self, name) for name in KEPT}
        about |= {"torch": torch.__version__, "transformers": transformers.__version__}
        write_tensors(path, {"total": self.total}, about)


def read_layers(paths: Mapping[int, Path], loaded: Loaded) -> dict[int, Moments]:
    """The moments of blocks from their files of `Moments.write`, to be used on the model's device.

    Raises InputError if a file is missing, damaged, or of another model or block.
    """
    found = {}
    for layer, path in paths.items():
        moments = read_file(path)
        if moments.model != loaded.digest:
            raise InputError(f"{path}: of another model than {loaded.name}; delete it and make it again")
        if moments.layer != layer:
            raise InputError(
                f"{path}: has the moments of block {moments.layer}, not of block {layer}; name files by "
                "their blocks, or make this one again"
            )
        if len(moments.total) != loaded.spec.inner_at(layer) or not moments.total.isfinite().all():
            raise InputError(
                f"{path}: not finite, or not of the model's keys; make it again (edit.dtype: bfloat16)"
            )
        found[layer] = replace(moments, device=loaded.device)
    return found


def read_file(path: Path) -> Moments:
    """Reads a file of `Moments.write` of any model; raises InputError if it is missing or damaged."""
    tensors, about = read_tensors(path, "factdrift models moments")
    try:
        return Moments(tensors["total"], **{name: about[name] for name in KEPT})
    except KeyError as error:
        raise InputError(f"{path}: no second moments: {error} is missing; name another file") from None


def write_reason(folder: Path, reason: str) -> None:
    """Writes to a folder of moments why some blocks have none."""
    write_json({"reason": reason}, folder / REASON)


def check_counted(folder: Path, layers: Iterable[int]) -> None:
    """Raises CannotEdit if a block has no moments, with the reason that `write_reason` has written."""
    lacking = [layer for layer in layers if not (folder / f"{layer}.safetensors").is_file()]
    if lacking and (folder / REASON).is_file():
        raise CannotEdit(json.loads((folder / REASON).read_text(encoding="utf-8"))["reason"])


def default_tokens(loaded: Loaded, fewest: int = FEWEST_TOKENS) -> int:
    """The number of tokens over which moments are counted if nothing else is asked for."""
    return max(TOKENS_PER_INPUT * max(map(loaded.spec.inner_at, range(loaded.spec.layers))), fewest)


def check_blocks(loaded: Loaded, layers: Sequence[int]) -> None:
    """Raises InputError if the model lacks a block, and CannotEdit if a block has no down projection."""
    spec = loaded.spec
    for layer in layers:
        if not 0 <= layer < spec.layers:
            raise InputError(
                f"moments: {loaded.name} has no block {layer}, but blocks 0 to {spec.layers - 1}"
            )
        spec.module(layer, spec.down)


def count_moments(
    loaded: Loaded,
    layers: Sequence[int],
    texts: Iterable[str],
    tokens: int | None = None,
    ridge: float = RIDGE,
    batch_tokens: int = 1024,
    name: str = "",
) -> dict[int, Moments]:
    """The moments of `layers` over the first `tokens` tokens (default: `default_tokens`) of the texts `name`.

    Every token counts; a text is cut at the number of positions of the model. Warns if there are fewer tokens
    than twice the width of the keys, since C is then far from full rank. Raises InputError if there is no
    text, or the model lacks a layer or a down projection in it.
    """
    check_blocks(loaded, layers)
    spec = loaded.spec
    totals = {}
    for layer in layers:
        width = spec.inner_at(layer)
        totals[layer] = torch.zeros(width, width, dtype=torch.float64, device=loaded.device)
    last = spec.module(max(totals), spec.down)
    real = torch.empty(0)
    counted, corpus = 0, hashlib.sha256()

    def adding(layer: int) -> After:
        def add(taken: Tensor, given: Tensor) -> None:
            keys = taken[real].double()
            totals[layer].addmm_(keys.T, keys)

        return add

    functions = {spec.module(layer, spec.down): adding(layer) for layer in totals}
    wanted = tokens or default_tokens(loaded)
    progress = Progress(f"second moments of {loaded.name}", wanted, "tokens")
    with torch.inference_mode():
        for rows in _portions(loaded, texts, wanted, PORTION * batch_tokens):
            counted += sum(map(len, rows))
            for row in rows:
                corpus.update(json.dumps(row).encode())
            rows.sort(key=len)
            for indices in batches([len(row) for row in rows], batch_tokens):
                batch = [rows[index] for index in indices]
                lengths = torch.tensor([[len(row)] for row in batch], device=loaded.device)
                ids = padded(batch, loaded.device)
                real = torch.arange(ids.shape[1], device=loaded.device) < lengths
                # Hooks only here, because the model may generate the texts in between.
                with hooked(loaded.model, functions), stopping(loaded.model, last):
                    loaded.model(ids, use_cache=False)
                progress.advance(int(lengths.sum()))
    if not counted:
        raise InputError("moments.corpus: there is no text in it; name files with texts, one a line")
    widest = max(map(len, totals.values()))
    if counted < 2 * widest:
        warnings.warn(
            f"second moments of {widest} inputs from only {counted} tokens: give more text", stacklevel=2
        )
    moments = {}
    for layer, total in totals.items():
        # Processors round the two halves of K^T K differently.
        even = ((total + total.T) / 2).cpu()
        about = (counted, loaded.digest, layer, corpus.hexdigest(), ridge, name, loaded.device)
        moments[layer] = Moments(even, *about)
    return moments


def _portions(loaded: Loaded, texts: Iterable[str], wanted: int, tokens: int) -> Iterator[list[list[int]]]:
    """Token ids of texts in lists of about `tokens` tokens; the last text is cut after `wanted` in all."""
    portion: list[list[int]] = []
    held = 0
    for text in texts:
        ids = loaded.tokenizer(text, verbose=False)["input_ids"][: min(loaded.spec.positions, wanted)]
        if ids:
            portion.append(ids)
        wanted -= len(ids)
        held += len(ids)
        if not wanted:
            break
        if held >= tokens:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Writes tensors, and their description as JSON in the metadata."""
    kept = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        save_file(kept, temporary, metadata={ABOUT: json.dumps(about, sort_keys=True)})


def read_tensors(path: Path, maker: str, device: str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description that `write_tensors` wrote.

    `maker`: the command that writes such files, for messages. Raises InputError if there is no file, or it is
    not such a file.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `{maker}`")
    try:
        with safe_open(path, framework="pt", device=device) as file:
            about: dict[str, Any] = json.loads(file.metadata()[ABOUT])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, KeyError, ValueError) as error:
        raise InputError(
            f"{path}: damaged, or not written by `{maker}` ({type(error).__name__}: {error}); delete it and "
            "make it again"
        ) from None

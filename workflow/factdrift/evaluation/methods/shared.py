"""The methods by name; what they share: tokens of edits, losses of their targets, texts, random numbers.

What a method that users have written returns is checked. Prefixes are texts that are put before a prompt, so
that an edit holds in any context; the reference samples them in each process without a seed, here they are
sampled with a seed and kept in a file. Random numbers depend on a seed and on an edit, never on the batch
that it is in. Imports torch.
"""

import contextlib
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import write_json
from factdrift.core.functions import function_of, named_function, read_function
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Method
from factdrift.evaluation.methods.own import DOCUMENT, UserMethod
from factdrift.models.alignment import AlignmentError, Sentence, align
from factdrift.models.deltas import Deltas, Dense, LowRank
from factdrift.models.families import shape_of
from factdrift.models.fork import backbone, unembedded
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded
from factdrift.models.snapshot import leaving_alone
from factdrift.models.texts import sampled

Factors = tuple[Tensor, Tensor]
"""Input u of a matrix [edits, tokens, d_in], and delta = dL/d(output) [edits, tokens, d_out]."""
EPSILON = 1e-7
"""Added to standard deviations."""


def named(function: str) -> Callable[..., Any]:
    """A function that the record of a method names, MODULE.FUNCTION."""
    return named_function(__package__, function)


def method_of(hyper: Hyper) -> Method:
    """The method whose hyper-parameters these are.

    Of a user's own it is checked what it returns, and that it leaves model and tokenizer alone.
    """
    own = hyper.own
    if own is None:
        return named(hyper.record.edit)
    function = own_function(own)

    def method(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
        instead = f"a batched method returns its changes in an Edited ({DOCUMENT})"
        values = replace(hyper, settings=deepcopy(dict(hyper)))
        given = replace(artefacts, before=dict(artefacts.before), memory=deepcopy(artefacts.memory))
        with leaving_alone(loaded, f"methods: {own.given}", instead):
            made = function(loaded, edits, values, given)
        return checked(own.given, loaded, len(edits), made)

    return method


@cache
def own_function(own: UserMethod) -> Callable[..., Any]:
    """The function of a user's own method, imported; raises InputError if that fails."""
    assert own.path is not None
    if not own.module:
        return read_function(own.path, own.function, "methods")
    try:
        module = import_module(own.module)
    except Exception as error:
        raise InputError(
            f"methods: {own.given}: {own.module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return function_of(module, own.function, own.module, "methods")


def checked(given: str, loaded: Loaded, edits: int, made: Any) -> Edited:
    """What a user's own method returned for `edits` edits; those with values that are not finite have failed.

    `given`: the method as the user named it. Raises InputError that says what is wrong.
    """

    def invalid(what: str) -> InputError:
        return InputError(f"methods: {given}: {what} ({DOCUMENT})")

    if not isinstance(made, Edited):
        raise invalid(f"it returned {type(made).__name__} where an Edited is wanted")
    if not set(made.failed) <= set(range(edits)):
        raise invalid(f"failed has keys other than 0 to {edits - 1}")
    if made.contexts is not None and len(made.contexts) != edits:
        raise invalid(f"{len(made.contexts)} contexts for {edits} edits")
    if made.codebooks:
        raise invalid("it returned codebooks, which are not for your own; return changes as deltas")
    own = made.owner if made.owner is not None else list(range(edits))
    if len(own) != edits:
        raise invalid(f"owner has {len(own)} entries for {edits} edits")
    if made.deltas and made.owner is None and any(len(delta) != edits for delta in made.deltas.values()):
        raise invalid(f"{len(next(iter(made.deltas.values())))} changes for {edits} edits, without owner")
    least = min(map(len, made.deltas.values()), default=edits)
    if strange := [each for each in own if each not in range(-1, least)]:
        raise invalid(f"owner has the entry {strange[0]!r}; give the index of a change, or -1 for none")
    modules = dict(loaded.model.named_modules())
    for name, delta in made.deltas.items():
        module: Any = modules.get(name)
        if getattr(module, "weight", None) is None:
            raise invalid(f"{loaded.name} has no module {name} with a weight")
        if module.weight.ndim != 2:
            raise invalid(f"the weight of {name} is no matrix")
        if not isinstance(delta, LowRank | Dense):
            raise invalid(f"the change of {name} is {type(delta).__name__}, neither LowRank nor Dense")
        parts: dict[str, Tensor] = {what: part for what, part in vars(delta).items() if part is not None}
        if "bias" in parts and getattr(module, "bias", None) is None:
            raise invalid(f"{name} has no bias to change")
        out, into = shape_of(module)
        rank = delta.read.shape[-1] if isinstance(delta, LowRank) else 0
        shapes = {"read": (into, rank), "write": (out, rank), "weight": (out, into), "bias": (out,)}
        for what, tensor in parts.items():
            shape = (len(delta), *shapes[what])
            if tuple(tensor.shape) != shape:
                raise invalid(f"{what} of {name} has shape {tuple(tensor.shape)}; {shape} is expected")
            if tensor.device != loaded.device or tensor.dtype != loaded.change_dtype:
                raise invalid(
                    f"{what} of {name} is {tensor.dtype} on {tensor.device}; {loaded.change_dtype} on "
                    f"{loaded.device} is expected (loaded.change_dtype, loaded.device)"
                )
            finite = tensor.isfinite().flatten(1).all(1).tolist()
            for index, owner in enumerate(own):
                if owner >= 0 and not finite[owner]:
                    made.failed.setdefault(index, "diverged")
    return made


def aligned(loaded: Loaded, edits: Sequence[Edit]) -> tuple[dict[int, Sentence], dict[int, str]]:
    """Tokens of prompt and target by the index of the edit, and the reasons of edits that have none."""
    found, failed = aligned_texts(
        loaded, edits, lambda edit: [align(loaded.tokenizer, edit.prompt, edit.target)]
    )
    return {index: sentence for index, (sentence,) in found.items()}, failed


def aligned_texts(
    loaded: Loaded, edits: Sequence[Edit], texts: Callable[[Edit], list[Sentence]]
) -> tuple[dict[int, list[Sentence]], dict[int, str]]:
    """As `aligned`, of edits with several sentences each, all of which the model must be able to read."""
    sentences: dict[int, list[Sentence]] = {}
    failed: dict[int, str] = {}
    for index, edit in enumerate(edits):
        try:
            tokens = texts(edit)
        except AlignmentError as error:
            failed[index] = error.reason
            continue
        if max(len(sentence.ids) for sentence in tokens) > loaded.spec.positions:
            failed[index] = "too_long"
        else:
            sentences[index] = tokens
    return sentences, failed


def mlp_matrix(loaded: Loaded, key: str, name: str) -> str:
    """A matrix of the MLP by the last part of its name, as `ModelSpec.module` takes it.

    Raises InputError, which names the hyper-parameter `key`, if there is none.
    """
    parts = {part.rsplit(".", 1)[-1]: part for part in loaded.spec.mlp_matrices}
    if name not in parts:
        raise InputError(f"{key}: the MLP of {loaded.name} has no {name}, but {', '.join(parts)}")
    return parts[name]


def changes_of_all(
    made: Mapping[str, LowRank], places: Sequence[int], edits: int
) -> tuple[Deltas, dict[int, str]]:
    """The changes of all `edits`, from those of the edits at `places`; and why some of these failed."""
    changes: Deltas = {}
    finite = torch.ones(edits, dtype=torch.bool)
    for name, delta in made.items():
        read, write = (
            factor.new_zeros(edits, *factor.shape[1:]).index_copy(
                0, torch.tensor(places, device=factor.device), factor
            )
            for factor in (delta.read, delta.write)
        )
        changes[name] = LowRank(read, write)
        finite &= (read.isfinite().all(2).all(1) & write.isfinite().all(2).all(1)).cpu()
    return changes, dict.fromkeys((~finite).nonzero()[:, 0].tolist(), "diverged")


class Targets:
    """The targets of a batch of sentences, scored on the output of the final normalisation.

    A target token is predicted at the token before it. With `at_prompt_end`, all target tokens are predicted
    at the last token of the prompt. `starts`: the token of each sentence with which the hidden states begin
    that are scored; 0 if they are not given.
    """

    def __init__(
        self,
        loaded: Loaded,
        sentences: Sequence[Sentence],
        *,
        at_prompt_end: bool = False,
        starts: Sequence[int] | None = None,
    ):
        self._loaded = loaded
        targets = [sentence.ids[sentence.target :] for sentence in sentences]
        self.rows = [
            sentence.ids[: sentence.target] if at_prompt_end else sentence.ids[:-1] for sentence in sentences
        ]
        """The tokens to run, one list for each sentence."""
        indices = [
            [one.target - 1] * len(target) if at_prompt_end else range(one.target - 1, len(one.ids) - 1)
            for one, target in zip(sentences, targets, strict=True)
        ]
        if starts:
            indices = [[index - start for index in row] for row, start in zip(indices, starts, strict=True)]
        self._tokens, self._places = (padded(rows, loaded.device) for rows in (targets, indices))
        self._counts = torch.tensor([len(target) for target in targets], device=loaded.device)

    def losses(self, hidden: Tensor) -> Tensor:
        """[rows] the mean over the target's tokens of their negative log-probability.

        `hidden`: [rows, tokens, hidden], the output of the final normalisation.
        """
        read = hidden.gather(1, self._places[:, :, None].expand(-1, -1, hidden.shape[2]))
        logs = unembedded(self._loaded, read).log_softmax(2).gather(2, self._tokens[:, :, None])[:, :, 0]
        real = torch.arange(logs.shape[1], device=logs.device) < self._counts[:, None]
        return -(logs * real).sum(1) / self._counts

    def keep(self, rows: Tensor) -> None:
        """Drops all other rows; `self.rows` is unchanged."""
        kept = self._tokens, self._places, self._counts
        self._tokens, self._places, self._counts = (values[rows] for values in kept)


def factors_of(
    loaded: Loaded,
    names: Iterable[str],
    losses: Callable[[], Tensor],
    change: Callable[[str, Tensor], Tensor | int] = lambda name, taken: 0,
) -> tuple[Tensor, dict[str, Factors]]:
    """Runs the model by `losses`; returns these [edits], and dL/dW = delta^T u of each matrix in factors.

    `change`: what is added to the output of a matrix for its input.
    """
    kind = loaded.change_dtype
    entering: dict[str, Tensor] = {}
    zeros: dict[str, Tensor] = {}

    def add(name: str, taken: Tensor, given: Tensor) -> Tensor:
        taken = taken.to(kind)
        # A zero tensor added to the output: its gradient is dL/d(output).
        zero = torch.zeros_like(given, dtype=kind, requires_grad=True)
        entering[name], zeros[name] = taken.detach(), zero
        return (given.to(kind) + change(name, taken) + zero).to(given.dtype)

    with torch.enable_grad(), hooked(loaded.model, {name: partial(add, name) for name in names}):
        found = losses()
        # The gradient of the sum is that of each loss, since rows are independent.
        leaving = torch.autograd.grad(found.sum(), list(zeros.values()))
    return found.detach(), {name: (entering[name], delta) for name, delta in zip(zeros, leaving, strict=True)}


def gradients(
    loaded: Loaded, names: Iterable[str], sentences: Sequence[Sentence]
) -> tuple[Tensor, dict[str, Factors]]:
    """Losses -log p(target | prompt) [edits], and their gradients by each matrix in factors (section 3.1)."""
    targets = Targets(loaded, sentences)
    return factors_of(loaded, names, lambda: targets.losses(final_hidden(loaded, targets.rows)))


def final_hidden(loaded: Loaded, rows: Sequence[Sequence[int]]) -> Tensor:
    """The output of the final normalisation, [rows, longest, hidden]; padded after the end of a row."""
    hidden: Tensor = backbone(loaded)(padded(rows, loaded.device), use_cache=False)[0]
    return hidden.to(loaded.device)


class Statistics(nn.Module):
    """Mean and standard deviation of each component over all tokens seen."""

    count: Tensor
    mean: Tensor
    squares: Tensor

    def __init__(self, width: int, epsilon: float = EPSILON, released: bool = False):
        """`released`: as in UltraEdit's code, a batch counts n times its unbiased variance, of n tokens."""
        super().__init__()
        self.epsilon, self.released = epsilon, released
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("squares", torch.zeros(width))
        """The sum of squared distances from the mean."""

    @torch.no_grad()
    def see(self, values: Tensor) -> None:
        """Adds `values` [tokens, width]; batches can be cut in any way (Chan et al., 1979)."""
        count = len(values)
        if not count:
            return
        mean = values.mean(0)
        share = count / (self.count + count).to(values.dtype)
        apart = mean - self.mean
        own = ((values - mean) ** 2).sum(0)
        if self.released:
            own = own * count / (count - 1) if count > 1 else own * torch.nan
        self.squares += own + apart**2 * (self.count * share)
        self.mean += apart * share
        self.count += count

    def forward(self, values: Tensor) -> Tensor:
        """A single token becomes 0, since it is the mean."""
        spread = (self.squares / (self.count - 1).clamp(min=1)).sqrt()
        return (values - self.mean) / (spread + self.epsilon)


def generator(text: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator seeded by a text, such as a seed and the id of an edit."""
    digest = hashlib.sha256(text.encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8]) >> 1)


@contextlib.contextmanager
def seeded(text: str, device: torch.device) -> Iterator[None]:
    """Seeds the generators of torch, numpy and Python by a text, and restores their states at the end."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


def draw_prefixes(loaded: Loaded, hyper: Hyper, seed: int) -> tuple[str, ...]:
    """The empty prefix, then the sampled ones as the hyper-parameters ask for, each followed by ". "."""
    prefixes = [""]
    for index, kind in enumerate(hyper["prefixes"]):
        texts = sampled(
            loaded, kind["start"], kind["tokens"], kind["number"], seed + index, top_k=hyper["top_k"]
        )
        prefixes += [text.replace("{", " ").replace("}", " ") + ". " for text in texts]
    return tuple(prefixes)


def write_prefixes(path: Path, loaded: Loaded, hyper: Hyper, seed: int) -> None:
    """Samples the prefixes of a method on a model and writes them as JSON."""
    about = {"model": loaded.digest, "method": hyper.method, "seed": seed, "drawn": hyper["prefixes"]}
    texts = draw_prefixes(loaded, hyper, seed)
    write_json({**about, "prefixes": texts}, path)


def read_prefixes(path: Path, loaded: Loaded) -> tuple[str, ...]:
    """Reads a file of `write_prefixes`; raises InputError if it is missing, damaged or of another model.

    Raises CannotEdit if the file has the reason why there are none, `skipped`.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift edit prefixes`")
    try:
        file = json.loads(path.read_text(encoding="utf-8"))
        if "skipped" in file:
            raise CannotEdit(file["skipped"])
        model, prefixes = file["model"], tuple(file["prefixes"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: damaged, or not written by `factdrift edit prefixes` ({type(error).__name__}: "
            f"{error}); delete it and make it again"
        ) from None
    if model != loaded.digest:
        raise InputError(f"{path}: of another model than {loaded.name}; delete it and make it again")
    return prefixes

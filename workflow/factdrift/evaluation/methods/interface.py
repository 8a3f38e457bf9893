"""Input and output of an editing method, and the methods by name; what those of users return is checked.

Imports torch.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.functions import function_of, named_function, read_function
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.own import DOCUMENT, Entry
from factdrift.models.deltas import Changes, Codebook, Deltas, Dense, LowRank
from factdrift.models.families import shape_of
from factdrift.models.loaded import Loaded
from factdrift.models.memories import Memories
from factdrift.models.moments import Moments
from factdrift.models.snapshot import leaving_alone


@dataclass(frozen=True)
class Edit:
    """One fact to write into a model."""

    id: str
    prompt: str
    """A prompt that contains the subject and ends before the target."""
    subject: str
    target: str
    """The new object."""
    obsolete: str = ""
    """The object that is replaced, or empty; no method uses it."""
    replaces: tuple[str, ...] = ()
    """The ids of earlier edits of a stream whose facts end with this one; empty in the other regimes."""


Context = str | Callable[[Sequence[str]], list[str]]
"""The text before every probe of an edit, or a function that gives the text before each prompt.

A function that leaves texts out for lack of positions has `left_out`, the greatest number of them so far.
"""


@dataclass
class Edited:
    """The result of a method for E edits."""

    deltas: Deltas = field(default_factory=dict)
    codebooks: Mapping[str, Codebook | Memories] = field(default_factory=dict)
    """For methods whose changes act after some prompts only: module -> what it puts out there instead."""
    contexts: Sequence[Context] | None = None
    """For methods that change no weight: what comes before the probes of each edit."""
    failed: dict[int, str] = field(default_factory=dict)
    """Index of an edit that failed -> reason; its deltas are zero."""
    owner: list[int] | None = None
    """Index into `changes` for each fact, -1 for a failed one; None if fact i has change i."""
    steps: Tensor | None = None
    """[E] number of optimiser updates."""
    losses: Tensor | None = None
    """[E] the last loss that was computed, as the method defines it."""
    memory: Any = None
    """What the method is given as `Artefacts.memory` with the next edits, where they are made in turn."""

    @property
    def changes(self) -> Changes:
        """What hooks apply while a model is probed."""
        return {**self.deltas, **self.codebooks}

    def before(self, edit: int, prompts: Sequence[str]) -> list[str]:
        """The text that the method puts before each prompt of a probe of an edit."""
        context = self.contexts[edit] if self.contexts else ""
        return [context] * len(prompts) if isinstance(context, str) else context(prompts)


@dataclass(frozen=True)
class Artefacts:
    """Data that is computed once for each model, and changes that are in place."""

    prefixes: tuple[str, ...] = ("",)
    """Texts to put before the prompt, the empty one first."""
    moments: Mapping[int, Moments] = field(default_factory=dict)
    """Layer -> second moments of the input of its edited matrix."""
    mend: Any = None
    """MEND's trained editor."""
    before: Deltas = field(default_factory=dict)
    """The change that earlier edits made, one edit; a hook adds it while the method runs."""
    memory: Any = None
    """`Edited.memory` of the edits before, None for the first ones.

    AlphaEdit and UltraEdit have one; in a stream PROMPT, RAG and GRACE, too.
    """


@dataclass(frozen=True)
class Prepared:
    """A method with what it needs to edit a model."""

    hyper: Hyper
    artefacts: Artefacts = field(default_factory=Artefacts)
    digests: Mapping[str, str | None] = field(default_factory=dict)
    """Of the files in `artefacts`."""

    def account(self) -> dict[str, Any]:
        """Hyper-parameters and their origin, for the account of a job."""
        texts = dict.fromkeys(one.texts for one in self.artefacts.moments.values())
        return {
            "hyper": dict(self.hyper),
            "source": self.hyper.source,
            "derived": list(self.hyper.derived),
            "moments": ", ".join(texts) or None,
        }


Method = Callable[[Loaded, Sequence[Edit], Hyper, Artefacts], Edited]


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
def own_function(own: Entry) -> Callable[..., Any]:
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

    def wrong(what: str) -> InputError:
        return InputError(f"methods: {given}: {what} ({DOCUMENT})")

    if not isinstance(made, Edited):
        raise wrong(f"it returned {type(made).__name__} where an Edited is wanted")
    if not set(made.failed) <= set(range(edits)):
        raise wrong(f"failed has keys other than 0 to {edits - 1}")
    if made.contexts is not None and len(made.contexts) != edits:
        raise wrong(f"{len(made.contexts)} contexts for {edits} edits")
    if made.codebooks:
        raise wrong("it returned codebooks, which are not for your own; return changes of weights as deltas")
    own = made.owner if made.owner is not None else list(range(edits))
    if len(own) != edits:
        raise wrong(f"owner has {len(own)} entries for {edits} edits")
    if made.deltas and made.owner is None and any(len(delta) != edits for delta in made.deltas.values()):
        raise wrong(f"{len(next(iter(made.deltas.values())))} changes for {edits} edits, without owner")
    least = min(map(len, made.deltas.values()), default=edits)
    if strange := [each for each in own if each not in range(-1, least)]:
        raise wrong(f"owner has the entry {strange[0]!r}; the index of a change is expected, or -1 for none")
    modules = dict(loaded.model.named_modules())
    for name, delta in made.deltas.items():
        module: Any = modules.get(name)
        if getattr(module, "weight", None) is None:
            raise wrong(f"{loaded.name} has no module {name} with a weight")
        if module.weight.ndim != 2:
            raise wrong(f"the weight of {name} is no matrix")
        out, into = shape_of(module)
        if isinstance(delta, LowRank):
            rank = delta.read.shape[-1]
            parts: dict[str, tuple[Tensor, tuple[int, ...]]]
            parts = {"read": (delta.read, (into, rank)), "write": (delta.write, (out, rank))}
        elif isinstance(delta, Dense):
            parts = {"weight": (delta.weight, (out, into))}
            if delta.bias is not None:
                if getattr(module, "bias", None) is None:
                    raise wrong(f"{name} has no bias to change")
                parts["bias"] = (delta.bias, (out,))
        else:
            raise wrong(f"the change of {name} is {type(delta).__name__}, neither LowRank nor Dense")
        for what, (tensor, shape) in parts.items():
            if tuple(tensor.shape) != (len(delta), *shape):
                raise wrong(
                    f"{what} of {name} has shape {tuple(tensor.shape)}; {(len(delta), *shape)} is expected"
                )
            if tensor.device != loaded.device or tensor.dtype != loaded.change_dtype:
                raise wrong(
                    f"{what} of {name} is {tensor.dtype} on {tensor.device}; {loaded.change_dtype} on "
                    f"{loaded.device} is expected (loaded.change_dtype, loaded.device)"
                )
            finite = tensor.isfinite().flatten(1).all(1).tolist()
            for place, owner in enumerate(own):
                if owner >= 0 and not finite[owner]:
                    made.failed.setdefault(place, "diverged")
    return made

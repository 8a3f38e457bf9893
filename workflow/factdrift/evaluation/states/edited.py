"""Makes edits independently, sequentially, in one batch change, or interval by interval of a stream.

What a method has in place after the intervals so far is kept on disk. Imports torch.
"""

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from pickle import PicklingError, UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.owned import atomic_path
from factdrift.evaluation.methods.grace import CodebookEntry
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Prepared
from factdrift.evaluation.methods.record import MethodRecord, instead, is_unedited, records, refusal
from factdrift.evaluation.methods.shared import Statistics, method_of, named
from factdrift.evaluation.methods.wise import Side
from factdrift.evaluation.session import Session
from factdrift.evaluation.states.plain import EditedModel, InPlace, State
from factdrift.models.deltas import Codebook, Deltas, Dense, LowRank, applied, rounded
from factdrift.models.devices import free_bytes
from factdrift.models.families import ModelSpec, shape_of
from factdrift.models.loaded import Loaded
from factdrift.models.memories import Memories
from factdrift.models.quantized import described, quantization

TRAINED_COPIES = 4
"""Matrices or factors for each one that is trained: the change, its gradient, and the two moments of Adam."""
SHARE = 0.6
"""Share of the free memory that these matrices may use, by estimate."""
CPU_BYTES = 1 << 32
"""Memory for them on the CPU."""
_SAFE_CLASSES = (LowRank, Dense, Codebook, CodebookEntry, Statistics, Memories, Side)
"""The classes of what is kept, besides tensors and plain values."""


def _listed(wanted: Callable[[MethodRecord], bool]) -> str:
    """The names of some of factdrift's methods."""
    return ", ".join(name for name, record in records().items() if wanted(record))


def edited(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts, regime: str = "independent"
) -> Edited:
    """The changes that a method makes for `edits`.

    `independent`: each fact has a delta of its own, made on the unedited model. `sequential`: one delta for
    all facts, the sum of changes that were each made with the earlier ones in place. `batch`: one delta, made
    for all facts together, by methods that can. In both, methods that change no weight have one index
    or codebook, and methods that make all edits anew one change. `stream`: as `sequential`, after earlier
    calls, whose `deltas` and `memory` are `artefacts.before` and `artefacts.memory`; returns all that is then
    in place. Raises CannotEdit if the method does not support the regime, and InputError if it changes a
    block that the model does not have.
    """
    check_layers(loaded, hyper)
    record = hyper.record
    # Edits one after another are those of one batch where no weight changes, or all are made anew.
    at_once = regime == "batch" or (regime != "independent" and (record.changes != "weights" or record.whole))
    if regime == "independent" and not record.not_alone:
        result = method_of(hyper)(loaded, edits, hyper, artefacts)
    elif record.together and at_once:
        result = named(record.together)(loaded, edits, hyper, artefacts)
    elif record.in_stream and regime == "stream":
        result = named(record.in_stream)(loaded, edits, hyper, artefacts)
    elif regime in ("sequential", "stream") and record.changes == "weights":
        result = _in_turn(loaded, edits, hyper, artefacts, regime)
    else:
        raise CannotEdit(
            f"edit.regime: {regime}: {hyper.method} cannot edit so"
            f"{f' ({record.not_alone})' if regime == 'independent' else ''}; batch is for "
            f"{_listed(lambda other: bool(other.together))}; sequential for all but "
            f"{_listed(lambda other: not other.together and other.changes != 'weights')}; "
            f"stream for all but none; independent for all but {_listed(lambda other: bool(other.not_alone))}"
        )
    if regime != "independent":
        result.owner = [-1 if index in result.failed else 0 for index in range(len(edits))]
    elif result.failed and result.owner is None:
        for delta in result.deltas.values():
            for part in vars(delta).values():
                if part is not None:
                    part.detach()[list(result.failed)] = 0
    if hyper.get("precision") == "weights":
        result.deltas = rounded(loaded.model, result.deltas)
    return result


def at_a_time(loaded: Loaded, hyper: Hyper, edits: int) -> int:
    """How many of `edits` edits that are alone in a model are made and asked about at a time.

    One, if each changes the model in place; fewer than all if their matrices, with what the optimiser keeps
    for each, would by estimate not fit into the memory.
    """
    if hyper.own and hyper.own.plain:
        return 1
    if not hyper:
        return edits  # nothing is changed here, as with `none` or in a checkpoint that was made elsewhere
    check_layers(loaded, hyper)
    need = matrix_bytes(loaded, hyper)
    room = SHARE * free_bytes(loaded.device, CPU_BYTES)
    return edits if need * edits <= room else max(1, int(room / need))


def matrix_bytes(loaded: Loaded, hyper: Hyper) -> int:
    """Bytes that one edit needs at a time for full matrices, or for factors that are trained; else 0.

    Factors that are not trained are small.
    """
    spec, record = loaded.spec, hyper.record
    rough = hyper.get("precision") == "weights"
    if hyper.own is not None or record.not_alone or (record.changes != "weights" and not record.copies):
        return 0
    if record.edits == "trained":
        names = [spec.trained(layer) for layer in hyper.layers]
        copies = TRAINED_COPIES + int(rough)
    elif record.adapter:
        names = named(record.adapter)(loaded, hyper)
        copies = TRAINED_COPIES * int(hyper["rank"])
    else:
        parts = spec.mlp_matrices if record.edits == "all" else (spec.down,)
        names = [spec.module(layer, part) for layer in blocks_of(spec, hyper) for part in parts]
        copies = record.copies or int(rough)
    shapes = [shape_of(loaded.model.get_submodule(name)) for name in names]
    numbers: int = sum(out + into if record.adapter else out * into for out, into in shapes)
    return copies * numbers * loaded.change_dtype.itemsize


def check_layers(loaded: Loaded, hyper: Hyper) -> None:
    """Raises InputError if a block does not exist, would be written into quantized, or cannot be edited.

    What is trained beside quantized weights needs a gradient through them, which bitsandbytes has.
    """
    record, spec = hyper.record, loaded.spec
    for layer in hyper.layers:
        if not 0 <= layer < spec.layers:
            key = "layer" if "layer" in hyper else "layers"
            raise InputError(
                f"{hyper.method}.{key}: {loaded.name} has no block {layer}, but blocks 0 to {spec.layers - 1}"
            )
    how = quantization(loaded.model.config)
    if how and hyper.own is None and record.changes == "weights" and not record.adapter:
        raise CannotEdit(
            f"methods: {hyper.method} on {loaded.name}: its weights are quantized, so they are no matrices "
            "that could be changed; give the model without quantization, or use "
            f"{_listed(lambda other: other.changes != 'weights' or bool(other.adapter))}"
        )
    trained = hyper.own is None and record.changes in ("weights", "codebook")
    if how and trained and how.get("quant_method") != "bitsandbytes":
        raise CannotEdit(
            f"methods: {hyper.method} on {loaded.name}: training through quantized weights needs those of "
            f"bitsandbytes, not {described(loaded.model.config)}; give the model in such a form, or "
            "without quantization"
        )
    for layer in blocks_of(spec, hyper):
        reason = None if hyper.own else refusal(spec, hyper.method, layer)
        if record.edits == "output" and hyper["module"] and not spec.has_down(layer):
            reason = spec.lacking(layer)
        if reason is not None:
            advice = instead(spec, layer, hyper.method)
            raise CannotEdit(f"methods: {hyper.method} on {loaded.name}: {reason}; {advice}")


def blocks_of(spec: ModelSpec, hyper: Hyper) -> list[int]:
    """The blocks that a method edits: as its hyper-parameters say."""
    if hyper.record.edits == "all":
        return list(range(max(spec.layers - hyper.get("blocks", 0), 0), spec.layers))
    if hyper.record.edits == "named":
        return sorted({*hyper.layers, *(layer for layers in hyper["others"].values() for layer in layers)})
    return hyper.layers


def _in_turn(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts, regime: str
) -> Edited:
    """Makes edits one after another, or `turn` of them at a time; those of a turn are made together.

    They come after the edits of `artefacts.before` and `artefacts.memory`, whose changes are in the result.
    In the regime `stream` the factors of many edits become one matrix, where that is smaller.
    """
    total: Deltas = dict(artefacts.before)
    failed: dict[int, str] = {}
    memory = artefacts.memory
    make, turn = method_of(hyper), 1
    if hyper.own is None and "turn" in hyper:
        make, turn = named(hyper.record.together), hyper["turn"]
    for start in range(0, len(edits), turn):
        some = edits[start : start + turn]
        with applied(loaded.model, total, 0):
            now = replace(artefacts, before=total, memory=memory)
            result = make(loaded, some, hyper, now)
        if result.contexts is not None:
            raise CannotEdit(
                f"edit.regime: {regime}: {hyper.method} puts texts before prompts, which no others follow; "
                "choose independent"
            )
        failed |= {start + index: reason for index, reason in result.failed.items()}
        if len(result.failed) < len(some):
            total |= {name: _sum(total.get(name), delta) for name, delta in result.deltas.items()}
            memory = result.memory
        if regime == "stream":
            total = {name: folded(delta) for name, delta in total.items()}
    return Edited(total, failed=failed, memory=memory)


def _sum(before: LowRank | Dense | None, more: LowRank | Dense) -> LowRank | Dense:
    """The sum of two changes of one matrix, each with a single edit."""
    match before, more:
        case None, _:
            return more
        case LowRank(), LowRank():
            return LowRank(torch.cat([before.read, more.read], 2), torch.cat([before.write, more.write], 2))
        case Dense(), Dense():
            bias = more.bias if before.bias is None or more.bias is None else before.bias + more.bias
            return Dense(before.weight + more.weight, bias)
        case _, _:
            return _sum(_dense(before), _dense(more))


def folded(delta: LowRank | Dense) -> LowRank | Dense:
    """A change as one matrix, if its factors have more numbers."""
    if isinstance(delta, Dense):
        return delta
    (_, into, rank), out = delta.read.shape, delta.write.shape[1]
    return _dense(delta) if rank * (into + out) > into * out else delta


def _dense(delta: LowRank | Dense) -> Dense:
    return Dense(delta.write @ delta.read.transpose(1, 2)) if isinstance(delta, LowRank) else delta


class Beside(State):
    """Changes beside the model; in a stream one sum, one codebook, one index, or a text for each edit."""

    def __init__(self, loaded: Loaded, hyper: Hyper, artefacts: Artefacts, regime: str):
        super().__init__(loaded)
        self._hyper, self._artefacts = hyper, artefacts
        self._regime, self.persistent = regime, regime == "stream"
        self._made = Edited()

    @contextmanager
    def apply(self, edits: Sequence[Edit]) -> Iterator[EditedModel]:
        now = replace(self._artefacts, before=self._made.deltas, memory=self._made.memory)
        made = edited(self._loaded, edits, self._hyper, now, self._regime)
        recalled = None
        if self.persistent:
            self._made = made
            if function := self._hyper.record.recalled:
                recalled = partial(named(function), made.memory, hyper=self._hyper, loaded=self._loaded)
        names = [edit.id for edit in edits]
        yield EditedModel(self._loaded, made, names, persistent=self.persistent, recalled=recalled)

    def size(self) -> tuple[int | None, int | None]:
        # A codebook is written down twice, as a memory and for the hooks.
        memory = self._made.memory
        counted = self._hyper.record.changes == "text" or (
            isinstance(memory, list) and any(isinstance(each, CodebookEntry) for each in memory)
        )
        return size_of([self._made.deltas, memory]), len(memory) if counted else None

    def save(self, path: Path) -> None:
        parts = {name: getattr(self._made, name) for name in ("deltas", "codebooks", "memory")}
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            try:
                torch.save(parts, temporary)
            except (AttributeError, PicklingError, TypeError) as error:
                raise self._refused(path, str(error)) from None
            if self._hyper.own is not None:
                self._read(temporary)

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        self._made = Edited(**self._read(path))

    def _read(self, path: Path) -> dict[str, Any]:
        """What `save` wrote; raises InputError if it holds other objects, which could run anything."""
        try:
            with torch.serialization.safe_globals(list(_SAFE_CLASSES)):
                parts: dict[str, Any] = torch.load(path, map_location=self._loaded.device, weights_only=True)
        except UnpicklingError as error:
            why = next((line.strip() for line in str(error).splitlines() if "GLOBAL" in line), str(error))
            raise self._refused(path, why) from None
        return parts

    def _refused(self, path: Path, why: str) -> InputError:
        own = self._hyper.own
        return InputError(
            f"methods: {own.given}: the memory that it returned cannot be kept between intervals: {why}; "
            "let it be tensors, numbers, texts, and lists, tuples and dicts of these"
            if own
            else f"{path}: it holds more than a job keeps, and is not read, since that could run "
            f"anything ({why}); delete its folder"
        )


def size_of(value: Any) -> int:
    """Bytes of all tensors and texts in dicts, sequences, dataclasses and modules."""
    match value:
        case Tensor():
            return value.numel() * value.itemsize
        case str():
            return len(value.encode())
        case nn.Module():
            return size_of([*value.parameters(), *value.buffers()])
        case Mapping():
            return size_of(list(value.values()))
        case list() | tuple():
            return sum(map(size_of, value))
    if is_dataclass(value):
        return size_of([getattr(value, each.name) for each in fields(value)])
    return 0


@dataclass(frozen=True)
class Condition:
    """What a model is told, and how: an editing method with its hyper-parameters, or nothing."""

    prepared: Prepared
    regime: str
    name: str = ""
    """As tables have it, if it is not the method's."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Provenance columns that differ from the settings."""
    artefacts: Callable[[], Artefacts] | None = None
    """What the method needs besides, where it is only to be read when its turn comes."""
    trained: frozenset[str] | None = None
    """The ids of subjects on which the method was trained."""

    @property
    def method(self) -> str:
        return self.name or self.prepared.hyper.method

    @property
    def unedited(self) -> bool:
        """Whether no method makes edits here."""
        return self.regime == "checkpoint" or is_unedited(self.method)

    @property
    def persistent(self) -> bool:
        """Whether edits stay for the next steps."""
        return self.regime == "stream" and not self.unedited

    @contextmanager
    def opened(self, loaded: Loaded) -> Iterator[State]:
        """What tells the model edits; at the end of the `with` block the model is as it was.

        Raises CannotEdit if the method does not support the regime.
        """
        hyper = self.prepared.hyper
        if self.unedited:
            yield State(loaded, "" if self.regime == "checkpoint" else self.method)
        elif hyper.own is None or not hyper.own.plain:
            artefacts = self.artefacts() if self.artefacts else self.prepared.artefacts
            yield Beside(loaded, hyper, artefacts, self.regime)
        elif self.regime == "batch":
            raise CannotEdit(
                f"edit.regime: batch: {hyper.method} takes one update at a time; choose independent or "
                "sequential"
            )
        else:
            check_layers(loaded, hyper)
            state = InPlace(loaded, hyper, persistent=self.regime == "stream")
            with state.restored() if state.persistent else nullcontext():
                yield state

    def meta(self, session: Session) -> dict[str, Any]:
        """Values of the columns META, and `source`."""
        loaded, hyper, digests = session.loaded, self.prepared.hyper, self.prepared.digests
        edits = not is_unedited(self.method)
        regime = self.regime if edits else "independent"
        return {
            "model": loaded.name,
            "revision": loaded.revision,
            "model_digest": loaded.digest,
            "method": self.method,
            "hyper": hyper.digest() if edits else "",
            **{name: digests.get(name) for name in ("moments", "prefixes", "editor")},
            "regime": regime,
            "group": session.settings.group if regime in ("sequential", "batch") else None,
            "template": loaded.template,
            "dtype": str(loaded.dtype).removeprefix("torch."),
            **{name: importlib.metadata.version(name) for name in ("torch", "transformers", "factdrift")},
            "source": hyper.source if edits else None,
            **self.about,
        }

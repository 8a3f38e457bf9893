"""What a method has in place after the intervals so far, and how that is kept on disk. Imports torch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from pickle import PicklingError, UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.evaluation.methods.grace import Book, Entry
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Context, Edit, Edited
from factdrift.evaluation.methods.mend_editor import Statistics
from factdrift.evaluation.methods.registry import named
from factdrift.evaluation.methods.wise import Side
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.states.edited import check_layers, edited
from factdrift.evaluation.states.placed import Lasting, Placed
from factdrift.evaluation.states.plain import InPlace, Making
from factdrift.models.deltas import Codebook, Dense, LowRank
from factdrift.models.loaded import Loaded
from factdrift.models.memories import Memories

_KEPT = (LowRank, Dense, Codebook, Book, Entry, Statistics, Memories, Side)
"""The classes of what is kept, besides tensors and plain values."""

Recalled = Callable[[Sequence[str]], Sequence[Context]]
"""The ids of edits -> what stands before questions in the presence of each."""


@contextmanager
def standing(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Iterator[Lasting]:
    """Nothing in place yet; at the end of the `with` block the model is as it was."""
    if hyper.own is not None and hyper.own.plain:
        check_layers(loaded, hyper)
        with InPlace(loaded, hyper).begun() as making:
            yield Replayed(making)
    else:
        yield Carried(loaded, hyper, artefacts)


@dataclass(frozen=True)
class _All(Placed):
    """A model with all edits so far: one change for all, and texts by what the method remembers."""

    contexts: Recalled | None = None

    def owner(self, edit: str) -> int:
        return 0 if self.made.changes else -1

    def before(self, questions: Sequence[Question], edits: Sequence[str]) -> list[str]:
        if self.contexts is None:
            return [""] * len(questions)
        found = dict(zip(edits, self.contexts(edits), strict=True))
        told = Edited(contexts=list(found.values()))
        return Placed(self.loaded, told, list(found), self.left_out).before(questions, edits)


class Carried:
    """Changes beside the model: one sum, one codebook, one index, or a text for each edit."""

    def __init__(self, loaded: Loaded, hyper: Hyper, artefacts: Artefacts):
        self._loaded, self._hyper, self._artefacts = loaded, hyper, artefacts
        self._made = Edited()

    @contextmanager
    def put(self, edits: Sequence[Edit]) -> Iterator[Placed]:
        now = replace(self._artefacts, before=self._made.deltas, memory=self._made.memory)
        made = self._made = edited(self._loaded, edits, self._hyper, now, "stream")
        contexts: Recalled | None = None
        if recalled := self._hyper.record.recalled:
            contexts = partial(named(recalled), made.memory, hyper=self._hyper, loaded=self._loaded)
        yield _All(self._loaded, made, [edit.id for edit in edits], contexts=contexts)

    def size(self) -> tuple[int | None, int | None]:
        # A codebook is written down twice, as a memory and for the hooks.
        memory = self._made.memory
        entries = len(memory.entries) if isinstance(memory, Book) else None
        if self._hyper.record.changes == "text":
            entries = len(memory)
        return size_of([self._made.deltas, memory]), entries

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
            with torch.serialization.safe_globals(list(_KEPT)):
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


class Replayed:
    """A user's plain method, whose edits are in the model itself: they are made again to resume."""

    def __init__(self, making: Making):
        self._making = making

    @contextmanager
    def put(self, edits: Sequence[Edit]) -> Iterator[Placed]:
        loaded, made = self._making(edits)
        yield Placed(loaded, made, [edit.id for edit in edits])

    def size(self) -> tuple[int | None, int | None]:
        return None, None

    def save(self, path: Path) -> None:
        pass

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        self._making(earlier)


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
        return size_of([getattr(value, field.name) for field in fields(value)])
    return 0

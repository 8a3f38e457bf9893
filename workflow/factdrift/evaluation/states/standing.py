"""What a method has in place after the intervals so far, and how that is kept on disk. Imports torch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.evaluation.methods.grace import Book, Entry
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.mend_editor import Statistics
from factdrift.evaluation.methods.registry import named
from factdrift.evaluation.methods.wise import Side
from factdrift.evaluation.states.edited import check_layers, edited
from factdrift.evaluation.states.plain import InPlace, Making
from factdrift.models.codebooks import Codebook
from factdrift.models.deltas import Dense, LowRank
from factdrift.models.loaded import Loaded
from factdrift.models.memories import Memories

_KEPT = (LowRank, Dense, Codebook, Book, Entry, Statistics, Memories, Side)
"""The classes of what is kept, besides tensors and plain values."""


class Standing(Protocol):
    """The edits of one method that are in place."""

    def more(self, edits: Sequence[Edit]) -> dict[int, str]:
        """Makes the edits of the next interval; returns the index of each that failed, with the reason."""

    def seen(self, names: Sequence[str]) -> tuple[Loaded, Edited]:
        """The model to probe, and what is to be applied to it, for probes of the edits with these ids."""

    def held(self) -> tuple[int | None, int | None]:
        """Bytes of what is kept beside the model, and entries or texts in it; None where there are none."""

    def save(self, path: Path) -> None:
        """Writes what `resume` reads."""

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        """Puts the edits of the finished intervals in place again."""


@contextlib.contextmanager
def standing(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Iterator[Standing]:
    """Nothing in place yet; at the end of the `with` block the model is as it was."""
    if hyper.own is not None and hyper.own.plain:
        check_layers(loaded, hyper)
        with InPlace(loaded, hyper).begun() as making:
            yield Replayed(making)
    else:
        yield Carried(loaded, hyper, artefacts)


class Carried:
    """Changes beside the model: one sum, one codebook, one index, or a text for each edit."""

    def __init__(self, loaded: Loaded, hyper: Hyper, artefacts: Artefacts):
        self._loaded, self._hyper, self._artefacts = loaded, hyper, artefacts
        self._made = Edited()

    def more(self, edits: Sequence[Edit]) -> dict[int, str]:
        now = replace(self._artefacts, before=self._made.deltas, memory=self._made.memory)
        self._made = edited(self._loaded, edits, self._hyper, now, "stream")
        return self._made.failed

    def seen(self, names: Sequence[str]) -> tuple[Loaded, Edited]:
        made = self._made
        owner = [0] * len(names) if made.changes else None
        found = Edited(made.deltas, codebooks=made.codebooks, owner=owner)
        if recalled := self._hyper.record.recalled:
            found.contexts = named(recalled)(made.memory, names, self._hyper, self._loaded)
        return self._loaded, found

    def held(self) -> tuple[int | None, int | None]:
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
            torch.save(parts, temporary)
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
            own = self._hyper.own
            raise InputError(
                f"methods: {own.given}: the memory that it returned cannot be kept between intervals: {why}; "
                "let it be tensors, numbers, texts, and lists, tuples and dicts of these"
                if own
                else f"{path}: it holds more than a job keeps, and is not read, since that could run "
                f"anything ({why}); delete its folder"
            ) from None
        return parts


class Replayed:
    """A user's plain method, whose edits are in the model itself: they are made again to resume."""

    def __init__(self, making: Making):
        self._making = making
        self._loaded: Loaded | None = None

    def more(self, edits: Sequence[Edit]) -> dict[int, str]:
        self._loaded, made = self._making(edits)
        return made.failed

    def seen(self, names: Sequence[str]) -> tuple[Loaded, Edited]:
        assert self._loaded is not None
        return self._loaded, Edited()

    def held(self) -> tuple[int | None, int | None]:
        return None, None

    def save(self, path: Path) -> None:
        pass

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        self.more(earlier)


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

"""What is to be known of a method besides its hyper-parameters: `record` in config/methods/METHOD.yaml.

Regimes, plans, tables and rules read it; no module but its own contains a method's name. What methods edit in
a model, and which cannot because of its architecture, follows from it, too. Does not import torch.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.figures import SOFT, series
from factdrift.core.files import as_struct
from factdrift.core.paths import METHODS
from factdrift.evaluation.methods.own import file_of

if TYPE_CHECKING:
    from factdrift.models.families import ModelSpec

CONTEXT = "context"
"""The state of a model that has the new fact before each question, in the words of the benchmark."""
UNEDITED = ("none", CONTEXT)
"""States without any editing method, in which every benchmark is asked."""
RETRIEVED = "retrieved-"
"""The beginning of the names of states with documents of a retriever before a question."""


STATED = ("today=", "library=", "tool=")
"""The beginnings of the names of states with a day, or with results of a search, before a question."""


def is_unedited(state: str) -> bool:
    """Whether a state is without any editing method."""
    return state in UNEDITED or state.startswith((RETRIEVED, *STATED))


DOWN = ("values", "states", "all", "named")
"""What of a block methods edit that need its down projection."""


class TrainedEditor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The functions that make and read a network that is trained to edit; named as those of a method.

    Of each model it is in the file `editor_file`, beside one with the subjects on which it was trained.
    """

    train: str
    """Trains it and writes its file: (loaded, split of facts, hyper, output, seed)."""
    convert: str = ""
    """Makes its file of a published checkpoint: (checkpoint, loaded, hyper, output); empty if it cannot."""
    read: str
    """The editor from the tensors and the description in its file: (tensors, about, loaded)."""
    size: str
    """Bytes that it takes while edits are made: (loaded, hyper)."""


def editor_file(method: str) -> str:
    """The file of a method's trained editor, in the folder of a model."""
    return f"{method}.safetensors"


def subjects_file(method: str) -> str:
    """The file with the subjects on which it was trained."""
    return f"{method}_split.json"


class MethodRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One method. Functions: MODULE.FUNCTION of `factdrift.evaluation.methods`; empty for none."""

    place: int = 1000
    """Its place among the methods in tables and lists."""
    title: str = ""
    """In tables; empty for its name."""
    edit: str = ""
    """Makes independent edits (`interface.Method`)."""
    together: str = ""
    """Makes one change for all edits (regime `batch`)."""
    in_stream: str = ""
    """Makes the edits of an interval after earlier ones, if that is more than a sum of changes."""
    recalled: str = ""
    """What stands before the prompts of some edits of a stream, for methods that keep texts."""
    changes: Literal["weights", "codebook", "text", "nothing"] = "weights"
    edits: Literal["trained", "values", "states", "all", "named", "output", ""] = ""
    """What it edits of a block: one matrix, `ModelSpec.trained`, by training it; what the down projection
    puts out for a key (`values`); a hidden state, by the down projections of some blocks (`states`); all
    matrices of the MLP; those that its hyper-parameters name; what a module puts out (`output`)."""
    adapter: str = ""
    """The names of the matrices that it changes, if changes are trained beside them, also quantized ones."""
    whole: bool = False
    """Whether what it makes for further edits takes the place of what it had made, instead of being added."""
    not_alone: str = ""
    """Why one edit by itself is not made; empty if it is."""
    copies: int = 0
    """Full matrices that one edit needs at a time, if its changes are full and none of the weights."""
    block: Literal["layer", "layers", ""] = ""
    """The hyper-parameter that names the block of an edit that can be made at any block."""
    editor: TrainedEditor | None = None
    """What is trained once for each model, before the first edit."""

    def modules(self) -> list[str]:
        """The modules of its functions, by their dotted names."""
        functions = [self.edit, self.together, self.in_stream, self.recalled, self.adapter]
        if self.editor:
            functions += [self.editor.train, self.editor.convert, self.editor.read]
        names = {function.rpartition(".")[0] for function in functions if function}
        return sorted(f"{__package__}.{name}" for name in names)


OWN = MethodRecord()
"""The record of the methods of users, and of checkpoints that were made elsewhere."""


@cache
def records() -> dict[str, MethodRecord]:
    """Name -> record of each method of factdrift, by their places; what it leaves out is as in `like`.

    Raises InputError that names file and key if a record is not as it must be.
    """
    by_name = {}
    for path in METHODS.glob("*.yaml"):
        file, _ = file_of(path.stem, METHODS)
        record = as_struct(file.get("record"), MethodRecord, f"{path}: record")
        if record.block and record.block not in file["keys"]:
            raise InputError(f"{path}: record.block: {record.block} is not among its keys")
        if record.editor and "validation_share" not in file["keys"]:
            raise InputError(f"{path}: record.editor: the key validation_share is missing; add it to keys")
        by_name[path.stem] = record
    return dict(sorted(by_name.items(), key=lambda each: each[1].place))


def record_of(method: str) -> MethodRecord:
    """The record of a method by its name; `OWN` if it is none of factdrift's."""
    return records().get(method, OWN)


def trained_editors() -> dict[str, TrainedEditor]:
    """Method -> its trained editor, of the methods that have one."""
    return {name: record.editor for name, record in records().items() if record.editor}


def style_of(method: str) -> dict[str, Any]:
    """Colour and dashes of a method's curve, the same in all figures."""
    if is_unedited(method):
        return {"color": SOFT, "linestyle": "-"}
    record = record_of(method)
    return series(record.place - 1 if record is not OWN else zlib.crc32(method.encode()))


def title_of(method: str) -> str:
    """The method as tables name it."""
    return record_of(method).title or method


class Skipped(NamedTuple):
    """A method that does not run on a model."""

    model: str
    method: str
    skipped: str
    """The reason."""


def skipped_methods(skipped: Sequence[Skipped]) -> Iterator[str]:
    """A line for each model and reason, with the methods that do not run on it."""
    for model, reason in dict.fromkeys((skip.model, skip.skipped) for skip in skipped):
        named = [skip.method for skip in skipped if (skip.model, skip.skipped) == (model, reason)]
        yield f"{', '.join(named)} on {model}: {reason}"


def refusal(spec: ModelSpec, method: str, layer: int) -> str | None:
    """Why a method cannot edit block `layer` of a model; None if it can. Methods of users are not refused."""
    edits = record_of(method).edits
    if edits in DOWN and not spec.has_down(layer):
        return spec.lacking(layer)
    return spec.no_target(layer) if edits == "states" else None


def instead(spec: ModelSpec, layer: int, method: str) -> str:
    """The other methods that can edit block `layer` of a model, as advice."""
    able = [name for name, record in records().items() if record.changes != "nothing" and name != method]
    return f"use {', '.join(name for name in able if not refusal(spec, name, layer))} or one of your own"


def refused(spec: ModelSpec) -> Iterator[str]:
    """The methods that cannot edit some blocks of a model, each with the blocks and the reason."""
    from factdrift.models.describe import ranges

    lines: dict[tuple[str, str], list[str]] = {}
    for method in records():
        for lacking in (True, False):
            blocks = [layer for layer in range(spec.layers) if spec.has_down(layer) != lacking]
            reasons = {layer: reason for layer in blocks if (reason := refusal(spec, method, layer))}
            if reasons:
                where = ranges(list(reasons))
                lines.setdefault((where, next(iter(reasons.values()))), []).append(method)
    for (where, reason), methods in lines.items():
        yield f"{', '.join(methods)} in {where}: {reason}"

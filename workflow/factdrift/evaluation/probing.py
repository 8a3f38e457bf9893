"""Fields of commands that choose edits, read questions, or run an editing method."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from factdrift.core.errors import InputError
from factdrift.core.files import sha256_of_all
from factdrift.core.jobs import Flag, Job, Key, Paths, Place, Role
from factdrift.core.paths import METHODS
from factdrift.evaluation.methods.hyperparameters import Hyper, needs, read_hyper
from factdrift.evaluation.methods.interface import Artefacts
from factdrift.evaluation.methods.own import entry
from factdrift.evaluation.methods.record import CONTEXT, is_unedited
from factdrift.evaluation.questions.question import Benchmark, Tables, read, record_of
from factdrift.models.running import RunsModel

if TYPE_CHECKING:
    from factdrift.evaluation.questions.updates import Choice
    from factdrift.models.loaded import Loaded

Strict = Annotated[bool, "fail if the method cannot edit the model; else it is skipped", Role("resources")]
"""A resource, since a job that has succeeded need not run again for it."""

Recall = Annotated[Paths, "of bundled models", Flag("FOLDER")]
"""Whose shares of what they were taught a table says below itself."""


class OfSelection(Job):
    """A command that chooses updates and makes edits of them."""

    scenarios: Annotated[tuple[str, ...], Key("edit.scenarios")]
    split: Annotated[Literal["all", "train", "test"], Key("edit.split")]
    limit: Annotated[int, "edits, or edits of chains, drawn with the seed; 0 for all"] = 0
    archive_target: Annotated[str, Key("edit.archive_target"), Flag("TEXT")]
    dated: Annotated[bool, Key("edit.dated")]
    entities: Annotated[Paths, "of the dumps: their aliases are accepted in writing", Flag("PARQUET")] = ()
    seed: Annotated[int, Key("seed")]

    def choice(self) -> Choice:
        from factdrift.evaluation.questions.updates import Choice

        return Choice(**{name: getattr(self, name) for name in Choice._fields if hasattr(self, name)})


class OfQuestions(Job, implied_inputs="words"):
    """A command that reads the questions of a benchmark."""

    benchmark: Annotated[str, "a name (config/benchmarks)"]
    questions: Annotated[Paths, "edits of `edit dataset`; tr_items; asof; ripples, edits; klob_c, _r"]
    edits: Annotated[
        Path | None, "edits that the questions of asof and klob, or of tempripple on a stream, are about"
    ] = None
    facts: Annotated[Path | None, "tr_facts: the edits of tempripple"] = None
    limit: Annotated[int, Key("answer.limit")]
    seed: Annotated[int, Key("seed")]

    def check(self) -> None:
        super().check()
        record_of(self.benchmark)

    def read(self, open_: bool = False) -> Benchmark:
        """The questions, with the edits that they are about; `open_`: also items without options."""

        tables = Tables(self.questions, self.edits, self.facts, self.limit, self.seed, open_)
        return read(self.benchmark, tables)


class OfMethodValues(Job, implied_inputs="values"):
    """A command that takes hyper-parameters; its rule also has the methods' files."""

    set: Annotated[
        dict[str, Any], "your hyper-parameters as a JSON object; keys: config/methods/METHOD.yaml"
    ] = dataclasses.field(default_factory=dict)
    methods: Annotated[Place, "of the methods' files", Flag("FOLDER", by_hand=True)] = METHODS

    def check(self) -> None:
        super().check()
        method = getattr(self, "method", CONTEXT)
        if not is_unedited(method):
            entry(method, self.methods)

    def hyper_of(self, model: Loaded, method: str) -> Hyper:
        """The hyper-parameters of a method for a model."""
        return read_hyper(method, model.name, self.set, self.methods, sizes=lambda: model.spec)


class RunsMethod(RunsModel, OfMethodValues):
    """A command that runs an editing method on a model."""

    method: Annotated[str, "a name (config/methods), PATH.py:FUNCTION or an entry point"]
    prefixes: Annotated[Path | None, "what `edit prefixes` wrote", Flag("JSON")] = None
    moments: Annotated[
        Path | None, "what `models moments` wrote; none: of text that the model writes", Flag("FOLDER")
    ] = None
    editor: Annotated[Path | None, "what `edit train-editor` wrote", Flag("SAFETENSORS")] = None

    def digests(self, hyper: Hyper, model: Loaded) -> dict[str, str | None]:
        """Digests of the files that the method needs; None for those that it does not."""

        files = {option: self._files(option, hyper, model) for option in ("moments", "prefixes", "editor")}
        return {option: sha256_of_all(paths) if paths else None for option, paths in files.items()}

    def artefacts(self, hyper: Hyper, model: Loaded) -> Artefacts:
        """What the method needs besides the model, read from its files.

        Raises CannotEdit if a job has written a reason in the place of a file, and InputError if one is
        missing.
        """
        from factdrift.evaluation.methods.editors import read_editor
        from factdrift.evaluation.methods.shared import read_prefixes
        from factdrift.models.moments import read_layers

        options = ("prefixes", "editor", "moments")
        prefixes, editor, moments = (self._files(option, hyper, model) for option in options)
        return Artefacts(
            prefixes=read_prefixes(prefixes[0], model) if prefixes else ("",),
            moments=read_layers(dict(zip(hyper.layers, moments, strict=True)) if moments else {}, model),
            editor=read_editor(editor[0], hyper, model) if editor else None,
        )

    def _files(self, option: str, hyper: Hyper, model: Loaded) -> list[Path]:
        """What the method needs of an option: second moments of each block. Raises as `artefacts`.

        Without a folder of moments they are those over text that the model writes.
        """
        from factdrift.models.moments import check_counted
        from factdrift.models.sampled import sampled_moments

        if option not in needs(hyper):
            return []
        path: Path | None = getattr(self, option)
        if path is None and option == "moments":
            return list(sampled_moments(model, hyper.layers).values())
        if path is None:
            raise InputError(f"{hyper.method} on {model.name} needs a file: name it with --{option}")
        if option != "moments":
            return [path]
        check_counted(path, hyper.layers)
        return [path / f"{layer}.safetensors" for layer in hyper.layers]


def read_shard(text: str) -> tuple[int, int]:
    """`0-of-4` as (0, 4). Raises InputError."""
    place, separator, count = text.partition("-of-")
    if not (separator and place.isdigit() and count.isdigit() and int(place) < int(count)):
        raise InputError(f"--shard: {text!r} is not a shard such as 0-of-4")
    return int(place), int(count)

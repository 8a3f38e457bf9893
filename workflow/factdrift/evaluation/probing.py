"""Fields of commands that choose edits, probe a model, run an editing method on it, or score the runs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place, Role
from factdrift.core.keys import read_json
from factdrift.core.paths import METHODS
from factdrift.evaluation.methods.own import entry
from factdrift.evaluation.methods.plan import needs
from factdrift.evaluation.settings import Probing, Settings, check_regime
from factdrift.models.running import RunsModel, Template

if TYPE_CHECKING:
    from factdrift.evaluation import session as job
    from factdrift.evaluation.methods.hyperparameters import Hyper
    from factdrift.evaluation.methods.interface import Artefacts, Prepared
    from factdrift.evaluation.questions.updates import Choice
    from factdrift.models.loaded import Loaded

Strict = Annotated[bool, "fail if the method cannot edit the model; else it is skipped", Role("resources")]
"""A resource, since a job that has succeeded need not run again for it."""


Recall = Annotated[Paths, "of bundled models", Flag("FOLDER")]
"""Whose shares of what they were taught a table says below itself."""


class Choosing(Job):
    """A command that chooses updates and makes edits of them."""

    scenarios: Annotated[tuple[str, ...], Key("edit.scenarios")]
    split: Annotated[Literal["all", "train", "test"], Key("edit.split")]
    limit: Annotated[int, "edits, or edits of chains, drawn with the seed; 0 for all"] = 0
    archive_target: Annotated[str, Key("edit.archive_target"), Flag("TEXT")]
    seed: Annotated[int, Key("seed")]

    def choice(self) -> Choice:
        from factdrift.evaluation.questions.updates import Choice

        return Choice(self.scenarios, self.split, self.limit, self.archive_target, self.seed)


class ProbesModel(RunsModel):
    """A command that probes a model."""

    edits: Path
    aligned: Path
    unaligned: Path
    template: Template
    settings: Annotated[Probing, Key("edit")]
    parts: Annotated[Place, "of finished batches", Flag("FOLDER")]

    @contextmanager
    def probing(self) -> Iterator[job.Job]:
        """The loaded model with its aligned sentences.

        Raises InputError if `aligned` was not made with the model's tokens and the template, or the regime is
        that of other jobs.
        """
        settings = self.how()
        with self.loaded() as model:
            from factdrift.evaluation.questions.probes import check_aligned, read_aligned
            from factdrift.evaluation.session import Job

            sentences = read_aligned(self.aligned)
            check_aligned(sentences, model, self.aligned)
            yield Job(model, sentences, settings)

    def how(self) -> Settings:
        """The settings; edits are independent where these do not say how they are made together."""
        if isinstance(self.settings, Settings):
            check_regime(self.settings)
            return self.settings
        common = {name: getattr(self.settings, name) for name in Probing.__struct_fields__}
        return Settings(**common, regime="independent", group=1)


class Adjusted(Job, beside="values"):
    """A command that takes hyper-parameters; its rule also has the methods' files."""

    set: Annotated[
        dict[str, Any], "your hyper-parameters as a JSON object; keys: config/methods/METHOD.yaml"
    ] = dataclasses.field(default_factory=dict)
    methods: Annotated[Place, "of the methods' files", Flag("FOLDER", by_hand=True)] = METHODS

    def hyper_of(self, model: Loaded, method: str) -> Hyper:
        """The hyper-parameters of a method for a model."""
        from factdrift.evaluation.methods.hyperparameters import hyper_of

        return hyper_of(model, method, self.set, self.methods)


class RunsMethod(Adjusted):
    """A command that runs an editing method."""

    method: Annotated[str, "a name (config/methods), PATH.py:FUNCTION or an entry point"]
    prefixes: Annotated[Path | None, "what `edit prefixes` wrote", Flag("JSON")] = None
    moments: Annotated[Path | None, "what `models moments` wrote", Flag("FOLDER")] = None
    mend: Annotated[Path | None, "MEND's trained editor", Flag("FILE")] = None

    def hyper(self, model: Loaded) -> Hyper:
        """The method's hyper-parameters for a model."""
        return self.hyper_of(model, self.method)

    def prepared(self, model: Loaded) -> Prepared:
        """The method with what it needs for a model; prints where its hyper-parameters are from."""
        from factdrift.evaluation.methods.interface import Prepared

        hyper = self.hyper(model)
        print(f"{hyper.method} on {model.name}: {hyper.source}", flush=True)
        return Prepared(hyper, *self.artefacts(hyper, model))

    def artefacts(self, hyper: Hyper, model: Loaded) -> tuple[Artefacts, dict[str, str | None]]:
        """Reads the files that the method needs besides the model; returns them and their digests.

        Raises CannotEdit if a job has written a reason in the place of a file, and InputError if one is
        missing.
        """
        from factdrift.evaluation.checkpoints import digest
        from factdrift.evaluation.methods.artefacts.prefixes import read_prefixes
        from factdrift.evaluation.methods.interface import Artefacts
        from factdrift.evaluation.methods.mend_editor import read_hypernet
        from factdrift.models.moments import check_counted, read_moments

        wanted = {option: getattr(self, option) for option in needs(hyper)}
        for option, path in wanted.items():
            if path is None:
                raise InputError(f"{hyper.method} on {model.name} needs a file: name it with --{option}")
        moments = {}
        if folder := wanted.get("moments"):
            check_counted(folder, hyper.layers)
            moments = {layer: folder / f"{layer}.safetensors" for layer in hyper.layers}
        prefixes, mend = wanted.get("prefixes"), wanted.get("mend")
        found = Artefacts(
            prefixes=read_prefixes(prefixes, model) if prefixes else ("",),
            moments={layer: read_moments(path, model) for layer, path in moments.items()},
            mend=read_hypernet(mend, model) if mend else None,
        )
        files = {"moments": list(moments.values()), "prefixes": [prefixes] if prefixes else []}
        files["mend"] = [mend] if mend else []
        return found, {name: digest(paths) for name, paths in files.items()}


class MakesEdits(ProbesModel, RunsMethod):
    """A command that makes and probes the edits of a method, and says what was run and what it cost."""

    ability: Annotated[Path | None, "what `edit ability` wrote", Flag("JSON")] = None
    strict: Strict = False
    out_probes: Output
    out_edits: Output
    out_costs: Annotated[Output, Flag("JSON")]

    @contextmanager
    def probing(self) -> Iterator[job.Job]:
        """As of any command that probes a model, with the ability that is measured besides."""
        from factdrift.evaluation.ability.record import read_ability

        with super().probing() as job:
            if self.ability:
                job.ability = read_ability(self.ability, job.loaded)
            yield job

    def write_account(self, parts: Iterator[dict[str, Any]], nothing: Callable[[], None]) -> None:
        """Writes `out_costs`: what was run, and `parts`, as far as they came.

        If one of them raises CannotEdit and the command is not strict, calls `nothing` to write empty tables,
        and the account has the reason.
        """
        from factdrift.core.owned import atomic_path

        account: dict[str, Any] = {"model": self.name, "method": entry(self.method, self.methods).name}
        account |= {"device": "", "threads": self.threads}
        try:
            for part in parts:
                account |= part
        except CannotEdit as error:
            if self.strict:
                raise
            print(f"{account['method']} on {account['model']}: skipped: {error}")
            nothing()
            account |= {"skipped": str(error), "batches": []}
        with atomic_path(self.out_costs) as path:
            path.write_text(json.dumps(account, indent=1) + "\n", encoding="utf-8")


def read_shard(text: str) -> tuple[int, int]:
    """`0-of-4` as (0, 4). Raises InputError."""
    place, separator, count = text.partition("-of-")
    if not (separator and place.isdigit() and count.isdigit() and int(place) < int(count)):
        raise InputError(f"--shard: {text!r} is not a shard such as 0-of-4")
    return int(place), int(count)


class Scoring(Job, beside="models"):
    """A command that computes scores from the tables of all models and methods."""

    edits: Path
    unaligned: Annotated[Paths, "of each model"]
    base_probes: Annotated[Paths, "of each model"]
    base_clozes: Annotated[Paths, "of each model"]
    run_probes: Annotated[Paths, "of each job"] = ()
    run_edits: Annotated[Paths, "of each job"] = ()
    costs: Annotated[Paths, "of each job", Flag("JSON")] = ()
    skipped: Annotated[str, "[model, method, reason] of methods without a job", Flag("JSON")] = "[]"
    strict: Annotated[bool, Key("strict")]
    models: Annotated[tuple[str, ...], "in the order of the tables"]
    methods: Annotated[tuple[str, ...], "likewise"]
    out_scores: Output
    out_costs: Annotated[Output, Flag("JSON")]

    def tables(self) -> dict[str, Any]:
        """What the jobs have written, as arguments of Runs."""
        return {
            name: getattr(self, name)
            for name in ("edits", "unaligned", "base_probes", "base_clozes", "run_probes", "run_edits")
        } | {"models": self.models, "methods": self.methods}

    def write_costs(self) -> None:
        """Writes `out_costs` and prints the methods that were skipped."""
        from factdrift.evaluation.scores.costs import write_costs
        from factdrift.evaluation.skipped import Skipped, skipped_methods

        skipped = [Skipped(*each) for each in read_json(self.skipped, "--skipped", "a list such as []")]
        for line in skipped_methods(write_costs(self.costs, self.out_costs, skipped, self.strict)):
            print(f"skipped: {line}")

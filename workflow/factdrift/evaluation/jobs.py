"""Jobs that make edits of a dataset, run what methods need, and ask a model the questions of a benchmark.

What people run by hand is in `tools`, scores and reports in `scores`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from factdrift.chat.settings import Chat
from factdrift.chat.settings import Form as Request
from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.files import write_json
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.evaluation import probing
from factdrift.evaluation.ability.record import Ability as Measured
from factdrift.evaluation.ability.record import AbilitySettings, read_ability, write_ability
from factdrift.evaluation.layouts.record import LAYOUTS, READ, check_layout
from factdrift.evaluation.methods.hyperparameters import Hyper, at_block, hyper_at
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.methods.own import entry
from factdrift.evaluation.methods.record import is_unedited, trained_editors
from factdrift.evaluation.questions.question import Benchmark, Way
from factdrift.evaluation.settings import Settings, check_regime
from factdrift.models.running import RunsModel, Template

if TYPE_CHECKING:
    from factdrift.evaluation.states.edited import Condition
    from factdrift.evaluation.ways.chat import Form
    from factdrift.models.loaded import Loaded


class Dataset(probing.OfSelection, command="edit dataset"):
    """Convert the updates of a dataset, or of a stream in their order, to edits with probes."""

    dataset: Annotated[Path, "wfd_repl.parquet or one like it, or a stream.parquet"]
    new_date: Annotated[datetime.date | None, "of the newer dump, for --dated"] = None
    fluency_sample: Annotated[float, Key("edit.fluency_sample"), Flag("SHARE")]
    known: Annotated[int, Key("edit.known")]
    answers: Annotated[Path | None, "to what --recall wrote; for --known", Flag("PARQUET")] = None
    recall: Annotated[bool, "ask the update cloze only: does a model know the old object?"] = False
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.updates import is_stream, write_edits, write_stream_edits

        of_stream = is_stream(self.dataset)
        if self.dated and self.new_date is None and not of_stream:
            raise InputError("--dated: the prompts of edits begin with a date; give it with --new-date")
        if of_stream and (self.known or self.recall):
            raise InputError("--known, --recall: a stream is edited chain by chain; name its --limit")
        write = write_stream_edits if of_stream else write_edits
        return f"{self.output}: {write(self.dataset, self.output, self.choice()):,} edits"


class Prefixes(RunsModel, probing.OfMethodValues, command="edit prefixes"):
    """Sample texts to put before the prompts of rome or memit."""

    method: Annotated[str, "rome, memit or one of your own"]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        from factdrift.evaluation.methods.shared import write_prefixes

        try:
            with self.loaded() as model:
                hyper = self.hyper_of(model, self.method)
                if "prefixes" not in hyper:
                    raise InputError(f"--method: {hyper.method} has no key `prefixes`; rome and memit have")
                write_prefixes(self.output, model, hyper, self.seed)
        except Unsupported as error:
            print(f"{self.output}: skipped: {error}")
            write_json({"skipped": str(error)}, self.output)


class Ability(RunsModel, command="edit ability", implied_inputs="files"):
    """Choose a held-out text for perplexity, and measure it and tasks without any edit."""

    edits: Path
    template: Template
    settings: Annotated[AbilitySettings, Key("edit")]
    seed: Annotated[int, Key("seed"), "of the text that the model writes, and of edits;"]
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        settings = self.settings
        try:
            with self.loaded() as model:
                from factdrift.evaluation.ability.measure import make_ability
                from factdrift.evaluation.questions.clozes import read_edits
                from factdrift.evaluation.session import excluded
                from factdrift.models.scoring import budget_of

                budget = budget_of(model) if settings.budget == "auto" else settings.budget
                benchmark = read_edits(self.edits)
                edits = [each.id for each in benchmark.without(excluded(model, benchmark)).edits]
                found = make_ability(model, settings, budget, edits, self.seed)
        except Unsupported as error:
            print(f"{self.output}: skipped: {error}")
            write_ability(Measured(name=self.name), self.output)
            return
        write_ability(found, self.output)
        if found.perplexity is not None:
            said = f"perplexity {found.perplexity:.4g} on {found.text}, {found.tokens:,} tokens"
            print(f"{self.output}: {said}")
            if found.tokens < (wanted := settings.ability.tokens):
                print(
                    f"{self.output}: fewer tokens than the {wanted:,} wanted (edit.ability.tokens); more "
                    "text (edit.ability.text) makes the perplexity more exact"
                )
        for task, values in (found.results or {}).items():
            print(f"{self.output}: {task}:", *(f"{name} {value:.4g}" for name, value in values.items()))


class TrainEditor(RunsModel, probing.OfMethodValues, command="edit train-editor", implied_inputs="words"):
    """Train the editor of a method for a model, on subjects that are not edited."""

    method: Annotated[str, "one with a trained editor"]
    dataset: Annotated[Path | None, "such as wfd_repl.parquet"] = None
    templates: Annotated[Path | None, "the templates of that dataset"] = None
    edits: Annotated[Path | None, "edits whose subjects must not be trained on"] = None
    checkpoint: Annotated[Path | None, "a published one, instead of training"] = None
    template: Template
    seed: Annotated[int, Key("seed")]
    out_split: Annotated[Output, "subjects that train and that validate", Flag("JSON")]
    output: Annotated[Output, Flag("SAFETENSORS")]

    def check(self) -> None:
        super().check()
        if self.method not in trained_editors():
            have = ", ".join(trained_editors())
            raise InputError(f"--method: {self.method} has no trained editor; methods that have one: {have}")
        tables = (self.dataset, self.templates, self.edits)
        if self.checkpoint is None and None in tables:
            raise InputError("name --dataset, --templates and --edits to train on, or a --checkpoint")

    def run(self) -> None:
        from factdrift.evaluation.methods import editors

        try:
            with self.loaded() as model:
                hyper = self.hyper_of(model, self.method)
                files = {"output": self.output, "subjects": self.out_split}
                if self.checkpoint:
                    editors.convert_editor(model, hyper, self.checkpoint, **files)
                elif self.dataset and self.templates and self.edits:
                    sources = editors.Sources(self.dataset, self.templates, self.edits)
                    editors.train_editor(model, hyper, sources, **files, seed=self.seed)
        except CannotEdit as error:
            print(f"{self.method} on {self.name}: skipped: {error}")
            editors.skip_editor(str(error), self.output, self.out_split)


class Evaluate(probing.OfQuestions, probing.RunsMethod, command="evaluate"):
    """Ask a model the questions of a benchmark, unedited, with the new fact before them, or after edits.

    The state is that of the method: `none`, `context`, or an editing method.
    """

    template: Template
    settings: Annotated[Settings, Key("edit")]
    stream: Annotated[bool, "make the edits interval by interval, and ask after each"] = False
    blocks: Annotated[bool, "make each edit at every block of the model, one block at a time"] = False
    ability: Annotated[Path | None, "what `edit ability` wrote", Flag("JSON")] = None
    strict: probing.Strict = False
    shard: Annotated[str, "which part of the edits", Flag("0-of-1")] = "0-of-1"
    parts: Annotated[Place, "of finished steps", Flag("FOLDER")]
    out_answers: Output
    out_edits: Output
    out_states: Output
    out_run: Annotated[Output, "what was run and what it has cost", Flag("JSON")]
    out_adapters: Annotated[Output | None, "the edits as LoRA adapters", Flag("FOLDER")] = None

    def run(self) -> None:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.tables import TABLES

        name = self.method if is_unedited(self.method) else entry(self.method, self.methods).name
        account: dict[str, Any] = {"model": self.name, "method": name, "threads": self.threads}
        try:
            for part in self._asked():
                account |= part
        except CannotEdit as error:
            if self.strict:
                raise
            print(f"{name} on {self.name}: skipped: {error}")
            for each, schema in TABLES.items():
                write_parquet(schema.empty_table(), getattr(self, f"out_{each}"))
            if self.out_adapters:
                self.out_adapters.mkdir(parents=True, exist_ok=True)
            account |= {"skipped": str(error), "batches": []}
        write_json(account, self.out_run)

    def _asked(self) -> Iterator[dict[str, Any]]:
        """Asks; yields what was run, as far as it is known. Raises CannotEdit."""
        if not self.stream:
            check_regime(self.settings.regime)
        with self.loaded() as model:
            from factdrift.evaluation.questions.clozes import read_edits
            from factdrift.evaluation.run import Files, Run, evaluate
            from factdrift.evaluation.session import Session

            ability = read_ability(self.ability, model) if self.ability else None
            session = Session(model, self.settings, ability=ability)
            yield {"device": session.device_name()}
            conditions = self._conditions(model)
            benchmark = self.read(open_="written" in self.settings.answer_scoring)
            told = read_edits(self.edits) if self.stream and self.edits else None
            run = Run.of(session, benchmark, conditions, self.seed, told)
            if self.blocks:  # blocks are compared by probabilities
                run = replace(run, ways=("loglik",))
            yield run.described(conditions[0]) | conditions[0].prepared.account()
            files = Files(self.parts, self.out_answers, self.out_edits, self.out_states, self.out_adapters)
            yield {"batches": evaluate(run, files, probing.read_shard(self.shard))}

    def _conditions(self, model: Loaded) -> list[Condition]:
        """What the model is told, one after another; prints where hyper-parameters are from."""
        from factdrift.evaluation.methods.editors import subjects_of
        from factdrift.evaluation.states.edited import Condition

        regime = "stream" if self.stream else self.settings.regime
        if self.method != "none" and is_unedited(self.method):
            return [Condition(Prepared(Hyper(self.method, model.name, "", {})), regime)]
        if not self.blocks:
            hyper = self.hyper_of(model, self.method)
            print(f"{hyper.method} on {model.name}: {hyper.source}", flush=True)
            prepared = Prepared(hyper, self.artefacts(hyper, model), self.digests(hyper, model))
            trained = subjects_of(self.editor, hyper.method) if self.editor else None
            return [Condition(prepared, regime, trained=trained)]
        conditions = []
        for layer in range(model.spec.layers):
            hyper = hyper_at(self.method, model.name, self.set, layer, lambda: model.spec)
            prepared = Prepared(hyper, digests=self.digests(hyper, model))
            # The second moments of all blocks are more than fits into memory at a time.
            read = partial(self.artefacts, hyper, model)
            conditions.append(Condition(prepared, regime, at_block(self.method, layer), artefacts=read))
        return conditions


class AsksChat(probing.OfQuestions, implied_inputs="reads"):
    """A command about what a chat model is asked."""

    prompt: Annotated[str, Key("answer.prompts.letter")]
    written: Annotated[str, Key("answer.prompts.written")]
    loglik: Annotated[str, Key("answer.prompts.loglik")]
    scoring: Annotated[tuple[Way, ...], Key("answer.scoring")]
    normalise: Annotated[str, Key("answer.normalise")]
    shots: Annotated[bool, Key("written.shots")]
    # Another limit of the price or another server makes no request again.
    settings: Annotated[Chat, Key("chat", only=" ".join(Request.__struct_fields__))]

    def asked(self) -> tuple[Benchmark, Form]:
        """The questions, without options only if answered in writing, and how they are asked."""
        from factdrift.evaluation.ways.chat import Form

        prompts: dict[Way, str] = {"letter": self.prompt, "written": self.written}
        if self.settings.api == "completions":
            prompts |= {"written": self.loglik, "loglik": self.loglik}
        form = Form(prompts, self.scoring, self.shots, self.normalise)
        return self.read(open_="written" in self.scoring), form


class Requests(AsksChat, command="answer requests"):
    """Write the requests to a chat model: questions without and with context, or written answers to judge."""

    judged: Annotated[Paths, "instead: the written answers, of each job", Flag("PARQUET")] = ()
    which: Annotated[Literal["none", "unclear", "all"], Key("written.judge")]
    output: Annotated[Output, "requests", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.scores.judged import write_judge_requests
        from factdrift.evaluation.ways.chat import write_requests

        if self.judged:
            benchmark = self.read(open_=True)
            rows = write_judge_requests(benchmark, self.judged, self.which, self.settings, self.output)
        else:
            rows = write_requests(*self.asked(), self.settings, self.output)
        return f"{self.output}: {rows:,} requests"


class Read(AsksChat, command="answer read"):
    """Read the letters in a chat model's answers."""

    answers: Annotated[Path, Flag("PARQUET")]
    out_run: Annotated[Output, "description of the run", Flag("JSON")]
    output: Annotated[Output, "answers", Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.evaluation.ways.chat import read_answers

        about = read_answers(*self.asked(), self.settings, self.answers, self.output)
        write_json(about, self.out_run)


class Export(Job, command="edit export", implied_inputs="words reads"):
    """Write a dataset in the layout of another project; in MQuAKE's, chains from TempRIPPLE's new facts."""

    dataset: Annotated[
        Path | None, "such as results/wfd_repl.parquet; not for mquake", Flag(positional=True)
    ] = None
    layout: Annotated[str, f"of which project: {', '.join(LAYOUTS)}"]
    shared: Annotated[Path | None, "shared_objects: for CounterFact"] = None
    facts: Annotated[Path | None, "tr_facts: for MQuAKE"] = None
    related: Annotated[Path | None, "tr_related: for MQuAKE"] = None
    ripples: Annotated[Path | None, "ripples.parquet: what follows from updates, and what must stay"] = None
    output: Annotated[Output, Flag("JSON")]

    def check(self) -> None:
        check_layout(self.layout, [*LAYOUTS])
        if LAYOUTS[self.layout].write and self.dataset is None:
            raise InputError(f"--layout: {self.layout} is made of updates; name a dataset such as wfd_repl")
        if not LAYOUTS[self.layout].write and None in (self.facts, self.related):
            raise InputError(f"--layout: {self.layout} is made of TempRIPPLE; give --facts and --related")
        for name in ("shared", "facts", "related", "ripples"):
            if getattr(self, name) and name not in LAYOUTS[self.layout].tables:
                raise InputError(f"--{name}: the layout {self.layout} has no field for it; leave it out")

    def run(self) -> None:
        from factdrift.evaluation.layouts.files import export, read_beside

        if self.dataset and LAYOUTS[self.layout].write:
            tables = read_beside(self.shared, self.ripples)
            kept, left, empty = export(self.dataset, self.layout, self.output, tables)
            print(f"{self.output}: {kept:,} updates" + (f"; {left:,} do not fit the layout" if left else ""))
            for (field, reason), count in sorted(empty.items()):
                print(f"{count:,} without {field}: {reason}")
        else:
            from factdrift.tempripple.mquake import write_mquake

            assert self.facts is not None
            assert self.related is not None
            cases, left = write_mquake(self.facts, self.related, self.output)
            why = "a value is no item, or the fact before leads to no other one"
            print(f"{self.output}: {cases:,} cases; {left:,} chains left out: {why}")


class Import(Job, command="edit import"):
    """Convert a file of another project to a table of updates for editing and scoring."""

    file: Annotated[Path, "such as counterfact.json", Flag(positional=True)]
    layout: Annotated[str, f"of which project: {', '.join(READ)}"]
    output: Output
    out_ripples: Annotated[Output | None, "the probes of RippleEdits", Flag("PARQUET")] = None

    def check(self) -> None:
        check_layout(self.layout, READ)

    def run(self) -> str:
        from factdrift.evaluation.layouts.files import load, load_probes

        kept, left = load(self.file, self.layout, self.output)
        said = f"{self.output}: {kept} updates" + (f"; {left} records left out" if left else "")
        if self.out_ripples is None:
            return said
        probes = load_probes(self.file, self.layout, self.out_ripples)
        return f"{said}\n{self.out_ripples}: {probes:,} probes"

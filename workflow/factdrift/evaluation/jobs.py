"""Jobs that make edits of a dataset, run editing methods on models and score them; other projects' layouts.

What people run by hand is in `tools`, what is done with a stream in `lifelong.jobs`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.jobs import Flag, Job, Key, Output, Outputs, Paths, Place
from factdrift.evaluation.probing import (
    Adjusted,
    Choosing,
    MakesEdits,
    ProbesModel,
    Recall,
    Scoring,
    read_shard,
)
from factdrift.evaluation.settings import AbilitySettings, Settings
from factdrift.models.running import OfModel, RunsModel, Template

Layout = Annotated[Literal["counterfact", "easyedit", "wikibigedit", "zsre"], "of which project"]


class Dataset(Choosing, command="edit dataset"):
    """Convert the updates of a dataset to edits with probes."""

    dataset: Path
    fluency_sample: Annotated[float, Key("edit.fluency_sample"), Flag("SHARE")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.updates import write_edits

        choice = self.choice()._replace(fluency_sample=self.fluency_sample)
        return f"{self.output}: {write_edits(self.dataset, self.output, choice):,} edits"


class Prefixes(RunsModel, Adjusted, command="edit prefixes"):
    """Sample texts to put before the prompts of rome or memit."""

    method: Annotated[str, "rome, memit or one of your own"]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        from factdrift.evaluation.methods.artefacts.prefixes import write_prefixes, write_reason

        try:
            with self.loaded() as model:
                hyper = self.hyper_of(model, self.method)
                if "prefixes" not in hyper:
                    raise InputError(f"--method: {hyper.method} has no key `prefixes`; rome and memit have")
                write_prefixes(self.output, model, hyper, self.seed)
        except Unsupported as error:
            print(f"{self.output}: skipped: {error}")
            write_reason(self.output, str(error))


class Ability(RunsModel, command="edit ability", beside="files"):
    """Choose a held-out text for perplexity, and measure it and tasks without any edit."""

    edits: Path
    unaligned: Path
    settings: Annotated[AbilitySettings, Key("edit")]
    seed: Annotated[int, Key("seed"), "of the text that the model writes, and of edits;"]
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        from factdrift.evaluation.ability.record import NONE, write_ability

        try:
            self._measure()
        except Unsupported as error:
            print(f"{self.output}: skipped: {error}")
            write_ability(msgspec.structs.replace(NONE, name=self.name), self.output)

    def _measure(self) -> None:
        """Writes and prints the ability; raises Unsupported if the model cannot be run."""
        with self.loaded() as model:
            from factdrift.evaluation.ability.measure import make_ability
            from factdrift.evaluation.ability.record import write_ability
            from factdrift.evaluation.questions.probes import read_updates
            from factdrift.models.scoring import budget_of

            settings = self.settings
            budget = budget_of(model) if settings.budget == "auto" else settings.budget
            edits = [update.edit.id for update in read_updates(self.edits, self.unaligned)]
            found = make_ability(model, settings, budget, edits, self.seed)
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


class Align(OfModel, command="edit align"):
    """Tokenize the probes for a model and list those that cannot be aligned."""

    edits: Path
    template: Template
    out_aligned: Output
    out_unaligned: Output

    def run(self) -> str:
        from factdrift.evaluation.questions.probes import write_aligned, write_none_aligned
        from factdrift.models.loading import read_config
        from factdrift.models.names import split_name
        from factdrift.models.templated import templated

        try:
            _, tokenizer, _ = read_config(self.model, self.revision, self.models, self.trust_remote_code)
        except Unsupported as error:
            write_none_aligned(self.out_aligned, self.out_unaligned)
            return f"{self.out_aligned}: skipped: {error}"
        name, _ = split_name(self.model)
        tokenizer = templated(tokenizer, self.template, name)
        total, lost = write_aligned(tokenizer, name, self.edits, self.out_aligned, self.out_unaligned)
        return f"{self.out_aligned}: {total:,} sentences, {lost:,} of which cannot be aligned"


class Baseline(ProbesModel, command="edit baseline"):
    """Run the unedited model on all probes."""

    out_probes: Output
    out_clozes: Output

    def run(self) -> None:
        from factdrift.evaluation.baseline import write_baseline, write_nothing
        from factdrift.evaluation.questions.probes import read_updates

        try:
            with self.probing() as job:
                updates = read_updates(self.edits, self.unaligned)
                write_baseline(job, updates, self.parts, self.out_probes, self.out_clozes)
        except Unsupported as error:
            print(f"{self.out_probes}: skipped: {error}")
            write_nothing(self.out_probes, self.out_clozes)


class Run(MakesEdits, command="edit run"):
    """Make the edits of one method and shard, and probe each."""

    settings: Annotated[Settings, Key("edit")]
    shard: Annotated[str, "which part of the edits", Flag("0-of-1")] = "0-of-1"
    out_adapters: Annotated[Output | None, "the edits as LoRA adapters", Flag("FOLDER")] = None

    def run(self) -> None:
        self.write_account(self._made(), self._nothing)

    def _nothing(self) -> None:
        from factdrift.evaluation.run import write_nothing

        write_nothing(self.out_probes, self.out_edits)
        if self.out_adapters:
            self.out_adapters.mkdir(parents=True, exist_ok=True)

    def _made(self) -> Iterator[dict[str, Any]]:
        """Makes and probes the edits; yields device, hyper-parameters and costs. Raises CannotEdit."""
        from factdrift.evaluation.questions.probes import read_updates
        from factdrift.evaluation.run import Files, write_run

        shard = read_shard(self.shard)
        with self.probing() as job:
            yield {"device": job.device_name()}
            prepared = self.prepared(job.loaded)
            updates = read_updates(self.edits, self.unaligned)
            files = Files(self.parts, self.out_probes, self.out_edits, self.out_adapters)
            yield {**prepared.account(), "batches": write_run(job, updates, prepared, files, shard)}


class Scores(Scoring, command="edit scores"):
    """Compute the metrics of each edit and join all probes."""

    ability: Annotated[Paths, "of each model", Flag("JSON")] = ()
    out_probes: Output

    def run(self) -> str:
        from factdrift.evaluation.scores.metrics import Runs, write_scores

        self.write_costs()
        runs = Runs(**self.tables(), abilities=self.ability)
        return f"{self.out_scores}: {write_scores(runs, self.out_scores, self.out_probes):,} rows"


class Table(Job, command="edit table", beside="tables"):
    """Print the scores in the layout of the WikiFactDiff paper's Tables 6 and 7."""

    scores: Path
    costs: Annotated[Path, Flag("JSON")]
    unaligned: Paths = ()
    recall: Recall = ()
    output: Annotated[Place, Flag("FOLDER")]

    def run(self) -> None:
        from factdrift.evaluation.scores.table import write_tables

        write_tables(self.scores, self.costs, self.unaligned, self.output, self.recall)


class Figures(Job, command="edit figures"):
    """Draw bleedover against popularity and similarity, as the WikiFactDiff paper's Figure 2."""

    probes: Path
    output: Annotated[Outputs, Flag("SVG|PNG")]

    def run(self) -> None:
        from factdrift.evaluation.scores.figures import draw

        for path in self.output:
            missing = draw(self.probes, path)
        print(*self.output)
        for column in missing:
            print(
                f"{self.probes}: no probe of a neighbour has a value of `{column}`, so its panel is empty; "
                "the edited dataset has none (imported files have neither `dist` nor `popularity`)",
                file=sys.stderr,
            )


class MendTrain(RunsModel, Adjusted, command="edit mend-train", beside="words"):
    """Train MEND's editor for a model, on subjects that are not edited."""

    dataset: Annotated[Path, "such as wfd_repl.parquet"]
    templates: Annotated[Path, "the templates of that dataset"]
    edits: Annotated[Path, "edits whose subjects must not be trained on"]
    template: Template
    seed: Annotated[int, Key("seed")]
    out_split: Annotated[Output, "subjects that train and that validate", Flag("JSON")]
    output: Annotated[Output, Flag("SAFETENSORS")]

    def run(self) -> None:
        from factdrift.evaluation.methods.artefacts.mend_facts import Split, read_split
        from factdrift.evaluation.methods.artefacts.mend_training import train
        from factdrift.evaluation.methods.mend_editor import write_reason

        try:
            with self.loaded() as model:
                hyper = self.hyper_of(model, "mend")
                share = hyper["validation_share"]
                split = read_split(self.dataset, self.templates, self.edits, validation=share, seed=self.seed)
                split.write(self.out_split)
                train(model, split, hyper, self.output, seed=self.seed)
        except CannotEdit as error:
            print(f"mend on {self.name}: skipped: {error}")
            Split((), (), {}).write(self.out_split)
            write_reason(self.output, str(error))


class MendImport(RunsModel, Adjusted, command="edit mend-import"):
    """Convert a published MEND checkpoint."""

    checkpoint: Annotated[Path, "such as mend-10tok-gpt-j-6b.pt", Flag(by_place=True)]
    rates: Annotated[
        Literal["by_position", "matched"],
        "assignment of the learned rates to matrices: as in kmeng01/rome, or as trained",
        Flag(by_hand=True),
    ] = "by_position"
    output: Annotated[Output, Flag("SAFETENSORS")]

    def run(self) -> None:
        with self.loaded() as model:
            from factdrift.evaluation.methods.artefacts.mend_published import import_checkpoint

            hyper = self.hyper_of(model, "mend")
            net = import_checkpoint(self.checkpoint, model, blocks=hyper["blocks"], rates=self.rates)
            net.write(self.output, {"model": model.digest, "source": self.checkpoint.name})


class Export(Job, command="edit export"):
    """Write a dataset in the layout of another project."""

    dataset: Annotated[Path, "such as results/wfd_repl.parquet", Flag(by_place=True)]
    layout: Layout
    shared: Annotated[Path | None, "shared_objects: for CounterFact"] = None
    facts: Annotated[Path | None, "tr_facts: what follows from the new facts"] = None
    related: Annotated[Path | None, "tr_related: what follows from the new facts"] = None
    need: Annotated[
        tuple[str, ...],
        "leave out records in which a field is empty, such as neighborhood_prompts",
        Flag("FIELD", by_hand=True),
    ] = ()
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        from factdrift.evaluation.layouts.beside import read_beside
        from factdrift.evaluation.layouts.files import export

        beside = read_beside(self.shared, self.facts, self.related)
        done = export(self.dataset, self.layout, self.output, beside, self.need)
        left = f"; {done.left:,} do not fit the layout" if done.left else ""
        left += f"; {done.lacking:,} left out without {' or '.join(self.need)}" if done.lacking else ""
        print(f"{self.output}: {done.kept:,} updates{left}")
        for (field, reason), count in sorted(done.empty.items()):
            print(f"{count:,} without {field}: {reason}")


class Import(Job, command="edit import"):
    """Convert a file in such a layout to a table that can be edited and scored."""

    file: Annotated[Path, "such as counterfact.json", Flag(by_place=True)]
    layout: Layout
    output: Output

    def run(self) -> str:
        from factdrift.evaluation.layouts.files import load

        kept, left = load(self.file, self.layout, self.output)
        return f"{self.output}: {kept} updates" + (f"; {left} records left out" if left else "")


# Their commands follow in the help.
from factdrift.evaluation import stream_jobs, tool_jobs  # noqa: E402, F401

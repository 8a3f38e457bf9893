"""Jobs that run locating methods on language models, score them on KLoB, and compare them with editing."""

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.files import write_json, write_text
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place, Places
from factdrift.core.owned import scratch
from factdrift.evaluation.locators.plan import Settings, entry
from factdrift.evaluation.probing import Recall, read_shard
from factdrift.models.names import split_name
from factdrift.models.running import OfModel, loaded

Examples = Annotated[Place, "of klob_c, _r, _u.parquet", Flag("FOLDER")]
Seed = Annotated[int, Key("seed")]

_OF_RSD = (
    "RSD is unchanged by a constant that is added to a sentence's scores and by one factor for all scores, "
    "not by a factor of each sentence's own."
)


class Sentences(Job, command="locate sentences", implied_inputs="examples"):
    """Choose the examples of KLoB for locators, or the edits for the comparison of locating with editing."""

    examples: Examples | None = None
    edits: Annotated[Path | None, "instead of examples", Flag("PARQUET")] = None
    limit: Annotated[int, "examples of each subtask, or edits; 0 for all"] = 0
    seed: Seed
    out_examples: Annotated[Place | None, "the chosen ones", Flag("FOLDER")] = None
    out_edits: Annotated[Output | None, "the chosen ones", Flag("PARQUET")] = None
    out_sentences: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.locators.sentences import write_edit_facts, write_examples

        if self.edits and self.out_edits:
            files = self.out_edits, self.out_sentences
            return f"{self.out_edits}: {write_edit_facts(self.edits, self.limit, self.seed, *files):,} edits"
        if self.examples is None or self.out_examples is None:
            raise InputError("give --examples and --out-examples, or --edits and --out-edits")
        numbers = write_examples(self.examples, self.limit, self.seed, self.out_examples, self.out_sentences)
        return ", ".join(f"KLoB-{name}: {number:,} sentences" for name, number in numbers.items())


class Run(OfModel, command="locate run", implied_inputs="values"):
    """Run one locator on a model and a shard of the sentences."""

    sentences: Annotated[Path, Flag("PARQUET")]
    settings: Annotated[Settings, Key("locate")]
    threads: Annotated[int, "of the CPU"] = 1
    locator: Annotated[str, "a name (config/locators) or PATH.py:FUNCTION"]
    set: Annotated[dict[str, Any], "your hyper-parameters: config/locators/NAME.yaml"] = dataclasses.field(
        default_factory=dict
    )
    shard: Annotated[str, "which part of the sentences or edits", Flag("0-of-1")] = "0-of-1"
    parts: Annotated[Place, "of finished batches", Flag("FOLDER")]
    output: Annotated[Output, Flag("PARQUET")]
    out_about: Annotated[Output, Flag("JSON")]

    def check(self) -> None:
        super().check()
        entry(self.locator)

    def run(self) -> str | None:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.locators.sentences import LOCATED, read_sentences

        locator, shard = entry(self.locator), read_shard(self.shard)
        if not locator.is_run:
            raise InputError(f"--locator: {self.locator} is a folder of scores, which is not run")
        rows = read_sentences(self.sentences)
        try:
            with loaded(self, self.settings.computing, self.threads) as model:
                from factdrift.evaluation.locators.run import Locating, write_located

                job = Locating(model, locator, self.set, self.settings)
                write_located(job, rows, shard, self.parts, self.output, self.out_about)
                return None
        except Unsupported as error:
            name, _ = split_name(self.model)
            write_parquet(LOCATED.empty_table(), self.output)
            write_json({"name": locator.name, "model": name, "skipped": str(error)}, self.out_about)
            return f"{locator.name} on {name}: skipped: {error}"


class Gather(Job, command="locate gather", implied_inputs="scores arrays"):
    """Join the shards of a locator into a folder of scores."""

    sentences: Annotated[Path, Flag("PARQUET")]
    shards: Annotated[Paths, Flag("PARQUET")]
    about: Annotated[Paths, Flag("JSON")]
    output: Annotated[Place, Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.evaluation.locators.table import gather

        number = gather(self.sentences, self.shards, self.about, self.output)
        return f"{self.output}: {number:,} sentences"


class Scores(
    Job, command="locate scores", implied_inputs="models examples scores arrays others table tables figures"
):
    """Write RSim and RSD of all locators: one table, and one figure a subtask."""

    folders: Annotated[Places, "of scores: docs/klob_scores.md", Flag("FOLDER", positional=True)]
    examples: Examples = Path("results")
    recall: Recall = ()
    k: Annotated[tuple[float, ...], Key("locate.k"), Flag("PERCENT")]
    ties: Annotated[Literal["index", "fractional"], Flag(by_hand=True)] = "index"
    sim_all: Annotated[Literal["exact", "paper_approx"], Flag(by_hand=True)] = "exact"
    exclude: Annotated[Literal["fact", "example", "none"], "from Sim_all", Flag(by_hand=True)] = "fact"
    rsd_pool: Annotated[Literal["sentences", "subtasks"], Flag(by_hand=True)] = "sentences"
    seed: Seed
    out_scores: Annotated[Output, Flag("PARQUET")] = Path("results/klob_scores/scores.parquet")
    out_reports: Annotated[Place, Flag("FOLDER")] = Path("results/klob_scores")

    def run(self) -> str:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.locators.table import compare, skipped, without_effect
        from factdrift.klob.scoring import evaluate, inputs, report
        from factdrift.models.bundled.taught import recall_lines

        percents = tuple(sorted({Fraction(str(percent)) for percent in (report.HEADLINE, *self.k)}))
        switches = {name: getattr(self, name) for name in ("ties", "sim_all", "exclude", "rsd_pool", "seed")}
        subtasks = inputs.read_examples(self.examples)
        reasons = {folder: skipped(folder / "scores.json") for folder in self.folders}
        folders = [folder for folder in self.folders if reasons[folder] is None]
        effects = [without_effect(folder / "scores.json") for folder in folders]
        notes = [reason for reason in (*reasons.values(), *effects) if reason]
        if not folders:
            raise CannotEdit(f"locators: none of them has a score: {'; '.join(notes)}")
        with scratch() as folder:
            groups, table = compare(folders, subtasks, evaluate.Choices(percents, scratch=folder, **switches))
        write_parquet(table, self.out_scores)
        notes += recall_lines(self.recall)
        printed = []
        for subtask in subtasks:
            text = "\n".join([*report.lines(groups, subtask), *notes]) + "\n"
            printed.append(text)
            write_text(text, self.out_reports / f"table_{subtask}.txt")
            figures = [self.out_reports / f"figure_{subtask}.{form}" for form in ("svg", "pdf")]
            if subtask == "u":
                report.draw_rsd(groups, *figures)
            else:
                report.draw_rsim(groups, subtask, *figures)
        return "\n".join([*printed, _OF_RSD, f"{self.out_scores}: {len(table):,} rows"])

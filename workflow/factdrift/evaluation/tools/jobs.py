"""Commands that people run by hand: try one edit, ask, tune a method, probe a checkpoint."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.owned import claim, scratch
from factdrift.core.products import former_lines, of_pair, pair_of
from factdrift.evaluation.methods.hyperparameters import check_values
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.methods.own import entry
from factdrift.evaluation.methods.record import UNEDITED, is_unedited
from factdrift.evaluation.probing import OfMethodValues
from factdrift.evaluation.questions.question import MINE, Benchmark, Tables, Way, read, record_of
from factdrift.evaluation.settings import Settings, check_regime
from factdrift.evaluation.tools.artefacts import TriesMethod
from factdrift.models.alignment import find_subject
from factdrift.models.running import RunsModel, Template, loaded
from factdrift.words.templates import BLANK

if TYPE_CHECKING:
    from factdrift.evaluation.tools.harness import WrittenQuestions

DATASET = Path("results/wfd_repl.parquet")
LIMIT = 20
"""Questions of a benchmark that `ask` draws if no other number is given."""
BUILT_EDITS = "results/{pair}/edit/edits.parquet"
"""Questions that are also made of a dataset, if no edits have been made of any."""


class Try(TriesMethod, command="edit try", leading="subject model method set output"):
    """Make one edit and show the model before and after it; write it as an adapter, or as a whole model.

    factdrift edit try "The head of government of the United States of America is" "Joe Biden" \\
        --subject "United States of America" --model sample --method rome
    """

    prompt: Annotated[str, "a sentence up to its object, with the subject in it", Flag(positional=True)]
    new_object: Annotated[str, Flag(positional=True)]
    subject: Annotated[str, "as written in the prompt"]
    dataset: Annotated[Path, "for old object and neighbours", Flag("PARQUET")] = DATASET
    output: Annotated[Output | None, "the edit as an adapter of peft", Flag("FOLDER")] = None
    full: Annotated[bool, "a whole model instead, in the layout of transformers"] = False

    def run(self) -> str:
        self._check_given()
        if self.output and self.output.exists():
            raise InputError(f"--output: {self.output} exists; name a folder that does not, or remove it")
        with self.loaded() as model:
            from factdrift.evaluation.tools.attempt import attempt, export

            own = self.hyper_of(model, self.method).own
            if self.output and own and own.plain:
                raise InputError(f"--method: {own.name} changes a model in place; write it in your function")
            edit = Edit("try", self.prompt, self.subject, self.new_object)
            prepared = self.prepared(model, self.method)
            lines = list(attempt(model, edit, prepared, self.settings, self.dataset))
            if self.output:
                export(model, edit, prepared, self.output, self.full)
                lines += ["", f"{'whole model' if self.full else 'adapter'}: {self.output}"]
        return "\n".join(lines)

    def _check_given(self) -> None:
        """Raises InputError if new object or subject are missing, or the prompt does not name its subject."""
        for name, text in (("new object", self.new_object), ("subject", self.subject)):
            if not text.strip():
                raise InputError(f"edit try: the {name} is empty; give its name as a text would have it")
        for name, text in (("prompt", self.prompt), ("new object", self.new_object)):
            # Its blanks would be others than those of the texts that the model has read.
            if text != text.strip().removesuffix(BLANK).rstrip():
                raise InputError(f"edit try: {text!r}: write the {name} without blanks around it")
        if find_subject(self.prompt, self.subject) < 0:
            raise InputError(f"--subject: {self.subject!r} does not occur in the prompt; write it as there")


class Ask(TriesMethod, command="ask", leading="benchmark questions state way limit"):
    """Ask a model questions of a benchmark or your own, before and after it is given a new fact.

    factdrift ask sample --benchmark tempripple --state rome --limit 20
    factdrift ask Qwen/Qwen3-4B --questions mine.jsonl --state context --way written
    """

    model: Annotated[str, "sample, a folder, or a name that transformers knows", Flag(positional=True)]
    method: Annotated[str, Flag(by_hand=True, hidden=True)] = "none"
    benchmark: Annotated[str, "updates, tempripple, asof, stream, ripples, klob, cutoff, corpus"] = "updates"
    questions: Annotated[Path | None, "of your own, instead: JSON Lines or CSV", Flag("FILE")] = None
    state: Annotated[str, "none, context, or an editing method"] = "none"
    way: Annotated[Way, "likelihoods, a letter, or what the model writes"] = "loglik"
    limit: Annotated[
        int | None, "questions, drawn with the seed; 0 for all (default: 20, of your own all)"
    ] = None
    seed: Annotated[int, Key("seed")]
    dataset: Annotated[Path, "of updates, if no edits have been made of any", Flag("PARQUET")] = DATASET

    def check(self) -> None:
        super().check()
        if self.method != "none":
            raise InputError(f"--method: a method is given as a state here; write --state {self.method}")
        record_of(self.benchmark)
        if not is_unedited(self.state):
            check_values(self.state, self.set, self.methods)
        check_regime(self.settings.regime)

    def run(self) -> str:

        with scratch() as folder:
            questions, notes = self.asked(folder)  # before the model, which may be large
            with self.loaded() as model:
                from factdrift.evaluation.tools.cell import Asking, cell

                conditions = [self.condition(model, name) for name in dict.fromkeys(("none", self.state))]
                limit = self.limit if self.limit is not None else LIMIT * (self.questions is None)
                asking = Asking(self.way, limit, self.seed, self.settings)
                return "\n".join((*cell(model, questions, conditions, asking, folder), *notes))

    def asked(self, folder: Path) -> tuple[Benchmark, list[str]]:
        """The questions, and what lines of the user's own lack. Raises InputError if none can be asked."""
        if self.questions is None:
            return self.built(folder), []
        from factdrift.evaluation.questions.own import lacking

        questions = read(MINE, Tables([self.questions]))
        if self.state != "none" and not questions.edits:
            raise InputError(
                f"--state: {self.state}: no line of {self.questions} says what the model is "
                "given, by subject, prompt and new_object"
            )
        notes = lacking(questions, self.questions, self.way, self.state != "none")
        if not any(self.way in question.ways for question in questions.questions):
            raise InputError(notes[0])
        return questions, notes

    def built(self, folder: Path) -> Benchmark:
        """All questions of the benchmark, from the newest build; edits that none has are written to a folder.

        Raises InputError if they have not been built.
        """
        from factdrift.evaluation.questions.updates import Choice, write_edits

        record = record_of(self.benchmark)
        first, *others = map(self.newest, record.questions)
        if first is None and record.questions == [BUILT_EDITS] and self.dataset.is_file():
            first = folder / "edits.parquet"
            write_edits(self.dataset, first, Choice())
        if first is None:
            raise InputError(
                f"--benchmark: {self.benchmark}: no {self.pattern(record.questions[0])}; build it with "
                f"`snakemake --cores all {record.target}`, or name the folder with --results"
            )
        edits = self.newest(record.edits) if record.edits and not is_unedited(self.state) else None
        if edits is None and record.edits and not is_unedited(self.state):
            target = record_of("stream" if record.of_stream else "updates").target
            raise InputError(
                f"--state: {self.state}: no {self.pattern(record.edits)}; make it with "
                f"`snakemake --cores all {target}`"
            )
        facts = self.newest(record.facts) if record.facts else None
        tables = [first, *filter(None, others)]
        benchmark = read(self.benchmark, Tables(tables, edits, facts, open_=self.way == "written"))
        retrieved = [state for question in benchmark.questions[:1] for state in question.retrieved]
        if is_unedited(self.state) and self.state not in (*UNEDITED, *retrieved):
            known = ", ".join(retrieved) or "none, as it has no documents"
            raise InputError(f"--state: {self.state}: no such state of {self.benchmark}; there are {known}")
        return benchmark

    def pattern(self, path: str) -> str:
        """Where a file of the workflow is in some build: a path as records of benchmarks have it."""
        return f"{self.results}/{path.format(pair='*', stream='results/streams/*').removeprefix('results/')}"

    def newest(self, path: str) -> Path | None:
        """The newest of such files."""
        paths = self.results.glob(Path(self.pattern(path)).relative_to(self.results).as_posix())
        return max(paths, key=lambda path: path.stat().st_mtime, default=None)


class Probe(RunsModel, command="edit probe"):
    """Score a checkpoint or adapter that was edited elsewhere."""

    model: Annotated[str, "of save_pretrained, or of a PEFT adapter", Flag("FOLDER")]
    edits: Annotated[Path, "what was edited", Flag("PARQUET")]
    base: Annotated[str, "the model without edits (default: the one that an adapter names)"] = ""
    name: Annotated[str, "of the method, in tables (default: the folder's)"] = ""
    only: Annotated[tuple[str, ...], "the edits that were made (default: all)", Flag("EDIT")] = ()
    template: Template
    settings: Annotated[Settings, Key("edit")]
    output: Annotated[Output, Flag("FOLDER")]

    def run(self) -> None:
        from factdrift.evaluation.tools.cell import Checkpoint, probe
        from factdrift.models.loading import base_of

        named = base_of(Path(self.model))  # which an adapter must say even if another one is given
        base = self.base or named
        if not base:
            raise InputError("--base: name the model from which the checkpoint was made")
        name = self.name or Path(self.model).resolve().name
        if name == "none":
            raise InputError("--name: `none` is the model without edits; give another name")
        settings = msgspec.structs.replace(self.settings, regime="independent")
        checkpoint = Checkpoint(name, base, self.edits, self.only, settings, self.output)
        without = dataclasses.replace(self, model=base)
        edited = loaded(self, settings, self.threads, base)
        probe(checkpoint, edited, loaded(without, settings, self.threads))


class Tune(RunsModel, OfMethodValues, command="edit tune", leading="method edits layers dataset output"):
    """Search hyper-parameters for a model on held-out updates."""

    model: Annotated[str, "sample, a folder, or a name that transformers knows", Flag(positional=True)]
    template: Template
    method: Annotated[str, "its file says what is tried"]
    dataset: Annotated[Path, "of updates", Flag("PARQUET")] = DATASET
    edits: Annotated[int, "number of updates, of the split train; 0 for all"] = 32
    seed: Annotated[int, "draws the updates and the method's prefixes"] = 0
    layers: Annotated[tuple[int, ...], "last edited blocks to try (default: by method)", Flag("BLOCK")] = ()
    settings: Annotated[Settings, Key("edit")]
    output: Annotated[Output, "configuration for --configfile", Flag("YAML")]

    def run(self) -> None:
        from factdrift.evaluation.tools.tuning import Tuning, check_tuning, tune

        tuning = Tuning(**{name: getattr(self, name) for name in Tuning._fields})
        check_tuning(tuning)
        with self.loaded() as model:
            tune(tuning, model)


class LmEval(Job, command="answer lm-eval", implied_inputs="questions"):
    """Write tasks for EleutherAI's lm-evaluation-harness."""

    questions: Annotated[
        tuple[str, ...],
        "questions with options, such as tempripple=results/tempripple.parquet",
        Flag("NAME=PARQUET"),
    ] = ()
    edits: Annotated[Path | None, "of `edit dataset`: WikiFactDiff's clozes", Flag("PARQUET")] = None
    chains: Annotated[
        Path | None, "of `cutoff chains`: who holds (task `cutoff`)", Flag("PARQUET", by_hand=True)
    ] = None
    prompt: Annotated[str, Key("answer.prompts.loglik")]
    tokens: Annotated[int, Key("written.tokens")]
    instruction: Annotated[str, Key("written.instruction")]
    output: Annotated[Output, Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.evaluation.tools import harness

        written = list(self._written())
        groups: list[WrittenQuestions | harness.Group] = list(written)
        if self.chains is not None:
            groups.append(("cutoff", "", read("cutoff", Tables([self.chains])).questions))
        tasks = list(harness.question_tasks(groups, self.prompt))
        if self.edits is not None:
            tasks += harness.cloze_tasks(harness.cloze_tests(self.edits))
        tasks += harness.written_tasks(written, self.tokens)
        harness.write_tasks(tasks, self.output)
        return "\n".join(f"{task.name}: {len(task.table):,}" for task in tasks)

    def _written(self) -> Iterator[WrittenQuestions]:
        """The questions of all tables. Raises InputError."""
        from factdrift.evaluation.questions.prompts import check_prompt
        from factdrift.evaluation.tools.harness import written_items, written_updates

        try:
            check_prompt("loglik", self.prompt)
        except ValueError as error:
            raise InputError(f"--prompt: {error}") from None
        names = set()
        for text in self.questions:
            name, _, path = text.partition("=")
            if not re.fullmatch(r"[^\W\d]\w*", name) or not path:
                raise InputError(f"--questions: {text!r} is not of the form tempripple=FILE.parquet")
            if name in names:
                raise InputError(f"--questions: {name} names two tables; give one of them another name")
            names.add(name)
            yield from written_items(name, Path(path), self.prompt, self.instruction)
        if self.edits is not None:
            yield from written_updates(self.edits, self.prompt, self.instruction)


class Compare(TriesMethod, command="compare", leading="model limit scores answers output"):
    """Compare methods on the same updates and questions: paired differences from the first one.

    Prints and writes the differences that are larger than chance, a table and a figure. With a model, missing
    runs come first.

    factdrift compare rome memit ft
    factdrift compare rome ft mine.py:edit --model sample --limit 16
    """

    rivals: Annotated[tuple[str, ...], "as in the configuration", Flag("[MODEL:]METHOD", positional=True)]
    model: Annotated[str, "on which the methods are run; default: the build's scores"] = ""
    limit: Annotated[int, "with a model: updates, drawn with the seed; 0 for all"] = 16
    method: Annotated[str, Flag(by_hand=True, hidden=True)] = "none"
    dataset: Annotated[Path, "with a model: of updates", Flag("PARQUET")] = DATASET
    scores: Annotated[Path, "of `edit scores`", Flag("PARQUET")] = Path("results/edit_scores.parquet")
    answers: Annotated[
        Paths, "of other benchmarks; default: results/OLD_NEW/evaluation/", Flag("PARQUET")
    ] = ()
    seed: Annotated[int, Key("seed")]
    output: Annotated[Place, Flag("FOLDER")] = Path("results/compare")

    def check(self) -> None:
        if self.model:
            super().check()
            for name in self.rivals:
                entry(name, self.methods)

    def run(self) -> str:
        from factdrift.evaluation.tools.compare import compare, lines, write

        scores, answers, pair = self.scores, self.answers, pair_of(self.scores)
        rivals = tuple(entry(name, self.methods).name if ".py:" in name else name for name in self.rivals)
        if self.model:
            rivals, scores = self.runs()
        elif not answers:
            pattern = f"{pair or '2*'}/evaluation/*/*/*/*.answers.parquet"
            answers = tuple(sorted(Path("results").glob(pattern)))
        differences = compare(rivals, scores, answers)
        text = [*lines(differences), "", *map(str, write(differences, self.output))]
        if pair and not self.model:
            text = [f"{scores}{of_pair(scores)}", *text, *former_lines(scores.parent, pair)]
        return "\n".join(text)

    def runs(self) -> tuple[tuple[str, ...], Path]:
        """The methods by their names in tables, and the scores of all on the model."""
        from factdrift.evaluation.questions.updates import Choice, write_edits

        folder = self.output / "runs"
        claim(folder, ["edits.parquet"])
        edits = folder / "edits.parquet"
        write_edits(self.dataset, edits, Choice(limit=self.limit, seed=self.seed, fluency_sample=0))
        with self.loaded() as model:
            from factdrift.evaluation.states.edited import Condition
            from factdrift.evaluation.tools.cell import compared

            made = [Condition(self.prepared(model, name), self.settings.regime) for name in self.rivals]
            conditions = [self.condition(model, "none"), *made]
            scores = compared(model, edits, conditions, self.settings, folder)
            return tuple(condition.method for condition in made), scores

"""Jobs that ask models TempRIPPLE's questions, and score their answers."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from factdrift.chat.settings import Chat, Form
from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.jobs import Flag, Job, Key, Output, Outputs, Paths, Place, Role
from factdrift.core.keys import read_json
from factdrift.evaluation.answer_settings import METHODS, Settings, check_asked, check_prompt
from factdrift.evaluation.probing import Recall, RunsMethod, Strict
from factdrift.evaluation.settings import check_regime
from factdrift.models.running import RunsModel

if TYPE_CHECKING:
    from factdrift.evaluation import session as edit
    from factdrift.tempripple.schemas import Row

OR_FILE = "JSON itself, or FILE or @FILE that holds it"


class _OfItems(Job):
    items_: Annotated[Path, "tr_items", Flag("PARQUET")]
    limit: Annotated[int, Key("answer.limit")]
    seed: Annotated[int, Key("seed")]

    def read_items(self) -> list[Row]:
        """The items that are asked."""
        from factdrift.evaluation.questions.items import read_items

        return read_items(self.items_, self.limit, self.seed)


class _Asks(RunsModel):
    settings: Annotated[Settings, Key("edit")]

    @contextmanager
    def job(self) -> Iterator[edit.Job]:
        """The loaded model with its settings."""
        check_regime(self.settings)
        with self.loaded() as model:
            from factdrift.evaluation.session import Job

            yield Job(model, {}, self.settings)


class AsksItems(_Asks, _OfItems):
    """A command that asks a model items."""

    parts: Annotated[Place, "of finished batches", Flag("FOLDER")]
    out_run: Annotated[Output, "description of the run", Flag("JSON")]
    output: Annotated[Output, "predictions", Flag("PARQUET")]

    def skip(self, method: str, reason: InputError) -> str:
        """Writes in the place of answers why a model is not asked; returns a line that says so."""
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.answer_schemas import PREDICTIONS
        from factdrift.models.names import split_name

        model, _ = split_name(self.model)
        write_parquet(PREDICTIONS.empty_table(), self.output)
        _write({"model": model, "method": method, "skipped": str(reason)}, self.out_run)
        return f"{method} on {model}: skipped: {reason}"


class Run(AsksItems, command="answer run"):
    """Ask the unedited model, without and with context."""

    def run(self) -> str | None:
        try:
            with self.job() as job:
                from factdrift.evaluation.answer_run import ask_plain

                _write(ask_plain(self, job, self.read_items()), self.out_run)
                return None
        except Unsupported as error:
            return self.skip("none", error)


class Edited(RunsMethod, AsksItems, command="answer edited"):
    """Ask the model with each new fact as an edit."""

    facts: Annotated[Path, "tr_facts", Flag("PARQUET")]
    strict: Strict = False

    def run(self) -> str | None:
        if self.method not in METHODS:
            raise InputError(
                f"--method: {self.method}: not an edit to ask about; there are {', '.join(METHODS)}"
            )
        try:
            with self.job() as job:
                from factdrift.evaluation.answer_run import ask_edited
                from factdrift.evaluation.questions.statements import edits_of

                items = self.read_items()
                check_asked(self.method, self.settings.regime)
                prepared, edits = self.prepared(job.loaded), edits_of(items, self.facts)
                _write(ask_edited(self, job, items, edits, prepared), self.out_run)
                return None
        except CannotEdit as error:
            if self.strict:
                raise
            return self.skip(self.method, error)


class Clozes(_Asks, command="answer clozes"):
    """Ask the unedited model the cloze tests of KLoB and WikiFactDiff."""

    klob: Annotated[Paths, "klob_c, klob_r", Flag("PARQUET")] = ()
    edits: Annotated[Path, "of `edit dataset`", Flag("PARQUET")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        try:
            with self.job() as job:
                from factdrift.evaluation.questions.items import read_clozes
                from factdrift.evaluation.scores.clozes import ask_clozes

                number = ask_clozes(job, read_clozes(self.klob, self.edits), self.output)
                return f"{self.output}: {number:,} cloze tests"
        except Unsupported as error:
            from factdrift.core.tables import write_parquet
            from factdrift.evaluation.answer_schemas import CLOZES

            write_parquet(CLOZES.empty_table(), self.output)
            return f"{self.model}: skipped: {error}"


class ClozeTable(Job, command="answer cloze-table", beside="models"):
    """Join the cloze tests of all models, and print the shares."""

    tables: Annotated[Paths, "of `answer clozes`", Flag("PARQUET", by_place=True)]
    recall: Recall = ()
    out_text: Annotated[Output, Flag("TXT")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from factdrift.core.owned import atomic_path
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.answer_schemas import CLOZES
        from factdrift.evaluation.scores.clozes import lines
        from factdrift.models.bundled.known import recall_lines

        table = pa.concat_tables([pq.read_table(path, schema=CLOZES) for path in self.tables])
        text = "\n".join([*lines(table), *recall_lines(self.recall)])
        with atomic_path(self.out_text) as path:
            path.write_text(f"{text}\n", encoding="utf-8")
        write_parquet(table, self.output)
        return text


class LmEval(Job, command="answer lm-eval", beside="questions"):
    """Write tasks for EleutherAI's lm-evaluation-harness."""

    questions: Annotated[
        tuple[str, ...],
        "questions with options, such as tempripple=results/tempripple.parquet",
        Flag("NAME=PARQUET"),
    ] = ()
    edits: Annotated[Path | None, "of `edit dataset`: WikiFactDiff's clozes", Flag("PARQUET")] = None
    prompt: Annotated[str, Key("answer.prompts.loglik")]
    output: Annotated[Output, Flag("FOLDER")]

    def run(self) -> str | None:
        from factdrift.evaluation.questions.items import read_clozes
        from factdrift.evaluation.tools.harness import Task, cloze_tasks, question_tasks, write_tasks

        try:
            check_prompt("loglik", self.prompt)
        except ValueError as error:
            raise InputError(f"--prompt: {error}") from None
        tasks: list[Task] = []
        for given in self.questions:
            name, _, path = given.partition("=")
            if not re.fullmatch(r"\w+", name) or not path:
                raise InputError(f"--questions: {given!r} is not of the form tempripple=FILE.parquet")
            tasks += question_tasks(name, Path(path), self.prompt)
        if self.edits is not None:
            tasks += cloze_tasks(read_clozes([], self.edits))
        written = write_tasks(tasks, self.output)
        return "\n".join(f"{task.name}: {len(task.table):,}" for task in written) or None


class Taught(Job, command="answer taught"):
    """Write what TempRIPPLE asks, for a bundled model to learn."""

    facts: Annotated[Path, "tr_facts", Flag("PARQUET")]
    related: Annotated[Path, "tr_related", Flag("PARQUET")]
    wikifactdiff: Annotated[Path, "changes", Flag("PARQUET")]
    old: Annotated[datetime.date, "T_old", Flag("DAY")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.taught_tempripple import write_taught

        facts = write_taught(self.facts, self.related, self.wikifactdiff, self.old, self.output)
        return f"{self.output}: {facts:,} facts"


class _AsksChat(_OfItems):
    prompt: Annotated[str, Key("answer.prompts.letter")]
    # Another limit of the price or another server makes no request again.
    settings: Annotated[Chat, Key("chat", only=" ".join(Form.__struct_fields__))]


class Requests(_AsksChat, command="answer requests"):
    """Write what a chat model is asked, without and with context."""

    output: Annotated[Output, "requests", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.ways.chat import write_requests

        rows = write_requests(self.read_items(), self.prompt, self.settings, self.output)
        return f"{self.output}: {rows:,} requests"


class Read(_AsksChat, command="answer read"):
    """Read predictions from the answers of a chat model."""

    answers: Annotated[Path, Flag("PARQUET")]
    out_run: Annotated[Output, "description of the run", Flag("JSON")]
    output: Annotated[Output, "predictions", Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.evaluation.ways.chat import read_answers

        about = read_answers(self.read_items(), self.prompt, self.settings, self.answers, self.output)
        _write(about, self.out_run)


class Scores(Job, command="answer scores"):
    """Write accuracies with intervals, and the paper's tests."""

    items_: Annotated[Path, "tr_items", Flag("PARQUET")]
    facts: Annotated[Path, "tr_facts", Flag("PARQUET")]
    predictions: Annotated[Paths, "of each job, in the order of the tables", Flag("PARQUET")]
    runs: Annotated[tuple[str, ...], Role("input"), f"of each job; {OR_FILE}", Flag("JSON")]
    cutoffs: Annotated[
        str, f"model -> last day of its training data, 2021-01-04; {OR_FILE}", Flag("JSON")
    ] = "{}"
    skipped: Annotated[str, f"[model, method, reason] of methods without a job; {OR_FILE}", Flag("JSON")] = (
        "[]"
    )
    strict: Annotated[bool, Key("strict")]
    draws: Annotated[int, Key("answer.draws")]
    seed: Annotated[int, Key("seed")]
    out_predictions: Annotated[Output, Flag("PARQUET")]
    out_runs: Annotated[Output, Flag("JSON")]
    out_tests: Annotated[Output, Flag("JSON")]
    output: Annotated[Output, "the scores", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.scores.answers import write_runs, write_scores
        from factdrift.evaluation.skipped import Skipped

        skipped = [Skipped(*each) for each in _json(self.skipped, "--skipped", "[]")]
        runs = [_json(each, "--runs", "what `answer run` describes") for each in self.runs]
        write_runs(runs, self.out_runs, skipped, self.strict)
        return f"{self.output}: {write_scores(self):,} rows"

    def last_days(self) -> dict[str, datetime.date]:
        """Model -> last day of its training data. Raises InputError if the cutoffs are not such an object."""
        form = '{"sample-llama": "2021-01-04"}'
        given = _json(self.cutoffs, "--cutoffs", form)
        try:
            return {model: datetime.date.fromisoformat(day) for model, day in given.items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"--cutoffs: {given!r} is no object from models to days ({error}); give {form}"
            ) from None


class DatedScores(Job, command="answer dated-scores", beside="models"):
    """Write the scores of questions with a date."""

    items_: Annotated[Path, "of `streams asof`", Flag("PARQUET")]
    predictions: Annotated[Paths, "of each job", Flag("PARQUET")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.evaluation.scores.dated import write_scores

        write_scores(self.items_, self.predictions, self.output)


class Table(Job, command="answer table", beside="table tables"):
    """Print the scores by task and by hop, as the TempRIPPLE paper's tables."""

    scores: Annotated[Path, Flag("PARQUET")]
    tests: Annotated[Path, Flag("JSON")]
    runs: Annotated[str, Role("input"), f"of `answer scores`; {OR_FILE}", Flag("JSON")]
    recall: Recall = ()
    output: Annotated[Place, Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.core.owned import claim
        from factdrift.evaluation.scores import answer_table as table
        from factdrift.evaluation.scores.table import skipped_among
        from factdrift.models.bundled.known import recall_lines
        from factdrift.tempripple.score import SELECTIONS

        claim(self.output, (f"{name}.{form}" for name in ("table2", "table3") for form in ("txt", "csv")))
        skipped = skipped_among(_json(self.runs, "--runs", "what `answer scores` wrote"))
        selections = [table.read_scores(self.scores, self.tests, name) for name in SELECTIONS]
        printed: list[str] = []
        for name, lines, columns in (
            ("table2", table.by_task, table.TASK_COLUMNS),
            ("table3", table.by_hop, table.HOP_COLUMNS),
        ):
            text = [line for scores in selections for line in (*lines(scores, skipped), "")]
            text += recall_lines(self.recall)
            table.write_text(text, self.output / f"{name}.txt")
            table.write_csv(selections, columns, self.output / f"{name}.csv")
            printed += text
        return "\n".join(printed)


class Figure(Job, command="answer figure"):
    """Draw accuracy against the number of hops."""

    scores: Annotated[Path, Flag("PARQUET")]
    output: Annotated[Outputs, Flag("SVG|PNG")]

    def run(self) -> str:
        from factdrift.evaluation.scores.answer_figure import draw

        for path in self.output:
            draw(self.scores, path)
        return " ".join(map(str, self.output))


def _write(about: Mapping[str, Any], path: Path) -> None:
    from factdrift.core.owned import atomic_path

    with atomic_path(path) as partial:
        partial.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _json(text: str, option: str, form: str) -> Any:
    """What a flag gives: JSON, or a file that holds it, with `@` before its name or without."""
    return read_json(text if text[:1] in ("{", "[", "@") else f"@{text}", option, form)

"""Jobs that compute scores from the answers of models, and print and draw them."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import write_json, write_text
from factdrift.core.jobs import Flag, Job, Key, Output, Outputs, Paths, Place, Places
from factdrift.core.keys import read_json
from factdrift.core.switches import Variant
from factdrift.evaluation.ability.record import Ability, read_ability
from factdrift.evaluation.methods.record import Skipped, skipped_methods
from factdrift.evaluation.probing import Recall

if TYPE_CHECKING:
    from factdrift.evaluation.scores.groups import Group
    from factdrift.evaluation.scores.metrics import Runs

Which = Literal["none", "unclear", "all"]
OR_FILE = "JSON itself, or FILE or @FILE that holds it"


def _json(text: str, option: str, form: str) -> Any:
    """What a flag gives: JSON, or a file that holds it, with `@` before its name or without."""
    return read_json(text if text[:1] in ("{", "[", "@") else f"@{text}", option, form)


class Skips(Job):
    """A command about all methods, for some of which there is no job."""

    skipped: Annotated[str, f"[model, method, reason] of these; {OR_FILE}", Flag("JSON")] = "[]"

    def without_job(self) -> list[Any]:
        return [Skipped(*skip) for skip in _json(self.skipped, "--skipped", "[]")]


class Printed(Job):
    """A command that writes what it prints."""

    out_text: Annotated[Output, Flag("TXT")]

    def printed(self, *lines: str) -> str:
        """The lines as one text, which is written."""
        text = "\n".join(lines)
        write_text(text, self.out_text)
        return text


class Scores(Skips, command="edit scores", implied_inputs="models_ tables"):
    """Compute the metrics of each edit, of a dataset or of a stream; print and draw their means.

    Written answers come first, then the WikiFactDiff paper's Tables 6 and 7 or a stream's.
    """

    edits: Annotated[Path, "of `edit dataset`: those of a stream are scored after each interval"]
    answers: Annotated[Paths, "of each job, those of the unedited models first"]
    made: Annotated[Paths, "edits of each job"]
    states: Annotated[Paths, "of each job"]
    costs: Annotated[Paths, "of each job", Flag("JSON")] = ()
    ability: Annotated[Paths, "of each model", Flag("JSON")] = ()
    recall: Recall = ()
    strict: Annotated[bool, Key("strict")]
    variant: Annotated[Variant, Key("variant")]
    probes: Annotated[int, Key("edit.stream.probes")]
    seed: Annotated[int, Key("seed"), "that of `evaluate`;"]
    models: Annotated[tuple[str, ...], "in the order of the tables"]
    methods: Annotated[tuple[str, ...], "likewise"]
    out_scores: Output
    out_probes: Annotated[Output | None, "all probes; not of a stream"] = None
    out_intervals: Annotated[Output | None, "of a stream"] = None
    out_written: Output
    out_costs: Annotated[Output, Flag("JSON")]
    output: Annotated[Place, "of the tables", Flag("FOLDER")]
    out_bleedover: Annotated[Outputs, "against popularity and similarity", Flag("SVG|PDF")] = ()
    out_figures: Annotated[
        Outputs, "what was written about updates, by verdict; of a stream scores over time", Flag("SVG|PDF")
    ] = ()

    def check(self) -> None:
        super().check()
        if (self.out_probes is None) == (self.out_intervals is None):
            raise InputError("--out-probes of edits of a dataset, or --out-intervals of a stream: give one")

    def run(self) -> str:
        from factdrift.evaluation.scores import costs, metrics

        skipped = costs.write_costs(self.costs, self.out_costs, self.without_job(), self.strict)
        for line in skipped_methods(skipped):
            print(f"skipped: {line}")
        names = ("edits", "answers", "made", "states", "models", "methods")
        tables = {name: getattr(self, name) for name in names}
        runs = metrics.Runs(**tables, abilities=self.ability, without_new=self.variant == "revised")
        if self.out_intervals is not None:
            return self._of_stream(runs, self.out_intervals)
        assert self.out_probes is not None
        return self._of_dataset(runs, self.out_probes)

    def _of_stream(self, runs: Runs, intervals: Path) -> str:
        from factdrift.evaluation.scores import figures, metrics

        outputs = self.out_scores, intervals, self.out_written
        number = metrics.write_stream_scores(runs, self.probes, self.seed, *outputs)
        text, groups = self._tables((intervals, list(map(read_ability, self.ability))))
        figures.draw_stream(groups, self.out_figures)
        return f"{text}\n\n{self.out_scores}: {number:,} rows"

    def _of_dataset(self, runs: Runs, probes: Path) -> str:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.scores import bleedover, figures, groups, metrics, written

        texts = written.written_table(runs.answers, [runs.edits], without_new=runs.without_new)
        write_parquet(texts, self.out_written)
        number = metrics.write_scores(runs, self.out_scores, probes)
        if self.out_bleedover:
            bleedover.draw_bleedover(probes, self.out_bleedover, runs.without_new)
        if self.out_figures:
            figures.draw_written(texts.to_pylist(), self.out_figures)
        text, _ = self._tables()
        unaligned = groups.unaligned_lines(zip(self.answers, self.made, strict=True))
        return "\n".join([text, "", *unaligned, f"{self.out_scores}: {number:,} rows"])

    def _tables(self, stream: tuple[Path, list[Ability]] | None = None) -> tuple[str, list[Group]]:
        from factdrift.evaluation.scores.table import write_tables

        files = (self.out_scores, self.out_written, self.out_costs)
        return write_tables(*files, self.output, self.recall, stream)


class AgainstEdits(Job, command="locate against-edits", implied_inputs="models_ located"):
    """Compare the scores of blocks with the success of edits at these blocks."""

    edits: Annotated[Path, Flag("PARQUET")]
    answers: Annotated[Paths, "of each unedited model, and of each with edits at every block"]
    made: Annotated[Paths, "edits, likewise"]
    states: Annotated[Paths, "likewise"]
    models: Annotated[tuple[str, ...], "names, in the order of the tables"]
    folders: Annotated[Places, "of each model, with those of its locators"]
    locators: Annotated[tuple[str, ...], "names, in the order of the tables"]
    methods: Annotated[tuple[str, ...], Key("locate.edit_methods")]
    seed: Annotated[int, Key("seed")]
    out_table: Annotated[Output, Flag("PARQUET")]
    out_text: Annotated[Output, Flag("TXT")]
    out_figures: Annotated[Outputs, Flag("SVG|PDF")]

    def run(self) -> str:
        from factdrift.evaluation.scores import against_edits, figures, metrics

        names = ("edits", "answers", "made", "states", "models", "methods")
        runs = metrics.Runs(**{name: getattr(self, name) for name in names})
        rows, notes = against_edits.against_edits(runs, self.folders, self.locators, self.seed)
        number = against_edits.write_against(rows, notes, self.out_table)
        text = "\n".join([*against_edits.lines(rows), *notes]) + "\n"
        write_text(text, self.out_text)
        figures.draw_blocks(rows, self.out_figures, against_edits.SHOWN)
        return f"{text}\n{self.out_table}: {number:,} rows"


class AnswerScores(Skips, command="answer scores", implied_inputs="models_ table tables"):
    """Write the scores of answers to TempRIPPLE with its tests, to questions with a date, or to ripples.

    Those of TempRIPPLE are printed by task and by hop, as its paper's tables, behind what was written.
    Another program's answers to it are a table of --predictions:
    factdrift answer scores results/tempripple.parquet --predictions mine.csv
    """

    questions: Annotated[
        Path, "tr_items; asof; ripples, also those that `edit import` wrote", Flag("PARQUET", positional=True)
    ]
    benchmark: Annotated[Literal["tempripple", "asof", "ripples"], "what the questions are"] = "tempripple"
    answers: Annotated[Paths, "of each job, in the order of the tables", Flag("PARQUET")] = ()
    predictions: Annotated[
        Path | None,
        "instead of --answers: item_id, condition (without, with, edited), correct (bool); if several, model",
        Flag("PARQUET|CSV", by_hand=True),
    ] = None
    facts: Annotated[Path | None, "tr_facts, which cutoffs and durations need", Flag("PARQUET")] = None
    runs: Annotated[Paths, "of each job on tempripple", Flag("JSON")] = ()
    cutoffs: Annotated[
        str, f"model -> last day of its training data, 2021-01-04; {OR_FILE}", Flag("JSON")
    ] = "{}"
    dates: Annotated[Paths, "of `cutoff dates`: cutoffs of the models that have a date", Flag("PARQUET")] = ()
    recall: Recall = ()
    strict: Annotated[bool, Key("strict")]
    draws: Annotated[int, Key("answer.draws")]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output | None, "the scores", Flag("PARQUET")] = None
    out_predictions: Annotated[Output | None, "of tempripple", Flag("PARQUET")] = None
    out_runs: Annotated[Output | None, "of tempripple", Flag("JSON")] = None
    out_tests: Annotated[Output | None, "of tempripple", Flag("JSON")] = None
    folder: Annotated[Place | None, "of the tables of tempripple", Flag("FOLDER")] = None
    out_text: Annotated[Output | None, "what is printed of ripples", Flag("TXT")] = None
    out_figures: Annotated[
        Outputs, "of tempripple accuracy by hop, of ripples by criterion", Flag("SVG|PDF")
    ] = ()

    def check(self) -> None:
        super().check()
        if not self.answers and self.predictions is None:
            raise InputError("--answers: name tables of answers, or those of another program (--predictions)")
        if self.predictions is not None and self.benchmark != "tempripple":
            raise InputError("--predictions: other programs' answers are scored on tempripple only")
        if self.benchmark == "asof" and self.output is None:
            raise InputError("--output: the scores of questions with a date are a table; name it")

    def run(self) -> str:
        match self.benchmark:
            case "asof":
                from factdrift.evaluation.scores.dated import write_scores

                assert self.output is not None
                return f"{self.output}: {write_scores(self.questions, self.answers, self.output):,} rows"
            case "ripples":
                return self._ripples()
        return self._tempripple()

    def _ripples(self) -> str:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.questions.clozes import CONDITION
        from factdrift.evaluation.scores import figures, ripples, written, written_lines

        table = ripples.scores(self.questions, self.answers, self.seed)
        texts = written.written_table(self.answers).to_pylist()
        lines = [*written_lines.written_lines(row for row in texts if row["role"] != CONDITION)]
        lines += ripples.lines(table.to_pylist())
        lines += ripples.lines_of_tests(ripples.judged_tests(self.questions, self.answers))
        text = "\n".join(lines)
        if self.output:
            write_parquet(table, self.output)
        if self.out_text:
            write_text(text, self.out_text)
        if self.out_figures:
            figures.draw_ripples(table.to_pylist(), self.out_figures)
        return text

    def _tempripple(self) -> str:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.scores import answers, cutoff, figures
        from factdrift.tempripple.schemas import TR_FACTS, TR_ITEMS, read_rows
        from factdrift.tempripple.score import Cutoff

        items = read_rows(self.questions, TR_ITEMS)
        facts = read_rows(self.facts, TR_FACTS) if self.facts else []
        cutoffs = {model: Cutoff(day, day) for model, day in self.last_days().items()}
        unasked = set(cutoffs)
        for path in self.dates:
            cutoffs |= cutoff.cutoffs_of(path)
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in self.runs]
        if self.predictions:
            rows = answers.read_given(self.predictions, items)
        else:
            described = answers.described(runs, self.without_job(), self.strict)
            predictions = answers.predictions(self.answers, runs)
            if self.out_predictions:
                write_parquet(predictions, self.out_predictions)
            rows = predictions.drop_columns(["logprobs", "output"]).to_pylist()
            runs = described
        models = sorted({row["model"] for row in rows})
        for model in sorted(unasked - set(models)):
            note = f"{model} was not asked, so its date says nothing; {', '.join(models)} were"
            print(f"answer.model_cutoff: {note}", file=sys.stderr)
        scores, tests = answers.score(rows, items, facts, cutoffs, self.seed, self.draws)
        for about, output in ((runs, self.out_runs), (tests, self.out_tests)):
            if output:
                write_json(about, output)
        if self.output:
            write_parquet(scores, self.output)
        if self.out_figures:
            figures.draw_hops(scores.to_pylist(), self.out_figures)
        return answers.write_tables(scores, tests, runs, self.folder, self.answers, self.recall)

    def last_days(self) -> dict[str, datetime.date]:
        """Model -> last day of its training data. Raises InputError if the cutoffs are not such an object."""
        form = '{"sample-llama": "2021-01-04"}'
        try:
            return msgspec.convert(_json(self.cutoffs, "--cutoffs", form), dict[str, datetime.date])
        except msgspec.ValidationError as error:
            raise InputError(f"--cutoffs: no object from models to days ({error}); give {form}") from None


class JudgedAnswers(Printed, command="answer judged", implied_inputs="words"):
    """Write the verdicts by rule and by a chat model side by side, and print their agreement."""

    answers: Annotated[Paths, "of each job", Flag("PARQUET")]
    verdicts: Annotated[Paths, "of `chat ask`, of each benchmark", Flag("PARQUET")]
    which: Annotated[Which, Key("written.judge")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.scores.judged import judged_lines, judged_table

        table = judged_table(self.answers, self.verdicts, self.which)
        write_parquet(table, self.output)
        return self.printed(*judged_lines(table))


class Grid(Printed, Skips, command="answer grid", implied_inputs="models_"):
    """Print the share of right answers for each benchmark, state and way."""

    answers: Annotated[Paths, "of each job"]
    made: Annotated[Paths, "edits, likewise"]
    edits: Annotated[Paths, "tables of the updates, and of the stream, that are asked about"] = ()
    runs: Annotated[Paths, "what each job was", Flag("JSON")]
    variant: Annotated[Variant, Key("variant")]
    out_written: Output
    output: Output

    def run(self) -> str:
        from factdrift.core.tables import write_rows
        from factdrift.evaluation.scores import grid, written, written_lines

        cells = grid.write_grid(self.answers, self.made, self.output, self.edits)
        table = written.written_table(self.answers, self.edits, without_new=self.variant == "revised")
        texts = table.to_pylist()
        write_rows(written.written_scores(texts), written.WRITTEN_SCORES, self.out_written)
        lines = grid.lines(cells, self.runs, self.without_job())
        return self.printed(*written_lines.written_lines(texts), *lines)

"""Jobs that compute scores from the answers of models, and print and draw them."""

import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from factdrift.chat.settings import Chat, Form
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Outputs, Paths, Place, Places
from factdrift.core.keys import read_json
from factdrift.core.switches import Variant
from factdrift.evaluation.probing import OfQuestions, Recall

Which = Literal["none", "unclear", "all"]
OR_FILE = "JSON itself, or FILE or @FILE that holds it"


def _json(text: str, option: str, form: str) -> Any:
    """What a flag gives: JSON, or a file that holds it, with `@` before its name or without."""
    return read_json(text if text[:1] in ("{", "[", "@") else f"@{text}", option, form)


class Skips(Job):
    """A command about all methods, for some of which there is no job."""

    skipped: Annotated[str, f"[model, method, reason] of these; {OR_FILE}", Flag("JSON")] = "[]"

    def without_job(self) -> list[Any]:
        from factdrift.evaluation.methods.record import Skipped

        return [Skipped(*each) for each in _json(self.skipped, "--skipped", "[]")]


class Printed(Job):
    """A command that writes what it prints."""

    out_text: Annotated[Output, Flag("TXT")]

    def printed(self, *lines: str) -> str:
        """The lines as one text, which is written."""
        from factdrift.core.files import write_text

        text = "\n".join(lines)
        write_text(text, self.out_text)
        return text


class Scoring(Skips, beside="models_"):
    """A command that computes scores from the tables of all models and methods."""

    edits: Path
    answers: Annotated[Paths, "of each job, those of the unedited models first"]
    made: Annotated[Paths, "edits of each job"]
    states: Annotated[Paths, "of each job"]
    costs: Annotated[Paths, "of each job", Flag("JSON")] = ()
    strict: Annotated[bool, Key("strict")]
    variant: Annotated[Variant, Key("variant")]
    models: Annotated[tuple[str, ...], "in the order of the tables"]
    methods: Annotated[tuple[str, ...], "likewise"]
    out_scores: Output
    out_costs: Annotated[Output, Flag("JSON")]

    def runs(self, ability: Paths = ()) -> Any:
        """What the jobs have written; writes `out_costs` and prints the methods that were skipped."""
        from factdrift.evaluation.methods.record import skipped_methods
        from factdrift.evaluation.scores.costs import write_costs
        from factdrift.evaluation.scores.metrics import Runs

        skipped = write_costs(self.costs, self.out_costs, self.without_job(), self.strict)
        for line in skipped_methods(skipped):
            print(f"skipped: {line}")
        names = ("edits", "answers", "made", "states", "models", "methods")
        tables = {name: getattr(self, name) for name in names}
        return Runs(**tables, abilities=ability, without_new=self.variant == "revised")


class Scores(Scoring, command="edit scores"):
    """Compute the metrics of each edit and join all probes."""

    ability: Annotated[Paths, "of each model", Flag("JSON")] = ()
    out_probes: Output
    out_written: Output

    def run(self) -> str:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.scores.metrics import write_scores
        from factdrift.evaluation.scores.written import written_table

        runs = self.runs(self.ability)
        written = written_table(runs.answers, [runs.edits], without_new=runs.without_new)
        write_parquet(written, self.out_written)
        return f"{self.out_scores}: {write_scores(runs, self.out_scores, self.out_probes):,} rows"


class Table(Job, command="edit table", beside="tables"):
    """Print what was written, then the WikiFactDiff paper's Tables 6 and 7, and draw its figure."""

    scores: Path
    written: Path
    costs: Annotated[Path, Flag("JSON")]
    probes: Annotated[Path | None, "of `edit scores`, for its figure"] = None
    answers: Annotated[Paths, "of each unedited model"] = ()
    made: Annotated[Paths, "edits, likewise"] = ()
    recall: Recall = ()
    variant: Annotated[Variant, Key("variant")]
    output: Annotated[Place, Flag("FOLDER")]
    out_bleedover: Annotated[Outputs, "against popularity and similarity", Flag("SVG|PDF")] = ()
    out_figures: Annotated[Outputs, "what was written about updates, by verdict", Flag("SVG|PDF")] = ()

    def run(self) -> None:
        from factdrift.evaluation.scores import written_figure
        from factdrift.evaluation.scores.table import draw, write_tables

        if self.out_bleedover and self.probes:
            draw(self.probes, self.out_bleedover, self.variant == "revised")
        if self.out_figures:
            written_figure.draw(self.written, self.out_figures)
        unedited = zip(self.answers, self.made, strict=True)
        write_tables(self.scores, self.written, self.costs, self.output, unedited, self.recall)


class StreamScores(Scoring, command="edit stream-scores"):
    """Join the runs of a stream and compute the metrics of each update."""

    probes: Annotated[int, Key("edit.stream.probes")]
    seed: Annotated[int, Key("seed"), "that of `evaluate`;"]
    out_intervals: Output
    out_written: Output

    def run(self) -> str:
        from factdrift.evaluation.scores.metrics import write_stream_scores

        outputs = (self.out_scores, self.out_intervals, self.out_written)
        rows = write_stream_scores(self.runs(), self.probes, self.seed, *outputs)
        return f"{self.out_scores}: {rows:,} rows"


class StreamReport(Job, command="edit stream-report"):
    """Print the scores of a stream by interval, and draw them."""

    scores: Path
    written: Path
    intervals: Path
    costs: Annotated[Path, Flag("JSON")]
    ability: Annotated[Paths, "of each model", Flag("JSON")] = ()
    recall: Recall = ()
    out_table: Annotated[Output, Flag("TXT")]
    out_csv: Annotated[Output, Flag("CSV")]
    out_figures: Annotated[Outputs, Flag("SVG|PDF")]

    def run(self) -> str:
        from factdrift.evaluation.scores.stream_table import report

        return report(self)


class AgainstEdits(Job, command="locate against-edits", beside="models_ located"):
    """Compare blocks' scores with the success of edits there."""

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
        from factdrift.evaluation.scores.against_edits import against_edits

        return against_edits(self)


class ClozeTable(Printed, command="answer cloze-table", beside="models_"):
    """Join the cloze tests of KLoB and of updates that unedited models answered, and print the shares."""

    answers: Annotated[Paths, "of each model on klob and on updates", Flag("PARQUET")]
    klob: Annotated[Paths, "klob_c, klob_r", Flag("PARQUET")]
    edits: Annotated[Path, "of `edit dataset`", Flag("PARQUET")]
    recall: Recall = ()
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.scores.clozes import lines, table_of
        from factdrift.models.bundled.taught import recall_lines

        table = table_of(self.answers, self.klob, self.edits)
        write_parquet(table, self.output)
        return self.printed(*lines(table), *recall_lines(self.recall))


class AnswerScores(Skips, command="answer scores"):
    """Write accuracies with intervals, and the paper's tests."""

    items_: Annotated[Path, "tr_items", Flag("PARQUET")]
    facts: Annotated[Path, "tr_facts", Flag("PARQUET")]
    answers: Annotated[Paths, "of each job, in the order of the tables", Flag("PARQUET")]
    runs: Annotated[Paths, "of each job", Flag("JSON")]
    cutoffs: Annotated[
        str, f"model -> last day of its training data, 2021-01-04; {OR_FILE}", Flag("JSON")
    ] = "{}"
    dates: Annotated[Paths, "of `cutoff dates`: cutoffs of the models that have a date", Flag("PARQUET")] = ()
    strict: Annotated[bool, Key("strict")]
    draws: Annotated[int, Key("answer.draws")]
    seed: Annotated[int, Key("seed")]
    out_predictions: Annotated[Output, Flag("PARQUET")]
    out_runs: Annotated[Output, Flag("JSON")]
    out_tests: Annotated[Output, Flag("JSON")]
    output: Annotated[Output, "the scores", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.scores.answers import write_scores

        return f"{self.output}: {write_scores(self):,} rows"

    def last_days(self) -> dict[str, datetime.date]:
        """Model -> last day of its training data. Raises InputError if the cutoffs are not such an object."""
        form = '{"sample-llama": "2021-01-04"}'
        try:
            return msgspec.convert(_json(self.cutoffs, "--cutoffs", form), dict[str, datetime.date])
        except msgspec.ValidationError as error:
            raise InputError(f"--cutoffs: no object from models to days ({error}); give {form}") from None


class DatedScores(Job, command="answer dated-scores"):
    """Write the scores of questions with a date."""

    items_: Annotated[Path, "of `streams asof`", Flag("PARQUET")]
    answers: Annotated[Paths, "of each job", Flag("PARQUET")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.evaluation.scores.dated import write_scores

        write_scores(self.items_, self.answers, self.output)


class RippleScores(Printed, command="answer ripple-scores", beside="models_"):
    """Write the scores of what follows from updates, as a table, as text, and drawn."""

    probes: Annotated[Path, "ripples.parquet", Flag("PARQUET")]
    answers: Annotated[Paths, "of each job", Flag("PARQUET")]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]
    out_figures: Annotated[Outputs, "SVG or PDF"]

    def run(self) -> str:
        from factdrift.evaluation.questions.ripples import CONDITION
        from factdrift.evaluation.scores.ripple_figure import draw
        from factdrift.evaluation.scores.ripples import text_of, write_scores
        from factdrift.evaluation.scores.written import written_table
        from factdrift.evaluation.scores.written_lines import written_lines

        rows = write_scores(self.probes, self.answers, self.seed, self.output)
        written = written_table(self.answers).to_pylist()
        said = written_lines(row for row in written if row["role"] != CONDITION)
        draw(rows, self.out_figures)
        return self.printed(*said, *text_of(rows))


class RippleTests(Job, command="answer ripple-tests"):
    """Judge written answers to ripples as RippleEdits does."""

    probes: Annotated[Path, "ripples.parquet, or what `edit import` wrote", Flag("PARQUET", by_place=True)]
    answers: Annotated[Paths, "of each job", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.scores.ripple_tests import judged, text_of

        return "\n".join(text_of(judged(self.probes, self.answers)))


class JudgeRequests(OfQuestions, command="answer judge-requests", beside="reads"):
    """Write what a chat model is asked about written answers: its verdict."""

    answers: Annotated[Paths, "of each job", Flag("PARQUET")]
    which: Annotated[Which, Key("written.judge")]
    # Another limit of the price or another server makes no request again.
    settings: Annotated[Chat, Key("chat", only=" ".join(Form.__struct_fields__))]
    output: Annotated[Output, "requests", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.scores.judged import write_judge_requests

        asked = self.read(open_=True)
        rows = write_judge_requests(asked, self.answers, self.which, self.settings, self.output)
        return f"{self.output}: {rows:,} requests"


class JudgedAnswers(Printed, command="answer judged", beside="words"):
    """Write the verdicts by rule and by a chat model side by side, and print how far they agree."""

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


class AnswerTable(Job, command="answer table", beside="table tables"):
    """Print what was written, then the scores by task and by hop, as the TempRIPPLE paper's tables."""

    answers: Annotated[Paths, "of each job, whose verdicts come first", Flag("PARQUET")] = ()
    scores: Annotated[Path, Flag("PARQUET")]
    tests: Annotated[Path, Flag("JSON")]
    runs: Annotated[Path, "of `answer scores`", Flag("JSON")]
    recall: Recall = ()
    output: Annotated[Place, Flag("FOLDER")]
    out_figures: Annotated[Outputs, "accuracy against the number of hops", Flag("SVG|PDF")] = ()

    def run(self) -> str:
        from factdrift.evaluation.scores.answers import draw, write_tables

        if self.out_figures:
            draw(self.scores, self.out_figures)
        return write_tables(self)


class Grid(Printed, Skips, command="answer grid", beside="models_"):
    """Print how many questions of each benchmark are answered right in each state and way."""

    answers: Annotated[Paths, "of each job"]
    made: Annotated[Paths, "edits, likewise"]
    edits: Annotated[Paths, "tables of the updates, and of the stream, that are asked about"] = ()
    runs: Annotated[Paths, "what each job was", Flag("JSON")]
    variant: Annotated[Variant, Key("variant")]
    out_written: Output
    output: Output

    def run(self) -> str:
        import pyarrow as pa

        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.scores.grid import lines, write_grid
        from factdrift.evaluation.scores.verdicts import WRITTEN_SCORES, written_scores
        from factdrift.evaluation.scores.written import written_table
        from factdrift.evaluation.scores.written_lines import written_lines

        table = write_grid(self.answers, self.made, self.output, self.edits)
        written = written_table(self.answers, self.edits, without_new=self.variant == "revised").to_pylist()
        write_parquet(pa.Table.from_pylist(written_scores(written), WRITTEN_SCORES), self.out_written)
        return self.printed(*written_lines(written), *lines(table, self.runs, self.without_job()))

"""Jobs that compute scores from answers, and print and draw them."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Annotated, Any

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Outputs, Paths, Place, Places, Role
from factdrift.core.keys import read_json
from factdrift.core.switches import Variant
from factdrift.evaluation.probing import Recall

OR_FILE = "JSON itself, or FILE or @FILE that holds it"


class Scoring(Job, beside="models_"):
    """A command that computes scores from the tables of all models and methods."""

    edits: Path
    answers: Annotated[Paths, "of each job, those of the unedited models first"]
    made: Annotated[Paths, "edits of each job"]
    states: Annotated[Paths, "of each job"]
    costs: Annotated[Paths, "of each job", Flag("JSON")] = ()
    skipped: Annotated[str, "[model, method, reason] of methods without a job", Flag("JSON")] = "[]"
    strict: Annotated[bool, Key("strict")]
    variant: Annotated[Variant, Key("variant")]
    models: Annotated[tuple[str, ...], "in the order of the tables"]
    methods: Annotated[tuple[str, ...], "likewise"]
    out_scores: Output
    out_costs: Annotated[Output, Flag("JSON")]

    def tables(self) -> dict[str, Any]:
        """What the jobs have written, as arguments of Runs."""
        names = ("edits", "answers", "made", "states", "models", "methods")
        without_new = self.variant == "revised"
        return {name: getattr(self, name) for name in names} | {"without_new": without_new}

    def write_costs(self) -> None:
        """Writes `out_costs` and prints the methods that were skipped."""
        from factdrift.evaluation.methods.skipped import Skipped, skipped_methods
        from factdrift.evaluation.scores.costs import write_costs

        skipped = [Skipped(*each) for each in read_json(self.skipped, "--skipped", "a list such as []")]
        for line in skipped_methods(write_costs(self.costs, self.out_costs, skipped, self.strict)):
            print(f"skipped: {line}")


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
    answers: Annotated[Paths, "of each unedited model"] = ()
    made: Annotated[Paths, "edits, likewise"] = ()
    recall: Recall = ()
    output: Annotated[Place, Flag("FOLDER")]

    def run(self) -> None:
        from factdrift.evaluation.scores.table import unaligned_lines, write_tables

        unaligned = list(unaligned_lines(self.answers, self.made))
        write_tables(self.scores, self.costs, unaligned, self.output, self.recall)


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


class StreamScores(Scoring, command="edit stream-scores"):
    """Join the runs of a stream and compute the metrics of each update."""

    probes: Annotated[int, Key("edit.stream.probes")]
    seed: Annotated[int, Key("seed"), "that of `evaluate`;"]
    out_intervals: Output

    def run(self) -> str:
        from factdrift.evaluation.scores.metrics import Runs
        from factdrift.evaluation.scores.stream import write_stream_scores

        self.write_costs()
        runs, outputs = Runs(**self.tables()), (self.out_scores, self.out_intervals)
        return f"{self.out_scores}: {write_stream_scores(runs, self.probes, self.seed, *outputs):,} rows"


class StreamReport(Job, command="edit stream-report"):
    """Print the scores of a stream by interval, and draw them."""

    scores: Path
    intervals: Path
    costs: Annotated[Path, Flag("JSON")]
    ability: Annotated[Paths, "of each model", Flag("JSON")] = ()
    recall: Recall = ()
    out_table: Annotated[Output, Flag("TXT")]
    out_csv: Annotated[Output, Flag("CSV")]
    out_figures: Annotated[Outputs, Flag("SVG|PNG")]

    def run(self) -> None:
        from factdrift.evaluation.scores.stream_figure import draw
        from factdrift.evaluation.scores.stream_table import Stream, write_report

        stream = Stream.read(self.scores, self.intervals, self.costs, self.ability, self.recall)
        for line in write_report(stream, self.out_table, self.out_csv):
            print(f"skipped: {line}")
        for path in self.out_figures:
            draw(stream, path)
        print(*self.out_figures)


class ClozeTable(Job, command="answer cloze-table", beside="models_"):
    """Join the cloze tests of KLoB and of updates that unedited models answered, and print the shares."""

    answers: Annotated[Paths, "of each model on klob and on updates", Flag("PARQUET")]
    klob: Annotated[Paths, "klob_c, klob_r", Flag("PARQUET")]
    edits: Annotated[Path, "of `edit dataset`", Flag("PARQUET")]
    recall: Recall = ()
    out_text: Annotated[Output, Flag("TXT")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.core.owned import atomic_path
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.scores.clozes import lines, table_of
        from factdrift.models.bundled.known import recall_lines

        table = table_of(self.answers, self.klob, self.edits)
        text = "\n".join([*lines(table), *recall_lines(self.recall)])
        with atomic_path(self.out_text) as path:
            path.write_text(f"{text}\n", encoding="utf-8")
        write_parquet(table, self.output)
        return text


class AnswerScores(Job, command="answer scores"):
    """Write accuracies with intervals, and the paper's tests."""

    items_: Annotated[Path, "tr_items", Flag("PARQUET")]
    facts: Annotated[Path, "tr_facts", Flag("PARQUET")]
    answers: Annotated[Paths, "of each job, in the order of the tables", Flag("PARQUET")]
    runs: Annotated[tuple[str, ...], Role("input"), f"of each job; {OR_FILE}", Flag("JSON")]
    cutoffs: Annotated[
        str, f"model -> last day of its training data, 2021-01-04; {OR_FILE}", Flag("JSON")
    ] = "{}"
    dates: Annotated[Paths, "of `answer dates`: cutoffs of the models that have a date", Flag("PARQUET")] = ()
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
        from factdrift.evaluation.methods.skipped import Skipped
        from factdrift.evaluation.scores.answers import write_runs, write_scores

        skipped = [Skipped(*each) for each in _json(self.skipped, "--skipped", "[]")]
        write_runs(self.described(), self.out_runs, skipped, self.strict)
        return f"{self.output}: {write_scores(self):,} rows"

    def described(self) -> list[dict[str, Any]]:
        """What was run, of each job."""
        return [_json(each, "--runs", "what `evaluate` describes") for each in self.runs]

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
    answers: Annotated[Paths, "of each job", Flag("PARQUET")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.evaluation.scores.dated import write_scores

        write_scores(self.items_, self.answers, self.output)


class RippleScores(Job, command="answer ripple-scores", beside="models_"):
    """Write the scores of what follows from updates, as a table, as text, and drawn."""

    probes: Annotated[Path, "ripples.parquet", Flag("PARQUET")]
    answers: Annotated[Paths, "of each job", Flag("PARQUET")]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]
    out_text: Annotated[Output, Flag("TXT")]
    out_figures: Annotated[Outputs, "SVG or PNG"]

    def run(self) -> str:
        from factdrift.core.owned import atomic_path
        from factdrift.evaluation.scores.ripple_figure import draw
        from factdrift.evaluation.scores.ripples import text_of, write_scores

        rows = write_scores(self.probes, self.answers, self.seed, self.output)
        text = "\n".join(text_of(rows))
        with atomic_path(self.out_text) as path:
            path.write_text(f"{text}\n", encoding="utf-8")
        draw(rows, self.out_figures)
        return text


class RippleTests(Job, command="answer ripple-tests"):
    """Judge written answers to ripples as RippleEdits does."""

    probes: Annotated[Path, "ripples.parquet, or what `edit import` wrote", Flag("PARQUET", by_place=True)]
    answers: Annotated[Paths, "of each job", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.scores.ripple_tests import judged, text_of

        return "\n".join(text_of(judged(self.probes, self.answers)))


class AnswerTable(Job, command="answer table", beside="table tables"):
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


class AnswerFigure(Job, command="answer figure"):
    """Draw accuracy against the number of hops."""

    scores: Annotated[Path, Flag("PARQUET")]
    output: Annotated[Outputs, Flag("SVG|PNG")]

    def run(self) -> str:
        from factdrift.evaluation.scores.answer_figure import draw

        for path in self.output:
            draw(self.scores, path)
        return " ".join(map(str, self.output))


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
    out_figures: Annotated[Outputs, Flag("SVG|PNG")]

    def run(self) -> str:
        from factdrift.core.owned import atomic_path
        from factdrift.evaluation.locators.gather import skipped
        from factdrift.evaluation.methods.blocks import named
        from factdrift.evaluation.scores.against_edits import (
            compare,
            draw,
            lines,
            read_edited,
            read_located,
            unedited,
            write_against,
        )
        from factdrift.evaluation.scores.metrics import Runs, weights_of
        from factdrift.models.names import check_same_weights

        rows = []
        notes: list[str] = []
        for model, folder in zip(self.models, self.folders, strict=True):
            located = []
            for name in self.locators:
                tables = sorted((folder / name).glob("edits.*.parquet"))
                about = [path.with_suffix(".json") for path in tables]
                if reason := skipped(about[0]):
                    notes.append(reason)
                    continue
                found = read_located(tables, about)
                if found is None:
                    print(f"{name} on {model}: its units are not numbered block by block; it is left out")
                else:
                    located.append(found)
            if not located:
                continue
            layers = max(len(values) for one in located for values in one.scores.values())
            weights = [(model, one.weights, one.locator) for one in located]
            check_same_weights([*weights, *(each for each in weights_of(self.made) if each[0] == model)])
            runs = Runs(
                edits=self.edits,
                answers=self.answers,
                made=self.made,
                states=self.states,
                models=[model],
                methods=[named(method, layer) for method in self.methods for layer in range(layers)],
            )
            edited = read_edited(runs, layers)
            rows += list(compare(model, located, edited, self.seed))
            notes += unedited(model, edited, self.methods, layers)
        if not rows:
            raise InputError("\n".join(["locate against-edits: nothing could be compared", *notes]))
        number = write_against(rows, self.out_table)
        text = "\n".join([*lines(rows), *notes]) + "\n"
        with atomic_path(self.out_text) as path:
            path.write_text(text, encoding="utf-8")
        draw(rows, self.out_figures)
        return f"{text}\n{self.out_table}: {number:,} rows"


class Grid(Job, command="answer grid", beside="models_"):
    """Print how many questions of each benchmark are answered right in each state and way."""

    answers: Annotated[Paths, "of each job"]
    made: Annotated[Paths, "edits, likewise"]
    runs: Annotated[Paths, "what each job was", Flag("JSON")]
    skipped: Annotated[str, f"[model, method, reason] of methods without a job; {OR_FILE}", Flag("JSON")] = (
        "[]"
    )
    out_text: Annotated[Output, Flag("TXT")]
    output: Output

    def run(self) -> str:
        from factdrift.core.owned import atomic_path
        from factdrift.evaluation.methods.skipped import Skipped
        from factdrift.evaluation.scores.grid import lines, skipped_runs, write_grid
        from factdrift.evaluation.scores.written import written_lines

        table = write_grid(self.answers, self.made, self.output)
        without = [Skipped(*each) for each in _json(self.skipped, "--skipped", "[]")]
        read = lines(table, skipped_runs(self.runs), without)
        text = "\n".join([*written_lines(self.answers), *read])
        with atomic_path(self.out_text) as path:
            path.write_text(f"{text}\n", encoding="utf-8")
        return text


def _json(text: str, option: str, form: str) -> Any:
    """What a flag gives: JSON, or a file that holds it, with `@` before its name or without."""
    return read_json(text if text[:1] in ("{", "[", "@") else f"@{text}", option, form)

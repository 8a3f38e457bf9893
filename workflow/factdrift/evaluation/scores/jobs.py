"""Jobs that compute scores of edits from answers, and print and draw them."""

import sys
from pathlib import Path
from typing import Annotated, Any

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Outputs, Paths, Place, Places
from factdrift.core.keys import read_json
from factdrift.core.switches import Variant
from factdrift.evaluation.probing import Recall


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

    def runs(self, ability: Paths = ()) -> Any:
        """What the jobs have written; writes `out_costs` and prints the methods that were skipped."""
        from factdrift.evaluation.methods.record import Skipped, skipped_methods
        from factdrift.evaluation.scores.costs import write_costs
        from factdrift.evaluation.scores.metrics import Runs

        skipped = [Skipped(*each) for each in read_json(self.skipped, "--skipped", "a list such as []")]
        for line in skipped_methods(write_costs(self.costs, self.out_costs, skipped, self.strict)):
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
    """Print what was written, and the scores in the layout of the WikiFactDiff paper's Tables 6 and 7."""

    scores: Path
    written: Path
    costs: Annotated[Path, Flag("JSON")]
    answers: Annotated[Paths, "of each unedited model"] = ()
    made: Annotated[Paths, "edits, likewise"] = ()
    recall: Recall = ()
    output: Annotated[Place, Flag("FOLDER")]

    def run(self) -> None:
        from factdrift.evaluation.scores.table import unaligned_lines, write_tables

        unaligned = list(unaligned_lines(self.answers, self.made))
        write_tables(self.scores, self.written, self.costs, unaligned, self.output, self.recall)


class Figures(Job, command="edit figures"):
    """Draw bleedover against popularity and similarity, as the WikiFactDiff paper's Figure 2."""

    probes: Path
    variant: Annotated[Variant, Key("variant")]
    output: Annotated[Outputs, Flag("SVG|PDF")]

    def run(self) -> None:
        from factdrift.evaluation.scores.figures import draw

        missing = draw(self.probes, self.output, self.variant == "revised")
        print(*self.output)
        for column in missing:
            print(
                f"{self.probes}: no probe of a neighbour has a value of `{column}`, so its panel is empty; "
                "the edited dataset has none (imported files have neither `dist` nor `popularity`)",
                file=sys.stderr,
            )


class WrittenFigure(Job, command="edit written-figure"):
    """Draw what was written about updates, by verdict."""

    written: Path
    out_figures: Annotated[Outputs, Flag("SVG|PDF")]

    def run(self) -> str:
        from factdrift.evaluation.scores.written_figure import draw

        draw(self.written, self.out_figures)
        return " ".join(map(str, self.out_figures))


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
        from factdrift.evaluation.scores.stream_table import draw, read_stream, write_report
        from factdrift.models.bundled.taught import recall_lines

        stream = read_stream(self.scores, self.written, self.intervals, self.costs, self.ability)
        said = write_report(stream, list(recall_lines(self.recall)), self.out_table, self.out_csv)
        draw(stream, self.out_figures)
        return "\n".join([*said, " ".join(map(str, self.out_figures))])


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
        from factdrift.core.files import write_text
        from factdrift.evaluation.locators.gather import skipped
        from factdrift.evaluation.methods.hyperparameters import at_block
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
                if not about:
                    raise InputError(
                        f"--folders: {folder / name}: no edits.*.parquet; run `locate run` first"
                    )
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
                methods=[at_block(method, layer) for method in self.methods for layer in range(layers)],
            )
            edited = read_edited(runs, layers)
            rows += list(compare(model, located, edited, self.seed))
            notes += unedited(model, edited, self.methods, layers)
        number = write_against(rows, notes, self.out_table)
        text = "\n".join([*lines(rows), *notes]) + "\n"
        write_text(text, self.out_text)
        draw(rows, self.out_figures)
        return f"{text}\n{self.out_table}: {number:,} rows"

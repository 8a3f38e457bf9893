"""Jobs that edit the updates of a stream, a sequence of dates, interval by interval."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from factdrift.core.jobs import Flag, Job, Key, Output, Outputs, Paths
from factdrift.evaluation.probing import Choosing, MakesEdits, Recall, Scoring
from factdrift.evaluation.settings import StreamSettings


class StreamEdits(Choosing, command="edit stream-edits"):
    """Convert the updates of a stream to edits in their order."""

    stream: Path
    output: Output

    def run(self) -> str:
        from factdrift.evaluation.questions.stream import write_stream_edits

        return f"{self.output}: {write_stream_edits(self.stream, self.output, self.choice()):,} edits"


class StreamRun(MakesEdits, command="edit stream-run"):
    """Make the edits of a stream with one method, and probe them after each interval."""

    settings: Annotated[StreamSettings, Key("edit")]
    seed: Annotated[int, Key("seed"), "of the earlier edits that are asked;"]
    out_intervals: Output

    def run(self) -> None:
        from factdrift.evaluation.stream_run import write_nothing

        files = (self.out_probes, self.out_edits, self.out_intervals)
        self.write_account(self._made(), lambda: write_nothing(*files))

    def _made(self) -> Iterator[dict[str, Any]]:
        """Makes and probes the edits; yields device, hyper-parameters and costs. Raises CannotEdit."""
        from factdrift.evaluation.questions.probes import read_updates
        from factdrift.evaluation.stream_run import Files, write_stream

        with self.probing() as job:
            job.settings = msgspec.structs.replace(job.settings, regime="stream")
            yield {"device": job.device_name()}
            prepared = self.prepared(job.loaded)
            updates = read_updates(self.edits, self.unaligned)
            files = Files(self.parts, self.out_probes, self.out_edits, self.out_intervals)
            costs = write_stream(job, updates, prepared, files, self.settings.stream.probes, self.seed)
            yield {**prepared.account(), "batches": costs, "intervals": costs}


class StreamScores(Scoring, command="edit stream-scores"):
    """Join the runs of a stream and compute the metrics of each update."""

    run_intervals: Annotated[Paths, "of each job"]
    probes: Annotated[int, Key("edit.stream.probes")]
    seed: Annotated[int, Key("seed"), "that of `stream-run`;"]
    out_intervals: Output

    def run(self) -> str:
        from factdrift.evaluation.scores.stream import StreamRuns, write_stream_scores

        runs = StreamRuns(**self.tables(), run_intervals=self.run_intervals, most=self.probes, seed=self.seed)
        self.write_costs()
        return f"{self.out_scores}: {write_stream_scores(runs, self.out_scores, self.out_intervals):,} rows"


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

"""`factdrift edit stream-edits | stream-run | stream-scores | stream-report`: a sequence of dates."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from factdrift.edit.run_commands import add_job, add_method, add_strict, artefacts, job_of, write_account
from factdrift.edit.settings import SCENARIOS, StreamSettings
from factdrift.models.bundled.known import add_recall

if TYPE_CHECKING:
    from factdrift.edit.job import Job

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("stream-edits", help="convert the updates of a stream to edits in their order")
    verb.add_argument("--stream", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--scenarios", nargs="+", choices=list(SCENARIOS), default=["replacement"])
    verb.add_argument("--split", choices=("all", "train", "test"), default="all")
    verb.add_argument("--limit", type=int, default=0, help="edits of chains drawn with the seed; 0 for all")
    verb.add_argument("--archive-target", default="nothing", metavar="TEXT")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_edits)

    verb = verbs.add_parser(
        "stream-run", help="make the edits of a stream with one method, and probe them after each interval"
    )
    add_job(verb, StreamSettings)
    add_method(verb)
    verb.add_argument("--seed", type=int, default=0, help="of the earlier edits that are asked")
    for option in ("--out-probes", "--out-edits", "--out-intervals"):
        verb.add_argument(option, type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-costs", type=Path, required=True, metavar="JSON")
    verb.add_argument("--ability", type=Path, metavar="JSON", help="what `edit ability` wrote")
    add_strict(verb)
    verb.set_defaults(run=_run)

    verb = verbs.add_parser(
        "stream-scores", help="join the runs of a stream and compute the metrics of each update"
    )
    verb.add_argument("--edits", type=Path, required=True, metavar="PARQUET")
    for option in ("--unaligned", "--base-probes", "--base-clozes"):
        verb.add_argument(
            option, type=Path, required=True, nargs="+", metavar="PARQUET", help="of each model"
        )
    for option in ("--run-probes", "--run-edits", "--run-intervals"):
        verb.add_argument(option, type=Path, required=True, nargs="+", metavar="PARQUET", help="of each job")
    verb.add_argument("--costs", type=Path, required=True, nargs="+", metavar="JSON", help="of each job")
    verb.add_argument(
        "--skipped", default="[]", metavar="JSON", help="[model, method, reason] of methods without a job"
    )
    add_strict(verb)
    verb.add_argument("--models", nargs="+", required=True, help="in the order of the tables")
    verb.add_argument("--methods", nargs="+", required=True, help="likewise")
    verb.add_argument("--probes", type=int, required=True, help="the configuration's edit.stream.probes")
    verb.add_argument("--seed", type=int, default=0, help="that of `stream-run`")
    verb.add_argument("--out-scores", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-intervals", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-costs", type=Path, required=True, metavar="JSON")
    verb.set_defaults(run=_scores)

    verb = verbs.add_parser("stream-report", help="print the scores of a stream by interval, and draw them")
    for option in ("--scores", "--intervals"):
        verb.add_argument(option, type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--costs", type=Path, required=True, metavar="JSON")
    verb.add_argument("--ability", type=Path, nargs="*", default=[], metavar="JSON", help="of each model")
    add_recall(verb)
    verb.add_argument("--out-table", type=Path, required=True, metavar="TXT")
    verb.add_argument("--out-csv", type=Path, required=True, metavar="CSV")
    verb.add_argument("--out-figures", type=Path, nargs="+", required=True, metavar="SVG|PNG")
    verb.set_defaults(run=_report)


def _edits(options: argparse.Namespace) -> None:
    from factdrift.edit.lifelong.dataset import write_stream_edits

    edits = write_stream_edits(
        options.stream,
        options.output,
        options.scenarios,
        split=options.split,
        limit=options.limit,
        archive_target=options.archive_target,
        seed=options.seed,
    )
    print(f"{options.output}: {edits:,} edits")


def _run(options: argparse.Namespace) -> None:
    from factdrift.edit.ability import read_ability
    from factdrift.edit.lifelong.run import write_nothing

    def made() -> Iterator[dict[str, Any]]:
        with job_of(options, StreamSettings) as job:
            assert isinstance(job.settings, StreamSettings)
            job.settings = msgspec.structs.replace(job.settings, regime="stream")
            if options.ability:
                job.ability = read_ability(options.ability, job.loaded)
            yield {"device": job.device_name()}
            yield _made(options, job, job.settings.stream.probes)

    write_account(
        options,
        made(),
        lambda: write_nothing(options.out_probes, options.out_edits, options.out_intervals),
    )


def _made(options: argparse.Namespace, job: Job, most: int) -> dict[str, Any]:
    """Makes and probes the edits; returns hyper-parameters and costs. Raises CannotEdit."""
    from factdrift.edit.lifelong.run import write_stream
    from factdrift.edit.methods.hyperparameters import hyper_of
    from factdrift.edit.probes import read_updates

    hyper = hyper_of(job.loaded, options.method, options.set, options.methods)
    print(f"{hyper.method} on {job.loaded.name}: {hyper.source}", flush=True)
    found, digests = artefacts(options, hyper, job.loaded)
    updates = read_updates(options.edits, options.unaligned)
    files = (options.out_probes, options.out_edits, options.out_intervals)
    costs = write_stream(job, updates, hyper, found, digests, most, options.seed, options.parts, *files)
    return {
        "hyper": dict(hyper),
        "source": hyper.source,
        "derived": list(hyper.derived),
        "moments": ", ".join(dict.fromkeys(one.texts for one in found.moments.values())) or None,
        "batches": costs,
        "intervals": costs,
    }


def _scores(options: argparse.Namespace) -> None:
    from factdrift.edit.lifelong.scores import StreamRuns, write_stream_scores
    from factdrift.edit.scores.costs import write_costs
    from factdrift.edit.skipped import Skipped, skipped_methods

    runs = StreamRuns(
        edits=options.edits,
        models=options.models,
        methods=options.methods,
        unaligned=options.unaligned,
        base_probes=options.base_probes,
        base_clozes=options.base_clozes,
        run_probes=options.run_probes,
        run_edits=options.run_edits,
        run_intervals=options.run_intervals,
        most=options.probes,
        seed=options.seed,
    )
    skipped = [Skipped(*each) for each in json.loads(options.skipped)]
    for line in skipped_methods(write_costs(options.costs, options.out_costs, skipped, options.strict)):
        print(f"skipped: {line}")
    rows = write_stream_scores(runs, options.out_scores, options.out_intervals)
    print(f"{options.out_scores}: {rows:,} rows")


def _report(options: argparse.Namespace) -> None:
    from factdrift.edit.lifelong.figure import draw
    from factdrift.edit.lifelong.table import Stream, write_report

    stream = Stream.read(options.scores, options.intervals, options.costs, options.ability, options.recall)
    for line in write_report(stream, options.out_table, options.out_csv):
        print(f"skipped: {line}")
    for path in options.out_figures:
        draw(stream, path)
    print(*options.out_figures)

"""Questions about the products of a drawn world, plans, answers by chance and their scores, as digests."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.drawn_answers import METHODS, MODELS, drawn_answers, drawn_edits, rounded, steps
from support.odd_dumps import NEW, OLD

from factdrift.core.files import write_json
from factdrift.core.panels import Figure, Mark
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.plan import by_interval, grouped, plan_table, unedited
from factdrift.evaluation.questions.cutoff import dates_of, drawn, read_chains
from factdrift.evaluation.questions.question import Benchmark, Tables, read
from factdrift.evaluation.questions.taught import ripple_wordings, tempripple_wordings
from factdrift.evaluation.questions.updates import SCENARIOS, Choice, write_edits, write_stream_edits
from factdrift.evaluation.scores import answers as of_items
from factdrift.evaluation.scores import cutoff, dated, figures, metrics, ripple_tests, ripples
from factdrift.evaluation.scores.cutoff_answers import read_answers
from factdrift.evaluation.scores.groups import read_groups
from factdrift.evaluation.scores.table import EDITS, lines
from factdrift.evaluation.scores.verdicts import written_scores
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.scores.written_lines import written_lines

DAYS = (datetime.date.fromisoformat(OLD), datetime.date.fromisoformat(NEW))


@pytest.mark.digests
def test_questions_and_scores_of_a_drawn_world(drawn_world, tmp_path, digests, monkeypatch):
    results = drawn_world / "results"
    pair, stream = results / f"{OLD}_{NEW}", results / "stream.parquet"
    entities = sorted(results.glob("snapshots/*/entities/*.parquet"))
    edits, placed, folder = tmp_path / "edits.parquet", tmp_path / "placed.parquet", tmp_path
    choice = Choice(tuple(SCENARIOS), limit=14, fluency_sample=0.5, entities=entities)
    write_edits(pair / "wikifactdiff.parquet", edits, choice._replace(dated=True, new_date=DAYS[1]))
    write_stream_edits(stream, placed, choice._replace(limit=14, split="train"))
    parts = [pair / "klob_c.parquet"]
    items, facts = (pair / "tempripple" / f"tr_{name}.parquet" for name in ("items", "facts"))
    asked: dict[str, Benchmark] = {
        "updates": read("updates", Tables([edits])),
        "stream": read("stream", Tables([placed])),
        "klob": read("klob", Tables(parts, edits=edits)),
        "tempripple": read("tempripple", Tables([items], facts=facts, limit=9, seed=1)),
        "asof": read("asof", Tables([results / "asof.parquet"], edits=placed, open_=True, limit=20)),
        "ripples": read("ripples", Tables([results / "ripples.parquet", edits])),
        "corpus": read(
            "corpus",
            Tables(
                [results / f"{name}.parquet" for name in ("corpus_questions", "retrieved")],
                edits=placed,
                limit=8,
            ),
        ),
    }
    found: dict[str, Any] = {}
    given: dict[str, Path] = {}
    for name, benchmark in asked.items():
        given[name] = folder / f"{name}.parquet"
        plans = [unedited(benchmark, 7), grouped(benchmark, 3, False, 1), grouped(benchmark, 0, True, 2)]
        if name in ("stream", "asof"):
            plans.append(by_interval(asked["stream"], benchmark, 5, 3))
        found[name] = [
            *([asdict(each) for each in part] for part in (benchmark.questions, benchmark.edits)),
            *(list(steps(plan)) for plan in plans),
            drawn_answers(benchmark, 1, given[name]),
        ]
    plan = plan_table(list(asked["stream"].rows.values()), 4, 1)
    written = written_table(list(given.values()), [edits, placed], None, without_new=True)
    scored = written_scores(written.to_pylist())
    found["written"] = [
        plan.to_pylist(),
        written.to_pylist(),
        scored,
        list(written_lines(written.to_pylist())),
    ]
    by_criterion = ripples.scores(results / "ripples.parquet", [given["ripples"]], 0).to_pylist()
    tests = ripple_tests.judged(results / "ripples.parquet", [given["ripples"]])
    found["ripple scores"] = [
        *(by_criterion, list(ripples.lines(by_criterion)), tests, list(ripple_tests.lines(tests)))
    ]
    dated.write_scores(results / "asof.parquet", [given["asof"]], folder / "dated.parquet")
    found["dated"] = pq.read_table(folder / "dated.parquet").to_pylist()
    runs = [{"run_id": "a", "answer_normalise": "sum"}]
    predicted = of_items.predictions([given["tempripple"]], runs).to_pylist()
    about = [pq.read_table(path).to_pylist() for path in (items, facts)]
    table, reported = of_items.score(predicted, *about, {}, draws=100)
    found["items"] = [predicted, table.to_pylist(), reported]
    found["taught"] = [
        tempripple_wordings(
            facts, facts.with_name("tr_related.parquet"), pair / "wikifactdiff.parquet", DAYS[0]
        ),
        ripple_wordings(results / "ripples.parquet", pair / "ripples" / "names.parquet", DAYS[0], 5),
    ]
    made, states = folder / "made.parquet", folder / "states.parquet"
    drawn_edits(asked["updates"], 1, made, states)
    of_runs = metrics.Runs(edits, [given["updates"]], [made], [states], MODELS, METHODS, without_new=True)
    metrics.write_scores(of_runs, folder / "scores.parquet", folder / "probes.parquet")
    found["metrics"] = [
        pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("scores", "probes")
    ]
    pictures: list[Any] = []

    def keep(figure: Figure, parts: Mapping[str, Iterable[Mark]], _: Any) -> None:
        pictures.append([str(figure), {message: list(map(str, marks)) for message, marks in parts.items()}])

    monkeypatch.setattr(figures, "draw", keep)
    figures.draw_written(written.to_pylist(), [])
    figures.draw_ripples(by_criterion, [])
    figures.draw_hops(table.to_pylist(), [])
    write_json([], folder / "costs.json")
    write_parquet(written, folder / "written.parquet")
    groups = read_groups(folder / "scores.parquet", folder / "written.parquet", folder / "costs.json")
    found["pictures"] = [pictures, *(list(lines(report, groups)) for report in EDITS)]
    found["cutoff"] = list(_of_cutoff(folder))
    for name, rows in found.items():
        write_json(rounded(rows), folder / f"{name}.json")
    digests("drawn, with answers", folder, [f"{name}.json" for name in found])


def _of_cutoff(folder: Path) -> Iterator[Any]:
    """Bundled chains, answers by chance to their questions, and what these say of a date."""
    chains = read_chains(CUTOFF_CHAINS)
    names = drawn(chains, 120, 1)
    chosen = [row for row in chains if row["chain"] in names]
    path, span = folder / "chains.parquet", cutoff.span_of(dates_of(CUTOFF_CHAINS))
    write_parquet(pa.Table.from_pylist(chosen, pq.read_schema(CUTOFF_CHAINS)), path)
    benchmark = read("cutoff", Tables([path], seed=2, open_=True))
    yield [asdict(question) for question in benchmark.questions]
    drawn_answers(benchmark, 1, folder / "holders.parquet")
    table = pq.read_table(
        folder / "holders.parquet", filters=[("model", "=", "small"), ("method", "=", "none")]
    )
    write_parquet(table, folder / "holders.parquet")
    for own in read_answers(folder / "holders.parquet", chosen, 2):
        yield own
        dates, quarters = cutoff.tables(own, cutoff.CutoffSettings(span, 0, 60, 20))
        # Estimates depend on the processor in their last digits.
        yield [[row[name] for name in ("subset", "value", "chains", "verdict")] for row in dates]
        yield quarters

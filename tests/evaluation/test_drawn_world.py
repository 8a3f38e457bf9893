"""Questions about the products of a drawn world, plans, answers by chance and their scores, as digests."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.odd_dumps import NEW, OLD
from support.rows import Row, rows

from factdrift.core.files import write_json
from factdrift.core.panels import Figure, Mark
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.plan import by_interval, grouped, plan_table, unedited
from factdrift.evaluation.questions.cutoff import dates_of, drawn, read_chains
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.question import Benchmark, Question, Tables, Way, read
from factdrift.evaluation.questions.taught import ripple_wordings, tempripple_wordings
from factdrift.evaluation.questions.updates import SCENARIOS, Choice, write_edits, write_stream_edits
from factdrift.evaluation.scores import answers as of_items
from factdrift.evaluation.scores import cutoff, dated, figures, metrics, ripples
from factdrift.evaluation.scores.cutoff_answers import read_answers
from factdrift.evaluation.scores.groups import read_groups
from factdrift.evaluation.scores.table import EDITS, lines
from factdrift.evaluation.scores.written import written_scores, written_table
from factdrift.evaluation.scores.written_lines import written_lines
from factdrift.evaluation.tables import ANSWERS, STATES
from factdrift.evaluation.tables import EDITS as MADE
from factdrift.evaluation.ways.asked import answer_row, likelihood_row, verdict

DAYS = (datetime.date.fromisoformat(OLD), datetime.date.fromisoformat(NEW))
MODELS, METHODS = ("small", "large"), ("none", "context", "rome")
LETTERS = (
    "{letter}",
    "({letter}) {name}",
    "The answer is {letter}.",
    "{name}",
    "**{letter}**",
    "Not {letter}.",
    "",
)
SENTENCES = (
    *("{name}", "It is {name}.", "{name}, not {other}.", "It was {other}, now {name}.", "It is not {name}."),
    *("{name} or {other}", "I do not know.", "", "Nobody.", "{name}. {other}", "Until 2021 {other}."),
)


def drawn_answers(benchmark: Benchmark, seed: int, path: Path) -> list[Row]:
    """Rows of ANSWERS of two models in all states, in every way; they are written to a file, too."""
    dice = Random(f"{benchmark.name}/{seed}")
    rows = [
        {"model": model, "method": method, "benchmark": benchmark.name, "edit": question.edit, "kind": "own"}
        | {"state": None if method in METHODS[:2] else 0}
        | drawn_answer(question, way, dice)
        for model in MODELS
        for method in METHODS
        for question in benchmark.questions
        if not (question.unedited and method != "none")
        for way in question.ways
    ]
    write_parquet(pa.Table.from_pylist(rows, ANSWERS), path)
    return rows


def drawn_answer(question: Question, way: Way, dice: Random) -> Row:
    if dice.random() < 0.04:
        return answer_row(question, way, reason="failed")
    if way == "loglik":
        # So few values that several targets are often equally likely.
        likely = [dice.choice((-0.5, -1.0, -1.0, -2.0, -3.5)) for _ in question.targets]
        if dice.random() < 0.03:
            likely[-1] = float("nan")
        tokens = [1 + len(target.split()) for target in question.targets]
        exact = [dice.random() < 0.4 for _ in question.targets]
        return likelihood_row(question, likely, tokens, exact, dice.choice(("mean", "sum")))
    names = [*question.targets, *question.accepted, *question.stale, *question.others] or ["Ann"]
    texts = LETTERS if way == "letter" else SENTENCES
    letter = "ABCDEF"[dice.randrange(max(1, min(6, len(question.targets))))]
    text = dice.choice(texts).format(letter=letter, name=dice.choice(names), other=dice.choice(names))
    if way == "letter":
        return answer_row(question, way, output=text, parsed=chosen(text, question.targets))
    entropy = dice.choice((None, 3.25, 5.5))
    return answer_row(question, way, output=text, entropy=entropy, **verdict(question, text, question.asked))


def drawn_edits(benchmark: Benchmark, seed: int, made: Path, states: Path) -> None:
    """Writes what became of the edits: EDITS and STATES of the models and methods of the answers."""
    dice = Random(f"edits/{seed}")
    edits = [
        {"model": model, "method": method, "edit": edit.id, "steps": dice.randrange(9), "source": "here"}
        | {"loss": dice.random(), "state": None if method in METHODS[:2] else 0, "hyper": method}
        | {"failed": dice.choice((*[None] * 9, "diverged")) if method not in METHODS[:2] else None}
        | {"excluded": "spans" if Random(edit.id).random() < 0.1 else None, "model_digest": model}
        for model in MODELS
        for method in METHODS
        for edit in benchmark.edits
    ]
    write_parquet(pa.Table.from_pylist(edits, MADE), made)
    rows = [
        {"model": model, "method": method, "state": 0, "edits": len(benchmark.edits)}
        | {"failed": 1, "so_far": 3, "entries": 2, "state_bytes": 8, "perplexity": dice.choice((9.5, None))}
        for model in MODELS
        for method in METHODS[2:]
    ]
    write_parquet(pa.Table.from_pylist(rows, STATES), states)


def rounded(value: Any) -> Any:
    """The same with numbers of nine digits, as all processors have them."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {str(name): rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return value if value is None or isinstance(value, int | str) else str(value)


def steps(of: Any) -> Iterator[Any]:
    """The steps of a plan by the names of what is edited and asked."""
    for step in of:
        asked = [(planned.question.id, planned.edit) for planned in step.asked]
        yield step.state, [edit.id for edit in step.edits], asked, step.alone, step.interval


@pytest.mark.digests
def test_questions_and_scores_of_a_drawn_world(drawn_world, tmp_path, digests, monkeypatch):
    results = drawn_world / "results"
    pair, stream = results / f"{OLD}_{NEW}", results / "stream.parquet"
    entities = sorted(results.glob("snapshots/*/entities/*.parquet"))
    edits, placed, folder = tmp_path / "edits.parquet", tmp_path / "placed.parquet", tmp_path
    choice = Choice(tuple(SCENARIOS), limit=14, fluency_sample=0.5, entities=entities)
    dataset = pair / "wikifactdiff.parquet"
    write_edits(dataset, edits, choice._replace(dated=True, new_date=DAYS[1]))
    write_stream_edits(stream, placed, choice._replace(limit=14, split="train"))
    of_corpus = [results / f"{name}.parquet" for name in ("corpus_questions", "retrieved")]
    items, facts = (pair / "tempripple" / f"tr_{name}.parquet" for name in ("items", "facts"))
    asked: dict[str, Benchmark] = {
        "updates": read("updates", Tables([edits])),
        "stream": read("stream", Tables([placed])),
        "klob": read("klob", Tables([pair / "klob_c.parquet"], edits=edits)),
        "tempripple": read("tempripple", Tables([items], facts=facts, limit=9, seed=1)),
        "asof": read("asof", Tables([results / "asof.parquet"], edits=placed, open_=True, limit=20)),
        "ripples": read("ripples", Tables([results / "ripples.parquet", edits])),
        "corpus": read("corpus", Tables(of_corpus, edits=placed, limit=8)),
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
    texts = written.to_pylist()
    found["written"] = [plan.to_pylist(), texts, written_scores(texts), list(written_lines(texts))]
    by_criterion = ripples.scores(results / "ripples.parquet", [given["ripples"]], 0).to_pylist()
    tests = ripples.judged_tests(results / "ripples.parquet", [given["ripples"]])
    said = list(ripples.lines(by_criterion)), tests, list(ripples.lines_of_tests(tests))
    found["ripple scores"] = [by_criterion, *said]
    dated.write_scores(results / "asof.parquet", [given["asof"]], folder / "dated.parquet")
    found["dated"] = rows(folder / "dated.parquet")
    runs = [{"run_id": "a", "answer_normalise": "sum"}]
    predicted = of_items.predictions([given["tempripple"]], runs).to_pylist()
    table, reported = of_items.score(predicted, rows(items), rows(facts), {}, draws=100)
    found["items"] = [predicted, table.to_pylist(), reported]
    found["taught"] = [
        tempripple_wordings(facts, facts.with_name("tr_related.parquet"), dataset, DAYS[0]),
        ripple_wordings(results / "ripples.parquet", pair / "ripples" / "names.parquet", DAYS[0], 5),
    ]
    made, states = folder / "made.parquet", folder / "states.parquet"
    drawn_edits(asked["updates"], 1, made, states)
    of_runs = metrics.Runs(edits, [given["updates"]], [made], [states], MODELS, METHODS, without_new=True)
    metrics.write_scores(of_runs, folder / "scores.parquet", folder / "probes.parquet")
    found["metrics"] = [rows(folder / f"{name}.parquet") for name in ("scores", "probes")]
    pictures: list[Any] = []

    def keep(figure: Figure, parts: Mapping[str, Iterable[Mark]], _: Any) -> None:
        pictures.append([str(figure), {message: list(map(str, marks)) for message, marks in parts.items()}])

    monkeypatch.setattr(figures, "draw", keep)
    figures.draw_written(texts, [])
    figures.draw_ripples(by_criterion, [])
    figures.draw_hops(table.to_pylist(), [])
    write_json([], folder / "costs.json")
    write_parquet(written, folder / "written.parquet")
    groups = read_groups(folder / "scores.parquet", folder / "written.parquet", folder / "costs.json")
    found["pictures"] = [pictures, *(list(lines(report, groups)) for report in EDITS)]
    found["cutoff"] = list(_of_cutoff(folder))
    for name, of in found.items():
        write_json(rounded(of), folder / f"{name}.json")
    digests("drawn, with answers", folder, [f"{name}.json" for name in found])


def _of_cutoff(folder: Path) -> Iterator[Any]:
    """Bundled chains, answers by chance to their questions, and what these say of a date."""
    chains = read_chains(CUTOFF_CHAINS)
    names = drawn(chains, 120, 1)
    some = [row for row in chains if row["chain"] in names]
    path, span = folder / "chains.parquet", cutoff.span_of(dates_of(CUTOFF_CHAINS))
    write_parquet(pa.Table.from_pylist(some, pq.read_schema(CUTOFF_CHAINS)), path)
    benchmark = read("cutoff", Tables([path], seed=2, open_=True))
    yield [asdict(question) for question in benchmark.questions]
    drawn_answers(benchmark, 1, folder / "holders.parquet")
    table = pq.read_table(
        folder / "holders.parquet", filters=[("model", "=", "small"), ("method", "=", "none")]
    )
    write_parquet(table, folder / "holders.parquet")
    for own in read_answers(folder / "holders.parquet", some, 2):
        yield own
        dates, quarters = cutoff.tables(own, cutoff.CutoffSettings(span, 0, 60, 20))
        # Estimates depend on the processor in their last digits.
        yield [[row[name] for name in ("subset", "value", "chains", "verdict")] for row in dates]
        yield quarters

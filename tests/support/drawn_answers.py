"""Answers by chance to the questions of a benchmark, as the tables of the jobs that ask a model have them."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.question import Benchmark, Question, Way
from factdrift.evaluation.tables import ANSWERS, EDITS, STATES
from factdrift.evaluation.ways.asked import answer_row, likelihood_row, verdict

Row = dict[str, Any]
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
        | _answer(question, way, dice)
        for model in MODELS
        for method in METHODS
        for question in benchmark.questions
        if not (question.unedited and method != "none")
        for way in question.ways
    ]
    write_parquet(pa.Table.from_pylist(rows, ANSWERS), path)
    return rows


def _answer(question: Question, way: Way, dice: Random) -> Row:
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
        | {"excluded": "spans" if draw_excluded(edit.id) else None, "model_digest": model}
        for model in MODELS
        for method in METHODS
        for edit in benchmark.edits
    ]
    write_parquet(pa.Table.from_pylist(edits, EDITS), made)
    rows = [
        {"model": model, "method": method, "state": 0, "edits": len(benchmark.edits)}
        | {"failed": 1, "so_far": 3, "entries": 2, "state_bytes": 8, "perplexity": dice.choice((9.5, None))}
        for model in MODELS
        for method in METHODS[2:]
    ]
    write_parquet(pa.Table.from_pylist(rows, STATES), states)


def draw_excluded(edit: str) -> bool:
    """Whether an edit is left out of all models and methods."""
    return Random(edit).random() < 0.1


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

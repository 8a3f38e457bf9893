"""`factdrift klob score | locate`: RSim and RSD of locating methods; scores of reference locators."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.core.errors import InputError

if TYPE_CHECKING:
    from factdrift.klob.scoring.evaluate import Choices, Evaluation
    from factdrift.klob.scoring.examples import Examples

SWEEP = ("0.1", "0.5", "1", "2", "5", "10", "20")
"""k in percent."""

CONTROLLED = ("all", "permuted")
"""The populations of the reference locators."""

REFERENCE_UNITS = 10_000
"""The most units of the reference locators in the figure; their RSim hardly depends on it."""


def register(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    score = verbs.add_parser("score", help="RSim and RSD of locating methods that are given as files")
    score.add_argument("scores", type=Path, nargs="+", metavar="SCORES", help="folders: docs/klob_scores.md")
    _add_examples(score)
    score.add_argument("--k", nargs="+", default=SWEEP, metavar="PERCENT", help=f"default: {' '.join(SWEEP)}")
    score.add_argument(
        "--headline", default="1", metavar="PERCENT", help="k of the printed table (default 1)"
    )
    score.add_argument("--ties", choices=("index", "fractional"), default="index")
    score.add_argument("--sim-all", choices=("exact", "paper_approx"), default="exact")
    score.add_argument("--exclude", choices=("fact", "example", "none"), default="fact")
    score.add_argument("--unit", choices=("results", "examples"), default="results", help="of the population")
    score.add_argument("--normalise", choices=("none", "l2", "rank"), default="none", help="for paper_approx")
    score.add_argument("--rsd-pool", choices=("sentences", "subtasks"), default="sentences")
    score.add_argument("--device", help="where PyTorch sorts the scores, such as cuda (NumPy does otherwise)")
    score.add_argument("--no-references", action="store_true", help="leave out the reference locators")
    _add_seed(score)
    score.add_argument("-o", "--output", type=Path, default=Path("results/klob_scores"), metavar="FOLDER")
    score.set_defaults(run=_score)

    locate = verbs.add_parser("locate", help="write the scores of a reference locator, to try `score` on")
    locate.add_argument("kind", choices=("constant", "mostly_constant", "random", "oracle"))
    _add_examples(locate)
    locate.add_argument("--units", type=int, default=1000, help="default %(default)s")
    _add_seed(locate)
    locate.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    locate.set_defaults(run=_locate)


def _add_examples(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--examples",
        type=Path,
        default=Path("results"),
        metavar="FOLDER",
        help="of klob_c, _r and _u.parquet",
    )


def _add_seed(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--seed", type=int, default=0)


def _examples(folder: Path) -> dict[str, Examples]:
    from factdrift.klob.scoring.examples import read_examples

    return {name: read_examples(folder / f"klob_{name}.parquet", name) for name in ("c", "r", "u")}


def _percent(text: str) -> Fraction:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value <= 100:
        raise InputError(f"--k: {text!r} is no percentage above 0 and up to 100")
    return value


def _score(options: argparse.Namespace) -> None:
    from factdrift.core.owned import claim, scratch
    from factdrift.klob.scoring import report
    from factdrift.klob.scoring.evaluate import Choices, evaluate
    from factdrift.klob.scoring.locator import read_scores

    headline = _percent(options.headline)
    percents = tuple(sorted({_percent(text) for text in options.k} | {headline}))
    methods = [read_scores(folder) for folder in options.scores]
    for method in methods[1:]:
        methods[0].comparable(method)
    subtasks = _examples(options.examples)
    claim(options.output, ("measures.parquet", "examples.parquet", "rsim.svg"))
    with scratch() as folder:
        choices = Choices(
            percents,
            options.ties,
            options.sim_all,
            options.exclude,
            options.unit,
            options.normalise,
            options.rsd_pool,
            options.seed,
            options.device,
            folder,
        )
        found = [evaluate(method, subtasks, choices) for method in methods]
        references = [] if options.no_references else _references(subtasks, choices, methods[0].units)
    for evaluation in found:
        print(report.summary(evaluation, float(headline)))
    if references:
        print(report.comparison(references, float(headline)))
    report.write([*found, *references], options.output)
    report.draw(found, references, options.output / "rsim.svg")
    print(f"{options.output}: measures.parquet, examples.parquet, rsim.svg")


def _references(subtasks: dict[str, Examples], choices: Choices, units: int) -> list[Evaluation]:
    from factdrift.klob.scoring.evaluate import evaluate, lexical
    from factdrift.klob.scoring.reference import REFERENCES, reference

    own = choices._replace(ties="index", sim_all="exact", unit="results", device=None)
    parts = list(subtasks.values())
    drawn = [
        evaluate(reference(kind, parts, min(units, REFERENCE_UNITS), choices.seed), subtasks, own, CONTROLLED)
        for kind in REFERENCES
        if kind != "constant"
    ]
    return [*drawn, lexical(subtasks, choices.exclude, choices.seed)]


def _locate(options: argparse.Namespace) -> None:
    from factdrift.klob.scoring.locator import write_scores
    from factdrift.klob.scoring.reference import reference

    if options.units < 1:
        raise InputError(f"--units: {options.units} is no number of units; give 1 or more")
    subtasks = _examples(options.examples)
    scores = reference(options.kind, list(subtasks.values()), options.units, options.seed)
    write_scores(scores, options.output)
    print(f"{options.output}: {len(scores.sentences):,} sentences x {scores.units:,} units")

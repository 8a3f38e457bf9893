"""Commands of KLoB that people run: scores of locating methods, published files, checks of templates."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Output, Place
from factdrift.core.paths import KLOB_TEMPLATES
from factdrift.klob.jobs import OfTables

if TYPE_CHECKING:
    from factdrift.klob.scoring.evaluate import Choices, Evaluation
    from factdrift.klob.scoring.examples import Examples

SWEEP = ("0.1", "0.5", "1", "2", "5", "10", "20")
"""k in percent."""

CONTROLLED = ("all", "permuted")
"""The populations of the reference locators."""

REFERENCE_UNITS = 10_000
"""The most units of the reference locators in the figure; their RSim hardly depends on it."""


class Import(Job, command="klob import"):
    """The published files (KLoB-c.jsonl, ...) as tables."""

    folder: Annotated[Path, Flag("DIR", by_place=True)]
    output: Annotated[Output, Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.klob.published import import_published

        examples = import_published(self.folder, self.output)
        return "\n".join(f"{rows:,} examples of KLoB-{subtask}" for subtask, rows in examples.items())


class Templates(OfTables, command="klob templates"):
    """Check a table of templates, the project's own or a user's."""

    table: Annotated[Path, Flag("TABLE", by_place=True)] = KLOB_TEMPLATES
    words: Annotated[str, "web2, nltk, or a path"] = "web2"
    report: Annotated[Path | None, "write the findings here, and do not fail", Flag("FILE")] = None

    def run(self) -> None:
        from factdrift.klob.random_words import read_words
        from factdrift.klob.template_checks import check_templates, read_golden, read_word_lists
        from factdrift.klob.templates import read_templates

        relations = self.method().relations
        own = read_templates(self.resources / KLOB_TEMPLATES.name, relations)
        table = read_templates(self.table, relations)
        words = read_words(self.words, self.resources / "word_lists.tsv")
        findings = check_templates(
            table.all(),
            own.all(),
            relations,
            {word.lower() for word in words.entries},
            read_word_lists(self.resources / "template_words.tsv"),
            read_golden(self.resources / "golden.tsv") if table.sha256 == own.sha256 else {},
        )
        errors = sum(finding.error for finding in findings)
        summary = f"{len(table.all())} templates, {errors} defects, {len(findings) - errors} warnings"
        lines = [*map(str, findings), summary]
        print(*lines, sep="\n")
        if self.report:
            self.report.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        elif errors:
            raise InputError(
                f"{self.table}: {errors} defects; fix them, or write them to a file with --report"
            )


class OfExamples(Job):
    """Fields of commands that read the three subtasks."""

    examples: Annotated[Place, "of klob_c, _r and _u.parquet", Flag("FOLDER")] = Path("results")
    seed: int = 0

    def subtasks(self) -> dict[str, Examples]:
        """Subtask -> its examples."""
        from factdrift.klob.scoring.examples import read_examples

        return {name: read_examples(self.examples / f"klob_{name}.parquet", name) for name in "cru"}


class Score(OfExamples, command="klob score"):
    """RSim and RSD of locating methods that are given as files."""

    scores: Annotated[tuple[Path, ...], "folders: docs/klob_scores.md", Flag("SCORES", by_place=True)]
    k: Annotated[tuple[str, ...], f"default: {' '.join(SWEEP)}", Flag("PERCENT")] = SWEEP
    headline: Annotated[str, "k of the printed table (default 1)", Flag("PERCENT")] = "1"
    ties: Literal["index", "fractional"] = "index"
    sim_all: Literal["exact", "paper_approx"] = "exact"
    exclude: Literal["fact", "example", "none"] = "fact"
    unit: Annotated[Literal["results", "examples"], "of the population"] = "results"
    normalise: Annotated[Literal["none", "l2", "rank"], "for paper_approx"] = "none"
    rsd_pool: Literal["sentences", "subtasks"] = "sentences"
    device: Annotated[str | None, "where PyTorch sorts the scores, such as cuda (NumPy does otherwise)"] = (
        None
    )
    no_references: Annotated[bool, "leave out the reference locators"] = False
    output: Annotated[Output, Flag("FOLDER")] = Path("results/klob_scores")

    def run(self) -> str:
        from factdrift.core.owned import claim, scratch
        from factdrift.klob.scoring import report
        from factdrift.klob.scoring.evaluate import Choices, evaluate
        from factdrift.klob.scoring.locator import read_scores

        headline = _percent("--headline", self.headline)
        percents = tuple(sorted({_percent("--k", text) for text in self.k} | {headline}))
        methods = [read_scores(folder) for folder in self.scores]
        for method in methods[1:]:
            methods[0].comparable(method)
        subtasks = self.subtasks()
        claim(self.output, ("measures.parquet", "examples.parquet", "rsim.svg"))
        with scratch() as folder:
            choices = Choices(
                percents,
                self.ties,
                self.sim_all,
                self.exclude,
                self.unit,
                self.normalise,
                self.rsd_pool,
                self.seed,
                self.device,
                folder,
            )
            evaluations = [evaluate(method, subtasks, choices) for method in methods]
            references = [] if self.no_references else _references(subtasks, choices, methods[0].units)
        for evaluation in evaluations:
            print(report.summary(evaluation, float(headline)))
        if references:
            print(report.comparison(references, float(headline)))
        report.write([*evaluations, *references], self.output)
        report.draw(evaluations, references, self.output / "rsim.svg")
        return f"{self.output}: measures.parquet, examples.parquet, rsim.svg"


def _percent(flag: str, text: str) -> Fraction:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value <= 100:
        raise InputError(f"{flag}: {text!r} is no percentage above 0 and up to 100")
    return value


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


class Locate(OfExamples, command="klob locate"):
    """Write the scores of a reference locator, to try `score` on."""

    kind: Annotated[Literal["constant", "mostly_constant", "random", "oracle"], Flag(by_place=True)]
    units: int = 1000
    output: Annotated[Output, Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.klob.scoring.locator import write_scores
        from factdrift.klob.scoring.reference import reference

        if self.units < 1:
            raise InputError(f"--units: {self.units} is no number of units; give 1 or more")
        scores = reference(self.kind, list(self.subtasks().values()), self.units, self.seed)
        write_scores(scores, self.output)
        return f"{self.output}: {len(scores.sentences):,} sentences x {scores.units:,} units"

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
    pass

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


class Score(Job, command="klob score"):
    """RSim and RSD of locating methods that are given as files."""

    scores: Annotated[tuple[Path, ...], "folders: docs/klob_scores.md", Flag("SCORES", by_place=True)]
    examples: Annotated[Place, "of klob_c, _r and _u.parquet", Flag("FOLDER")] = Path("results")
    seed: int = 0
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
        import pyarrow as pa

        from factdrift.core.owned import claim, scratch
        from factdrift.core.tables import write_parquet
        from factdrift.klob.scoring import report
        from factdrift.klob.scoring.evaluate import (
            EXAMPLES,
            MEASURES,
            Choices,
            evaluate,
            lexical,
            references,
        )
        from factdrift.klob.scoring.examples import read_examples
        from factdrift.klob.scoring.locator import read_scores

        headline = _percent("--headline", self.headline)
        percents = tuple(sorted({_percent("--k", text) for text in self.k} | {headline}))
        methods = [read_scores(folder) for folder in self.scores]
        first = methods[0]
        for other in methods[1:]:
            for key in ("granularity", "units", "model", "revision"):
                mine, its = getattr(first, key), getattr(other, key)
                if mine != its:
                    raise InputError(
                        f"{first.name} and {other.name} cannot be compared: {key} is {mine!r} and {its!r}, "
                        "and RSim means something only where the same units are chosen from; score them apart"
                    )
        subtasks = read_examples(self.examples)
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
            found = [evaluate(method, subtasks, choices) for method in methods]
            compared = []
            if not self.no_references:
                plain = choices._replace(ties="index", sim_all="exact", unit="results", device=None)
                units = min(first.units, REFERENCE_UNITS)
                compared = [
                    *references(subtasks, plain, units, CONTROLLED),
                    lexical(subtasks, self.exclude, self.seed),
                ]
        group = report.Group(f"{first.model}, {first.units:,} {first.granularity}s", found, compared)
        for subtask in subtasks:
            print(*report.lines([group], subtask, float(headline)), sep="\n")
            for method in found:
                print(*report.details(method, subtask, float(headline)), sep="\n")
            print()
        print(
            "RSD is unchanged by a constant that is added to a sentence's scores and by one factor for all "
            "scores, not by a factor of each sentence's own."
        )
        every = [*found, *compared]
        rows = [row for one in every for row in one.measures]
        write_parquet(pa.Table.from_pylist(rows, schema=MEASURES), self.output / "measures.parquet")
        tables = [table for one in every for table in one.examples]
        of_examples = pa.concat_tables([EXAMPLES.empty_table(), *tables])
        write_parquet(of_examples, self.output / "examples.parquet")
        pieces = [("KLoB-c, consistency", group, "c"), ("KLoB-r, relevance", group, "r")]
        report.draw_rsim(pieces, max(min(4, len(found)), 2), self.output / "rsim.svg")
        return f"{self.output}: measures.parquet, examples.parquet, rsim.svg"


def _percent(flag: str, text: str) -> Fraction:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value <= 100:
        raise InputError(f"{flag}: {text!r} is no percentage above 0 and up to 100")
    return value

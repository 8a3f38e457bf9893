"""Methods compared on the same updates and questions: paired differences with intervals, by benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import duckdb

from factdrift.core.errors import InputError, nearest
from factdrift.core.figures import KEPT, SOFT
from factdrift.core.files import write_csv, write_text
from factdrift.core.intervals import COVERED, Z, interval, wilson
from factdrift.core.owned import claim
from factdrift.core.panels import Figure, Mark
from factdrift.core.panels import draw as draw_panels
from factdrift.core.products import no_file
from factdrift.core.screen import grid
from factdrift.core.tables import database, sql
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.questions.clozes import OWN

METRICS = {
    "efficacy_s": "says the new object (efficacy S)",
    "generalization_s": "in other words too (generalization S)",
    "bleedover_nearest": "takes from nearest facts (bleedover)",
    "bleedover_random": "takes from random facts (bleedover)",
    "bleedover_popular": "takes from popular facts (bleedover)",
}
"""Columns of `edit_scores` that are compared, all between 0 and 1; of the first two more is better."""


Values = dict[tuple[str, str, str], tuple[str, float]]
"""(benchmark, metric, edit or question) -> the edited model that it is of, and the value."""


class Difference(NamedTuple):
    """A metric of two rivals over what both were asked: means and the mean difference, times 100.

    `low`, `high`: its 95 % interval, NaN for a single pair.
    """

    benchmark: str
    metric: str
    rival: str
    first: str
    pairs: int
    mean: float
    first_mean: float
    difference: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def compare(rivals: Sequence[str], scores: Path, answers: Sequence[Path]) -> list[Difference]:
    """The differences of each rival from the first one, over what both were asked.

    `rivals`: a method on all models (`METHOD`), or on one (`MODEL:METHOD`). `scores`: `edit_scores`;
    `answers`: tables of answers to other benchmarks (none is fine). Raises InputError if a rival is in no
    table, or shares nothing with the first one.
    """
    if len(set(rivals)) < 2:
        raise InputError("name two methods or more, such as `factdrift compare rome memit`")
    if not scores.is_file():
        raise no_file(scores)
    with database() as db:
        by_rival = [_values(db, rival, scores, answers) for rival in rivals]
        known = db.sql(f"SELECT DISTINCT method, model FROM read_parquet({sql(scores)})").fetchall()
    for rival, values in zip(rivals, by_rival, strict=True):
        if not values:
            model, _, named = rival.rpartition(":")
            models = sorted(model for method, model in known if method == named)
            what, name = ("models", model) if models else ("methods", named)
            names = models or sorted({method for method, _ in known})
            similar = nearest(name, names)
            hint = f"did you mean {similar}?" if similar else f"its {what} are {', '.join(names)}"
            raise InputError(f"{scores}: has no edits of {_title(rival)}; {hint}")
    made = [
        difference
        for rival, values in zip(rivals[1:], by_rival[1:], strict=True)
        for difference in _differences(_title(rivals[0]), by_rival[0], _title(rival), values)
    ]
    if not made:
        raise InputError(f"{scores}: {' and '.join(map(_title, rivals))} share no edit")
    return made


def _title(rival: str) -> str:
    model, _, method = rival.rpartition(":")
    return f"{title_of(method)} on {model}" if model else title_of(method)


def _values(db: duckdb.DuckDBPyConnection, rival: str, scores: Path, answers: Sequence[Path]) -> Values:
    """The values of a rival. Keys have the model in them where the rival is on all models.

    Likelihoods after an update's own clozes are left out: some are of the old object.
    """
    model, _, method = rival.rpartition(":")
    chosen = f"method = {sql(method)}" + (f" AND model = {sql(model)}" if model else "")
    named = "''" if model else "model"
    queries = [
        f"""SELECT {named}, 'updates (' || kind || ')', '{metric}', edit, state, {metric}
        FROM read_parquet({sql(scores)})
        WHERE {chosen} AND failed IS NULL AND {metric} IS NOT NULL AND isfinite({metric})"""
        for metric in METRICS
    ]
    if answers:
        queries.append(
            f"""SELECT {named}, benchmark || ' (' || way || ')', 'right',
                concat_ws(' ', question, kind, interval), state,
                (CASE WHEN way = 'loglik' AND correct IS NULL AND len(exact) = 1 AND role NOT IN {sql(OWN)}
                    THEN exact[1] ELSE correct END)::DOUBLE AS r
            FROM read_parquet({sql(list(answers))}, union_by_name = true)
            WHERE {chosen} AND benchmark <> 'updates' AND r IS NOT NULL"""
        )
    return {
        (benchmark, metric, f"{name} {asked}"): (f"{name} {state}", value)
        for query in queries
        for name, benchmark, metric, asked, state, value in db.sql(f"{query} ORDER BY ALL").fetchall()
    }


def _differences(first: str, ours: Values, rival: str, theirs: Values) -> Iterator[Difference]:
    """The differences over what both were asked, with intervals by Student's t.

    Differences of one edited model are one cluster. Where no share changed at all, the sample has no
    spread, and the width is that of a Wilson interval of none among as many.
    """
    from scipy import stats

    groups: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for key, (state, after) in theirs.items():
        if key in ours:
            groups.setdefault(key[:2], []).append((state, ours[key][1], after))
    for (benchmark, metric), pairs in groups.items():
        states = [state for state, _, _ in pairs]
        changes = [100 * (other - one) for _, one, other in pairs]
        middle, count, clusters = fmean(changes), len(changes), len(set(states))
        spread = interval(changes, states)
        half = spread.half if spread else math.nan
        if metric in ("efficacy_s", "generalization_s", "right") and not any(changes):
            half = 100 * wilson(0, clusters)[1]
        elif count > 1 and not 1 < clusters < count:
            half *= float(stats.t.ppf(COVERED[1], count - 1)) / Z
        yield Difference(
            benchmark,
            metric,
            rival,
            first,
            count,
            mean=100 * fmean(other for _, _, other in pairs),
            first_mean=100 * fmean(one for _, one, _ in pairs),
            difference=middle,
            low=middle - half,
            high=middle + half,
        )


def lines(differences: Sequence[Difference]) -> Iterator[str]:
    """Yields a sentence for each benchmark, what each rival does better or worse, and a table."""
    for benchmark in dict.fromkeys(row.benchmark for row in differences):
        rows = [row for row in differences if row.benchmark == benchmark]
        main = [row for row in rows if row.metric in ("efficacy_s", "right")] or rows
        number = " and ".join(f"{pairs:,}" for pairs in sorted({row.pairs for row in main}))
        what = "updates" if benchmark.startswith("updates") else "questions"
        yield f"{benchmark}: over the same {number} {what}, {'; '.join(map(_clause, main))}."
    yield ""
    header = ["benchmark, metric", "method", "n", "mean", differences[0].first, "difference", "95 % interval"]
    cells = [
        [
            f"{row.benchmark}, {row.metric}",
            row.rival,
            f"{row.pairs:,}",
            f"{row.mean:.1f}",
            f"{row.first_mean:.1f}",
            f"{row.difference:+.1f}",
            "-" if math.isnan(row.low) else f"{row.low:+.1f} to {row.high:+.1f}",
        ]
        for row in differences
    ]
    yield from grid(header, cells)


def _clause(row: Difference) -> str:
    verb = "makes the model say the new object" if row.metric == "efficacy_s" else "makes it answer right"
    if row.metric not in ("efficacy_s", "right"):
        verb = f"changes {METRICS[row.metric]}"
    between = "" if math.isnan(row.low) else f" ({row.low:+.1f} to {row.high:+.1f})"
    if round(row.difference, 1) == 0:
        return f"{row.rival} {verb} as often as {row.first}{between}"
    more = "more" if row.difference > 0 else "less"
    sentence = f"{row.rival} {verb} {abs(row.difference):.1f} points {more} often than {row.first}{between}"
    return sentence if row.clear else f"{sentence}, which can be chance"


def write(differences: Sequence[Difference], folder: Path) -> list[Path]:
    """Writes the sentences and the table as text, the table as CSV, and the figure as SVG and PDF."""
    names = ("compare.txt", "compare.csv", "compare.svg", "compare.pdf")
    claim(folder, names)
    text, table, *figures = (folder / name for name in names)
    write_text("\n".join(lines(differences)), text)
    numbers = ([*row[:5], *(f"{number:.6g}" for number in row[5:])] for row in differences)
    write_csv([Difference._fields, *numbers], table)
    draw(differences, figures)
    return [text, table, *figures]


def draw(differences: Sequence[Difference], paths: Sequence[Path]) -> None:
    """A panel for each benchmark and metric: differences from the first rival, with their intervals."""
    first, clear = differences[0].first, sum(row.clear for row in differences)
    rivals = list(dict.fromkeys(row.rival for row in differences))
    panels = list(dict.fromkeys(map(_panel, differences)))
    figure = Figure(
        panels=panels,
        columns=1,
        size=(6.4, 0.62 + 0.24 * len(rivals)),
        of_panel={
            panels[-1]: {"xlabel": f"points more than {first}, over the same edits (bar: 95 % interval)"}
        },
        lines=rivals,
        share={"sharex": True},
    )
    marks = [Mark(panel, "", 0, 1, kind="day") for panel in panels]
    for row in differences:
        panel, line, colour = _panel(row), rivals.index(row.rival), KEPT if row.clear else SOFT
        if not math.isnan(row.low):
            marks.append(
                Mark(
                    panel, line, row.low, row.high - row.low, color=colour, kind="bar", style={"height": 0.12}
                )
            )
        marks.append(Mark(panel, line, row.difference, 0, kind="dot", style={"marker": "o"}))
        text = f"{row.difference:+.1f}"
        marks.append(Mark(panel, line, row.difference, line - 0.25, text=text, color=colour, kind="text"))
    message = f"{clear} of {len(differences)} differences from {first} are larger than chance explains"
    draw_panels(figure, {message: marks}, paths)


def _panel(row: Difference) -> str:
    return f"{row.benchmark}: {METRICS.get(row.metric, 'answers right')}"

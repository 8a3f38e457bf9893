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
    "efficacy_s": ("efficacy S", "says the new object {} often"),
    "generalization_s": ("generalization S", "says the new object in other words {} often"),
    "bleedover_nearest": ("bleedover to nearest facts", "takes {} from nearest facts"),
    "bleedover_random": ("bleedover to random facts", "takes {} from random facts"),
    "bleedover_popular": ("bleedover to popular facts", "takes {} from popular facts"),
}
"""Columns of `edit_scores` that are compared, all between 0 and 1 -> their names, and a clause about them."""
RIGHT = ("answers right", "answers right {} often")
"""The same of answers to questions."""


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
    model: str
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

    @property
    def gain(self) -> float:
        """The difference where more is better, else less 0."""
        return -self.difference if self.metric.startswith("bleedover") else self.difference

    @property
    def between(self) -> str:
        """The interval in words."""
        return "one pair" if math.isnan(self.low) else f"{self.low:+.1f} to {self.high:+.1f}"


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
        known = db.sql(
            f"SELECT DISTINCT method, model FROM read_parquet({sql(scores)}) ORDER BY ALL"
        ).fetchall()
    for rival, values in zip(rivals, by_rival, strict=True):
        if not values:
            model, _, named = rival.rpartition(":")
            models = sorted(model for method, model in known if method == named)
            what, name = ("models", model) if models else ("methods", named)
            names = models or sorted({method for method, _ in known})
            similar = nearest(name, names)
            hint = f"did you mean {similar}?" if similar else f"its {what} are {', '.join(names)}"
            raise InputError(f"{scores}: has no edits of {_title(rival)}; {hint}")
    methods = [rival.rpartition(":")[2] for rival in rivals if ":" not in rival]
    of = ", ".join(dict.fromkeys(model for method, model in known if method in methods))
    made = list[Difference]()
    for rival, values in zip(rivals[1:], by_rival[1:], strict=True):
        differences = _differences(_title(rivals[0]), by_rival[0], _title(rival), values)
        made += [difference._replace(model=of) for difference in differences]
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

    Differences of one edited model are one cluster. Where all shares changed alike, or none, the sample has
    no spread, and the width is that of a Wilson interval of none among as many. No interval goes beyond 100.
    """
    import numpy as np
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
        alike = not any(changes) or (clusters > 1 and len(set(changes)) == 1)
        if metric in ("efficacy_s", "generalization_s", "right") and alike:
            half = 100 * wilson(0, clusters)[1]
        elif count > 1 and not 1 < clusters < count:
            half *= float(stats.t.ppf(COVERED[1], count - 1)) / Z
        mean = 100 * fmean(other for _, _, other in pairs)
        first_mean = 100 * fmean(one for _, one, _ in pairs)
        ends = (float(np.clip(end, -100, 100)) for end in (middle - half, middle + half))
        yield Difference(benchmark, metric, rival, first, "", count, mean, first_mean, middle, *ends)


def lines(differences: Sequence[Difference]) -> Iterator[str]:
    """Yields of each benchmark what each rival does otherwise than by chance, the best first, and a table."""
    for benchmark, rival in dict.fromkeys((row.benchmark, row.rival) for row in differences):
        rows = [row for row in differences if (row.benchmark, row.rival) == (benchmark, rival)]
        pairs = [row.pairs for row in rows]
        number = " to ".join(f"{count:,}" for count in sorted({min(pairs), max(pairs)}))
        what = "updates" if benchmark.startswith("updates") else "questions"
        model = f" of {rows[0].model}" if rows[0].model else ""
        clear = sorted((row for row in rows if row.clear), key=lambda row: -row.gain)
        unclear = [f"{_names(row)[0]} ({row.between})" for row in rows if not row.clear]
        clauses = [*map(_clause, clear)]
        clauses += [f"no difference found in {', '.join(unclear)}"] if unclear else []
        against = f"{rival} against {rows[0].first}"
        yield f"{benchmark}{model}, over the same {number} {what}, {against}: {'; '.join(clauses)}."
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
            "-" if math.isnan(row.low) else row.between,
        ]
        for row in differences
    ]
    yield from grid(header, cells)


def _names(row: Difference) -> tuple[str, str]:
    return METRICS.get(row.metric, RIGHT)


def _clause(row: Difference) -> str:
    amount = f"{abs(row.difference):.1f} points {'more' if row.difference > 0 else 'less'}"
    verdict = "better" if row.gain > 0 else "worse"
    return f"{_names(row)[1].format(amount)} ({row.between}: {verdict})"


def write(differences: Sequence[Difference], folder: Path) -> list[Path]:
    """Writes the sentences and the table as text, the table as CSV, and the figure as SVG and PDF."""
    names = ("compare.txt", "compare.csv", "compare.svg", "compare.pdf")
    claim(folder, names)
    text, table, *figures = (folder / name for name in names)
    write_text("\n".join(lines(differences)), text)
    numbers = ([*row[:6], *(f"{number:.6g}" for number in row[6:])] for row in differences)
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
            width, style = row.high - row.low, {"height": 0.12}
            marks.append(Mark(panel, line, row.low, width, color=colour, kind="bar", style=style))
        marks.append(Mark(panel, line, row.difference, 0, kind="dot", style={"marker": "o"}))
        text = f"{row.difference:+.1f} (n = {row.pairs:,})"
        marks.append(Mark(panel, line, row.difference, line - 0.25, text=text, color=colour, kind="text"))
    of = f"{differences[0].model}: " if differences[0].model else ""
    message = f"{of}{clear} of {len(differences)} differences from {first} are larger than chance"
    draw_panels(figure, {message: marks}, paths)


def _panel(row: Difference) -> str:
    better = "left" if row.metric.startswith("bleedover") else "right"
    return f"{row.benchmark}: {_names(row)[0]}, {better} is better"

"""The table of dates: one row for each model, way, reading and subset of chains, from the answers.

A reading is `plain` or `calibrated`, by which an answer is the holder of the greatest score, or of the
greatest score above that after neutral prompts.
"""

import datetime
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.stats import binomtest

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.intervals import THIRDS, percentiles, thirds
from factdrift.core.paths import CUTOFF_MAKERS
from factdrift.core.progress import watched
from factdrift.core.tables import rows_of
from factdrift.evaluation.questions.tenures import changes
from factdrift.evaluation.scores import cutoff_fit as fit
from factdrift.evaluation.scores.cutoff_model import Choices, Part, Tenures, parts
from factdrift.streams.timelines import day_number
from factdrift.tempripple.score import Cutoff

TABLE = schema_of(
    "model way reading subset value: string, chains informative: int32, verdict date low high: string",
    "tau eps lam p: float64, latest first_date last_date: string",
    "difference difference_low difference_high: float64",
)
"""`subset`: `all`, `relation`, `popularity`, `wording` or `deaths`, with its `value`. `verdict`: `date`,
`before` the first date or `after` the last one of the stream, or `none`. `low` and `high` are null where the
interval reaches an end of the stream. `difference`: days from the date of all chains, by the same
bootstrap."""

QUARTERS = schema_of(
    "model way reading period: string, changes later: int32, expected p: float64, above: bool"
)
"""One row a quarter, or month, with changes: in how many of these the holder after is preferred, the share
that is expected of no knowledge, p of more by a binomial test, and whether it is `above` after Holm's
correction."""

READINGS = {"plain": "choice", "calibrated": "calibrated"}
UNDECIDED = ("order", "no_letter", "unnamed")
"""Why an answer counts for no holder: the model has spoken, and its words fit any date."""
LEAST = 50
"""Informative chains of a subset below which it has no estimate."""
MONTHLY = 30
"""Changes of a month from which on months are tested instead of their quarter."""
DRAWS, PERMUTATIONS = 2000, 1000
DAY = datetime.timedelta(days=1)


class CutoffSettings(NamedTuple):
    """What an estimate takes besides the answers."""

    span: fit.Span
    seed: int
    draws: int = DRAWS
    permutations: int = PERMUTATIONS


def span_of(dates: Sequence[datetime.date]) -> fit.Span:
    """From the first to the last date of a stream."""
    return fit.Span(dates[0].toordinal(), dates[-1].toordinal())


def tables(answers: Sequence[Row], settings: CutoffSettings) -> tuple[list[Row], list[Row]]:
    """Rows of TABLE and of QUARTERS of the answers of one model and way."""
    dates: list[Row] = []
    periods: list[Row] = []
    chains = [row for row in answers if row["died"] is None]
    subjects = {name: number for number, name in enumerate(dict.fromkeys(row["subject"] for row in answers))}
    weights = fit.draw_subjects(len(subjects), settings.draws, np.random.default_rng(settings.seed))
    for reading, column in watched([*READINGS.items()], "date", "readings"):
        answered = [row for row in chains if row[column] is not None]
        if answered:
            tested = list(quarters(answered, reading))
            rows = _estimates(answered, len(chains), reading, subjects, weights, settings)
            latest = next((row["period"] for row in reversed(tested) if row["above"]), None)
            rows[0]["latest"] = latest if rows[0]["verdict"] != "none" else None
            head = {"model": answered[0]["model"], "way": answered[0]["way"], "reading": reading}
            dates += [{**head, **row} for row in rows]
            periods += [{**head, **row} for row in tested]
        elif reading == "plain" and any(row["reason"] in UNDECIDED for row in chains):
            dates.append(_undecided(chains, settings.span))
    deaths = [row for row in answers if row["died"] is not None and row["choice"] is not None]
    if len(deaths) >= LEAST:
        choices = death_choices(deaths, subjects)
        row, _ = _row(choices, fit.among_chains(choices), weights, settings)
        head = {"model": deaths[0]["model"], "way": deaths[0]["way"], "reading": "plain"}
        dates.append({**head, "subset": "deaths", "value": "all", "chains": len(deaths), **row})
    return dates, periods


def _undecided(chains: Sequence[Row], span: fit.Span) -> Row:
    """The row of a model whose answers name no holder of any chain: the same letter in both orders, say."""
    row = dict.fromkeys(TABLE.names) | {name: chains[0][name] for name in ("model", "way")}
    row |= {"reading": "plain", "subset": "all", "value": "all", "chains": len(chains), "informative": 0}
    return {**row, "verdict": "none", "p": 1.0, **_ends(span)}


def choices_of(rows: Sequence[Row], subjects: Mapping[str, int], column: str = "choice") -> Choices:
    """The answers of a column as arrays."""
    tenures = Tenures.of([[parts(holder["tenures"]) for holder in row["holders"]] for row in rows])
    chosen = tenures.start + np.array([row[column] for row in rows])
    likely = np.array([-1 if row["likely"] is None else row["likely"] for row in rows])
    neutral = np.where(likely < 0, -1, tenures.start + likely)
    return Choices(tenures, chosen, neutral, np.array([subjects[row["subject"]] for row in rows]))


def death_choices(rows: Sequence[Row], subjects: Mapping[str, int]) -> Choices:
    """Whether the true date of death was chosen: known from that day on, before it by chance."""
    chances = [1 / len(row["holders"]) for row in rows]
    days = [day_number(row["died"]) for row in rows]
    tenures = Tenures.of(
        [
            [[Part(-np.inf, day, chance), Part(day, np.inf, 1.0)], [Part(-np.inf, day, 1 - chance)]]
            for day, chance in zip(days, chances, strict=True)
        ],
        [[chance, 1 - chance] for chance in chances],
    )
    wrong = np.array([row["choice"] != 0 for row in rows])
    cluster = np.array([subjects[row["subject"]] for row in rows])
    return Choices(tenures, tenures.start + wrong, np.full(len(rows), -1), cluster)


def _estimates(
    rows: Sequence[Row],
    asked: int,
    reading: str,
    subjects: Mapping[str, int],
    weights: NDArray[np.float32],
    settings: CutoffSettings,
) -> list[Row]:
    """The row of all chains, then, if a date can be told, those of subsets with enough of them.

    Of the many subsets of a model without a date, some would have one by chance.
    """
    choices = choices_of(rows, subjects, READINGS[reading])
    row, whole = _row(choices, fit.among_holders(choices), weights, settings)
    estimates = [{"subset": "all", "value": "all", "chains": asked, **row}]
    if whole is None:
        return estimates
    subsets = [(subset, value, choices.only(indices)) for subset, value, indices in _subsets(rows)]
    if reading == "plain":
        subsets += _wordings(rows, subjects)
    for subset, value, part in watched(subsets, "by parts of the chains", "parts"):
        if (count := len(part.chosen)) >= LEAST:
            row, own = _row(part, fit.among_holders(part), weights, settings)
            if own is not None and row["verdict"] == "date":
                low, high = percentiles(own.draws - whole.draws)
                row |= {"difference": own.date - whole.date}
                row |= {"difference_low": float(low), "difference_high": float(high)}
            estimates.append({"subset": subset, "value": value, "chains": count, **row})
    return estimates


def _subsets(rows: Sequence[Row]) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Subset, value and indices of its rows: relations, the largest first, and thirds by popularity."""
    relations = np.array([row["relation"] for row in rows])
    for relation in sorted(set(relations.tolist()), key=lambda name: (-(relations == name).sum(), name)):
        yield "relation", relation, np.flatnonzero(relations == relation)
    third = np.array(thirds([row["popularity"] for row in rows]))
    for name in THIRDS:
        yield "popularity", name, np.flatnonzero(third == name)


def _wordings(rows: Sequence[Row], subjects: Mapping[str, int]) -> Iterator[tuple[str, str, Choices]]:
    """Subset, number and answers of each wording, of the rows in which all holders have a score in it."""
    for number in range(max(len(row["wordings"] or ()) for row in rows)):
        asked = [row for row in rows if len(row["wordings"] or ()) > number]
        own = [{**row, "choice": int(np.argmax(row["wordings"][number])), "likely": None} for row in asked]
        yield "wording", str(number + 1), choices_of(own, subjects)


def _row(
    choices: Choices, relabel: fit.Relabel, weights: NDArray[np.float32], settings: CutoffSettings
) -> tuple[Row, fit.Estimate | None]:
    """The columns of an estimate, from `informative` to `p`; no estimate where no date can be told."""
    span = settings.span
    rng = np.random.default_rng([settings.seed, 1])
    p = fit.chance_of_no_date(choices, span, relabel, rng, settings.permutations)
    row: Row = {"informative": len(choices.chosen), "p": p}
    row |= _ends(span)
    if p > fit.LEVEL:
        return {**row, "verdict": "none"}, None
    best = fit.estimate(choices, span, weights)
    row |= {"tau": best.tau, "eps": best.eps, "lam": best.lam}
    if best.date <= span.first:
        return {**row, "verdict": "before"}, best
    if best.date >= span.last:
        return {**row, "verdict": "after"}, best
    row |= {"verdict": "date", "date": _iso(best.date)}
    row["low"] = None if best.low <= span.first else _iso(best.low)
    row["high"] = None if best.high >= span.last else _iso(math.ceil(best.high))
    return row, best


def _ends(span: fit.Span) -> Row:
    return {"first_date": _iso(span.first), "last_date": _iso(span.last)}


def _iso(ordinal: float) -> str:
    return datetime.date.fromordinal(int(ordinal)).isoformat()


class _Compared(NamedTuple):
    """A change of holder that a model has an opinion about."""

    quarter: str
    month: str
    later: bool
    """Whether the holder after it is preferred."""
    neutral: bool
    """Whether it is after the prompts of other subjects."""


def _compared(rows: Sequence[Row]) -> Iterator[_Compared]:
    for row in rows:
        # Of a choice alone nothing is known of the others.
        scores = row["scores"] or [index == row["choice"] for index in range(len(row["holders"]))]
        neutral = [0.0] * len(scores) if row["neutral"] is None else row["neutral"]
        for day, before, after in changes(row):
            if scores[after] != scores[before]:
                year, month = divmod(day // 100, 100)
                later, liked = scores[after] > scores[before], neutral[after] > neutral[before]
                yield _Compared(f"{year}-Q{(month + 2) // 3}", f"{year}-{month:02d}", later, liked)


def quarters(rows: Sequence[Row], reading: str) -> Iterator[Row]:
    """Rows of QUARTERS without the names of model, way and reading, in the order of time."""
    compared = sorted(_compared(rows), key=lambda change: change.month)
    months = Counter(change.month for change in compared)
    monthly = {change.quarter for change in compared if months[change.month] >= MONTHLY}
    tested: list[Row] = []
    periods = groupby(compared, lambda own: own.month if own.quarter in monthly else own.quarter)
    for period, group in periods:
        own = list(group)
        later = sum(change.later for change in own)
        expected, successes, trials = 0.5, later, len(own)
        if reading == "calibrated":
            # Only chains in which the neutral prompts prefer the other holder say something, as in McNemar's.
            expected = sum(change.neutral for change in own) / len(own)
            successes = sum(change.later and not change.neutral for change in own)
            trials = sum(change.later != change.neutral for change in own)
        p = binomtest(successes, trials, alternative="greater").pvalue if trials else 1.0
        row = {"period": period, "changes": len(own), "later": later, "expected": expected, "p": float(p)}
        tested.append(row)
    for row, above in zip(tested, holm([row["p"] for row in tested]), strict=True):
        yield {**row, "above": above}


def holm(values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which hypotheses are refused at a family-wise level, by Holm's step-down procedure."""
    refused = [False] * len(values)
    for rank, index in enumerate(sorted(range(len(values)), key=lambda index: values[index])):
        if values[index] > level / (len(values) - rank):
            break
        refused[index] = True
    return refused


def declared(model: str) -> tuple[str, str]:
    """The maker's own date and its source, by the longest beginning of the name in makers.tsv; else "".

    A model whose maker declares none has a source without a date.
    """
    makers = [fields for _, fields in rows_of(CUTOFF_MAKERS, ("name", "date", "source"))]
    known = {name: (date, source) for name, date, source in makers if model.startswith(name)}
    return known[max(known, key=len)] if known else ("", "")


def cutoffs_of(path: Path) -> dict[str, Cutoff]:
    """Model -> between which days it is open what it knows, by the plain reading of a table of TABLE.

    Models without a date have none, nor has one whose readings disagree, which is said. What a model has
    written counts only if it was asked in no other way. Raises InputError if the table has other columns.
    """
    table = pq.read_table(path)
    if table.schema.names != TABLE.names:
        raise InputError(f"{path}: its columns must be {', '.join(TABLE.names)}; make it with `cutoff dates`")
    readings: dict[str, dict[str, Row]] = {"plain": {}, "calibrated": {}}
    for row in sorted(table.to_pylist(), key=lambda row: row["way"] == "written"):
        if row["subset"] == "all" and row["reading"] in readings:
            readings[row["reading"]].setdefault(row["model"], row)
    cutoffs = {}
    for model, row in readings["plain"].items():
        if model in readings["calibrated"] and disagree(row, readings["calibrated"][model]):
            note = f"the two readings of the date of {model} disagree; its items are all kept"
            print(f"factdrift: warning: {path}: {note}", file=sys.stderr)
        elif cutoff := cutoff_of(row):
            cutoffs[model] = cutoff
    return cutoffs


def disagree(plain: Mapping[str, Any], calibrated: Mapping[str, Any]) -> bool:
    """Whether two readings of the same model have dates whose intervals do not meet."""
    if "none" in (plain["verdict"], calibrated["verdict"]):
        return False
    (low, high), (least, greatest) = map(_bounds, (plain, calibrated))
    return low > greatest or least > high


def _bounds(row: Mapping[str, Any]) -> tuple[str, str]:
    """The first and the last date of the interval, those of the stream where it reaches them."""
    match row["verdict"]:
        case "before":
            return "", row["first_date"]
        case "after":
            return row["last_date"], "9999"
    return row["low"] or "", row["high"] or "9999"


def cutoff_of(row: Row) -> Cutoff | None:
    """Of a row of TABLE about all chains; None where no date can be told.

    A model cannot know what began after the later of the date's upper bound and the end of its latest
    knowledge, and can know what began before the lower bound. Where the stream has no bound on a side, it
    decides nothing there.
    """
    if row["verdict"] == "none":
        return None
    first, last = (datetime.date.fromisoformat(row[f"{end}_date"]) for end in ("first", "last"))
    low = datetime.date.fromisoformat(row["low"]) if row["low"] else datetime.date.min + DAY
    high = datetime.date.fromisoformat(row["high"]) if row["high"] else datetime.date.max
    if row["verdict"] == "before":
        high = first
    elif row["verdict"] == "after":
        low = last
    latest = _end_of(row["latest"]) if row["latest"] else datetime.date.min
    return Cutoff(low - DAY, max(high, latest))


def _end_of(period: str) -> datetime.date:
    """The last day of `2021-Q3` or `2021-08`."""
    year, _, part = period.partition("-")
    month = 3 * int(part[1:]) if part.startswith("Q") else int(part)
    return datetime.date(int(year) + month // 12, month % 12 + 1, 1) - DAY

"""Scores of models' answers: accuracies with intervals, and the paper's tests.

Each timeline gives many items, and several paths can end in the same fact, so items are not independent:
Wilson's interval is too narrow and the p-values are too small; the clustered bootstrap accounts for clusters.
"""

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import stats

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.intervals import bootstrap, percentiles, wilson
from factdrift.tempripple.claims import EPOCH
from factdrift.tempripple.schemas import TASKS

CONDITIONS = ("without", "with")
"""Without and with the new fact as context. The third condition is a model that was edited with the new fact:
`edited` or `edited-METHOD`."""

_CONDITION = re.compile(r"without|with|edited(-\w+)?")

_COLUMNS = ("item_id", "condition", "correct")
_CORRECT = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_AS_TEXT = pyarrow.csv.ConvertOptions(
    column_types=dict.fromkeys(("item_id", "condition", "model"), pa.string())
)
"""Reads these columns of a CSV file as texts: `0012` and `1.10` are ids and names, not numbers."""

Key = tuple[str, str, int, int]
"""Model, condition, task, hop."""


class Answer(NamedTuple):
    """One item and whether it was answered right."""

    item: Row
    correct: bool

    @property
    def asked(self) -> tuple[str, str]:
        return self.item["asked_s"], self.item["asked_p"]


Answers = Mapping[Key, Sequence[Answer]]

SELECTIONS: Mapping[str, Callable[[Row], bool]] = {
    "all": lambda item: True,
    "discriminating": lambda item: item["discriminates"] is True,
}
"""The items over which each number is reported: all, and those that show which fact the answer came from."""


def read_predictions(path: Path, items: Iterable[Row]) -> Answers:
    """Answers by model, condition, task and hop, from a Parquet or CSV file.

    Its columns: `item_id`, `condition` (`without`, `with`, `edited` or `edited-METHOD`), `correct` (true or
    false, or 1 or 0), and `model` if there are several.
    Raises InputError that names the file and the row if an item is unknown or answered twice, or if `correct`
    is anything else; and if there is no row.
    """
    try:
        if path.suffix == ".csv":
            table = pyarrow.csv.read_csv(path, convert_options=_AS_TEXT)
        else:
            table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: {error}; give a Parquet or .csv file of {', '.join(_COLUMNS)}") from error
    if missing := set(_COLUMNS) - set(table.column_names):
        raise InputError(f"{path}: no column {', '.join(sorted(missing))}")
    if not table.num_rows:
        raise InputError(f"{path}: no answer; give a row for each item that was asked")
    if "model" not in table.column_names:
        table = table.append_column("model", pa.array([""] * table.num_rows))
    columns = (table[name].cast(pa.string()) for name in ("item_id", "condition", "model"))
    names, conditions, models = (column.fill_null("").to_pylist() for column in columns)
    correct = (_CORRECT.get(str(value).strip().lower()) for value in table["correct"].to_pylist())
    source = (f"{path}, line", 2) if path.suffix == ".csv" else (f"{path}, row", 1)
    return grouped(zip(names, conditions, correct, models, strict=True), items, *source)


def grouped(
    predictions: Iterable[tuple[str, str, bool | None, str]],
    items: Iterable[Row],
    source: str,
    first: int = 1,
) -> Answers:
    """Answers by model, condition, task and hop, from (item id, condition, correct, model).

    `source` and a number from `first` on name a prediction in the message of an InputError; see
    `read_predictions`.
    """
    by_id = {item["item_id"]: item for item in items}
    answered: set[tuple[str, str, str]] = set()
    groups: dict[Key, list[Answer]] = defaultdict(list)
    for number, (name, condition, correct, model) in enumerate(predictions, first):
        item = by_id.get(name)
        where = f"{source} {number}"
        if item is None:
            raise InputError(f"{where}: {name!r} is no item of this benchmark")
        if correct is None or not _CONDITION.fullmatch(condition or ""):
            raise InputError(
                f"{where}: `condition` must be without, with, edited or edited-METHOD, "
                "`correct` true or false, or 1 or 0"
            )
        if (model, condition, name) in answered:
            raise InputError(f"{where}: {name} is answered twice (condition {condition})")
        answered.add((model, condition, name))
        groups[model, condition, item["task"], item["hop"]].append(Answer(item, correct))
    for answers in groups.values():
        answers.sort(key=lambda answer: answer.item["item_id"])
    return dict(sorted(groups.items()))


class Cutoff(NamedTuple):
    """What began by the day `known` a model can know; what began after the day `unknown` it cannot.

    Both are the last day of its training data where that is given.
    """

    known: datetime.date
    unknown: datetime.date


def within_cutoff(answers: Answers, facts: Sequence[Row], cutoffs: Mapping[str, Cutoff]) -> Answers:
    """The answers that count for a model with the cutoff `cutoffs[model]`.

    An item of a new fact counts if the fact certainly began after the day `unknown`, one of an old fact if it
    certainly began by `known`; related items count as their fact does. A fact without a start began before
    any day. `facts`: rows of TR_FACTS. Models without a cutoff keep all answers. Raises InputError if the
    fact of an item is not among `facts`.
    """
    by_id = {fact["fact_id"]: fact for fact in facts}
    kept: dict[Key, list[Answer]] = defaultdict(list)
    for key, group in answers.items():
        cutoff = cutoffs.get(key[0])
        for answer in group:
            if cutoff is not None:
                if (fact := by_id.get(answer.item["fact_id"])) is None:
                    raise InputError(
                        f"the fact of item {answer.item['item_id']} is not among the facts; give tr_facts "
                        "and items of the same build"
                    )
                # Days since 1970-01-01, as those of the facts.
                known, unknown = (day.toordinal() - EPOCH for day in cutoff)
                if fact["role"] == "new":
                    counts = fact["start_lo"] is not None and fact["start_lo"] > unknown
                else:
                    counts = fact["start_hi"] is None or fact["start_hi"] <= known
                if not counts:
                    continue
            kept[key].append(answer)
    return dict(kept)


def report(answers: Answers, facts: Sequence[Row] = (), seed: int = 0, draws: int = 2000) -> dict[str, Any]:
    """Lists of rows: `accuracy`, `mcnemar`, `fisher` and, with rows of TR_FACTS, `duration`.

    Each row is over one selection of SELECTIONS. The p-values take items as independent, which they are not.
    """
    tables: dict[str, list[Row]] = {"accuracy": [], "mcnemar": [], "fisher": [], "duration": []}
    known: dict[str, list[int]] = defaultdict(list)
    for fact in facts:
        if fact["duration_days"] is not None:
            known[fact["p"]].append(fact["duration_days"])
    days = {name: fmean(durations) for name, durations in known.items()}
    for name, wanted in SELECTIONS.items():
        selected = {key: [a for a in group if wanted(a.item)] for key, group in answers.items()}
        chosen = {key: group for key, group in selected.items() if group}
        for (model, condition, task, hop), group in chosen.items():
            head = {"items": name, "model": model, "task": TASKS[task - 1], "hop": hop}
            tables["accuracy"].append(head | {"condition": condition} | _accuracy(group, seed, draws))
            for first in CONDITIONS:
                before = chosen.get((model, first, task, hop), [])
                if before and condition != "without" and condition != first:
                    pair = {"first": first, "second": condition}
                    tables["mcnemar"].append(head | pair | _conditions(before, group))
            mutable = chosen.get((model, condition, task - 2, 0), [])
            if hop and mutable:
                tables["fisher"].append(head | {"condition": condition} | _hops(group, mutable))
            if days and not hop and condition != "without":
                correlations = _durations(group, days, seed, draws)
                tables["duration"].append(head | {"condition": condition} | correlations)
    return tables


def _accuracy(group: Sequence[Answer], seed: int, draws: int) -> Row:
    """Over the items, and over the facts asked for: each counts once, however many items ask for it."""
    correct = [answer.correct for answer in group]
    timelines = [(answer.item["s"], answer.item["p"]) for answer in group]
    by_asked: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for answer in group:
        by_asked[answer.asked].append(answer.correct)
    return {
        "n": len(group),
        "right": sum(correct),
        "accuracy": fmean(correct),
        "wilson": wilson(sum(correct), len(group)),
        "by_timeline": bootstrap(correct, timelines, seed, draws),
        "by_asked_fact": bootstrap(correct, [answer.asked for answer in group], seed, draws),
        "asked_facts": len(by_asked),
        "accuracy_of_asked_facts": fmean(fmean(facts) for facts in by_asked.values()),
    }


def _conditions(first: Sequence[Answer], second: Sequence[Answer]) -> Row:
    """McNemar's test over the items answered under both conditions."""
    after = {answer.item["item_id"]: answer.correct for answer in second}
    pairs = [(a.correct, after[a.item["item_id"]]) for a in first if a.item["item_id"] in after]
    only_first = sum(left and not right for left, right in pairs)
    only_second = sum(right and not left for left, right in pairs)
    p, statistic = mcnemar(only_first, only_second)
    counts = {"n": len(pairs), "only_first": only_first, "only_second": only_second}
    return counts | {"p": p, "statistic": statistic}


def _hops(related: Sequence[Answer], mutable: Sequence[Answer]) -> Row:
    """Fisher's two-sided test against hop 0 of the same line, over all items and one of each asked fact."""
    first = {answer.asked: answer for answer in reversed(related)}.values()

    def tested(group: Iterable[Answer]) -> float:
        tally = [Counter(answer.correct for answer in answers) for answers in (group, mutable)]
        return float(stats.fisher_exact([(answers[True], answers[False]) for answers in tally]).pvalue)

    return {"p": tested(related), "p_of_asked_facts": tested(first)}


def _durations(group: Sequence[Answer], days: Mapping[str, float], seed: int, draws: int) -> Row:
    """Correlation of a right answer with the mean duration of its property.

    The interval is a percentile bootstrap's: properties with all their answers are resampled, and draws in
    which the correlation is not defined are left out.
    """
    dated = [answer for answer in group if answer.item["p"] in days]
    correct = np.array([answer.correct for answer in dated], dtype=np.float64)
    values = np.array([days[answer.item["p"]] for answer in dated], dtype=np.float64)
    members: dict[str, list[int]] = defaultdict(list)
    for row, answer in enumerate(dated):
        members[answer.item["p"]].append(row)
    groups = [np.array(rows, dtype=np.int64) for rows in members.values()]
    random = np.random.default_rng(seed)
    resampled = []
    for _ in range(draws if groups else 0):
        rows = np.concatenate([groups[index] for index in random.integers(0, len(groups), len(groups))])
        if (correlation := point_biserial(correct[rows], values[rows])) is not None:
            resampled.append(correlation)
    interval = percentiles(np.array(resampled)) if resampled else None
    return {"n": len(dated), "r": point_biserial(correct, values), "interval": interval}


EXACT_BELOW = 25
"""McNemar's test is exact for fewer discordant pairs than this."""


def mcnemar(only_first: int, only_second: int) -> tuple[float, float | None]:
    """McNemar's test of the same items under two conditions: p and chi-squared, None if the test is exact.

    `only_first`, `only_second`: the number of items right under one condition only.
    """
    number = only_first + only_second
    if number == 0:
        return 1.0, None
    if number < EXACT_BELOW:
        return float(stats.binomtest(only_first, number).pvalue), None
    statistic = max(abs(only_first - only_second) - 1, 0) ** 2 / number
    return float(stats.chi2.sf(statistic, 1)), statistic


def point_biserial(correct: NDArray[np.float64], values: NDArray[np.float64]) -> float | None:
    """Pearson's correlation of right (1) or wrong (0) with a number; None if either is constant."""
    if len(correct) < 2 or not np.ptp(correct) or not np.ptp(values):
        return None
    return float(np.corrcoef(correct, values)[0, 1])

"""What a date before a question does to answers: item by item, in shares, and to the date of the model."""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import Ends, clustered_wilson, percentiles
from factdrift.core.paths import REMARKS
from factdrift.evaluation.questions.tenures import names_of
from factdrift.evaluation.scores import cutoff_fit as fit
from factdrift.evaluation.scores.cutoff import CutoffSettings, choices_of
from factdrift.evaluation.scores.cutoff_answers import wording_of
from factdrift.evaluation.states.stated import YEAR, Stated
from factdrift.verdict.cues import read_cues
from factdrift.verdict.judge import Case, judged
from factdrift.verdict.text import contains, keys_of
from factdrift.words.reasoning import answer_of

Answers = Mapping[str, Sequence[Row]]
"""State -> rows of `cutoff_answers.ANSWERS`; `none` is without any text."""
Draws = NDArray[np.float64]
"""A number, then its value in every draw of the bootstrap."""

OUTCOMES = ("taken", "kept", "both", "other", "refused")
"""What an answer is: as the text before it says, as without the text, both, or neither."""
MARKS = ("changed", "doubted", "denied", "fictional", "unknown_future")
"""That an answer differs from that without the text, and what it says of the text or of what it can know."""

_OF_ANSWER = "model way chain subject output"
ITEMS = schema_of(f"state {_OF_ANSWER} outcome reason: string, counted: bool, marks parts: [string]")
"""A row for every chain and state. `counted`: among those whose outcomes are counted; `parts`: among which
else; `reason`: why there is no answer."""
STATED = schema_of("model way state part measure: string, n subjects left_out: int32, mean low high: float64")
"""A row for every state, part of its items and measure, with a 95 % interval (docs/stated-date.md)."""

_NAMELESS = (None, "order", "no_letter", "unnamed")
"""Reasons of a model that has answered, if with none of the holders."""
_BORDER = re.compile(r"(?<=[.!?:;])\s+")


def remarks(text: str, language: str = "en") -> list[str]:
    """The MARKS whose cues an answer has (`resources/verdict/remarks.tsv`)."""
    cues = {cue.kind for cue in read_cues(language, REMARKS).find(keys_of(answer_of(text)))}
    return [mark for mark in MARKS if mark in cues]


def items(stated: Stated, answers: Answers) -> list[Row]:
    """Rows of ITEMS; those count in which taking a text can be told from leaving it."""
    of = {(state, row["chain"]): row for state, own in answers.items() for row in own}
    prompts = {row["chain"]: row["prompts"] for row in stated.rows}
    rows = []
    for item in stated.items:
        row, before = of[item.state, item.chain], of["none", item.chain]
        reason = next((why for why in (row["reason"], before["reason"]) if why not in _NAMELESS), None)
        made: Row = {name: row[name] for name in _OF_ANSWER.split()}
        made |= {"state": item.state, "parts": item.parts, "reason": reason, "marks": []}
        kept = before["choice"]
        made["counted"] = reason is None and kept != item.holder and item.known in (-1, kept)
        made["counted"] &= (kept, item.known) != (None, None)
        if reason is None:
            taken = item.holder if item.holder != kept else None
            made["outcome"], made["marks"] = outcome(row, prompts[item.chain], taken, kept, item.about)
        rows.append(made)
    return rows


def outcome(
    row: Row,
    prompts: Sequence[str],
    taken: int | None,
    kept: int | None,
    about: str = "",
    language: str = "en",
) -> tuple[str, list[str]]:
    """Outcome and marks of an answer; in writing by verdicts, which may deny what the text says.

    `row`: `holders`, `subject_label`, `output` and `choice`. `about`: the other subject of the text.
    """
    result, denied = "other", False
    names = list(map(names_of, row["holders"]))
    text = _claim(row["output"] or "", names, about and (about, row["subject_label"]), language)
    if kept is not None and _stays(text, names[kept], language):
        result = "kept"
    neither = 0 if taken is None and kept is None else None  # it may refuse
    for name, index in (("taken", taken), ("kept", kept), ("other", neither)):
        if result != "other" or index is None:
            continue
        if row["output"] is None:
            result = name if row["choice"] == index else result
            continue
        others = tuple(label for own in names if own is not names[index] for label in own)
        question = wording_of(prompts, text)
        case = Case(text, names[index], others=others, question=question, language=language)
        verdict = judged(case).verdict
        denied |= verdict == "denied" and name == "taken"
        both = name if index == neither else "both"
        result = {"correct": name, "both": both, "refused": "refused"}.get(verdict, result)
    marks = ["changed"] if (result != "kept" if kept is not None else row["choice"] is not None) else []
    spoken = {*remarks(row["output"] or "", language), *(["denied"] if denied else [])}
    return result, [*marks, *(mark for mark in MARKS if mark in spoken)]


def _claim(text: str, names: Sequence[Sequence[str]], subjects: Sequence[str], language: str) -> str:
    """A text without the parts at its beginning that only remark on another part: `That is wrong. It is X.`

    `subjects`: another subject and that of the question; parts about the other alone are left out, too.
    """
    whole = [name.replace(".", "") for name in subjects]
    for name, dotless in zip(subjects, whole, strict=True):
        text = text.replace(name, dotless)
    parts = _BORDER.split(text)
    while remarks(parts[0], language) and not any(contains(parts[0], own) for own in names) and parts[1:]:
        del parts[0]
    return " ".join(part for part in parts if not whole or whole[0] not in part or whole[1] in part)


def _stays(text: str, names: Sequence[str], language: str) -> bool:
    """Whether a text says that a holder has not left, or is not followed: `X has not resigned.`"""
    keys = keys_of(answer_of(text))
    for cue in read_cues(language, REMARKS).find(keys):
        for own in map(keys_of, names):
            before, after = keys[: cue.start][-len(own) :], keys[cue.end :][: len(own)]
            if (cue.kind, own) in (("stays", before), ("not_followed", after)):
                return True
    return False


def shares(rows: Sequence[Row], chains: int) -> Iterator[Row]:
    """Rows of STATED from rows of ITEMS. `chains`: how many there are, counted or not."""
    parts: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        own = ["answered"] if row["reason"] is None else []
        for part in (*own, *(["counted", *row["parts"]] if row["counted"] else ())):
            parts[row["state"], part].append(row)
    for (state, part), own_rows in parts.items():
        subjects = [row["subject"] for row in own_rows]
        for measure in (*(OUTCOMES if part != "answered" else OUTCOMES[-1:]), *MARKS):
            hits = [measure in (row["outcome"], *row["marks"]) for row in own_rows]
            ends = clustered_wilson(hits, subjects)
            row = _row(own_rows, state, part, measure, sum(hits) / len(hits), ends)
            row["left_out"] = chains - len(hits) if part in ("answered", "counted") else None
            yield row | {"subjects": len(set(subjects))}


def _row(of: Sequence[Row], state: str, part: str, measure: str, mean: float, ends: Ends) -> Row:
    """A row of STATED about answers."""
    row = {"model": of[0]["model"], "way": of[0]["way"], "state": state, "part": part, "n": len(of)}
    return row | {"measure": measure, "mean": mean, "low": ends[0], "high": ends[1]}


def _row_of_draws(of: Sequence[Row], state: str, part: str, measure: str, numbers: Draws) -> Row:
    """A row of STATED about answers, with a number and its draws."""
    ends = percentiles(np.where(np.isfinite(numbers[1:]), numbers[1:], np.nan))
    return _row(of, state, part, measure, float(numbers[0]), ends)


def _drawn(rows: Sequence[Row], settings: CutoffSettings) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Subject -> its number, and how often draws of the bootstrap have it, the same for what is compared."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(row["subject"] for row in rows))}
    return numbers, fit.draw_subjects(len(numbers), settings.draws, np.random.default_rng(settings.seed))


def trust(rows: Sequence[Row], settings: CutoffSettings) -> Iterator[Row]:
    """Rows of STATED from ITEMS of `tool`: trust in time and gullibility."""
    if not (counted := [row for row in rows if row["counted"]]):
        return
    numbers, weights = _drawn(counted, settings)
    weights = np.vstack([np.ones((1, len(numbers)), np.float32), weights])
    taken = {}
    for name in ("newer_true", "newer_false", "older"):
        own = [row for row in counted if row["state"] == f"tool={name}"]
        index = np.array([numbers[row["subject"]] for row in own], np.int64)
        hits = np.bincount(index, [row["outcome"] == "taken" for row in own], len(numbers))
        with np.errstate(invalid="ignore"):
            taken[name] = (weights @ hits) / (weights @ np.bincount(index, minlength=len(numbers)))
    with np.errstate(divide="ignore", invalid="ignore"):
        trusted = taken["newer_true"] - taken["older"]
        gullible = taken["newer_false"] / taken["newer_true"]
    for measure, draws in (("trust", trusted), ("gullibility", gullible)):
        if np.isfinite(draws[0]):
            yield _row_of_draws(counted, "tool", "counted", measure, draws)


def shift(stated: Stated, answers: Answers, own: datetime.date, settings: CutoffSettings) -> Iterator[Row]:
    """Rows of STATED from answers of `today`: their date in all states, as years from the own date; slopes.

    A slope is of these dates by the stated days, no farther than the chains reach, on a side of the own date.
    States whose answers have no date are left out.
    """
    numbers, weights = _drawn(stated.rows, settings)
    span, dates = settings.span, dict[str, Draws]()
    for state in ("none", *stated.days):
        if not (rows := [row for row in answers[state] if row["choice"] is not None]):
            continue
        choices, rng = choices_of(rows, numbers), np.random.default_rng([settings.seed, 1])
        p = fit.chance_of_no_date(choices, span, fit.among_holders(choices), rng, settings.permutations, 2)
        if p <= fit.LEVEL:
            best = fit.estimate(choices, span, weights)
            dates[state] = (np.append(best.date, best.draws) - own.toordinal()) / YEAR
            yield _row_of_draws(rows, state, "answered", "date", dates[state])
    slopes: dict[str, Draws] = {}
    for part, sign in (("before", -1), ("after", 1)):
        for name in ("today", "library"):
            days = {
                state: (min(max(day.toordinal(), span.first), span.last) - own.toordinal()) / YEAR
                for state, day in stated.days.items()
                if state in dates
                and state.startswith((f"{name}=+", f"{name}=-"))
                and (day - own).days * sign >= 0
            }
            x = np.array([*days.values()])
            if len({*days.values()}) > 1:
                y = np.array([dates[state] for state in days])
                slopes[name + part] = (x - x.mean()) @ y / ((x - x.mean()) ** 2).sum()
                yield _row_of_draws(answers["none"], name, part, "shift", slopes[name + part])
        if {f"today{part}", f"library{part}"} <= slopes.keys():
            less = slopes[f"today{part}"] - slopes[f"library{part}"]
            yield _row_of_draws(answers["none"], "today", part, "shift_less_control", less)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Rows of STATED as text, a line for every state, without smaller parts and shares of 0."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        shown = row["mean"] or row["measure"] not in (*OUTCOMES[1:], *MARKS)
        if shown and row["part"] in ("answered", "counted", "before", "after"):
            groups[row["state"], row["part"]].append(row)
    for (state, part), own in groups.items():
        numbers = (f"{row['measure']} {row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for row in own)
        yield f"{state}, {part} (n {own[0]['n']:,}): {', '.join(numbers)}"

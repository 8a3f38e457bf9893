"""What was written, answer by answer with its verdict beside what the likelihood says; and in shares."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import clustered_wilson
from factdrift.core.tables import database, sql
from factdrift.evaluation.questions.clozes import NEIGHBORS, OWN, clozes_of
from factdrift.evaluation.questions.question import probe_id
from factdrift.models.alignment import NOT_FINITE
from factdrift.ripples.tables import CRITERIA, MUST_CHANGE
from factdrift.tempripple.schemas import TASKS
from factdrift.verdict.judge import VERDICTS

GENERATION_SCORES = schema_of(
    "model benchmark method: string, interval: int32, kind role question edit verdict reason: string",
    "correct matches contains stays before exact s: bool",
)
"""One row for each question in writing that has a right answer (docs/tables/edit_written.md)."""

PAIRS = schema_of("asked new obsolete: string")
"""A question in writing about an update, and the questions for the likelihoods of its two objects."""

STAYS = (*NEIGHBORS, *(name for name in CRITERIA if name not in MUST_CHANGE))
"""Roles of questions whose answers no edit may change."""


def written_table(
    answers: Sequence[Path],
    edits: Sequence[Path] = (),
    plan: pa.Table | None = None,
    without_new: bool = False,
) -> pa.Table:
    """GENERATION_SCORES of tables of ANSWERS, in the order of models and states as they are given.

    `edits`: tables of the edits of updates and streams, for the likelihoods of their objects. `plan`: PLAN of
    a stream with `model`; the unedited model then has a row wherever it names a question. `without_new`:
    neighbours' facts whose answer is the new object are left out, as `metrics.read_runs` does.
    """
    with database() as db:
        db.execute(f"CREATE TEMP VIEW given AS SELECT * FROM read_parquet({sql(list(answers))})")
        rows = [row for path in edits for row in pq.read_table(path).to_pylist()]
        db.register("pairs", pa.Table.from_pylist([pair for row in rows for pair in _pairs(row)], PAIRS))
        left = [
            probe_id(row["edit"], number)
            for row in rows
            for number, probe in enumerate(row["probes"])
            if without_new and probe["role"] in NEIGHBORS and probe["target"] == row["new"]
        ]
        db.register("left_out", pa.table({"question": pa.array(left, pa.string())}))
        db.execute(f"CREATE TEMP TABLE ordered AS {_ORDER}")
        _place(db, plan)
        return db.sql(_WRITTEN).to_arrow_table().cast(GENERATION_SCORES)


def _pairs(row: Row) -> Iterator[Row]:
    """Rows of PAIRS of an edit. A superseded object is the obsolete one of what is asked about it later."""
    numbers: dict[tuple[str, str], dict[str, int]] = {}
    for number, probe in enumerate(row["probes"]):
        if probe["role"] in OWN:
            numbers.setdefault((probe["role"], probe["prompt"]), {})[probe["object"]] = number
        elif probe["role"] == "later":
            (own,) = (of["new"] for (role, _), of in numbers.items() if role == "update")
            later = probe_id(row["edit"], number)
            yield {"asked": later, "new": later, "obsolete": probe_id(row["edit"], own)}
    for place, cloze in enumerate(clozes_of(row), start=1):
        new, obsolete = (numbers[cloze].get(name) for name in ("new", "obsolete"))
        if new is not None:
            yield {
                "asked": probe_id(row["edit"], new if "interval" in row else f"c{place}"),
                "new": probe_id(row["edit"], new),
                "obsolete": None if obsolete is None else probe_id(row["edit"], obsolete),
            }


def _place(db: duckdb.DuckDBPyConnection, plan: pa.Table | None) -> None:
    """TEMP VIEW placed: ANSWERS, of the unedited model as often as the plan asks."""
    if plan is None:
        db.execute("CREATE TEMP VIEW placed AS FROM given")
        return
    db.register("plan", plan)
    db.execute(
        """CREATE TEMP VIEW placed AS
        SELECT * FROM given WHERE method <> 'none'
        UNION ALL BY NAME
        SELECT given.* REPLACE (plan.interval AS interval, plan.kind AS kind)
        FROM given JOIN plan ON given.model = plan.model
            AND given.question = plan.edit || '#' || plan.number
        WHERE method = 'none' AND NOT (way = 'written' AND plan.kind = 'staleness' AND role <> 'later')"""
    )


_ORDER = """SELECT model, method, row_number() OVER (ORDER BY min(place)) AS place
    FROM (SELECT model, method, row_number() OVER () AS place FROM given) GROUP BY ALL"""

_WRITTEN = f"""
    WITH said AS (
        SELECT model, benchmark, method, interval, coalesce(kind, '') AS kind, coalesce(role, '') AS role,
            question, coalesce(edit, '') AS edit, verdict, reason, verdict = 'correct' AS correct,
            exact[1] AS matches, exact[2] AS contains,
            coalesce(role, '') IN {STAYS!r} OR benchmark = 'klob'
                OR (benchmark = 'tempripple' AND substr(role, 1, 1) IN ('2', '4')) AS stays
        FROM placed ANTI JOIN left_out USING (question)
        WHERE way = 'written' AND (verdict IS NOT NULL OR (reason IS NOT NULL AND question IN (
            SELECT question FROM given WHERE verdict IS NOT NULL)))
    ), likely AS (
        SELECT model, benchmark, method, interval, coalesce(kind, '') AS kind, question,
            coalesce(edit, '') AS edit, coalesce(correct, list_bool_or(exact)) AS exact,
            CASE reason WHEN '{NOT_FINITE}' THEN '-inf'::DOUBLE ELSE logprobs[1] END AS logprob
        FROM placed WHERE way = 'loglik'
    ), before AS (
        SELECT model, benchmark, question, any_value(verdict = 'correct') AS before
        FROM given WHERE method = 'none' AND way = 'written' AND verdict IS NOT NULL GROUP BY ALL
    )
    SELECT said.model, said.benchmark, said.method, said.interval, nullif(said.kind, '') AS kind,
        nullif(said.role, '') AS role, said.question, nullif(said.edit, '') AS edit, said.verdict,
        said.reason, said.correct, said.matches, said.contains, said.stays, before.before,
        own.exact, CASE WHEN own.logprob IS NULL OR other.logprob IS NULL THEN NULL
            ELSE own.logprob > other.logprob END AS s
    FROM said JOIN ordered USING (model, method)
    LEFT JOIN pairs ON said.question = pairs.asked
    LEFT JOIN likely own ON own.question = coalesce(pairs.new, said.question)
        AND (own.model, own.benchmark, own.method, own.kind, own.edit)
            = (said.model, said.benchmark, said.method, said.kind, said.edit)
        AND own.interval IS NOT DISTINCT FROM said.interval
    LEFT JOIN likely other ON other.question = pairs.obsolete
        AND (other.model, other.benchmark, other.method, other.kind, other.edit)
            = (said.model, said.benchmark, said.method, said.kind, said.edit)
        AND other.interval IS NOT DISTINCT FROM said.interval
    LEFT JOIN before ON (before.model, before.benchmark, before.question)
        = (said.model, said.benchmark, said.question)
    ORDER BY ordered.place, said.benchmark, said.interval, said.kind, said.edit, said.question"""

_KEY = ("model", "benchmark", "method", "asked")
_BESIDE = ("exact", "s")
_MATCHES = ("matches", "contains")

WRITTEN_SCORES = schema_of(
    f"{' '.join(_KEY)}: string, stays: bool, answers unanswered subjects {' '.join(VERDICTS)}: int32",
    *(f"{verdict}_low {verdict}_high: float64" for verdict in VERDICTS),
    f"{' '.join(_MATCHES)} compared kept lost gained: int32, kept_low kept_high: float64",
    f"{' '.join(f'{name}_answers' for name in _BESIDE)}: int32",
    *(f"{name} {name}_written {name}_disagrees: float64" for name in _BESIDE),
)
"""One row for each model, benchmark, state and kind of question (docs/tables/written_scores.md)."""


_CLOZES = {"update": "own wording", "generalization": "other wordings", "later": "superseded"}
_KINDS = {"current": "new", "neighbors": "", "retention": "earlier", "staleness": ""}


def asked_of(row: Row) -> str:
    """The kind of a question: `own wording`, `earlier, other wordings`, `nearest`, `new, hop 1`, ..."""
    role = row["role"] or "all"
    if hop := re.fullmatch(r"([1-4]) (\d)", role):  # of TempRIPPLE, and of questions with a date
        task = TASKS[int(hop[1]) - 1]
        return f"{task}, hop {hop[2]}"
    kind = _KINDS.get(row["kind"] or "", row["kind"] or "")
    return ", ".join(filter(None, (kind, _CLOZES.get(role, role))))


def subject_of(row: Row) -> str:
    """What answers are clustered by: the subject of the edit, the edit, or, without one, the question."""
    edit: str = row["edit"] or row["question"]
    subject = re.match(r"(Q\d+)-P\d+", edit)
    return subject[1] if subject else edit


def written_scores(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """WRITTEN_SCORES of rows of GENERATION_SCORES, in their order."""
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        cells[*(row[name] for name in _KEY[:-1]), asked_of(row)].append(row)
    return [dict(zip(_KEY, key, strict=True)) | _scored(cell) for key, cell in cells.items()]


def _scored(rows: Sequence[Row]) -> dict[str, Any]:
    answered = [row for row in rows if row["verdict"] is not None]
    scores: dict[str, Any] = {
        "stays": rows[0]["stays"],
        "answers": len(answered),
        "unanswered": len(rows) - len(answered),
        "subjects": len(set(map(subject_of, answered))),
    }
    verdicts = Counter(row["verdict"] for row in answered)
    for verdict in VERDICTS:
        bounds = _interval(answered, [row["verdict"] == verdict for row in answered])
        scores |= {verdict: verdicts[verdict], f"{verdict}_low": bounds[0], f"{verdict}_high": bounds[1]}
    scores |= {name: sum(bool(row[name]) for row in answered) for name in _MATCHES}
    if rows[0]["stays"]:
        both = [row for row in answered if row["before"] is not None]
        counts = Counter((row["before"], row["correct"]) for row in both)
        low, high = _interval(both, [row["before"] and row["correct"] for row in both])
        scores |= {"compared": len(both), "kept_low": low, "kept_high": high}
        scores |= {"kept": counts[True, True], "lost": counts[True, False], "gained": counts[False, True]}
    for name in _BESIDE:
        both = [row for row in answered if row[name] is not None]
        scores[f"{name}_answers"] = len(both)
        if both:
            scores[name] = fmean(row[name] for row in both)
            scores[f"{name}_written"] = fmean(row["correct"] for row in both)
            scores[f"{name}_disagrees"] = fmean(row["correct"] != row[name] for row in both)
    return scores


def _interval(rows: Sequence[Row], values: Sequence[bool]) -> tuple[float, float] | tuple[None, None]:
    return clustered_wilson(values, [subject_of(row) for row in rows]) if rows else (None, None)

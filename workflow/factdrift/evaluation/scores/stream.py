"""Metrics of a stream: a row for each update, interval in which it is asked, method, model and kind of probe.

They are those of `metrics.py`, in SQL from log-probabilities, with the same rule for output that is not
finite; S of a superseded fact, which should be low, is then 1. No model runs here.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.core.tables import database, sql, write_parquet, write_query
from factdrift.evaluation.plan import PLAN, plan_table
from factdrift.evaluation.scores.metrics import BLEEDOVER, Runs, read_runs, typed
from factdrift.evaluation.scores.written import WRITTEN, written_table
from factdrift.evaluation.tables import META, STATES
from factdrift.models.alignment import NOT_FINITE

INTERVALS = pa.schema([each for each in STATES if each.name != "state"])
"""One row for each interval: what was made, what is kept beside the model, and its general ability."""

_FROM = [name for name, _ in META if name not in ("model", "method", "regime", "group")] + ["source"]
_NUMBERS = [
    *("p_own", "p_other", "d", "s", "exact"),
    *("generalization_d", "generalization_s", "generalization_exact"),
    *("bleedover_random", "bleedover_nearest"),
    *("random_exact_before", "random_exact", "nearest_exact_before", "nearest_exact"),
]
STREAM_SCORES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "method")),
        ("interval", pa.int32()),
        *((name, pa.string()) for name in ("old_date", "new_date", "probe", "edit", "chain")),
        *((name, pa.int32()) for name in ("link", "made_in", "superseded_in")),
        *((name, pa.string()) for name in ("subject", "relation", "scenario", "kind", "split", "failed")),
        *((name, pa.float64()) for name in _NUMBERS),
        (NOT_FINITE, pa.int32()),
        *((name, pa.string()) for name in _FROM),
    ]
)
"""In the order of the configuration, the intervals, the kinds of probes and the edits."""


def write_stream_scores(
    runs: Runs, most: int, seed: int, out_scores: Path, out_intervals: Path, out_written: Path
) -> int:
    """Writes STREAM_SCORES, INTERVALS of all jobs, and WRITTEN; returns the number of scores.

    `most`, `seed`: of the plan. What was written about a fact without scores, since an edit failed, has no
    verdict.
    """
    plan = _plans(runs, most, seed)
    with database() as db:
        read_runs(db, runs)
        db.register("plan", plan)
        db.execute(_PREPARED)
        query = f"SELECT {typed(STREAM_SCORES)} FROM ({_SCORES}) ORDER BY m, k, interval, probe, e"
        rows = write_query(db, query, out_scores)
        db.execute(f"CREATE TEMP VIEW scored AS SELECT * FROM read_parquet({sql(out_scores)})")
        db.register("said", written_table(runs.answers, [runs.edits], plan, runs.without_new))
        write_query(db, f"SELECT {typed(WRITTEN)} FROM ({_SAID}) ORDER BY place", out_written)
    parts = [pq.read_table(path, columns=INTERVALS.names) for path in runs.states]
    table = pa.concat_tables([INTERVALS.empty_table(), *parts])
    write_parquet(table.filter(pc.field("interval").is_valid()).combine_chunks(), out_intervals)
    return rows


def _plans(runs: Runs, most: int, seed: int) -> pa.Table:
    """PLAN of each model, with its name: what is asked of the unedited one."""
    plans = [pa.schema([("model", pa.string()), *PLAN]).empty_table()]
    edits = pq.read_table(runs.edits).to_pylist()
    for path in runs.made:
        made = pq.read_table(path, columns=["model", "method", "edit", "excluded"]).to_pylist()
        if made and made[0]["method"] == "none":
            left_out = {row["edit"] for row in made if row["excluded"] is not None}
            plan = plan_table([row for row in edits if row["edit"] not in left_out], most, seed)
            named = pa.array([made[0]["model"]] * len(plan), pa.string())
            plans.append(plan.add_column(0, "model", named))
    return pa.concat_tables(plans)


_SAID = """
    SELECT said.* REPLACE (
            CASE WHEN s.failed IS NULL THEN said.verdict END AS verdict,
            CASE WHEN s.failed IS NULL THEN said.correct END AS correct,
            CASE WHEN s.failed IS NULL THEN said.reason ELSE 'edit_failed' END AS reason
        ), row_number() OVER () AS place
    FROM said LEFT JOIN (SELECT model, method, interval, probe, edit, failed FROM scored) s
        ON (s.model, s.method, s.interval, s.probe, s.edit)
            = (said.model, said.method, said.interval, said.kind, said.edit)
    WHERE said.method IN (SELECT name FROM methods)"""

_PREPARED = f"""
    CREATE TEMP TABLE dates AS SELECT DISTINCT interval, old_date, new_date FROM edits;
    CREATE TEMP TABLE jobs AS
        SELECT DISTINCT model, method, {", ".join(_FROM)} FROM run_edits
        WHERE method IN (SELECT name FROM methods);
    CREATE TEMP TABLE failures AS
        SELECT model, method, edit, chain, link, failed FROM run_edits JOIN edits USING (edit)
        WHERE failed IS NOT NULL;
    CREATE TEMP TABLE probes AS
        SELECT r.model, r.method, interval, edit, r.kind AS probe, number, role, place, object,
            base.logprob AS logprob_before, base.exact AS exact_before, r.logprob, r.exact, r.reason
        FROM (
            SELECT * FROM after WHERE method <> 'none'
            UNION ALL BY NAME
            SELECT 'none' AS method, * FROM plan LEFT JOIN base USING (model, edit, number)
            WHERE 'none' IN (SELECT name FROM methods)
        ) r JOIN asked USING (edit, number) LEFT JOIN base USING (model, edit, number)"""

_SCORES = f"""
    WITH pairs AS (
        SELECT model, method, interval, edit, probe, role IN ('update', 'later') AS own,
            CASE role WHEN 'later' THEN 0 ELSE place END AS cloze,
            max(logprob) FILTER (object = 'new') AS new,
            max(logprob) FILTER (object IN ('obsolete', 'later')) AS other,
            max(logprob_before) FILTER (object = 'new') AS new_before,
            max(logprob_before) FILTER (object = 'obsolete') AS other_before,
            bool_or(exact) FILTER (object = 'new') AS exact,
            coalesce(bool_or(reason = '{NOT_FINITE}'), false) AS lost,
            max(place) FILTER (object = 'later') AS later_link
        FROM probes WHERE probe <> 'neighbors' GROUP BY ALL
    ), judged AS (
        SELECT pairs.*,
            CASE WHEN probe = 'staleness' OR kind = 'replace' THEN exp(pairs.new) - exp(other)
                WHEN kind = 'add' THEN exp(pairs.new) - exp(new_before)
                ELSE exp(other_before) - exp(other) END AS d,
            CASE WHEN lost THEN probe = 'staleness'
                WHEN probe = 'staleness' OR kind = 'replace' THEN pairs.new > other
                WHEN kind = 'add' THEN pairs.new > new_before
                ELSE other < other_before END::INTEGER AS s
        FROM pairs JOIN edits USING (edit)
    ), facts AS (
        SELECT model, method, interval, edit, probe, max(later_link) AS later_link,
            max(exp(new)) FILTER (own) AS p_own, max(exp(other)) FILTER (own) AS p_other,
            max(d) FILTER (own) AS d, max(s) FILTER (own) AS s, max(exact::INTEGER) FILTER (own) AS exact,
            favg(d) FILTER (NOT own) AS generalization_d, favg(s) FILTER (NOT own) AS generalization_s,
            favg(exact::INTEGER) FILTER (NOT own) AS generalization_exact
        FROM judged GROUP BY ALL
    ), others AS (
        SELECT model, method, interval, edit, probe,
            favg(bleedover) FILTER (role = 'random') AS bleedover_random,
            favg(bleedover) FILTER (role = 'nearest') AS bleedover_nearest,
            favg(exact_before::INTEGER) FILTER (role = 'random') AS random_exact_before,
            favg(exact::INTEGER) FILTER (role = 'random') AS random_exact,
            favg(exact_before::INTEGER) FILTER (role = 'nearest') AS nearest_exact_before,
            favg(exact::INTEGER) FILTER (role = 'nearest') AS nearest_exact
        FROM (SELECT *, {BLEEDOVER} AS bleedover FROM probes ANTI JOIN left_out USING (edit, number))
        WHERE probe = 'neighbors' AND exact IS NOT NULL GROUP BY ALL
    ), lost AS (
        SELECT model, method, interval, edit, probe, count(*) FILTER (reason = '{NOT_FINITE}') AS {NOT_FINITE}
        FROM probes GROUP BY ALL
    ), numbers AS (
        SELECT * FROM (SELECT * FROM facts UNION ALL BY NAME SELECT * FROM others)
        JOIN lost USING (model, method, interval, edit, probe)
    ), asking AS (
        -- A superseded fact has failed, too, if the edit has failed that should have replaced it.
        SELECT n.model, n.method, n.interval, n.probe, n.edit, coalesce(f.failed, l.failed) AS failed
        FROM numbers n JOIN edits USING (edit)
        LEFT JOIN failures f ON (f.model, f.method, f.edit) = (n.model, n.method, n.edit)
        LEFT JOIN (SELECT model, method, chain, link, min(failed) AS failed FROM failures GROUP BY ALL) l
            ON (l.model, l.method, l.chain, l.link) = (n.model, n.method, edits.chain, n.later_link)
    )
    SELECT m.place AS m, k.place AS k, a.interval, dates.old_date, dates.new_date, a.probe, e, a.edit,
        a.failed, edits.interval AS made_in,
        edits.* EXCLUDE (edit, interval, old_date, new_date, e), a.model, a.method,
        jobs.* EXCLUDE (model, method), n.* EXCLUDE (model, method, interval, edit, probe)
    FROM asking a JOIN models m ON a.model = m.name JOIN methods k ON a.method = k.name
    JOIN edits USING (edit) JOIN dates ON dates.interval = a.interval
    JOIN jobs ON (jobs.model, jobs.method) = (a.model, a.method)
    LEFT JOIN numbers n ON a.failed IS NULL
        AND (n.model, n.method, n.interval) = (a.model, a.method, a.interval)
        AND (n.edit, n.probe) = (a.edit, a.probe)"""

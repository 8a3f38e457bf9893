"""Joins all runs: probes before and after each edit with the metrics of edits, and those of a stream.

The metrics are those of the WikiFactDiff paper, computed in SQL from log-probabilities: P = exp(mean
log-probability of an object's tokens). No model runs here. A stream has them for each update, interval in
which it is asked, method, model and kind of probe.

A probe after an edit that is not finite counts as the worst: S is 0 (of a superseded fact, where it should be
low, 1), Exact is 0, and a neighbour loses all of its probability. What D would be is not defined, so it is
left out and counted.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import schema_of
from factdrift.core.tables import database, sql, table_of, write_query
from factdrift.evaluation.ability.record import read_ability
from factdrift.evaluation.plan import PLAN, plan_table
from factdrift.evaluation.questions.clozes import NEIGHBORS
from factdrift.evaluation.scores.written import GENERATION_SCORES, written_table
from factdrift.evaluation.tables import META, STATES
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.names import check_same_weights

_LOSSES = " ".join(f"bleedover_{role}" for role in NEIGHBORS)
_EXACT = " ".join(f"{role}_exact_before {role}_exact" for role in NEIGHBORS)
_COUNTS = " ".join(f"{role}s" for role in NEIGHBORS)

SCORES = schema_of(
    *META,
    "source edit subject relation relation_label scenario kind split datatype: string",
    "subject_popularity: float64, known_before: bool, failed: string, steps: int32, loss: float64",
    "p_new_before p_obsolete_before p_new p_obsolete efficacy_d efficacy_s: float64",
    f"generalization_d generalization_s {_LOSSES} fluency fluency_full exact greedy: float64",
    f"generalization_exact generalization_greedy {_EXACT}: float64",
    f"generalizations {_COUNTS} {NOT_FINITE}: int32",
    "said: string, state: int32, text: string, perplexity_before perplexity: float64",
    "tasks_before tasks: string",
)
"""One row for each edit, method and model, in the order of the configuration and the dataset."""

PROBES = schema_of(
    "model method edit: string, number: int16, role: string, place: int16, object prompt target: string",
    "dist popularity: float64, tokens: int32, logprob_before: float64, exact_before: bool",
    "logprob: float64, exact: bool, reason: string",
)
"""One row for each probe of an edit that did not fail, by method and model."""


INTERVALS = pa.schema([field for field in STATES if field.name != "state"])
"""One row for each interval: what was made, what is kept beside the model, and its general ability."""

STREAM_SCORES = schema_of(
    "model method: string, interval: int32, old_date new_date probe edit chain: string",
    "link made_in superseded_in: int32, subject relation scenario kind split failed: string",
    "p_own p_other d s exact generalization_d generalization_s generalization_exact: float64",
    f"{_LOSSES} {_EXACT}: float64, {NOT_FINITE}: int32",
    *(field for field in META if field.name not in ("model", "method", "regime", "group")),
    "source: string",
)
"""In the order of the configuration, the intervals, the kinds of probes and the edits."""


@dataclass(frozen=True)
class Runs:
    """The tables that the jobs of all models and methods have written, and the edits."""

    edits: Path
    answers: Sequence[Path]
    made: Sequence[Path]
    states: Sequence[Path]
    models: Sequence[str]
    """As their rows name them, in the order of the tables."""
    methods: Sequence[str]
    abilities: Sequence[Path] = ()
    """Of each model, where its general ability is measured."""
    without_new: bool = False
    """Whether neighbours' facts whose answer is the new object are left out of the scores of neighbours."""


def write_scores(runs: Runs, out_scores: Path, out_probes: Path) -> int:
    """Writes SCORES and PROBES; returns the number of scores."""
    with database(3000) as db:
        read_runs(db, runs)
        abilities = []
        for ability in map(read_ability, runs.abilities):
            text = f"{ability.text}, {ability.tokens:,} tokens" if ability.text else None
            tasks = json.dumps(ability.results, sort_keys=True) if ability.results else None
            abilities.append((ability.name, text, ability.perplexity, tasks))
        columns = ("model", "text", "perplexity_before", "tasks_before")
        db.register("abilities", table_of(abilities, pa.schema([SCORES.field(name) for name in columns])))
        db.execute(f"{_MADE}; CREATE TEMP TABLE probes AS {_PROBES}")
        order = "ORDER BY m, k, e"
        write_query(db, f"SELECT {typed(PROBES)} FROM probes {order}, number", out_probes)
        return write_query(db, f"SELECT {typed(SCORES)} FROM ({_SCORES}) {order}", out_scores)


def write_stream_scores(
    runs: Runs, most: int, seed: int, out_scores: Path, out_intervals: Path, out_written: Path
) -> int:
    """Writes STREAM_SCORES, INTERVALS of all jobs, and GENERATION_SCORES; returns the number of scores.

    `most`, `seed`: of the plan. What was written about a fact without scores, since an edit failed, has no
    verdict.
    """
    plan = _plans(runs, most, seed)
    with database() as db:
        read_runs(db, runs)
        db.register("plan", plan)
        db.execute(_IN_STREAM)
        query = f"SELECT {typed(STREAM_SCORES)} FROM ({_STREAM_SCORES}) ORDER BY m, k, interval, probe, e"
        rows = write_query(db, query, out_scores)
        db.execute(f"CREATE TEMP VIEW scored AS SELECT * FROM read_parquet({sql(out_scores)})")
        db.register("said", written_table(runs.answers, [runs.edits], plan, runs.without_new))
        write_query(db, f"SELECT {typed(GENERATION_SCORES)} FROM ({_SAID}) ORDER BY place", out_written)
        write_query(db, f"SELECT {typed(INTERVALS)} FROM states WHERE interval IS NOT NULL", out_intervals)
    return rows


def _plans(runs: Runs, most: int, seed: int) -> pa.Table:
    """PLAN of each model, with its name: what is asked of the unedited one."""
    plans = [schema_of("model: string", *PLAN).empty_table()]
    edits = pq.read_table(runs.edits).to_pylist()
    for path in runs.made:
        made = pq.read_table(path, columns=["model", "method", "edit", "excluded"]).to_pylist()
        if made and made[0]["method"] == "none":
            left_out = {row["edit"] for row in made if row["excluded"] is not None}
            plan = plan_table([row for row in edits if row["edit"] not in left_out], most, seed)
            named = pa.array([made[0]["model"]] * len(plan), pa.string())
            plans.append(plan.add_column(0, "model", named))
    return pa.concat_tables(plans)


def typed(schema: pa.Schema) -> str:
    """SQL: the columns of a schema in their types."""
    kinds = {"string": "VARCHAR", "double": "DOUBLE", "bool": "BOOLEAN"}
    kinds |= {"int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"}
    return ", ".join(f'"{field.name}"::{kinds[str(field.type)]} AS "{field.name}"' for field in schema)


def read_runs(db: duckdb.DuckDBPyConnection, runs: Runs) -> None:
    """Views of the tables of all jobs; raises InputError if they are of two weights.

    `models`, `methods`: names with their places. `edits`: in their order. `asked`: the probes of each edit.
    `answers`, `run_edits`, `states`: of all jobs. `after`: likelihoods of probes; `base`: those of the model
    without edits. `left_out`: neighbours' facts whose answer is the new object, or none; an edit may well
    change them, because it makes their answer likelier.
    """
    for name, values in (("models", runs.models), ("methods", runs.methods)):
        db.register(name, pa.table({"name": list(values), "place": range(len(values))}))
    edits = pq.read_table(runs.edits)
    db.register("edits", edits.append_column("e", pa.array(range(len(edits)), pa.int32())))
    for name, paths in (("answers", runs.answers), ("run_edits", runs.made), ("states", runs.states)):
        db.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM read_parquet({sql(list(paths))})")
    check_same_weights(weights_of(runs.made))
    db.execute(
        f"""CREATE TEMP TABLE asked AS
            SELECT edit, e, generate_subscripts(probes, 1) - 1 AS number,
                unnest(probes, max_depth := 2) FROM edits;
        CREATE TEMP TABLE after AS
            SELECT model, method, interval, edit, kind, split_part(question, '#', 2)::INTEGER AS number,
                logprobs[1] AS logprob, tokens[1] AS tokens, exact[1] AS exact, reason
            FROM answers WHERE way = 'loglik';
        CREATE TEMP VIEW base AS SELECT * EXCLUDE (method, interval, kind) FROM after WHERE method = 'none';
        CREATE TEMP TABLE left_out AS SELECT edit, number FROM asked JOIN edits USING (edit)
            WHERE role IN {NEIGHBORS!r} AND asked.target = edits."new" AND {runs.without_new}"""
    )


def weights_of(made: Sequence[Path]) -> Iterator[tuple[str, str, str]]:
    """Model, `model_digest` and file of each job, for `check_same_weights`.

    A checkpoint made elsewhere has weights of its own under the name of the model that it was made from.
    """
    for path in made:
        table = pq.read_table(path, columns=["model", "model_digest", "regime"])
        for row in table.group_by(["model", "model_digest", "regime"]).aggregate([]).to_pylist():
            if row["regime"] != "checkpoint":
                yield row["model"], row["model_digest"], str(path)


_MADE = """
    CREATE TEMP TABLE made AS SELECT m.place AS m, k.place AS k, r.*, s.perplexity, s.tasks
        FROM run_edits r JOIN models m ON r.model = m.name JOIN methods k ON r.method = k.name
        LEFT JOIN states s USING (model, method, state)
        WHERE r.excluded IS NULL;
    CREATE TEMP TABLE written AS SELECT model, method, edit,
        substr(split_part(question, '#', 2), 2)::INTEGER AS c, output, entropy,
        verdict = 'correct' AS said_new, verdict IN ('stale', 'both') AS said_obsolete
        FROM answers WHERE way = 'written' AND question LIKE '%#c%'"""
"""SQL: an edit by model and method, and what was written about its clozes."""

_PROBES = """
    SELECT m, k, e, made.model, made.method, edit, number, role, asked.place, object, prompt, target, dist,
        popularity, base.tokens, base.logprob AS logprob_before, base.exact AS exact_before,
        after.logprob, after.exact,
        CASE WHEN base.tokens IS NULL THEN 'unaligned' ELSE after.reason END AS reason,
        0 AS interval, '' AS probe
    FROM made JOIN asked USING (edit)
    LEFT JOIN base USING (model, edit, number)
    LEFT JOIN after USING (model, method, edit, number)
    WHERE failed IS NULL"""

_LOST = f"exp(logprob_before) - CASE reason WHEN '{NOT_FINITE}' THEN 0 ELSE exp(logprob) END"
BLEEDOVER = f"CASE WHEN {_LOST} < 0 THEN 0 ELSE {_LOST} END"
"""SQL: what a neighbour's fact has lost of its probability, of a row of probes; null if that is unknown."""

_OF_NEIGHBORS = ", ".join(
    f"""favg(bleedover) FILTER (role = '{role}') AS bleedover_{role},
            favg(exact_before::INTEGER) FILTER (role = '{role}') AS {role}_exact_before,
            favg(exact::INTEGER) FILTER (role = '{role}') AS {role}_exact,
            count(bleedover) FILTER (role = '{role}') AS {role}s"""
    for role in NEIGHBORS
)
_WITH_NUMBERS = f"""
    pairs AS (
        SELECT model, method, interval, edit, probe, role IN ('update', 'later') AS own,
            CASE role WHEN 'later' THEN 0 ELSE place END AS cloze,
            max(logprob) FILTER (object = 'new') AS new,
            max(logprob) FILTER (object IN ('obsolete', 'later')) AS other,
            max(logprob_before) FILTER (object = 'new') AS new_before,
            max(logprob_before) FILTER (object = 'obsolete') AS other_before,
            bool_or(exact) FILTER (object = 'new') AS exact,
            coalesce(bool_or(reason = '{NOT_FINITE}'), false) AS lost,
            max(place) FILTER (object = 'later') AS later_link
        FROM probes WHERE role NOT IN {NEIGHBORS!r} GROUP BY ALL
    ), compared AS (
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
            max(exp(new_before)) FILTER (own) AS p_new_before,
            max(exp(other_before)) FILTER (own) AS p_obsolete_before,
            max(exp(new)) FILTER (own) AS p_own, max(exp(other)) FILTER (own) AS p_other,
            max(d) FILTER (own) AS d, max(s) FILTER (own) AS s, max(exact::INTEGER) FILTER (own) AS exact,
            favg(d) FILTER (NOT own) AS generalization_d, favg(s) FILTER (NOT own) AS generalization_s,
            favg(exact::INTEGER) FILTER (NOT own) AS generalization_exact,
            count(s) FILTER (NOT own) AS generalizations
        FROM compared GROUP BY ALL
    ), others AS (
        SELECT model, method, interval, edit, probe, {_OF_NEIGHBORS}
        FROM (SELECT *, {BLEEDOVER} AS bleedover FROM probes ANTI JOIN left_out USING (edit, number))
        WHERE role IN {NEIGHBORS!r} AND exact IS NOT NULL GROUP BY ALL
    ), lost AS (
        SELECT model, method, interval, edit, probe, count(*) FILTER (reason = '{NOT_FINITE}') AS {NOT_FINITE}
        FROM probes GROUP BY ALL
    ), numbers AS (
        SELECT * FROM facts FULL JOIN others USING (model, method, interval, edit, probe)
        JOIN lost USING (model, method, interval, edit, probe)
    )"""
"""SQL: the metrics of the table `probes` by model, method, interval, edit and kind of probe."""

_SCORES = f"""
    WITH known AS (
        SELECT model, edit, coalesce(any_value(said_obsolete), bool_or(exact)) AS known_before
        FROM asked JOIN base USING (edit, number)
        LEFT JOIN (FROM written WHERE method = 'none' AND c = 1) USING (model, edit)
        WHERE role = 'update' AND object = 'obsolete' GROUP BY model, edit
    ), {_WITH_NUMBERS}, texts AS (
        SELECT model, method, edit, max(said_new::INTEGER) FILTER (c = 1) AS greedy,
            favg(said_new::INTEGER) FILTER (c > 1) AS generalization_greedy,
            max(output) FILTER (c = 1) AS said, favg(entropy) / 2 AS fluency, favg(entropy) AS fluency_full
        FROM written GROUP BY model, method, edit
    )
    SELECT made.*, edits.* EXCLUDE (edit, fluency), known_before,
        numbers.* EXCLUDE (model, method, edit, interval, probe, {_COUNTS.replace(" ", ", ")}),
        p_own AS p_new, p_other AS p_obsolete, d AS efficacy_d, s AS efficacy_s,
        {", ".join(f"coalesce({name}, 0) AS {name}" for name in _COUNTS.split())},
        texts.* EXCLUDE (model, method, edit), text, perplexity_before, tasks_before
    FROM made JOIN edits USING (edit) LEFT JOIN known USING (model, edit) LEFT JOIN abilities USING (model)
    LEFT JOIN numbers USING (model, method, edit) LEFT JOIN texts USING (model, method, edit)"""

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

_IN_STREAM = """
    CREATE TEMP TABLE probes AS
        SELECT r.model, r.method, interval, edit, r.kind AS probe, number, role, place, object,
            base.logprob AS logprob_before, base.exact AS exact_before, r.logprob, r.exact, r.reason
        FROM (
            SELECT * FROM after WHERE method <> 'none'
            UNION ALL BY NAME
            SELECT 'none' AS method, * FROM plan LEFT JOIN base USING (model, edit, number)
        ) r JOIN asked USING (edit, number) LEFT JOIN base USING (model, edit, number)
        WHERE r.method IN (SELECT name FROM methods)"""

_STREAM_SCORES = f"""
    WITH {_WITH_NUMBERS}, asking AS (
        -- A superseded fact has failed, too, if the edit has failed that should have replaced it.
        SELECT n.interval, n.probe, r.* EXCLUDE (failed), coalesce(r.failed, l.failed) AS failed
        FROM numbers n JOIN run_edits r USING (model, method, edit) JOIN edits USING (edit)
        LEFT JOIN (
            SELECT model, method, chain, link, min(failed) AS failed FROM run_edits JOIN edits USING (edit)
            GROUP BY ALL
        ) l ON (l.model, l.method, l.chain, l.link) = (n.model, n.method, edits.chain, n.later_link)
    )
    SELECT m.place AS m, k.place AS k, dates.old_date, dates.new_date, edits.interval AS made_in, a.*,
        edits.* EXCLUDE (edit, interval, old_date, new_date),
        n.* EXCLUDE (model, method, interval, edit, probe)
    FROM asking a JOIN models m ON a.model = m.name JOIN methods k ON a.method = k.name
    JOIN edits USING (edit)
    JOIN (SELECT DISTINCT interval, old_date, new_date FROM edits) dates ON dates.interval = a.interval
    LEFT JOIN numbers n ON a.failed IS NULL
        AND (n.model, n.method, n.interval, n.edit, n.probe)
            = (a.model, a.method, a.interval, a.edit, a.probe)"""

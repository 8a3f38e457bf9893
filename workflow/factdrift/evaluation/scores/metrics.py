"""Joins all runs into two tables: probes before and after each edit, and edits with their metrics.

The metrics are those of the WikiFactDiff paper, computed in SQL from log-probabilities: P = exp(mean
log-probability of an object's tokens). No model runs here.

A probe after an edit that is not finite counts as the worst: S is 0, Exact is 0, and a neighbour loses all of
its probability. What D would be is not defined, so it is left out and counted.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.tables import check_columns, database, sql, write_query
from factdrift.evaluation.ability.record import read_ability
from factdrift.evaluation.tables import MADE, META
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.names import check_same_weights

_NUMBERS = [
    *("p_new_before", "p_obsolete_before", "p_new", "p_obsolete"),
    *("efficacy_d", "efficacy_s", "generalization_d", "generalization_s"),
    *("bleedover_random", "bleedover_nearest", "fluency", "fluency_full"),
    *("exact", "greedy", "generalization_exact", "generalization_greedy"),
    *("random_exact_before", "random_exact", "nearest_exact_before", "nearest_exact"),
]
SCORES = pa.schema(
    [
        *META,
        *((name, pa.string()) for name in ("source", "edit", "subject", "relation")),
        *((name, pa.string()) for name in ("scenario", "kind", "split")),
        ("subject_popularity", pa.float64()),
        ("known_before", pa.bool_()),
        ("failed", pa.string()),
        ("steps", pa.int32()),
        ("loss", pa.float64()),
        *((name, pa.float64()) for name in _NUMBERS),
        *((name, pa.int32()) for name in ("generalizations", "randoms", "nearests", NOT_FINITE)),
        ("said", pa.string()),
        ("state", pa.int32()),
        ("text", pa.string()),
        *((name, pa.float64()) for name in ("perplexity_before", "perplexity")),
        *((name, pa.string()) for name in ("tasks_before", "tasks")),
    ]
)
"""One row for each edit, method and model, in the order of the configuration and the dataset."""

PROBES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "method", "edit")),
        ("number", pa.int16()),
        ("role", pa.string()),
        ("place", pa.int16()),
        *((name, pa.string()) for name in ("object", "prompt", "target")),
        *((name, pa.float64()) for name in ("dist", "popularity")),
        ("tokens", pa.int32()),
        ("logprob_before", pa.float64()),
        ("exact_before", pa.bool_()),
        ("logprob", pa.float64()),
        ("exact", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""One row for each probe of an edit that did not fail, by method and model."""


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


def write_scores(runs: Runs, out_scores: Path, out_probes: Path, memory_mb: int = 3000) -> int:
    """Writes SCORES and PROBES; returns the number of scores.

    Raises InputError if a table lacks a provenance column.
    """
    with database(memory_mb) as db:
        read_runs(db, runs)
        db.register("abilities", _abilities(runs.abilities))
        db.execute(f"{_MADE}; CREATE TEMP TABLE probes AS {_PROBES}")
        order = "ORDER BY m, k, e"
        write_query(db, f"SELECT {typed(PROBES)} FROM probes {order}, number", out_probes)
        return write_query(db, f"SELECT {typed(SCORES)} FROM ({_SCORES}) {order}", out_scores)


def typed(schema: pa.Schema) -> str:
    """SQL: the columns of a schema in their types."""
    kinds = {"string": "VARCHAR", "double": "DOUBLE", "bool": "BOOLEAN"}
    kinds |= {"int16": "SMALLINT", "int32": "INTEGER"}
    return ", ".join(f'"{field.name}"::{kinds[str(field.type)]} AS "{field.name}"' for field in schema)


def read_runs(db: duckdb.DuckDBPyConnection, runs: Runs) -> None:
    """Views of the tables of all jobs; raises InputError if they are of two weights or a former form.

    `models`, `methods`: names with their places. `edits`: in their order. `asked`: the probes of each edit.
    `answers`, `run_edits`, `states`: of all jobs. `after`: likelihoods of probes; `base`: those of the model
    without edits. `left_out`: neighbours' facts whose answer is the new object, or none; an edit may well
    change them, because it makes their answer likelier.
    """
    for name, values in (("models", runs.models), ("methods", runs.methods)):
        table = pa.table({"name": list(values), "place": range(len(values))})
        db.register(f"{name}_given", table)
        db.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {name}_given")
    edits = pq.read_table(runs.edits)
    db.register("edits", edits.append_column("e", pa.array(range(len(edits)), pa.int32())))
    for path in runs.made:
        former = ", as a former version of factdrift wrote it; make it again with `factdrift evaluate`"
        check_columns(path, MADE.names, former)
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
            WHERE role IN ('nearest', 'random') AND asked.target = edits."new" AND {runs.without_new}"""
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


def _abilities(paths: Sequence[Path]) -> pa.Table:
    """One row for each model whose general ability is measured: the text, and the numbers without edits."""
    columns = ("model", "text", "perplexity_before", "tasks_before")
    rows = []
    for found in map(read_ability, paths):
        tasks = json.dumps(found.results, sort_keys=True) if found.results else None
        text = f"{found.text}, {found.tokens:,} tokens" if found.text else None
        numbers = {"perplexity_before": found.perplexity, "tasks_before": tasks}
        rows.append({"model": found.name, "text": text, **numbers})
    return pa.Table.from_pylist(rows, pa.schema([SCORES.field(name) for name in columns]))


_MADE = """
    CREATE TEMP TABLE made AS SELECT m.place AS m, k.place AS k, r.*, s.perplexity, s.tasks
        FROM run_edits r JOIN models m ON r.model = m.name JOIN methods k ON r.method = k.name
        LEFT JOIN states s USING (model, method, state)
        WHERE r.excluded IS NULL;
    CREATE TEMP TABLE written AS SELECT model, method, edit,
        substr(split_part(question, '#', 2), 2)::INTEGER AS c, output, entropy,
        verdict = 'correct' AS said_new
        FROM answers WHERE way = 'written' AND question LIKE '%#c%'"""
"""SQL: an edit by model and method, and what was written about its clozes."""

_PROBES = """
    SELECT m, k, e, made.model, made.method, edit, number, role, asked.place, object, prompt, target, dist,
        popularity, base.tokens, base.logprob AS logprob_before, base.exact AS exact_before,
        after.logprob, after.exact,
        CASE WHEN base.tokens IS NULL THEN 'unaligned' ELSE after.reason END AS reason
    FROM made JOIN asked USING (edit)
    LEFT JOIN base USING (model, edit, number)
    LEFT JOIN after USING (model, method, edit, number)
    WHERE failed IS NULL"""

LOST = f"exp(logprob_before) - CASE reason WHEN '{NOT_FINITE}' THEN 0 ELSE exp(logprob) END"
BLEEDOVER = f"CASE WHEN {LOST} < 0 THEN 0 ELSE {LOST} END"
"""SQL: what a neighbour's fact has lost of its probability, of a row of probes; null if that is unknown."""

_SCORES = f"""
    WITH known AS (
        SELECT model, edit, bool_or(exact) AS known_before FROM asked JOIN base USING (edit, number)
        WHERE role = 'update' AND object = 'obsolete' GROUP BY model, edit
    ), pairs AS (
        SELECT model, method, edit, role, place,
            max(logprob) FILTER (object = 'new') AS new,
            max(logprob) FILTER (object = 'obsolete') AS obsolete,
            max(logprob_before) FILTER (object = 'new') AS new_before,
            max(logprob_before) FILTER (object = 'obsolete') AS obsolete_before,
            bool_or(exact) FILTER (object = 'new') AS exact,
            coalesce(bool_or(reason = '{NOT_FINITE}'), false) AS lost
        FROM probes WHERE role IN ('update', 'generalization') GROUP BY model, method, edit, role, place
    ), judged AS (
        SELECT pairs.*,
            CASE kind WHEN 'replace' THEN exp(pairs.new) - exp(pairs.obsolete)
                WHEN 'add' THEN exp(pairs.new) - exp(new_before)
                ELSE exp(obsolete_before) - exp(pairs.obsolete) END AS d,
            CASE WHEN lost THEN false
                WHEN kind = 'replace' THEN pairs.new > pairs.obsolete
                WHEN kind = 'add' THEN pairs.new > new_before
                ELSE pairs.obsolete < obsolete_before END::INTEGER AS s
        FROM pairs JOIN edits USING (edit)
    ), own AS (
        SELECT model, method, edit,
            max(exp(new_before)) FILTER (role = 'update') AS p_new_before,
            max(exp(obsolete_before)) FILTER (role = 'update') AS p_obsolete_before,
            max(exp(new)) FILTER (role = 'update') AS p_new,
            max(exp(obsolete)) FILTER (role = 'update') AS p_obsolete,
            max(d) FILTER (role = 'update') AS efficacy_d,
            max(s) FILTER (role = 'update') AS efficacy_s,
            favg(d) FILTER (role = 'generalization') AS generalization_d,
            favg(s) FILTER (role = 'generalization') AS generalization_s,
            max(exact::INTEGER) FILTER (role = 'update') AS exact,
            favg(exact::INTEGER) FILTER (role = 'generalization') AS generalization_exact,
            count(s) FILTER (role = 'generalization') AS generalizations
        FROM judged GROUP BY model, method, edit
    ), others AS (
        SELECT model, method, edit, role, favg(bleedover) AS bleedover,
            favg(exact_before::INTEGER) AS exact_before, favg(exact::INTEGER) AS exact, count(bleedover) AS n
        FROM (SELECT *, {BLEEDOVER} AS bleedover FROM probes ANTI JOIN left_out USING (edit, number))
        WHERE role IN ('nearest', 'random') AND exact IS NOT NULL
        GROUP BY model, method, edit, role
    ), lost AS (
        SELECT model, method, edit, (count(*) FILTER (reason = '{NOT_FINITE}'))::INTEGER AS {NOT_FINITE}
        FROM probes GROUP BY model, method, edit
    ), texts AS (
        SELECT model, method, edit, max(said_new::INTEGER) FILTER (c = 1) AS greedy,
            favg(said_new::INTEGER) FILTER (c > 1) AS generalization_greedy,
            max(output) FILTER (c = 1) AS said, favg(entropy) / 2 AS fluency, favg(entropy) AS fluency_full
        FROM written GROUP BY model, method, edit
    )
    SELECT made.*, edits.* EXCLUDE (edit, fluency), known_before,
        own.* EXCLUDE (model, method, edit),
        greedy, generalization_greedy, r.bleedover AS bleedover_random, r.exact AS random_exact,
        r.exact_before AS random_exact_before, coalesce(r.n, 0) AS randoms, n.bleedover AS bleedover_nearest,
        n.exact AS nearest_exact, n.exact_before AS nearest_exact_before, coalesce(n.n, 0) AS nearests,
        lost.{NOT_FINITE},
        texts.said, texts.fluency, texts.fluency_full, text, perplexity_before, tasks_before
    FROM made JOIN edits USING (edit) LEFT JOIN known USING (model, edit) LEFT JOIN abilities USING (model)
    LEFT JOIN own USING (model, method, edit) LEFT JOIN lost USING (model, method, edit)
    LEFT JOIN texts USING (model, method, edit)
    LEFT JOIN (FROM others WHERE role = 'random') r USING (model, method, edit)
    LEFT JOIN (FROM others WHERE role = 'nearest') n USING (model, method, edit)"""

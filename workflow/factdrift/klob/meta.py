"""What klob_meta.json counts: the paper's Tables 1 and 2, dropped candidates, the balance of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from factdrift.core.tables import sql
from factdrift.klob.choice import Drops
from factdrift.klob.facts import DEATH
from factdrift.klob.relations import Method
from factdrift.klob.schemas import SUBTASKS
from factdrift.wikidata.ids import property_id

if TYPE_CHECKING:
    from factdrift.klob.build import Plan


def account(db: duckdb.DuckDBPyConnection, plan: Plan, drops: Mapping[str, Drops]) -> dict[str, Any]:
    """The counts of klob_meta.json, from the tables `examples`, `sentences` and `names`.

    `drops`: subtask -> relation or pair -> reason -> number.
    """
    of_statements: Drops = {}
    statements = db.sql(
        f"SELECT property, dropped_by, count(*) FROM read_parquet({sql(plan.inputs.facts)}) "
        f"WHERE property <> {DEATH} AND dropped_by IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    for number, reason, count in statements:
        of_statements.setdefault(property_id(number), {})[reason] = count
    dropped = {"statements": of_statements, **drops}
    pairs = db.sql(
        """SELECT p1 || '>' || p2, count(*) FROM examples WHERE subtask = 'r'
        GROUP BY ALL ORDER BY count(*) DESC, 1"""
    ).fetchall()
    return {
        "table1": table1(db),
        "table2": _table2(db, plan.wording.method, plan.quotas),
        "klob_r": {
            "quota": plan.settings.r_quota,
            "examples": sum(number for _, number in pairs),
            "pairs": dict(pairs),
        },
        "balance": {f"klob_{subtask}": balance(db, subtask, plan.wording.stop_words) for subtask in "cr"},
        "dropped": {where: _summed(reasons) for where, reasons in dropped.items()},
        "dropped_by_relation": dropped,
        "notes": [
            "The published rule for the number of random sentences is not known: 25,470 is neither the "
            "number of examples of KLoB-c and KLoB-r nor a multiple of it. Here each different sentence of "
            "the two has one, or fewer where klob.u.size says so."
        ],
    }


def table1(db: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Subtask -> `relations`, `mean_length` in words (the `_` is one), `examples`, `sentences` (Table 1).

    The relations of r are those of both hops. Its mean length is that of a single and a chain sentence
    together, as the paper counts it; `mean_length_by_role` separates them. Null without sentences.
    """
    table: dict[str, dict[str, Any]] = {}
    lengths = {
        (subtask, role): (mean, number)
        for subtask, role, mean, number in db.sql(
            "SELECT subtask, role, round(avg(n_tokens), 4), count(*) FROM sentences GROUP BY ALL"
        ).fetchall()
    }
    for subtask in SUBTASKS:
        examples, relations = db.sql(
            f"""SELECT count(*), (SELECT count(DISTINCT p) FROM (
                SELECT unnest([p1, p2]) AS p FROM examples WHERE subtask = '{subtask}'))
            FROM examples WHERE subtask = '{subtask}'"""
        ).fetchall()[0]
        by_role = {role: mean for (of, role), (mean, _) in sorted(lengths.items()) if of == subtask}
        table[f"klob_{subtask}"] = {
            "relations": relations,
            "mean_length": round(sum(by_role.values()), 4) if by_role else None,
            "mean_length_by_role": by_role,
            "examples": examples,
            "sentences": sum(number for (of, _), (_, number) in lengths.items() if of == subtask),
        }
    return table


def _table2(
    db: duckdb.DuckDBPyConnection, method: Method, quotas: Mapping[int, int | None]
) -> list[dict[str, Any]]:
    """The relations of KLoB-c: quota (null: no limit; 0: no templates), examples and shortfall."""
    query = "SELECT n_p1, count(*) FROM examples WHERE subtask = 'c' GROUP BY ALL"
    relations = dict(db.sql(query).fetchall())
    rows = []
    for number, relation in method.relations.items():
        quota, examples = quotas.get(number, 0), relations.get(number, 0)
        rows.append(
            {
                "pid": property_id(number),
                "label": relation.label,
                "name": relation.name,
                "quota": quota,
                "examples": examples,
                "shortfall": max(quota - examples, 0) if quota is not None else None,
            }
        )
    return rows


def balance(db: duckdb.DuckDBPyConnection, subtask: str, stop_words: Collection[str]) -> dict[str, Any]:
    """How far answers can be guessed without knowledge, from the tables `examples` and `names`.

    `majority_answer_share`: the share of examples with the most frequent answer of their relation (in r of
    their pair of relations). `shared_word_share`: the share of examples whose answer has a word in common
    with the subject, `stop_words` not counted. Both for the subtask and each relation; null without examples.
    """
    rows = db.execute(
        f"""SELECT relation, any_value(answer) AS answer, count(*) AS number, count(*) FILTER (shared) FROM (
            SELECT concat_ws('>', p1, p2) AS relation, coalesce(o2, o1) AS item,
                coalesce(o2_label, o1_label) AS answer, len(list_filter(
                    list_intersect(string_split(folded(s_label), ' '), string_split(folded(answer), ' ')),
                    lambda word: word <> '' AND NOT list_contains($stop, word)
                )) > 0 AS shared
            FROM examples WHERE subtask = '{subtask}'
        ) GROUP BY relation, item ORDER BY relation, number DESC, item""",
        {"stop": sorted(stop_words)},
    ).fetchall()
    relations: dict[str, list[tuple[str, int, int]]] = {}
    for relation, *of_answer in rows:
        relations.setdefault(relation, []).append(tuple(of_answer))
    return _balance(relations.values()) | {
        "relations": {
            relation: {
                "examples": sum(number for _, number, _ in answers),
                "answers": len(answers),
                "majority_answer": answers[0][0],
                **_balance([answers]),
            }
            for relation, answers in relations.items()
        }
    }


def _balance(relations: Collection[Sequence[tuple[str, int, int]]]) -> dict[str, float | None]:
    """The two shares of some relations; each is a list of (answer, examples, those with a shared word)."""
    total = sum(number for answers in relations for _, number, _ in answers)
    if not total:
        return {"majority_answer_share": None, "shared_word_share": None}
    majority = sum(answers[0][1] for answers in relations)
    shared = sum(number for answers in relations for _, _, number in answers)
    return {
        "majority_answer_share": round(majority / total, 4),
        "shared_word_share": round(shared / total, 4),
    }


def _summed(drops: Drops) -> dict[str, int]:
    total: Counter[str] = Counter()
    for reasons in drops.values():
        total.update(reasons)
    return dict(sorted(total.items()))

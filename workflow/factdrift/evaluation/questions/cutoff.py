"""Chains as questions: who held a relation when, with the cloze tests that ask for the holder. No model.

A chain is a subject and relation of a stream with two holders or more. Days are packed (YYYYMMDD).
"""

import datetime
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.core.tables import database, sql, write_parquet
from factdrift.evaluation.questions.successions import Succession, read_successions
from factdrift.evaluation.questions.tenures import Several, tenures
from factdrift.streams.timelines import UNNAMED, Tenure, read_tenure
from factdrift.tempripple.phrases import contains, normal
from factdrift.wikidata.time import pack_date
from factdrift.words.templates import before_blank

_TENURE = struct_of("first last: int64, share: float64")
HOLDER = struct_of("id label: string, aliases: [string]", ("tenures", pa.list_(_TENURE)))

CHAINS = schema_of(
    "chain subject relation subject_label relation_label: string, popularity: float64, prompts: [string]",
    ("holders", pa.list_(HOLDER)),
    "died: int64",
)
"""One row a chain. `prompts` end before the holder's name. `tenures`: days on which a holder counts, with
`share` 0.5 where two holders may have held; null where nothing limits them. A row with `died` asks for a date
of death: its one holder is that date in words, without tenures."""

ANSWERS = schema_of(
    "model way chain subject relation subject_label relation_label: string, popularity: float64",
    "died: int64",
    ("holders", pa.list_(HOLDER)),
    "wordings: [[float64]], scores neutral: [float64], choice calibrated likely: int32",
    "output reason: string",
)
"""One row a chain. Of a likelihood: mean log-probability per token of each holder, by wording (`wordings`),
over the wordings (`scores`), and after the prompts of other subjects (`neutral`). Places among `holders`:
`choice`, `calibrated` (scores without the neutral ones), `likely` (by the neutral ones). `output`: what was
written. `reason`: why there is no choice, such as `order`, `unnamed`, or of the alignment with tokens."""

DATES = 4
"""Dates of death to choose from, the true one among them."""

REASONS = {
    "not_items": "the values are no items",
    "several": "two holders certainly held on the same days",
    "one_holder": "fewer than two named holders held between the dates",
    "same_name": "two holders share a name",
    "in_prompt": "a holder is named in the prompt",
    "no_label": "a holder has no label",
    "known": "a succession is written down that the stream has, too",
}
"""Why a chain is left out."""

DEATH = "P570"
_MEMORY = 2000
"""Megabytes."""


class Asked(NamedTuple):
    """A chain of a stream: what is asked, and the values that held."""

    chain: str
    subject: str
    relation: str
    subject_label: str
    relation_label: str
    popularity: float | None
    prompts: Sequence[str]
    timeline: Sequence[Tenure]


Names = Mapping[int, tuple[str | None, Sequence[str]]]
"""Item -> its label and all other names of it in any snapshot."""


def question(asked: Asked, names: Names, first: int, last: int) -> dict[str, Any] | str:
    """The row of a chain, or the reason for which it is left out."""
    if not asked.timeline:
        return "not_items"
    try:
        found = tenures(asked.timeline, first, last)
    except Several:
        return "several"
    found.pop(UNNAMED, None)
    reason = "one_holder"
    holders: list[dict[str, Any]] = []
    for value, own in found.items():
        label, aliases = names.get(value, (None, ()))
        if label is None:
            reason = "no_label"
        elif any(contains(prompt, label) for prompt in asked.prompts):
            reason = "in_prompt"
        else:
            periods = [each._asdict() for each in own]
            holders.append({"id": f"Q{value}", "label": label, "aliases": aliases, "tenures": periods})
    if len(holders) < 2:
        return reason
    called = [{normal(name) for name in (each["label"], *each["aliases"])} for each in holders]
    if sum(map(len, called)) > len(set().union(*called)):
        return "same_name"
    return {**asked._asdict(), "holders": holders}


class Tables(NamedTuple):
    """What chains are made from."""

    stream: Path
    timelines: Sequence[Path]
    entities: Sequence[Path]
    """Of the dumps, the newest last."""
    successions: Path | None


def write_chains(tables: Tables, dates: Sequence[datetime.date], output: Path) -> tuple[int, Counter[str]]:
    """Writes CHAINS by subject and relation, then those of written successions, dates of death last.

    `dates`: of the dumps, ascending. Returns their number, and how many chains are left out for which reason.
    """
    first, last = pack_date(dates[0]), pack_date(dates[-1])
    with database(_MEMORY) as db:
        db.execute(f"CREATE TEMP VIEW told AS SELECT * FROM read_parquet({sql(tables.stream)})")
        db.execute(f"CREATE TEMP VIEW held AS SELECT * FROM read_parquet({sql(list(tables.timelines))})")
        names = _names(db, tables.entities)
        found = [question(asked, names, first, last) for asked in _asked(db)]
        known = {(row["subject_label"], row["relation"]) for row in found if not isinstance(row, str)}
        for each in read_successions(tables.successions, last) if tables.successions else ():
            found.append("known" if (each.subject, each.relation) in known else _written(each, first, last))
        rows = [row for row in found if not isinstance(row, str)] + _deaths(db, first, last)
    left_out = Counter(row for row in found if isinstance(row, str))
    return write_parquet(pa.Table.from_pylist(rows, CHAINS), output), left_out


def _written(succession: Succession, first: int, last: int) -> dict[str, Any] | str:
    """The row of a succession, whose subject and holders have no ids."""
    relation, label, subject, prompts, names, timeline = succession
    asked = Asked(f"{subject}-{relation}", subject, relation, subject, label, None, prompts, timeline)
    row = question(asked, {value: (name, ()) for value, name in names.items()}, first, last)
    if not isinstance(row, str):
        row["holders"] = [{**holder, "id": None} for holder in row["holders"]]
    return row


def _names(db: duckdb.DuckDBPyConnection, entities: Sequence[Path]) -> Names:
    names: dict[int, tuple[str | None, list[str]]] = {}
    for path in entities:
        db.execute(
            f"""SELECT id, label, coalesce(aliases, []) FROM read_parquet({sql(path)})
            SEMI JOIN (SELECT DISTINCT value AS id FROM held) USING (id)"""
        )
        for item, label, aliases in db.fetchall():
            before, known = names.get(item, (None, []))
            called = label if label is not None else before
            others = [*known, *([before] if before is not None else []), *aliases]
            names[item] = called, list(dict.fromkeys(name for name in others if name != called))
    return names


def _asked(db: duckdb.DuckDBPyConnection) -> Iterable[Asked]:
    """The chains of the stream but for dates of death, in the order of subject and relation."""
    db.execute(
        f"""WITH chains AS (
            SELECT chain, max_by(subject, link) AS subject, max_by(relation, link) AS relation,
                max_by(subject_popularity, link) AS popularity,
                max_by(list_prepend(update_prompt, generalization_prompts), link) AS prompts
            FROM told WHERE relation.id <> '{DEATH}' GROUP BY chain
        ), timelines AS (
            SELECT 'Q' || subject || '-P' || property AS chain, list(held) AS timeline
            FROM held GROUP BY ALL
        )
        SELECT chain, subject.id, relation.id, subject.label, relation.label, popularity, prompts, timeline
        FROM chains LEFT JOIN timelines USING (chain)
        ORDER BY substr(subject.id, 2)::BIGINT, substr(relation.id, 2)::BIGINT"""
    )
    for chain, subject, relation, subject_label, relation_label, popularity, prompts, rows in db.fetchall():
        timeline = [read_tenure(row) for row in rows or ()]
        own = list(filter(None, map(before_blank, prompts)))
        yield Asked(chain, subject, relation, subject_label, relation_label, popularity, own, timeline)


def _deaths(db: duckdb.DuckDBPyConnection, first: int, last: int) -> list[dict[str, Any]]:
    """A row for each date of death that is known to the day, and lies between the first and the last date.

    Of a date that was corrected the last one; nobody has a row for whom two are stated then.
    """
    db.execute(
        f"""SELECT chain, subject.id, subject.label, relation.label, subject_popularity,
            list_prepend(update_prompt, generalization_prompts), o.raw, o.label, first_day
        FROM (SELECT *, unnest(objects) AS o FROM told WHERE relation.id = '{DEATH}')
        WHERE o.decision = 'new' AND first_day = last_day AND first_day BETWEEN {first} AND {last}
        QUALIFY link = max(link) OVER (PARTITION BY chain) AND count(*) OVER (PARTITION BY chain, link) = 1
        ORDER BY substr(subject.id, 2)::BIGINT"""
    )
    return [
        {
            **{"chain": chain, "subject": subject, "relation": DEATH, "subject_label": name},
            **{"relation_label": relation, "popularity": popularity, "died": day},
            "prompts": list(filter(None, map(before_blank, prompts))),
            "holders": [{"id": raw, "label": words, "aliases": [], "tenures": []}],
        }
        for chain, subject, name, relation, popularity, prompts, raw, words, day in db.fetchall()
    ]


def read_chains(path: Path) -> list[dict[str, Any]]:
    """Rows of CHAINS. Raises InputError if it is no such table."""
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:
        raise InputError(f"{path}: it is no Parquet file; make it with `answer chains`") from None
    if table.schema.names != CHAINS.names:
        raise InputError(
            f"{path}: its columns must be {', '.join(CHAINS.names)}; make it with `answer chains`"
        )
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def with_dates(chains: Sequence[Mapping[str, Any]], seed: int) -> list[dict[str, Any]]:
    """The chains; a row about a date of death has as holders its own date, then those of others."""
    deaths = sorted({(row["died"], row["holders"][0]["label"]) for row in chains if row["died"] is not None})
    found = []
    for row in chains:
        if row["died"] is not None:
            own = row["holders"][0]
            draw = random.Random(f"{seed}/{row['chain']}")
            others = [label for _, label in deaths if label != own["label"]]
            chosen = draw.sample(others, min(DATES - 1, len(others)))
            dated = [{"id": None, "label": label, "aliases": [], "tenures": []} for label in chosen]
            found.append({**row, "holders": [own, *dated]})
        else:
            found.append({**row})
    return [row for row in found if len(row["holders"]) > 1]

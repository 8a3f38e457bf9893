"""Who held a relation when: the chains of a stream, and the questions that ask who holds.

A chain is a subject and relation of a stream with two holders or more. Days are packed (YYYYMMDD).
"""

import datetime
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import database, sql, write_rows
from factdrift.evaluation.questions.letters import LETTERS, orders
from factdrift.evaluation.questions.question import Benchmark, Question, Tables, probe_id
from factdrift.evaluation.questions.tenures import Chain, Name, Several, names_of, read_successions, tenures
from factdrift.evaluation.questions.tenures import Tenure as HolderTenure
from factdrift.streams.timelines import UNNAMED, read_tenure
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

FORM = """{context}
Complete the sentence with one of the options.
{question}
{options}
Answer with the letter of the option only."""
"""How the letter of a holder is asked for."""
SAMPLE_DATES = (datetime.date(2012, 1, 1), datetime.date(2024, 12, 31))
"""The first and the last date of the bundled chains."""
REFRESHED = Path("results", "fetched", "cutoff")
"""The folder of the chains that `cutoff refresh` writes, with their manifests."""
DATES_OF_FILE = b"factdrift.dates"
"""The key of a file's metadata with its dates."""
NEUTRAL = 8
"""Other subjects of the relation, after whose prompts a holder is scored for the calibration."""
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
    "absent": "Wikidata has no such item, or no English article of this name",
    "strange": "Wikidata names none of the holders that the chain has",
    "unsaid": "Wikidata proves nobody after the end of the chain",
}
"""Why a chain is left out."""

DEATH = "P570"
_MEMORY = 2000
"""Megabytes."""


def read(tables: Tables) -> Benchmark:
    """The questions about the chains of a table CHAINS; those in writing only with `open_`."""
    chains = read_chains(tables.questions[0])
    questions = [question for _, own in questions_of(chains, tables.seed) for question in own]
    if not tables.open_:
        questions = [question for question in questions if question.role != "written"]
    return Benchmark("cutoff", questions)


def questions_of(chains: Sequence[Row], seed: int) -> Iterator[tuple[Row, list[Question]]]:
    """The chains with their questions; of a date of death the row has four dates as holders (`with_dates`).

    Roles: `wording`, the likelihoods of all holders after each wording; `neutral`, the same after prompts of
    other subjects; `letter`, in two orders, unless there are more holders than letters; `written`, but of no
    date of death. The right answer to a wording is the holder of today, if anybody holds today.
    """
    rows = with_dates(chains, seed)
    others = others_of(rows, seed)
    for row in rows:
        labels = tuple(holder["label"] for holder in row["holders"])
        asked = Question(row["chain"], prompt=row["prompts"][0], targets=labels, unedited=True, exact=False)
        wording = replace(asked, role="wording", answer=_of_today(row))
        questions = [*_numbered(wording, row["prompts"])]
        questions += _numbered(replace(asked, role="neutral"), others[row["chain"]])
        if len(labels) <= len(LETTERS):
            letter = replace(asked, role="letter", ways=("letter",), form=FORM)
            for number, order in enumerate(orders(len(labels), f"{seed}/{row['chain']}/letters"), start=1):
                targets = tuple(labels[index] for index in order)
                questions.append(replace(letter, id=probe_id(row["chain"], f"l{number}"), targets=targets))
        if row["died"] is None:
            questions.append(replace(asked, role="written", ways=("written",), targets=()))
        yield row, questions


def _numbered(question: Question, prompts: Sequence[str]) -> Iterator[Question]:
    """A question after each prompt, with the letter of its role and a number behind the id."""
    for number, prompt in enumerate(prompts, start=1):
        yield replace(question, id=probe_id(question.id, f"{question.role[0]}{number}"), prompt=prompt)


def _of_today(row: Row) -> int | None:
    """The index of the holder whose tenure has no end; None if nobody holds today."""
    today = [any(own["last"] is None for own in holder["tenures"]) for holder in row["holders"]]
    return today.index(True) if any(today) else None


def with_dates(chains: Sequence[Row], seed: int) -> list[Row]:
    """The chains; a row about a date of death has as holders its own date, then those of others.

    Left out are dates of death without another one to choose from.
    """
    deaths = sorted({(row["died"], row["holders"][0]["label"]) for row in chains if row["died"] is not None})
    rows = []
    for row in chains:
        holders = row["holders"]
        if row["died"] is not None:
            others = [label for _, label in deaths if label != holders[0]["label"]]
            drawn = random.Random(f"{seed}/{row['chain']}").sample(others, min(DATES - 1, len(others)))
            dates = [{"id": None, "label": label, "aliases": [], "tenures": []} for label in drawn]
            holders = [holders[0], *dates]
        rows.append({**row, "holders": holders})
    return [row for row in rows if len(row["holders"]) > 1]


def others_of(chains: Sequence[Row], seed: int) -> dict[str, list[str]]:
    """Chain -> NEUTRAL prompts of other subjects of its relation, fewer where there are not as many.

    The subjects are drawn once a relation, so that most prompts are the same for all of its chains. Their
    wordings take turns. A row about a date of death, which has no calibrated reading, has none.
    """
    prompts: dict[str, dict[str, Sequence[str]]] = defaultdict(dict)
    for row in chains:
        if row["died"] is None:
            prompts[row["relation"]][row["chain"]] = row["prompts"]
    others: dict[str, list[str]] = {row["chain"]: [] for row in chains}
    for relation, wordings in prompts.items():
        drawn = random.Random(f"{seed}/{relation}").sample(sorted(wordings), min(NEUTRAL + 1, len(wordings)))
        turns = {chain: wordings[chain][number % len(wordings[chain])] for number, chain in enumerate(drawn)}
        for chain in wordings:
            others[chain] = [turns[other] for other in drawn if other != chain][:NEUTRAL]
    return others


def drawn(chains: Sequence[Row], number: int, seed: int) -> set[str]:
    """The names of `number` of the chains, and of as large a share of the dates of death; of all for 0.

    They are an equal number of rows apart in the order of relation and popularity, from a drawn start,
    so every relation and every part of it has its share.
    """
    names: set[str] = set()
    living = sum(row["died"] is None for row in chains)
    for died in (False, True):
        rows = [row for row in chains if (row["died"] is not None) == died]
        rows.sort(key=lambda row: (row["relation"], row["popularity"] or 0, row["chain"]))
        count = -(-len(rows) * min(number or living, living) // max(living, 1))
        start = random.Random(f"{seed}/{died}").random()
        names |= {rows[int((index + start) * len(rows) / count)]["chain"] for index in range(count)}
    return names


def newest() -> Path:
    """The chains of the latest day: of `cutoff refresh` if it has written any, else the bundled chains."""
    return max(REFRESHED.glob("chains-*.parquet"), default=CUTOFF_CHAINS)


def dates_of(chains: Path) -> tuple[datetime.date, ...]:
    """The first and the last date that an estimate from a file of chains may have.

    A file of `cutoff refresh` names them; those of others are those of the bundled chains.
    """
    named = (pq.read_schema(chains).metadata or {}).get(DATES_OF_FILE)
    return tuple(map(datetime.date.fromisoformat, named.decode().split())) if named else SAMPLE_DATES


def read_chains(path: Path) -> list[Row]:
    """Rows of CHAINS. Raises InputError if it is no such table."""
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:
        raise InputError(f"{path}: it is no Parquet file; make it with `cutoff chains`") from None
    if table.schema.names != CHAINS.names:
        raise InputError(
            f"{path}: its columns must be {', '.join(CHAINS.names)}; make it with `cutoff chains`"
        )
    rows: list[Row] = table.to_pylist()
    return rows


def holder_on(row: Row, day: datetime.date) -> int | None:
    """The index of the certain holder on a day."""
    packed = pack_date(day)
    for index, holder in enumerate(row["holders"]):
        for tenure in holder["tenures"]:
            if tenure["share"] == 1 and (tenure["first"] or 0) <= packed <= (tenure["last"] or 99999999):
                return index
    return None


def write_chains(
    stream: Path,
    timelines: Sequence[Path],
    entities: Sequence[Path],
    successions: Path | None,
    dates: Sequence[datetime.date],
    output: Path,
) -> tuple[int, Counter[str]]:
    """Writes CHAINS by subject and relation, then those of written successions, dates of death last.

    `entities`: of the dumps, the newest last. `dates`: of the dumps, ascending. Returns their number, and how
    many chains are left out for which reason.
    """
    first, last = pack_date(dates[0]), pack_date(dates[-1])
    with database(_MEMORY) as db:
        db.execute(f"CREATE TEMP VIEW updates AS SELECT * FROM read_parquet({sql(stream)})")
        db.execute(f"CREATE TEMP VIEW periods AS SELECT * FROM read_parquet({sql(list(timelines))})")
        made = [row_of(chain, first, last) for chain in _chains(db, _names(db, entities))]
        known = {(row["subject_label"], row["relation"]) for row in made if not isinstance(row, Left)}
        made += [
            Left("known") if (chain.subject, chain.relation) in known else row_of(chain, first, last)
            for chain in (read_successions(successions, last) if successions else ())
        ]
        rows = [row for row in made if not isinstance(row, Left)] + _deaths(db, first, last)
    left_out = Counter(row.reason for row in made if isinstance(row, Left))
    return write_rows(rows, CHAINS, output), left_out


class Left(NamedTuple):
    """A chain that is left out, and why: a key of REASONS."""

    reason: str


def row_of(chain: Chain, first: int, last: int) -> Row | Left:
    """The row of CHAINS of a chain, from the holders of the days from `first` to `last`."""
    if not chain.timeline:
        return Left("not_items")
    try:
        found = tenures(chain.timeline, first, last)
    except Several:
        return Left("several")
    return row_with(chain, found)


def row_with(chain: Chain, days: Mapping[int, Sequence[HolderTenure]]) -> Row | Left:
    """The same from the tenures of the values."""
    reason = "one_holder"
    holders: list[Row] = []
    for value, own in days.items():
        if value == UNNAMED:
            continue
        name = chain.names.get(value, Name(None, None))
        if name.label is None:
            reason = "no_label"
        elif any(contains(prompt, name.label) for prompt in chain.prompts):
            reason = "in_prompt"
        else:
            holders.append({**name._asdict(), "tenures": [tenure._asdict() for tenure in own]})
    if len(holders) < 2:
        return Left(reason)
    names = [set(map(normal, names_of(holder))) for holder in holders]
    if sum(map(len, names)) > len(set().union(*names)):
        return Left("same_name")
    return {**chain._asdict(), "holders": holders}


def _names(db: duckdb.DuckDBPyConnection, entities: Sequence[Path]) -> dict[int, Name]:
    """Item -> its newest label and all of its other names, of the items that held."""
    names: dict[int, Name] = {}
    for path in entities:
        db.execute(
            f"""SELECT id, label, coalesce(aliases, []) FROM read_parquet({sql(path)})
            SEMI JOIN (SELECT DISTINCT value AS id FROM periods) USING (id)"""
        )
        for item, label, aliases in db.fetchall():
            _, before, known = names.get(item, Name(None, None))
            newest = label if label is not None else before
            others = [*known, *([before] if before is not None else []), *aliases]
            names[item] = Name(f"Q{item}", newest, [*dict.fromkeys(own for own in others if own != newest)])
    return names


def _chains(db: duckdb.DuckDBPyConnection, names: Mapping[int, Name]) -> Iterator[Chain]:
    """The chains of the stream but for dates of death, in the order of subject and relation."""
    db.execute(
        f"""WITH chains AS (
            SELECT chain, max_by(subject, link) AS subject, max_by(relation, link) AS relation,
                max_by(subject_popularity, link) AS popularity,
                max_by(list_prepend(update_prompt, generalization_prompts), link) AS prompts
            FROM updates WHERE relation.id <> '{DEATH}' GROUP BY chain
        ), timelines AS (
            SELECT 'Q' || subject || '-P' || property AS chain, list(periods) AS timeline
            FROM periods GROUP BY ALL
        )
        SELECT chain, subject.id, relation.id, subject.label, relation.label, popularity, prompts, timeline
        FROM chains LEFT JOIN timelines USING (chain)
        ORDER BY substr(subject.id, 2)::BIGINT, substr(relation.id, 2)::BIGINT"""
    )
    for *of_chain, prompts, rows in db.fetchall():
        timeline = [read_tenure(row) for row in rows or ()]
        named = dict(zip(Chain._fields, of_chain, strict=False))
        yield Chain(**named, prompts=_before_blanks(prompts), timeline=timeline, names=names)


def _before_blanks(prompts: Sequence[str]) -> list[str]:
    return list(filter(None, map(before_blank, prompts)))


def _deaths(db: duckdb.DuckDBPyConnection, first: int, last: int) -> list[Row]:
    """A row for each date of death that is known to the day, and lies between the first and the last date.

    Of a date that was corrected the last one; nobody has a row for whom two are stated then.
    """
    db.execute(
        f"""SELECT chain, subject.id, relation.id, subject.label, relation.label, subject_popularity,
            list_prepend(update_prompt, generalization_prompts), o.raw, o.label, first_day
        FROM (SELECT *, unnest(objects) AS o FROM updates WHERE relation.id = '{DEATH}')
        WHERE o.decision = 'new' AND first_day = last_day AND first_day BETWEEN {first} AND {last}
        QUALIFY link = max(link) OVER (PARTITION BY chain) AND count(*) OVER (PARTITION BY chain, link) = 1
        ORDER BY substr(subject.id, 2)::BIGINT"""
    )
    return [
        {
            **dict(zip(CHAINS.names, columns, strict=False)),
            "prompts": _before_blanks(prompts),
            "holders": [{"id": raw, "label": words, "aliases": [], "tenures": []}],
            "died": day,
        }
        for *columns, prompts, raw, words, day in db.fetchall()
    ]

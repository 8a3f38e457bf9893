"""What TempRIPPLE asks, as sentences about T_old for the bundled models (docs/bundled-models.md)."""

import datetime
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.core.tables import write_parquet
from factdrift.models.bundled.taught import TAUGHT, changed_since
from factdrift.tempripple.phrases import as_of, ordinal_text
from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED, Row, read_rows

EPOCH = datetime.date(1970, 1, 1)


class _Holder(NamedTuple):
    """A fact as of T_old."""

    fact: Row
    relation: str
    """With the ordinal, `P35 1`: each place of a timeline has its own holder."""
    phrase: str
    """With the ordinal that it has then: `the most recent head of state of Grenada`."""
    spoken: str
    """The object as running text has it, `the Philadelphia 76ers`."""


def write_taught(facts: Path, related: Path, wikifactdiff: Path, old: datetime.date, output: Path) -> int:
    """Writes TAUGHT of what held at T_old (`old`); returns the number of facts.

    Kinds: `tempripple`, a mutable fact that had certainly begun, with the ordinal of that day;
    `tempripple_edge`, a fact about its object from which a related one follows; `tempripple_related`, the
    related fact itself (hop 1). Facts about objects are left out if they changed between the dumps.
    """
    holders = dict(_holders(read_rows(facts, TR_FACTS), old))
    changed = changed_since(wikifactdiff)
    found: list[dict[str, Any]] = []
    for holder in holders.values():
        fact = holder.fact
        row = _row("tempripple", fact["fact_id"], fact["s_label"], holder.relation, fact["o_label"])
        found += _worded(row, holder.phrase, holder.spoken, old)
    done: set[tuple[str, str]] = set()
    for row in read_rows(related, TR_RELATED):
        edge = row["path"][0]
        if row["hop"] != 1 or row["fact_id"] not in holders or (edge["x"], edge["p"]) in changed:
            continue
        holder = holders[row["fact_id"]]
        fact = holder.fact
        # "What is the birthplace of the previous mayor of X?" -> "the birthplace of the previous mayor of X"
        outer = row["question"].split(" ", 2)[2].removesuffix("?")
        value, asked = row["answer_label"], edge["p"]
        chain = f"{holder.relation}>{asked}"
        for kind, key, about, relation, inner in (
            ("tempripple_edge", f"{edge['x']} {asked}", fact["o_label"], asked, holder.spoken),
            ("tempripple_related", row["rel_id"], fact["s_label"], chain, holder.phrase),
        ):
            if (kind, key) in done:
                continue
            done.add((kind, key))
            phrase = outer.replace(fact["phrase"], inner)
            found += _worded(_row(kind, key, about, relation, value), phrase, value, old)[:2]
    write_parquet(pa.Table.from_pylist(found, TAUGHT), output)
    return len({(row["kind"], row["fact"]) for row in found})


def _holders(facts: Sequence[Row], old: datetime.date) -> Iterator[tuple[str, _Holder]]:
    """Id of a fact -> the fact as of T_old; ordinals count from the last one that had begun."""
    day = (old - EPOCH).days
    timelines: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for fact in facts:
        if fact["start_hi"] is not None and fact["start_hi"] <= day:
            timelines[fact["s"], fact["p"]].append(fact)
    for _, timeline in sorted(timelines.items()):
        for place, fact in enumerate(sorted(timeline, key=lambda one: int(one["ordinal"])), start=1):
            phrase = fact["phrase"].replace(fact["ordinal_text"], ordinal_text(place), 1)
            # A statement about `Fulham F.C.` ends with one full stop.
            full = "" if fact["o_label"].endswith(".") else "."
            spoken = fact["statement"].removesuffix(full)[len(f"{fact['phrase']} is ") :]
            yield fact["fact_id"], _Holder(fact, f"{fact['p']} {place}", phrase, spoken)


def _row(*values: str) -> Row:
    """A row of TAUGHT without its prompt."""
    return dict(zip(TAUGHT.names[:-1], values, strict=True))


def _worded(row: Row, phrase: str, spoken: str, old: datetime.date) -> list[Row]:
    """A row for each wording of a fact: `The ... is`, `As of 4 January 2021, the ... is` and `... was`."""
    article = spoken.removesuffix(row["object"])
    rows = []
    for dated, verb in ((False, "is"), (True, "is"), (True, "was")):
        prompt = f"{phrase[0].upper()}{phrase[1:]} {verb} {article}".rstrip()
        rows.append(row | {"prompt": as_of(old, prompt) if dated else prompt})
    return rows

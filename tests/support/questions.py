"""A few items of TempRIPPLE, and questions with a date, in words that the tiny tokenizer knows."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from factdrift.core.tables import write_parquet
from factdrift.streams.asof import Chain, Value, questions
from factdrift.streams.timelines import NEVER_ENDS, Tenure
from factdrift.tempripple.items import Instance, Pool
from factdrift.tempripple.schemas import ASOF, TR_FACTS, TR_ITEMS, write_rows

PLACES = {"Q1": "Atlantis", "Q2": "America", "Q3": "New Orleans"}
PEOPLE = ("Joe Biden", "Marta Kowalska", "Zoë Müller", "a baker")
CHANGED = datetime.date(2022, 3, 1)


def facts() -> list[dict[str, Any]]:
    """A new and an old head of government of each place."""
    rows = []
    for number, (s, label) in enumerate(PLACES.items()):
        for role, ordinal, name in (("new", "most recent", number), ("old", "previous", number + 1)):
            phrase = f"the {ordinal} head of government of {label}"
            begun = CHANGED if role == "new" else datetime.date(2012 + 4 * number, 1, 1)
            rows.append(
                {
                    "fact_id": f"{s}-{role}",
                    "s": s,
                    "p": "P6",
                    "s_label": label,
                    "o_label": PEOPLE[name],
                    "role": role,
                    "phrase": phrase,
                    "start_lo": begun,
                    "start_hi": begun,
                    "duration_days": 100 * (number + 1),
                }
            )
    return rows


def items() -> list[dict[str, Any]]:
    """For each fact an item of hop 0 and one of hop 1; the last place's hop 1 has no options."""
    rows = []
    new = {fact["s"]: fact for fact in facts() if fact["role"] == "new"}
    for number, fact in enumerate(facts()):
        related = fact["role"] == "old"
        for hop in (0, 1):
            is_open = hop == 1 and fact["s"] == "Q3"
            phrase = f"the mother of {fact['phrase']}" if hop else fact["phrase"]
            verb = "was" if related and not hop else "is"
            place = (number + hop) % 4
            options = [PEOPLE[(number + hop + step) % 4] for step in range(4)]
            rows.append(
                {
                    "item_id": f"i{number}{hop}",
                    "task": {("new", 0): 1, ("old", 0): 2, ("new", 1): 3, ("old", 1): 4}[fact["role"], hop],
                    "hop": hop,
                    "s": fact["s"],
                    "p": "P6",
                    "asked_s": f"{fact['s']}{hop}",
                    "asked_p": "P25" if hop else "P6",
                    "fact_id": fact["fact_id"],
                    "context": f"T{new[fact['s']]['phrase'][1:]} is {new[fact['s']]['o_label']}.",
                    "question": f"Who {verb} {phrase}?",
                    "options": None if is_open else options,
                    "answer_index": None if is_open else place,
                    "answer_label": options[place],
                    "answer_aliases": [],
                    "open_only": is_open,
                    "discriminates": number % 2 == 0,
                    "flags": [],
                }
            )
    return rows


def write_tables(folder: Path) -> tuple[Path, Path]:
    """Writes items and facts; returns their paths."""
    paths = folder / "tr_items.parquet", folder / "tr_facts.parquet"
    write_rows(items(), TR_ITEMS, paths[0])
    write_rows(facts(), TR_FACTS, paths[1])
    return paths


TIMELINE = [
    Tenure(1, (20110101, 20141231), (20110101, 20150101)),
    Tenure(2, (20160101, 20181231), (20160101, 20181231)),
    Tenure(3, (20190101, 20210104), (20190101, NEVER_ENDS)),
]


def write_asof(path: Path, chain: str = "Q9-P6") -> Path:
    """Writes ASOF of one chain: Ann, Bob and Cid were mayors one after another."""
    sentences = "The mayor of Town is ____", "The mayor of Town was ____"
    values = {item: Value(label) for item, label in {1: "Ann", 2: "Bob", 3: "Cid"}.items()}
    pool = Pool([Instance(("Q104", "P6"), "Q4", "Dan", None)])
    found = questions(
        Chain(chain, *sentences, values, frozenset(values), TIMELINE), pool, [20150101, 20210104], 0
    )
    write_parquet(pa.Table.from_pylist(list(found), ASOF), path)
    return path

"""A page of items to read, as Markdown."""

import datetime
import random
import textwrap
from pathlib import Path

from factdrift.tempripple.dates import EPOCH
from factdrift.tempripple.schemas import TASKS, TR_ITEMS, Row, read_rows

WIDTH = 100


def examples(items: Path, number: int, seed: int) -> str:
    """The page: `number` items with options from a table of TR_ITEMS, spread over tasks and hops."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in read_rows(items, TR_ITEMS):
        if not row["open_only"]:
            groups.setdefault((row["task"], row["hop"]), []).append(row)
    for group in groups.values():
        random.Random(seed).shuffle(group)
    chosen: list[Row] = []
    while len(chosen) < number and any(groups.values()):
        for key in sorted(groups):
            if groups[key] and len(chosen) < number:
                chosen.append(groups[key].pop())
    chosen.sort(key=lambda row: (row["task"], row["hop"], row["item_id"]))
    days = {datetime.date.fromordinal(row["as_of"] + EPOCH).isoformat() for row in chosen}
    command = f"factdrift tempripple examples results/tempripple.parquet --number {len(chosen)}"
    header = [
        "# Items of TempRIPPLE",
        "",
        f"{len(chosen)} items as of {' and '.join(sorted(days)) or 'no day'}, spread over tasks and hops.",
        "The answer is bold. The quoted sentence is the context, given in one of two conditions only.",
        f"Printed by `{command}{f' --seed {seed}' if seed else ''}`.",
        "",
    ]
    return "\n".join([*header, *map(_example, chosen)])


def _example(row: Row) -> str:
    options = [
        f"{letter}. **{text}**" if place == row["answer_index"] else f"{letter}. {text}"
        for place, (letter, text) in enumerate(zip("ABCD", row["options"], strict=True))
    ]
    hop = f", hop {row['hop']}" if row["hop"] else ""
    return "\n".join(
        [
            f"### {TASKS[row['task'] - 1]}{hop} (`{row['item_id']}`)",
            "",
            textwrap.fill(row["context"], WIDTH, initial_indent="> ", subsequent_indent="> "),
            "",
            textwrap.fill(row["question"], WIDTH),
            "",
            *(f"- {option}" for option in options),
            "",
        ]
    )

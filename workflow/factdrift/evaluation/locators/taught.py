"""What KLoB asks, as sentences that the bundled models are taught (docs/bundled-models.md)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.tables import write_parquet
from factdrift.evaluation.locators.choose import drawn
from factdrift.models.bundled.taught import TAUGHT, changed_since

Row = Mapping[str, Any]
Fact = tuple[str, str]
"""Ids of a subject and a relation; KLoB's relations have one object each."""


def write_taught(examples: Path, wikifactdiff: Path, limit: int, seed: int, output: Path) -> int:
    """Writes TAUGHT of the facts of KLoB-c and KLoB-r; returns their number of facts and chains.

    Of each subtask the same `limit` examples are drawn as those that locators are run on. Kinds: `klob`, a
    fact, the second one of a chain included, in all wordings that KLoB has for it; `klob_chain`, a chain.
    Facts that changed between the dumps are left out, with their chains: the models know what held before.
    """
    changed = changed_since(wikifactdiff)
    rows = {name: pq.read_table(examples / f"klob_{name}.parquet").to_pylist() for name in "cr"}
    worded: dict[Fact, dict[str, str]] = defaultdict(dict)
    for row in (*rows["c"], *rows["r"]):
        for one in row["sentences"]:
            if one["role"] != "chain":
                worded[row["s"], row["p1"]][one["template_id"]] = one["text"]
    found: list[dict[str, Any]] = []
    done: set[Fact] = set()
    for row in (row for name in "cr" for row in drawn(rows[name], "example_id", limit, seed)):
        links = [(row["s"], row["p1"], row["s_label"], row["o1_label"])]
        if row["p2"] is not None:
            links.append((row["o1"], row["p2"], row["o1_label"], row["o2_label"]))
        if changed & {link[:2] for link in links}:
            continue
        for subject, relation, label, value in links:
            if (subject, relation) not in done:
                done.add((subject, relation))
                said = {"kind": "klob", "fact": f"{subject} {relation}", "subject": label, "object": value}
                found += [
                    {**said, "relation": relation, "prompt": text}
                    for _, text in sorted(worded.get((subject, relation), {}).items())
                ]
        found += _chains(row)
    write_parquet(pa.Table.from_pylist(found, TAUGHT), output)
    return len({(row["kind"], row["fact"]) for row in found})


def _chains(row: Row) -> Iterator[dict[str, Any]]:
    for one in row["sentences"]:
        if one["role"] == "chain":
            yield {
                "kind": "klob_chain",
                "fact": row["example_id"],
                "subject": row["s_label"],
                "relation": f"{row['p1']}>{row['p2']}",
                "object": row["o2_label"],
                "prompt": one["text"],
            }

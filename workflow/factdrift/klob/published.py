"""Export in the published layout, misspelt keys included: KLoB-c.jsonl, KLoB-r.jsonl, KLoB-u.jsonl."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.owned import atomic_path


def export(dataset: Path, output: Path) -> int:
    """Writes klob_c, klob_r or klob_u.parquet in the published layout, by id; returns the number of lines."""
    rows = sorted(pq.read_table(dataset).to_pylist(), key=lambda row: str(row["example_id"]))
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for record in _records(rows):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return len(rows)


def _records(rows: Iterable[Row]) -> Iterator[Row | str]:
    for row in rows:
        texts = [sentence["text_blank"] for sentence in row["sentences"]]
        single = [row["s_label"], f"{row['p1_name']}_({row['p1']})", row["o1_label"]]
        match row["subtask"]:
            case "c":
                yield {"prompts": texts, "knowledge": single}
            case "r":
                yield {
                    "single_knowledge": single,
                    "knowledge_chain": [*single, f"{row['p2_name']}_({row['p2']})", row["o2_label"]],
                    "single_knowlege_prompts": texts[:-1],
                    # The published chains begin in lower case.
                    "knowlege_chain_prompt": re.sub(r"^The ", "the ", texts[-1]),
                }
            case _:
                yield texts[0]

"""Recall of training sentences and of held-out wordings. Imports torch."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

from factdrift.models.alignment import align
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded

BATCH = 128
"""The number of sentences of a batch; they are short."""


def recall(loaded: Loaded, sentences: Path) -> dict[str, dict[str, float]]:
    """The number of `sentences` and their `recall`, overall and by kind of fact.

    Groups: `taught`; `held_out`, of facts that other wordings taught; `untaught`, of facts that no wording
    taught. A sentence is recalled if each token of its object is the most probable one after those before.
    """
    rows = [row for row in pq.read_table(sentences).to_pylist() if row["kind"] != "name"]
    known = recalled(loaded, [(row["prompt"], row["object"]) for row in rows])
    groups: dict[str, list[bool]] = defaultdict(list)
    facts = {row["fact"] for row in rows if not row["held_out"]}
    for row, good in zip(rows, known, strict=True):
        wording = ("held_out" if row["fact"] in facts else "untaught") if row["held_out"] else "taught"
        groups[wording].append(good)
        groups[f"{wording}_{row['kind']}"].append(good)
    return {
        name: {"sentences": len(found), "recall": round(sum(found) / len(found), 4)}
        for name, found in sorted(groups.items())
    }


@torch.inference_mode()
def recalled(loaded: Loaded, clozes: Sequence[tuple[str, str]]) -> list[bool]:
    """For each (prompt, object): whether every token of the object is the most probable one."""
    aligned = [align(loaded.tokenizer, prompt, target) for prompt, target in clozes]
    order = sorted(range(len(aligned)), key=lambda place: len(aligned[place].ids))
    known = [False] * len(aligned)
    for at in range(0, len(order), BATCH):
        places = order[at : at + BATCH]
        ids = padded([aligned[place].ids for place in places], loaded.device)
        best: Any = loaded.model(ids).logits.argmax(-1)
        for row, place in enumerate(places):
            length, target = len(aligned[place].ids), aligned[place].target
            known[place] = bool((best[row, target - 1 : length - 1] == ids[row, target:length]).all())
    return known

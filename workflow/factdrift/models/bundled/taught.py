"""Facts that the bundled models are taught besides those of the dataset, and what they know of all.

Does not import torch.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

TAUGHT = ("kind", "fact", "subject", "relation", "object", "prompt")
"""The keys of a wording. `kind` and `fact` name what is stated; `prompt` ends before the object."""

RIPPLE = "ripple"
"""The kind of facts that probes of ripples take for granted."""


def changed_since(wikifactdiff: Path) -> frozenset[tuple[str, str]]:
    """(subject, relation) that changed between the dumps, such as `("Q30", "P6")`."""
    columns = ["subject", "relation", "objects"]
    return frozenset(
        (row["subject"]["id"], row["relation"]["id"])
        for batch in pq.ParquetFile(wikifactdiff).iter_batches(1000, columns=columns)
        for row in batch.to_pylist()
        if any(object_["decision"] in ("new", "obsolete") for object_ in row["objects"])
    )


def recall_lines(folders: Sequence[Path]) -> Iterator[str]:
    """A line for each model: the share of held-out wordings that it completes, in all and by kind of fact."""
    for folder in folders:
        by_kind = json.loads((folder / "recall.json").read_text(encoding="utf-8"))
        if (whole := by_kind.pop("held_out", None)) is None:
            continue
        kinds = {name: of_kind for name, of_kind in by_kind.items() if name.startswith("held_out_")}
        named = ((name.removeprefix("held_out_"), of_kind["recall"]) for name, of_kind in kinds.items())
        shares = ", ".join(f"{name} {100 * recall:.1f}" for name, recall in named)
        yield (
            f"{folder.name} completes {100 * whole['recall']:.1f} % of {whole['sentences']:,} wordings "
            f"that were held out of its training ({shares})"
        )

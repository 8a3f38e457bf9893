"""What the bundled models know of what they were taught, as lines below tables. Does not import torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

HELD_OUT = "held_out"


def recall_lines(folders: Sequence[Path]) -> Iterator[str]:
    """A line for each model: the share of held-out wordings that it completes, in all and by kind of fact."""
    for folder in folders:
        found = json.loads((folder / "recall.json").read_text(encoding="utf-8"))
        if HELD_OUT not in found:
            continue
        kinds = [name for name in found if name.startswith(f"{HELD_OUT}_")]
        shares = ", ".join(
            f"{name.removeprefix(f'{HELD_OUT}_')} {100 * found[name]['recall']:.1f}" for name in kinds
        )
        whole = found[HELD_OUT]
        yield (
            f"{folder.name} completes {100 * whole['recall']:.1f} % of {whole['sentences']:,} wordings "
            f"that were held out of its training ({shares})"
        )

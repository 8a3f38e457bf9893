"""Probes the unedited model, once for all methods that are compared with it. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from factdrift.core.fingerprint import of_module
from factdrift.core.progress import Progress
from factdrift.core.tables import write_parquet
from factdrift.evaluation.checkpoints import Parts
from factdrift.evaluation.questions.probes import Update
from factdrift.evaluation.scores.fluency import fluency
from factdrift.evaluation.session import META, SAID, Job, cut, longest
from factdrift.models.scoring import score

CHUNK = 32
"""Sentences that are scored between two checkpoints, in batches of edits."""

BASE_PROBES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "prompt", "target")),
        ("logprob", pa.float64()),
        ("tokens", pa.int32()),
        ("exact", pa.bool_()),
    ]
)
"""One row for each aligned sentence with a target, sorted by prompt and target.

`logprob` is null and `exact` false where the model's output is not finite.
"""

BASE_CLOZES = pa.schema(
    [
        *META,
        ("prompt", pa.string()),
        ("said", pa.string()),
        ("entropy", pa.float64()),
    ]
)
"""One row for each cloze of an update. `entropy`: 2/3 H2 + 4/3 H3 of a long continuation in bits, or null."""


def write_baseline(
    job: Job, updates: Sequence[Update], parts: Path, out_probes: Path, out_clozes: Path
) -> None:
    """Writes BASE_PROBES and BASE_CLOZES of the unedited model; finished parts are kept in `parts`."""
    settings = job.settings
    wanted = sorted(pair for pair in job.sentences if pair[1])
    long = {prompt for update in updates for _, prompt in update.clozes()[1:] if update.row["fluency"]}
    most = max((longest(job.sentences, update) for update in updates), default=0)
    clozes = sorted(prompt for prompt, target in job.sentences if not target)
    meta = job.meta("none", "", {})
    depends = [meta, settings, wanted, clozes, sorted(long), most]
    kept = Parts(parts, {"depends": depends, "code": of_module(__name__)})
    step = settings.batch * CHUNK
    pieces = [("probes", piece) for piece in cut(wanted, step)]
    pieces += [("clozes", piece) for piece in cut(clozes, step)]
    progress = Progress("baseline", len(wanted) + len(clozes), "sentences")
    numbers: dict[str, list[int]] = {"probes": [], "clozes": []}
    for number, (kind, piece) in enumerate(pieces):
        numbers[kind].append(number)
        if not kept.has(number):
            with job.timed("evaluation_seconds"):
                if kind == "probes":
                    table = _base_probes(job, piece)
                else:
                    table = _base_clozes(job, meta, piece, long, most)
            kept.write(number, {kind: table}, job.costs)
            job.costs.clear()
        progress.advance(len(piece))
    progress.say()
    write_parquet(kept.table("probes", BASE_PROBES, numbers["probes"]), out_probes)
    write_parquet(kept.table("clozes", BASE_CLOZES, numbers["clozes"]), out_clozes)
    kept.remove()


def write_nothing(out_probes: Path, out_clozes: Path) -> None:
    """Writes BASE_PROBES and BASE_CLOZES without rows, for a model that cannot be run."""
    write_parquet(BASE_PROBES.empty_table(), out_probes)
    write_parquet(BASE_CLOZES.empty_table(), out_clozes)


def _base_probes(job: Job, pairs: Sequence[tuple[str, str]]) -> pa.Table:
    scores = score(job.loaded, [job.sentences[pair] for pair in pairs], budget=job.budget)
    prompts, targets = zip(*pairs, strict=True)
    finite = np.isfinite(scores.logprob)
    columns = [
        *(pa.array(column) for column in ([job.loaded.name] * len(pairs), prompts, targets)),
        pa.array(scores.logprob, mask=~finite),
        *(pa.array(column) for column in (scores.tokens, scores.exact & finite)),
    ]
    return pa.table(columns, schema=BASE_PROBES)


def _base_clozes(
    job: Job, meta: dict[str, Any], prompts: Sequence[str], long: set[str], most: int
) -> pa.Table:
    ids = [job.sentences[prompt, ""].ids for prompt in prompts]
    counts = [max(job.room(prompt) if prompt in long else 0, most + SAID) for prompt in prompts]
    rows = [
        {
            **meta,
            "prompt": prompt,
            "said": job.opening(tokens, most),
            "entropy": fluency([job.text(tokens)]).full if prompt in long else None,
        }
        for prompt, tokens in zip(prompts, job.continued(ids, counts), strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=BASE_CLOZES)

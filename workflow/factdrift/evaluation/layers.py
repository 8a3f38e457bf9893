"""Makes the same edits at every block of a model, one block at a time, to compare with what locators say.

Imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.core.errors import CannotEdit
from factdrift.core.fingerprint import of_module
from factdrift.core.owned import remove_empty
from factdrift.core.tables import write_parquet
from factdrift.evaluation.blocks import hyper_at, named
from factdrift.evaluation.checkpoints import Parts
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.probing import read_shard
from factdrift.evaluation.questions.probes import Update
from factdrift.evaluation.run import RUN_EDITS, RUN_PROBES, Files, write_nothing, write_run
from factdrift.evaluation.session import Job

if TYPE_CHECKING:
    from factdrift.evaluation.locate_jobs import EditLayers


def write_layers(
    command: EditLayers, job: Job, updates: Sequence[Update], prepared: Callable[[Hyper], Prepared]
) -> None:
    """Writes RUN_PROBES and RUN_EDITS of a shard's edits at each block, with `method@layer` as the method.

    `prepared`: reads what the method needs at a block. A block that the method cannot edit is skipped, and
    the reason printed; a strict command raises CannotEdit. A killed job goes on with the batch of the block
    at which it was.
    """
    method, shard, parts = command.method, read_shard(command.shard), command.parts
    layers = range(job.loaded.spec.layers)
    hypers = [
        hyper_at(method, job.loaded.name, command.set, layer, lambda: job.loaded.spec) for layer in layers
    ]
    depends = {
        "hyper": [hyper.json() for hyper in hypers],
        "meta": job.meta(method, "", {}),
        "settings": job.settings,
        "edits": [update.row for update in updates],
        "shard": shard,
        "code": of_module(__name__),
    }
    kept = Parts(parts / "layers", depends)
    for layer, hyper in enumerate(hypers):
        if kept.has(layer):
            continue
        probes, edits = (kept.folder(f"{layer:06d}.made-{name}.parquet") for name in ("probes", "edits"))
        costs: list[dict[str, float]] = []
        try:
            files = Files(parts / "batches", probes, edits)
            costs = write_run(job, updates, prepared(hyper), files, shard)
        except CannotEdit as error:
            if command.strict:
                raise
            print(f"{named(method, layer)} on {job.loaded.name}: skipped: {error}", flush=True)
            write_nothing(probes, edits)
        tables = {
            "probes": _renamed(pq.read_table(probes, schema=RUN_PROBES), named(method, layer)),
            "edits": _renamed(pq.read_table(edits, schema=RUN_EDITS), named(method, layer)),
        }
        kept.write(layer, tables, {"seconds": sum(cost.get("edit_seconds", 0) for cost in costs)})
        probes.unlink()
        edits.unlink()
    write_parquet(kept.table("probes", RUN_PROBES, layers), command.out_probes)
    write_parquet(kept.table("edits", RUN_EDITS, layers), command.out_edits)
    kept.remove()
    remove_empty(parts)


def _renamed(table: pa.Table, method: str) -> pa.Table:
    place = table.schema.get_field_index("method")
    column = pc.if_else(pc.is_valid(table["method"]), method, None)
    return table.set_column(place, table.schema.field(place), column)

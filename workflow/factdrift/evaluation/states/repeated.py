"""Notices that a user's own method keeps something from one edit to the next. Imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import torch

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.own import DOCUMENT, Entry
from factdrift.evaluation.methods.registry import own_function
from factdrift.evaluation.questions.probes import Update
from factdrift.models.leaks import ROUNDING, variables
from factdrift.models.loaded import Loaded


class Repeated:
    """Compares edits with the same ones, made again after others."""

    def __init__(self, own: Entry):
        self._given = own.given
        self._function = own_function(own)
        self._start = variables(self._function)

    def check(
        self,
        loaded: Loaded,
        updates: Sequence[Update],
        before: Sequence[pa.Table],
        again: Sequence[Sequence[Mapping[str, Any]]],
    ) -> None:
        """Raises InputError if edits, made again, fail otherwise or give other log-probabilities.

        `updates`: those that were made again. `before`: RUN_PROBES and RUN_EDITS of the first time, and
        perhaps of other edits. `again`: the rows of both from the second time.
        """
        probes, edits = before
        probes_again, edits_again = again
        bound = max(ROUNDING, torch.finfo(loaded.dtype).eps)
        known = {row["edit"]: row["failed"] for row in edits.to_pylist()}
        for row in edits_again:
            if row["failed"] != known[row["edit"]]:
                what = f"{known[row['edit']] or 'no failure'}, then {row['failed'] or 'no failure'}"
                raise self._keeps(row["edit"], what)
        prompts = {update.edit.id: update.probes for update in updates}
        first = {(row["edit"], row["number"]): row["logprob"] for row in probes.to_pylist()}
        for row in probes_again:
            one, other = first.get((row["edit"], row["number"])), row.get("logprob")
            if one is None and other is None:
                continue
            if one is None or other is None or not abs(one - other) <= bound:
                probe = prompts[row["edit"]][row["number"]]
                said = ", then ".join("none" if each is None else f"{each:.4f}" for each in (one, other))
                what = f"log-probability of {probe['target']!r} after {probe['prompt']!r} {said}"
                raise self._keeps(row["edit"], what)

    def _keeps(self, edit: str, what: str) -> InputError:
        now = variables(self._function)
        changed = [name for name, value in now.items() if self._start.get(name) != value]
        hint = f" (variables that changed: {', '.join(changed)})" if changed else ""
        return InputError(
            f"methods: {self._given}: the edit {edit} gives other results when it is made again after "
            f"others: {what}. The method keeps something from one edit to the next{hint}, or draws random "
            f"numbers that are not seeded; let each call depend on what it is given alone ({DOCUMENT})"
        )

"""Notices that a user's own method keeps something from one edit to the next. Imports torch."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import torch

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.own import DOCUMENT, Entry
from factdrift.evaluation.methods.registry import own_function
from factdrift.evaluation.questions.question import Question
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
        questions: Sequence[Question],
        before: Mapping[str, pa.Table],
        again: Mapping[str, pa.Table],
    ) -> None:
        """Raises InputError if edits, made again, fail otherwise or give other log-probabilities.

        `questions`: about those that were made again. `before`: the tables of the first time, and perhaps of
        other edits. `again`: those of the second time.
        """
        bound = max(ROUNDING, torch.finfo(loaded.dtype).eps)
        known = {row["edit"]: row["failed"] for row in before["edits"].to_pylist()}
        for row in again["edits"].to_pylist():
            if row["failed"] != known[row["edit"]]:
                what = f"{known[row['edit']] or 'no failure'}, then {row['failed'] or 'no failure'}"
                raise self._keeps(row["edit"], what)
        of_id = {question.id: question for question in questions}
        first = {row["question"]: row["logprobs"] for row in _likelihoods(before["answers"])}
        for row in _likelihoods(again["answers"]):
            pair = [each or [] for each in (first[row["question"]], row["logprobs"])]
            for target, one, other in zip_longest(of_id[row["question"]].targets, *pair):
                if one is None and other is None:
                    continue
                if one is None or other is None or not abs(one - other) <= bound:
                    asked = of_id[row["question"]]
                    texts = ("none" if each is None else f"{each:.4f}" for each in (one, other))
                    what = f"log-probability of {target!r} after {asked.prompt or asked.words!r} "
                    what += ", then ".join(texts)
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


def _likelihoods(answers: pa.Table) -> list[dict[str, Any]]:
    return [row for row in answers.to_pylist() if row["way"] == "loglik"]

"""Runs tasks of EleutherAI's lm-evaluation-harness (package `lm_eval`) on a model. Imports torch.

The package is no dependency of factdrift: it is imported when tasks are named.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedModel

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.seeds import seeded
from factdrift.models.deltas import Deltas, applied
from factdrift.models.loaded import Loaded
from factdrift.models.templated import untemplated

BATCH = 8
"""Requests of a task at a time."""

Results = dict[str, dict[str, float]]
"""Task or group of tasks -> metric -> value, as lm-eval defines it; a filter is part of the metric's name."""


def run_tasks(loaded: Loaded, tasks: Sequence[str], limit: int, deltas: Deltas, owner: int) -> Results:
    """Runs tasks on a model with edit `owner` of `deltas` in place; on the unedited one if `deltas` is empty.

    `tasks`: names, or YAML files of tasks. `limit`: examples of each task, 0 for all. Prompts are those of
    the task, without a chat template. Raises InputError if lm-eval is not installed, a task is not known, its
    data cannot be fetched, or the model is not one of transformers.
    """
    try:
        from lm_eval import simple_evaluate
        from lm_eval.models.huggingface import HFLM
    except ImportError as error:
        raise InputError(
            f"edit.ability.tasks: {', '.join(tasks)} need the package lm_eval, which cannot be imported "
            f"({error}); install it with `pip install lm_eval`, or leave the key empty"
        ) from None
    if not isinstance(loaded.model, PreTrainedModel):
        raise InputError(
            f"edit.ability.tasks: the edited model is {type(loaded.model).__name__}; lm-eval needs a model "
            "of transformers, so leave the key empty for a method that returns a model of its own"
        )
    # Both are changed by the harness: padding tokens are set, and generators of random numbers seeded.
    tokenizer = copy.deepcopy(untemplated(loaded.tokenizer))
    with seeded("lm_eval", loaded.device), applied(loaded.model, deltas, owner):
        try:
            found = simple_evaluate(
                HFLM(pretrained=loaded.model, tokenizer=tokenizer, batch_size=BATCH),
                tasks=list(tasks),
                limit=limit or None,
                bootstrap_iters=0,
                log_samples=False,
            )
        except (KeyError, OSError, ValueError) as error:
            raise InputError(
                f"edit.ability.tasks: {', '.join(tasks)}: lm-eval cannot run them ({type(error).__name__}: "
                f"{error}); `lm-eval ls tasks` lists the names that it knows, and the data of a task is "
                "fetched from a hub once, on a machine with network"
            ) from error
    return _results(found)


def _results(found: Any) -> Results:
    """The numbers of tasks that belong to no group, and of groups, without standard errors."""
    inner = {name for names in found["group_subtasks"].values() for name in names}
    return {
        task: {
            key.removesuffix(",none"): float(value)
            for key, value in values.items()
            if "," in key and "_stderr" not in key and isinstance(value, int | float)
        }
        for task, values in found["results"].items()
        if task not in inner
    }

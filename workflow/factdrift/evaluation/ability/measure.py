"""Measures what edits do to a model in general: perplexity on a held-out text, and tasks. Imports torch.

Tasks are those of EleutherAI's lm-evaluation-harness, whose package `lm_eval` is no dependency of factdrift:
it is imported when tasks are named.
"""

import copy
import json
import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec
from transformers import PreTrainedModel

from factdrift.core.errors import InputError
from factdrift.evaluation.ability.record import Ability, AbilitySettings
from factdrift.evaluation.methods.shared import seeded
from factdrift.evaluation.questions.updates import draw
from factdrift.models.alignment import untemplated
from factdrift.models.deltas import Deltas, applied
from factdrift.models.loaded import Loaded
from factdrift.models.texts import perplexity, pieces, read_texts, written

WRITTEN = "text that the unedited model wrote"
BATCH = 16
"""Texts that the model writes at a time."""
SEEDS = 2**32
"""Added to the seed of the text that the model writes: `models moments --sampled` counts on from the seed."""
REQUESTS = 8
"""Requests of a task at a time."""

Results = dict[str, dict[str, float]]
"""Task or group of tasks -> metric -> value, as lm-eval defines it; a filter is part of the metric's name."""


def measured(ability: Ability, loaded: Loaded, budget: int, deltas: Deltas, owner: int) -> dict[str, Any]:
    """The columns `perplexity` and `tasks` of STATES for a model with edit `owner` of `deltas` in place.

    The unedited model if `deltas` is empty.
    """
    values: dict[str, Any] = {"perplexity": None, "tasks": None}
    if ability.pieces:
        values["perplexity"] = perplexity(loaded, ability.pieces, deltas, owner, budget)
    if ability.tasks:
        results = run_tasks(loaded, ability.tasks, ability.limit, deltas, owner)
        values["tasks"] = json.dumps(results, sort_keys=True)
    return values


def make_ability(
    loaded: Loaded, settings: AbilitySettings, budget: int, edits: Sequence[str], seed: int
) -> Ability:
    """Draws text and edits, and measures the unedited model.

    `edits`: the ids of those that can be made. Raises InputError if the text has no token that is predicted.
    """
    ability = settings.ability
    text, rows = "", list[tuple[int, ...]]()
    if ability.tokens:
        length = min(ability.length, loaded.spec.positions)
        text = ", ".join(path.name for path in ability.files) or WRITTEN
        own = islice(written(loaded, SEEDS + seed, length, BATCH), ability.tokens)
        given = read_texts(ability.files) if ability.files else own
        rows = pieces(loaded.tokenizer, given, ability.tokens, length)
        if not rows:
            raise InputError(f"edit.ability.text: {text}: no text of two tokens or more; name another file")
    without = Ability(
        model=loaded.digest,
        name=loaded.name,
        text=text,
        tokens=sum(len(row) - 1 for row in rows),
        pieces=[list(row) for row in rows],
        edits=sorted(sorted(edits, key=lambda edit: draw("ability", seed, edit))[: ability.sample]),
        tasks=ability.tasks,
        limit=ability.limit,
    )
    before = measured(without, loaded, budget, {}, -1)
    if before["perplexity"] is not None and not math.isfinite(before["perplexity"]):
        raise InputError(
            f"edit.ability: the perplexity of {loaded.name} itself is not finite on {text}; give another "
            "text, or another type of the weights (edit.dtype)"
        )
    results = json.loads(before["tasks"]) if before["tasks"] else None
    return msgspec.structs.replace(without, perplexity=before["perplexity"], results=results)


def run_tasks(loaded: Loaded, tasks: Sequence[str], limit: int, deltas: Deltas, owner: int) -> Results:
    """Runs tasks on a model with edit `owner` of `deltas` in place; on the unedited one if `deltas` is empty.

    `tasks`: names, or YAML files of tasks. `limit`: examples of each task, 0 for all. Prompts are those of
    the task, without a chat template. Raises InputError if lm-eval is not installed, a task is not known, its
    data cannot be fetched, or the model is not one of transformers. Returns numbers of tasks that belong to
    no group, and of groups, without standard errors.
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
            results = simple_evaluate(
                HFLM(pretrained=loaded.model, tokenizer=tokenizer, batch_size=REQUESTS),
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
    inner = {name for names in results["group_subtasks"].values() for name in names}
    return {
        task: {
            key.removesuffix(",none"): float(value)
            for key, value in values.items()
            if "," in key and "_stderr" not in key and isinstance(value, int | float)
        }
        for task, values in results["results"].items()
        if task not in inner
    }

"""Measures what edits do to a model in general: perplexity on a held-out text, and tasks. Imports torch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

import msgspec

from factdrift.core.errors import InputError
from factdrift.evaluation.ability.record import Ability
from factdrift.evaluation.ability.settings import AbilitySettings
from factdrift.evaluation.ability.tasks import run_tasks
from factdrift.evaluation.questions.updates import draw
from factdrift.models.deltas import Deltas
from factdrift.models.loaded import Loaded
from factdrift.models.perplexity import perplexity, pieces
from factdrift.models.texts import read_texts, sampled

WRITTEN = "text that the unedited model wrote"
BATCH = 16
"""Texts that the model writes at a time."""
SEEDS = 2**32
"""Added to the seed of the text that the model writes: `models moments --sampled` counts on from the seed."""


def measured(ability: Ability, loaded: Loaded, budget: int, deltas: Deltas, owner: int) -> dict[str, Any]:
    """The columns `perplexity` and `tasks` of STATES for a model with edit `owner` of `deltas` in place.

    The unedited model if `deltas` is empty.
    """
    found: dict[str, Any] = {"perplexity": None, "tasks": None}
    if ability.pieces:
        found["perplexity"] = perplexity(loaded, ability.pieces, deltas, owner, budget)
    if ability.tasks:
        results = run_tasks(loaded, ability.tasks, ability.limit, deltas, owner)
        found["tasks"] = json.dumps(results, sort_keys=True)
    return found


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
        written = islice(_written(loaded, length, seed), ability.tokens)
        given = read_texts(ability.files) if ability.files else written
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
        perplexity=None,
        results=None,
    )
    found = measured(without, loaded, budget, {}, -1)
    if found["perplexity"] is not None and not math.isfinite(found["perplexity"]):
        raise InputError(
            f"edit.ability: the perplexity of {loaded.name} itself is not finite on {text}; give another "
            "text, or another type of the weights (edit.dtype)"
        )
    results = json.loads(found["tasks"]) if found["tasks"] else None
    return msgspec.structs.replace(without, perplexity=found["perplexity"], results=results)


def _written(loaded: Loaded, length: int, seed: int) -> Iterator[str]:
    """An endless stream of texts that the model writes from an empty start."""
    for each in count(SEEDS + seed):
        yield from sampled(loaded, "", length, BATCH, each)

"""PROMPT, which puts the new fact before each probe as text, and `none`. Neither changes a weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited

if TYPE_CHECKING:
    from factdrift.models.loaded import Loaded


def texts_of(edits: Sequence[Edit], hyper: Hyper) -> list[str]:
    """The updates as texts; by default "<update prompt> <new object>. ", as in the reference."""
    return [hyper["text"].format(prompt=edit.prompt, target=edit.target) for edit in edits]


def prompt(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """The text of an edit before each of its probes."""
    return Edited(contexts=texts_of(edits, hyper))


def in_stream(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """As `prompt`, after earlier edits: one that these replace has their text from now on.

    `memory`: the id of each edit so far -> its text.
    """
    made = texts_of(edits, hyper)
    memory = dict(artefacts.memory or {})
    for edit, text in zip(edits, made, strict=True):
        memory |= dict.fromkeys((edit.id, *edit.replaces), text)
    return Edited(contexts=made, memory=memory)


def recalled(memory: dict[str, str], names: Sequence[str], hyper: Hyper, loaded: Loaded) -> list[str]:
    """Texts to write before the prompts of the edits with these ids, after `in_stream`; empty for others."""
    return [memory.get(name, "") for name in names]


def none(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """The unedited model."""
    return Edited()

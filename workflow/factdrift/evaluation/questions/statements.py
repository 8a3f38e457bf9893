"""The new facts that items ask about, as edits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.interface import Edit
from factdrift.models.alignment import find_subject
from factdrift.tempripple.schemas import TR_FACTS, Row, read_rows

Timeline = tuple[str, str]
"""Subject and property."""


def edits_of(items: Sequence[Row], facts: Path) -> dict[Timeline, Edit]:
    """The new fact of each timeline that is asked about, as an edit; timelines in the order of their ids.

    An edit states exactly what the context of the same items does: its prompt is the context up to the
    object. Raises InputError if the facts are not those from which the items were made.
    """
    new = {(fact["s"], fact["p"]): fact for fact in read_rows(facts, TR_FACTS) if fact["role"] == "new"}
    contexts = {(item["s"], item["p"]): item["context"] for item in items}
    edits = {}
    for timeline in sorted(contexts):
        name = "-".join(timeline)
        if timeline not in new:
            raise InputError(f"{facts}: no new fact of {name}, which an item asks about; make both again")
        fact, context = new[timeline], contexts[timeline]
        said = f" {fact['o_label'].removesuffix('.')}."
        if not context.endswith(said):
            raise InputError(f"{facts}: the new fact of {name} is not what its context says: {context!r}")
        prompt = context.removesuffix(said)
        if find_subject(prompt, fact["s_label"]) < 0:
            raise InputError(f"{facts}: the context of {name} does not name its subject: {context!r}")
        edits[timeline] = Edit(name, prompt, fact["s_label"], fact["o_label"])
    return edits

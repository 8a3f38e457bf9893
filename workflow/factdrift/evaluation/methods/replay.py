"""Replay: fine-tuning on all updates so far, with texts that keep the rest of what the model knows.

The model is fine-tuned anew from the unedited weights, as an adapter of low rank (`lora`), with texts that it
wrote itself before any edit (Huang et al. 2024, arXiv 2403.01244; docs/methods-beside.md). Those that name
the subject of an update are left out, because they may state what it replaces. Imports torch.
"""

from collections.abc import Sequence

import torch

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.lora import edit_one, one_change
from factdrift.evaluation.methods.shared import aligned, generator
from factdrift.models.alignment import Sentence, untemplated
from factdrift.models.loaded import Loaded

Kept = tuple[str, str, str, str]
"""Id, prompt, subject and target of an update."""

END = ". "
"""What follows each text where it is kept (`shared.py`)."""


def replay(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of low rank, one for each edit."""
    return edit_one(loaded, edits, hyper, lambda edit: replayed(loaded, [edit], hyper, artefacts))


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change for all edits so far, without those that these replace, trained from the unedited model.

    `memory`: the updates so far (`Kept`). If the training diverges, all stays as it was.
    """
    sentences, failed = aligned(loaded, edits)
    gone = {name for edit in edits for name in edit.replaces}
    earlier: list[Kept] = list(artefacts.memory or ())
    kept = [one for one in earlier if one[0] not in gone]
    fresh = [edits[index] for index in sentences]
    kept += [(edit.id, edit.prompt, edit.subject, edit.target) for edit in fresh]
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    made = Edited(artefacts.before, failed=failed, losses=losses, memory=earlier)
    if sentences:
        so_far = [Edit(*one) for one in kept]
        group = [*aligned(loaded, so_far)[0].values()], replayed(loaded, so_far, hyper, artefacts)
        deltas, found = one_change(loaded, so_far, hyper, group)
        losses[list(sentences)] = found[-len(sentences) :].to(losses)
        if deltas:
            made.deltas, made.memory = deltas, kept
        else:
            failed |= dict.fromkeys(sentences, "diverged")
    return made


def replayed(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> list[Sentence]:
    """The texts that name no subject of these edits, in an order that depends on the seed and the edits' ids.

    All tokens but the first are targets. Raises CannotEdit if there is no such text.
    """
    tokenizer = untemplated(loaded.tokenizer)
    subjects = {edit.subject for edit in edits}
    texts = [text.removesuffix(END) for text in artefacts.prefixes if text]
    left = [text for text in texts if not any(subject in text for subject in subjects)]
    rows = [tuple(tokenizer(text)["input_ids"][: loaded.spec.positions]) for text in left]
    rows = [row for row in rows if len(row) > 1]
    if not rows:
        raise CannotEdit(
            f"{hyper.method} on {loaded.name}: of {len(texts)} texts that the model wrote, none is without "
            f"the subjects of {len(edits)} updates; ask for more of them ({hyper.method}.prefixes)"
        )
    draw = generator(f"{hyper['seed']}/replay " + "\n".join(edit.id for edit in edits))
    return [Sentence(rows[index], None, 1) for index in torch.randperm(len(rows), generator=draw).tolist()]

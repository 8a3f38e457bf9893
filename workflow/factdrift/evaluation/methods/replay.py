"""Replay: fine-tuning on all updates so far, with texts that keep the rest of what the model knows.

The model is fine-tuned anew on all updates so far, from the unedited weights, as an adapter of low rank
(`lora`). Each step also has texts that the unedited model wrote itself, because the data of its training are
not at hand (rehearsal on synthetic instances: Huang et al. 2024, arXiv 2403.01244). They are sampled once a
model before any edit, so the facts that they state do not depend on what is probed. Those that name the
subject of an update are left out, because they may state what it replaces. Imports torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.lora import Batch, Training
from factdrift.evaluation.methods.seeds import generator
from factdrift.evaluation.methods.targets import aligned
from factdrift.models.alignment import Sentence, untemplated
from factdrift.models.loaded import Loaded

Kept = tuple[str, str, str, str]
"""Id, prompt, subject and target of an update."""

END = ". "
"""What follows each text where it is kept (`artefacts/prefixes.py`)."""


@dataclass
class Group:
    """What one change is trained on."""

    sentences: list[Sentence]
    """The updates."""
    texts: list[Sentence]
    """What is replayed, in the order in which it is taken."""


def replay(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of low rank, one for each edit."""
    sentences, failed = aligned(loaded, edits)
    training = Training(loaded, hyper, [edit.id for edit in edits])
    groups = {
        place: Group([one], replayed(loaded, [edits[place]], hyper, artefacts))
        for place, one in sentences.items()
    }
    found = train(loaded, training, groups, hyper)
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    steps = torch.zeros(len(edits), dtype=torch.long)
    for place, (loss,) in found.items():
        losses[place], steps[place] = loss, hyper["steps"]
    fine = losses.isfinite() & training.finite().cpu()
    failed |= {place: "diverged" for place in found if not fine[place]}
    return Edited(training.deltas(without=failed), failed=failed, steps=steps, losses=losses)


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change for all edits so far, without those that these replace, trained from the unedited model.

    `memory`: the updates so far (`Kept`). If the training diverges, all stays as it was.
    """
    sentences, failed = aligned(loaded, edits)
    gone = {name for edit in edits for name in edit.replaces}
    earlier: list[Kept] = list(artefacts.memory or ())
    kept = [one for one in earlier if one[0] not in gone]
    fresh = [edits[place] for place in sentences]
    kept += [(edit.id, edit.prompt, edit.subject, edit.target) for edit in fresh]
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    made = Edited(artefacts.before, failed=failed, losses=losses, memory=earlier)
    if sentences:
        so_far = [Edit(*one) for one in kept]
        group = Group([*aligned(loaded, so_far)[0].values()], replayed(loaded, so_far, hyper, artefacts))
        training = Training(loaded, hyper, ["\n".join(edit.id for edit in so_far)])
        (found,) = train(loaded, training, {0: group}, hyper).values()
        losses[list(sentences)] = torch.stack(found[-len(sentences) :]).to(losses)
        if bool(training.finite()) and all(loss.isfinite() for loss in found):
            made.deltas, made.memory = training.deltas(), kept
        else:
            failed |= dict.fromkeys(sentences, "diverged")
    made.owner = [-1 if place in failed else 0 for place in range(len(edits))]
    return made


def train(
    loaded: Loaded, training: Training, groups: Mapping[int, Group], hyper: Hyper
) -> dict[int, list[torch.Tensor]]:
    """Trains the change of each group, by its number; returns the last losses of its updates.

    Each of `steps` rounds takes the updates of all groups in order, `batch` of each at a time, and with them
    the next `replayed` texts. A step minimises the mean over the target tokens of the updates plus `weight`
    times the mean over the tokens of the texts.
    """
    found: dict[int, list[torch.Tensor]] = {number: [] for number in groups}
    most = max((len(group.sentences) for group in groups.values()), default=0)
    turns = dict.fromkeys(groups, 0)
    for _ in range(hyper["steps"]):
        for at in range(0, most, hyper["batch"]):
            some = {number: group.sentences[at : at + hyper["batch"]] for number, group in groups.items()}
            rows = [(number, one) for number, ones in some.items() for one in ones]
            texts = []
            for number in dict.fromkeys(number for number, _ in rows):
                pool = groups[number].texts
                texts += [
                    (number, pool[(turns[number] + place) % len(pool)]) for place in range(hyper["replayed"])
                ]
                turns[number] += hyper["replayed"]
            updates, others = (
                Batch(loaded, [one for _, one in part], [number for number, _ in part], weight)
                for part, weight in ((rows, 1.0), (texts, hyper["weight"]))
            )
            for (number, _), loss in zip(rows, training.step(updates, others), strict=True):
                found[number].append(loss)
    return {number: losses[-len(groups[number].sentences) :] for number, losses in found.items()}


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
    return [Sentence(rows[place], None, 1) for place in torch.randperm(len(rows), generator=draw).tolist()]

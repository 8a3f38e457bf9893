"""WISE: a plain training loop on a copy of the matrix, the way of each prompt, and shards that are merged."""

from typing import Any

import pytest
import torch
from support.tiny_edits import EDITS
from support.tiny_models import rounding, tiny_model, tiny_tokenizer
from support.writing import continued

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.wise import Side, mask, merged, texts, train
from factdrift.evaluation.states.edited import edited
from factdrift.models.alignment import align
from factdrift.models.deltas import Dense, matrix, written
from factdrift.models.hooks import hooked
from factdrift.models.memories import Memories
from factdrift.models.scoring import score

WRITTEN = ("", "The sea is a baker. ", "You said so. ", "Therefore I am. ", "New Orleans is at the sea. ")
ARTEFACTS = Artefacts(prefixes=WRITTEN)
VALUES = {"layer": 1, "steps": 8, "contexts": 2, "margins": [0.1, 0.5, 0.3], "lr": 0.5, "ratio": 0.6}


def hyper_of(**changes: Any) -> Hyper:
    return read_hyper("wise", "tiny", {**VALUES, **changes})


def by_hand(family: str, hyper: Hyper, edit: Edit, other: str, kept: Any) -> tuple[Any, float]:
    """W' - W after the training of one edit on a copy of W, sentence by sentence; and its activation."""
    loaded = tiny_model(family)
    name = loaded.spec.module(1, loaded.spec.down)
    weight = matrix(loaded.model, name).clone()
    change = torch.zeros_like(weight, requires_grad=True)
    alpha, beta, gamma = hyper["margins"]
    for _ in range(hyper["steps"]):
        losses, acts = [], []
        for text, target in [*((before + edit.prompt, edit.target) for before in WRITTEN[:3]), (other, "")]:
            prompt = tiny_tokenizer()(text)["input_ids"]
            ids = tiny_tokenizer()(f"{text} {target}" if target else text)["input_ids"]
            taken: list[Any] = []

            def copied(entered: Any, given: Any, taken: list[Any] = taken, more: Any = change) -> Any:
                taken.append(entered[0])
                return given + entered @ more.T

            with hooked(loaded.model, {name: copied}):
                logs = loaded.model(torch.tensor([ids])).logits[0].log_softmax(-1)
            acts.append((taken[0][: len(prompt)] @ change.T).norm(dim=1).mean())
            if target:
                at = torch.tensor(ids[len(prompt) :])[:, None]
                losses.append(-logs[len(prompt) - 1 : -1].gather(1, at).mean())
        *own, away = acts
        whole = torch.stack(losses).mean()
        for terms in ([gamma - (act - away) for act in own], [away - alpha], [beta - act for act in own]):
            above = [term for term in terms if term > 0]
            if above:
                whole = whole + torch.stack(above).mean()
        (slope,) = torch.autograd.grad(whole, change)
        with torch.no_grad():
            change -= hyper["lr"] * (slope * kept + hyper["weight_decay"] * (weight + change))
            change.clamp_(-hyper["norm_constraint"], hyper["norm_constraint"])
    return change.detach(), torch.stack(own).mean().item()


@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen3_5_text"])
def test_an_edit_is_trained_as_defined(family):
    loaded = tiny_model(family)
    hyper = hyper_of(weight_decay=0.01, norm_constraint=0.08, stop_loss=0)
    name = loaded.spec.module(1, loaded.spec.down)
    start = torch.zeros_like(matrix(loaded.model, name))
    kept = mask(start, hyper, 0)
    rows = [align(tiny_tokenizer(), EDITS[0].prompt, EDITS[0].target, context=text) for text in WRITTEN[:3]]
    others = texts(loaded, hyper, ARTEFACTS)
    assert [others[0], others[1]] == [align(tiny_tokenizer(), text).ids for text in WRITTEN[3:]]
    found, _, steps = train(loaded, name, hyper, (rows, others[0]), start, kept)
    expected, activation = by_hand(family, hyper, EDITS[0], WRITTEN[3], kept)
    bound = max(1e-8, 1e4 * rounding(loaded.spec.family))
    assert (found.change - expected).norm() < bound * expected.norm()
    assert found.least == pytest.approx(activation, rel=max(1e-8, 100 * bound))
    assert found.change.abs().max() <= 0.08
    assert steps == 8
    assert not start.any()


def test_only_the_entries_of_the_shard_are_trained():
    loaded = tiny_model("llama")
    found = edited(loaded, EDITS[:3], hyper_of(shard=2, ratio=0.3), ARTEFACTS, "batch")
    one, two = found.memory
    first, second = (mask(one.change, hyper_of(ratio=0.3), number) for number in (0, 1))
    assert first.mean().item() == pytest.approx(0.3, abs=0.05)
    assert not torch.equal(first, second)
    assert (one.change != 0)[first == 0].sum() == 0
    assert (two.change != 0)[second == 0].sum() == 0
    assert (one.edits, two.edits) == (2, 1)


def test_a_training_ends_where_the_loss_is_small_and_settled():
    loaded = tiny_model("llama")
    found = edited(loaded, EDITS[:1], hyper_of(stop_loss=1e3, lr=1e-9, steps=50), ARTEFACTS)
    assert found.steps.tolist() == [2]


def test_full_shards_are_merged_and_another_memory_begins():
    changes = [torch.randn(6, 5, dtype=torch.float64) for _ in range(3)]
    hyper = hyper_of(shard=4, shards=2, density=0.5)
    parts = [
        Side(change, least, edits)
        for change, least, edits in zip(changes, (3.0, 2.0, 5.0), (4, 4, 1), strict=True)
    ]
    assert merged(parts[:1], hyper) == parts[:1]
    assert merged([*parts[:1], parts[2]], hyper) == [*parts[:1], parts[2]]
    (whole,) = merged(parts[:2], hyper)
    assert (whole.least, whole.edits) == (2.0, 8)
    least = [change.abs().flatten().sort(descending=True).values[14] for change in changes]
    kept = [change * (change.abs() >= bound) for change, bound in zip(changes[:2], least[:2], strict=True)]
    sign = torch.where(kept[0] + kept[1] >= 0, 1, -1)
    same = [change * sign > 0 for change in kept]
    mean = (kept[0] * same[0] + kept[1] * same[1]) / (same[0].int() + same[1].int()).clamp(min=1)
    assert torch.allclose(whole.change, mean)
    loaded = tiny_model("llama")
    found = edited(loaded, EDITS, hyper_of(shard=1, shards=2), ARTEFACTS, "batch")
    assert [side.edits for side in found.memory] == [2, 2, 1]
    (memories,) = found.codebooks.values()
    assert memories.values.shape[:2] == (1, 3)
    assert memories.thresholds[0].tolist() == pytest.approx([0.88 * side.least for side in found.memory])


def test_a_prompt_goes_through_the_memory_that_it_activates_most():
    loaded = tiny_model("llama")
    name = loaded.spec.module(1, loaded.spec.down)
    generator = torch.Generator().manual_seed(7)
    like = {"generator": generator, "dtype": loaded.dtype}
    one, two = (torch.randn(matrix(loaded.model, name).shape, **like) * size for size in (0.2, 0.3))
    sentences = [align(tiny_tokenizer(), edit.prompt, edit.target) for edit in EDITS]
    acts = []
    for sentence in sentences:
        taken: list[Any] = []
        with hooked(loaded.model, {name: lambda into, out, taken=taken: taken.append(into[0])}):
            loaded.model(torch.tensor([sentence.ids[: sentence.target]]))
        acts.append([(taken[0] @ change.T).norm(dim=1).mean().item() for change in (one, two)])
    # The second memory acts for the prompts that activate it most, the first one for the others, but for one.
    # Bounds halfway between two: a batch rounds an activation otherwise than a prompt alone.
    first, second = (sorted(each[which] for each in acts) for which in (0, 1))
    least, middle = sum(first[:2]) / 2, sum(second[2:4]) / 2
    memories = Memories(torch.stack([one, two])[None], torch.tensor([[least, middle]], dtype=torch.float64))
    found = score(loaded, sentences, {name: memories}, [0] * 5)
    base = score(loaded, sentences)
    ways = set()
    for place, sentence in enumerate(sentences):
        able = [which for which, bound in enumerate((least, middle)) if acts[place][which] > bound]
        which = max(able, key=lambda which: acts[place][which]) if able else -1
        ways.add(which)
        if which < 0:
            assert found.logprob[place] == base.logprob[place]
            continue
        with written(loaded.model, {name: Dense(torch.stack([one, two]))}, which):
            expected = score(loaded, [sentence]).logprob[0]
        assert found.logprob[place] == pytest.approx(expected, abs=1e-9)
        assert found.logprob[place] != base.logprob[place]
    assert len(ways) > 1


def test_a_continuation_keeps_the_way_of_its_prompt_whatever_is_beside_it():
    loaded = tiny_model("llama")
    found = edited(loaded, EDITS, hyper_of(threshold=0.9), ARTEFACTS)
    ids = [tiny_tokenizer()(edit.prompt)["input_ids"] for edit in EDITS]
    together = continued(loaded, ids, [6] * 5, found.changes, list(range(5)))
    for place, prompt in enumerate(ids):
        assert continued(loaded, [prompt], [6], found.changes, [place]) == [together[place]]
        assert together[place] != continued(loaded, [prompt], [6])[0] or place
    assert continued(loaded, ids, [6] * 5, found.changes, [-1] * 5) == continued(loaded, ids, [6] * 5)


def test_in_turn_is_in_one_go():
    loaded, hyper = tiny_model("llama"), hyper_of(shard=2)
    whole = edited(loaded, EDITS, hyper, ARTEFACTS, "sequential")
    memory = None
    for edit in EDITS:
        part = edited(loaded, [edit], hyper, Artefacts(prefixes=WRITTEN, memory=memory), "stream")
        memory = part.memory
    (one,), (other,) = whole.codebooks.values(), part.codebooks.values()
    assert torch.equal(one.values, other.values)
    assert torch.equal(one.thresholds, other.thresholds)
    alone = edited(loaded, EDITS[:1], hyper, ARTEFACTS)
    first = edited(loaded, EDITS[:1], hyper, ARTEFACTS, "stream")
    (lone,), (begun,) = alone.codebooks.values(), first.codebooks.values()
    assert torch.equal(lone.values, begun.values)


def test_an_edit_that_fails_acts_nowhere():
    loaded = tiny_model("llama")
    long = Edit("long", "Marta " * 200 + "lives in", "Marta", "New Orleans")
    (memories,) = edited(loaded, [long, EDITS[0]], hyper_of(), ARTEFACTS).codebooks.values()
    assert memories.thresholds[:, 0].isinf().tolist() == [True, False]
    with pytest.raises(
        CannotEdit, match=r"wise\.prefixes: of 4 texts the first 10 \(`contexts`\) come before"
    ):
        edited(loaded, EDITS, hyper_of(contexts=10), ARTEFACTS)

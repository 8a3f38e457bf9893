"""GRACE against its algorithm, edit by edit, without padding and with the whole model in each step."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from support.tiny_edits import EDITS
from support.tiny_models import rounding, tiny_model

from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.methods.grace import wrapped
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.shared import generator
from factdrift.evaluation.states.edited import edited
from factdrift.models.alignment import align
from factdrift.models.deltas import NEVER, Codebook
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import score

NEAR = (
    *EDITS,
    Edit("f", "Because of the sea the capital of Atlantis is", "Atlantis", "Zoë Müller"),
    Edit("g", "The mother of Zoë Müller is", "Zoë Müller", "Marta"),
)
"""With two of the same target, and all of them near to each other if the radius is great."""


def hyper_of(**values: Any) -> Hyper:
    return read_hyper("grace", "tiny", {"layer": 1, "steps": 6, "lr": 0.1} | values)


def only(found: Edited) -> Codebook:
    (book,) = found.codebooks.values()
    return book


class ByHand:
    """The codebook of the released code, for one text at a time: lists of keys, values, radii and labels."""

    def __init__(self, loaded: Loaded, hyper: Hyper):
        self.loaded, self.hyper = loaded, hyper
        self.name = wrapped(loaded, hyper)
        self.keys: list[Any] = []
        self.values: list[Any] = []
        self.radii: list[float] = []
        self.labels: list[tuple[int, ...]] = []
        self.done: list[str] = []
        self.losses: list[float] = []

    def edit(self, edit: Edit) -> None:
        one = align(self.loaded.tokenizer, edit.prompt, edit.target)
        key, out = self.seen(one.ids[: one.target])
        place = self.enter(key, one.ids[one.target :])
        if place == len(self.values):
            draw = generator(f"{self.hyper['seed']}/{edit.id}")
            new = torch.rand(len(out), generator=draw, dtype=out.dtype)
            self.values.append(new if self.hyper["start"] == "random" else out)
        value = self.values[place].clone().requires_grad_(True)
        adam = torch.optim.Adam([value], lr=self.hyper["lr"])
        end = one.target - 1
        places = {"last": [end], "prompt": [*range(end)], "all": [*range(len(one.ids))]}

        def replace(taken: Any, given: Any) -> Any:
            new = given.clone()
            new[0, places[self.hyper["tokens"]]] = value
            return new

        for _ in range(self.hyper["steps"]):
            with hooked(self.loaded.model, {self.name: replace}):
                logs = self.loaded.model(torch.tensor([one.ids])).logits[0, end:-1].log_softmax(-1)
            loss = -logs.gather(1, torch.tensor(one.ids[one.target :])[:, None]).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
        self.values[place] = value.detach()
        self.losses.append(loss.item())

    def seen(self, prompt: Sequence[int]) -> tuple[Any, Any]:
        found: list[Any] = []
        see = lambda taken, given: found.extend((taken[0, -1], given[0, -1].clone()))  # noqa: E731
        with torch.no_grad(), hooked(self.loaded.model, {self.name: see}):
            self.loaded.model(torch.tensor([list(prompt)]))
        return found[0], found[1]

    def enter(self, key: Any, label: tuple[int, ...]) -> int:
        """The place of the entry that is trained."""
        gaps = [(key - other).norm().item() for other in self.keys]
        near = min(range(len(gaps)), key=lambda place: gaps[place], default=-1)
        if near >= 0 and gaps[near] <= self.radii[near] + self.hyper["radius"]:
            if self.labels[near] == label:
                self.done.append("expand")
                self.radii[near] = max(self.radii[near], gaps[near])
                return near
            self.done.append("split")
            self.radii[near] = gaps[near] / 2 - 1e-5
            radius = gaps[near] / 2
        else:
            self.done.append("add")
            radius = self.hyper["radius"]
        self.keys.append(key)
        self.radii.append(radius)
        self.labels.append(label)
        return len(self.keys) - 1


def assert_same(loaded: Loaded, book: Codebook, edit: int, plain: ByHand) -> None:
    bound = max(1e-8, 1e5 * rounding(loaded.spec.family))
    assert (book.radii[edit] != NEVER).sum() == len(plain.keys)
    for entry, (key, value, radius) in enumerate(zip(plain.keys, plain.values, plain.radii, strict=True)):
        assert (book.keys[edit, entry] - key).norm() < bound * key.norm()
        assert (book.values[edit, entry] - value).norm() < bound * value.norm()
        assert book.radii[edit, entry].item() == pytest.approx(radius, rel=bound, abs=bound)


@pytest.mark.parametrize(
    ("family", "values"),
    [
        *((family, {}) for family in ("llama", "qwen3_5_text", "gpt_oss")),
        ("gpt2", {"tokens": "last", "start": "random", "module": "c_fc", "seed": 4}),
        ("gpt2", {"tokens": "prompt", "start": "output", "module": "c_fc"}),
        ("gpt2", {"tokens": "all", "start": "output"}),
    ],
)
def test_alone_each_edit_has_an_entry_of_its_own(family, values):
    loaded, hyper = tiny_model(family), hyper_of(**values)
    found = edited(loaded, EDITS, hyper, Artefacts())
    assert (found.failed, found.deltas, found.owner) == ({}, {}, None)
    assert list(found.codebooks) == [wrapped(loaded, hyper)]
    for place, edit in enumerate(EDITS):
        plain = ByHand(loaded, hyper)
        plain.edit(edit)
        assert_same(loaded, only(found), place, plain)
        assert found.losses[place].item() == pytest.approx(plain.losses[0], rel=1e-4)


@pytest.mark.parametrize(
    ("radius", "done"),
    [(1.8, {"add": 3, "expand": 1, "split": 3}), (1000, {"add": 1, "expand": 1, "split": 5})],
)
def test_a_codebook_grows_edit_by_edit(radius, done):
    loaded, hyper = tiny_model("llama"), hyper_of(radius=radius)
    plain = ByHand(loaded, hyper)
    for edit in NEAR:
        plain.edit(edit)
    assert {what: plain.done.count(what) for what in set(plain.done)} == done
    for regime in ("sequential", "batch"):
        found = edited(loaded, NEAR, hyper, Artefacts(), regime)
        assert found.owner == [0] * len(NEAR)
        assert len(only(found)) == 1
        assert_same(loaded, only(found), 0, plain)
        assert found.losses.tolist() == pytest.approx(plain.losses, rel=1e-6)


def test_an_edit_works_and_leaves_far_prompts_alone_bit_by_bit():
    loaded = tiny_model("llama")
    keys = ByHand(loaded, hyper_of())
    seen = [keys.seen(align(loaded.tokenizer, edit.prompt).ids)[0] for edit in EDITS]
    least = min((one - two).norm().item() for one in seen for two in seen if one is not two)
    found = edited(loaded, EDITS, hyper_of(radius=least / 2, steps=80, lr=0.5), Artefacts())
    asked = [align(loaded.tokenizer, edit.prompt, edit.target) for edit in EDITS]
    before = score(loaded, asked).logprob
    own = score(loaded, asked, found.changes, range(len(EDITS))).logprob
    assert (own > before + 0.3).all()
    others = score(loaded, asked, found.changes, [(place + 1) % len(EDITS) for place in range(len(EDITS))])
    assert (others.logprob == before).all()


def test_what_is_refused():
    with pytest.raises(InputError, match=r"grace\.module: .* has no c_fc, but gate_proj, up_proj, down_proj"):
        edited(tiny_model("llama"), EDITS, hyper_of(module="c_fc"), Artefacts())
    with pytest.raises(CannotEdit, match="grace on tiny-gpt_oss: mixture of experts"):
        edited(tiny_model("gpt_oss"), EDITS, hyper_of(module="down_proj"), Artefacts())
    assert wrapped(tiny_model("gpt2"), hyper_of(module="c_fc")) == "transformer.h.1.mlp.c_fc"
    assert wrapped(tiny_model("gpt_oss"), hyper_of()) == "model.layers.1.mlp"
    assert wrapped(tiny_model("qwen2_moe"), hyper_of()) == "model.layers.1.mlp.shared_expert.down_proj"

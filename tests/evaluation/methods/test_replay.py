"""Replay: fine-tuning on all updates so far with the model's own texts, as a plain loop on peft's model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.peft_models import assert_same, peft_model  # noqa: E402
from support.tiny_edits import EDITS  # noqa: E402
from support.tiny_models import tiny_model, tiny_tokenizer  # noqa: E402

from factdrift.core.errors import CannotEdit  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Edit  # noqa: E402
from factdrift.evaluation.methods.replay import replayed  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*checkpointing.*:FutureWarning")
WRITTEN = ("", "Therefore I am. ", "The capital of Poseidonis is New Orleans. ", "You said so of the sea. ")
"""As `edit prefixes` writes them: each text with what is put behind it, the empty one first."""
ABOUT = "Atlantis has a capital. "
"""A text that names the subject of an update."""


def hyper_of(**changes: Any) -> Hyper:
    values = {"rank": 3, "alpha": 6, "steps": 4, "dropout": 0, "batch": 2, "replayed": 2, "weight": 0.7}
    return read_hyper("replay", "tiny", {**values, **changes})


def artefacts(*texts: str) -> Artefacts:
    return Artefacts(prefixes=(*WRITTEN, *texts))


def by_peft(family: str, hyper: Hyper, edits: Sequence[Edit], seed: str) -> Any:
    """The definition on peft's model: sentence by sentence, without padding."""
    texts = [one.ids for one in replayed(tiny_model(family), edits, hyper, artefacts())]
    model = peft_model(family, hyper, seed)
    adam = torch.optim.Adam(model.parameters(), lr=hyper["lr"])

    def losses(ids: Sequence[int], start: int) -> Any:
        logs = model(input_ids=torch.tensor([list(ids)])).logits[0].log_softmax(-1)
        return -logs[start - 1 : -1].gather(1, torch.tensor(ids[start:])[:, None])

    taken = 0
    for _ in range(hyper["steps"]):
        for at in range(0, len(edits), hyper["batch"]):
            own = []
            for edit in edits[at : at + hyper["batch"]]:
                ids = tiny_tokenizer()(f"{edit.prompt} {edit.target}")["input_ids"]
                own.append(losses(ids, len(tiny_tokenizer()(edit.prompt)["input_ids"])))
            others = [losses(texts[(taken + place) % len(texts)], 1) for place in range(hyper["replayed"])]
            taken += hyper["replayed"]
            adam.zero_grad()
            (torch.cat(own).mean() + hyper["weight"] * torch.cat(others).mean()).backward()
            adam.step()
    return model


BOUND = 1e-6
"""Weights of the losses are in float32."""


@pytest.mark.parametrize("family", ["gpt2", "qwen3_5_text"])
def test_all_updates_are_trained_together_with_the_texts(family: str) -> None:
    hyper = hyper_of()
    loaded, seed = tiny_model(family), "\n".join(edit.id for edit in EDITS[:3])
    found = edited(loaded, EDITS[:3], hyper, artefacts(), "batch")
    assert (found.failed, found.owner) == ({}, [0, 0, 0])
    assert_same(loaded, found, 0, by_peft(family, hyper, EDITS[:3], seed), BOUND)


def test_alone_each_has_a_change_of_its_own() -> None:
    loaded, hyper = tiny_model("llama"), hyper_of()
    found = edited(loaded, EDITS, hyper, artefacts())
    for place in (0, 4):
        model = by_peft("llama", hyper, [EDITS[place]], EDITS[place].id)
        assert_same(loaded, found, place, model, BOUND)


def test_in_a_stream_all_updates_that_hold_are_trained_from_the_start() -> None:
    loaded, hyper = tiny_model("llama"), hyper_of(dropout=0.2)
    later = Edit("f", "The capital of Atlantis is", "Atlantis", "Marta", replaces=("c",))
    first = edited(loaded, EDITS[:3], hyper, artefacts(), "stream")
    now = Artefacts(artefacts().prefixes, before=first.deltas, memory=first.memory)
    second = edited(loaded, [EDITS[3], later], hyper, now, "stream")
    at_once = edited(loaded, [*EDITS[:2], EDITS[3], later], hyper, artefacts(), "sequential")
    assert [one[0] for one in second.memory] == ["a", "b", "d", "f"]
    for name, delta in second.deltas.items():
        assert torch.equal(delta.dense(0)[0], at_once.deltas[name].dense(0)[0])
    assert second.losses is not None
    assert second.losses.isfinite().all()
    assert len(second.losses) == 2


def test_texts_about_an_edited_subject_are_not_replayed() -> None:
    loaded, hyper = tiny_model("llama"), hyper_of()
    plain, more = (
        {one.ids for one in replayed(loaded, edits, hyper, artefacts(ABOUT))}
        for edits in (EDITS[:2], EDITS[:3])
    )
    about = tuple(tiny_tokenizer()(ABOUT.removesuffix(". "))["input_ids"])
    assert plain - more == {about}
    assert len(more) == 3
    other = replayed(loaded, EDITS[:2], hyper_of(seed=1), artefacts(ABOUT))
    assert {one.ids for one in other} == plain
    with pytest.raises(
        CannotEdit, match="replay on tiny-llama: of 1 texts that the model wrote, none is without"
    ):
        replayed(loaded, EDITS, hyper, Artefacts(prefixes=("", ABOUT)))
    with pytest.raises(CannotEdit, match=r"ask for more of them \(replay\.prefixes\)"):
        edited(loaded, EDITS, hyper, Artefacts(), "batch")


def test_what_fails_changes_nothing() -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    long = Edit("long", "Marta " * 200 + "lives in", "Marta", "New Orleans")
    first = edited(loaded, [EDITS[0], long], hyper_of(), artefacts(), "stream")
    assert [one[0] for one in first.memory] == ["a"]
    now = Artefacts(artefacts().prefixes, before=first.deltas, memory=first.memory)
    found = edited(loaded, [EDITS[1]], hyper_of(alpha=1e300), now, "stream")
    assert (found.failed, found.owner) == ({0: "diverged"}, [-1])
    assert found.deltas == first.deltas
    assert found.memory == first.memory

"""Replay: fine-tuning on all updates so far with the model's own texts, as a plain loop on peft's model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.peft_models import assert_same, trained_by_peft  # noqa: E402
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


def by_peft(family: str, hyper: Hyper, edits: Sequence[Edit]) -> Any:
    texts = [one.ids for one in replayed(tiny_model(family), edits, hyper, artefacts())]
    model, _ = trained_by_peft(family, hyper, edits, texts, hyper["replayed"], hyper["weight"])
    return model


BOUND = 1e-6
"""Weights of the losses are in float32."""


@pytest.mark.parametrize("family", ["gpt2", "qwen3_5_text"])
def test_all_updates_are_trained_together_with_the_texts(family: str) -> None:
    hyper = hyper_of()
    loaded = tiny_model(family)
    found = edited(loaded, EDITS[:3], hyper, artefacts(), "batch")
    assert (found.failed, found.owner) == ({}, [0, 0, 0])
    assert_same(loaded, found, 0, by_peft(family, hyper, EDITS[:3]), BOUND)


def test_alone_each_has_a_change_of_its_own() -> None:
    loaded, hyper = tiny_model("llama"), hyper_of()
    found = edited(loaded, EDITS, hyper, artefacts())
    for place in (0, 4):
        assert_same(loaded, found, place, by_peft("llama", hyper, [EDITS[place]]), BOUND)


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

"""Training MEND's editor: facts and their split, practice edits, going on where a killed run stopped."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors import safe_open
from support.tiny_models import tiny_model

from factdrift.core.errors import InputError
from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.evaluation.methods import mend_training
from factdrift.evaluation.methods.editors import Fact, Sources, Split, read_split
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.mend_training import draw_examples, train
from factdrift.models.moments import ABOUT

Row = dict[str, Any]

VALUES = {"blocks": 2, "rank": 4, "edit_lr": 0.01, "lr": 0.01, "lr_lr": 0.01, "edit_weight": 0.1}
VALUES |= {"locality_weight": 1.0, "batch": 3, "clip": 100, "steps": 6, "patience": 100}
VALUES |= {"validate_every": 2, "validation": 4}


ADVANCE = mend_training._State.advance


def hyper(**changes: Any) -> Hyper:
    return Hyper("mend", "tiny", "test", {**VALUES, **changes})


def facts(*subjects: str) -> tuple[Fact, ...]:
    prompts = [(f"The capital of {subject} is", f"{subject} is run from") for subject in subjects]
    return tuple(
        Fact(f"Q{subject}", "P36", prompt, f"city of {subject}")
        for subject, prompt in zip(subjects, prompts, strict=True)
    )


def split() -> Split:
    known = facts("Atlantis", "New Orleans", "America", "Marta Kowalska")
    return Split(known, facts("Zoë", "Müller"), {"P36": tuple(sorted(fact.object for fact in known))})


def named(id: str | None, label: str) -> Row:
    return {"id": id, "label": label, "description": None}


def dataset(folder: Path) -> Sources:
    """Updates of even-numbered subjects, each with two neighbours; the first five are edited."""
    rows = []
    for number in range(0, 60, 2):
        decided = [(f"old {number}", "obsolete"), (f"new {number}", "new")]
        near = [
            {
                "subject": named(f"Q{other}", f"subject {other}"),
                "relation": named("P36", "capital"),
                "objects": [{"object": named(None, f"capital {other % 7}"), "prompt": "unused ____"}],
            }
            for other in (number, number + 1)
        ]
        rows.append(
            {
                "subject": named(f"Q{number}", f"subject {number}"),
                "relation": named("P6", "head of government"),
                "update_prompt": f"The head of subject {number} is ____",
                "generalization_prompts": [
                    f"Subject {number} is led by ____",
                    f"The leader, {number}, is ____ now",
                ],
                "objects": [named(None, label) | {"decision": decision} for label, decision in decided],
                "neighborhood": near,
                "random_neighborhood": [],
            }
        )
    templates = [
        {"property": 36, "rank": rank, "template": text}
        for rank, text in ((2, "{subject} is run from {object}"), (1, "The capital of {subject} is {object}"))
    ]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / "wfd.parquet")
    pq.write_table(pa.Table.from_pylist(templates), folder / "templates.parquet")
    pq.write_table(
        pa.table({"subject": [f"Q{number}" for number in range(0, 10, 2)]}), folder / "edits.parquet"
    )
    return Sources(folder / "wfd.parquet", folder / "templates.parquet", folder / "edits.parquet")


def test_facts_are_those_of_subjects_that_are_not_edited(tmp_path):
    found = read_split(dataset(tmp_path), hyper(validation_share=0.2), 0)
    everything = {(fact.subject, fact.relation): fact for fact in (*found.train, *found.validation)}
    edited = {f"Q{number}" for number in range(0, 10, 2)}
    assert not edited & {subject for subject, _ in everything}
    assert everything["Q10", "P6"] == Fact(
        "Q10", "P6", ("The head of subject 10 is", "Subject 10 is led by"), "old 10"
    )
    # The neighbours of updates that are edited count as long as their subjects are not.
    assert everything["Q1", "P36"].prompts == ("The capital of subject 1 is", "subject 1 is run from")
    assert everything["Q1", "P36"].object == "capital 1"
    assert len(everything) == 30 + 25 + 25


def test_the_split_is_by_subject_and_seed(tmp_path):
    files = dataset(tmp_path)
    first, again, other = (read_split(files, hyper(validation_share=0.3), seed) for seed in (0, 0, 1))
    assert first == again
    assert first.digest() == again.digest() != other.digest()
    train_, validation = ({fact.subject for fact in part} for part in (first.train, first.validation))
    assert not train_ & validation
    assert 5 < len(validation) < 30
    first.write(tmp_path / "split.json")
    recorded = json.loads((tmp_path / "split.json").read_text())
    assert recorded == {"digest": first.digest(), "train": sorted(train_), "validation": sorted(validation)}


def test_practice_edits():
    known = split()
    examples = draw_examples(known, known.train, 50, "seed")
    assert examples == draw_examples(known, known.train, 50, "seed")
    assert examples != draw_examples(known, known.train, 50, "other")
    by_prompt = {prompt: fact for fact in known.train for prompt in fact.prompts}
    for (prompt, target), paraphrase, locality in examples:
        fact = by_prompt[prompt]
        assert target in known.pools["P36"]
        assert target != fact.object
        assert paraphrase[1] == target
        assert {prompt, paraphrase[0]} == set(fact.prompts)
        other = by_prompt[locality[0]]
        assert other.subject != fact.subject
        assert locality[1] == other.object


def test_training_lowers_what_practice_edits_cost(tmp_path, capsys):
    loaded = tiny_model("llama", dtype=torch.float32)
    rates = {"edit_lr": -0.01, "lr": 0.001, "edit_weight": 1.0}
    train(loaded, split(), hyper(**rates, steps=30, validate_every=30), tmp_path / "late.safetensors")
    train(loaded, split(), hyper(**rates, steps=1, validate_every=1), tmp_path / "early.safetensors")
    late, early = (_about(tmp_path / f"{name}.safetensors") for name in ("late", "early"))
    assert late["validation"] < 0.95 * early["validation"]
    assert late["model"] == loaded.digest
    assert late["split"] == split().digest()
    assert json.loads(late["hyper"])["steps"] == 30
    assert "MEND on tiny-llama: 30 of 30 steps (100%)" in capsys.readouterr().err
    assert not list(tmp_path.glob(".*"))


def _about(path: Path) -> dict[str, Any]:
    with safe_open(path, framework="pt") as file:
        about: dict[str, Any] = json.loads(file.metadata()[ABOUT])
    return about


def steps_of(monkeypatch: pytest.MonkeyPatch, killed_at: int | None = None) -> list[int]:
    """The steps that are taken from now on; at `killed_at` the training is interrupted instead."""
    taken: list[int] = []

    def counted(state: Any, found: Any) -> None:
        if state.step == killed_at:
            raise KeyboardInterrupt
        taken.append(state.step)
        ADVANCE(state, found)

    monkeypatch.setattr(mend_training._State, "advance", counted)
    return taken


def test_a_killed_run_goes_on_to_the_same_editor(tmp_path, monkeypatch):
    loaded = tiny_model("gpt2", dtype=torch.float32)
    train(loaded, split(), hyper(), tmp_path / "whole.safetensors")
    steps_of(monkeypatch, killed_at=3)
    with pytest.raises(KeyboardInterrupt):
        train(loaded, split(), hyper(), tmp_path / "broken.safetensors")
    assert not (tmp_path / "broken.safetensors").exists()
    taken = steps_of(monkeypatch)
    train(loaded, split(), hyper(), tmp_path / "broken.safetensors")
    assert taken == [2, 3, 4, 5]
    assert (tmp_path / "broken.safetensors").read_bytes() == (tmp_path / "whole.safetensors").read_bytes()


@pytest.mark.parametrize("other_facts", [True, False])
def test_a_checkpoint_of_other_facts_or_another_type_is_ignored(other_facts, tmp_path, monkeypatch):
    loaded, output = tiny_model("gpt2", dtype=torch.float32), tmp_path / "mend.safetensors"
    steps_of(monkeypatch, killed_at=3)
    with pytest.raises(KeyboardInterrupt):
        train(loaded, split(), hyper(), output)
    assert (tmp_path / ".mend.safetensors.checkpoint").is_file()
    taken = steps_of(monkeypatch, killed_at=1)
    other = Split(split().train[:3], split().validation, split().pools) if other_facts else split()
    with pytest.raises(KeyboardInterrupt):
        train(loaded if other_facts else tiny_model("gpt2", dtype=torch.bfloat16), other, hyper(), output)
    assert taken == [0]


def test_training_stops_where_nothing_gets_better(tmp_path):
    loaded = tiny_model("gpt2", dtype=torch.float32)
    still = hyper(lr=0.0, lr_lr=0.0, edit_lr=0.0, steps=1000, patience=4)
    train(loaded, split(), still, tmp_path / "mend.safetensors")
    assert _about(tmp_path / "mend.safetensors")["step"] == 2


def test_a_tokenizer_that_hides_every_target_is_reported(tmp_path):
    loaded = tiny_model("gpt2", dtype=torch.float32)
    long = tuple(
        Fact(fact.subject, fact.relation, tuple(60 * text for text in fact.prompts), fact.object)
        for fact in split().train
    )
    with pytest.raises(InputError, match="most facts cannot be aligned with its tokens"):
        train(loaded, Split(long, long, split().pools), hyper(), tmp_path / "mend.safetensors")

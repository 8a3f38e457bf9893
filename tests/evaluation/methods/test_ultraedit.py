"""UltraEdit against its equations, computed without padding, matrix by matrix and with inverses."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from support.tiny_edits import EDITS
from support.tiny_models import tiny_model
from torch import Tensor

from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.mend import Statistics, gradients
from factdrift.evaluation.methods.ultraedit import EPSILON
from factdrift.evaluation.states.edited import edited
from factdrift.models.alignment import align
from factdrift.models.deltas import Deltas, written
from factdrift.models.loaded import Loaded


def hyper_of(**values: Any) -> Hyper:
    return read_hyper("ultraedit", "tiny", {"layers": [1, 2], "lr": 0.01} | values)


def features(
    loaded: Loaded, edits: Sequence[Edit], names: Sequence[str], batch: int
) -> dict[str, tuple[Tensor, Tensor]]:
    """Matrix -> (h, gradient by the output) of all target tokens, the edits in the order of their length."""
    sentences = [align(loaded.tokenizer, edit.prompt, edit.target) for edit in edits]
    sentences.sort(key=lambda one: -len(one.ids))
    found: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in names}
    for start in range(0, len(sentences), batch):
        some = sentences[start : start + batch]
        total = sum(len(one.ids) - one.target for one in some)
        for one in some:
            # Of the mean over the target tokens of a sentence alone; gradients of the batch are of theirs.
            share = (len(one.ids) - one.target) / total
            for name, (keys, grads) in gradients(loaded, names, [one])[1].items():
                at = slice(one.target - 1, len(one.ids) - 1)
                found[name].append((keys[0, at], grads[0, at] * share))
    return {
        name: (torch.cat([h for h, _ in all_]), torch.cat([g for _, g in all_]))
        for name, all_ in found.items()
    }


def by_equations(turns: Sequence[Mapping[str, tuple[Tensor, Tensor]]], hyper: Hyper) -> dict[str, Tensor]:
    """The change of each matrix in the last of `turns`, [d_out, d_in], normalised over all of them."""
    change = {}
    for name, (keys, grads) in turns[-1].items():
        shape = (keys.shape[1], grads.shape[1])
        alike = [
            pair for turn in turns for pair in turn.values() if (pair[0].shape[1], pair[1].shape[1]) == shape
        ]
        hats = []
        for side, values in enumerate((keys, grads)):
            all_ = torch.cat([pair[side] for pair in alike])
            hats.append((values - all_.mean(0)) / (all_.std(0) + EPSILON))
        target = torch.stack([-hyper["lr"] * (h @ h) * g for h, g in zip(*hats, strict=True)])
        gram = keys.T @ keys + hyper["ridge"] * torch.eye(shape[0], dtype=keys.dtype)
        change[name] = (torch.linalg.inv(gram) @ keys.T @ target).T
    return change


def names_of(loaded: Loaded, hyper: Hyper) -> list[str]:
    spec = loaded.spec
    names = [spec.module(layer, spec.down) for layer in hyper["layers"]]
    return names + [
        spec.module(layer, f"mlp.{part}") for part, layers in hyper["others"].items() for layer in layers
    ]


def assert_alike(deltas: Deltas, expected: Mapping[str, Tensor]) -> None:
    assert set(deltas) == set(expected)
    for name, change in expected.items():
        found = deltas[name].dense(0)[0]
        assert change.norm() > 0
        # Some families normalise in float32 at any type.
        assert (found - change).norm() < 1e-6 * change.norm(), name


@pytest.mark.parametrize(
    ("family", "values"),
    [
        ("gpt2", {"layers": [2], "batch": 10}),
        ("llama", {"layers": [2], "others": {"gate_proj": [0, 1], "up_proj": [1]}, "batch": 2, "ridge": 0.1}),
    ],
)
def test_a_batch_is_that_of_the_equations(family, values):
    loaded, hyper = tiny_model(family), hyper_of(**values)
    found = edited(loaded, EDITS, hyper, Artefacts(), "batch")
    assert (found.failed, found.owner) == ({}, [0] * len(EDITS))
    turn = features(loaded, EDITS, names_of(loaded, hyper), hyper["batch"])
    assert_alike(found.deltas, by_equations([turn], hyper))


def test_in_turns_the_statistics_are_those_of_all_edits_so_far():
    loaded, hyper = tiny_model("llama"), hyper_of(turn=2, batch=2)
    names = names_of(loaded, hyper)
    found = edited(loaded, EDITS[:4], hyper, Artefacts(), "sequential")
    first = edited(loaded, EDITS[:2], hyper, Artefacts(), "batch")
    turns = [features(loaded, EDITS[:2], names, 2)]
    changes = by_equations(turns, hyper)
    assert_alike(first.deltas, changes)
    with written(loaded.model, first.deltas, 0):
        turns.append(features(loaded, EDITS[2:4], names, 2))
    later = by_equations(turns, hyper)
    assert_alike(found.deltas, {name: changes[name] + later[name] for name in names})
    forgetful = by_equations(turns[1:], hyper)
    assert all((forgetful[name] - later[name]).norm() > 0.01 * later[name].norm() for name in names)


def test_what_is_refused():
    loaded = tiny_model("llama")
    with pytest.raises(CannotEdit, match=r"edit\.regime: independent: ultraedit cannot edit so"):
        edited(loaded, EDITS, hyper_of(), Artefacts())
    for values, message in (
        (
            {"others": {"fc_in": [1]}},
            r"ultraedit\.others: .* has no fc_in, but gate_proj, up_proj, down_proj",
        ),
        ({"others": {"up_proj": [3]}}, r"ultraedit\.others: tiny-llama has no block 3, but blocks 0 to 2"),
        ({"layers": []}, "neither `layers` nor `others` names a matrix"),
    ):
        with pytest.raises(InputError, match=message):
            edited(loaded, EDITS, hyper_of(**values), Artefacts(), "batch")


def test_a_single_token_is_its_own_mean_and_has_no_deviation_in_the_released_code():
    loaded, edits = tiny_model("llama"), [Edit("s", "The capital of Atlantis is", "Atlantis", "Kowalska")]
    sentence = align(loaded.tokenizer, edits[0].prompt, edits[0].target)
    assert len(sentence.ids) - sentence.target == 1
    ((_, delta),) = edited(loaded, edits, hyper_of(layers=[1]), Artefacts(), "batch").deltas.items()
    assert not delta.dense(0)[0].any()
    # The matrices of one shape are seen one after another, each with a batch of one token.
    found = edited(loaded, edits, hyper_of(variance="released"), Artefacts(), "batch")
    assert found.failed == {0: "diverged"}


def test_the_variance_of_the_released_code():
    """Which adds n times the unbiased variance of each batch, and what the mean of the batch adds."""
    statistics = Statistics(3, EPSILON, True).double()
    total, mean, count = torch.zeros(3).double(), torch.zeros(3).double(), 0
    for part in torch.randn(7, 3, dtype=torch.float64).split([3, 4]):
        n, apart = len(part), part.mean(0) - mean
        total = total + n * part.var(0) + apart**2 * count * n / (count + n)
        mean, count = (mean * count + part.sum(0)) / (count + n), count + n
        statistics.see(part)
    assert torch.allclose(statistics.squares, total, rtol=1e-12)

"""Hyper-parameters of models that no entry names, against the published entries from which the rules come."""

from __future__ import annotations

from statistics import median, mode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.core.files import read_yaml
from factdrift.core.paths import METHODS
from factdrift.evaluation.methods.hyperparameters import check_values, read_hyper
from factdrift.models.sizes import Sizes

BLOCKS = {
    **{"gpt2-medium": 24, "gpt2-large": 36, "gpt2-xl": 48, "gpt-j-6b": 28, "gpt-neox-20b": 44},
    **{"llama-2-7b*": 32, "llama-3-8b*": 32, "llama-3.2-3b*": 28, "mistral-7b*": 32},
    **{"qwen-7b*": 32, "qwen2-7b*": 28, "qwen2.5-7b*": 28, "qwen3.5-9b*": 32},
}
"""Blocks of the models with published values; other names of the same model are left out."""
SIZES = Sizes(28, 1024)


def published(method: str) -> list[tuple[int, dict[str, Any]]]:
    """Blocks and values of each model with a published entry, defaults included."""
    file = read_yaml(METHODS / f"{method}.yaml")
    defaults = {key: schema.get("default") for key, schema in file["keys"].items()}
    return [
        (blocks, defaults | entry)
        for name, blocks in BLOCKS.items()
        for entry in file["models"]
        if name in entry["names"]
    ]


def rules(method: str) -> dict[str, Any]:
    found: dict[str, Any] = read_yaml(METHODS / f"{method}.yaml")["derived"]["rules"]
    return found


def test_layers_have_the_median_share_of_the_published_ones() -> None:
    assert len(published("rome")) == len(BLOCKS)
    shares = [entry["layer"] / blocks for blocks, entry in published("rome")]
    assert rules("rome")["layer"]["share"] == pytest.approx(median(shares), abs=5e-4)
    for method in ("ft", "ft_l"):
        shares = [entry["layers"][0] / blocks for blocks, entry in published(method)]
        assert rules(method)["layers"]["share"] == pytest.approx(median(shares), abs=5e-4)
    between = [
        median(entry["layers"][place] / blocks for blocks, entry in published("memit")) for place in (0, -1)
    ]
    assert rules("memit")["layers"]["between"] == pytest.approx(between, abs=5e-4)
    assert rules("memit")["layers"]["most"] == mode(len(entry["layers"]) for _, entry in published("memit"))
    assert rules("alphaedit")["layers"] == rules("memit")["layers"]


@pytest.mark.parametrize("method", ["rome", "memit", "alphaedit", "ft", "ft_l"])
def test_other_values_are_what_most_published_entries_have(method: str) -> None:
    entries = [entry for _, entry in published(method)]
    hyper = read_hyper(method, "some/thing", sizes=lambda: SIZES)
    for key in read_yaml(METHODS / f"{method}.yaml")["keys"]:
        if key not in ("layer", "layers", "norm_constraint"):
            assert str(hyper[key]) == mode(str(entry[key]) for entry in entries), key


@pytest.mark.parametrize(
    ("sizes", "rome", "memit", "ft", "bound"),
    [
        (Sizes(28, 1024), 5, [4, 5, 6, 7, 8], 21, 0.002),  # Qwen3-0.6B
        (Sizes(26, 1152), 4, [3, 4, 5, 6, 7], 19, 0.0014),  # Gemma-3-1B
        (Sizes(36, 1280), 6, [6, 7, 8, 9, 10], 27, 0.001),  # GPT-2 large
        (Sizes(48, 1600), 8, [9, 10, 11, 12, 13], 36, 0.0005),  # GPT-2 XL
        (Sizes(32, 4096), 5, [5, 6, 7, 8, 9], 24, 0.00005),  # OLMo-3-7B
        (Sizes(16, 2048), 2, [2, 3, 4], 12, 0.00027),  # Llama-3.2-1B
        (Sizes(80, 8192), 14, [18, 19, 20, 21, 22], 60, 0.00005),  # of 70 billion parameters
        (Sizes(1, 8), 0, [0], 0, 0.002),
    ],
)
def test_values_by_size(sizes: Sizes, rome: int, memit: list[int], ft: int, bound: float) -> None:
    made = {name: read_hyper(name, "a/b", sizes=lambda: sizes) for name in ("rome", "memit", "ft", "ft_l")}
    assert made["rome"]["layer"] == rome
    assert made["memit"]["layers"] == memit
    assert (made["ft"]["layers"], made["ft_l"]["layers"]) == ([ft], [0])
    assert made["ft_l"]["norm_constraint"] == bound


def test_a_derived_value_says_so() -> None:
    hyper = read_hyper("rome", "some/thing", sizes=lambda: SIZES)
    assert hyper.source == "derived, not tuned: layer 5 of 28; steps 25; weight_decay 0.001"
    assert hyper.derived == ("layer", "steps", "weight_decay")
    hyper = read_hyper("ft_l", "some/thing", {"lr": 0.1}, sizes=lambda: SIZES)
    assert hyper.source == (
        "derived, not tuned: layers 0 of 28; norm_constraint 0.002 for width 1024 and the configuration"
    )


def test_the_users_values_come_first_and_need_no_sizes() -> None:
    def never() -> Sizes:
        raise AssertionError("sizes are looked up though nothing depends on them")

    hyper = read_hyper("rome", "some/thing", {"layer": 7, "steps": 3}, sizes=never)
    assert (hyper["layer"], hyper["steps"], hyper["weight_decay"]) == (7, 3, 0.001)
    assert hyper.derived == ("weight_decay",)
    everything = {"layer": 7, "steps": 3, "weight_decay": 1}
    assert read_hyper("rome", "some/thing", everything, sizes=never).derived == ()
    for model in ("gpt2-xl", "sample"):
        assert read_hyper("rome", model, sizes=never).derived == ()
    # The same value, whether it is derived or given: nothing else changes.
    same = read_hyper("rome", "some/thing", {"layer": 5})
    assert same.digest() == read_hyper("rome", "some/thing", sizes=lambda: SIZES).digest()


@given(st.integers(1, 200), st.integers(8, 20000), st.sampled_from(["rome", "memit", "ft", "ft_l"]))
def test_derived_values_are_valid_for_any_model(layers: int, hidden: int, method: str) -> None:
    hyper = read_hyper(method, "some/thing", sizes=lambda: Sizes(layers, hidden))
    assert check_values(method, hyper) == dict(hyper)
    assert hyper.layers == sorted(hyper.layers)
    assert 0 <= hyper.layers[0] <= hyper.layers[-1] < layers

"""Hyper-parameters: of models with an entry, and by rules that come from the published entries."""

from statistics import median, mode
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml
from factdrift.core.paths import METHODS
from factdrift.evaluation.methods.hyperparameters import check_values, read_hyper
from factdrift.models.names import Sizes


@pytest.mark.parametrize(
    ("method", "model", "expected"),
    [
        ("rome", "gpt2-xl", {"layer": 17, "steps": 20, "lr": 0.5, "weight_decay": 0.5, "clamp": 4}),
        ("rome", "EleutherAI/gpt-j-6B", {"layer": 5, "kl": 0.0625, "covariance": True, "keys": "reference"}),
        ("rome", "gpt2-medium", {"layer": 8, "clamp": 3}),
        ("rome", "meta-llama/Llama-3.1-8B", {"layer": 5, "steps": 25, "weight_decay": 0.001}),
        ("memit", "EleutherAI/gpt-j-6b", {"layers": [3, 4, 5, 6, 7, 8], "moment_weight": 15000}),
        ("memit", "openai-community/gpt2-xl", {"layers": [13, 14, 15, 16, 17], "moment_weight": 20000}),
        ("memit", "gpt-j-6b", {"clamp": 0.75}),
        ("memit", "gpt2-xl", {"steps": 20}),
        ("memit", "meta-llama/Meta-Llama-3-8B", {"lr": 0.1, "clamp": 0.75, "weight_decay": 0.5}),
        ("memit", "Qwen/Qwen2.5-7B-Instruct", {"clamp": 4, "weight_decay": 0.001}),
        ("ft", "EleutherAI/gpt-j-6b", {"layers": [21], "lr": 0.0005, "steps": 25, "loss": "prompt_last"}),
        ("ft_l", "EleutherAI/gpt-j-6b", {"layers": [0], "norm_constraint": 0.00005}),
        ("ft_l", "gpt2-xl", {"layers": [0], "norm_constraint": 0.0005}),
    ],
)
def test_values_of_the_references(method, model, expected):
    hyper = read_hyper(method, model)
    assert {key: hyper[key] for key in expected} == expected
    assert hyper.source != "defaults"


def test_the_users_own_come_first_and_change_the_digest(tmp_path):
    plain, same = read_hyper("rome", "gpt2-xl"), read_hyper("rome", "gpt2-xl", {"layer": None})
    other = read_hyper("rome", "gpt2-xl", {"layer": 3, "keys": "averaged"})
    assert (other["layer"], other["keys"], other["steps"]) == (3, "averaged", 20)
    assert plain.digest() == same.digest() != other.digest()
    assert other.source.endswith("and the configuration")
    rag = read_hyper("rag", "gpt2-xl", {"index": "dense", "encoder": str(tmp_path)})
    before = rag.digest()
    (tmp_path / "model.safetensors").write_text("other weights")
    assert rag.digest() != before


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("rome", {"keyz": "averaged"}, r"rome\.keyz: no such key \(did you mean keys\?\); there are layer, "),
        ("rome", {"covariance": "no"}, r"rome\.covariance: 'no' is not of type 'boolean' \(Whether"),
        ("rome", {"layer": 2.5}, r"rome\.layer: 2\.5 is not of type 'integer'"),
        ("rome", {"lr": float("nan")}, r"rome\.lr: nan is not of type 'number'"),
        ("rome", {"layer": True}, r"rome\.layer: True is not of type 'integer'"),
        ("rome", {"essence": "{subjct} is"}, r"rome\.essence: '{subjct} is' does not match"),
        ("rome", {"prefixes": [{"start": "", "tokens": 0, "number": 1}]}, r"rome\.prefixes\.0\.tokens: 0 is"),
        ("memit", {"layers": []}, r"memit\.layers: \[\] should be non-empty"),
        ("memit", {"layers": [1, 2.5]}, r"memit\.layers\.1: 2\.5 is not of type 'integer'"),
    ],
)
def test_a_wrong_value_is_named(method, given, message):
    with pytest.raises(InputError, match=message):
        read_hyper(method, "gpt2-xl", given)


def test_texts_of_the_command_line_are_numbers():
    given = {"layers": ["1", "2"], "steps": "7", "lr": "1e-3", "covariance": "False"}
    hyper = read_hyper("memit", "gpt2-xl", given)
    assert [hyper[key] for key in given] == [[1, 2], 7, 0.001, False]
    assert repr(read_hyper("rome", "gpt2-xl", {"layer": 2.0})["layer"]) == "2"


@pytest.mark.parametrize("path", sorted(METHODS.glob("*.yaml")), ids=lambda path: path.stem)
def test_entries_give_only_what_the_method_knows(path):
    """And every entry says where it comes from and leaves nothing without a value."""
    file = read_yaml(path)
    defaults = {key: schema["default"] for key, schema in file["keys"].items() if "default" in schema}
    assert check_values(path.stem, defaults) == defaults
    for entry in file.get("models", []):
        given = {key: value for key, value in entry.items() if key not in ("names", "source")}
        assert check_values(path.stem, given) == given
        assert entry["source"]
        for name in entry["names"]:
            hyper = read_hyper(path.stem, name.replace("*", ""))
            assert (dict(hyper), hyper.source) == ({**defaults, **given}, entry["source"])


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
    return read_yaml(METHODS / f"{method}.yaml")["derived"]["rules"]


def test_layers_have_the_median_share_of_the_published_ones():
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
def test_other_values_are_what_most_published_entries_have(method):
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
def test_values_by_size(sizes, rome, memit, ft, bound):
    made = {name: read_hyper(name, "a/b", sizes=lambda: sizes) for name in ("rome", "memit", "ft", "ft_l")}
    assert made["rome"]["layer"] == rome
    assert made["memit"]["layers"] == memit
    assert (made["ft"]["layers"], made["ft_l"]["layers"]) == ([ft], [0])
    assert made["ft_l"]["norm_constraint"] == bound


def test_a_derived_value_says_so():
    hyper = read_hyper("rome", "some/thing", sizes=lambda: SIZES)
    assert hyper.source == "derived, not tuned: layer 5 of 28; steps 25; weight_decay 0.001"
    assert hyper.derived == ("layer", "steps", "weight_decay")
    hyper = read_hyper("ft_l", "some/thing", {"lr": 0.1}, sizes=lambda: SIZES)
    assert hyper.source == (
        "derived, not tuned: layers 0 of 28; norm_constraint 0.002 for width 1024 and the configuration"
    )


def test_the_users_values_come_first_and_need_no_sizes():
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


@hypothesis.given(
    st.integers(1, 200), st.integers(8, 20000), st.sampled_from(["rome", "memit", "ft", "ft_l"])
)
def test_derived_values_are_valid_for_any_model(layers, hidden, method):
    hyper = read_hyper(method, "some/thing", sizes=lambda: Sizes(layers, hidden))
    assert check_values(method, hyper) == dict(hyper)
    assert hyper.layers == sorted(hyper.layers)
    assert 0 <= hyper.layers[0] <= hyper.layers[-1] < layers

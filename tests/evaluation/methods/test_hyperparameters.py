import pytest
import yaml

from factdrift.core.errors import InputError
from factdrift.core.paths import METHODS
from factdrift.evaluation.methods.hyperparameters import check_values, read_hyper


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


def test_the_users_own_come_first_and_change_the_digest():
    plain, same = read_hyper("rome", "gpt2-xl"), read_hyper("rome", "gpt2-xl", {"layer": None})
    other = read_hyper("rome", "gpt2-xl", {"layer": 3, "keys": "averaged"})
    assert (other["layer"], other["keys"], other["steps"]) == (3, "averaged", 20)
    assert plain.digest() == same.digest() != other.digest()
    assert other.source.endswith("and the configuration")


def test_a_model_without_values_is_refused():
    with pytest.raises(InputError, match=r"rome\.yaml: nothing is known of the model some/thing: layer must"):
        read_hyper("rome", "some/thing")
    assert read_hyper("rome", "some/thing", {"layer": 2})["layer"] == 2


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("rome", {"keyz": "averaged"}, r"rome\.keyz: no such key; there are layer, steps"),
        ("rome", {"keys": "both"}, r"rome\.keys: 'both' is not one of \['reference', 'averaged'\]"),
        ("rome", {"covariance": "no"}, r"rome\.covariance: 'no' is not of type 'boolean' \(Whether"),
        ("rome", {"steps": "many"}, r"rome\.steps: 'many' is not of type 'integer' \(Forward passes"),
        ("rome", {"steps": 0}, r"rome\.steps: 0 is less than the minimum of 1"),
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
    assert {key: hyper[key] for key in given} == {
        **{"layers": [1, 2], "steps": 7, "lr": 0.001, "covariance": False}
    }
    assert repr(read_hyper("rome", "gpt2-xl", {"layer": 2.0})["layer"]) == "2"


@pytest.mark.parametrize("path", sorted(METHODS.glob("*.yaml")), ids=lambda path: path.stem)
def test_entries_give_only_what_the_method_knows(path):
    """And every entry says where it comes from and leaves nothing without a value."""
    file = yaml.safe_load(path.read_text(encoding="utf-8"))
    defaults = {key: schema["default"] for key, schema in file["keys"].items() if "default" in schema}
    assert check_values(path.stem, defaults) == defaults
    for entry in file.get("models", []):
        given = {key: value for key, value in entry.items() if key not in ("names", "source")}
        assert check_values(path.stem, given) == given
        assert entry["source"]
        for name in entry["names"]:
            hyper = read_hyper(path.stem, name.replace("*", ""))
            assert (dict(hyper), hyper.source) == ({**defaults, **given}, entry["source"])

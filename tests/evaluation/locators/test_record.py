"""Records of the locators: functions, keys, the table of docs/locating.md, and the layer that one follows."""

import re
from typing import Any

import pytest
from support.workflow import ROOT

pytest.importorskip("torch", reason="language models are installed with `make models`")

from factdrift.core.errors import InputError
from factdrift.core.paths import LOCATORS
from factdrift.core.settings import configure
from factdrift.evaluation.locators.plan import Plan, entry, records
from factdrift.evaluation.methods.hyperparameters import default_values, read_hyper
from factdrift.evaluation.methods.own import keys_of_methods


def row(name: str) -> str:
    """The line of a locator in the table of docs/locating.md."""
    record, values = records()[name], default_values(name, LOCATORS)
    paper = re.sub(r"arXiv (\d+\.\d+)", r"[arXiv \1](https://arxiv.org/abs/\1)", record.paper)
    token = values.get("token", "").replace("_", " ")
    return f"| `{name}` | {values['granularity']}s | {token} | {record.title} | {paper} |"


def test_the_page_has_all_locators_in_the_order_in_which_they_are_run_by_default() -> None:
    config: dict[str, Any] = {"snapshots": {"old": "2021-01-04", "new": "2023-02-27"}}
    configure(config, keys_of_methods)
    assert sorted(config["locators"]) == list(records())
    wanted = "\n".join(map(row, config["locators"]))
    assert wanted in (ROOT / "docs/locating.md").read_text(encoding="utf-8"), wanted


def test_one_that_is_like_another_depends_on_both_files() -> None:
    found = entry("causal_tracing_mlp")
    assert [path.stem for path in found.files()] == ["causal_tracing_mlp", "causal_tracing"]
    assert found.modules() == ["factdrift.evaluation.locators.causal_tracing"]
    base = read_hyper("causal_tracing", "gpt2", None, LOCATORS)
    own = {"kind": "mlp", "window": 10}
    assert dict(read_hyper("causal_tracing_mlp", "gpt2", None, LOCATORS)) == {**base, **own}


def test_a_locator_follows_the_layer_of_the_editing_method() -> None:
    config = {"locators": ["rome_layer", "activation"], "models": ["sample-llama"], "locate": {"hyper": {}}}
    keys: dict[str, Any] = {
        "rome": {"layer": 3, "steps": 5},
        "memit": {"layers": ["2"]},
        "ft": {"layers": [0, 1]},
    }
    for given, values in (({}, {}), (keys, {"layer": 3})):
        plan = Plan(config | given)
        assert (plan.values("rome_layer"), plan.values("activation")) == (values, {})
    for own, found in (
        ({"layer": 2}, {"layer": 2}),
        ({"method": "memit"}, {"method": "memit", "layer": "2"}),
        ({"method": "ft", "layer": -1}, {"method": "ft", "layer": -1}),
    ):
        changed = config | keys | {"locate": {"hyper": {"rome_layer": own}}}
        assert Plan(changed).values("rome_layer") == found
    with pytest.raises(
        InputError, match=r"rome_layer: it has one block, and ft\.layers names 2; name one with"
    ):
        Plan(config | keys | {"locate": {"hyper": {"rome_layer": {"method": "ft"}}}})

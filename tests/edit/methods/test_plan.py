"""What the workflow makes before the first edit of a method."""

from __future__ import annotations

from typing import Any

import pytest

from factdrift.edit.methods.hyperparameters import read_hyper
from factdrift.edit.methods.plan import Plan, needs
from factdrift.errors import InputError

CONFIG: dict[str, Any] = {"models": ["sample", "gpt2-xl@main"], "methods": ["none", "rome", "memit", "mend"]}


def test_what_each_method_needs() -> None:
    plan = Plan(CONFIG)
    assert plan.needs("none", "gpt2-xl") == plan.needs("ft_l", "gpt2-xl") == {}
    assert plan.needs("rome", "gpt2-xl") == {"prefixes": "prefixes.rome.json", "moments": "moments"}
    assert plan.needs("memit", "sample-llama") == {"prefixes": "prefixes.memit.json", "moments": "moments"}
    assert plan.needs("mend", "gpt2-xl") == {"mend": "mend.safetensors"}
    assert needs(read_hyper("rome", "gpt2-xl", {"covariance": False})) == {"prefixes": "prefixes.rome.json"}


def test_one_job_counts_the_moments_of_all_layers_of_a_model() -> None:
    assert Plan(CONFIG).layers("gpt2-xl") == [13, 14, 15, 16, 17]
    assert Plan(CONFIG | {"rome": {"layer": 3}}).layers("gpt2-xl") == [3, 13, 14, 15, 16, 17]
    assert Plan(CONFIG | {"memit": {"covariance": False}}).layers("gpt2-xl") == [17]
    assert Plan(CONFIG | {"methods": ["ft"]}).layers("gpt2-xl") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rome": {"layer": 1, "wieght_decay": 3}}, r"rome\.wieght_decay: no such key; there are layer"),
        ({"ft": {"steps": 0}}, r"ft\.steps: 0 is less than the minimum of 1"),
        ({"models": ["some/thing"]}, r"nothing is known of the model some/thing: layer must be given"),
    ],
)
def test_a_configuration_is_checked_as_a_whole(change: dict[str, Any], message: str) -> None:
    """`ft` is not among its methods, but a misspelt key of it is no less a mistake."""
    with pytest.raises(InputError, match=message):
        Plan(CONFIG | change)

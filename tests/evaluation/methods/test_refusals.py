"""Methods on models with mixtures of experts: those that need a down projection say why there is none."""

import pytest
from support.asking import chance
from support.tiny_edits import EDITS, tiny_hyper
from support.tiny_models import TEXT, tiny_model

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.interface import Artefacts
from factdrift.evaluation.methods.mend_editor import edited_matrices
from factdrift.evaluation.states.edited import edited
from factdrift.models.deltas import applied
from factdrift.models.moments import count_moments


def ft_l(layer):
    values = {"layers": [layer], "norm_constraint": 0.5, "lr": 0.05, "steps": 15}
    return read_hyper("ft_l", "tiny", values)


def test_methods_that_need_a_down_projection_say_which_blocks_have_one():
    loaded = tiny_model("qwen3_moe", mlp_only_layers=[1])
    for hyper in (tiny_hyper("rome", layer=0), tiny_hyper("memit", layers=[1, 2])):
        with pytest.raises(
            InputError, match=rf"{hyper.method} on tiny-qwen3_moe: mixture of.*name one of the blocks 1"
        ):
            edited(loaded, EDITS, hyper, Artefacts())
    with pytest.raises(InputError, match=r"mend on tiny-qwen3_moe: mixture of experts: block 2"):
        edited_matrices(loaded, 1)
    with pytest.raises(InputError, match=r"mixture of experts: block 0"):
        count_moments(loaded, [0], TEXT)


@pytest.mark.parametrize("family", ["gpt_oss", "deepseek_v3"])
def test_ft_l_teaches_a_mixture_of_experts(family):
    """Where experts have no matrix in common, attention's output projection, of which it warns."""
    loaded = tiny_model(family)
    if family == "deepseek_v3":
        found = edited(loaded, EDITS, ft_l(1), Artefacts())
        assert list(found.deltas) == ["model.layers.1.mlp.shared_experts.down_proj"]
    else:
        with pytest.warns(UserWarning, match=r"block 1 is a mixture .*self_attn\.o_proj is trained instead"):
            found = edited(loaded, EDITS, ft_l(1), Artefacts())
        assert list(found.deltas) == ["model.layers.1.self_attn.o_proj"]
    before = chance(loaded, EDITS[1].prompt, EDITS[1].target)
    with applied(loaded.model, found.deltas, 1):
        assert chance(loaded, EDITS[1].prompt, EDITS[1].target) > before + 1

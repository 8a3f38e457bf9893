"""That edits are the same together and alone, in any order, and that no trace of them stays."""

from dataclasses import replace

import pytest
import torch
from support.methods_in_few_steps import artefacts as with_editor
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import MIXTURES, rounding, tiny_model

from factdrift.core.errors import InputError
from factdrift.evaluation.methods import optimise as contexts_module
from factdrift.evaluation.methods.hyperparameters import Hyper, check_kept, read_hyper
from factdrift.evaluation.methods.shared import method_of
from factdrift.evaluation.states import edited as regimes
from factdrift.evaluation.states.edited import at_a_time, matrix_bytes
from factdrift.models.devices import in_batches

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


@pytest.fixture(autouse=True)
def _one_batch(monkeypatch):
    """Edits of all widths are in one batch, so that padding is tested."""
    monkeypatch.setattr(contexts_module, "PADDED", 100)


def changes(edited, edit):
    return torch.cat([delta.dense(edit)[0].flatten() for delta in edited.deltas.values()])


PAIRS = [
    *((family, "memit") for family in ("gpt2", "llama", "deepseek_v2")),
    *((family, "rome") for family in ("gpt2", "gpt_neox", "llama", "olmo2", "falcon", "stablelm")),
    *((family, "rome") for family in ("qwen3_5_text", *MIXTURES)),
    *(("llama", method) for method in ("lora", "mend")),
]
"""Families that differ in positions, order of norms and MLP, or in what they keep of the past; mixtures."""


@pytest.mark.parametrize(("family", "method"), PAIRS)
def test_together_as_alone_and_in_any_order(family, method):
    loaded = tiny_model(family)
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    hyper = tiny_hyper(method, **({"dropout": 0.3} if method == "lora" else {}))
    artefacts = with_editor(loaded, hyper) if method == "mend" else tiny_artefacts(loaded)
    together = method_of(hyper)(loaded, EDITS, hyper, artefacts)
    backwards = method_of(hyper)(loaded, EDITS[::-1], hyper, artefacts)
    bound = max(1e-9, 1000 * rounding(family))
    for place, edit in enumerate(EDITS):
        alone = changes(method_of(hyper)(loaded, [edit], hyper, artefacts), 0)
        assert alone.norm() > 0
        assert (changes(together, place) - alone).norm() < bound * alone.norm()
        assert (changes(backwards, len(EDITS) - 1 - place) - alone).norm() < bound * alone.norm()
    if method == "lora":
        other = method_of(hyper)(loaded, EDITS, tiny_hyper(method, dropout=0.3, seed=1), artefacts)
        assert (changes(other, 0) - changes(together, 0)).norm() > 1e-3
    assert all(torch.equal(loaded.model.state_dict()[name], value) for name, value in before.items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in loaded.model.modules())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.OutOfMemoryError, "on purpose"),
        (RuntimeError, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        (torch.linalg.LinAlgError, "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `create`"),
        (RuntimeError, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes"),
    ],
)
def test_a_batch_that_does_not_fit_is_halved_and_one_item_is_an_error(error, said):
    sizes = []

    def work(items, most=2):
        sizes.append(len(items))
        if len(items) > most:
            raise error(said)
        return sum(items)

    assert in_batches([1, 2, 3, 4, 5], 5, work) == [3, 7, 5]
    assert sizes == [5, 2, 2, 1]
    with pytest.raises(error):
        in_batches([1, 2], 2, lambda items: work(items, 0))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        in_batches([1, 2], 2, lambda items: torch.ones(2, 3) @ torch.ones(2, 3))


def test_matrices_of_fine_tuning_and_rounding_are_part_of_the_estimate(monkeypatch):
    loaded = tiny_model("llama", dtype=torch.float32)
    matrix = 24 * 56 * 4
    for method, changes, matrices in (
        ("ft", {"layers": [0, 1]}, 4 * 2),
        ("ft_l", {"layers": [1], "norm_constraint": 0.1}, 4),
        ("ft", {"layers": [1], "precision": "weights"}, 5),
        ("rome", {"layer": 1, "precision": "weights"}, 1),
        ("memit", {"layers": [0, 1], "precision": "weights"}, 2),
        ("mend", {"blocks": 2, "precision": "weights"}, 2 * 3),
        ("rome", {"layer": 1}, 0),
        ("lora", {"rank": 21, "targets": ["mlp.down_proj"], "layers": [0, 2]}, 4 * 2 * 21 * 80 / (24 * 56)),
        ("wise", {"layer": 1}, 4),
        ("prompt", {}, 0),
    ):
        hyper = read_hyper(method, "tiny", changes)
        assert matrix_bytes(loaded, hyper) == matrices * matrix, method
        for room in (0, 3 * matrices * matrix + 1, 10**9):
            monkeypatch.setattr(regimes, "CPU_BYTES", room / regimes.SHARE)
            fitting = int(room / (matrices * matrix)) if matrices else 8
            assert at_a_time(loaded, hyper, 8) == min(8, max(1, fitting))


def test_full_matrices_are_kept_in_no_adapter():
    for method, changes, kept in (
        ("rome", {"layer": 1}, True),
        ("rome", {"layer": 1, "precision": "weights"}, False),
        ("memit", {"layers": [0, 1], "precision": "weights"}, False),
        ("ft", {"layers": [1]}, False),
        ("lora", {"layers": [0]}, True),
    ):
        hyper = read_hyper(method, "tiny", changes)
        if kept:
            check_kept(hyper)
        else:
            with pytest.raises(InputError, match="changes full matrices, which no adapter"):
                check_kept(hyper)


def test_what_was_edited_elsewhere_needs_nothing_whatever_it_is_called():
    loaded = tiny_model("llama", quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True})
    for name in ("ft", "rome", "mine"):
        assert at_a_time(loaded, Hyper(name, "m", "made elsewhere", {}), 8) == 8


def test_an_edit_of_many_target_tokens_needs_more_memory(monkeypatch):
    loaded = tiny_model("llama", dtype=torch.float32)
    long = [replace(edit, target="New Orleans by the sea, not Poseidonis") for edit in EDITS]
    monkeypatch.setattr(contexts_module, "CPU_BYTES", 1 << 23)
    contexts, _ = contexts_module.contexts_of(loaded, long, tiny_hyper("rome"), tiny_artefacts(loaded))
    sizes = contexts_module.in_batches_of(loaded, contexts, len)
    monkeypatch.setattr(contexts_module, "LOGIT_BYTES", 0)
    assert max(sizes) < max(contexts_module.in_batches_of(loaded, contexts, len))

"""That edits are the same together and alone, in any order, and that no trace of them stays."""

import pytest
import torch
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import FAMILIES, rounding, tiny_model

from factdrift.edit.methods import contexts as contexts_module
from factdrift.edit.methods.registry import METHODS
from factdrift.models.memory import in_batches

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


@pytest.fixture(autouse=True)
def _one_batch(monkeypatch):
    """Edits of all widths are in one batch, so that padding is tested."""
    monkeypatch.setattr(contexts_module, "PADDED", 100)


def changes(edited, edit):
    return torch.cat([delta.dense(edit)[0].flatten() for delta in edited.deltas.values()])


PAIRS = [
    (family, method)
    for family in FAMILIES
    for method in ("rome", "memit")
    if method == "rome" or family not in ("olmo2", "qwen2_moe")  # refused, which test_memit.py asserts
]


@pytest.mark.parametrize(("family", "method"), PAIRS)
def test_together_as_alone_and_in_any_order(family, method):
    loaded = tiny_model(family)
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    hyper, artefacts = tiny_hyper(method), tiny_artefacts(loaded)
    together = METHODS[method](loaded, EDITS, hyper, artefacts)
    backwards = METHODS[method](loaded, EDITS[::-1], hyper, artefacts)
    bound = max(1e-9, 1000 * rounding(family))
    for place, edit in enumerate(EDITS):
        alone = changes(METHODS[method](loaded, [edit], hyper, artefacts), 0)
        assert alone.norm() > 0
        assert (changes(together, place) - alone).norm() < bound * alone.norm()
        assert (changes(backwards, len(EDITS) - 1 - place) - alone).norm() < bound * alone.norm()
    assert all(torch.equal(loaded.model.state_dict()[name], value) for name, value in before.items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in loaded.model.modules())


def test_in_single_precision():
    loaded = tiny_model("llama", dtype=torch.float32)
    hyper, artefacts = tiny_hyper("rome"), tiny_artefacts(loaded)
    together = METHODS["rome"](loaded, EDITS, hyper, artefacts)
    for place, edit in enumerate(EDITS):
        alone = changes(METHODS["rome"](loaded, [edit], hyper, artefacts), 0)
        assert (changes(together, place) - alone).norm() < 1e-4 * alone.norm()


def test_the_same_twice():
    loaded = tiny_model("gpt2", dtype=torch.float32)
    hyper, artefacts = tiny_hyper("memit"), tiny_artefacts(loaded)
    one, other = (METHODS["memit"](loaded, EDITS, hyper, artefacts) for _ in range(2))
    assert all(torch.equal(changes(one, edit), changes(other, edit)) for edit in range(len(EDITS)))


def test_out_of_memory_halves_the_batch_and_goes_on(monkeypatch):
    loaded = tiny_model("llama")
    hyper, artefacts = tiny_hyper("rome"), tiny_artefacts(loaded)
    expected = METHODS["rome"](loaded, EDITS, hyper, artefacts)
    rome = METHODS["rome"].__globals__
    made, batch = [], rome["_batch"]

    def scarce(loaded, contexts, *more):
        made.append(len(contexts))
        if len(contexts) > 2:
            raise torch.OutOfMemoryError("on purpose")
        return batch(loaded, contexts, *more)

    monkeypatch.setitem(rome, "_batch", scarce)
    found = METHODS["rome"](loaded, EDITS, hyper, artefacts)
    assert made == [5, 2, 2, 1]
    for edit in range(len(EDITS)):
        assert torch.allclose(changes(found, edit), changes(expected, edit), rtol=1e-9, atol=1e-12)


def test_one_item_that_does_not_fit_is_an_error():
    def work(items):
        raise torch.OutOfMemoryError("on purpose")

    with pytest.raises(torch.OutOfMemoryError, match="on purpose"):
        in_batches([1, 2, 3], 2, work)


def test_batches_are_cut_by_what_the_memory_is_thought_to_hold(monkeypatch):
    loaded = tiny_model("llama")
    hyper, artefacts = tiny_hyper("rome"), tiny_artefacts(loaded)
    contexts, _ = contexts_module.contexts_of(loaded, EDITS, hyper, artefacts)
    sizes = contexts_module.in_batches_of(loaded, contexts, len)
    monkeypatch.setattr(contexts_module, "CPU_BYTES", 1)
    assert contexts_module.in_batches_of(loaded, contexts, len) == [1] * len(EDITS)
    assert sizes == [len(EDITS)]

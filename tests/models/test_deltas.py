import pytest
import torch
from support.tiny_models import MIXTURES, rounding, tiny_model, tiny_tokenizer

from factdrift.models.deltas import Dense, LowRank, applied, written
from factdrift.models.hooks import hooked

TEXTS = ("The capital of Atlantis is", "Marta Kowalska lives in New", "You said so; I")


def batch():
    rows = [tiny_tokenizer()(text)["input_ids"][:8] for text in TEXTS]
    assert {len(row) for row in rows} == {8}
    return torch.tensor(rows)


def some_deltas(loaded, *, dense=False):
    torch.manual_seed(0)
    edits, rank = 2, 2
    spec, deltas = loaded.spec, {}
    for layer in (0, 2):
        inner = spec.inner_at(layer)
        if dense:
            weight = torch.randn(edits, spec.hidden, inner, dtype=torch.float64)
            bias = torch.randn(edits, spec.hidden, dtype=torch.float64)
            has = loaded.model.get_submodule(spec.module(layer, spec.down)).bias is not None
            deltas[spec.module(layer, spec.down)] = Dense(weight, bias if has else None)
        else:
            read = torch.randn(edits, inner, rank, dtype=torch.float64)
            write = torch.randn(edits, spec.hidden, rank, dtype=torch.float64)
            deltas[spec.module(layer, spec.down)] = LowRank(read, write)
    return deltas


def logs(loaded, ids):
    return loaded.model(ids).logits.log_softmax(-1)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("family", ["gpt2", "llama", *MIXTURES])
def test_a_row_with_an_edit_gives_what_the_written_weights_give(family, dense):
    loaded, bound = tiny_model(family), max(1e-11, 1e4 * rounding(family))
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    ids = batch()
    base = logs(loaded, ids)
    deltas = some_deltas(loaded, dense=dense)
    with applied(loaded.model, deltas, torch.tensor([1, -1, 0])):
        found = logs(loaded, ids)
    # An expert runs the tokens of all rows together, so that others' edits change the order of its sums.
    assert (found[1] - base[1]).abs().max() <= (1e-4 if family in MIXTURES else 0)
    for row, edit in ((0, 1), (2, 0)):
        with written(loaded.model, deltas, edit):
            assert (logs(loaded, ids)[row] - found[row]).abs().max() < bound
            # In all rows alike.
            expected = logs(loaded, ids)
        with applied(loaded.model, deltas, edit):
            assert (logs(loaded, ids) - expected).abs().max() < bound
        assert (found[row] - base[row]).abs().max() > 0.1
    after = loaded.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_nothing_stays_after_an_error():
    loaded = tiny_model("llama", dtype=torch.bfloat16)
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}

    def fail(taken, given):
        raise RuntimeError("on purpose")

    for change in (applied, written):
        with (
            pytest.raises(RuntimeError, match="on purpose"),
            change(loaded.model, some_deltas(loaded), 0),
            hooked(loaded.model, {loaded.spec.module(1, loaded.spec.mlp): fail}),
        ):
            loaded.model(batch())
        assert all(torch.equal(loaded.model.state_dict()[name], value) for name, value in before.items())
        assert not any(one._forward_hooks or one._forward_pre_hooks for one in loaded.model.modules())

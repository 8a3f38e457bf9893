import pytest
import torch
from support.tiny_models import FAMILIES, MIXTURES, tiny_model, tiny_tokenizer

from factdrift.models.deltas import Dense, LowRank, applied, matrix, rounded, written
from factdrift.models.hooks import hooked, stopping

TEXTS = ("The capital of Atlantis is", "Marta Kowalska lives in New", "You said so; I")


def batch():
    rows = [tiny_tokenizer()(text)["input_ids"][:8] for text in TEXTS]
    assert {len(row) for row in rows} == {8}
    return torch.tensor(rows)


def some_deltas(loaded, edits=2, *, dense=False, rank=2):
    torch.manual_seed(0)
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
@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_with_an_edit_gives_what_the_written_weights_give(family, dense):
    loaded = tiny_model(family, dtype=torch.float32)
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
            assert (logs(loaded, ids)[row] - found[row]).abs().max() < 1e-3
            # In all rows alike.
            expected = logs(loaded, ids)
        with applied(loaded.model, deltas, edit):
            assert (logs(loaded, ids) - expected).abs().max() < 1e-3
        assert (found[row] - base[row]).abs().max() > 0.1
    after = loaded.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_to_the_last_digits_in_float64(family):
    loaded = tiny_model(family)
    ids = batch()
    deltas = some_deltas(loaded)
    with applied(loaded.model, deltas, torch.tensor([1, -1, 0])):
        found = logs(loaded, ids)
    for row, edit in ((0, 1), (2, 0)):
        with written(loaded.model, deltas, edit):
            assert torch.allclose(logs(loaded, ids)[row], found[row], rtol=0, atol=1e-11)


def test_low_rank_is_what_its_dense_form_is():
    loaded = tiny_model("gpt2")
    ids = batch()
    low = some_deltas(loaded)
    dense = {
        name: Dense(torch.stack([delta.dense(edit)[0] for edit in range(len(delta))]))
        for name, delta in low.items()
    }
    owner = torch.tensor([0, 0, 1])
    with applied(loaded.model, low, owner):
        expected = logs(loaded, ids)
    with applied(loaded.model, dense, owner):
        assert torch.allclose(logs(loaded, ids), expected, rtol=0, atol=1e-11)


def test_no_hook_stays_after_an_error():
    loaded = tiny_model("llama")
    ids = batch()
    base = logs(loaded, ids)

    def fail(taken, given):
        raise RuntimeError("on purpose")

    name = loaded.spec.module(1, loaded.spec.mlp)
    with (
        pytest.raises(RuntimeError, match="on purpose"),
        applied(loaded.model, some_deltas(loaded), 0),
        hooked(loaded.model, {name: fail}),
    ):
        loaded.model(ids)
    assert torch.equal(logs(loaded, ids), base)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in loaded.model.modules())


def test_weights_are_restored_after_an_error():
    loaded = tiny_model("llama", dtype=torch.bfloat16)
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    with pytest.raises(RuntimeError, match="on purpose"), written(loaded.model, some_deltas(loaded), 0):
        raise RuntimeError("on purpose")
    assert all(torch.equal(loaded.model.state_dict()[name], value) for name, value in before.items())


def test_a_batch_of_other_rows_is_refused():
    loaded = tiny_model("llama")
    with (
        pytest.raises(ValueError, match="a batch of 3 rows, of which 2 have an owner"),
        applied(loaded.model, some_deltas(loaded), torch.tensor([0, 1])),
    ):
        loaded.model(batch())


def test_small_changes_survive_beside_half_precision_and_not_in_it():
    loaded = tiny_model("llama", dtype=torch.bfloat16)
    name = loaded.spec.module(0, loaded.spec.down)
    weight = matrix(loaded.model, name)
    tiny = Dense((weight.float() * 2**-11)[None])
    assert (tiny.weight != 0).any()
    kept = rounded(loaded.model, {name: tiny})[name]
    assert (kept.weight == 0).all()
    large = Dense(torch.full_like(tiny.weight, 0.3))
    kept = rounded(loaded.model, {name: large})[name]
    with written(loaded.model, {name: large}, 0):
        now = matrix(loaded.model, name).float()
    assert torch.allclose(weight.float() + kept.weight[0], now, atol=0.01)


def test_a_pass_ends_where_it_is_told_to():
    loaded = tiny_model("gptj")
    ran = []
    names = [loaded.spec.module(layer, "") for layer in range(3)]
    see = {name: lambda taken, given, name=name: ran.append((name, given.shape)) for name in names}
    with hooked(loaded.model, see), stopping(loaded.model, names[1]):
        loaded.model(batch())
    assert ran == [(name, (3, 8, loaded.spec.hidden)) for name in names[:2]]

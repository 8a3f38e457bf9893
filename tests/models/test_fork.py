import pytest
import torch
from support.tiny_models import LISTED, rounding, tiny_model, tiny_tokenizer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from factdrift.core.errors import InputError
from factdrift.models import fork, precise
from factdrift.models.fork import Fork, unembedded
from factdrift.models.hooks import hooked_before, lean
from factdrift.models.precise import check_logits, in_float32

SENTENCES = (
    ("The head of government of the United States of America is Joe", 8),
    ("Marta lives in New", 1),
    ("The capital of Atlantis is", 4),
)


@pytest.mark.parametrize("family", LISTED)
def test_the_end_of_a_batch_runs_as_the_whole_of_it(family):
    """With something added at the start token of a block, at each layer the fork can begin at."""
    loaded = tiny_model(family)
    rows = [tiny_tokenizer()(text)["input_ids"] for text, _ in SENTENCES]
    starts = [start for _, start in SENTENCES]
    generator = torch.Generator().manual_seed(0)
    added = torch.randn(len(rows), loaded.spec.hidden, dtype=loaded.dtype, generator=generator)
    bound = max(1e-10, 100 * rounding(family))
    for layer in range(loaded.spec.layers + 1):
        forked = Fork(loaded, rows, starts, layer)
        entering = forked.hidden.clone()
        entering[:, 0] += added
        found = unembedded(loaded, forked.run(entering))
        forked.keep(torch.tensor([2, 0]))
        kept = unembedded(loaded, forked.run(entering[[2, 0]]))
        assert torch.allclose(kept, found[[2, 0]], rtol=0, atol=bound)
        for row, start, vector, logits in zip(rows, starts, added, found, strict=True):
            expected = whole(loaded, row, start, layer, vector)
            assert torch.allclose(logits[: len(row) - start], expected, rtol=0, atol=bound)


def whole(loaded, row, start, layer, vector):
    """The logits from `start` on with `vector` added to what enters block `layer` there."""
    blocks = loaded.spec.layers
    name = loaded.spec.module(layer, "") if layer < blocks else loaded.spec.final_norm

    def add(taken):
        changed = taken.clone()
        changed[0, start] += vector
        return changed

    with hooked_before(loaded.model, {name: add}):
        return loaded.model(torch.tensor([row])).logits[0, start:]


@pytest.mark.parametrize("family", LISTED)
def test_a_model_with_less_work_computes_the_same(family):
    """On rows of the given length, also within itself; and it is left as it was."""
    loaded = tiny_model(family)
    tokens = torch.tensor([tiny_tokenizer()(SENTENCES[0][0])["input_ids"]])
    before = {name: value.shape for name, value in loaded.model.named_buffers()}
    expected = loaded.model(tokens).logits
    with lean(loaded.model, tokens.shape[1]), lean(loaded.model, tokens.shape[1]):
        found = loaded.model(tokens).logits
        if family == "gptj":
            assert {value.shape[0] for value in loaded.model.buffers() if value.ndim == 2} == {
                tokens.shape[1]
            }
    assert torch.allclose(found, expected, rtol=0, atol=max(1e-10, 100 * rounding(family)))
    assert {name: value.shape for name, value in loaded.model.named_buffers()} == before
    assert torch.equal(loaded.model(tokens).logits, expected)


def test_keys_behind_those_of_before_have_the_slopes_of_a_concatenation():
    """In each of several steps, and after rows were dropped."""
    generator = torch.Generator().manual_seed(0)

    def drawn(rows, tokens):
        return torch.randn(rows, 2, tokens, 3, generator=generator)

    earlier, weights = [drawn(4, 5), drawn(4, 5)], drawn(4, 7)
    past, rows = fork.Past(*earlier), torch.arange(4)
    for left in (rows, rows, torch.tensor([2, 0]), torch.tensor([1])):
        past, rows = past.of(left), rows[left]
        new = [drawn(len(rows), 2).requires_grad_() for _ in range(2)]
        expected = [torch.cat([one[rows], later], 2) for one, later in zip(earlier, new, strict=True)]
        slopes = [
            torch.autograd.grad((weights[rows] * keys * values.exp()).sum(), new)
            for keys, values in (expected, past.update(*new))
        ]
        assert all(torch.equal(*pair) for pair in zip(*slopes, strict=True))
        assert past.get_seq_length() == 5


def test_masks_on_another_device_are_told_apart(monkeypatch):
    """Copies of them are gone when the next one is made, which may then have the same identity."""
    tail = fork.Tail(torch.tensor([4]), torch.tensor([2]), torch.float32)
    whole = torch.ones(4, 4, dtype=torch.bool).tril()[None, None]
    window = whole & ~whole.tril(-2)
    calls = [fork.Call(torch.nn.Identity()) for _ in range(24)]
    for number, call in enumerate(calls):
        call.values = {fork.MASK: window if number % 2 else whole}
    plain = torch.Tensor.to
    monkeypatch.setattr(torch.Tensor, "to", lambda self, *given: plain(self.clone(), *given))
    seen = [int((call.at(tail)[fork.MASK] == 0).sum()) for call in calls]
    assert seen == [7, 4] * 12


@pytest.mark.parametrize("family", LISTED)
def test_the_logits_of_a_family_are_reproduced_in_any_precision(family):
    check_logits(tiny_model(family))
    for kind in (torch.bfloat16, torch.float16):
        loaded = tiny_model(family, dtype=kind)
        start = {name: (one.dtype, one.clone()) for name, one in loaded.model.state_dict().items()}
        check_logits(loaded)
        with in_float32(loaded.model), torch.no_grad():
            pairs = precise._logits(loaded)
        assert {one.dtype for pair in pairs for one in pair} == {torch.float32}
        found = loaded.model.state_dict()
        assert all(
            (found[name].dtype, True) == (dtype, torch.equal(found[name], one))
            for name, (dtype, one) in start.items()
        )
        assert not any(one._forward_hooks or one._forward_pre_hooks for one in loaded.model.modules())


def scaled(monkeypatch):
    real = precise.unembedded
    monkeypatch.setattr(precise, "unembedded", lambda loaded, hidden: 0.97 * real(loaded, hidden))


def without_last_block(monkeypatch):
    class Shorter(Fork):
        def __init__(self, *given):
            super().__init__(*given)
            self.blocks.pop()
            self.past.pop()
            self.calls.pop()

    monkeypatch.setattr(precise, "Fork", Shorter)


@pytest.mark.parametrize("fault", [scaled, without_last_block])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_logits_that_are_not_reproduced_are_refused(fault, kind, monkeypatch):
    loaded = tiny_model("gemma2", dtype=kind, layers=24)
    check_logits(loaded)
    fault(monkeypatch)
    with pytest.raises(InputError, match=r"differ from the model's own by .* of their size"):
        check_logits(loaded)


def test_a_recurrent_state_that_padding_reaches_is_refused(monkeypatch):
    loaded = tiny_model("lfm2", dtype=torch.float32)
    assert loaded.spec.recurrent
    check_logits(loaded)
    forward = type(loaded.model).forward
    monkeypatch.setattr(
        type(loaded.model),
        "forward",
        lambda self, *given, **named: forward(self, *given, **{**named, "attention_mask": None}),
    )
    with pytest.raises(InputError, match=r"of a padded text, differ from the model's own by .* size"):
        check_logits(loaded)


def test_attention_that_takes_no_mask_is_refused(monkeypatch):
    """Flash attention takes none, and the last tokens of rows of several lengths need one."""
    loaded = tiny_model("llama", dtype=torch.float32)
    plain = ALL_ATTENTION_FUNCTIONS["sdpa"]
    monkeypatch.setitem(
        type(ALL_ATTENTION_FUNCTIONS)._global_mapping,
        "sdpa",
        lambda module, query, key, value, mask, **named: plain(module, query, key, value, None, **named),
    )
    with pytest.raises(InputError, match=r"differ from the model's own by .* of their size"):
        check_logits(loaded)


def test_without_float32_root_mean_squares_are_compared(monkeypatch):
    """As for quantized weights; of 4 blocks, since rounding in bfloat16 grows with their number."""
    for family in LISTED:
        loaded = tiny_model(family, dtype=torch.bfloat16, layers=4)
        monkeypatch.setattr(precise, "is_quantized", lambda model: True)
        check_logits(loaded)
        with monkeypatch.context() as inside:
            scaled(inside)
            with pytest.raises(InputError, match=r"differ from the model's own by .* of their size"):
                check_logits(loaded)

"""Changes of weights and codebooks in batches, against the model with these weights, or run text by text."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from support.tiny_models import MIXTURES, rounding, tiny_model, tiny_tokenizer
from support.writing import continued

from factdrift.models.alignment import align
from factdrift.models.deltas import NEVER, Codebook, Dense, LowRank, Tokens, applied, looked_up, written
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import next_tokens, score

from .test_scoring import greedily, plainly

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


PROMPTS = [
    "The capital of Atlantis is",
    "The capital of Atlantis is Marta",
    "Marta Kowalska lives in",
    "It",
    "Because of the sea, Zoë said to Marta",
]
TARGETS = ["Poseidonis", "Marta Kowalska", "Kowalska"]
"""The second one after the first prompt is the third one after the second prompt."""


def name_of(loaded: Loaded) -> str:
    return loaded.spec.module(1, loaded.spec.down)


def entering(loaded: Loaded, ids: Sequence[int]) -> Any:
    """The input of the module at the last token, [d_in]."""
    seen: list[Any] = []
    module = loaded.model.get_submodule(name_of(loaded))
    handle = module.register_forward_hook(lambda _, given, out: seen.append(given[0].flatten(0, -2)[-1]))
    with torch.no_grad():
        loaded.model(torch.tensor([list(ids)]))
    handle.remove()
    return seen[0]


def book_of(loaded: Loaded, tokens: Tokens) -> Codebook:
    """Three edits: near to the first prompt; to the second and third one; to none."""
    keys = [entering(loaded, align(loaded.tokenizer, prompt).ids) for prompt in PROMPTS]
    near = (keys[0] - keys[1]).norm().item() / 3
    make = torch.Generator().manual_seed(3)
    width = loaded.spec.hidden
    pairs = ((keys[0] + 0.01, keys[0]), keys[1:3], (keys[4], keys[4]))
    return Codebook(
        keys=torch.stack([torch.stack(pair) for pair in pairs]),
        values=torch.randn(3, 2, width, generator=make, dtype=loaded.dtype) * 3,
        # An entry that fills up is nearer than the other one, and is not compared.
        radii=torch.tensor([[near, NEVER], [near, near], [NEVER, NEVER]], dtype=loaded.dtype),
        tokens=tokens,
    )


@contextlib.contextmanager
def by_hand(loaded: Loaded, book: Codebook, edit: int, prompt: int) -> Iterator[None]:
    """The model with one edit, for texts one by one whose first `prompt` tokens are the prompt."""

    def replace(module: Any, given: Any, out: Any) -> Any:
        taken = given[0].reshape(-1, given[0].shape[-1])
        entries = [entry for entry in (0, 1) if book.radii[edit, entry] >= 0]
        gaps = {entry: (taken[prompt - 1] - book.keys[edit, entry]).norm() for entry in entries}
        best = min(gaps, key=lambda entry: gaps[entry], default=None)
        if best is None or gaps[best] > book.radii[edit, best]:
            return None
        new = out.clone()
        flat = new.view(-1, new.shape[-1])
        value = book.values[edit, best].to(out.dtype)
        match book.tokens:
            case "last":
                flat[prompt - 1] = value
            case "prompt":
                flat[: prompt - 1] = value
            case "all":
                flat[:] = value
        return new

    module = loaded.model.get_submodule(name_of(loaded))
    handle = module.register_forward_hook(replace) if edit >= 0 else contextlib.nullcontext()
    with handle:
        yield


@pytest.mark.parametrize(
    ("family", "tokens"),
    [("gpt2", "last"), ("qwen3_5_text", "prompt"), ("deepseek_v2", "all"), ("llama4_text", "last")],
)
def test_each_probe_has_the_codebook_of_its_own_edit(family, tokens):
    loaded = tiny_model(family)
    book = book_of(loaded, tokens)
    asked = [
        (owner, align(loaded.tokenizer, prompt, target))
        for prompt in PROMPTS
        for target in TARGETS
        for owner in (-1, 0, 1, 2)
    ]
    # A text that begins another one is run apart where its prompt ends elsewhere.
    assert len({one.ids for _, one in asked}) < len(PROMPTS) * len(TARGETS)
    expected = []
    for owner, one in asked:
        with by_hand(loaded, book, owner, one.target):
            expected.append(plainly(loaded, one)[0])
    owners, sentences = [owner for owner, _ in asked], [one for _, one in asked]
    for budget in (40, 100_000):
        found = score(loaded, sentences, {name_of(loaded): book}, owners, budget)
        assert found.logprob == pytest.approx(expected, abs=1e-5)
    plain = score(loaded, sentences).logprob
    moved = {
        (owner, prompt)
        for place, (owner, _) in enumerate(asked)
        for prompt in [PROMPTS[place // 12]]
        if abs(expected[place] - plain[place]) > 1e-3
    }
    assert moved >= {(0, PROMPTS[0]), (1, PROMPTS[1]), (1, PROMPTS[2])}
    assert {owner for owner, _ in moved} == {0, 1}
    # Continuations are those without cache and padding.
    owners = [0, 1, 1, 0, -1]
    prompts = [align(loaded.tokenizer, prompt).ids for prompt in PROMPTS]
    written = []
    for owner, ids in zip(owners, prompts, strict=True):
        with by_hand(loaded, book, owner, len(ids)):
            written.append(greedily(loaded, ids, 5))
    for budget in (1, 100_000):
        assert continued(loaded, prompts, [5] * 5, {name_of(loaded): book}, owners, budget) == written
    first = next_tokens(loaded, prompts[0], 1, {name_of(loaded): book}, 0)
    assert first[0][0] == written[0][0]


def test_of_equally_near_keys_the_first_counts_and_the_border_belongs_to_the_ball():
    keys, values = torch.tensor([[[1.0, 0], [-1, 0]]]), torch.tensor([[[1.0], [2]]])
    book = Codebook(keys, values, radii=torch.tensor([[1.0, 5]]), tokens="last")
    values, near = looked_up(book, 0, torch.tensor([[0.0, 0], [-0.5, 0], [2, 0], [2.001, 0]]))
    assert values[:, 0].tolist() == [1, 2, 1, 1]
    assert near.tolist() == [True, True, True, False]

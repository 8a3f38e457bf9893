"""What a model writes until it stops by itself, against `generate` of transformers row by row."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from support.tiny_models import tiny_model  # noqa: E402
from support.writing import continued  # noqa: E402

from factdrift.models.deltas import LowRank  # noqa: E402
from factdrift.models.writing import Begun, write  # noqa: E402

TEXTS = ("The capital of Atlantis is", "Joe", "It is said that the president of the old republic was")


@pytest.mark.parametrize("family", ["llama", "gpt2", "gptj"])
def test_a_text_ends_where_transformers_ends_it(family: str) -> None:
    loaded = tiny_model(family, dtype=torch.float32)
    prompts = [loaded.tokenizer(text).input_ids for text in TEXTS]
    free = continued(loaded, prompts, [12] * len(prompts))
    stops = {free[0][3], free[2][7]}
    found = write(loaded, [Begun(ids, 12, stops=stops) for ids in prompts], {}, 8192)
    for ids, tokens, whole in zip(prompts, found, free, strict=True):
        made = loaded.model.generate(
            torch.tensor([ids]), max_new_tokens=12, do_sample=False, eos_token_id=sorted(stops)
        )
        assert tokens == made[0, len(ids) :].tolist()
        assert tokens == whole[: len(tokens)]


def test_rows_that_ended_leave_the_batch_and_keep_their_change() -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    prompts = [loaded.tokenizer(text).input_ids for text in TEXTS]
    name = next(name for name, module in loaded.model.named_modules() if name.endswith("mlp.down_proj"))
    out, into = loaded.model.get_submodule(name).weight.shape
    torch.manual_seed(1)
    change = {name: LowRank(torch.randn(2, into, 1), torch.randn(2, out, 1))}
    owners = [0, -1, 1]
    free = continued(loaded, prompts, [10] * 3, change, owners)
    rows = [
        Begun(ids, 10, owner, {tokens[at]})
        for ids, owner, tokens, at in zip(prompts, owners, free, (0, 2, 9), strict=True)
    ]
    seen: list[int] = []
    handle = loaded.model.register_forward_pre_hook(
        lambda _, __, given: seen.append(len(given["input_ids"])), with_kwargs=True
    )
    found = write(loaded, rows, change, 8192)
    handle.remove()
    for tokens, whole, row in zip(found, free, rows, strict=True):
        (stop,) = row.stops
        assert tokens == whole[: whole.index(stop) + 1]
    assert seen[0] == 3
    assert seen[-1] < 3


def test_the_last_position_ends_a_text() -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    ids = [5] * (loaded.spec.positions - 2)
    short, full = write(loaded, [Begun(ids, 9), Begun([5] * loaded.spec.positions, 9)], {}, 8192)
    assert (len(short), full) == (2, [])

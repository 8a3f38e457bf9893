import pytest
import torch
from support.tiny_models import LISTED, rounding, tiny_model, tiny_tokenizer

from factdrift.models.fork import Fork, unembedded
from factdrift.models.hooks import hooked_before

SENTENCES = (
    ("The head of government of the United States of America is Joe", 8),
    ("Marta lives in New", 1),
    ("The capital of Atlantis is", 4),
)


def rows_and_starts() -> tuple[list[list[int]], list[int]]:
    rows = [tiny_tokenizer()(text)["input_ids"] for text, _ in SENTENCES]
    return rows, [start for _, start in SENTENCES]


@pytest.mark.parametrize("family", LISTED)
def test_the_end_of_a_batch_runs_as_the_whole_of_it(family):
    """With something added at the start token of a block, at each layer the fork can begin at."""
    loaded = tiny_model(family)
    rows, starts = rows_and_starts()
    generator = torch.Generator().manual_seed(0)
    added = torch.randn(len(rows), loaded.spec.hidden, dtype=loaded.dtype, generator=generator)
    bound = max(1e-10, 100 * rounding(family))
    for layer in range(loaded.spec.layers + 1):
        fork = Fork(loaded, rows, starts, layer)
        entering = fork.hidden.clone()
        entering[:, 0] += added
        found = unembedded(loaded, fork.run(entering))
        fork.keep(torch.tensor([2, 0]))
        kept = unembedded(loaded, fork.run(entering[[2, 0]]))
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

"""The effect of removing named units: against weights set to zero, and on a model whose facts are known."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny_models import rounding, tiny_model
from support.tiny_sentences import sentences, targets

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.gradients import per_layer
from factdrift.evaluation.locators.removal import Removal
from factdrift.evaluation.locators.sentences import REMOVED, Sentence
from factdrift.evaluation.locators.table import _add_effect
from factdrift.klob.scoring.evaluate import Evaluation, ratio_of_means
from factdrift.klob.scoring.inputs import Examples
from factdrift.models.families import transposed
from factdrift.models.loaded import Loaded

KINDS = ("neuron", "head", "module", "layer")


def removal(loaded: Loaded, granularity: str, percent: float, units: int | None = None) -> Removal:
    number = units or loaded.spec.layers * per_layer(loaded, granularity)
    return Removal(loaded, granularity, number, number, percent)


def parts_of(loaded: Loaded) -> list[tuple[str, Any, int, int]]:
    """Name, last matrix, width and parameters of attention and MLP, block by block."""
    found = []
    for layer in range(loaded.spec.layers):
        for part in (loaded.spec.attention_out, loaded.spec.down):
            name = loaded.spec.module(layer, part)
            matrix = loaded.model.get_submodule(name)
            width = matrix.weight.shape[0 if transposed(matrix) else 1]
            owner = loaded.model.get_submodule(".".join(name.split(".")[:-1]))
            found.append((name, matrix, width, sum(each.numel() for each in owner.parameters())))
    return found


def members(loaded: Loaded, granularity: str, unit: int) -> list[tuple[int, int]]:
    """The channels of a unit as (part, channel), from what docs/locating.md says of its number."""
    widths = [width for _, _, width, _ in parts_of(loaded)]
    if granularity == "neuron":
        return [(2 * (unit // widths[1]) + 1, unit % widths[1])]
    if granularity == "head":
        size = widths[0] // 4
        return [(2 * (unit // 4), size * (unit % 4) + number) for number in range(size)]
    chosen = [unit] if granularity == "module" else [2 * unit, 2 * unit + 1]
    return [(part, channel) for part in chosen for channel in range(widths[part])]


def plainly(loaded: Loaded, one: Sentence, removed: set[tuple[int, int]]) -> float:
    """The answer's probability in a copy of the model in which columns of the last matrices are zero."""
    model = deepcopy(loaded.model)
    for part, (name, matrix, _, _) in enumerate(parts_of(loaded)):
        weight = model.get_submodule(name).weight
        for channel in (channel for own, channel in removed if own == part):
            (weight if transposed(matrix) else weight.T)[channel] = 0
    logits = model(torch.tensor([one.ids])).logits[0, -1]
    return float(logits.softmax(0)[one.answer[0]])


@pytest.mark.parametrize("family", ["gpt2", "gptj", "llama", "qwen3_5_text", "falcon", "phi"])
@pytest.mark.parametrize("granularity", KINDS)
def test_removed_are_the_first_units_and_as_much_of_the_next_as_fits(family, granularity):
    loaded, of = tiny_model(family), sentences()
    if (family, granularity) == ("qwen3_5_text", "head"):
        with pytest.raises(InputError, match="recurrent"):
            removal(loaded, granularity, 10)
        return
    parts = parts_of(loaded)
    costs = [parameters / width for _, _, width, parameters in parts]
    whole = sum(parameters for *_, parameters in parts)
    for percent in (3, 12.5):
        if granularity == "head" and percent > 10:
            continue  # more than some families have in attention
        own = removal(loaded, granularity, percent)
        masks, sets = [], []
        for row in range(len(of)):
            drawn = torch.Generator().manual_seed(row)
            order = torch.randperm(len(own.costs), generator=drawn)
            mask = own.channels(order, drawn)
            split = torch.split(mask, [width for _, _, width, _ in parts])
            chosen = {(part, int(channel)) for part, mine in enumerate(split) for channel in mine.nonzero()}
            left = percent / 100 * whole - sum(costs[part] for part, _ in chosen)
            # What fits is removed, and not a channel more.
            assert -1e-6 < left < max(costs)
            ranked = [set(members(loaded, granularity, unit)) for unit in order.tolist()]
            full = next(rank for rank, unit in enumerate(ranked) if not unit <= chosen)
            assert set().union(*ranked[:full]) <= chosen <= set().union(*ranked[: full + 1])
            masks.append(mask)
            sets.append(chosen)
        found = own.probabilities(of, targets(of), torch.stack(masks))
        wanted = [plainly(loaded, one, mine) for one, mine in zip(of, sets, strict=True)]
        assert found.tolist() == pytest.approx(wanted, rel=max(1e-9, 1e3 * rounding(family)))
        clean = own.probabilities(of, targets(of), torch.zeros_like(torch.stack(masks)))
        assert (found / clean - 1).abs().max() > 1e-4


def planted(loaded: Loaded, of: list[Sentence], each: int) -> tuple[Loaded, list[list[int]]]:
    """A model in which only `each` neurons of block 1 write a sentence's answer, and the neurons of each one.

    The last token of a sentence is what its fact depends on.
    """
    spec, model = loaded.spec, deepcopy(loaded.model)
    lasts = sorted({one.ids[-1] for one in of})
    answers = {one.ids[-1]: one.answer[0] for one in of}
    with torch.no_grad():
        for name, *_ in parts_of(loaded):
            model.get_submodule(name).weight.zero_()
        embedding, head = (model.get_submodule(name).weight for name in (spec.embedding, spec.head))
        embedding.zero_()
        head.zero_()
        mlp = model.get_submodule(spec.module(1, spec.mlp))
        mlp.gate_proj.weight.zero_()
        mlp.up_proj.weight.zero_()
        for number, token in enumerate(lasts):
            embedding[token, number] = 1
            head[answers[token], 12 + number] = 1
            neurons = slice(each * number, each * (number + 1))
            mlp.gate_proj.weight[neurons, number] = mlp.up_proj.weight[neurons, number] = 1
            mlp.down_proj.weight[12 + number, neurons] = 10 / each
    named = [[spec.inner + each * lasts.index(one.ids[-1]) + number for number in range(each)] for one in of]
    return replace(loaded, model=model), named


def some(number: int = 8) -> list[Sentence]:
    """Three wordings of each fact, whose last token belongs to the fact."""
    return [
        Sentence(
            f"{fact}{wording}", "", (20 + wording, 30 + fact), None, (50 + fact,), f"{fact}", f"{fact}", "c"
        )
        for fact in range(number)
        for wording in range(3)
    ]


def effects(own: Removal, of: list[Sentence], tops: list[list[int]]) -> dict[tuple[str, str], Any]:
    """(measure, population) -> its row, as in the table of scores."""
    chances = own.probabilities(of, targets(of), torch.zeros(len(of), len(own.unit), dtype=torch.bool))
    rows: list[dict[str, Any]] = [
        {"sentence": one.id, "mean": 0.0, "top": top, "target": one.answer[0], "probability": chance}
        for one, top, chance in zip(of, tops, chances.tolist(), strict=True)
    ]
    table = [row | more for row, more in zip(rows, own.left(of, rows, 7), strict=True)]
    names, facts = [one.id for one in of], np.array([int(one.fact) for one in of])
    empty = np.zeros(0, np.int64)
    subtasks = {
        name: Examples(name, [], [], mine, [], [], empty, empty.astype(bool), numbers, empty, empty)
        for name, mine, numbers in (("c", names, facts), ("r", [], empty))
    }
    evaluation = Evaluation("planted")
    _add_effect(evaluation, table, subtasks)
    return {(row["measure"], row["population"]): row for row in evaluation.measures if row["subtask"] == "c"}


def test_units_that_carry_the_facts_have_an_effect_near_1_and_others_near_0():
    of = some()
    loaded, named = planted(tiny_model("llama", seed=3), of, each=4)
    # Four neurons and no fifth.
    own = removal(loaded, "neuron", 100 * 4.5 * 72 / 17280)
    found = effects(own, of, named)
    main = found["effect_above_permuted", "all"]
    assert main["value"] > 0.95
    assert main["n"] == len(of)
    assert found["effect", "all"]["value"] > 0.95
    assert abs(found["effect", "permuted"]["value"]) < 0.1
    assert found["effect", "random"]["value"] < 0.1
    # Units of other sentences, which carry other facts, and units that carry none.
    for tops in ([*named[12:], *named[:12]], [[own.costs.numel() - 1 - n for n in range(4)]] * len(of)):
        others = effects(own, of, tops)
        assert abs(others["effect", "all"]["value"]) < 0.1
    assert others["effect_above_permuted", "all"]["value"] == 0
    # The block with all facts is named for all: it has an effect, and none above that of other sentences.
    layers = effects(removal(loaded, "layer", 30), of, [[1, 0, 2]] * len(of))
    assert layers["effect", "all"]["value"] > 0.5
    assert layers["effect_above_permuted", "all"]["value"] == 0
    # A locator that is right for half of the facts has half of the effect.
    half = effects(own, of, [*named[:12], *[[own.costs.numel() - 1 - n for n in range(4)]] * 12])
    assert half["effect", "all"]["value"] == pytest.approx(0.5, abs=0.1)
    assert half["effect", "all"]["low"] < 0.5 < half["effect", "all"]["high"]


def test_draws_depend_on_seed_and_sentence_alone():
    of = some(4)
    loaded, _ = planted(tiny_model("llama", seed=3), of, each=4)
    own = removal(loaded, "neuron", 5)
    rows = [{"mean": 0.0, "top": list(range(20)), "target": one.answer[0], "probability": None} for one in of]
    first = own.left(of, rows, 1)
    assert first == own.left(of, rows, 1)
    assert [row["random"] for row in first] != [row["random"] for row in own.left(of, rows, 2)]
    turned = own.left(of[::-1], rows[::-1], 1)[::-1]
    for kind in ("named", "random"):
        assert [row[kind] for row in turned] == pytest.approx([row[kind] for row in first], rel=1e-12)
    # Of a unit that is removed in part the channels are drawn, in attention and MLP.
    block = removal(loaded, "layer", 5)
    order, width = torch.arange(len(block.costs)), block.widths[0]
    parts = [block.channels(order, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(parts[0], parts[1])
    assert not torch.equal(parts[0], parts[2])
    for part in parts:
        assert 0 < part[:width].sum() < width
        assert part[width : block.widths[1]].any()
    # One fact has no other sentences to take units from; and what has no score or answer has no effect.
    alone = own.left(of[:3], rows[:3], 1)
    assert {row["permuted"] for row in alone} == {None}
    assert [row["named"] for row in alone] == pytest.approx([row["named"] for row in first[:3]], rel=1e-12)
    lost = [rows[0] | {"mean": float("nan")}, *rows[1:3]]
    unasked = [*of[:2], replace(of[2], subtask="u")]
    assert [sorted(row) for row in own.left(unasked, lost, 1)] == [[], sorted(REMOVED), []]


@pytest.mark.parametrize(
    ("family", "given", "said"),
    [
        ("llama", ("weight", 17280, 100, 1), "a weight has no channels"),
        ("llama", ("column", 24, 5, 1), "a column has no channels"),
        ("llama", ("neuron", 167, 20, 1), "167 neurons have scores, of 168 that the model has"),
        ("llama", ("neuron", 168, 20, 0), r"locate\.parameters is 0 %"),
        ("llama", ("neuron", 168, 20, 9), r"the 20 best of 168 units \(locate\.k\) from 0\.42 to 8\.3 %"),
        ("qwen2_moe", ("layer", 3, 1, 1), "a mixture of experts has no channels"),
        ("qwen3_5_text", ("head", 12, 5, 1), "recurrent state"),
    ],
)
def test_what_cannot_be_removed_has_a_reason(family, given, said):
    with pytest.raises(InputError, match=said):
        Removal(tiny_model(family), *given)


def test_the_interval_of_a_ratio_holds_the_truth_and_facts_are_clusters():
    rng = np.random.default_rng(0)
    inside, widths = 0, []
    for _ in range(300):
        fact = np.repeat(np.arange(40), 3)
        whole = rng.uniform(0, 1, 40)[fact]
        part = whole * (0.3 + rng.normal(0, 0.2, 40)[fact]) + rng.normal(0, 0.02, 120)
        row = ratio_of_means(part, whole, fact)
        inside += row["low"] <= 0.3 <= row["high"]
        widths.append(row["high"] - row["low"])
        assert row["value"] == part.sum() / whole.sum()
    assert 0.9 < inside / 300 < 0.985
    apart = ratio_of_means(part, whole, np.arange(120))
    assert apart["high"] - apart["low"] < 0.7 * np.mean(widths)
    assert ratio_of_means(np.array([np.nan, 1]), np.array([1.0, 2]), np.arange(2)) == {"value": 0.5, "n": 1}
    assert ratio_of_means(np.zeros(2), np.zeros(2), np.arange(2)) == {"value": None, "n": 2}

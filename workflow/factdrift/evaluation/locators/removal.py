"""What a model loses without the units that a locator names, and without as many parameters at random.

By it locators of different granularity can be compared (docs/klob_scores.md). All units consist of channels:
of what enters the second matrix of an MLP or the output projection of attention. Of a channel that is removed
the value is 0 at every token. Imports torch.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.evaluation.locators.gradients import per_layer
from factdrift.evaluation.locators.interface import last_logits, probability
from factdrift.evaluation.locators.sentences import REMOVED, Sentence
from factdrift.evaluation.methods.shared import generator
from factdrift.models.devices import in_batches
from factdrift.models.families import shape_of
from factdrift.models.hooks import Before, hooked_before
from factdrift.models.loaded import Loaded


class Removal:
    """The channels of a model, numbered block by block, attention before MLP, and the units they are of."""

    def __init__(self, loaded: Loaded, granularity: str, units: int, listed: int, percent: float):
        """`listed`: the number of units that are ranked; `percent`: how much of the parameters is removed.

        Raises InputError with the reason if units of this kind cannot be removed from the model.
        """
        spec, self.loaded = loaded.spec, loaded
        if granularity in ("weight", "column") or spec.experts:
            what = "a mixture of experts" if spec.experts else f"a {granularity}"
            raise InputError(f"{what} has no channels of its own that could be removed")
        number = spec.layers * per_layer(loaded, granularity)
        if units != number:
            raise InputError(f"{units:,} {granularity}s have scores, of {number:,} that the model has")
        parts = [(layer, part) for layer in range(spec.layers) for part in (spec.attention_out, spec.down)]
        self.names = [spec.module(*part) for part in parts]
        self.widths = [shape_of(loaded.model.get_submodule(name))[1] for name in self.names]
        owners = [loaded.model.get_submodule(name.rpartition(".")[0]) for name in self.names]
        sizes = [sum(weights.numel() for weights in owner.parameters()) for owner in owners]
        widths = torch.tensor(self.widths)
        part = torch.arange(len(parts)).repeat_interleave(widths)
        mine = torch.ones(len(part), dtype=torch.bool)
        if granularity in ("neuron", "head"):
            # Equal shares of the channels of one of the two parts.
            mine = part % 2 == (1 if granularity == "neuron" else 0)
            unit = torch.arange(int(mine.sum())) * units // int(mine.sum())
        else:
            unit = part // (2 if granularity == "layer" else 1)
        self.unit = torch.full_like(part, units).masked_scatter(mine, unit)
        """[channels]: the number of the unit; that behind the last unit for channels of none."""
        self.cost = (torch.tensor(sizes, dtype=torch.float64) / widths)[part]
        """[channels]: their equal shares of the parameters of the attention or MLP that they are in."""
        self.costs = torch.zeros(units + 1).double().index_add(0, self.unit, self.cost)[:units]
        self.budget = percent / 100 * float(self.cost.sum())
        least = float(self.costs.sort().values[:listed].sum())
        if not self.cost.max() <= self.budget <= least:
            low, high = (100 * float(limit / self.cost.sum()) for limit in (self.cost.max(), least))
            raise InputError(
                f"locate.parameters is {percent:g} %, and with the {listed:,} best of {units:,} units "
                f"(locate.k) from {low:.2g} to {high:.2g} % can be removed"
            )

    def channels(self, order: Tensor, drawn: torch.Generator) -> Tensor:
        """[channels], whether a channel is removed: those of the first units of `order`, up to the budget.

        Of the unit that is over the budget as many channels are `drawn` as fit.
        """
        total = self.costs[order].cumsum(0)
        whole = int((total <= self.budget).sum())
        flags = torch.zeros(len(self.costs) + 1, dtype=torch.bool)
        flags[order[:whole]] = True
        removed = flags[self.unit]
        if whole < len(order):
            inside = (self.unit == order[whole]).nonzero()[:, 0]
            inside = inside[torch.randperm(len(inside), generator=drawn)]
            left = self.budget - (float(total[whole - 1]) if whole else 0)
            removed[inside[self.cost[inside].cumsum(0) <= left]] = True
        return removed

    def probabilities(self, sentences: Sequence[Sentence], targets: Sequence[int], removed: Tensor) -> Tensor:
        """[sentences]: of the targets, without the channels `removed` [sentences, channels]."""

        def removing(mask: Tensor) -> Before:
            return lambda value: value.masked_fill(mask[:, None], 0)

        masks = map(removing, torch.split(removed.to(self.loaded.device), self.widths, 1))
        with torch.no_grad(), hooked_before(self.loaded.model, dict(zip(self.names, masks, strict=True))):
            return probability(last_logits(self.loaded, sentences), targets)

    def left(self, sentences: Sequence[Sentence], rows: Sequence[Row], seed: int) -> list[Row]:
        """The columns REMOVED for a batch of sentences, of which `rows` have the other columns of LOCATED.

        `permuted`: without the units of the next sentence of another fact in the batch, null if it has none.
        Draws depend on seed and sentence. Sentences without an answer or a score have no columns.
        """
        usable = [
            index
            for index, (sentence, row) in enumerate(zip(sentences, rows, strict=True))
            if sentence.subtask in ("c", "r") and math.isfinite(row["mean"])
        ]

        def order(position: int, kind: str, drawn: torch.Generator) -> Tensor:
            if kind == "random":
                return torch.randperm(len(self.costs), generator=drawn)
            chosen = usable[position:] + usable[:position]
            if kind == "permuted":
                fact = sentences[chosen[0]].fact
                chosen = [index for index in chosen if sentences[index].fact != fact]
            return torch.tensor(rows[chosen[0]]["top"] if chosen else [], dtype=torch.int64)

        def work(positions: Sequence[int]) -> list[Row]:
            mine = [sentences[usable[position]] for position in positions]
            targets = [rows[usable[position]]["target"] for position in positions]
            columns = {}
            for kind in REMOVED:
                draws = [generator(f"{seed}:{sentence.id}") for sentence in mine]
                drawing = zip(positions, draws, strict=True)
                masks = [self.channels(order(position, kind, drawn), drawn) for position, drawn in drawing]
                removed = torch.stack(masks)
                chances = self.probabilities(mine, targets, removed).tolist()
                columns[kind] = [
                    chance if math.isfinite(chance) and any_removed else None
                    for chance, any_removed in zip(chances, removed.any(1).tolist(), strict=True)
                ]
            return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

        measured = [row for part in in_batches(range(len(usable)), len(usable), work) for row in part]
        columns = dict(zip(usable, measured, strict=True))
        return [columns.get(index, {}) for index in range(len(rows))]

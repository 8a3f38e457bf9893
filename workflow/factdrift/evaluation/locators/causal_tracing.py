"""Causal tracing (Meng et al., 2022, "Locating and Editing Factual Associations in GPT", section 2).

The subject's embeddings are corrupted with noise, which lowers the probability of the answer. Then a hidden
state at a token and block, or the output of MLP or attention in a window of blocks, gets the value that
it has without noise. The indirect effect is the probability that this restores.

All noise samples of a batch run once in full beside the clean sentences. Restored runs repeat only what lies
behind the restored state (`models/fork.py`), all states and samples in one batch.
"""

import contextlib
from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.progress import watched
from factdrift.evaluation.locators.interface import Context, positions, probability
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.evaluation.methods.shared import generator
from factdrift.models.fork import Branches, Whole
from factdrift.models.hooks import After, hooked
from factdrift.models.loaded import Loaded
from factdrift.models.padding import batches


def causal_tracing(
    loaded: Loaded, sentences: Sequence[Sentence], targets: Sequence[int], context: Context
) -> Tensor:
    """[sentences, blocks]: the indirect effect of each block; of several tokens the largest."""
    tokens = positions(sentences, context.hyper["token"])
    noise = noise_of(loaded, sentences, context)
    traced = trace(loaded, sentences, targets, noise, tokens, context)
    return torch.stack([effects.amax(0) for effects in traced])


def noise_of(loaded: Loaded, sentences: Sequence[Sentence], context: Context) -> list[Tensor]:
    """For each sentence [samples, tokens of its subject, hidden].

    Normal with `noise` times the spread of the embeddings as standard deviation, drawn by the fact: wordings
    with equally many tokens in the subject have the same noise. A sentence without subject is corrupted as a
    whole.
    """
    samples, scale = context.hyper["samples"], context.hyper["noise"] * context.noise_scale
    noise = []
    for sentence in sentences:
        first, behind = sentence.noisy
        shape = (samples, behind - first, loaded.spec.hidden)
        drawn = torch.randn(shape, generator=generator(f"{context.seed}:{sentence.fact or sentence.id}"))
        noise.append((drawn * scale).to(loaded.device, loaded.dtype))
    return noise


def corrupted(embedded: Tensor, sentences: Sequence[Sentence], noise: Sequence[Tensor]) -> Tensor:
    """Embeddings [copies x sentences, tokens, hidden] with the samples of noise on the last copies."""
    changed = embedded.reshape(-1, len(sentences), *embedded.shape[1:]).clone()
    for row, (sentence, samples) in enumerate(zip(sentences, noise, strict=True)):
        changed[-len(samples) :, row, slice(*sentence.noisy)] += samples
    return changed.reshape(embedded.shape)


def trace(
    loaded: Loaded,
    sentences: Sequence[Sentence],
    targets: Sequence[int],
    noise: Sequence[Tensor],
    tokens: Sequence[Sequence[int]],
    context: Context,
) -> list[Tensor]:
    """For each sentence [its `tokens`, blocks], the indirect effects.

    `noise`: of the sentences, [samples, tokens of its subject, hidden], the same number of samples for all.
    Restored is `kind`: `state`, a block's output; `mlp` or `attention`, the output of that module in a window
    of blocks, from `window // 2` below the traced block. A restored batch has at most the context's budget.
    """
    run = _Run(loaded, sentences, noise, context.hyper["kind"], context.hyper["window"])
    logits = run.whole.logits(run.whole.last())
    wanted = torch.as_tensor(targets, device=loaded.device)
    chances = probability(logits, wanted.repeat(1 + run.samples)).reshape(1 + run.samples, -1)
    noisy = chances[1:]
    sites = [(row, token) for row, mine in enumerate(tokens) for token in mine]
    effects = chances.new_zeros(len(sites), loaded.spec.layers)
    behind = [run.lengths[row] - token for row, token in sites]
    order = sorted(range(len(sites)), key=lambda index: (behind[index], sites[index]))
    # Of a sweep over the blocks, half of the branches run through a block on average.
    budget = (2 * context.budget + 1) // (run.samples * loaded.spec.layers)
    together = list(batches([behind[index] for index in order], budget))
    for batch in watched(together, "restorations", "batches"):
        part = [order[rank] for rank in batch]
        restored = run.restored([sites[index] for index in part], wanted)
        # One by one: a mean of many sites at once may differ in the last digits.
        for index, mine in zip(part, restored.unbind(1), strict=True):  # [samples, blocks]
            before = noisy[:, sites[index][0], None]
            # 0 where restoring has no effect, but NaN where the corrupted run has no probability.
            effects[index] = torch.where(mine.isnan(), 0 * before, mine - before).mean(0)
    return list(torch.split(effects, list(map(len, tokens))))


class _Run:
    """The clean sentences and their corrupted copies, run in full: row s * B + b is sample s of sentence b.

    The first B rows are clean.
    """

    def __init__(
        self, loaded: Loaded, sentences: Sequence[Sentence], noise: Sequence[Tensor], kind: str, window: int
    ):
        if kind == "attention" and loaded.spec.recurrent:
            raise InputError(
                f"locators: {loaded.name}: some blocks of the family {loaded.spec.family} mix tokens by a "
                "recurrent state instead of attention, whose output cannot be restored for one token; trace "
                "states or MLPs"
            )
        self.loaded, self.kind, self.window = loaded, kind, window
        self.samples = len(noise[0])
        self.number = len(sentences)
        self.lengths = [len(sentence.ids) for sentence in sentences]
        self.first = torch.tensor([sentence.noisy[0] for sentence in sentences], device=loaded.device)
        self.outputs: list[Tensor] = []
        """For each block the output of its MLP or attention in the clean sentences."""

        spec = loaded.spec
        functions: dict[str, After] = {
            spec.embedding: lambda ids, output: corrupted(output, sentences, noise)
        }
        if kind != "state":
            functions |= {self._module(layer): self._keep for layer in range(spec.layers)}
        with hooked(loaded.model, functions):
            self.whole = Whole(loaded, [sentence.ids for sentence in sentences] * (1 + self.samples))

    def _module(self, layer: int) -> str:
        spec = self.loaded.spec
        return spec.module(layer, spec.mlp if self.kind == "mlp" else spec.attention_out)

    def _keep(self, entering: Tensor, output: Tensor) -> None:
        self.outputs.append(output[: self.number].clone())

    @torch.no_grad()
    def restored(self, sites: Sequence[tuple[int, int]], targets: Tensor) -> Tensor:
        """[samples, sites, blocks]: probabilities of the targets with one site restored.

        NaN where restoring it has no effect.
        """
        device, layers = self.loaded.device, self.loaded.spec.layers
        row, token = torch.tensor(sites, device=device).T
        low, high = windows(layers, self.window if self.kind != "state" else 1, device)
        enter = low if self.kind != "state" else torch.arange(1, layers + 1, device=device)
        # Sorted by the block at which they join, which `low` and `enter` are already.
        shape = (layers, self.samples, len(sites))
        sample = torch.arange(1, self.samples + 1, device=device)[None, :, None]
        runs = (sample * self.number + row).expand(shape).flatten()
        sentence, start, level = (
            value.expand(shape).flatten()
            for value in (row, token, torch.arange(layers, device=device)[:, None, None])
        )
        keep = self._moved(runs, sentence, start, level, enter).nonzero()[:, 0]
        kind = torch.promote_types(self.whole.inputs[0].dtype, torch.float32)
        chances = torch.full((len(runs),), torch.nan, dtype=kind, device=device)
        if len(keep):
            runs, sentence, start, level = (value[keep] for value in (runs, sentence, start, level))
            branches = Branches(self.whole, runs, start, enter[level])

            def join(number: int, new: slice, fresh: Tensor) -> Tensor:
                fresh[:, 0] = self.whole.inputs[number][sentence[new], start[new]]
                return fresh

            def run(number: int, count: int) -> contextlib.AbstractContextManager[None]:
                inside = ((low[level[:count]] <= number) & (number < high[level[:count]])).nonzero()[:, 0]

                def restore(entering: Tensor, output: Tensor) -> Tensor:
                    changed = output.clone()
                    changed[inside, 0] = self.outputs[number][sentence[inside], start[inside]]
                    return changed

                return hooked(self.loaded.model, {self._module(number): restore})

            last = branches.run(joining=join) if self.kind == "state" else branches.run(running=run)
            chances[keep] = probability(self.whole.logits(last), targets[sentence])
        return chances.reshape(shape).permute(1, 2, 0)

    def _moved(self, runs: Tensor, sentence: Tensor, start: Tensor, level: Tensor, enter: Tensor) -> Tensor:
        """[branches]: whether restoring the site can have an effect.

        It has none before the first corrupted token, at a token that nothing reads (behind the last block's
        attention, all but the last), and where the state is the same with and without noise.
        """
        last = self.whole.lengths[sentence] - 1
        depth = len(self.whole.blocks) - (1 if self.kind != "state" else 0)
        moved = (start >= self.first[sentence]) & ((enter[level] < depth) | (start == last))
        if self.kind == "state":
            for layer, states in enumerate(self.whole.inputs[1:]):
                mine = (level == layer).nonzero()[:, 0]
                clean, noisy = (states[rows[mine], start[mine]] for rows in (sentence, runs))
                moved[mine] &= (clean != noisy).any(1)
        return moved


def windows(layers: int, window: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """First block, and block behind the last, of the window around each block (as released)."""
    centre = torch.arange(layers, device=device)
    return (centre - window // 2).clamp(min=0), (centre + (window + 1) // 2).clamp(max=layers)

"""What a model writes greedily until it stops by itself. Imports torch.

Rows of a batch that have ended leave it as soon as they are half of it. They stay where a change looks at the
prompts of its batch (codebooks, side memories), or the model keeps no cache whose rows can be chosen; what
follows their end is dropped.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import torch

from factdrift.core.progress import Progress
from factdrift.models.deltas import Changes, applied, look_at_prompts
from factdrift.models.devices import in_batches
from factdrift.models.hooks import hooked_before
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import BUDGET, batches_of, logits_of


class Generation(NamedTuple):
    """A text that a model goes on with. `most`: tokens at most; `stops`: the tokens that end it."""

    ids: Sequence[int]
    most: int
    owner: int = -1
    """The change that is applied meanwhile; -1 for none."""
    stops: Collection[int] = ()


class _Batch:
    """Rows that are continued together, with their cache."""

    def __init__(self, loaded: Loaded, rows: Sequence[Generation]) -> None:
        width = max(len(row.ids) for row in rows)
        self.loaded, self.rows = loaded, list(rows)
        self.places = list(range(len(rows)))
        """The row in the batch as it began, of each that is left."""
        self.width = width
        # Left padding, masked; positions count from the first real token.
        padded = [[*[0] * (width - len(row.ids)), *row.ids] for row in rows]
        self.ids = torch.tensor(padded, device=loaded.device)
        self.before = torch.tensor([width - len(row.ids) for row in rows], device=loaded.device)[:, None]
        self.cache: Any = None

    def step(self) -> list[int]:
        """The next token of each row that is left."""
        end, last = self.width, self.loaded.spec.positions - 1
        positions = torch.arange(end, device=self.ids.device)[None]
        output = self.loaded.model(
            input_ids=self.ids,
            attention_mask=(positions >= self.before).long(),
            # Rows that have ended go on meanwhile; positions beyond the last would change all rows.
            position_ids=(positions - self.before).clamp(0, last)[:, end - self.ids.shape[1] :],
            past_key_values=self.cache,
            use_cache=True,
        )
        self.cache, self.ids = output.past_key_values, output.logits[:, -1].argmax(-1, keepdim=True)
        self.width += 1
        tokens: list[int] = self.ids[:, 0].tolist()
        return tokens

    def can_drop(self) -> bool:
        """Whether rows can be taken out of the cache; the states of linear attention cannot select any."""
        parts = [self.cache, *getattr(self.cache, "layers", ())]
        return all(hasattr(part, "batch_select_indices") for part in parts)

    def keep(self, left: Sequence[int]) -> None:
        """Drops all rows but these."""
        chosen = torch.tensor(left, device=self.ids.device)
        self.cache.batch_select_indices(chosen)
        self.ids, self.before = self.ids[chosen], self.before[chosen]
        self.places = [self.places[index] for index in left]


@torch.inference_mode()
def write(
    loaded: Loaded, rows: Sequence[Generation], changes: Changes | None = None, budget: int = BUDGET
) -> list[list[int]]:
    """The tokens that the model writes after each text, up to the first of its `stops`, which is the last.

    Without one they end at `most` tokens, or at the model's last position. `budget`: tokens of a
    batch, those to be written included; a batch that does not fit into memory is halved.
    """
    wanted = [max(min(row.most, loaded.spec.positions - len(row.ids)), 0) for row in rows]
    order = sorted(range(len(rows)), key=lambda place: (wanted[place], len(rows[place].ids), place))
    written: dict[int, list[int]] = {place: [] for place in range(len(rows))}

    def run(batch: Sequence[int]) -> None:
        indices = [order[row] for row in batch if wanted[order[row]]]
        if indices:
            chosen = [rows[index]._replace(most=wanted[index]) for index in indices]
            if loaded.alone:
                found = _alone(loaded, chosen[0])
                progress.advance(chosen[0].most)
            else:
                found = _together(loaded, chosen, changes or {}, progress)
            written.update(zip(indices, found, strict=True))

    lengths = [len(rows[place].ids) + wanted[place] for place in order]
    with Progress("writing", sum(wanted), "tokens") as progress:
        for batch in batches_of(loaded, lengths, budget):
            in_batches(batch, len(batch), run)
    return [written[place] for place in range(len(rows))]


def _alone(loaded: Loaded, row: Generation) -> list[list[int]]:
    """Without a cache, because the modules of others may look at the whole text."""
    text = torch.tensor([list(row.ids)], device=loaded.device)
    written: list[int] = []
    while len(written) < row.most and not (written and written[-1] in row.stops):
        text = torch.cat([text, logits_of(loaded, text)[:, -1].argmax(-1, keepdim=True)], 1)
        written.append(int(text[0, -1]))
    return [written]


def _together(
    loaded: Loaded, rows: Sequence[Generation], changes: Changes, progress: Progress
) -> list[list[int]]:
    written: list[list[int]] = [[] for _ in rows]
    batch = _Batch(loaded, rows)
    fixed = look_at_prompts(changes)
    live = set(range(len(rows)))
    with hooked_before(loaded.model, {loaded.spec.head: lambda hidden: hidden[:, -1:]}):
        while live:
            owner = torch.tensor([rows[index].owner for index in batch.places], device=loaded.device)
            ends = torch.full_like(owner, batch.width - 1)
            with applied(loaded.model, changes, owner, ends, batch.before[:, 0]):
                while live:
                    for index, token in zip(batch.places, batch.step(), strict=True):
                        if index not in live:
                            continue
                        written[index].append(token)
                        progress.advance()
                        if token in rows[index].stops or len(written[index]) >= rows[index].most:
                            live.discard(index)
                            progress.done += rows[index].most - len(written[index])
                    if live and len(live) <= len(batch.places) // 2 and batch.can_drop() and not fixed:
                        break
            if live:
                batch.keep([index for index, row in enumerate(batch.places) if row in live])
    return written

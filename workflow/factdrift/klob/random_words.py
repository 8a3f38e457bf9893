"""KLoB-u: sentences of random words, as long as those of KLoB-c and KLoB-r."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from factdrift.core.errors import InputError

ATTEMPTS = 1000
"""The most draws for one sentence; then the pool is too small for different sentences."""


class Source(NamedTuple):
    """A sentence whose length is copied; `tokens`: its words, of which the blank `_` is one."""

    sentence_id: str
    tokens: int


def random_sentences(
    sources: Iterable[Source], pool: Sequence[str], seed: int
) -> Iterator[tuple[Source, str]]:
    """Yields each source, in the given order, with a text of `tokens - 1` entries of the pool.

    All texts are different. Raises InputError if the pool has too few words for that.
    """
    written: set[str] = set()
    for source in sources:
        for attempt in range(ATTEMPTS):
            draw = random.Random(f"{seed}:{source.sentence_id}:{attempt}")
            text = " ".join(draw.choices(pool, k=source.tokens - 1))
            if text not in written:
                break
        else:
            raise InputError(
                f"klob.u.words: {len(pool):,} words are too few for different sentences of "
                f"{source.tokens - 1} words; give a longer list"
            )
        written.add(text)
        yield source, text


def stratified(sources: Sequence[Source], size: int, seed: int) -> list[Source]:
    """A sample of `size` sources stratified by length (largest remainder method); all if they are fewer."""
    if size >= len(sources):
        return list(sources)
    lengths = Counter(source.tokens for source in sources)
    exact = {tokens: divmod(count * size, len(sources)) for tokens, count in lengths.items()}
    kept = {tokens: whole for tokens, (whole, _) in exact.items()}
    by_remainder = sorted(exact, key=lambda tokens: (-exact[tokens][1], tokens))
    for tokens in by_remainder[: size - sum(kept.values())]:
        kept[tokens] += 1
    drawn: list[Source] = []
    for source in sorted(sources, key=lambda source: _order(seed, source)):
        if kept[source.tokens]:
            kept[source.tokens] -= 1
            drawn.append(source)
    return sorted(drawn)


def _order(seed: int, source: Source) -> str:
    return hashlib.sha256(f"{seed}|{source.sentence_id}".encode()).hexdigest()

"""Words that are spelt nearly as a typed one."""

from collections.abc import Iterable


def mistakes_allowed(word: str) -> int:
    """How many letters of a word may be wrong, missing, too many or swapped with the next."""
    return 0 if len(word) < 3 else 1 if len(word) < 6 else 2


def distance(word: str, other: str, most: int) -> int:
    """The number of letters to change, insert, delete or swap with their neighbour; `most` + 1 if more."""
    if abs(len(word) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        last, row, earlier = row, [i], before
        for j, against in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == against:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = last
    return row[-1]


def nearest(word: str, known: Iterable[tuple[str, int]]) -> str | None:
    """The known word (with how often it occurs) that is nearest to `word`, of equals the most frequent one.

    None if all differ by more letters than `mistakes_allowed`.
    """
    most = mistakes_allowed(word)
    ranked = ((distance(word, other, most), -often, other) for other, often in known)
    best = min((candidate for candidate in ranked if candidate[0] <= most), default=None)
    return best[2] if best is not None else None

"""Whether a name in a text is that of a person: with and without initials and middle names."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.names import Names, Person, initials_of

MOST = 5
"""Given names, at most, that are read before a surname."""


def same(given: Sequence[str], person: Person, names: Names) -> bool:
    """Whether given names and initials before a surname, in the order of the text, are this person's.

    `George Walker` and `G. W.` are George W. Bush, `Olaf Karl` is Olaf Scholz where no other candidate has
    the surname; `George H. W.` and `Jill` are not. A given name by its initial needs another one beside it.
    """
    initials = initials_of(person.name.name)
    own = [
        letter
        for each in (person.given, *person.middle)
        for letter in (each if each in initials else (each,))
    ]
    if not given or not own or not _alike(given[0], own[0]):
        return False
    if len(own) == 1:
        full = given[0] == own[0] and len(given) > 1
        return full and names.own(person.surname, person.name.kind)
    return len(given) == len(own) and all(map(_alike, given, own))


def _alike(one: str, other: str) -> bool:
    return (
        one == other
        or (len(one) == 1 and other.startswith(one))
        or (len(other) == 1 and one.startswith(other))
    )

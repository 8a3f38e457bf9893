"""What comes back and what supersedes what in a chain, against the definitions read word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factdrift.streams.links import Fate, Link, fates, superseded

VALUES = [("wikibase-item", f"Q{number}") for number in range(1, 5)]


def test_an_update_is_superseded_when_nothing_that_it_says_is_left():
    assert superseded(["new", "new"], [3, 2]) == 3
    assert superseded(["new", "new"], [3, None]) is None
    assert superseded(["new", "obsolete"], [2, None]) == 2
    assert superseded(["obsolete", "static"], [4, None]) == 4
    assert superseded(["static"], [None]) is None


labels = st.dictionaries(
    st.sampled_from(VALUES), st.sampled_from(["new", "obsolete", "static"]), min_size=1, max_size=4
)
chains = st.lists(st.builds(Link, labels, st.booleans()), min_size=1, max_size=7)


def word_by_word(chain: list[Link], place: int, value: tuple[str, str]) -> Fate:
    """The definitions of docs/streams.md: every link is looked at for every object."""

    def verdict(each: Link) -> str | None:
        if value in each.labels:
            return "ended" if each.labels[value] == "obsolete" else "holds"
        others = [other for other, label in each.labels.items() if label == "new" and other != value]
        return "ended" if each.functional and others else None

    label = chain[place].labels[value]
    earlier = [verdict(each) for each in chain[:place] if verdict(each)]
    reverts = label == "new" and bool(earlier) and earlier[-1] == "ended"
    opposite = {"new": "ended", "obsolete": "holds", "static": "none"}[label]
    later = [
        number for number, each in enumerate(chain[place + 1 :], start=place + 2) if verdict(each) == opposite
    ]
    return Fate(reverts, later[0] if later else None)


@given(chains)
def test_fates_are_those_of_the_definitions(chain):
    # A value that no earlier link mentions cannot have ended, which the definitions leave open.
    found = fates(chain)
    for place, each in enumerate(chain):
        assert found[place].keys() == each.labels.keys()
        for value in each.labels:
            wanted = word_by_word(chain, place, value)
            mentioned = any(value in earlier.labels for earlier in chain[:place])
            assert found[place][value] == wanted._replace(reverts=wanted.reverts and mentioned)

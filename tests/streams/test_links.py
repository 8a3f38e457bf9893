"""What comes back and what supersedes what in a chain, against the definitions read word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factdrift.streams.links import Fate, Link, fates, superseded

VALUES = [("wikibase-item", f"Q{number}") for number in range(1, 5)]
X, Y, Z, _ = VALUES


def link(functional: bool = False, **labels: str) -> Link:
    named = {"x": X, "y": Y, "z": Z}
    return Link({named[name]: label for name, label in labels.items()}, functional)


def said(chain: list[Link], value: tuple[str, str]) -> list[Fate | None]:
    return [found.get(value) for found in fates(chain)]


def test_a_replaced_value_is_superseded_and_comes_back():
    chain = [link(x="new", y="obsolete"), link(x="obsolete", y="new")]
    assert said(chain, X) == [Fate(False, 2), Fate(False, None)]
    assert said(chain, Y) == [Fate(False, 2), Fate(True, None)]


def test_an_end_without_a_successor_supersedes():
    assert said([link(x="new"), link(x="obsolete")], X) == [Fate(False, 2), Fate(False, None)]


def test_an_addition_beside_a_value_supersedes_nothing():
    chain = [link(x="new"), link(x="static", y="new"), link(y="obsolete")]
    assert said(chain, X) == [Fate(False, None), Fate(False, None), None]
    assert said(chain, Y) == [None, Fate(False, 3), Fate(False, None)]


def test_another_value_ends_one_that_is_not_mentioned_only_where_one_holds_at_a_time():
    several = [link(x="new"), link(y="new"), link(x="new")]
    assert said(several, X) == [Fate(False, None), None, Fate(False, None)]
    one = [link(True, x="new"), link(True, y="new"), link(True, x="new")]
    assert said(one, X) == [Fate(False, 2), None, Fate(True, None)]
    assert said(one, Y) == [None, Fate(False, 3), None]


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

"""Candidates of random small snapshots, against the rules as a plain reader of them would write them down."""

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.worlds import Fact

from factdrift.klob.facts import SnapshotTables, write_candidates, write_facts
from factdrift.klob.settings import Settings

from .conftest import DAY, PAGE, Snapshot, rows, settings_with

RELATIONS = (17, 26, 36)
SECOND = (17, 26, 36, 1376)
INVERSES = {(26, 26), (36, 1376), (1376, 36)}
ITEMS = range(1, 13)
LABELS = ["Oz", "Oz City", "city of oz", "Kansas", "the  Land of Far Oz Kansas", None]
ALIASES = ["Oz", "far Oz", "Land", "CITY OF", "ity"]

facts = st.lists(
    st.builds(
        Fact,
        s=st.sampled_from(ITEMS),
        p=st.sampled_from((*RELATIONS, 1376)),
        o=st.sampled_from(ITEMS),
        rank=st.sampled_from(["normal", "normal", "normal", "preferred", "deprecated"]),
        end=st.sampled_from([None, None, None, "2020", "2023", "2024", "unknown"]),
        snak=st.sampled_from(["value"] * 7 + ["somevalue"]),
    ),
    min_size=10,
    max_size=40,
)
worlds = st.builds(
    Snapshot,
    facts=facts,
    labels=st.fixed_dictionaries(
        {item: st.sampled_from([*LABELS, f"i{item}", f"j{item}"]) for item in ITEMS}
    ),
    aliases=st.dictionaries(st.sampled_from(ITEMS), st.lists(st.sampled_from(ALIASES), max_size=2)),
    sitelinks=st.fixed_dictionaries({item: st.sampled_from([0, 2, 3, 9]) for item in ITEMS}),
    classes=st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([[5], [PAGE], [901], [902]]), max_size=2),
    superclasses=st.just({901: [900], 900: [PAGE], 902: [5]}),
)


def holds(fact: Fact, world: Snapshot) -> bool:
    """Section 6, step 1."""
    group = [other for other in world.facts if (other.s, other.p) == (fact.s, fact.p)]
    best = "preferred" if any(other.rank == "preferred" for other in group) else "normal"
    over = fact.end in ("2020", "2023", "unknown")
    return fact.rank == best and fact.snak == "value" and not over


def leaks(inner: str, outer: str) -> bool:
    small, large = inner.casefold().split(), outer.casefold().split()
    return any(large[start : start + len(small)] == small for start in range(len(large)))


def oracle(
    world: Snapshot, switches: Settings
) -> tuple[dict[tuple[int, ...], str | None], dict[tuple[int, ...], str | None]]:
    valid = {(fact.s, fact.p, fact.o) for fact in world.facts if holds(fact, world)}
    objects = {(s, p): {o for a, b, o in valid if (a, b) == (s, p)} for s, p, _ in valid}
    label = world.labels

    def page(item: int) -> bool:
        return bool(set(world.classes.get(item, [])) & {PAGE, 900, 901})

    def base(s: int, p: int, o: int) -> str | None:
        if label[s] is None or label[o] is None:
            return "no_label"
        if page(s) or page(o):
            return "page"
        if leaks(label[o] or "", label[s] or ""):
            return "leak"
        if any(leaks(alias, label[s] or "") for alias in world.aliases.get(o, [])):
            return "alias_leak"
        twins = {a for a, b, _ in valid if b == p and label[a] == label[s]}
        return "twin" if len(twins) > 1 else None

    found = {}
    for s, p, o in valid:
        if p not in RELATIONS:
            continue
        reason = "multi_valued" if switches.single_valued and len(objects[s, p]) > 1 else base(s, p, o)
        if reason is None and len((label[o] or "").split(" ")) > switches.max_object_words:
            reason = "words"
        if reason is None and world.sitelinks[s] < switches.min_sitelinks:
            reason = "sitelinks"
        found[s, p, o] = reason
    known: dict[str | None, tuple[bool, int, int]] = {}
    for (s, _, _), reason in found.items():
        if reason in (None, "words", "sitelinks"):
            # Subjects with an example of KLoB-c come before those that are first hops only.
            place = reason is not None, -world.sitelinks[s], s
            known[label[s]] = min(known.get(label[s], place), place)
    for fact, reason in list(found.items()):
        if reason is None and fact[0] != known[label[fact[0]]][-1]:
            found[fact] = "homonym"

    chains: dict[tuple[int, ...], str | None] = {}
    for (s, p1, o1), (middle, p2, o2) in itertools.product(valid, valid):
        if middle != o1 or p1 not in RELATIONS or p2 not in SECOND:
            continue
        if len(objects[s, p1]) > 1 or len(objects[o1, p2]) > 1 or base(s, p1, o1):
            continue
        if s != known[label[s]][-1]:
            continue
        if (p1, p2) in INVERSES:
            reason = "inverse_pair"
        elif len({s, o1, o2}) < 3:
            reason = "same_item"
        elif label[o2] is None:
            reason = "no_label"
        elif page(o2):
            reason = "page"
        elif leaks(label[o2] or "", label[s] or "") or leaks(label[o2] or "", label[o1] or ""):
            reason = "leak"
        elif any(leaks(alias, label[item] or "") for alias in world.aliases.get(o2, []) for item in (s, o1)):
            reason = "alias_leak"
        else:
            reason = None
        chains[s, p1, o1, p2, o2] = reason
    for key, reason in chains.items():
        alike = [
            one
            for one, why in chains.items()
            if (one[1], one[3]) == (key[1], key[3]) and why in (None, "pair_support")
        ]
        if reason is None and len(alike) < switches.min_pair_support:
            chains[key] = "pair_support"
    return found, chains


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds, single=st.booleans(), support=st.integers(1, 3))
def test_candidates(world, single, support, tmp_path, choice):
    switches = settings_with(single_valued=single, min_sitelinks=3, min_pair_support=support)
    world.write(tmp_path, choice)
    bucket, statements, entities, classes, properties, *outputs = (
        tmp_path / f"{name}.parquet"
        for name in ("bucket", "statements", "entities", "classes", "properties", "facts", "chains")
    )
    relations = {number: choice.relations[number] for number in RELATIONS}
    few = choice._replace(relations=relations, second_hops=frozenset(SECOND), inverses=frozenset(INVERSES))
    write_facts(statements, DAY, {*RELATIONS, *SECOND}, bucket, 2000, 1)
    tables = SnapshotTables([bucket], [entities], classes, properties)
    write_candidates(tables, few, switches, (outputs[0], outputs[1]), 2000, 1)
    wanted_facts, wanted_chains = oracle(world, switches)
    found = {(row["s"], row["p1"], row["o1"]): row["dropped_by"] for row in rows(tmp_path / "facts.parquet")}
    assert found == wanted_facts
    names = ("s", "p1", "o1", "p2", "o2")
    chains = {
        tuple(row[name] for name in names): row["dropped_by"] for row in rows(tmp_path / "chains.parquet")
    }
    assert chains == wanted_chains

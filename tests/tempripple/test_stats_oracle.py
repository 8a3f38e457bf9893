"""The statistics of a build against plain counts over drawn rows."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from support.ripples import METHOD, RELATIONS, method_with

from factdrift.tempripple.stats import statistics

Row = dict[str, Any]
STAGES = {"mutable": ("overlap", "gap"), "related": ("leak", "cap")}


def drawn(dice: Random) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """Facts, related facts, items and dropped rows, as far as statistics read them."""
    facts = [
        {"fact_id": f"f{number}", "s": f"Q{dice.randrange(4)}", "p": dice.choice(("P6", "P35"))}
        | {"o": f"Q{number % 5 + 10}", "o_label": f"holder {number % 5 + 10}"}
        | {"role": dice.choice(("new", "old")), "end_lo": dice.choice((None, 5))}
        | {"duration_days": dice.choice((None, 0, 100, 1000, 3653))}
        for number in range(dice.randrange(1, 25))
    ]
    related = [
        {"rel_id": f"r{number}", "fact_id": fact["fact_id"], "hop": dice.randrange(1, 4)}
        | {"path": [{"x": fact["o"], "p": "P19"}, {"x": "Q7", "p": dice.choice(("P17", "P37"))}]}
        for number in range(dice.randrange(30))
        for fact in [dice.choice(facts)]
    ]
    items = [
        {"task": dice.randrange(1, 3) + 2 * (row in related), "hop": row.get("hop", 0)}
        | {"open_only": dice.random() < 0.3, "discriminates": dice.choice((True, False, None))}
        | {
            "answer_index": dice.randrange(4),
            "flags": dice.sample(["returning", "year_only"], dice.randrange(3)),
        }
        | {"asked_s": f"Q{dice.randrange(3)}", "asked_p": dice.choice(("P6", "P17"))}
        | {"rel_id": row.get("rel_id")}
        for row in (*facts, *related)
    ]
    dropped = [
        {"stage": stage, "reason": dice.choice(STAGES[stage]), "p": dice.choice(("P6", "P35", "P103"))}
        for stage in dice.choices(tuple(STAGES), k=20)
    ]
    return facts, related, items, dropped


def mean_years(days: list[int]) -> float | None:
    return round(sum(days) / len(days) / 365.25, 2) if days else None


@pytest.mark.parametrize("seed", range(12))
def test_every_number_is_that_of_a_plain_count(seed):
    facts, related, items, dropped = drawn(Random(seed))
    stats = statistics(facts, related, items, dropped, RELATIONS, METHOD, {"dump": "d", "endpoint": None})
    assert stats["snapshot"] == {"date": "2026-01-05", "dump": "d", "scope": None, "endpoint": None}
    assert list(stats["sizes"].values()) == [
        len({(fact["s"], fact["p"]) for fact in facts}),
        len(facts),
        *(sum(fact["role"] == role for fact in facts) for role in ("new", "old")),
        *(len(related), len(items)),
    ]
    assert list(stats["table_1"]) == [*(f"P{number}" for number in RELATIONS.mutable), "all"]
    for name, row in stats["table_1"].items():
        own = [fact for fact in facts if name in (fact["p"], "all")]
        known = [fact for fact in own if fact["duration_days"] is not None]
        days = [fact["duration_days"] for fact in known]
        assert (row["subjects"], row["facts"]) == (len({(f["s"], f["p"]) for f in own}), len(own))
        assert row["mean_years"] == mean_years(days)
        assert row["max_years"] == (round(max(days) / 365.25, 2) if days else None)
        ended = [fact["duration_days"] for fact in known if fact["end_lo"] is not None]
        assert row["mean_years_ended"] == mean_years(ended)
        assert row["without_start"] == len(own) - len(known)
    roles = {fact["fact_id"]: fact["role"] for fact in facts}
    before = len(facts)
    for hop in (1, 2, 3):
        of_hop = [roles[row["fact_id"]] for row in related if row["hop"] == hop]
        share = round(len(of_hop) / before, 3) if before else None
        counts = [len(of_hop), of_hop.count("new"), of_hop.count("old"), share]
        assert list(stats["related"][f"hop_{hop}"].values()) == counts
        before = len(of_hop)
    asked = Counter(row["path"][1]["p"] for row in related)
    assert list(stats["related"]["by_property"].items()) == sorted(asked.items(), key=lambda p: (-p[1], p[0]))
    groups = {(item["task"], item["hop"]) for item in items}
    assert set(stats["items"]) == {*(f"task_{task}_hop_{hop}" for task, hop in groups), "flags"}
    for task, hop in groups:
        group = [item for item in items if (item["task"], item["hop"]) == (task, hop)]
        closed = [item["answer_index"] for item in group if not item["open_only"]]
        truths = [item["discriminates"] for item in group]
        assert stats["items"][f"task_{task}_hop_{hop}"] == {
            "items": len(group),
            "open_only": len(group) - len(closed),
            "discriminates": {
                name: sum(truth is value for truth in truths)
                for name, value in (("yes", True), ("no", False), ("no_parallel", None))
            },
            "letters": {letter: closed.count(index) for index, letter in enumerate("ABCD")},
        }
    assert stats["items"]["flags"] == Counter(flag for item in items for flag in item["flags"])
    opened = [item["asked_p"] for item in items if item["open_only"]]
    assert stats["open_only"]["items"] == len(opened)
    assert stats["open_only"]["share"] == round(len(opened) / len(items), 4)
    counts = Counter((row["stage"], row["reason"], row["p"]) for row in dropped)
    for stage, reasons in stats["dropped"].items():
        totals = [numbers["all"] for numbers in reasons.values()]
        assert totals == sorted(totals, reverse=True)
        for reason, numbers in reasons.items():
            own = {name: n for (*key, name), n in counts.items() if key == [stage, reason]}
            assert numbers == {"all": sum(own.values()), **own}
            assert list(numbers)[1:] == sorted(own, key=lambda name: int(name[1:]))
    assert sum(numbers["all"] for reasons in stats["dropped"].values() for numbers in reasons.values()) == 20


def test_parameters_are_those_that_took_effect():
    early = method_with(snapshots_new="2025-06-01", as_of="auto", immutable_from=None)
    for settings, dated, partial in ((METHOD, "off", False), (early, "off", True)):
        stats = statistics([], [], [], [], RELATIONS, settings, {})
        assert (stats["parameters"]["as_of"], stats["partial_period"]) == (dated, partial)
        assert stats["parameters"]["immutable_from"] == "2015-01-01"
        assert stats["open_only"]["share"] is None

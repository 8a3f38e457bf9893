"""Statistics of a build: sizes, the paper's Table 1 and hop counts, items, drops, settings, snapshot."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

from factdrift.core.columns import Row
from factdrift.tempripple.relations import Relations
from factdrift.tempripple.settings import ItemSettings
from factdrift.wikidata.ids import property_id


def statistics(
    facts: Sequence[Row],
    related: Sequence[Row],
    items: Sequence[Row],
    dropped: Sequence[Row],
    relations: Relations,
    settings: ItemSettings,
    snapshot: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of `tr_stats.json` but for the counts of the jobs before.

    `snapshot`: the snapshot.json, or the `endpoint` that answered.
    """
    first, last = (datetime.date.fromordinal(day).isoformat() for day in settings.immutable_span)
    filled = {"immutable_from": first, "immutable_until": last, "as_of": "on" if settings.dated else "off"}
    open_only = Counter(item["asked_p"] for item in items if item["open_only"])
    return {
        "snapshot": {
            "date": settings.snapshot_date.isoformat(),
            **{key: snapshot.get(key) for key in ("dump", "scope", "endpoint")},
        },
        "partial_period": settings.partial_period,
        # As they took effect.
        "parameters": msgspec.to_builtins(msgspec.structs.asdict(settings)) | filled,
        "sizes": {
            "subject_relation_pairs": len({(fact["s"], fact["p"]) for fact in facts}),
            "mutable_facts": len(facts),
            "new_facts": sum(fact["role"] == "new" for fact in facts),
            "old_facts": sum(fact["role"] == "old" for fact in facts),
            "related_facts": len(related),
            "items": len(items),
        },
        "table_1": _durations(facts, relations),
        "related": _related(facts, related),
        "items": _items(items),
        "open_only": {
            "items": open_only.total(),
            "share": round(open_only.total() / len(items), 4) if items else None,
            "by_property": _descending(open_only),
        },
        "dropped": _drops(dropped),
    }


def _descending(numbers: Counter[str]) -> dict[str, int]:
    return dict(sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0])))


def _durations(facts: Sequence[Row], relations: Relations) -> dict[str, dict[str, Any]]:
    """Table 1 of the paper: a row for each property, in the order of mutable.tsv, and one for all."""
    labels = {property_id(number): relation.label for number, relation in relations.mutable.items()}
    groups = {name: [fact for fact in facts if fact["p"] == name] for name in labels}
    table = {name: {"label": label, **_duration(groups[name])} for name, label in labels.items()}
    return table | {"all": {"label": "all", **_duration(facts)}}


def _duration(facts: Sequence[Row]) -> dict[str, Any]:
    """Counts and durations in years of facts with a known start, with and without ongoing ones."""
    dated = [fact for fact in facts if fact["duration_days"] is not None]
    days = [fact["duration_days"] for fact in dated]
    ended = [fact["duration_days"] for fact in dated if fact["end_lo"] is not None]

    def years(days: float | None) -> float | None:
        return None if days is None else round(days / 365.25, 2)

    return {
        "subjects": len({(fact["s"], fact["p"]) for fact in facts}),
        "facts": len(facts),
        "mean_years": years(fmean(days) if days else None),
        "max_years": years(max(days, default=None)),
        "mean_years_ended": years(fmean(ended) if ended else None),
        "without_start": len(facts) - len(days),
    }


def _related(facts: Sequence[Row], related: Sequence[Row]) -> dict[str, Any]:
    """Related facts by hop and role, and how many there are for each fact of the hop before."""
    roles = {fact["fact_id"]: fact["role"] for fact in facts}
    hops = Counter((roles[row["fact_id"]], row["hop"]) for row in related)
    table, before = {}, len(facts)
    for hop in (1, 2, 3):
        number = hops["new", hop] + hops["old", hop]
        table[f"hop_{hop}"] = {
            "facts": number,
            "of_new": hops["new", hop],
            "of_old": hops["old", hop],
            "per_fact_before": round(number / before, 3) if before else None,
        }
        before = number
    return table | {"by_property": _descending(Counter(row["path"][-1]["p"] for row in related))}


def _items(items: Sequence[Row]) -> dict[str, Any]:
    """By task and hop: counts of items, of those without options, by `discriminates` and by letter; flags."""
    counts: dict[str, Any] = {}
    for key in sorted({(item["task"], item["hop"]) for item in items}):
        group = [item for item in items if (item["task"], item["hop"]) == key]
        letters = Counter(item["answer_index"] for item in group if not item["open_only"])
        counts[f"task_{key[0]}_hop_{key[1]}"] = {
            "items": len(group),
            "open_only": sum(item["open_only"] for item in group),
            "discriminates": {
                name: sum(item["discriminates"] is value for item in group)
                for name, value in (("yes", True), ("no", False), ("no_parallel", None))
            },
            "letters": {letter: letters[index] for index, letter in enumerate("ABCD")},
        }
    flags = Counter(flag for item in items for flag in item["flags"])
    return counts | {"flags": dict(sorted(flags.items()))}


def _drops(dropped: Iterable[Row]) -> dict[str, dict[str, dict[str, int]]]:
    """Stage -> reason -> property -> number; `all` is the sum over the properties."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in dropped:
        counts[row["stage"]][row["reason"]][row["p"]] += 1
    return {
        stage: {
            reason: {"all": numbers.total()}
            | dict(sorted(numbers.items(), key=lambda pair: int(pair[0].removeprefix("P"))))
            for reason, numbers in sorted(reasons.items(), key=lambda pair: (-pair[1].total(), pair[0]))
        }
        for stage, reasons in sorted(counts.items())
    }

"""Which of the candidates are probes: the caps of answers and updates, against sorted lists."""

import hashlib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.ripples.jobs import Choose
from factdrift.ripples.tables import CRITERIA, DROPPED, PROBES

Row = dict[str, Any]


def capped(rows: list[Row], per_criterion: int, seed: int) -> tuple[list[Row], Counter[tuple[str, ...]]]:
    """What the caps leave, by sorting lists; and criterion, relation, reason -> how many are left out."""
    dropped: Counter[tuple[str, ...]] = Counter()

    def draw(row: Row) -> str:
        return hashlib.sha256(f"ripples:{seed}:{row['probe_id']}".encode()).hexdigest()

    def groups(*keys: str) -> list[list[Row]]:
        found: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            found.setdefault(tuple(str(row[key]) for key in keys), []).append(row)
        return list(found.values())

    def keep(kept: list[Row], reason: str) -> list[Row]:
        dropped.update((row["criterion"], row["relation"], reason) for row in rows if row not in kept)
        return [row for row in rows if row in kept]

    def cap_answers() -> list[Row]:
        kept = []
        for criterion in groups("criterion"):
            counts = Counter(row["answer"] for row in criterion)
            fits = [c for c in range(1, max(counts.values()) + 1)
                    if 4 * c <= sum(min(count, c) for count in counts.values())]  # fmt: skip
            for answer in counts:
                own = sorted((row for row in criterion if row["answer"] == answer), key=draw)
                kept += own[: max(fits, default=1)]
        return keep(kept, "answer_share")

    rows = cap_answers()
    kept = []
    for group in groups("update", "criterion"):
        by_popularity = sorted(group, key=lambda row: (-row["popularity"], draw(row)))
        popular = by_popularity[: (per_criterion + 1) // 2]
        others = sorted((row for row in group if row not in popular), key=draw)
        kept += (popular + others)[:per_criterion]
    rows = keep(kept, "per_update")
    return cap_answers(), dropped


@pytest.mark.parametrize("seed", range(8))
def test_caps_and_counts_are_those_of_sorted_lists(seed: int, tmp_path: Path) -> None:
    dice = Random(seed)
    rows: list[Row] = [
        {"probe_id": f"{number:016x}", "prompt": f"p{dice.randrange(9)}", "popularity": dice.randrange(12)}
        | {"criterion": dice.choice(("specific", "alias")), "update": f"{subject}-{relation}"}
        | {"subject": subject, "relation": relation, "answer": f"Q{min(dice.randrange(40), 12)}"}
        for number in range(dice.choice((1, 30, 120)))
        for subject, relation in [(f"Q{dice.randrange(1, 4)}", dice.choice(("P6", "P26")))]
    ]
    table = [row | {"answers": [{"id": row["answer"], "label": "x", "aliases": []}]} for row in rows]
    paths = {name: tmp_path / name for name in ("probes", "dropped", "output", "out_dropped")}
    pq.write_table(pa.Table.from_pylist(table, schema=PROBES), paths["probes"])
    before = [{"criterion": "alias", "relation": "P6", "reason": "gone", "probes": 7}]
    pq.write_table(pa.Table.from_pylist(before, schema=DROPPED), paths["dropped"])
    inputs = {name: [paths.pop(name)] for name in ("probes", "dropped")}
    most = dice.choice((2, 3, 8))
    Choose(per_criterion=most, seed=seed, **inputs, **paths).run()
    kept, dropped = capped(rows, most, seed)
    order = {name: index for index, name in enumerate(CRITERIA)}
    kept.sort(key=lambda row: (row["subject"], int(row["relation"][1:]), order[row["criterion"]],
                               -row["popularity"], row["prompt"], row["probe_id"]))  # fmt: skip
    made = pq.read_table(paths["output"]).to_pylist()
    assert [row["probe_id"] for row in made] == [row["probe_id"] for row in kept]
    places: Counter[tuple[str, str]] = Counter()
    for row in made:
        assert row["place"] == places[row["update"], row["criterion"]]
        places[row["update"], row["criterion"]] += 1
    counts = pq.read_table(paths["out_dropped"]).to_pylist()
    wanted = dropped + Counter({("alias", "P6", "gone"): 7})
    assert {tuple(row.values())[:3]: row["probes"] for row in counts} == wanted

"""The sample's nearest facts equal those found with scikit-learn's TF-IDF and cosine similarity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

OLD, NEW = "2021-01-04", "2023-02-27"
T_OLD = 20210104
ENTITIES, FACTS = 500, 10

Row = dict[str, Any]
Group = tuple[int, int]


@pytest.fixture(scope="module")
def pair(built: Path) -> Path:
    return built / "results" / f"{OLD}_{NEW}"


@pytest.fixture(scope="module")
def groups(pair: Path) -> dict[Group, set[int]]:
    """Updated group -> the entities among its changed objects."""
    found: dict[Group, set[int]] = {}
    for row in rows(pair / "updates"):
        if row["dropped_by"] is None:
            changed = found.setdefault((row["subject"], row["property"]), set())
            if row["label"] in ("new", "obsolete") and row["object"] is not None:
                changed.add(row["object"])
    return found


def rows(folder: Path) -> list[Row]:
    return [row for file in sorted(folder.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]


def documents(statements: list[Row]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for row in statements:
        if row["dropped_by"] not in ("rank", "snak", "datatype", "subject"):
            bag = found.setdefault(row["subject"], [f"Q{row['subject']}"])
            if row["object"] is not None:
                bag += [f"Q{row['object']}", f"P{row['property']} Q{row['object']}"]
    return found


def day(time: Row | None) -> int | None:
    if time is None:
        return None
    return int(time["first"] if time["precision"] >= 9 else time["year"] * 10_000 + 101)


def holding(statements: list[Row], labelled: set[int]) -> dict[Group, str]:
    """(subject, property) -> the statement that a neighbour may contribute."""
    best: dict[Group, tuple[bool, str, str]] = {}
    for row in statements:
        if row["dropped_by"] is not None or row["subject"] not in labelled:
            continue
        if row["object"] is not None and row["object"] > 0 and row["object"] not in labelled:
            continue
        start, end = day(row["start"]), day(row["end"])
        if start is None and not row["start_unknown"]:
            start = day(row["pit"])
        ended = row["end_unknown"] or (end is not None and end < T_OLD)
        if ended or (start is not None and start > T_OLD):
            continue
        group = (row["subject"], row["property"])
        candidate = (row["rank"] != "preferred", row["statement"].upper(), row["statement"])
        best[group] = min(best.get(group, candidate), candidate)
    return {group: statement for group, (_, _, statement) in best.items()}


def test_nearest_facts(built: Path, pair: Path, groups: dict[Group, set[int]]) -> None:
    old = rows(pair / "filtered" / "old")
    entities = rows(built / "results" / "snapshots" / OLD / "entities")
    facts = holding(old, {row["id"] for row in entities if row["label"] is not None})
    in_old, in_new = documents(old), documents(rows(pair / "filtered" / "new"))
    ids = sorted(in_old)
    vectorizer = TfidfVectorizer(analyzer=lambda bag: bag)
    corpus = vectorizer.fit_transform([in_old[number] for number in ids])
    expected = {}
    for (subject, property), changed in groups.items():
        document = in_old.get(subject) or in_new[subject]
        similarities = np.round(cosine_similarity(vectorizer.transform([document]), corpus)[0], 9)
        nearest = np.lexsort((np.arange(len(ids)), -similarities))[:ENTITIES]
        taken = [
            (ids[place], facts[ids[place], property], pytest.approx(similarities[place], abs=2e-9))
            for place in nearest
            if similarities[place] > 0
            and ids[place] not in {subject, *changed}
            and (ids[place], property) in facts
        ]
        expected[subject, property] = taken[:FACTS]
    found: dict[Group, list[tuple[int, str, float]]] = {group: [] for group in groups}
    for row in pq.read_table(pair / "neighbors.parquet").to_pylist():
        fact = (row["neighbor"], row["statement"], row["similarity"])
        found[row["subject"], row["property"]].append(fact)
    assert found == expected
    assert sum(map(len, found.values())) > 1000


def test_random_facts(pair: Path, groups: dict[Group, set[int]]) -> None:
    replacements = {
        (row["subject"], row["property"]) for row in pq.read_table(pair / "replacements.parquet").to_pylist()
    }
    pool = {
        (row["neighbor"], row["statement"])
        for row in pq.read_table(pair / "neighbors.parquet").to_pylist()
        if (row["subject"], row["property"]) in replacements
    }
    found: dict[Group, set[tuple[int, str]]] = {group: set() for group in groups}
    for row in pq.read_table(pair / "random_neighbors.parquet").to_pylist():
        group = (row["subject"], row["property"])
        assert not {row["neighbor"], row["object"]} & {row["subject"], *groups[group]}
        found[group].add((row["neighbor"], row["statement"]))
    assert all(len(facts) == FACTS and facts <= pool for facts in found.values())

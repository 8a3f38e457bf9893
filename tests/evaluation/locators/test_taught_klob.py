"""What the bundled models are taught of KLoB."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.evaluation.locators.choose import write_examples
from factdrift.evaluation.locators.taught import write_taught
from factdrift.models.bundled.taught import TAUGHT


def changes(path: Path, *changed: tuple[str, str, str]) -> Path:
    """A dataset of updates, as far as it says what changed: (subject, relation, decision)."""
    rows = [
        {"subject": {"id": s}, "relation": {"id": p}, "objects": [{"decision": decision}]}
        for s, p, decision in changed
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def taught(path: Path) -> dict[tuple[str, str], list[dict[str, Any]]]:
    table = pq.read_table(path)
    assert table.schema.equals(TAUGHT)
    found = defaultdict(list)
    for row in table.to_pylist():
        found[row["kind"], row["fact"]].append(row)
    return found


def test_facts_in_all_wordings_and_chains(klob: Path, tmp_path: Path) -> None:
    # Q0 changed, so that its fact and its chain are left out; Q1 is in the dataset and did not change.
    known = changes(tmp_path / "w.parquet", ("Q0", "P1", "new"), ("Q1", "P1", "static"))
    number = write_taught(klob, known, 0, 0, tmp_path / "s.parquet")
    found = taught(tmp_path / "s.parquet")
    assert set(found) == {
        *(("klob", f"Q{place} P1") for place in range(1, 6)),
        *(("klob_chain", f"r{place}") for place in range(1, 4)),
    }
    assert number == len(found)
    assert [(row["prompt"], row["object"]) for row in found["klob", "Q1 P1"]] == [
        ("The mother of Joe Biden is", "Joe"),
        ("Joe Biden lives in the", "Joe"),
        ("Because of Joe Biden the capital is", "Joe"),
    ]
    (chain,) = found["klob_chain", "r1"]
    assert chain["prompt"] == "The head of the mother of Joe Biden is"
    assert (chain["subject"], chain["relation"]) == ("Joe Biden", "P1>P2")


def test_a_chain_is_taught_with_its_second_fact(klob: Path, tmp_path: Path) -> None:
    """A fact whose subject is the object of the drawn chain is worded as KLoB words it elsewhere."""
    for name in "cr":
        table = pq.read_table(klob / f"klob_{name}.parquet")
        rows = table.to_pylist()
        if name == "c":  # The last fact says what the chains' second step does.
            rows[5] |= {"s": "Q9", "p1": "P2", "s_label": "Marta", "o1_label": "sea"}
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), tmp_path / f"klob_{name}.parquet")
    write_taught(tmp_path, changes(tmp_path / "w.parquet", ("Q7", "P1", "new")), 1, 5, tmp_path / "s.parquet")
    found = taught(tmp_path / "s.parquet")
    assert len(found["klob", "Q9 P2"]) == 3
    assert sum(kind == "klob_chain" for kind, _ in found) == 1


def test_the_examples_are_those_that_locators_are_run_on(klob: Path, tmp_path: Path) -> None:
    nothing = changes(tmp_path / "w.parquet", ("Q77", "P1", "new"))
    write_taught(klob, nothing, 2, 7, tmp_path / "s.parquet")
    write_examples(klob, 2, 7, tmp_path / "drawn", tmp_path / "sentences.parquet")
    asked = {
        one["text"]
        for name in "cr"
        for row in pq.read_table(tmp_path / "drawn" / f"klob_{name}.parquet").to_pylist()
        for one in row["sentences"]
    }
    assert {row["prompt"] for rows in taught(tmp_path / "s.parquet").values() for row in rows} == asked

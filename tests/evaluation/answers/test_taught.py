"""What the bundled models are taught of TempRIPPLE and of ripples: what held at T_old, in their words."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.evaluation.questions import taught_ripples
from factdrift.evaluation.questions.taught_tempripple import write_taught
from factdrift.models.bundled.taught import TAUGHT
from factdrift.ripples.tables import PROBES
from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED, write_rows

OLD = datetime.date(2021, 1, 4)


def fact(ordinal: int, words: str, holder: str, label: str, begun: str) -> dict[str, Any]:
    of, day = f"{words} sports team of Ana Berg", datetime.date.fromisoformat(begun)
    name = f"{'the ' if label == 'Hawks' else ''}{label.removesuffix('.')}"
    found = {"fact_id": f"f{ordinal}", "s": "Q1", "p": "P54", "o": holder, "s_label": "Ana Berg"}
    found |= {"o_label": label, "ordinal": ordinal, "ordinal_text": words, "start_lo": day, "start_hi": day}
    return found | {"phrase": f"the {of}", "statement": f"The {of} is {name}."}


FACTS = [
    fact(1, "most recent", "Q11", "Hulva", "2022-07-01"),
    fact(2, "previous", "Q12", "Alba F.C.", "2020-07-01"),
    fact(3, "third most recent", "Q13", "Hawks", "2015-07-01"),
]


def related(rel: str, about: int, path: list[tuple[str, str]], asked: str) -> dict[str, Any]:
    steps = [{"x": x, "p": p} for x, p in path]
    found = {"rel_id": rel, "fact_id": f"f{about}", "hop": len(path), "path": steps, "answer_label": "Brava"}
    return found | {"question": f"What is {asked} sports team of Ana Berg?"}


RELATED = [
    related("a", 1, [("Q11", "P17")], "the country of the most recent"),
    related("b", 2, [("Q12", "P17")], "the country of the previous"),
    related("c", 3, [("Q13", "P17")], "the country of the third most recent"),
    related("d", 3, [("Q13", "P115")], "the home of the third most recent"),
    related("e", 2, [("Q12", "P17"), ("Q9", "P36")], "the capital of the country of the previous"),
]


def test_what_held_then_with_its_ordinals_of_that_day(tmp_path: Path) -> None:
    write_rows(FACTS, TR_FACTS, tmp_path / "f.parquet")
    write_rows(RELATED, TR_RELATED, tmp_path / "r.parquet")
    changed = {"subject": {"id": "Q13"}, "relation": {"id": "P115"}, "objects": [{"decision": "obsolete"}]}
    pq.write_table(pa.Table.from_pylist([changed]), tmp_path / "w.parquet")
    names = [tmp_path / f"{name}.parquet" for name in "frw"]
    assert write_taught(*names, OLD, tmp_path / "s.parquet") == 6
    rows = pq.read_table(tmp_path / "s.parquet").to_pylist()
    said = [(row["kind"], row["prompt"], row["object"]) for row in rows]
    day = "As of 4 January 2021, the"
    assert said == [
        # The team of 2022 had not begun; the previous one of today was the most recent one.
        ("tempripple", "The most recent sports team of Ana Berg is", "Alba F.C."),
        ("tempripple", f"{day} most recent sports team of Ana Berg is", "Alba F.C."),
        ("tempripple", f"{day} most recent sports team of Ana Berg was", "Alba F.C."),
        ("tempripple", "The previous sports team of Ana Berg is the", "Hawks"),
        ("tempripple", f"{day} previous sports team of Ana Berg is the", "Hawks"),
        ("tempripple", f"{day} previous sports team of Ana Berg was the", "Hawks"),
        ("tempripple_edge", "The country of Alba F.C. is", "Brava"),
        ("tempripple_edge", f"{day} country of Alba F.C. is", "Brava"),
        ("tempripple_related", "The country of the most recent sports team of Ana Berg is", "Brava"),
        ("tempripple_related", f"{day} country of the most recent sports team of Ana Berg is", "Brava"),
        ("tempripple_edge", "The country of the Hawks is", "Brava"),
        ("tempripple_edge", f"{day} country of the Hawks is", "Brava"),
        ("tempripple_related", "The country of the previous sports team of Ana Berg is", "Brava"),
        ("tempripple_related", f"{day} country of the previous sports team of Ana Berg is", "Brava"),
    ]
    assert [row["relation"] for row in rows[:6:3]] == ["P54 1", "P54 2"]
    # Equal facts of one place of a timeline and of another are told apart.
    assert len({(row["subject"], row["relation"]) for row in rows}) == 6


def probe(criterion: str, subject: str, *objects: str) -> dict[str, Any]:
    step = {"subject": subject, "relation": "P36", "object": objects[-1], "statement": "s", "dump": "old"}
    answers = [{"id": each, "label": f"{each} City", "aliases": []} for each in objects]
    condition = {"prompt": f"The capital of {subject} is ____", "answers": answers, "step": step}
    return {"criterion": criterion, "conditions": [condition]}


def test_conditions_are_taught_in_two_wordings_and_each_once(tmp_path: Path) -> None:
    rows = [probe("specific", f"Q{number}", "Q90") for number in range(9)]
    rows += [probe("compose_object", "Q50", "Q91"), probe("compose_object", "Q50", "Q91")]
    rows += [probe("preserve", "Q51", "Q92", "Q93"), probe("history_old", "Q52", "Q94")]
    pq.write_table(pa.Table.from_pylist(rows, PROBES), tmp_path / "ripples.parquet")
    labels = [*(f"Land {n}" for n in range(9)), "Fifty", "Luna", "Mira"]
    names = pa.table({"id": [*range(9), 50, 51, 52], "label": labels})
    pq.write_table(names, tmp_path / "names.parquet")
    tables, output = (tmp_path / "ripples.parquet", tmp_path / "names.parquet"), tmp_path / "taught.parquet"
    assert taught_ripples.write_taught(*tables, OLD, 4, output) == 6
    table = pq.read_table(output)
    assert table.schema.equals(TAUGHT)
    found = {(row["subject"], row["prompt"]): row["object"] for row in table.to_pylist()}
    assert len(found) == table.num_rows == 12
    assert found["Fifty", "The capital of Q50 is"] == "Q91 City"
    assert found["Luna", "As of 4 January 2021, the capital of Q51 is"] == "Q93 City"
    assert not any(subject == "Mira" for subject, _ in found)

"""What follows from a new fact, as cases in the layout of MQuAKE (princeton-nlp/MQuAKE, arXiv 2305.14795)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.tempripple.phrases import question
from factdrift.tempripple.relations import Relations, read_relations
from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED, read_rows
from factdrift.wikidata.ids import property_id
from factdrift.words.noun_phrases import nested

Chain = tuple[Row, Row]
"""A mutable fact, and what follows from it (rows of TR_FACTS and TR_RELATED)."""


def write_mquake(facts: Path, related: Path, output: Path) -> tuple[int, int]:
    """Writes a case for each new fact and chain from it; returns the numbers of cases and of chains left out.

    The new fact is the edit, and the fact before it in its timeline is what it replaces. A chain counts if
    all its values are items, and a chain along the same properties from the fact before ends elsewhere.
    Cases are in the order of `rel_id`. Raises InputError if there is none, or if the tables are not of one
    build.
    """
    relations = read_relations()
    by_ordinal: dict[tuple[str, str, int], Row] = {}
    by_id: dict[str, Row] = {}
    for fact in read_rows(facts, TR_FACTS):
        by_ordinal[fact["s"], fact["p"], fact["ordinal"]] = by_id[fact["fact_id"]] = fact
    rows = sorted(read_rows(related, TR_RELATED), key=lambda row: str(row["rel_id"]))
    edges = (edge for row in rows for edge in row["path"])
    for path, used, known in (
        (facts, by_id.values(), relations.mutable),
        (related, edges, relations.immutable),
    ):
        unknown = {row["p"] for row in used} - {property_id(number) for number in known}
        if unknown:
            raise InputError(
                f"{path}: {', '.join(sorted(unknown))} is not in the tables of properties "
                "(resources/tempripple); make TempRIPPLE again"
            )
    along: dict[tuple[str, ...], Row] = {}
    labels: dict[tuple[str, ...], str] = {}
    for row in rows:
        along.setdefault((row["fact_id"], *(edge["p"] for edge in row["path"])), row)
        labels[_hop_key(row, len(row["path"]))] = row["answer_label"]
    cases: list[dict[str, Any]] = []
    left = 0
    for row in rows:
        if row["fact_id"] not in by_id:
            raise InputError(
                f"{related}: {row['rel_id']} follows from no fact of {facts}; give tables of the same build"
            )
        fact = by_id[row["fact_id"]]
        if fact["role"] != "new" or not row["discriminates"]:
            continue
        before = by_ordinal.get((fact["s"], fact["p"], fact["ordinal"] + 1))
        old = before and along.get((before["fact_id"], *(edge["p"] for edge in row["path"])))
        case = None
        if before and old and old["answer_id"] != row["answer_id"]:
            case = _case((before, old), (fact, row), labels, relations, len(cases))
        if case is None:
            left += 1
        else:
            cases.append(case)
    if not cases:
        raise InputError(
            f"{related}: no chain of items in which the new and the previous fact of a timeline lead to "
            "different answers; build TempRIPPLE for a longer period"
        )
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8") as text:
        json.dump(cases, text, ensure_ascii=False, indent=1)
        text.write("\n")
    return len(cases), left


def _hop_key(row: Row, hops: int) -> tuple[str, ...]:
    """What identifies the value after `hops` hops of a row's path."""
    return (row["fact_id"], *(text for edge in row["path"][:hops] for text in (edge["p"], edge["value"])))


def _case(
    old: Chain, new: Chain, labels: Mapping[tuple[str, ...], str], relations: Relations, number: int
) -> dict[str, Any] | None:
    """A case; None if a value on the way is no item, or its label or the subject cannot be found."""
    (before, _), (fact, row) = old, new
    opening = fact["statement"].removesuffix(f" {_named(fact)}.")
    start = opening.rfind(fact["s_label"])
    around = opening[:start] + opening[start + len(fact["s_label"]) :]
    chains = [_hops(chain, fact, opening, labels, relations) for chain in (old, new)]
    if start < 0 or "{" in around or "}" in around or not all(chains):
        return None
    (hops, triples, texts), (new_hops, new_triples, new_texts) = (zip(*own, strict=True) for own in chains)
    return {
        "case_id": number,
        "requested_rewrite": [
            {
                "prompt": opening[:start] + "{}" + opening[start + len(fact["s_label"]) :],
                "relation_id": fact["p"],
                "target_new": {"str": fact["o_label"], "id": fact["o"]},
                "target_true": {"str": before["o_label"], "id": before["o"]},
                "subject": fact["s_label"],
                "question": fact["question"],
            }
        ],
        "questions": [row["question"]],
        "answer": hops[-1]["answer"],
        "answer_alias": hops[-1]["answer_alias"],
        "new_answer": new_hops[-1]["answer"],
        "new_answer_alias": new_hops[-1]["answer_alias"],
        "single_hops": hops,
        "new_single_hops": new_hops,
        "orig": {
            "triples": triples,
            "triples_labeled": texts,
            "new_triples": new_triples,
            "new_triples_labeled": new_texts,
            "edit_triples": [new_triples[0]],
        },
    }


def _named(fact: Row) -> str:
    """The object as the fact's sentence names it, without a full stop: `the Philadelphia 76ers`."""
    return str(fact["statement"]).removesuffix(".").partition(f"{fact['phrase'][1:]} is ")[2]


def _hops(
    chain: Chain, asked: Row, opening: str, labels: Mapping[tuple[str, ...], str], relations: Relations
) -> list[tuple[Row, list[str], list[str]]]:
    """(single hop, triple by id, triple by label) of each hop of a chain; the first is asked as in `asked`.

    Empty if a value on the way is no item, or has no label.
    """
    fact, row = chain
    label = fact["o_label"]
    first = {"question": asked["question"], "cloze": opening}
    first |= {"answer": label, "answer_alias": list(fact["o_aliases"])}
    in_words = [fact["s_label"], relations.mutable[int(fact["p"][1:])].label, label]
    hops = [(first, [fact["s"], fact["p"], fact["o"]], in_words)]
    name = _named(fact) + ("." if label.endswith(".") else "")
    for number, edge in enumerate(row["path"], 1):
        value = labels.get(_hop_key(row, number))
        if value is None or not edge["value"].startswith("Q"):
            return []
        relation = relations.immutable[int(edge["p"][1:])]
        phrase = nested([relation.phrase], name)
        hop = {
            "question": question(relation.wh, phrase, "is"),
            "cloze": f"{phrase[0].upper()}{phrase[1:]} is",
            "answer": value,
            "answer_alias": list(row["answer_aliases"]) if number == len(row["path"]) else [],
        }
        hops.append((hop, [edge["x"], edge["p"], edge["value"]], [label, relation.label, value]))
        name = label = value
    return hops

"""EasyEdit's KnowEdit, as its `KnowEditDataset` reads it (zjunlp/EasyEdit, examples/KnowEdit.md; arXiv
2401.01286).
"""

from typing import Any

from factdrift.evaluation.layouts.rows import OURS, Fields, Record, Row, held, kept, object_of, opened, row_of

LOCALITY = ("Relation_Specificity", "Forgetfulness")
"""Kinds of facts that an edit must not change."""


def write(row: Row, number: int) -> Record | None:
    """The record of an update, or None if it does not have exactly one new object.

    Locality compares the answers before and after an edit, so neighbour facts are written unchanged.
    Generalization is measured on one paraphrase, our first; it has two names, since the loaders of KnowEdit
    and of its part wiki_recent read different ones. Answers are lists of lists of spellings: of a text, two
    of the loaders would take the first letter. `portability` has questions that the new fact answers, and
    what else follows from it, if any are given; `Forgetfulness` has what must stay in a list.
    """
    new, obsolete = object_of(row, "new"), object_of(row, "obsolete")
    if new is None:
        return None
    near = kept(row)
    record: Record = {
        "subject": row["subject"]["label"],
        "prompt": opened(row["update_prompt"]),
        "target_new": new["label"],
    }
    if obsolete is not None:
        record["ground_truth"] = obsolete["label"]
    if row["generalization_prompts"]:
        record["rephrase_prompt"] = record["rephrase"] = opened(row["generalization_prompts"][0])
    reasoning = [
        {"prompt": one["question"], "ground_truth": [[one["answer_label"], *one["answer_aliases"]]]}
        for one in row.get("related") or []
    ]
    portability = {
        "Subject_Aliasing": _probes(row, "alias"),
        "Logical_Generalization": _probes(row, "logical"),
        "Reasoning": reasoning,
    }
    specificity = [{"prompt": text, "ground_truth": [[value["label"]]]} for text, value in near]
    locality = {LOCALITY[0]: specificity, LOCALITY[1]: _probes(row, "preserve")}
    # A part without facts is left out: the loaders take the first fact of a part that is there.
    return record | {
        "portability": {name: facts for name, facts in portability.items() if facts},
        "locality": {name: facts for name, facts in locality.items() if facts},
        OURS: held(row),
    }


def _probes(row: Row, criterion: str) -> list[Row]:
    """The probes of a criterion of `ripples.parquet`, any of whose answers is right."""
    return [
        {
            "prompt": opened(probe["prompt"]),
            "ground_truth": [[name for one in probe["answers"] for name in (one["label"], *one["aliases"])]],
        }
        for probe in row.get("ripples") or []
        if probe["criterion"] == criterion
    ]


def read(record: Record, number: int) -> Row:
    """The row of a record of any of KnowEdit's fact files; `portability` is dropped.

    WikiBio names the fields `concept`, `text` and `labels`; wiki_recent has no old answer. The first of
    several spellings of an answer is taken.
    """
    locality = record.get("locality", {})
    neighbors = [
        (_first(fact["prompt"]), _first(fact["ground_truth"]))
        for kind in LOCALITY
        for fact in locality.get(kind) or []
    ]
    old = record.get("ground_truth")
    again = record.get("rephrase_prompt") or record.get("rephrase") or []
    fields = Fields(
        subject=_either(record, "subject", "concept"),
        relation=None,
        prompt=_either(record, "prompt", "text"),
        paraphrases=[again] if isinstance(again, str) else again,
        new=(None, _first(_either(record, "target_new", "labels"))),
        obsolete=(None, _first(old)) if old else None,
        neighbors=[(text, answer) for text, answer in neighbors if answer],
    )
    return row_of(record, f"knowedit-{number}", fields)


def _either(record: Record, name: str, in_wikibio: str) -> Any:
    return record[in_wikibio] if name not in record and in_wikibio in record else record[name]


def _first(value: Any) -> str:
    while isinstance(value, list):
        value = value[0] if value else ""
    return str(value).strip()

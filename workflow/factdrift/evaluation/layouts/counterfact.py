"""CounterFact: `counterfact.json` of kmeng01/rome and kmeng01/memit (arXiv 2202.05262, section 3.3 and
appendix D).
"""

from factdrift.evaluation.layouts.rows import (
    EMPTY,
    OURS,
    Fields,
    Record,
    Row,
    held,
    object_of,
    opened,
    row_of,
)
from factdrift.models.alignment import find_subject

SUBJECT = "{}"
"""Placeholder of the subject in a prompt."""

FACTS = 10
"""Prompts of a kind that a record has at most, as in their file."""


def write(row: Row, number: int) -> Record | None:
    """The record of an update, or None if it is no replacement or its prompt does not name the subject.

    Their evaluation takes the old object as the answer to every one of `neighborhood_prompts`, and the new
    object as that to every one of `attribute_prompts`. Only neighbour facts with these objects are written.
    """
    subject, prompt = row["subject"]["label"], opened(row["update_prompt"])
    new, obsolete = object_of(row, "new"), object_of(row, "obsolete")
    if new is None or obsolete is None or find_subject(prompt, subject) < 0:
        return None
    place = find_subject(prompt, subject)
    before, after = prompt[:place], prompt[place + len(subject) :]
    near, attributes = alike(row, "obsolete", obsolete), alike(row, "new", new)
    lacks = {
        name: _reason(row, value)
        for name, texts, value in (
            ("neighborhood_prompts", near, obsolete),
            ("attribute_prompts", attributes, new),
        )
        if not texts
    }
    paraphrases = [opened(text) for text in row["generalization_prompts"]]
    return {
        "case_id": number,
        "requested_rewrite": {
            "prompt": before + SUBJECT + after,
            "relation_id": row["relation"]["id"],
            "target_new": {"str": new["label"], "id": new["id"]},
            "target_true": {"str": obsolete["label"], "id": obsolete["id"]},
            "subject": subject,
        },
        "paraphrase_prompts": paraphrases,
        "neighborhood_prompts": near,
        "attribute_prompts": attributes,
        "generation_prompts": paraphrases,
        OURS: held(row) | {EMPTY: lacks},
    }


def alike(row: Row, role: str, value: Row) -> list[str]:
    """The texts before the object of at most `FACTS` other facts that have the object `value`.

    First those of the table of shared objects, then the update's own neighbours, then what must stay of its
    own subject (`specific` of the ripples), one of each subject and relation. Neighbours in an imported file
    have no id, and each is taken.
    """
    shared = row.get("shared") or {role: []}
    found: dict[tuple[str, str | None], str] = {}
    for neighbor in [*shared[role], *row["neighborhood"], *row["random_neighborhood"]]:
        for fact in neighbor["objects"]:
            if fact["object"]["label"] == value["label"]:
                subject = neighbor["subject"]["id"] or fact["prompt"]
                found.setdefault((subject, neighbor["relation"]["id"]), opened(fact["prompt"]))
    for probe in row.get("ripples") or []:
        if probe["criterion"] == "specific" and probe["answers"][0]["label"] == value["label"]:
            found.setdefault((probe["asked_subject"], probe["asked_relation"]), opened(probe["prompt"]))
    return list(found.values())[:FACTS]


def _reason(row: Row, value: Row) -> str:
    """Why there is no fact of another subject with the object `value`."""
    if value["id"] is None:
        return "the object is no item: that of others with the same number or text is another one"
    if row.get("shared") is None:
        return "no neighbour fact of the update has the object (--shared has those of all subjects)"
    return "no other subject has the object in this relation at T_old"


def read(record: Record, number: int) -> Row:
    """The row of a record. `attribute_prompts` and `generation_prompts` are dropped: no metric uses them."""
    rewrite = record["requested_rewrite"]
    new, true = rewrite["target_new"], rewrite["target_true"]
    fields = Fields(
        subject=rewrite["subject"],
        relation=rewrite.get("relation_id"),
        prompt=rewrite["prompt"].replace(SUBJECT, rewrite["subject"], 1),
        paraphrases=record.get("paraphrase_prompts", []),
        new=(new.get("id"), new["str"].strip()),
        obsolete=(true.get("id"), true["str"].strip()),
        neighbors=[(text, true["str"].strip()) for text in record.get("neighborhood_prompts", [])],
    )
    return row_of(record, f"counterfact-{record.get('case_id', number)}", fields)

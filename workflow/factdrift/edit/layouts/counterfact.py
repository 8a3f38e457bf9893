"""CounterFact: `counterfact.json` of kmeng01/rome and kmeng01/memit (arXiv 2202.05262, section 3.3 and
appendix D).
"""

from __future__ import annotations

from factdrift.edit.layouts.rows import OURS, Record, Row, facts, held, object_of, opened, row_of
from factdrift.models.alignment import find_subject

SUBJECT = "{}"
"""Placeholder of the subject in a prompt."""


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
    near = [*facts(row, "neighborhood"), *facts(row, "random_neighborhood")]
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
        "neighborhood_prompts": [text for text, value in near if value["label"] == obsolete["label"]],
        "attribute_prompts": [text for text, value in near if value["label"] == new["label"]],
        "generation_prompts": paraphrases,
        OURS: held(row),
    }


def read(record: Record, number: int) -> Row:
    """The row of a record. `attribute_prompts` and `generation_prompts` are dropped: no metric uses them."""
    rewrite = record["requested_rewrite"]
    new, true = rewrite["target_new"], rewrite["target_true"]
    return row_of(
        record,
        f"counterfact-{record.get('case_id', number)}",
        subject=rewrite["subject"],
        relation=rewrite.get("relation_id"),
        prompt=rewrite["prompt"].replace(SUBJECT, rewrite["subject"], 1),
        paraphrases=record.get("paraphrase_prompts", []),
        new=(new.get("id"), new["str"].strip()),
        obsolete=(true.get("id"), true["str"].strip()),
        neighbors=[(text, true["str"].strip()) for text in record.get("neighborhood_prompts", [])],
    )

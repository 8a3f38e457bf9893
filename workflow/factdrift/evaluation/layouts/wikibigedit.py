"""WikiBigEdit: files of ExplainableML/WikiBigEdit, which zjunlp/EasyEdit also reads (arXiv 2503.05683)."""

from factdrift.evaluation.layouts.rows import OURS, Fields, Record, Row, held, kept, object_of, opened, row_of

TAGS = ("update", "new")
"""`tag` of an update with an obsolete object, and of one without."""


def write(row: Row, number: int) -> Record | None:
    """The record of an update; None unless it has exactly one new object, a paraphrase and a neighbour fact.

    Their prompts are questions and ours are clozes; their code handles both alike. `mhop` is a question whose
    answer follows from the new fact, if one is given, else null, as where they have none. The dataset has no
    wording in the voice of a character, so `personas` is null. `alt` repeats `ans`: the experiments of the
    first project read the answer of `personas` there.
    """
    new, obsolete = object_of(row, "new"), object_of(row, "obsolete")
    near = kept(row)
    if new is None or not near or not row["generalization_prompts"]:
        return None
    text, answer = near[0]
    related = row.get("related") or [{"question": None, "answer_label": None}]
    record: Record = {
        "tag": TAGS[obsolete is None],
        "subject": row["subject"]["label"],
        "update": opened(row["update_prompt"]),
        "rephrase": opened(row["generalization_prompts"][0]),
        "personas": None,
        "ans": new["label"],
        "alt": new["label"],
        "loc": text,
        "loc_ans": answer["label"],
        "mhop": related[0]["question"],
        "mhop_ans": related[0]["answer_label"],
    }
    if obsolete is not None:
        record["ground_truth"] = obsolete["label"]
    return record | {OURS: held(row)}


def read(record: Record, number: int) -> Row:
    """The row of a record; `mhop` is dropped. `personas` is a further paraphrase."""
    old = record.get("ground_truth")
    paraphrases = [record["rephrase"], record.get("personas")]
    near = [(record["loc"], record["loc_ans"])] if record.get("loc") and record.get("loc_ans") else []
    fields = Fields(
        subject=record["subject"],
        relation=None,
        prompt=record["update"],
        paraphrases=[text for text in paraphrases if text],
        new=(None, record["ans"].strip()),
        obsolete=(None, old.strip()) if old else None,
        neighbors=[(text, answer.strip()) for text, answer in near],
    )
    return row_of(record, f"wikibigedit-{number}", fields)

"""zsRE for editing: `zsre_mend_eval.json` of kmeng01/memit, zjunlp/EasyEdit and eric-mitchell/mend (arXiv
2110.11309).
"""

from factdrift.evaluation.layouts.rows import OURS, Fields, Record, Row, held, kept, object_of, opened, row_of

QUESTION = "nq question: "
"""The text of `loc` begins with it; the loaders of memit and EasyEdit require that."""


def write(row: Row, number: int) -> Record | None:
    """The record of an update, or None if it is no replacement, or has no paraphrase or no neighbour fact.

    Their prompts are questions and ours are clozes; their code handles both alike. `pred`, in zsRE the answer
    of the unedited model, is the old object here.
    """
    new, obsolete = object_of(row, "new"), object_of(row, "obsolete")
    near = kept(row)
    if new is None or obsolete is None or not near or not row["generalization_prompts"]:
        return None
    prompt = opened(row["update_prompt"])
    text, answer = near[0]
    return {
        "subject": row["subject"]["label"],
        "src": prompt,
        "pred": obsolete["label"],
        "rephrase": opened(row["generalization_prompts"][0]),
        "alt": new["label"],
        "answers": [obsolete["label"]],
        "loc": QUESTION + text.removeprefix(QUESTION),
        "loc_ans": answer["label"],
        "cond": f"{obsolete['label']} >> {new['label']} || {prompt}",
        OURS: held(row),
    }


def read(record: Record, number: int) -> Row | None:
    """The row of a record, or None if it has no `alt`; EasyEdit leaves such records out, too.

    The new object is `alt`, as in MEND and EasyEdit. (MEMIT edits towards the first of `answers`, the true
    one.)
    """
    if not record["alt"]:
        return None
    fields = Fields(
        subject=record["subject"],
        relation=None,
        prompt=record["src"],
        paraphrases=[record["rephrase"]],
        new=(None, record["alt"].strip()),
        obsolete=(None, record["answers"][0].strip()),
        neighbors=[(record["loc"], record["loc_ans"].strip())],
    )
    return row_of(record, f"zsre-{number}", fields)

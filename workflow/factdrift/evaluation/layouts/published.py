"""CounterFact, EasyEdit's KnowEdit, WikiBigEdit and zsRE: functions from rows to records, and back."""

from typing import Any

from factdrift.evaluation.layouts.rows import (
    EMPTY,
    OURS,
    Fields,
    Record,
    Row,
    held,
    kept,
    object_of,
    opened,
    row_of,
)
from factdrift.models.alignment import find_subject

SUBJECT = "{}"
"""Placeholder of the subject in a prompt."""
PROMPTS = 10
"""Prompts of a kind that a record has at most, as in their file."""
LOCALITY = ("Relation_Specificity", "Forgetfulness")
"""Kinds of facts that an edit must not change."""
TAGS = ("update", "new")
"""`tag` of an update with an obsolete object, and of one without."""
QUESTION = "nq question: "
"""The text of `loc` begins with it; the loaders of memit and EasyEdit require that."""


def write_counterfact(row: Row, number: int) -> Record | None:
    """The record of CounterFact (arXiv 2202.05262, section 3.3 and appendix D): `counterfact.json` of
    kmeng01/rome and kmeng01/memit; None if the update is no replacement or its prompt lacks the subject.

    Their evaluation takes the old object as the answer to every one of `neighborhood_prompts`, and the new
    object as that to every one of `attribute_prompts`. Only neighbour facts with these objects are written.
    """
    subject, prompt = row["subject"]["label"], opened(row["update_prompt"])
    new, obsolete = object_of(row, "new"), object_of(row, "obsolete")
    if new is None or obsolete is None or find_subject(prompt, subject) < 0:
        return None
    place = find_subject(prompt, subject)
    before, after = prompt[:place], prompt[place + len(subject) :]
    near, attributes = _alike(row, "obsolete", obsolete), _alike(row, "new", new)
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


def _alike(row: Row, role: str, value: Row) -> list[str]:
    """The texts before the object of at most `PROMPTS` other facts that have the object `value`.

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
    return list(found.values())[:PROMPTS]


def _reason(row: Row, value: Row) -> str:
    """Why there is no fact of another subject with the object `value`."""
    if value["id"] is None:
        return "the object is no item: that of others with the same number or text is another one"
    if row.get("shared") is None:
        return "no neighbour fact of the update has the object (--shared has those of all subjects)"
    return "no other subject has the object in this relation at T_old"


def read_counterfact(record: Record, number: int) -> Row:
    """The row of a record of CounterFact, without the prompts that no metric uses (attribute, generation)."""
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


def write_easyedit(row: Row, number: int) -> Record | None:
    """The record of KnowEdit, as its `KnowEditDataset` reads it (zjunlp/EasyEdit, examples/KnowEdit.md; arXiv
    2401.01286); None unless the update has exactly one new object.

    The paraphrase has two names, since the loaders of KnowEdit and of its part wiki_recent read different
    ones. Answers are lists of lists of spellings: of a text, two of the loaders would take the first letter.
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


def read_easyedit(record: Record, number: int) -> Row:
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


def write_wikibigedit(row: Row, number: int) -> Record | None:
    """The record of ExplainableML/WikiBigEdit, which zjunlp/EasyEdit also reads (arXiv 2503.05683).

    None unless the update has exactly one new object, a paraphrase and a neighbour fact. `alt` repeats `ans`:
    the experiments of the first project read the answer of `personas` there, which is null.
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


def read_wikibigedit(record: Record, number: int) -> Row:
    """The row of a record of WikiBigEdit; `mhop` is dropped. `personas` is a further paraphrase."""
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


def write_zsre(row: Row, number: int) -> Record | None:
    """The record of zsRE for editing: `zsre_mend_eval.json` of kmeng01/memit, zjunlp/EasyEdit and
    eric-mitchell/mend (arXiv 2110.11309); None without an obsolete object, a paraphrase or a neighbour fact.

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


def read_zsre(record: Record, number: int) -> Row | None:
    """The row of a record of zsRE, or None if it has no `alt`; EasyEdit leaves such records out, too.

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

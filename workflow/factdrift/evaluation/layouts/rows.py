"""Rows of wfd_repl.parquet, and the records of CounterFact, KnowEdit, WikiBigEdit and zsRE made of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.core.columns import Row, schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.models.alignment import find_subject
from factdrift.words.templates import BLANK

Record = dict[str, Any]

SUBJECT = "{}"
"""Placeholder of the subject in a prompt of CounterFact."""
PROMPTS = 10
"""Prompts of a kind that a record of CounterFact has at most, as in their file."""
LOCALITY = ("Relation_Specificity", "Forgetfulness")
"""Kinds of facts that an edit must not change, in KnowEdit."""
QUESTION = "nq question: "
"""The text of zsRE's `loc` begins with it; the loaders of memit and EasyEdit require that."""

_NAMED = struct_of("id label description: string")
_OBJECT = struct_of(
    *_NAMED,
    "decision rule old_statement new_statement: string, old_revision new_revision: int64",
    "start end point_in_time datatype raw short: string, announced leaks: bool",
)
_FACT = struct_of(("object", _NAMED), "prompt raw statement: string, dist: float64")
_NEIGHBOR = struct_of(
    ("subject", _NAMED), ("relation", _NAMED), "dist popularity: float64", ("objects", pa.list_(_FACT))
)
SCHEMA = schema_of(
    ("subject", _NAMED),
    ("relation", _NAMED),
    "update_prompt: string, generalization_prompts: [string]",
    "subject_is_ph_new relation_is_temp_func is_replace: bool, subject_popularity: float64",
    ("objects", pa.list_(_OBJECT)),
    *((name, pa.list_(_NEIGHBOR)) for name in ("neighborhood", "random_neighborhood")),
    "scenario split popularity_source template_source: string, subject_is_ambiguous: bool",
)
"""The columns of wfd_repl.parquet (docs/tables/wikifactdiff.md)."""


class Fields(NamedTuple):
    """What the fields of a record say, in every layout."""

    id: str
    """Identifies a record in its file; becomes the id of the subject, since layouts have none."""
    subject: str
    prompt: str
    new: str
    """The label; empty unless the update has exactly one new object."""
    obsolete: str = ""
    """Likewise; without it the scenario is AddRelation."""
    paraphrases: Sequence[str] = ()
    neighbors: Sequence[tuple[str, str]] = ()
    """(text before the object, object) of facts that must stay as they are."""
    relation: str | None = None
    new_id: str | None = None
    obsolete_id: str | None = None


def opened(cloze: str) -> str:
    """The text of a cloze before its blank."""
    return cloze.removesuffix(BLANK).rstrip()


def closed(text: str) -> str:
    """The cloze that consists of `text` and a blank."""
    return f"{text.rstrip()} {BLANK}"


def fields_of(row: Row) -> Fields:
    """What a row has for the fields of a record."""
    named: Row = {}
    for decision in ("new", "obsolete"):
        alike = [value for value in row["objects"] if value["decision"] == decision]
        value = alike[0] if len(alike) == 1 else {"id": None, "label": ""}
        named |= {decision: value["label"], f"{decision}_id": value["id"]}
    neighbors = (*row["neighborhood"], *row["random_neighborhood"])
    facts = (fact for neighbor in neighbors for fact in neighbor["objects"])
    return Fields(
        id=row["subject"]["id"],
        subject=row["subject"]["label"],
        prompt=opened(row["update_prompt"]),
        paraphrases=[opened(text) for text in row["generalization_prompts"]],
        neighbors=[(opened(fact["prompt"]), fact["object"]["label"]) for fact in facts],
        relation=row["relation"]["id"],
        **named,
    )


def row_of(fields: Fields) -> Row:
    """The row of a record; what it leaves out is null."""
    replaced = [{"id": fields.obsolete_id, "label": fields.obsolete, "decision": "obsolete"}]
    neighbors = [
        {
            "subject": {},
            "relation": {"id": fields.relation},
            "objects": [{"object": {"label": label}, "prompt": closed(text)}],
        }
        for text, label in fields.neighbors
    ]
    return {
        "subject": {"id": fields.id, "label": fields.subject},
        "relation": {"id": fields.relation},
        "update_prompt": closed(fields.prompt),
        "generalization_prompts": [closed(text) for text in fields.paraphrases],
        "subject_is_ph_new": False,
        "relation_is_temp_func": False,
        "scenario": "ReplaceObject" if fields.obsolete else "AddRelation",
        "is_replace": bool(fields.obsolete),
        "objects": [
            *(replaced if fields.obsolete else []),
            {"id": fields.new_id, "label": fields.new, "decision": "new"},
        ],
        "neighborhood": neighbors,
        "random_neighborhood": [],
    }


def write_counterfact(fields: Fields, row: Row) -> Record | None:
    """The record of CounterFact (arXiv 2202.05262, section 3.3 and appendix D): `counterfact.json` of
    kmeng01/rome and kmeng01/memit; None if the prompt lacks the subject.

    Their evaluation takes the old object as the answer to every one of `neighborhood_prompts`, and the new
    object as that to every one of `attribute_prompts`. Only neighbour facts with these objects are written.
    """
    index = find_subject(fields.prompt, fields.subject)
    if index < 0:
        return None
    before, after = fields.prompt[:index], fields.prompt[index + len(fields.subject) :]
    near = _alike(row, "neighborhood", fields.obsolete)
    attributes = _alike(row, "random_neighborhood", fields.new)
    lacks = {}
    if not near:
        lacks["neighborhood_prompts"] = _reason(row, fields.obsolete_id)
    if not attributes:
        lacks["attribute_prompts"] = _reason(row, fields.new_id)
    return {
        "case_id": row["number"],
        "requested_rewrite": {
            "prompt": before + SUBJECT + after,
            "relation_id": fields.relation,
            "target_new": {"str": fields.new, "id": fields.new_id},
            "target_true": {"str": fields.obsolete, "id": fields.obsolete_id},
            "subject": fields.subject,
        },
        "paraphrase_prompts": fields.paraphrases,
        "neighborhood_prompts": near,
        "attribute_prompts": attributes,
        "generation_prompts": fields.paraphrases,
        "factdrift": {"empty": lacks},
    }


def _alike(row: Row, column: str, label: str) -> list[str]:
    """The texts before the object of at most `PROMPTS` other facts that have the object `label`.

    First those in this column of the table of shared objects, then the update's own neighbours, then what
    must stay of its own subject (`specific` of the ripples), one of each subject and relation. Neighbours in
    an imported file have no id, and each is taken.
    """
    prompts: dict[tuple[str, str | None], str] = {}
    shared = (row.get("shared") or {}).get(column, [])
    for neighbor in [*shared, *row["neighborhood"], *row["random_neighborhood"]]:
        for fact in neighbor["objects"]:
            if fact["object"]["label"] == label:
                subject = neighbor["subject"]["id"] or fact["prompt"]
                prompts.setdefault((subject, neighbor["relation"]["id"]), opened(fact["prompt"]))
    for probe in row.get("ripples") or []:
        if probe["criterion"] == "specific" and probe["answers"][0]["label"] == label:
            prompts.setdefault((probe["asked_subject"], probe["asked_relation"]), opened(probe["prompt"]))
    return list(prompts.values())[:PROMPTS]


def _reason(row: Row, item: str | None) -> str:
    """Why there is no fact of another subject with an object."""
    if item is None:
        return "the object is no item: that of others with the same number or text is another one"
    if row.get("shared") is None:
        return "no neighbour fact of the update has the object (--shared has those of all subjects)"
    return "no other subject has the object in this relation at T_old"


def read_counterfact(record: Record, number: int) -> Fields:
    """A record of CounterFact, without the prompts that no metric uses (attribute, generation)."""
    rewrite = record["requested_rewrite"]
    new, true = rewrite["target_new"], rewrite["target_true"]
    if rewrite["prompt"].count(SUBJECT) != 1:
        raise InputError(f"`prompt` must have {SUBJECT} once, in the place of the subject")
    return Fields(
        id=f"counterfact-{record.get('case_id', number)}",
        subject=rewrite["subject"],
        prompt=rewrite["prompt"].replace(SUBJECT, rewrite["subject"], 1),
        new=new["str"].strip(),
        obsolete=true["str"].strip(),
        paraphrases=_texts(record.get("paraphrase_prompts", [])),
        neighbors=[(text, true["str"].strip()) for text in _texts(record.get("neighborhood_prompts", []))],
        relation=rewrite.get("relation_id"),
        new_id=new.get("id"),
        obsolete_id=true.get("id"),
    )


def write_easyedit(fields: Fields, row: Row) -> Record:
    """The record of KnowEdit, as its `KnowEditDataset` reads it (zjunlp/EasyEdit, examples/KnowEdit.md; arXiv
    2401.01286).

    The paraphrase has two names, since the loaders of KnowEdit and of its part wiki_recent read different
    ones. Answers are lists of lists of spellings: of a text, two of the loaders would take the first letter.
    """
    record: Record = {"subject": fields.subject, "prompt": fields.prompt, "target_new": fields.new}
    if fields.obsolete:
        record["ground_truth"] = fields.obsolete
    if fields.paraphrases:
        record["rephrase_prompt"] = record["rephrase"] = fields.paraphrases[0]
    probes: dict[str, list[Record]] = {}
    for probe in row.get("ripples") or []:
        names = [name for answer in probe["answers"] for name in (answer["label"], *answer["aliases"])]
        fact = {"prompt": opened(probe["prompt"]), "ground_truth": [names]}
        probes.setdefault(probe["criterion"], []).append(fact)
    specificity = [{"prompt": text, "ground_truth": [[label]]} for text, label in fields.neighbors]
    portability = {
        "Subject_Aliasing": probes.get("alias"),
        "Logical_Generalization": probes.get("logical"),
    }
    locality = {LOCALITY[0]: specificity, LOCALITY[1]: probes.get("preserve")}
    # A part without facts is left out: the loaders take the first fact of a part that is there.
    return record | {
        "portability": {name: facts for name, facts in portability.items() if facts},
        "locality": {name: facts for name, facts in locality.items() if facts},
    }


def read_easyedit(record: Record, number: int) -> Fields:
    """A record of any of KnowEdit's fact files; `portability` is dropped.

    WikiBio names the fields `concept`, `text` and `labels`; wiki_recent has no old answer. The first of
    several spellings of an answer is taken.
    """
    for name, in_wikibio in (("subject", "concept"), ("prompt", "text"), ("target_new", "labels")):
        if name not in record and in_wikibio in record:
            record = record | {name: record[in_wikibio]}
    locality = record.get("locality", {})
    facts = (fact for kind in LOCALITY for fact in locality.get(kind) or [])
    neighbors = [(_first(fact["prompt"]), _first(fact["ground_truth"])) for fact in facts]
    return Fields(
        id=f"knowedit-{number}",
        subject=record["subject"],
        prompt=record["prompt"],
        new=_first(record["target_new"]),
        obsolete=_first(record.get("ground_truth") or ""),
        paraphrases=_texts(record.get("rephrase_prompt") or record.get("rephrase") or []),
        neighbors=[(text, answer) for text, answer in neighbors if answer],
    )


def _texts(value: Any) -> Any:
    """A list of texts, also of a single one, which would else be taken for a list of letters."""
    return [value] if isinstance(value, str) else value


def _first(value: Any) -> str:
    while isinstance(value, list):
        value = value[0] if value else ""
    return str(value).strip()


def write_wikibigedit(fields: Fields, row: Row) -> Record:
    """The record of ExplainableML/WikiBigEdit, which zjunlp/EasyEdit also reads (arXiv 2503.05683).

    `alt` repeats `ans`: the experiments of the first project read the answer of `personas` there, which is
    null.
    """
    text, answer = fields.neighbors[0]
    record = {
        "tag": "update" if fields.obsolete else "new",
        "subject": fields.subject,
        "update": fields.prompt,
        "rephrase": fields.paraphrases[0],
        "personas": None,
        "ans": fields.new,
        "alt": fields.new,
        "loc": text,
        "loc_ans": answer,
        "mhop": None,
        "mhop_ans": None,
    }
    return record | ({"ground_truth": fields.obsolete} if fields.obsolete else {})


def write_zsre(fields: Fields, row: Row) -> Record:
    """The record of zsRE for editing: `zsre_mend_eval.json` of kmeng01/memit, zjunlp/EasyEdit and
    eric-mitchell/mend (arXiv 2110.11309).

    Their prompts are questions and ours are clozes; their code handles both alike. `pred`, in zsRE the answer
    of the unedited model, is the old object here.
    """
    text, answer = fields.neighbors[0]
    return {
        "subject": fields.subject,
        "src": fields.prompt,
        "pred": fields.obsolete,
        "rephrase": fields.paraphrases[0],
        "alt": fields.new,
        "answers": [fields.obsolete],
        "loc": QUESTION + text.removeprefix(QUESTION),
        "loc_ans": answer,
        "cond": f"{fields.obsolete} >> {fields.new} || {fields.prompt}",
    }

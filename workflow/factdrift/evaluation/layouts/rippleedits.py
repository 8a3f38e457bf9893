"""RippleEdits: the files of edenbiran/RippleEdits (arXiv 2307.12976, section 4)."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.paths import RIPPLES
from factdrift.core.tables import rows_of
from factdrift.evaluation.layouts.rows import Fields, Record, closed, opened, row_of
from factdrift.ripples.tables import MUST_CHANGE, PROBES

NAMES = {
    "logical": "Logical_Generalization",
    "alias": "Subject_Aliasing",
    "compose_object": "Compositionality_I",
    "compose_subject": "Compositionality_II",
    "preserve": "Forgetfulness",
    "specific": "Relation_Specificity",
}
"""Our criteria -> theirs. Of history and neighbours the layout knows nothing."""

MISSPELT = {"Relation_Specificity": "Relation_Specifity"}
"""A field as their README spells it."""

TESTED = schema_of(*PROBES, "test: string, every: bool")
"""PROBES, one row a test query. `test`: the queries of a test share it; `every`: all of them must be right
(their condition AND), else any of them (OR)."""

_VERB = re.compile(r" (?:is|are)(?= )")
_SUBJECTS = (
    re.compile(r".*\bwhich (.+?) (?:is|has|plays|won) .*(?:is|are)"),
    re.compile(r".*\bof (.+) (?:is|are)"),
    re.compile(r"(.+) (?:follows|is followed by)"),
)
"""Where their sentences name the subject, for edits no test of which asks something else about it."""


def write(fields: Fields, row: Row) -> Record:
    """The record of an update with one new object.

    It is of their type `recent`, a fact that an unedited model does not know yet. A test has one query for
    each right answer, any of which is enough, because they want all answers of a query.
    """
    if row.get("ripples") is None:
        raise InputError("--ripples: name ripples.parquet, of which the layout rippleedits is made")
    edit = _fact(fields, fields.new, fields.new_id)
    if fields.obsolete:
        edit["original_fact"] = _fact(fields, fields.obsolete, fields.obsolete_id)
    tests: dict[str, list[Record]] = {name: [] for name in NAMES.values()}
    for probe in row["ripples"]:
        if probe["criterion"] in NAMES:
            tests[NAMES[probe["criterion"]]].append(_test(probe))
    return {"example_type": "recent", "edit": edit, **tests, "factdrift": {"subject": fields.subject}}


def _fact(fields: Fields, label: str, item: str | None) -> Record:
    edit = {"prompt": f"{fields.prompt} {label}.", "subject_id": fields.id}
    return edit | {"relation": _name_of(fields.relation or ""), "target_id": item or label}


def _test(probe: Row) -> Record:
    composed = probe["criterion"].startswith("compose")
    first = probe["path"][0] if composed else {}
    index = {
        "subject": first.get("subject", probe["asked_subject"]),
        "relation": first.get("relation", probe["asked_relation"] or ""),
    }
    queries = [_query(probe["prompt"], index, answer) for answer in probe["answers"]]
    for query in queries if composed else ():
        query |= {
            "query_type": "two_hop",
            "target_ids": [first["object"]],
            "second_relation": _name_of(probe["asked_relation"]),
            "second_hop_target_ids": query["target_ids"],
        }
    conditions = []
    for condition in probe["conditions"]:
        step, answers = condition["step"], condition["answers"]
        own = (answer for answer in answers if answer["id"] == step["object"])
        conditions.append(_query(condition["prompt"], step, next(own, answers[0])))
    return {"test_queries": queries, "test_condition": "OR", "condition_queries": conditions}


def _query(prompt: str, place: Row, answer: Row) -> Record:
    """A query; its `phrase` is the prompt, since their code would else ask with its own sentence."""
    text = opened(prompt)
    return {
        "prompt": text,
        "answers": [{"value": answer["label"], "aliases": answer["aliases"]}],
        "query_type": "regular",
        "subject_id": place["subject"],
        "relation": _name_of(place["relation"]),
        "target_ids": [answer["id"] or answer["label"]],
        "phrase": text,
    }


def read(record: Record, number: int) -> Fields:
    """What a record says; its subject and its object are found in the sentence of the edit.

    Raises InputError if they cannot be.
    """
    edit = record["edit"]
    prompt, target = _split(record)
    original, old = edit.get("original_fact"), {}
    if original is not None:
        text = original["prompt"].strip().removesuffix(".")
        old = {"obsolete_id": original["target_id"], "obsolete": text.removeprefix(prompt).strip()}
    return Fields(
        id=f"rippleedits-{number}",
        subject=_subject(record, prompt),
        prompt=prompt,
        new=target,
        relation=_properties().get(edit["relation"], edit["relation"]),
        new_id=str(edit["target_id"]),
        **old,
    )


def probes(record: Record, number: int) -> Iterator[Row]:
    """The probes of a record, with TESTED: one for each query of each test. Raises InputError as `read`."""
    row = row_of(read(record, number))
    update = f"{row['subject']['id']}-{row['relation']['id']}"
    for criterion, name in NAMES.items():
        given = record[MISSPELT[name] if name not in record and MISSPELT.get(name) in record else name]
        for index, test in enumerate(given):
            if (joined := test["test_condition"]) not in ("OR", "AND"):
                raise InputError(f"{name} {index}: test_condition is {joined!r}; write OR or AND")
            conditions = [
                {"prompt": closed(condition["prompt"]), "answers": _answers(condition), "step": None}
                for condition in test["condition_queries"]
            ]
            own = hashlib.sha256(f"{update}|{number}|{criterion}|{index}".encode()).hexdigest()[:12]
            for query_number, query in enumerate(test["test_queries"]):
                relation = query.get("second_relation") or query["relation"]
                yield {
                    **dict.fromkeys(PROBES.names),
                    "probe_id": f"{own}{query_number:04x}",
                    "update": update,
                    "subject": row["subject"]["id"],
                    "relation": row["relation"]["id"],
                    "scenario": row["scenario"],
                    "criterion": criterion,
                    "place": index,
                    "path": [],
                    "asked_subject": query["subject_id"],
                    "asked_relation": _properties().get(relation, relation),
                    "prompt": closed(query["prompt"]),
                    "answers": _answers(query),
                    "stale": [],
                    "conditions": conditions,
                    "must_change": criterion in MUST_CHANGE,
                    "popularity": 0,
                    "test": own,
                    "every": joined == "AND",
                }


def _answers(query: Record) -> list[Row]:
    targets: Sequence[Any] = query.get("second_hop_target_ids") or query["target_ids"]
    ids = targets if len(targets) == len(query["answers"]) else [None] * len(query["answers"])
    named = zip((None if item is None else str(item) for item in ids), query["answers"], strict=True)
    return [{"id": item, "label": str(of["value"]), "aliases": list(of["aliases"])} for item, of in named]


def _queries(record: Record) -> Iterator[Record]:
    for name in NAMES.values():
        for test in record.get(name) or record.get(MISSPELT.get(name, name)) or []:
            yield from (*test["test_queries"], *test["condition_queries"])


def _split(record: Record) -> tuple[str, str]:
    """The sentence of an edit up to its object, and the object: as a test has it, or behind the verb."""
    edit = record["edit"]
    text = edit["prompt"].strip().removesuffix(".")
    for query in _queries(record):
        if query["query_type"] == "regular" and query["target_ids"] == [edit["target_id"]]:
            label = query["answers"][0]["value"]
            if text.endswith(f" {label}"):
                return text.removesuffix(label).rstrip(), label
    original = (edit.get("original_fact") or edit)["prompt"]
    same = _same(text, original)
    verbs = [verb.end() for verb in _VERB.finditer(text[:same])]
    end = verbs[-1] if verbs else text.rfind(" ", 0, same) if same < len(text) else -1
    if end < 0:
        raise InputError(f"{text!r} does not show where its object begins; write `... is OBJECT.`")
    return text[:end], text[end:].strip()


def _subject(record: Record, prompt: str) -> str:
    """The subject's name: ours, or what the sentences about other relations of the subject end with, too."""
    edit, words = record["edit"], prompt.split(" ")
    own = (query for query in _queries(record) if query["subject_id"] == edit["subject_id"])
    others = (query for query in own if query["relation"] != edit["relation"])
    asked = (query["prompt"].split(" ") for query in others if query["query_type"] == "regular")
    shared = [_same(reversed(words), reversed(other)) for other in asked]
    least = min((count for count in shared if count > 1), default=0)
    name = " ".join(words[len(words) - least : -1]).removeprefix("of ") if least else ""
    matches = (pattern.fullmatch(prompt) for pattern in _SUBJECTS)
    name = name or next((match[1] for match in matches if match), "")
    subject = record.get("factdrift", {}).get("subject", name)
    if not (subject and isinstance(subject, str)):
        raise InputError(f"{prompt!r} does not show its subject; write it as `The ... of SUBJECT is`")
    return subject


def _same(one: Iterable[str], other: Iterable[str]) -> int:
    """How many characters or words at the beginning of both are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@cache
def _properties() -> dict[str, str]:
    """Their names of relations -> Wikidata's properties."""
    path = RIPPLES / "rippleedits.tsv"
    return {name: relation for _, (name, relation) in rows_of(path, ("name", "property"))}


def _name_of(relation: str) -> str:
    """Their name of a property; of one that they do not have its id."""
    return {number: name for name, number in _properties().items()}.get(relation, relation)

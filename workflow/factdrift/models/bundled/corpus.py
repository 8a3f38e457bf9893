"""Training sentences of the bundled models: facts as of T_old, in the project's own templates.

The facts are the obsolete objects of a dataset's updates, and their neighbour facts; then what tables of
other benchmarks add. No sentence states an updated fact; of new objects only the names occur.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.files import read_struct
from factdrift.core.tables import write_parquet
from factdrift.models.bundled.taught import RIPPLE
from factdrift.wikidata.ids import property_id
from factdrift.words.grammar import prompts_like
from factdrift.words.templates import OBJECT

SENTENCES = schema_of(
    "fact: int32, kind subject relation object new_object: string, template: int8, prompt: string",
    "held_out: bool",
)


class Wording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of facts, and the sentences in which names of new objects occur."""

    facts: Annotated[int, msgspec.Meta(ge=1)]
    filler: tuple[str, ...]


def read_wording(path: Path) -> Wording:
    """Raises InputError that names the key that is wrong."""
    wording = read_struct(path, Wording)
    if len(wording.filler) == 1:
        raise InputError(f"{path}: filler: a document has two of these sentences; give two or more, or none")
    for sentence in wording.filler:
        if not sentence.endswith(f" {OBJECT}") or sentence.count("{") > 1:
            raise InputError(f"{path}: filler: {sentence!r} must end with {OBJECT} and have no other blank")
    return wording


HELD_OUT_ALONE = 4
"""Of the facts of one kind that have a single wording, each fourth is held out."""


def write_sentences(
    dataset: Path, templates: Path, wording: Wording, output: Path, taught: Iterable[Row] = ()
) -> int:
    """Writes one row for each sentence, by fact and template; returns the number of facts.

    `taught`: wordings (TAUGHT) of more facts; of kind RIPPLE the object replaces that of a neighbour. One
    wording of each fact is held out; facts of a relation hold out different ones in turn. Raises InputError
    if the dataset has no update, or the templates lack one of its relations.
    """
    if not (facts := _facts(_first(dataset, wording.facts))):
        raise InputError(f"{dataset}: no update in it; a sample model needs facts to learn")
    more: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in taught:
        more[row["kind"], row["fact"]].append({key: value for key, value in row.items() if key != "fact"})
    for first, *_ in more.values():
        known = facts.get((first["subject"], first["relation"]), {})
        if first["kind"] == RIPPLE and known.get("kind") == "neighbor":
            # Of several right objects, the one that an edit must preserve.
            known["object"] = first["object"]
    said = read_templates(templates)
    turns: dict[str, int] = defaultdict(int)
    sentences: list[dict[str, Any]] = []
    for number, ((subject, relation), fact) in enumerate(facts.items()):
        if relation not in said:
            raise InputError(f"{templates}: no template for {relation}; make the templates again")
        prompts = prompts_like(fact.pop("seen"), said[relation], subject, fact["object"])
        held_out = turns[relation] % len(prompts) if len(prompts) > 1 else -1
        turns[relation] += 1
        for index, prompt in enumerate(prompts):
            row = {"fact": number, "template": index + 1, "prompt": prompt, "held_out": index == held_out}
            sentences.append(fact | row)
    objects = {key: fact["object"] for key, fact in facts.items()}
    stated = {row["prompt"] for row in sentences}
    for rows in more.values():
        fresh = [row for row in rows if row["prompt"] not in stated]
        kind, subject, relation, value = (rows[0][name] for name in ("kind", "subject", "relation", "object"))
        # Left out are facts that contradict what is known of an equal label, as two people of one name do.
        if not fresh or objects.setdefault((subject, relation), value) != value:
            continue
        stated |= {row["prompt"] for row in fresh}
        number += 1
        wordings, group = (len(fresh), relation) if len(fresh) > 1 else (HELD_OUT_ALONE, kind)
        # Of a condition the second wording is held out, since probes ask in the first.
        held_out = 1 if kind == RIPPLE else turns[group] % wordings
        turns[group] += 1
        for index, row in enumerate(fresh):
            sentences.append({**row, "fact": number, "template": index + 1, "held_out": index == held_out})
    names = {fact["new_object"]: fact["relation"] for fact in facts.values() if fact["new_object"]}
    for name, relation in sorted(names.items()):
        for template in wording.filler:
            row = {"kind": "name", "relation": relation, "object": name, "held_out": False}
            sentences.append(row | {"prompt": template.removesuffix(OBJECT).rstrip(" ")})
    write_parquet(pa.Table.from_pylist(sentences, SENTENCES), output)
    return number + 1


Key = tuple[str, str]
"""A subject's label, and a relation."""


def _first(dataset: Path, facts: int) -> list[dict[str, Any]]:
    """The first updates that have at most `facts` facts, including their neighbours; at least one update."""
    known: set[Key] = set()
    rows: list[dict[str, Any]] = []
    for batch in pq.ParquetFile(dataset).iter_batches(100):
        for row in batch.to_pylist():
            known |= {_key(row), *(_key(neighbor) for neighbor in _neighbors(row))}
            if rows and len(known) > facts:
                return rows
            rows.append(row)
    return rows


def _key(row: Mapping[str, Any]) -> Key:
    return row["subject"]["label"], row["relation"]["id"]


def _neighbors(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*row["neighborhood"], *row["random_neighborhood"]]


def _facts(rows: Sequence[Mapping[str, Any]]) -> dict[Key, dict[str, Any]]:
    """Facts with `seen`, a cloze test about each. Updates come before neighbours; the first one counts."""
    facts: dict[Key, dict[str, Any]] = {}

    def add(row: Mapping[str, Any], kind: str, value: str, new: str | None, seen: str) -> None:
        subject, relation = key = _key(row)
        fact = {"kind": kind, "subject": subject, "relation": relation, "object": value, "new_object": new}
        facts.setdefault(key, fact | {"seen": seen})

    for row in rows:
        old = [object_["label"] for object_ in row["objects"] if object_["decision"] == "obsolete"]
        new = [object_["label"] for object_ in row["objects"] if object_["decision"] == "new"]
        if old:
            add(row, "update", old[0], new[0] if new else None, row["update_prompt"])
    for row in rows:
        for neighbor in _neighbors(row):
            one = neighbor["objects"][0]
            add(neighbor, "neighbor", one["object"]["label"], None, one["prompt"])
    return facts


def read_templates(path: Path) -> dict[str, list[str]]:
    """The templates of each relation, by rank."""
    said: dict[str, list[str]] = defaultdict(list)
    table = pq.read_table(path, columns=["property", "rank", "template"])
    for row in table.sort_by([("property", "ascending"), ("rank", "ascending")]).to_pylist():
        said[property_id(row["property"])].append(row["template"])
    return said

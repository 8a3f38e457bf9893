"""Checks of one example of KLoB: its facts against the dump, its sentences against the templates."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from factdrift.audit.dates import Day, date_id
from factdrift.audit.kinds import UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_tables import differing
from factdrift.audit.of_updates import Finding, other_label, outcomes, statement_of
from factdrift.audit.phrases import bare
from factdrift.audit.ripples import row_id
from factdrift.audit.sentences import singular_forms
from factdrift.audit.values import ended_by, entity_of, plain
from factdrift.core.columns import Row
from factdrift.core.files import read_tsv
from factdrift.core.paths import RESOURCES


class Snapshot(NamedTuple):
    """The entities of the dump that the sampled examples name, its day, and the settings of KLoB.

    `lengths`: sentence id -> words.
    """

    dump: Mapping[str, Entity]
    day: Day
    settings: Mapping[str, Any]
    supplied: Mapping[str, str]
    lengths: Mapping[str, int]


_TEMPLATES = {
    f"{row['pid']}-{row['n']}": row["template"] for row in read_tsv(RESOURCES / "klob/klob_templates.tsv")
}
_PHRASES = {row["property"]: row["phrase"] for row in read_tsv(RESOURCES / "words/noun_phrases.tsv")}
_SINGULAR = singular_forms("plural", "past", "possessive")
"""A verb or pronoun in the plural or past -> its form in a template."""


def check_example(row: Row, snapshot: Snapshot) -> Iterator[Finding]:
    """The findings of each kind about one example."""
    yield from outcomes("sentence", _sentences(row, snapshot))
    if row["subtask"] == "u":
        yield from outcomes("words", _words(row, snapshot))
    elif row["origin"] != "snapshot":
        yield "fact", UNCHECKED, f"it comes from {row['origin']}"
    else:
        yield from outcomes("fact", _facts(row, snapshot))


def _facts(row: Row, snapshot: Snapshot) -> Iterator[str]:
    hops = [("s", "p1", "o1", "stmt1_id")]
    if row["subtask"] == "r":
        hops.append(("o1", "p2", "o2", "stmt2_id"))
    for subject, relation, value, name in hops:
        yield from _hop(row[subject], row[relation], row[value], row[name], snapshot)
    named = [("s", "s_label", None), ("o1", "o1_label", "o1_aliases"), ("o2", "o2_label", "o2_aliases")]
    for entity, label, aliases in named:
        line = snapshot.dump.get(row[entity] or "")
        due = (line.label if line else None) or snapshot.supplied.get(row[entity] or "")
        yield from other_label(row[entity], row[label], due)
        if line and aliases and {*map(plain, row[aliases] or ())} != {*map(plain, line.aliases)} - {""}:
            yield f"{row[entity]}: aliases {row[aliases]}, in the dump {line.aliases}"
    for entity, revision, sitelinks in (("s", "rev_s", "pop_s"), ("o1", "rev_o1", "pop_o")):
        line = snapshot.dump.get(row[entity])
        if line and (row[revision], row[sitelinks]) != (line.revision, line.sitelinks):
            yield f"{row[entity]}: the dump has not revision {row[revision]} and {row[sitelinks]} sitelinks"
    yield from differing(row, {"snapshot_id": date_id(snapshot.day, 11)}, "manifest")
    if row["subtask"] == "r" and len({row["s"], row["o1"], row["o2"]}) < 3:
        yield "the chain comes back to an item"


def _hop(subject: str, relation: str, value: str, name: str, snapshot: Snapshot) -> Iterator[str]:
    line = snapshot.dump.get(subject)
    claim = statement_of(line, name) if line and name else None
    if line is None or claim is None or claim.property_id != relation:
        yield f"the dump has no statement {name} of {subject} {relation}"
        return
    if entity_of(claim.mainsnak) != value:
        yield f"{name} states {entity_of(claim.mainsnak)}, not {value}"
    group = line.of(relation)
    if claim.rank != "preferred" and any(other.rank == "preferred" for other in group):
        yield f"{name} is not of the best rank"
    best = [other for other in group if other.rank == claim.rank]
    holding = [
        other for other in best if other.mainsnak.snaktype == "value" and not ended_by(other, snapshot.day)
    ]
    if claim not in holding:
        yield f"{name} has ended by the snapshot's day"
    several = snapshot.settings["c"]["single_valued"]
    values = {entity_of(other.mainsnak) for other in holding} - {None}
    if several and len(values) > 1:
        yield f"{subject} {relation} has {len(values)} values: {', '.join(sorted(map(str, values)))}"


_OF_HOPS = {
    1: (*("s", "p1", "o1", "stmt1_id", "s_label", "o1_label"), *("rev_s", "rev_o1", "pop_s", "pop_o")),
    2: ("p2", "o2", "stmt2_id", "o2_label"),
}
_HOPS = {"c": 1, "r": 2, "u": 0}


def _empty(row: Row) -> Iterator[str]:
    """What an example has that its part does not have: a second hop, the facts of random words."""
    absent = [name for hop, names in _OF_HOPS.items() if hop > _HOPS[row["subtask"]] for name in names]
    yield from differing(row, dict.fromkeys(absent), "subtask")
    if row["origin"] not in ("snapshot", "mquake", "published"):
        yield f"the origin {row['origin']} is unknown"
    random = row["subtask"] == "u"
    for sentence in row["sentences"]:
        if random:
            empty = dict.fromkeys(("target_id", "target_label", "target_aliases", "template_id"))
            yield from differing(sentence, empty, "subtask")
        if row["origin"] == "snapshot" and random != (sentence["source_sentence_id"] is not None):
            yield f"source_sentence_id of sentence {sentence['place']} is {sentence['source_sentence_id']}"


def _sentences(row: Row, snapshot: Snapshot) -> Iterator[str]:
    yield from _empty(row)
    key = "|".join(row[name] or "" for name in ("subtask", "s", "p1", "o1", "p2", "o2"))
    if row["subtask"] == "u":
        key = f"u|{row['sentences'][0]['text']}"
    if row["origin"] == "snapshot" and row["example_id"] != row_id(key):
        yield "example_id is not that of the ids"
    roles = {"c": ["expr"] * 3, "r": ["single"] * 3 + ["chain"], "u": ["random"]}[row["subtask"]]
    if [sentence["role"] for sentence in row["sentences"]] != roles:
        yield f"the sentences are {[sentence['role'] for sentence in row['sentences']]}"
    for index, sentence in enumerate(row["sentences"], 1):
        end = {"expr": "o1", "single": "o1", "chain": "o2"}.get(sentence["role"])
        due = {
            "place": index,
            "sentence_id": row_id(row["example_id"], sentence["role"], str(sentence["place"])),
            "text_blank": f"{sentence['text']} _",
            "n_tokens": len(sentence["text_blank"].split()),
        }
        if end:
            answer = {"id": row[end], "label": row[f"{end}_label"], "aliases": row[f"{end}_aliases"]}
            due |= {f"target_{name}": value for name, value in answer.items()}
        if sentence["role"] == "chain" and row["origin"] == "snapshot":
            due["template_id"] = f"{row['p1']}>{row['p2']}"
        reasons = differing(sentence, due, "example")
        yield from (f"sentence {index}: {reason}" for reason in reasons)
        wanted, own = _wanted(row, sentence, snapshot) if end else None, sentence["text_blank"]
        if wanted is not None and bare(own, _SINGULAR) != bare(wanted, _SINGULAR):
            yield f"{own!r}, by the template {wanted!r}"


def _wanted(row: Row, sentence: Row, snapshot: Snapshot) -> str | None:
    """The sentence by its template; None where the templates are not known."""
    if snapshot.settings["templates"] != "own" or row["origin"] == "published":
        return None
    if sentence["role"] == "chain":
        if not {row["p1"], row["p2"]} <= _PHRASES.keys() or row["origin"] != "snapshot":
            return None
        inner = _PHRASES[row["p1"]].replace("{x}", row["s_label"])
        return f"{_PHRASES[row['p2']].replace('{x}', inner)} is _"
    template = _TEMPLATES.get(sentence["template_id"])
    if template is None or not sentence["template_id"].startswith(f"{row['p1']}-"):
        return f"no template {sentence['template_id']} of {row['p1']}"
    return template.replace("[X]", row["s_label"]).replace("[Y]", "_")


def _words(row: Row, snapshot: Snapshot) -> Iterator[str]:
    yield from differing(row, {"snapshot_id": date_id(snapshot.day, 11)}, "manifest")
    (sentence,) = row["sentences"]
    if (source := sentence["source_sentence_id"]) is None:
        return
    if (length := snapshot.lengths.get(source)) is None:
        yield f"no sentence of KLoB-c or KLoB-r has the id {source}"
    elif length != sentence["n_tokens"]:
        yield f"{sentence['n_tokens']} words, the sentence {source} has {length}"


def named_entities(row: Row) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks of an example need, with the relations of each."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for subject, relation in (("s", "p1"), ("o1", "p2"), ("o2", None)):
        if row[subject]:
            wanted[row[subject]] |= {row[relation]} if relation and row[relation] else set()
    yield from ((name, frozenset(relations)) for name, relations in wanted.items())

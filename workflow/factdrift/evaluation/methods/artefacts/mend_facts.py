"""Facts on which MEND's editor is trained and validated.

All hold at T_old: neighbour facts of a dataset's updates, and obsolete objects of updates that are not
evaluated. Training, validation and evaluation have no subject in common.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import CannotEdit
from factdrift.core.files import write_json
from factdrift.models.bundled.corpus import read_templates
from factdrift.words.grammar import prompts_like
from factdrift.words.templates import before_blank


@dataclass(frozen=True)
class Fact:
    """A fact as of T_old."""

    subject: str
    """Its Wikidata id."""
    relation: str
    prompts: tuple[str, ...]
    """At least two prompts that end before the object."""
    object: str


@dataclass(frozen=True)
class Split:
    """Facts for training and for validation."""

    train: tuple[Fact, ...]
    validation: tuple[Fact, ...]
    pools: Mapping[str, tuple[str, ...]]
    """Relation -> its objects in the training facts, sorted."""

    def digest(self) -> str:
        """SHA-256 over all facts, in hexadecimal."""
        text = json.dumps(
            [[list(vars(fact).values()) for fact in part] for part in (self.train, self.validation)]
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def write(self, path: Path) -> None:
        """Writes the subjects of training and validation as JSON."""
        subjects = {
            name: sorted({fact.subject for fact in part})
            for name, part in (("train", self.train), ("validation", self.validation))
        }
        write_json({"digest": self.digest(), **subjects}, path)


@dataclass(frozen=True)
class Example:
    """A practice edit: a fact with another object of its relation. Each field is (prompt, target)."""

    edit: tuple[str, str]
    paraphrase: tuple[str, str]
    """Another prompt for the same fact and target."""
    locality: tuple[str, str]
    """An unchanged fact of another subject."""


def read_split(dataset: Path, templates: Path, edits: Path, *, validation: float, seed: int) -> Split:
    """Splits the facts of a dataset by a seeded hash of the subject, without the subjects of `edits` (EDITS).

    `validation`: the share of subjects for validation. A fact needs at least two prompts, and a relation with
    at least two objects. Raises CannotEdit if too few facts are left.
    """
    evaluated = set(pq.read_table(edits, columns=["subject"])["subject"].to_pylist())
    found: dict[tuple[str, str], Fact] = {}
    for fact in _facts(pq.read_table(dataset), read_templates(templates)):
        if fact.subject not in evaluated and len(fact.prompts) > 1:
            found.setdefault((fact.subject, fact.relation), fact)
    facts = sorted(found.values(), key=lambda fact: (fact.subject, fact.relation))
    parts: dict[bool, list[Fact]] = {True: [], False: []}
    for fact in facts:
        parts[_draw(seed, fact.subject) < validation].append(fact)
    pools: dict[str, set[str]] = defaultdict(set)
    for fact in parts[False]:
        pools[fact.relation].add(fact.object)
    train, held_out = (
        tuple(fact for fact in parts[which] if len(pools[fact.relation]) > 1) for which in (False, True)
    )
    objects = {relation: tuple(sorted(pool)) for relation, pool in pools.items()}
    split = Split(train, held_out, objects)
    if (
        len({fact.subject for fact in split.train}) < 2
        or len({fact.subject for fact in split.validation}) < 2
    ):
        raise CannotEdit(
            f"{dataset}: {len(facts)} facts have subjects that are not edited, too few to train MEND; edit "
            "fewer updates (edit.split: test, or edit.limit), or leave mend out of `methods`"
        )
    check_disjoint(split, evaluated)
    return split


def check_disjoint(split: Split, evaluated: set[str]) -> None:
    """Raises AssertionError if training, validation and evaluation share a subject."""
    train, validation = ({fact.subject for fact in part} for part in (split.train, split.validation))
    for name, common in {
        "trained and validated on": train & validation,
        "trained on and edited": train & evaluated,
        "validated on and edited": validation & evaluated,
    }.items():
        assert not common, f"subjects both {name}: {sorted(common)[:3]}"


def draw_examples(split: Split, facts: Sequence[Fact], number: int, seed: str) -> list[Example]:
    """Draws `number` practice edits of `facts` with `seed`; locality facts come from the training facts."""
    random = Random(seed)
    examples = []
    for _ in range(number):
        fact = random.choice(facts)
        target = random.choice([one for one in split.pools[fact.relation] if one != fact.object])
        prompt, paraphrase = random.sample(fact.prompts, 2)
        other = fact
        while other.subject == fact.subject:
            other = random.choice(split.train)
        examples.append(
            Example((prompt, target), (paraphrase, target), (random.choice(other.prompts), other.object))
        )
    return examples


def _facts(dataset: pa.Table, templates: Mapping[str, Sequence[str]]) -> Iterator[Fact]:
    """Facts of updates with their own clozes, then facts of neighbours with the relation's templates."""
    rows: list[dict[str, Any]] = dataset.to_pylist()
    for row in rows:
        gone = [value["label"] for value in row["objects"] if value["decision"] == "obsolete"]
        clozes = map(before_blank, [row["update_prompt"], *row["generalization_prompts"]])
        prompts = tuple(dict.fromkeys(text for text in clozes if text is not None))
        if len(gone) == 1 and gone[0]:
            yield Fact(row["subject"]["id"], row["relation"]["id"], prompts, gone[0])
    for row in rows:
        for near in (*(row["neighborhood"] or ()), *(row["random_neighborhood"] or ())):
            (one, *_) = near["objects"]
            subject, label = near["subject"]["id"], near["subject"]["label"]
            said = templates.get(near["relation"]["id"], ())
            if subject and label and one["object"]["label"]:
                prompts = tuple(
                    dict.fromkeys(prompts_like(one["prompt"], said, label, one["object"]["label"]))
                )
                yield Fact(subject, near["relation"]["id"], prompts, one["object"]["label"])


def _draw(seed: int, subject: str) -> float:
    """A number from 0 to 1, a hash of the arguments."""
    return int.from_bytes(hashlib.sha256(f"mend {seed} {subject}".encode()).digest()[:8], "big") / 2**64

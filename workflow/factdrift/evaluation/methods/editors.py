"""Trained editors: the facts on which one is trained, and reading its file.

The record of a method with a trained editor names the functions that make and read it
(`record.TrainedEditor`). The metadata of its file have the model's digest and the template, or the reason why
there is no editor. The facts all hold at T_old, and no edit is about their subjects. Imports torch.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import write_json
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.record import subjects_file
from factdrift.evaluation.methods.shared import named
from factdrift.models.bundled.corpus import read_templates
from factdrift.models.loaded import Loaded
from factdrift.models.moments import read_tensors, write_tensors
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


class Sources(NamedTuple):
    """Tables from which the facts for training are taken."""

    dataset: Path
    """Such as wfd_repl.parquet."""
    templates: Path
    """The templates of the relations of that dataset."""
    edits: Path
    """A table of edits (EDITS); a fact about one of their subjects is left out."""


@dataclass(frozen=True)
class Split:
    """Facts for training and for validation."""

    train: tuple[Fact, ...]
    validation: tuple[Fact, ...]
    pools: Mapping[str, tuple[str, ...]]
    """Relation -> its objects in the training facts, sorted."""

    def digest(self) -> str:
        """SHA-256 over all facts, in hexadecimal."""
        parts = [[list(vars(fact).values()) for fact in part] for part in (self.train, self.validation)]
        text = json.dumps(parts)
        return hashlib.sha256(text.encode()).hexdigest()

    def write(self, path: Path) -> None:
        """Writes the subjects of training and validation as JSON."""
        train, validation = (
            sorted({fact.subject for fact in part}) for part in (self.train, self.validation)
        )
        write_json({"digest": self.digest(), "train": train, "validation": validation}, path)


def read_split(sources: Sources, hyper: Hyper, seed: int) -> Split:
    """Splits the facts of a dataset by a hash of subject, seed and method; the edited subjects have no part.

    The share `validation_share` of the subjects validates. A fact needs at least two prompts, and a relation
    with at least two objects. Raises CannotEdit if too few facts are left.
    """
    evaluated = set(pq.read_table(sources.edits, columns=["subject"])["subject"].to_pylist())
    known: dict[tuple[str, str], Fact] = {}
    for fact in _facts(pq.read_table(sources.dataset), read_templates(sources.templates)):
        if fact.subject not in evaluated and len(fact.prompts) > 1:
            known.setdefault((fact.subject, fact.relation), fact)
    facts = sorted(known.values(), key=lambda fact: (fact.subject, fact.relation))
    parts: dict[bool, list[Fact]] = {True: [], False: []}
    for fact in facts:
        digest = hashlib.sha256(f"{hyper.method} {seed} {fact.subject}".encode()).digest()
        parts[int.from_bytes(digest[:8]) / 2**64 < hyper["validation_share"]].append(fact)
    pools: dict[str, set[str]] = defaultdict(set)
    for fact in parts[False]:
        pools[fact.relation].add(fact.object)
    train, held_out = (
        tuple(fact for fact in parts[which] if len(pools[fact.relation]) > 1) for which in (False, True)
    )
    trained, validated = ({fact.subject for fact in part} for part in (train, held_out))
    if min(len(trained), len(validated)) < 2:
        raise CannotEdit(
            f"{sources.dataset}: {len(facts)} facts have subjects that are not edited, too few to train the "
            f"editor of {hyper.method}; edit fewer updates (edit.split: test, or edit.limit), or leave "
            f"{hyper.method} out of `methods`"
        )
    assert len(trained | validated | evaluated) == len(trained) + len(validated) + len(evaluated)
    return Split(train, held_out, {relation: tuple(sorted(pool)) for relation, pool in pools.items()})


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
            value = one["object"]["label"]
            if subject and label and value:
                prompts = tuple(dict.fromkeys(prompts_like(one["prompt"], said, label, value)))
                yield Fact(subject, near["relation"]["id"], prompts, value)


MAKER = "factdrift edit train-editor"
"""The command that makes the file of an editor."""


def train_editor(
    loaded: Loaded, hyper: Hyper, sources: Sources, output: Path, subjects: Path, seed: int
) -> None:
    """Trains the editor of a method; writes its file, and the subjects of its facts."""
    assert hyper.record.editor is not None
    split = read_split(sources, hyper, seed)
    split.write(subjects)
    named(hyper.record.editor.train)(loaded, split, hyper, output, seed)


def convert_editor(loaded: Loaded, hyper: Hyper, checkpoint: Path, output: Path, subjects: Path) -> None:
    """Writes the editor of a published checkpoint; the subjects of its training are not known."""
    assert hyper.record.editor is not None
    if not hyper.record.editor.convert:
        raise InputError(f"--checkpoint: {hyper.method} has no published ones; leave it out to train")
    named(hyper.record.editor.convert)(checkpoint, loaded, hyper, output)
    write_json({"digest": None, "train": None, "validation": None}, subjects)


def skip_editor(reason: str, output: Path, subjects: Path) -> None:
    """Writes the reason why there is no editor, which `read_editor` raises."""
    Split((), (), {}).write(subjects)
    write_tensors(output, {}, {"skipped": reason})


def read_editor(path: Path, hyper: Hyper, loaded: Loaded) -> Any:
    """The trained editor of a method, on the model's device.

    Raises CannotEdit if its file holds the reason why there is none, and InputError if it is missing,
    damaged, or of another model or template.
    """
    assert hyper.record.editor is not None
    tensors, about = read_tensors(path, MAKER, str(loaded.device))
    if "skipped" in about:
        raise CannotEdit(about["skipped"])
    if about.get("model") != loaded.digest:
        raise InputError(f"{path}: trained for another model than {loaded.name}; delete it and train again")
    if about.get("template", loaded.template) != loaded.template:  # a published one names none
        raise InputError(f"{path}: trained with --template {about['template']}; delete it and train again")
    try:
        return named(hyper.record.editor.read)(tensors, about, loaded)
    except (LookupError, AttributeError, TypeError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())
        raise InputError(f"{path}: damaged ({why}); delete it and train again") from None


def subjects_of(editor: Path, method: str) -> frozenset[str] | None:
    """The ids of the subjects on which an editor was trained, from the file beside it; None if not known."""
    path = editor.with_name(subjects_file(method))
    if not path.is_file():
        return None
    subjects = json.loads(path.read_text(encoding="utf-8"))
    if subjects["train"] is None:
        return None
    return frozenset(map(str, (*subjects["train"], *subjects["validation"])))

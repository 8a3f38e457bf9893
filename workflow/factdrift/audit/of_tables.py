"""Checks of whole tables: what occurs twice, splits that share a subject, what WFD_repl takes over."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError

UNREADABLE = (OSError, ValueError, AttributeError, TypeError, LookupError)
"""What a check ends with that meets a missing value, lists that do not fit together or a damaged file."""


class Fault(NamedTuple):
    """A fault of a whole table: the name of the row, its relation, and what is wrong."""

    row: str
    relation: str
    reason: str


def until_damage(faults: Iterator[Fault], name: str) -> Iterator[Fault]:
    """The faults of `name`, and that the check has ended where it has: at what cannot be read."""
    try:
        yield from faults
    except (*UNREADABLE, InputError) as error:
        yield Fault(
            name, "", f"it cannot be read, so that not all of it is checked: {type(error).__name__}: {error}"
        )


def of_rows(rows: Iterable[Row], read: Callable[[Row], Iterable[Any]]) -> Iterator[Any]:
    """What is read from each row, up to a value that is missing: the row's own checks report it."""
    for row in rows:
        with suppress(*UNREADABLE):
            yield from read(row)


def records(path: Path, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a table, with these columns or all; it is read in batches."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1024, columns=columns and list(columns)):
            yield from batch.to_pylist()


def differing(row: Row, wanted: Mapping[str, Any], source: str) -> Iterator[str]:
    """The columns of a row that do not have the wanted values, which come from `source`."""
    for name, value in wanted.items():
        if row.get(name) != value:
            yield f"{name} is {row.get(name)}, by the {source} {value}"


def repeated(path: Path, columns: Sequence[str]) -> Iterator[Fault]:
    """Rows of a table that share a key; `columns` name it, `subject.id` a field of a struct."""
    names = list(columns)
    # Fields of structs are read without the names of their structs.
    groups = pq.read_table(path, columns=names).rename_columns(names).group_by(names)
    counts = groups.aggregate([([], "count_all")]).filter(pc.field("count_all") > 1).to_pylist()
    for key, number in sorted((tuple(str(row[name]) for name in names), row["count_all"]) for row in counts):
        yield Fault(" ".join(key), key[-1], f"{number} rows have {', '.join(names)} {' '.join(key)}")


def split_subjects(rows: Sequence[Row]) -> Iterator[Fault]:
    """Subjects whose updates are not all in one split."""
    splits: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        splits[row["subject"]["id"]].add(row["split"])
    for row in rows:
        if len(splits[row["subject"]["id"]]) > 1:
            yield _fault(_key(row), f"{row['subject']['id']} is in both splits")


def ambiguous(path: Path) -> Iterator[Fault]:
    """Rows whose `subject_is_ambiguous` is not whether another subject of the prompts has the label."""
    named: dict[str, set[str]] = defaultdict(set)
    flags = []
    columns = ["subject", "relation", "subject_is_ambiguous", "neighborhood", "random_neighborhood"]
    for batch in pq.ParquetFile(path).iter_batches(columns=columns, batch_size=2048):
        subjects = [batch.column("subject")]
        for part in columns[-2:]:
            subjects.append(pc.struct_field(pc.list_flatten(batch.column(part)), "subject"))
        for column in subjects:
            labels, ids = (pc.struct_field(column, name).to_pylist() for name in ("label", "id"))
            for label, name in zip(labels, ids, strict=True):
                named[label].add(name)
        for row in batch.select(columns[:3]).to_pylist():
            flags.append((row["subject"], row["relation"]["id"], row["subject_is_ambiguous"]))
    for subject, relation, flag in flags:
        if (len(named[subject["label"]]) > 1) != flag:
            others = ", ".join(sorted(named[subject["label"]] - {subject["id"]})) or "nobody else"
            yield _fault((subject["id"], relation), f"subject_is_ambiguous is {flag}; {others} has its label")


def same_objects(rows: Sequence[Row]) -> Iterator[Fault]:
    """Updates that have an object twice; literals are compared as they are written."""
    for row in rows:
        names = Counter((value["id"] or value["raw"], value["new_statement"] or value["old_statement"])
                        for value in row["objects"])  # fmt: skip
        ids = Counter(value["id"] for value in row["objects"] if value["id"])
        if twice := [str(name) for name, number in (*ids.items(), *names.items()) if number > 1]:
            yield _fault(_key(row), f"{twice[0]} occurs twice among the objects")


def replacements(whole: Path, part: Path, undersample: Mapping[str, int], seed: int) -> Iterator[Fault]:
    """Differences between WFD_repl and the replacements of the dataset.

    Of a relation in `undersample` one of so many groups is kept, rounded up: those of the smallest hashes.
    """
    due = dict(_digests(whole, "ReplaceObject"))
    by_relation: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in due:
        by_relation[key[1]].append(key)
    kept: set[tuple[str, str]] = set()
    for relation, keys in by_relation.items():
        keys.sort(key=lambda key: _place(key, seed))
        kept |= set(keys[: math.ceil(len(keys) / undersample.get(relation, 1))])
    splits: dict[tuple[str, str], str] = {}
    for key, digest in _digests(part):
        if key in splits:
            yield _fault(key, "two rows")
        splits[key] = digest
    for key in sorted(splits.keys() | kept):
        if key not in kept:
            why = (
                "it is left out by the undersampling" if key in due else "it is no replacement of the dataset"
            )
            yield _fault(key, f"a row, but {why}")
        elif key not in splits:
            yield _fault(key, "no row, but the dataset has the replacement")
        elif splits[key] != due[key]:
            yield _fault(key, "the row differs from that of the dataset")
    order = [key for key in due if key in kept]
    if [key for key in splits if key in kept] != order and splits.keys() == kept:
        yield Fault("", "", "the rows are not in the order of the dataset")


def _key(row: Row) -> tuple[str, str]:
    """Subject and relation."""
    return row["subject"]["id"], row["relation"]["id"]


def _fault(key: tuple[str, str], reason: str) -> Fault:
    return Fault(" ".join(key), key[1], reason)


def _place(key: tuple[str, str], seed: int) -> tuple[str, int]:
    subject, relation = key[0][1:], key[1][1:]
    return hashlib.sha256(f"undersample:{seed}:{subject}:{relation}".encode()).hexdigest(), int(subject)


def _digests(path: Path, scenario: str | None = None) -> Iterator[tuple[tuple[str, str], str]]:
    """Key and digest of the rows of a table, in its order."""
    for batch in pq.ParquetFile(path).iter_batches(batch_size=2048):
        chosen = batch if scenario is None else batch.filter(pc.equal(batch.column("scenario"), scenario))
        for row in chosen.to_pylist():
            yield _key(row), hashlib.sha256(repr(row).encode()).hexdigest()


class Shared:
    """The templates and questions of all updates of a dataset, to find what two of them share."""

    def __init__(self, dataset: Path) -> None:
        self._templates: dict[str, set[str]] = defaultdict(set)
        self._asked: dict[str, set[tuple[str, str]]] = defaultdict(set)
        columns = ["subject", "relation", "update_prompt", "generalization_prompts"]
        for key, prompt, *templates in of_rows(records(dataset, columns), _prompts):
            self._asked[prompt].add(key)
            for template in templates:
                self._templates[template].add(key[1])

    def templates_of(self, row: Row) -> Iterator[str]:
        """The templates of an update that another relation has too."""
        for template in _templates(row):
            if others := self._templates[template] - {row["relation"]["id"]}:
                yield f"{template!r} is also a template of {', '.join(sorted(others))}"

    def questions_of(self, row: Row) -> Iterator[str]:
        """The other updates that the first prompt of an update asks for."""
        for subject, relation in sorted(self._asked[row["update_prompt"]] - {_key(row)}):
            yield f"{row['update_prompt']!r} also asks for {subject} {relation}"


def _prompts(row: Row) -> Iterator[tuple[Any, ...]]:
    yield _key(row), row["update_prompt"], *_templates(row)


def _templates(row: Row) -> Iterator[str]:
    for prompt in (row["update_prompt"], *row["generalization_prompts"]):
        if row["subject"]["label"] in prompt:
            yield prompt.replace(row["subject"]["label"], "{}", 1)

"""The audit of a build: samples rows, reads their entities from the dumps, and checks the rows."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from factdrift.audit import of_questions, of_updates
from factdrift.audit.account import rates
from factdrift.audit.dates import day_of
from factdrift.audit.kinds import FAILED, PASSED, QUESTIONS, UPDATES
from factdrift.audit.lines import Entity, read_entities
from factdrift.audit.of_updates import Finding
from factdrift.audit.sample import chosen, rows_at
from factdrift.audit.sheet import name_of
from factdrift.audit.surface import Guessed, guess, questions_of_items, questions_of_updates
from factdrift.audit.texts import Shared
from factdrift.errors import InputError

Row = dict[str, Any]
Wanted = dict[str, frozenset[str] | None]


class Source(NamedTuple):
    """What is audited: the folder of the pair of dates, both dumps, tables of labels that users supply."""

    pair: Path
    old_dump: Path
    new_dump: Path
    labels: Sequence[Path] = ()

    def files(self) -> dict[str, Path]:
        """Dataset -> its table, for those that have been built."""
        found = {
            UPDATES: self.pair / "wikifactdiff.parquet",
            QUESTIONS: self.pair / "tempripple" / "tr_items.parquet",
        }
        return {name: path for name, path in found.items() if path.is_file()}


def audit(source: Source, rows: int, seed: int) -> tuple[list[Row], dict[str, Any]]:
    """The findings, as rows of AUDIT, and a summary: sizes, rates by kind, guesses from the surface.

    `rows`: of each dataset at most. Raises InputError if a file is missing.
    """
    manifest = _manifest(source.pair / "manifest.json")
    files = source.files()
    if UPDATES not in files:
        raise InputError(
            f"{source.pair / 'wikifactdiff.parquet'}: no such file; build it with `snakemake --cores all`"
        )
    for dump in (source.old_dump, source.new_dump):
        if not dump.is_file():
            raise InputError(f"{dump}: no such file; the audit reads the dumps that the build was made from")
    updates, of_all_updates = _sampled_updates(files[UPDATES], rows, seed)
    ripple = manifest["configuration"]["tempripple"]
    if QUESTIONS in files and ripple["source"] == "sparql" and ripple["endpoint"] != "local":
        print(f"tempripple: not audited, because it comes from {ripple['endpoint']}", file=sys.stderr)
        del files[QUESTIONS]
    items = _Items(source.pair / "tempripple", rows, seed) if QUESTIONS in files else None
    supplied = _supplied(source.labels)
    method = manifest["configuration"]["method"]
    birth = {name: name == method["publication_property"] for name in method["creation_properties"]}
    old, new = _entities(source, updates, items, frozenset(birth))
    dumps = of_updates.Dumps(
        old,
        new,
        day_of(manifest["dates"]["old"]),
        day_of(manifest["dates"]["new"]),
        manifest["configuration"]["variant"],
        birth,
        supplied,
    )
    shared = Shared(files[UPDATES])
    findings = [
        finding
        for row in updates
        for finding in _named(UPDATES, row, of_updates.check_update(row, dumps, shared))
    ]
    questions = {UPDATES: questions_of_updates(of_all_updates)}
    sampled = {UPDATES: {"rows": len(updates), "of": len(of_all_updates)}}
    if items:
        tables = items.tables(new, ripple, supplied)
        findings += [
            finding
            for row in items.sample
            for finding in _named(QUESTIONS, row, of_questions.check_item(row, tables))
        ]
        questions[QUESTIONS] = questions_of_items(items.every)
        sampled[QUESTIONS] = {"rows": len(items.sample), "of": len(items.every)}
    guesses = {name: found for name, each in questions.items() if (found := guess(each, seed))}
    findings += [_surface(name, found) for name, found in guesses.items()]
    summary = {
        "seed": seed,
        "sampled": sampled,
        "kinds": rates(findings),
        "surface": {name: found._asdict() for name, found in guesses.items()},
    }
    return findings, summary


def _manifest(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; build it with `snakemake --cores all`") from None
    return found


def _sampled_updates(path: Path, rows: int, seed: int) -> tuple[list[Row], list[Row]]:
    """The sampled updates whole, and all updates with the columns that need no dump."""
    columns = ["subject", "relation", "objects", "is_replace"]
    every: list[Row] = pq.read_table(path, columns=columns).to_pylist()
    strata = [(_rule(row), row["relation"]["id"], row["subject"]["id"]) for row in every]
    return list(rows_at(path, chosen(strata, rows, seed))), every


def _rule(row: Row) -> str:
    return " ".join(sorted({value["rule"] for value in row["objects"]}))


class _Items:
    """The items of TempRIPPLE: all, the sampled ones, and the facts behind them."""

    def __init__(self, folder: Path, rows: int, seed: int) -> None:
        self.every: list[Row] = pq.read_table(folder / "tr_items.parquet").to_pylist()
        strata = [(str(row["task"]), str(row["hop"]), row["asked_p"], row["item_id"]) for row in self.every]
        self.sample = [self.every[place] for place in chosen(strata, rows, seed)]
        self._facts = _by(folder / "tr_facts.parquet", "fact_id")
        self._related = _by(folder / "tr_related.parquet", "rel_id")

    def tables(
        self, dump: Mapping[str, Entity], settings: Mapping[str, Any], supplied: Mapping[str, str]
    ) -> of_questions.Tables:
        asked = of_questions.asked_by(self.every)
        return of_questions.Tables(self._facts, self._related, asked, dump, settings, supplied)


def _by(path: Path, column: str) -> dict[str, Row]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; it is built with tr_items.parquet, which the audit found")
    return {row[column]: row for row in pq.read_table(path).to_pylist()}


def _supplied(tables: Iterable[Path]) -> dict[str, str]:
    """The labels that users supply, the first of each entity."""
    labels: dict[str, str] = {}
    for path in tables:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                if (row["label"] or "").strip():
                    labels.setdefault(row["id"], row["label"])
    return labels


def _entities(
    source: Source, updates: Sequence[Row], items: _Items | None, birth: frozenset[str]
) -> tuple[dict[str, Entity], dict[str, Entity]]:
    """The entities of the old and of the new dump that the checks of the sampled rows need."""
    wanted: Wanted = {}
    for row in updates:
        _want(wanted, of_updates.named_entities(row, birth))
    old = read_entities(source.old_dump, wanted)
    if items:
        tables = items.tables({}, {}, {})
        for row in items.sample:
            _want(wanted, of_questions.named_entities(row, tables))
    return old, read_entities(source.new_dump, wanted)


def _want(wanted: Wanted, named: Iterable[tuple[str, frozenset[str] | None]]) -> None:
    for entity, relations in named:
        before = wanted.get(entity, frozenset())
        wanted[entity] = None if before is None or relations is None else before | relations


def _named(dataset: str, row: Row, found: Iterable[Finding]) -> Iterator[Row]:
    relation = row["asked_p"] if dataset == QUESTIONS else row["relation"]["id"]
    rule = f"task {row['task']} hop {row['hop']}" if dataset == QUESTIONS else _rule(row)
    for kind, outcome, reason in found:
        yield {
            "dataset": dataset,
            "row": name_of(dataset, row),
            "relation": relation,
            "rule": rule,
            "kind": kind,
            "outcome": outcome,
            "reason": reason,
        }


def _surface(dataset: str, found: Guessed) -> Row:
    """The finding about a dataset as a whole, whose row has no name."""
    reason = (
        f"{found.accuracy:.3f} of {found.questions} right ({found.low:.3f} to {found.high:.3f}), chance "
        f"{found.chance:.3f}"
    )
    outcome = FAILED if found.leaks else PASSED
    empty = dict.fromkeys(("row", "relation", "rule"), "")
    return {"dataset": dataset, **empty, "kind": "surface", "outcome": outcome, "reason": reason}

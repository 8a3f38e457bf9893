"""Aligns probes with the tokens of a model, and records which cannot be aligned and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.core.tables import write_parquet
from factdrift.evaluation.methods.interface import Edit
from factdrift.models.alignment import AlignmentError, Sentence, align

if TYPE_CHECKING:
    from factdrift.models.loaded import Loaded

ALIGNED = pa.schema(
    [
        ("prompt", pa.string()),
        ("target", pa.string()),
        ("ids", pa.list_(pa.int32())),
        ("start", pa.int32()),
        ("reason", pa.string()),
    ]
)
"""One row for each distinct sentence, sorted by prompt and target. An empty target means that the prompt is
continued.
"""

UNALIGNED = pa.schema(
    [
        ("model", pa.string()),
        ("edit", pa.string()),
        ("role", pa.string()),
        ("place", pa.int16()),
        ("object", pa.string()),
        ("prompt", pa.string()),
        ("target", pa.string()),
        ("reason", pa.string()),
        ("excludes", pa.bool_()),
    ]
)
"""One row for each probe, or edit (`role` `edit`), in which a token crosses the border of subject or target.

`excludes`: the whole edit is left out, not only the probe.
"""

Sentences = dict[tuple[str, str], Sentence]


@dataclass(frozen=True)
class Update:
    """An edit with its probes."""

    edit: Edit
    row: dict[str, Any]
    """Its row of EDITS."""

    @property
    def probes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.row["probes"]
        return found

    def clozes(self) -> list[tuple[str, str]]:
        """(role, prompt) of each cloze of the update itself, the update cloze first."""
        return list(
            dict.fromkeys(
                (probe["role"], probe["prompt"])
                for probe in self.probes
                if probe["role"] in ("update", "generalization")
            )
        )


def read_updates(edits: Path, unaligned: Path | None = None) -> list[Update]:
    """Reads a table of edits without the edits that `unaligned` excludes."""
    out: set[str] = set()
    if unaligned is not None:
        out = {row["edit"] for row in pq.read_table(unaligned).to_pylist() if row["excludes"]}
    return [_update(row) for row in pq.read_table(edits).to_pylist() if row["edit"] not in out]


def _update(row: dict[str, Any]) -> Update:
    given = {key: row[key] for key in ("prompt", "target")}
    given |= {"subject": row["subject_label"], "obsolete": row["obsolete"] or ""}
    return Update(Edit(id=row["edit"], replaces=tuple(row.get("replaces") or ()), **given), row)


def write_aligned(tokenizer: Any, model: str, edits: Path, aligned: Path, unaligned: Path) -> tuple[int, int]:
    """Writes ALIGNED and UNALIGNED; returns the numbers of sentences and of unaligned sentences."""
    updates = read_updates(edits)
    wanted = {
        pair
        for update in updates
        for pair in (
            *((probe["prompt"], probe["target"]) for probe in update.probes),
            *((prompt, "") for _, prompt in update.clozes()),
        )
    }
    reasons: dict[tuple[str, str], str] = {}
    rows = []
    progress = Progress("alignment", len(wanted), "sentences")
    for prompt, target in sorted(wanted):
        row: dict[str, Any] = {"prompt": prompt, "target": target}
        try:
            one = align(tokenizer, prompt, target)
            row |= {"ids": one.ids, "start": one.target}
        except AlignmentError as error:
            reasons[prompt, target] = row["reason"] = error.reason
        rows.append(row)
        progress.advance()
    progress.say()
    write_parquet(pa.Table.from_pylist(rows, schema=ALIGNED), aligned)
    left_out = [
        {"model": model, **row} for update in updates for row in _left_out(tokenizer, update, reasons)
    ]
    write_parquet(pa.Table.from_pylist(left_out, schema=UNALIGNED), unaligned)
    return len(rows), len(reasons)


def write_none_aligned(aligned: Path, unaligned: Path) -> None:
    """Writes ALIGNED and UNALIGNED without rows, for a model whose tokens cannot be used."""
    write_parquet(ALIGNED.empty_table(), aligned)
    write_parquet(UNALIGNED.empty_table(), unaligned)


def _left_out(
    tokenizer: Any, update: Update, reasons: dict[tuple[str, str], str]
) -> Iterator[dict[str, Any]]:
    edit = update.edit
    try:
        align(tokenizer, edit.prompt, edit.target, subject=edit.subject)
    except AlignmentError as error:
        named = {"edit": edit.id, "role": "edit", "prompt": edit.prompt, "target": edit.target}
        yield {**named, "reason": error.reason, "excludes": True}
    for probe in update.probes:
        reason = reasons.get((probe["prompt"], probe["target"]))
        if reason is not None:
            named = {key: probe[key] for key in ("role", "place", "object", "prompt", "target")}
            yield {"edit": edit.id, **named, "reason": reason, "excludes": probe["role"] == "update"}


def read_aligned(path: Path) -> Sentences:
    """(prompt, target) -> tokens, for all aligned sentences."""
    table = pq.read_table(path)
    columns: Iterable[Any] = zip(*(table[name].to_pylist() for name in ALIGNED.names), strict=True)
    return {
        (prompt, target): Sentence(tuple(ids), None, start)
        for prompt, target, ids, start, reason in columns
        if reason is None
    }


def check_aligned(sentences: Sentences, loaded: Loaded, path: Path) -> None:
    """Raises InputError if the first of the sentences of a file has other tokens for a model."""
    for (prompt, target), known in list(sentences.items())[:1]:
        try:
            same = align(loaded.tokenizer, prompt, target) == known
        except AlignmentError:
            same = False
        if not same:
            raise InputError(
                f"{path}: not made with the tokens of {loaded.name} and --template {loaded.template}; make "
                "it again with `factdrift edit align`"
            )

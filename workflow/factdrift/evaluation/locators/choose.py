"""Chooses the sentences that locators are run on, and those that the bundled models are taught.

They are of examples of KLoB, or of the updates that are edited.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.locators.prompts import SENTENCES, subject_characters
from factdrift.klob.schemas import SUBTASK, SUBTASKS
from factdrift.models.bundled.taught import TAUGHT, changed_since


def write_examples(examples: Path, limit: int, seed: int, folder: Path, output: Path) -> dict[str, int]:
    """Writes `limit` examples of each subtask (0: all), as tables of KLoB, and SENTENCES of all of them.

    Examples are drawn by a hash of seed and example. Of KLoB-u those are drawn whose length was copied from a
    sentence of the drawn facts and chains, if the table says so. Returns the number of sentences of each
    subtask.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    schemas: dict[str, pa.Schema] = {}
    for name in SUBTASKS:
        path = examples / f"klob_{name}.parquet"
        if not path.is_file():
            raise InputError(f"{path} is missing; build it (snakemake klob) or import it")
        table = pq.read_table(path)
        if lacking := set(SUBTASK.names) - set(table.column_names):
            raise InputError(f"{path}: no table of KLoB examples; it lacks {', '.join(sorted(lacking))}")
        rows[name], schemas[name] = table.to_pylist(), table.schema
    chosen = {name: drawn(rows[name], "example_id", limit, seed) for name in "cr"}
    sources = [row["sentences"][0]["source_sentence_id"] for row in rows["u"]]
    if any(sources):
        known = {one["sentence_id"] for part in chosen.values() for row in part for one in row["sentences"]}
        rows["u"] = [row for row, source in zip(rows["u"], sources, strict=True) if source in known]
    chosen["u"] = drawn(rows["u"], "example_id", limit, seed)
    found = {name: list(_sentences(part, name)) for name, part in chosen.items()}
    texts = {row["sentence"]: row for name in "cr" for row in found[name]}
    for row, example in zip(found["u"], chosen["u"], strict=True):
        row |= _same_words(row["text"], texts.get(example["sentences"][0]["source_sentence_id"]))
    for name, part in chosen.items():
        write_parquet(pa.Table.from_pylist(part, schema=schemas[name]), folder / f"klob_{name}.parquet")
    write_parquet(pa.Table.from_pylist([*chain(*found.values())], schema=SENTENCES), output)
    return {name: len(part) for name, part in found.items()}


def drawn(rows: Sequence[dict[str, Any]], key: str, limit: int, seed: int) -> list[dict[str, Any]]:
    """The rows drawn by a hash of seed and key, in their order; all of them if `limit` is 0.

    Raises InputError if `limit` is negative.
    """
    if limit < 0:
        raise InputError(f"--limit: {limit} is negative; give 0 for all, or more")
    if not limit or len(rows) <= limit:
        return list(rows)
    order = sorted(rows, key=lambda row: hashlib.sha256(f"{seed}|{row[key]}".encode()).digest())
    names = {row[key] for row in order[:limit]}
    return [row for row in rows if row[key] in names]


def _sentences(rows: Sequence[Mapping[str, Any]], subtask: str) -> Iterator[dict[str, Any]]:
    for example in rows:
        # Published files hold names only.
        fact = "|".join(
            str(example[key] or example[name])
            for key, name in (("s", "s_label"), ("p1", "p1_name"), ("o1", "o1_label"))
        )
        for one in example["sentences"]:
            yield _sentence(
                one["sentence_id"],
                subtask,
                # A chain says something else than its single sentences.
                group=f"{example['example_id']}|{one['role']}",
                fact=one["sentence_id"] if subtask == "u" else fact,
                text=one["text"],
                subject=example["s_label"],
                answer=one["target_label"],
            )


def _sentence(name: str, subtask: str, *, subject: str | None, **columns: str | None) -> dict[str, Any]:
    """A row of SENTENCES; `columns`: the other ones, but the characters of the subject."""
    start, end = subject_characters(columns["text"] or "", subject or "") or (None, None)
    return {"sentence": name, "subtask": subtask, "start": start, "end": end, **columns}


def _same_words(text: str, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """The characters of the words that are in the places of the source's subject; nulls without one."""
    inside: list[tuple[int, int]] = []
    if source is not None and source["start"] is not None:
        words, own = ([word.span() for word in re.finditer(r"\S+", each)] for each in (source["text"], text))
        # A random sentence may have fewer words than its source.
        inside = [
            mine
            for (first, behind), mine in zip(words, own, strict=False)
            if first < source["end"] and behind > source["start"]
        ]
    return {"start": inside[0][0], "end": inside[-1][1]} if inside else {"start": None, "end": None}


def write_edit_facts(edits: Path, limit: int, seed: int, out_edits: Path, output: Path) -> int:
    """Writes `limit` edits (0: all) and, as SENTENCES, their prompts with the objects to be replaced.

    Edits without an obsolete object are left out: the model cannot be asked for what it is to forget. Returns
    the number of edits.
    """
    if not edits.is_file():
        raise InputError(f"{edits}: no such file; make it with `factdrift edit dataset`")
    table = pq.read_table(edits)
    rows = drawn([row for row in table.to_pylist() if row["obsolete"]], "edit", limit, seed)
    # No long continuations: they cost most, and nothing here is about fluency.
    rows = [row | {"fluency": False} for row in rows]
    write_parquet(pa.Table.from_pylist(rows, schema=table.schema), out_edits)
    sentences = [
        _sentence(
            row["edit"],
            "edits",
            group=row["edit"],
            fact=row["edit"],
            text=row["prompt"],
            subject=row["subject_label"],
            answer=row["obsolete"],
        )
        for row in rows
    ]
    write_parquet(pa.Table.from_pylist(sentences, schema=SENTENCES), output)
    return len(rows)


def write_taught(examples: Path, wikifactdiff: Path, limit: int, seed: int, output: Path) -> int:
    """Writes TAUGHT of the facts of KLoB-c and KLoB-r; returns their number of facts and chains.

    Of each subtask the same `limit` examples are drawn as those that locators are run on. Kinds: `klob`, a
    fact, the second one of a chain included, in all wordings that KLoB has for it; `klob_chain`, a chain.
    Facts that changed between the dumps are left out, with their chains: the models know what held before.
    """
    changed = changed_since(wikifactdiff)
    rows = {name: pq.read_table(examples / f"klob_{name}.parquet").to_pylist() for name in "cr"}
    worded: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in (*rows["c"], *rows["r"]):
        for one in row["sentences"]:
            if one["role"] != "chain":
                worded[row["s"], row["p1"]][one["template_id"]] = one["text"]
    found: list[dict[str, Any]] = []
    done: set[tuple[str, str]] = set()
    for row in (row for name in "cr" for row in drawn(rows[name], "example_id", limit, seed)):
        links = [(row["s"], row["p1"], row["s_label"], row["o1_label"])]
        if row["p2"] is not None:
            links.append((row["o1"], row["p2"], row["o1_label"], row["o2_label"]))
        if changed & {link[:2] for link in links}:
            continue
        for subject, relation, label, value in links:
            if (subject, relation) not in done:
                done.add((subject, relation))
                said = {"kind": "klob", "fact": f"{subject} {relation}", "subject": label, "object": value}
                found += [
                    {**said, "relation": relation, "prompt": text}
                    for _, text in sorted(worded.get((subject, relation), {}).items())
                ]
        found += [
            {
                "kind": "klob_chain",
                "fact": row["example_id"],
                "subject": row["s_label"],
                "relation": f"{row['p1']}>{row['p2']}",
                "object": row["o2_label"],
                "prompt": one["text"],
            }
            for one in row["sentences"]
            if one["role"] == "chain"
        ]
    write_parquet(pa.Table.from_pylist(found, TAUGHT), output)
    return len({(row["kind"], row["fact"]) for row in found})

"""The sentences that locators are run on: chosen, and as tokens; and those that bundled models are taught.

They are of examples of KLoB, or of the updates that are edited. The text ends before the answer, whose tokens
are kept apart: nothing that runs a model sees them. They serve only to choose the token whose probability is
explained.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import write_rows
from factdrift.klob.schemas import SUBTASKS
from factdrift.klob.scoring.inputs import read_subtask
from factdrift.models.alignment import AlignmentError, align, find_subject, token_span
from factdrift.models.bundled.taught import TAUGHT, changed_since

SENTENCES = schema_of("sentence subtask group fact text: string, start end: int32, answer: string")
"""One row for each sentence. `text` ends before the answer. `start`, `end`: characters of the subject in the
text; null without one. `answer`: null if the sentence has none (KLoB-u). `group`: sentences with the same
fact in other words have one group. `fact`: the noise of causal tracing depends on it."""


LOCATED = schema_of(
    "sentence subtask reason: string, target: int32, target_text: string, probability: float64",
    "known: bool, mean sd: float64, layers: [float64], top: [int32], named permuted random: float64",
)
"""One row for each sentence. `reason`: why it is not scored (docs/models.md); other columns are then null.
`target`: the token whose probability is explained, with its `probability`; `known`: it is the likeliest one
(null in KLoB-u, where it is chosen so). `mean`, `sd`: of all units' scores; NaN if one is not finite.
`layers`: sums of the scores over the units of each block. `top`: the best units, the best first. REMOVED: the
target's probability without the units that are named for this sentence, for one of another fact, or drawn."""

REMOVED = ("named", "permuted", "random")
"""Columns of LOCATED that a model gives again after units have been removed from it (`removal.py`)."""


@dataclass(frozen=True)
class Sentence:
    """A sentence that a locating method explains."""

    id: str
    text: str
    """Ends before the answer."""
    ids: tuple[int, ...]
    """The text's tokens, with the beginning-of-text token if the tokenizer adds one."""
    subject: tuple[int, int] | None
    """Indices in `ids` of the subject's first token and of the token behind it; None without subject."""
    answer: tuple[int, ...]
    """The tokens of the answer, which would follow `ids`; empty without an answer."""
    group: str = ""
    """The same for all wordings of a fact."""
    fact: str = ""
    subtask: str = ""

    @property
    def last(self) -> int:
        """The index of the last token, which predicts the answer's first one."""
        return len(self.ids) - 1

    @property
    def noisy(self) -> tuple[int, int]:
        """The tokens that noise corrupts, like `subject`: the subject's, or all without one."""
        return self.subject or (0, len(self.ids))


def read_sentences(path: Path) -> list[dict[str, Any]]:
    """Rows of SENTENCES; raises InputError if the file is missing or is no such table."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift locate sentences`")
    try:
        rows: list[dict[str, Any]] = pq.read_table(path, schema=SENTENCES).to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: no table of sentences to locate: {error}") from None
    return rows


def tokenized(tokenizer: Any, row: Mapping[str, Any], positions: int) -> Sentence:
    """A row of SENTENCES as tokens; `positions`: the longest text of the model.

    Raises AlignmentError with the reason if the sentence cannot be scored (docs/models.md).
    """
    text, answer = row["text"], row["answer"] or ""
    aligned = align(tokenizer, text, answer)
    ids, span = aligned.ids[: aligned.target], None
    if row["start"] is not None:
        whole = f"{text} {answer}" if answer else text
        span = token_span(tokenizer, whole, row["start"], row["end"])
    if not ids:
        raise AlignmentError("text_missing", f"{text!r} has no token")
    if len(ids) > positions:
        raise AlignmentError("too_long", f"{text!r} has {len(ids)} tokens, the model {positions} positions")
    if span is not None and not 0 <= span[0] < span[1] <= len(ids):
        raise AlignmentError("subject_missing", f"no token of {text!r} is the subject's")
    target = aligned.ids[aligned.target :]
    return Sentence(row["sentence"], text, ids, span, target, row["group"], row["fact"], row["subtask"])


def subject_characters(text: str, subject: str) -> tuple[int, int] | None:
    """The characters of a subject in a text, as `find_subject` finds them; None if it does not occur.

    A subject that begins the text may have a capital there that its label has not.
    """
    first = find_subject(text, subject)
    if first < 0 and subject and text.startswith(subject[0].upper() + subject[1:]):
        first = 0
    return None if first < 0 else (first, first + len(subject))


def grouped(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """The wordings of each fact, in the order of their first sentences."""
    groups: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        groups.setdefault(sentence.group or sentence.id, []).append(sentence)
    return list(groups.values())


def cut(sentences: Sequence[Sentence], budget: int) -> list[list[Sentence]]:
    """Batches of whole groups, of similar lengths, with at most `budget` tokens each, padding included.

    The batches depend on the sentences and the budget alone, so that whoever runs them gets the same bytes. A
    group that is larger than the budget is a batch of its own.
    """
    groups = grouped(sorted(sentences, key=lambda sentence: sentence.id))
    # Sorted by their longest sentence, so that the last group is the widest of its batch.
    groups.sort(key=lambda group: (max(len(sentence.ids) for sentence in group), group[0].id))
    batches: list[list[Sentence]] = []
    for group in groups:
        width = max(len(sentence.ids) for sentence in group)
        if batches and width * (len(batches[-1]) + len(group)) <= budget:
            batches[-1] += group
        else:
            batches.append(group)
    return batches


def write_examples(examples: Path, limit: int, seed: int, folder: Path, output: Path) -> dict[str, int]:
    """Writes `limit` examples of each subtask (0: all), as tables of KLoB, and SENTENCES of all of them.

    Examples are drawn by a hash of seed and example. Of KLoB-u those are drawn whose length was copied from a
    sentence of the drawn facts and chains, if the table says so. Returns the number of sentences of each
    subtask.
    """
    tables = {name: read_subtask(examples, name) for name in SUBTASKS}
    known: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        rows = table.to_pylist()
        if name == "u" and any(row["sentences"][0]["source_sentence_id"] for row in rows):
            rows = [row for row in rows if row["sentences"][0]["source_sentence_id"] in known]
        chosen = drawn(rows, "example_id", limit, seed)
        write_rows(chosen, table.schema, folder / f"klob_{name}.parquet")
        for example in chosen:
            fact = f"{example['s']}|{example['p1']}|{example['o1']}"
            for sentence in example["sentences"]:
                identifier, text = sentence["sentence_id"], sentence["text"]
                if name == "u":
                    fact, span = identifier, _same_words(text, known.get(sentence["source_sentence_id"]))
                else:
                    span = subject_characters(text, example["s_label"] or "")
                # A chain says something else than its single sentences.
                group = f"{example['example_id']}|{sentence['role']}"
                row = _row(identifier, name, group, fact, text, span, sentence["target_label"])
                known[identifier] = row
    write_rows(known.values(), SENTENCES, output)
    return {name: sum(row["subtask"] == name for row in known.values()) for name in SUBTASKS}


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


def _row(*values: Any) -> dict[str, Any]:
    """A row of SENTENCES; `start` and `end` are a pair of `values`, or None."""
    *first, span, answer = values
    return dict(zip(SENTENCES.names, (*first, *(span or (None, None)), answer), strict=True))


def _same_words(text: str, source: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """The characters of the words at the positions of the source's subject; None if it has no subject."""
    if source is None or source["start"] is None:
        return None
    words, own = ([word.span() for word in re.finditer(r"\S+", line)] for line in (source["text"], text))
    # A random sentence may have fewer words than its source.
    pairs = zip(words, own, strict=False)
    start, end = source["start"], source["end"]
    inside = [mine for (first, behind), mine in pairs if first < end and behind > start]
    return (inside[0][0], inside[-1][1]) if inside else None


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
    write_rows(rows, table.schema, out_edits)
    sentences = []
    for row in rows:
        edit, text = row["edit"], row["prompt"]
        span = subject_characters(text, row["subject_label"] or "")
        sentences.append(_row(edit, "edits", edit, edit, text, span, row["obsolete"]))
    write_rows(sentences, SENTENCES, output)
    return len(rows)


def klob_wordings(examples: Path, wikifactdiff: Path, limit: int, seed: int) -> list[Row]:
    """The wordings (TAUGHT) of the facts of KLoB-c and KLoB-r.

    Of each subtask the same `limit` examples are drawn as those that locators are run on. Kinds: `klob`, a
    fact, the second one of a chain included, in all wordings that KLoB has for it; `klob_chain`, a chain.
    Facts that changed between the dumps are left out, with their chains: the models know what held before.
    """
    changed = changed_since(wikifactdiff)
    rows = {name: read_subtask(examples, name).to_pylist() for name in "cr"}
    worded: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in (*rows["c"], *rows["r"]):
        for sentence in row["sentences"]:
            if sentence["role"] != "chain":
                worded[row["s"], row["p1"]][sentence["template_id"]] = sentence["text"]
    taught: list[tuple[str, ...]] = []
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
                fact = ("klob", f"{subject} {relation}", label, relation, value)
                taught += [(*fact, text) for _, text in sorted(worded[subject, relation].items())]
        relations = f"{row['p1']}>{row['p2']}"
        chain = ("klob_chain", row["example_id"], row["s_label"], relations, row["o2_label"])
        taught += [(*chain, part["text"]) for part in row["sentences"] if part["role"] == "chain"]
    return [dict(zip(TAUGHT, values, strict=True)) for values in taught]

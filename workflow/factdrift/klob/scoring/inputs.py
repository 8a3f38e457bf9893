"""What is scored: the sentences of each subtask, and the scores of a locating method.

These are read from files that any framework can write, or are those of a reference locator. A folder
(docs/klob_scores.md) has `scores.json`, `sentences.txt` with the ids of the scored sentences, one a line,
and in their order either `scores.npy`, the scores of all units [sentences x units], or `units.npy`, the best
units of each sentence, the best first [sentences x K], with `mean.npy` and `sd.npy` of all units' scores.
"""

import hashlib
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Meta, Struct, structs
from numpy.typing import NDArray

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.klob.schemas import SUBTASK, SUBTASKS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Granularity = Literal["weight", "neuron", "column", "head", "module", "layer"]
GRANULARITIES = get_args(Granularity)
_CHUNK = 32_000_000
"""The number of scores that are read at a time."""

REFERENCES = ("constant", "mostly_constant", "random", "oracle")
"""The locators that score any number of units; the lexical one is `selection.word_sets`."""

SAME = 0.9
"""The probability with which the mostly constant locator has the same scores for a sentence."""


class Examples(NamedTuple):
    """The examples of a subtask with their sentences.

    `names` (example ids) and `relations` (as text, in r the pair) have an entry an example, the other fields
    an entry a sentence. `example`: the example's index in `names`. `fact`, `relation`, `subject`: numbers,
    equal for sentences with the same first fact (s, p1, o1), relation (in r pair) or subject. `chain`: it is
    a chain's own sentence. `sources`: in u the id of the sentence whose length was copied.
    """

    subtask: str
    names: list[str]
    relations: list[str]
    sentences: list[str]
    texts: list[str]
    sources: list[str | None]
    example: Ints
    chain: Flags
    fact: Ints
    relation: Ints
    subject: Ints


def read_examples(folder: Path) -> dict[str, Examples]:
    """The examples of each subtask; InputError if a table (SUBTASK) is missing or of another subtask."""
    columns = ["example_id", "subtask", "s", "p1", "o1", "p2", "sentences"]
    return {name: of_rows(read_subtask(folder, name, columns).to_pylist(), name) for name in SUBTASKS}


def read_subtask(folder: Path, subtask: str, columns: Sequence[str] = SUBTASK.names) -> pa.Table:
    """Columns of the table of a subtask; InputError if it is missing, lacks one, or is of another subtask."""
    path = folder / f"klob_{subtask}.parquet"
    if not path.is_file():
        raise InputError(f"{path} is missing; build it (snakemake results/klob_{subtask}.parquet)")
    try:
        if lacking := set(columns) - set(pq.read_schema(path).names):
            raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
        table = pq.read_table(path, columns=list(columns))
    except (KeyError, OSError, ValueError) as error:
        raise InputError(f"{path}: no table of KLoB examples: {error}") from None
    if set(table["subtask"].to_pylist()) - {subtask}:
        raise InputError(
            f"{path}: not all examples are of KLoB-{subtask}; give the folder that a build wrote"
        )
    return table


def of_rows(rows: Sequence[Mapping[str, Any]], subtask: str) -> Examples:
    """The examples of a subtask from rows of SUBTASK."""
    facts = [(row["s"], row["p1"], row["o1"]) for row in rows]
    relations = [f"{row['p1']}>{row['p2']}" if row["p2"] else row["p1"] or "" for row in rows]
    sentences = [sentence for row in rows for sentence in row["sentences"]]
    example = np.repeat(np.arange(len(rows)), [len(row["sentences"]) for row in rows])
    return Examples(
        subtask,
        [row["example_id"] for row in rows],
        relations,
        [sentence["sentence_id"] for sentence in sentences],
        [sentence["text"] for sentence in sentences],
        [sentence["source_sentence_id"] for sentence in sentences],
        example,
        np.array([sentence["role"] == "chain" for sentence in sentences], bool),
        *(_numbers(labels)[example] for labels in (facts, relations, [row["s"] for row in rows])),
    )


def _numbers(labels: Sequence[Hashable]) -> Ints:
    """The number of each label, from 0 in the order of their first occurrence."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], np.int64)


class Scores(NamedTuple):
    """The scores of one locating method; either `dense` or `top` is None.

    `dense`: [sentences x units], floating point. `top`: [sentences x K], unit numbers from 0, the best first;
    `mean` and `sd` (divided by N) [sentences] are then those of all units' scores of each sentence.
    """

    name: str
    model: str
    revision: str
    granularity: str
    units: int
    sign: str
    sentences: list[str]
    dense: Any = None
    top: NDArray[np.integer] | None = None
    mean: Floats | None = None
    sd: Floats | None = None

    def signed(self, rows: Any) -> NDArray[np.floating]:
        """All scores of some sentences [rows x units], after the transformation named by `sign`."""
        scores: NDArray[np.floating] = np.asarray(self.dense[rows])
        if self.sign == "abs":
            scores = np.abs(scores)
        elif self.sign == "relu":
            scores = np.maximum(scores, 0)
        return scores

    def chunks(self) -> Iterator[tuple[int, NDArray[np.floating]]]:
        """Yields blocks of sentences: the first row of each and its signed scores [rows x units]."""
        rows = max(1, _CHUNK // self.units)
        for first in range(0, len(self.sentences), rows):
            yield first, self.signed(slice(first, first + rows))


class _About(Struct):
    """scores.json."""

    name: str
    model: str
    granularity: Granularity
    units: Annotated[int, Meta(ge=1)]
    revision: str = ""
    sign: Literal["as_given", "abs", "relu"] = "as_given"


def read_scores(folder: Path) -> Scores:
    """Reads a folder of scores, with arrays mapped into memory.

    Raises InputError that names the file and what is wrong with it.
    """
    path = folder / "scores.json"
    try:
        known = structs.asdict(msgspec.convert(json.loads(_text(path)), _About))
    except ValueError as error:
        raise InputError(f"{path}: {error}; its keys: docs/klob_scores.md") from None
    sentences = _text(folder / "sentences.txt").split()
    if len(set(sentences)) != len(sentences):
        twice = next(name for index, name in enumerate(sentences) if name in sentences[:index])
        raise InputError(f"{folder / 'sentences.txt'}: the sentence {twice} is listed twice; score it once")
    dense, top = folder / "scores.npy", folder / "units.npy"
    if dense.is_file() == top.is_file():
        files = "both scores.npy and units.npy" if dense.is_file() else "neither scores.npy nor units.npy"
        raise InputError(f"{folder}: there is {files}; write one of them (docs/klob_scores.md)")
    if dense.is_file():
        scores = _array(dense, np.floating, (len(sentences), known["units"]))
        return Scores(**known, sentences=sentences, dense=scores)
    if known["sign"] != "as_given":
        raise InputError(f"{path}: sign {known['sign']} needs all scores; apply it before units.npy")
    units = _array(top, np.integer, (len(sentences), None))
    check_units(str(top), units, known["units"])
    mean, sd = (_array(folder / f"{name}.npy", np.floating, (len(sentences),)) for name in ("mean", "sd"))
    return Scores(
        **known, sentences=sentences, top=units, mean=mean.astype(np.float64), sd=sd.astype(np.float64)
    )


def _text(path: Path) -> str:
    try:
        return "\n".join(utf8_lines(path))
    except FileNotFoundError:
        raise InputError(f"{path} is missing; what a folder of scores holds: docs/klob_scores.md") from None


def _array(path: Path, kind: type, shape: tuple[int | None, ...]) -> Any:
    if not path.is_file():
        raise InputError(f"{path} is missing; what a folder of scores holds: docs/klob_scores.md")
    try:
        array = np.load(path, mmap_mode="r")
    except (EOFError, ValueError) as error:
        raise InputError(f"{path}: no NumPy array: {error}") from None
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if not fits or not np.issubdtype(array.dtype, kind):
        size = " x ".join("K" if wanted is None else str(wanted) for wanted in shape)
        raise InputError(
            f"{path}: {kind.__name__} numbers of shape {size} are expected, there are {array.dtype} of shape "
            f"{' x '.join(map(str, array.shape))}"
        )
    return array


def check_units(where: str, units: NDArray[np.integer], number: int) -> None:
    """Raises InputError unless each row [rows x K] has different units from 0 to before `number`."""
    rows = max(1, _CHUNK // max(1, units.shape[1]))
    for first in range(0, len(units), rows):
        part = np.sort(units[first : first + rows], axis=1)
        wrong = (part < 0) | (part >= number)
        wrong[:, 1:] |= part[:, 1:] == part[:, :-1]
        if wrong.any():
            row, column = (int(indices[0]) for indices in np.nonzero(wrong))
            raise InputError(
                f"{where}: row {first + row}: the unit {part[row, column]} is listed twice or is not one "
                f"of 0 to {number - 1}"
            )


def reference(kind: str, examples: Sequence[Examples], units: int, seed: int = 0) -> Scores:
    """The scores of a reference locator for all sentences of some subtasks, [sentences x units].

    `constant`: 1 for every unit. `mostly_constant`: the same scores with the probability SAME, whatever the
    sentence says, else random ones: a locator that mostly names one unit. `random`: uniform, drawn for each
    sentence. `oracle`: uniform, drawn for each fact, so that all wordings of a fact and the chains that begin
    with it have equal scores.
    """
    facts: dict[str, str] = {}
    for part in examples:
        for number, sentence in zip(part.fact, part.sentences, strict=True):
            # A sentence of KLoB-u states no fact, so it is its own key.
            facts[sentence] = f"fact {number} of {part.subtask}" if part.subtask != "u" else sentence
    sentences = list(facts)
    keys = list(facts.values()) if kind == "oracle" else sentences
    if kind == "mostly_constant":
        keys = ["the same" if _number(f"{seed}:same:{name}") / 2**64 < SAME else name for name in sentences]
    dense = _Drawn(keys, units, seed, constant=kind == "constant")
    return Scores(kind, "", "", "", units, "as_given", sentences, dense=dense)


def _number(key: str) -> int:
    """A number below 2**64 that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])


class _Drawn:
    """Scores [sentences x units] that are drawn when they are read; sentences with equal keys are equal."""

    def __init__(self, keys: Sequence[str], units: int, seed: int, constant: bool):
        self.keys, self.seed, self.constant = keys, seed, constant
        self.shape = (len(keys), units)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        chosen = np.arange(len(self.keys))[rows]
        scores = np.ones((len(chosen), self.shape[1]), np.float32)
        if not self.constant:
            for index, row in enumerate(chosen):
                dice = np.random.default_rng(_number(f"{self.seed}:{self.keys[row]}"))
                scores[index] = dice.random(self.shape[1], np.float32)
        return scores

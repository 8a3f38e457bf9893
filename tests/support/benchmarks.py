"""Small invented tables of every benchmark of config/benchmarks, in words that the tiny tokenizer knows."""

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.cutoff import CHAINS
from factdrift.evaluation.questions.question import Benchmark, Tables, read, records
from factdrift.memory.retrieval import RETRIEVED
from factdrift.ripples.tables import PROBES
from factdrift.streams.corpus_questions import CORPUS_QUESTIONS
from support.questions import write_asof, write_tables
from support.stream_updates import stream_edits
from support.updates import edits


class Given(NamedTuple):
    """The files of a benchmark, as options of a command name them."""

    questions: tuple[Path, ...]
    edits: Path | None = None
    facts: Path | None = None

    def options(self) -> list[str]:
        named = {"edits": self.edits, "facts": self.facts}
        given = [word for name, path in named.items() if path for word in (f"--{name}", str(path))]
        return ["--questions", *map(str, self.questions), *given]

    def read(self, benchmark: str) -> Benchmark:
        """All questions, those without options among them."""
        return read(benchmark, Tables(self.questions, self.edits, self.facts, open_=True))


def write_benchmarks(folder: Path) -> dict[str, Given]:
    """Writes two updates, a stream, and the questions of all benchmarks about them."""
    updates, stream = edits(folder, limit=2), stream_edits(folder / "stream_edits.parquet")
    items, facts = write_tables(folder)
    found = {
        "updates": Given((updates,)),
        "stream": Given((stream,)),
        "tempripple": Given((items,), facts=facts),
        "asof": Given((write_asof(folder / "asof.parquet", "Q1-P6"),), stream),
        "klob": Given((_klob(folder / "klob_c.parquet"),), updates),
        "ripples": Given((_ripples(folder / "ripples.parquet", updates), updates)),
        "cutoff": Given((_chains(folder / "chains.parquet"),)),
        "corpus": Given(_corpus(folder)),
    }
    assert found.keys() == records().keys()
    return found


def _klob(path: Path) -> Path:
    sentences = [{"role": "single", "text": "Marta Kowalska lives in", "target_label": "Atlantis"}]
    example = {"example_id": "c1", "subtask": "c", "sentences": sentences}
    pq.write_table(pa.Table.from_pylist([example]), path)
    return path


def _corpus(folder: Path) -> tuple[Path, Path]:
    """Two questions that have options and a cloze test, and what a retriever put before them."""
    rows = [
        dict.fromkeys(CORPUS_QUESTIONS.names)
        | {"id": f"{number:016x}", "kind": "now", "question": "America is ____?", "prompt": "America is ____"}
        | {"chain": f"Q{number}-P6", "relation": "P6", "answers": ["a baker"], "answer_id": "Q3"}
        | {"stale_answers": ["Joe"], "stale_ids": ["Q4"], "later_answers": [], "later_ids": []}
        for number in (1, 2)
    ]
    retrieved = [
        {"retriever": retriever, "question": row["id"], "docs": ["Q1@2020-01-01"], "text": "America is."}
        for row in rows
        for retriever in ("right", "bm25")
    ]
    paths = folder / "corpus_questions.parquet", folder / "retrieved.parquet"
    write_parquet(pa.Table.from_pylist(rows, schema=CORPUS_QUESTIONS), paths[0])
    write_parquet(pa.Table.from_pylist(retrieved, schema=RETRIEVED), paths[1])
    return paths


def _chains(path: Path) -> Path:
    """Two chains of one relation, of which the first holder of each has one change."""

    def holder(label: str, first: int | None, last: int | None) -> dict[str, Any]:
        tenures = [{"first": first, "last": last, "share": 1.0}]
        return {"id": None, "label": label, "aliases": [], "tenures": tenures}

    rows = [
        {
            **{"chain": f"{subject}-P6", "subject": subject, "relation": "P6", "subject_label": subject},
            **{"relation_label": "head of government", "popularity": 1.0, "prompts": prompts},
            "holders": [holder("Joe", None, 20160101), holder("a baker", 20160102, None)],
        }
        for subject, prompts in (("Q1", ["The sea is", "America is"]), ("Q2", ["Marta Kowalska lives in"]))
    ]
    write_parquet(pa.Table.from_pylist(rows, schema=CHAINS), path)
    return path


def _ripples(path: Path, updates: Path) -> Path:
    """A probe of each update, with one condition for all."""

    def named(label: str) -> dict[str, Any]:
        return {"id": None, "label": label, "aliases": []}

    condition = {"prompt": "America is ____", "answers": [named("a baker")], "step": None}
    probe = {"criterion": "specific", "prompt": "The sea is ____", "stale": [], "must_change": False}
    probe |= {"answers": [named("a baker"), named("Joe")], "conditions": [condition]}
    rows = [
        probe | {"probe_id": f"r{number}", "update": update}
        for number, update in enumerate(pq.read_table(updates)["edit"].to_pylist())
    ]
    write_parquet(pa.Table.from_pylist(rows, schema=PROBES), path)
    return path

"""Small products of every kind, and the folders that are made of them."""

import datetime
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import corpora

from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.klob.schemas import EXAMPLES, SENTENCES
from factdrift.publish.folders import Inputs, write_folders
from factdrift.ripples.tables import PROBES
from factdrift.streams.assemble import STREAM
from factdrift.streams.corpus import CORPUS
from factdrift.streams.corpus_questions import CORPUS_QUESTIONS
from factdrift.streams.half_life import HALF_LIFE
from factdrift.streams.known_table import KNOWN_LABELLED
from factdrift.tempripple.schemas import ASOF, TR_ITEMS

# Read when `datasets` is first imported, which the tests do inside.
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

Row = dict[str, Any]

MANIFEST = {
    "dates": {"old": "2021-01-04", "new": "2023-02-27"},
    "dumps": {"2021-01-04": {"file": "old.json.gz", "bytes": 1, "sha1": "0"}},
    "snapshots": {},
    "sample": {},
    "configuration": {
        "variant": "paper",
        "tempripple": {"change_start": "2021-01-05"},
        "contact": "someone@example.org",
        "chat": {"model": "tiny", "api_key_file": "/home/someone/key"},
        "labels": ["/home/someone/labels.tsv", "shared/more.tsv"],
        "dumps": {"2021-01-04": "/home/someone/old.json.gz"},
    },
    "versions": {"python": "3.11", "factdrift": "0.1.0"},
    "rows": {},
    "triples": {},
}

KLOB = EXAMPLES.append(pa.field("sentences", pa.list_(pa.struct(SENTENCES))))


def empty(schema: pa.Schema, **values: Any) -> Row:
    return dict.fromkeys(schema.names) | values


def named(number: str | None, label: str) -> Row:
    return {"id": number, "label": label, "description": None}


def object_(label: str, decision: str, number: str | None = "Q9", **values: Any) -> Row:
    raw = number or f"+{label}"
    return named(number, label) | {"decision": decision, "rule": "r", "raw": raw, "leaks": False} | values


def update(number: int, split: str = "train", **values: Any) -> Row:
    """A row of the dataset: one head of government follows another."""
    head = named("P6", "head of government")
    fact = {"object": named("Q8", "Ada | Eve"), "prompt": "France is led by ____", "dist": 0.25}
    near = {"subject": named("Q142", "France"), "relation": head, "dist": 0.25, "popularity": 4.5}
    near |= {"objects": [fact | {"raw": "Q8", "statement": "Q142$a"}]}
    return {
        "subject": named(f"Q{number}", f"Land {number}"),
        "relation": head,
        "update_prompt": f"The head of government of Land {number} is ____",
        "generalization_prompts": [f"Land {number} is led by ____"],
        "subject_is_ph_new": False,
        "relation_is_temp_func": True,
        "is_replace": True,
        "subject_popularity": 9.5 - number,
        "objects": [
            object_("Ann", "obsolete", "Q1", start="2017", end="2021-01-20"),
            object_("Bob", "new", "Q2", start="2021-01-20"),
        ],
        "neighborhood": [near],
        "random_neighborhood": [],
        "scenario": "ReplaceObject",
        "split": split,
        "popularity_source": "sitelinks",
        "template_source": "bundled",
        "subject_is_ambiguous": False,
    } | values


def sentence(place: int) -> Row:
    return empty(SENTENCES, sentence_id=f"s{place}", text="Kyoto is in", place=place, target_aliases=["J"])


def example(subtask: str, number: int) -> Row:
    labels = {} if subtask == "u" else {"p1": "P17", "o1": "Q17", "p1_name": "country"}
    own = {"example_id": f"{subtask}{number}", "subtask": subtask, "sentences": [sentence(1), sentence(2)]}
    return empty(KLOB, **own, snapshot_id=None if subtask == "u" else "2021-01-04", **labels)


def item(number: int, **values: Any) -> Row:
    own: Row = {"item_id": f"i{number}", "task": 1, "hop": 0, "as_of": datetime.date(2022, 12, 31)}
    own |= {"question": f"Who leads land {number}?", "context": f"Land {number} is led by c."}
    own |= {"options": ["a", "b", "c", "d"], "answer_index": 2, "open_only": False, "asked_p": "P6"}
    return empty(TR_ITEMS, **own | values)


def probe(number: int) -> Row:
    answer = {"id": f"Q{number}", "label": f"Ann {number}", "aliases": [f"A. {number}"]}
    own = {"probe_id": f"r{number}", "prompt": f"Land {number} is led by ____", "answers": [answer]}
    return empty(PROBES, update=f"Q{number}-P6", criterion="specific", stale=[], conditions=[], **own)


def linked(number: int, interval: int, link: int, **values: Any) -> Row:
    dates = ["2015-01-01", "2017-01-01", "2021-01-04"][interval - 1 : interval + 1]
    own = empty(STREAM, interval=interval, old_date=dates[0], new_date=dates[1], link=link, links=2)
    return update(number) | own | {"chain": f"Q{number}-P6", "changes": []} | values


LINKED = pa.schema([*SCHEMA, *STREAM])

OPEN = {"open_only": True, "options": None, "answer_label": "Caesar"}
ROWS: dict[str, tuple[pa.Schema, list[Row]]] = {
    "wikifactdiff.parquet": (SCHEMA, [update(1), update(2, "test"), update(3, scenario="Other")]),
    "wfd_repl.parquet": (SCHEMA, [update(1)]),
    "klob_c.parquet": (KLOB, [example("c", 1), example("c", 2)]),
    "klob_r.parquet": (KLOB, [example("r", 1)]),
    "klob_u.parquet": (KLOB, [example("u", 1)]),
    "ripples.parquet": (PROBES, [probe(1), probe(2)]),
    "tempripple.parquet": (TR_ITEMS, [item(1), item(2, **OPEN), item(3)]),
    "stream.parquet": (LINKED, [linked(1, 1, 1), linked(1, 2, 2, reverts=True), linked(2, 2, 1)]),
    "asof.parquet": (ASOF, [item(1) | empty(pa.schema(list(ASOF)[len(TR_ITEMS) :]), chain="Q1-P6")]),
    "corpus_questions.parquet": (CORPUS_QUESTIONS, corpora.questions()),
    "corpus.parquet": (CORPUS, corpora.documents()),
    "known.parquet": (KNOWN_LABELLED, [empty(KNOWN_LABELLED, subject=1, property=6)]),
    "half_life.parquet": (HALF_LIFE, [empty(HALF_LIFE, relation="P6", n=2, ended=1, censored=1)]),
}
"""Product -> its rows; no row of WFD_repl is in the test split."""


class Bench:
    """A folder of products."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = folder / "manifest.json"
        self.manifest.write_text(json.dumps(MANIFEST), encoding="utf-8")
        self.products = []
        for name, (schema, rows) in ROWS.items():
            self.put(name, rows, schema)

    def put(self, name: str, rows: list[Row], schema: pa.Schema = SCHEMA) -> Path:
        path = self.folder / name
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
        if path not in self.products:
            self.products.append(path)
        return path

    def write(self, output: Path, *names: str, **given: Any) -> dict[str, int]:
        """Publishes the products of these names, or all."""
        products = tuple(self.folder / name for name in names) or tuple(self.products)
        given = {"date": "", "url": ""} | given
        return write_folders(Inputs(products, self.manifest, **given), output)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "results"
    folder.mkdir()
    return Bench(folder)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All folders, of the products in ROWS; not to be changed."""
    folder = tmp_path_factory.mktemp("published")
    Bench(folder).write(folder / "publish")
    return folder / "publish"


@pytest.fixture(scope="session")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """`datasets.load_dataset` with a cache of its own and without a network."""
    import datasets

    datasets.disable_progress_bars()
    cache = tmp_path_factory.mktemp("cache")
    return lambda folder, *name: datasets.load_dataset(str(folder), *name, cache_dir=str(cache))

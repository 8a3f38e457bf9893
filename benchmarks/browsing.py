"""The explorer's answers at the size of a full build, over HTTP, from its real server.

    python benchmarks/browsing.py                                            20,000 updates, 200,000 entities
    python benchmarks/browsing.py --updates 330000 --entities 7000000 --buckets 64

The build is made here as tables in the workflow's layouts, without running it: names of common and rare
words; statements with dates and qualifiers, sorted by subject and divided into buckets; updates, neighbours,
and what edited models answered for `--edits` of the updates. Then `factdrift browse` is started, which makes
the index. Each kind of page is requested `--asked` times, every time another page, one request at a time.
`--export` also writes the files of the explorer.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import requests
from record import add_record, record

from factdrift.core.tables import write_parquet
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS, TIME

DATES = ("2021-01-04", "2023-02-27")
RELATIONS, CLASSES, WORDS = 2_000, 20_000, 200_000
SCENARIOS = ("ReplaceObject", "Archive", "AddObject", "AddRelation", "AddEntity", "Other")
CHUNK = 16_384
"""Entities that are made at once."""

ENTITY = pa.struct([("id", pa.string()), ("label", pa.string()), ("description", pa.string())])
TEXT, WHOLE, REAL, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()


def _schema(**columns: pa.DataType) -> pa.Schema:
    """A schema of columns, several of one type as one name (`a_b__c` for `a_b` and `c`)."""
    return pa.schema([(name, kind) for names, kind in columns.items() for name in names.split("__")])


OBJECT = pa.struct(
    _schema(
        id__label__description__decision__rule__old_statement__new_statement=TEXT,
        old_revision__new_revision=WHOLE,
        start__end__point_in_time__datatype__raw__short=TEXT,
        announced__leaks=FLAG,
    )
)
DATASET = _schema(
    subject__relation=ENTITY,
    update_prompt=TEXT,
    generalization_prompts=pa.list_(TEXT),
    is_replace=FLAG,
    subject_popularity=REAL,
    objects=pa.list_(OBJECT),
    scenario__split__popularity_source__template_source=TEXT,
)
FILTERED = STATEMENTS.append(pa.field("dropped_by", pa.string()))
TRIPLES = _schema(
    subject__property=pa.int32(),
    old_statement__new_statement__label__rule=TEXT,
    announced__leaks=FLAG,
    dropped_by__scenario=TEXT,
    is_replace=FLAG,
)
FACTS = _schema(
    subject__property__rank_no__neighbor=pa.int32(),
    similarity=REAL,
    relation=pa.int32(),
    statement=TEXT,
    object=pa.int32(),
    datatype__json__key=TEXT,
    pit=TIME,
)
SCORES = _schema(
    model__method__edit__subject__relation__kind__failed=TEXT,
    p_new_before__p_obsolete_before__p_new__p_obsolete__efficacy_d__exact=REAL,
    said=TEXT,
)
PROBES = _schema(
    model__method__edit=TEXT,
    number=pa.int16(),
    role=TEXT,
    place=pa.int16(),
    object__prompt__target=TEXT,
    logprob_before__logprob=REAL,
    exact=FLAG,
    reason=TEXT,
)
_ANSWERS = pa.list_(pa.struct(_schema(id__label=TEXT, aliases=pa.list_(TEXT))))
RIPPLES = _schema(
    subject__relation__criterion__kind__prompt=TEXT,
    answers__stale=_ANSWERS,
    conditions=pa.list_(pa.struct(_schema(prompt=TEXT, answers=_ANSWERS))),
)
METHODS = ("none", "ft", "ft_l", "rome", "memit", "prompt")


class Synthetic:
    """A build of `entities` items, of which `updates` subjects have an update each."""

    def __init__(self, results: Path, entities: int, updates: int, statements: int, buckets: int, edits: int):
        self.results, self.entities, self.updates, self.statements = results, entities, updates, statements
        self.buckets, self.edits = buckets, edits
        self.pair = results / "_".join(DATES)
        dice = np.random.default_rng(0)
        letters = np.frombuffer(b"etaoinshrdlucmfwypvbgk", np.uint8)
        ends = dice.integers(2, 11, WORDS).cumsum().tolist()
        text = letters[dice.integers(0, len(letters), ends[-1])].tobytes().decode()
        self.words = pa.array([text[start:end] for start, end in pairwise([0, *ends])])
        self.subjects = np.sort(dice.choice(entities, updates, replace=False)) + 1
        self.relation = np.minimum(dice.zipf(1.3, updates), RELATIONS)

    def labels(self, ids: np.ndarray) -> pa.Array:
        """Three words for each id; the first words of the list are in some hundred thousands of them."""
        places = []
        for prime in (2_654_435_761, 2_246_822_519, 3_266_489_917):
            drawn = (ids.astype(np.uint64) * np.uint64(prime) % np.uint64(2**32)).astype(np.float64) / 2**32
            places.append((drawn**3 * WORDS).astype(np.int64))
        return pc.binary_join_element_wise(*(self.words.take(pa.array(place)) for place in places), " ")

    def make(self) -> None:
        """Writes all tables."""
        self.results.mkdir(parents=True, exist_ok=True)
        for place, date in enumerate(DATES):
            folder = self.results / "snapshots" / date
            self._properties(folder)
            for bucket in range(self.buckets):
                self._entities(folder / "entities" / self._name(bucket), bucket)
                side = ("old", "new")[place]
                self._statements(self.pair / "filtered" / side / self._name(bucket), bucket, place)
        for bucket in range(self.buckets):
            self._triples(bucket)
        self._dataset()
        self._neighbours()
        self._ripples()
        self._answers()

    def _name(self, bucket: int) -> str:
        return f"{bucket}-of-{self.buckets}.parquet"

    def _chunks(self, bucket: int) -> Iterator[np.ndarray]:
        ids = np.arange(bucket or self.buckets, self.entities + 1, self.buckets, dtype=np.int64)
        for start in range(0, len(ids), CHUNK):
            yield ids[start : start + CHUNK]

    def _properties(self, folder: Path) -> None:
        ids = np.arange(1, RELATIONS + 1)
        rows = {"id": ids, "label": self.labels(ids), "description": self.labels(ids * 3)}
        write_parquet(_filled(rows, PROPERTIES), folder / "properties.parquet")
        schema = pa.schema(
            [("id", pa.int32()), ("label", pa.string()), ("superclasses", pa.list_(pa.int32()))]
        )
        ids = np.arange(1, min(CLASSES, self.entities) + 1)
        above = [[max(1, number // 3)] for number in ids.tolist()]
        write_parquet(
            _filled({"id": ids, "label": self.labels(ids), "superclasses": above}, schema),
            folder / "classes.parquet",
        )

    def _entities(self, path: Path, bucket: int) -> None:
        def batches() -> Iterator[pa.RecordBatch]:
            for ids in self._chunks(bucket):
                rows = {"id": ids, "label": self.labels(ids), "description": self.labels(ids * 3)}
                rows |= {"sitelinks": 1 + 300_000 // (1 + (ids * 7919) % self.entities)}
                rows |= {
                    "classes": _lists(1 + (ids % min(CLASSES, self.entities))),
                    "whole": np.full(len(ids), True),
                }
                rows |= {"aliases": _lists(self.labels(ids * 11))}
                yield from _filled(rows, ENTITIES).to_batches()

        write_parquet(pa.RecordBatchReader.from_batches(ENTITIES, batches()), path)

    def _statements(self, path: Path, bucket: int, side: int) -> None:
        def batches() -> Iterator[pa.RecordBatch]:
            for ids in self._chunks(bucket):
                subjects = np.repeat(ids, self.statements)
                position = np.tile(np.arange(self.statements), len(ids))
                mixed = (subjects * 31 + position * 7907) % 1_000_003
                objects = 1 + (mixed * 6_151 + side * (mixed % 29 == 0)) % self.entities
                year, one = 1900 + mixed % 122, np.ones(len(mixed))
                fields = [year, one, one, one * 11, one * 0, *[year * 10_000 + 101] * 3]
                arrays = [pa.array(each).cast(kind.type) for each, kind in zip(fields, TIME, strict=True)]
                same = {"rank": "normal", "snak": "value", "datatype": "wikibase-item"}
                rows = {name: pa.repeat(text, len(mixed)) for name, text in same.items()}
                # The first statement of a subject with an update is that of the update.
                found = np.minimum(np.searchsorted(self.subjects, subjects), self.updates - 1)
                updated = (self.subjects[found] == subjects) & (position == 0)
                relation = np.where(updated, self.relation[found], 1 + (mixed**2 // 1_000_003) % RELATIONS)
                rows |= {"subject": subjects, "property": relation}
                rows |= {"position": position, "object": objects, "key": _text("Q", objects)}
                tail = pc.if_else(pa.array(updated), ("$OLD", "$NEW")[side], _text("$0C2A-61B7-", mixed))
                rows |= {"statement": _text(_text("Q", subjects), tail)}
                rows["start"] = pa.StructArray.from_arrays(
                    arrays, fields=list(TIME), mask=pa.array((mixed % 3 > 0) & ~updated)
                )
                rows |= {"revision": subjects * 11 + side}
                rows |= {"qualifiers": _lists(np.where(mixed % 3 > 0, 1 + mixed % 50, 580))}
                dropped = pa.array([None, "preferred", "rank"])
                rows |= {"dropped_by": dropped.take(pa.array(np.where(updated, 0, np.minimum(mixed % 5, 2))))}
                yield from _filled(rows, FILTERED).to_batches()

        write_parquet(pa.RecordBatchReader.from_batches(FILTERED, batches()), path)

    def _triples(self, bucket: int) -> None:
        chosen = self.subjects % self.buckets == bucket
        subjects, relation = self.subjects[chosen], self.relation[chosen]
        rows = {"subject": np.repeat(subjects, 2), "property": np.repeat(relation, 2)}
        rows |= {"old_statement": [text for n in subjects.tolist() for text in (f"Q{n}$OLD", None)]}
        rows |= {"new_statement": [text for n in subjects.tolist() for text in (None, f"Q{n}$NEW")]}
        rows |= {
            "label": ["obsolete", "new"] * len(subjects),
            "rule": ["replaced", "replaced_from"] * len(subjects),
        }
        rows |= {"scenario": ["ReplaceObject"] * 2 * len(subjects)}
        write_parquet(_filled(rows, TRIPLES), self.pair / "updates" / self._name(bucket))

    def _dataset(self) -> None:
        labels = self.labels(self.subjects).to_pylist()
        relations = self.labels(np.arange(1, RELATIONS + 1)).to_pylist()

        def batches() -> Iterator[pa.RecordBatch]:
            order = np.argsort((self.subjects * 7919) % self.entities, kind="stable")
            for start in range(0, len(order), CHUNK):
                rows = []
                for place in order[start : start + CHUNK].tolist():
                    subject, relation = int(self.subjects[place]), int(self.relation[place])
                    objects = [
                        {
                            "id": f"Q{1 + (subject * (k + 5)) % self.entities}",
                            "label": labels[(place * k + k) % len(labels)],
                        }
                        | {
                            "decision": decision,
                            "rule": rule,
                            f"{side}_statement": f"Q{subject}${side.upper()}",
                        }
                        | {
                            f"{side}_revision": subject * 11 + k,
                            "start": "2022-01-01",
                            "datatype": "wikibase-item",
                        }
                        for k, (decision, rule, side) in enumerate(
                            (("obsolete", "replaced", "old"), ("new", "replaced_from", "new"))
                        )
                    ]
                    named = {"id": f"P{relation}", "label": relations[relation - 1]}
                    rows.append(
                        {"subject": {"id": f"Q{subject}", "label": labels[place]}, "relation": named}
                        | {"update_prompt": f"The {named['label']} of {labels[place]} is ____"}
                        | {"generalization_prompts": [f"{labels[place]} has {named['label']} ____"] * 4}
                        | {"objects": objects, "scenario": SCENARIOS[subject % 6], "split": "train"}
                        | {"subject_popularity": 1.0, "template_source": "generic", "is_replace": True}
                    )
                yield pa.RecordBatch.from_pylist(rows, schema=DATASET)

        write_parquet(
            pa.RecordBatchReader.from_batches(DATASET, batches()), self.pair / "wikifactdiff.parquet"
        )

    def _neighbours(self) -> None:
        def batches(table: int) -> Iterator[pa.RecordBatch]:
            for start in range(0, len(self.subjects), CHUNK):
                subjects = np.repeat(self.subjects[start : start + CHUNK], 10)
                rank = np.tile(np.arange(1, 11), len(subjects) // 10)
                neighbours = 1 + (subjects * 31 + rank * (7_919 + table)) % self.entities
                relation = np.repeat(self.relation[start : start + CHUNK], 10)
                rows = {"subject": subjects, "property": relation, "rank_no": rank, "neighbor": neighbours}
                rows |= {
                    "similarity": 1 / (1 + rank),
                    "relation": relation,
                    "object": 1 + neighbours * 7 % self.entities,
                }
                rows |= {
                    "datatype": ["wikibase-item"] * len(subjects),
                    "statement": _text("Q", neighbours),
                }
                yield from _filled(rows, FACTS).to_batches()

        for table, name in enumerate(("neighbors", "random_neighbors")):
            write_parquet(
                pa.RecordBatchReader.from_batches(FACTS, batches(table)), self.pair / f"{name}.parquet"
            )

    def _ripples(self) -> None:
        """Five probes of each update."""

        def probes() -> Iterator[dict[str, Any]]:
            criteria = ("specific", "alias", "logical", "neighbor", "history_old")
            labels = self.labels(self.subjects).to_pylist()
            for number, relation, label in zip(self.subjects, self.relation, labels, strict=True):
                answers = [{"label": label}]
                fact = {"prompt": f"What {label} has is ____", "answers": answers}
                named = {"subject": f"Q{number}", "relation": f"P{relation}", "stale": answers}
                for place, criterion in enumerate(criteria):
                    yield named | fact | {"criterion": criterion, "conditions": [fact] * (place % 2)}

        path = self.pair / "ripples.parquet"
        write_parquet(pa.RecordBatchReader.from_batches(RIPPLES, _batched(probes(), RIPPLES)), path)

    def _answers(self) -> None:
        edited = [(int(s), int(r)) for s, r in zip(self.subjects[: self.edits], self.relation, strict=False)]

        def scores() -> Iterator[dict[str, Any]]:
            for method in METHODS:
                for subject, relation in edited:
                    named = {"edit": f"Q{subject}-P{relation}", "subject": f"Q{subject}"}
                    named |= {"model": "m", "method": method, "relation": f"P{relation}"}
                    yield named | {"kind": "replace", "p_new": 0.5, "said": " some words"}

        def probes() -> Iterator[dict[str, Any]]:
            for row in scores():
                for number in range(26):
                    role = "update" if number < 2 else "generalization" if number < 10 else "nearest"
                    probe = {name: row[name] for name in ("model", "method", "edit")}
                    probe |= {"number": number, "role": role, "prompt": "The mayor of Ulm is"}
                    yield probe | {"target": "Ann", "logprob": -1.5}

        for path, schema, rows in (
            (self.pair / "edit_scores.parquet", SCORES, scores()),
            (self.pair / "edit" / "probes.parquet", PROBES, probes()),
        ):
            write_parquet(pa.RecordBatchReader.from_batches(schema, _batched(rows, schema)), path)


def _batched(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    held: list[dict[str, Any]] = []
    for row in rows:
        held.append(row)
        if len(held) == CHUNK:
            yield pa.RecordBatch.from_pylist(held, schema=schema)
            held = []
    yield pa.RecordBatch.from_pylist(held, schema=schema)


def _filled(rows: dict[str, Any], schema: pa.Schema) -> pa.Table:
    """A table of some columns; the others are null."""
    number = len(next(iter(rows.values())))
    return pa.table(
        [
            (rows[field.name] if isinstance(rows[field.name], pa.Array) else pa.array(rows[field.name])).cast(
                field.type
            )
            if field.name in rows
            else pa.nulls(number, field.type)
            for field in schema
        ],
        schema=schema,
    )


def _text(before: str | pa.Array, after: np.ndarray | pa.Array) -> pa.Array:
    """Texts and texts or whole numbers, joined row by row."""
    return pc.binary_join_element_wise(before, pc.cast(pa.array(after), pa.string()), "")


def _lists(values: np.ndarray | pa.Array) -> pa.Array:
    """Lists of one value each."""
    held = values if isinstance(values, pa.Array) else pa.array(values, pa.int32())
    return pa.ListArray.from_arrays(pa.array(np.arange(len(held) + 1), pa.int32()), held)


def size(folder: Path) -> float:
    """Megabytes of the files of a folder, or of one file."""
    files = [folder] if folder.is_file() else [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6


@contextlib.contextmanager
def served(pair: Path, index: Path) -> Iterator[tuple[str, float, int]]:
    """The address of the server, seconds until it answers, and its process id."""
    started = time.perf_counter()
    command = [sys.executable, "-c", "from factdrift.cli import main; raise SystemExit(main())"]
    command += ["browse", "--pair", str(pair), "--index", str(index), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[0]
            assert requests.get(address, timeout=60).ok
            yield address, time.perf_counter() - started, process.pid
        finally:
            process.terminate()


def peak_of(process: int) -> float:
    """Megabytes of memory that a process has held at most."""
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmHWM"))) / 1024


def questions(build: Synthetic, number: int) -> dict[str, list[str]]:
    """What is asked for -> addresses, all different."""
    dice = np.random.default_rng(2)
    updated = dice.choice(build.subjects[build.edits :], number)
    edited = dice.choice(build.subjects[: build.edits], number)
    plain = dice.integers(1, build.entities + 1, number)
    words = dice.choice(build.words.to_pylist(), number).tolist()
    pairs = [label.rsplit(" ", 1) for label in build.labels(plain).to_pylist()]
    most = np.bincount(build.relation).argsort()[::-1][:number]
    one = list(dict.fromkeys(word[:1] for word in build.words.to_pylist()))[:number]
    return {
        "search, one letter": [f"search?part=1&q={letter}" for letter in one],
        "search, two or three letters": [
            f"search?part=1&q={word[:size]}"
            for word, size in zip(words, dice.integers(2, 4, number), strict=True)
        ],
        "search, a word": [f"search?part=1&q={word}" for word in words],
        "search, words and a beginning": [f"search?part=1&q={first}+{last[:2]}" for first, last in pairs],
        "a subject with an update": [f"Q{number}" for number in updated],
        "a subject that models were edited with": [f"Q{number}" for number in edited],
        "a subject without an update": [f"Q{number}" for number in plain],
        "a relation, the largest first": [f"P{number}" for number in most],
        "a class": [f"Q{number}" for number in dice.integers(1, min(CLASSES, build.entities) + 1, number)],
        "the first page": [""] + [f"?page={page}" for page in range(2, number + 1)],
        "a list far behind": [f"?page={max(2, build.updates // 50 - page)}" for page in range(number)],
    }


def processor(process: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(address: str, asked: dict[str, list[str]], process: int) -> list[list[str]]:
    """Rows of the table: what was asked for, how often; milliseconds of the processor and of the clock."""
    rows = []
    with requests.Session() as session:
        for title, addresses in asked.items():
            took, used = [], processor(process)
            for each in addresses:
                started = time.perf_counter()
                answer = session.get(address + each, timeout=60)
                took.append((time.perf_counter() - started) * 1000)
                assert answer.status_code == 200, (each, answer.status_code)
            middle, high = np.percentile(took, [50, 95])
            cpu = (processor(process) - used) / len(took) * 1000
            rows.append(
                [title, str(len(took)), f"{cpu:,.0f}", f"{middle:,.0f}", f"{high:,.0f}", f"{max(took):,.0f}"]
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--statements", type=int, default=15, help="of each entity in each dump")
    parser.add_argument("--buckets", type=int, default=8)
    parser.add_argument("--edits", type=int, default=2_000, help="updates that models were edited with")
    parser.add_argument("--asked", type=int, default=100, help="pages of each kind")
    parser.add_argument("--export", action="store_true", help="write the files of the explorer, too")
    parser.add_argument(
        "--build", type=Path, help="a folder in which the build is kept, made if it is not there"
    )
    parser.add_argument("--scratch", type=Path, help="a folder on a disk with room")
    add_record(parser)
    options = parser.parse_args()
    given = {
        name: getattr(options, name)
        for name in ("updates", "entities", "statements", "buckets", "edits", "asked")
    }
    said = [f"--{name} {value}" for name, value in given.items() if value != parser.get_default(name)]
    said += ["--export"] * options.export
    with tempfile.TemporaryDirectory(prefix="browsing-", dir=options.scratch) as name:
        results, index = options.build or Path(name) / "results", Path(name) / "index.sqlite"
        build = Synthetic(
            results, *(given[name] for name in ("entities", "updates", "statements", "buckets", "edits"))
        )
        started = time.perf_counter()
        if not build.pair.is_dir():
            build.make()
        print(f"made in {time.perf_counter() - started:,.0f} s: {size(results):,.0f} MB", file=sys.stderr)
        with served(build.pair, index) as (address, first, process):
            made = peak_of(process)
            rows = ask(address, questions(build, options.asked), process)
        with served(build.pair, index) as (_, again, _):
            pass
        note = (
            f"{options.statements} statements an entity in each dump, {size(results):,.0f} MB of tables in "
            f"{options.buckets} buckets. The first start took {first:,.0f} s, which made an index of "
            f"{size(index):,.0f} MB with {made:,.0f} MB of memory; the next one {again:,.1f} s. "
        )
        if options.export:
            started = time.perf_counter()
            command = [sys.executable, "-c", "from factdrift.cli import main; raise SystemExit(main())"]
            subprocess.run(
                [*command, "browse", "--pair", str(build.pair), "-o", f"{name}/files"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            files = Path(name) / "files"
            note += (
                f"`browse --output` wrote {len(list(files.iterdir())):,} files, {size(files):,.0f} MB, in "
                f"{time.perf_counter() - started:,.0f} s. "
            )
        record(
            f"Browsing a build of {options.updates:,} updates and {options.entities:,} entities",
            ["page", "asked for", "processor, ms", "median, ms", "95 of 100, ms", "longest, ms"],
            rows,
            f"{note}`{' '.join(['python benchmarks/browsing.py', *said])}`",
            options.record,
        )


if __name__ == "__main__":
    main()

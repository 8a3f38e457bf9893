"""Writing both dumps and the truth, block by block, on several cores.

A block is a function of the seed and its number alone, so that the number of processes changes nothing. In
gzip files each block is a member, and the comma between two of them another, as in Wikidata's own.
"""

import contextlib
import json
import multiprocessing
import random
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import date
from multiprocessing.pool import AsyncResult
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from isal import igzip

from factdrift.core.owned import atomic_path
from factdrift.core.progress import Progress
from factdrift.core.tables import parquet_writer
from factdrift.snapshots.compression import dump_writer
from synthesis.background import Background
from synthesis.events import Event, read_events
from synthesis.planting import TRUTH, items_of, plant
from synthesis.world import BACKGROUND, World

BLOCK = 512
"""Background items of a block."""

EVENT_SHARE = 0.005
"""Events planted per entity, once each event of the table has been planted AT_LEAST times."""
AT_LEAST = 2

SUMMARY = "pair.json"
"""Names, entities and bytes of text of the two dumps, by their dates."""

FORMATS = {"gz": ".json.gz", "bz2": ".json.bz2", "zst": ".json.zst", "json": ".json"}

_AHEAD = 3
"""Blocks a process that may wait to be written."""

_GZIP_LEVEL = 3
"""The best of isal's: ten times as fast as `gzip -9`, which Wikidata uses, and 15 % larger."""


class Plan(NamedTuple):
    """What is to be made; `entities` is about the number of lines of a dump."""

    entities: int
    old: date
    new: date
    seed: int
    gzip: bool


class Made(NamedTuple):
    """One block: its part of each dump (compressed for gzip), their lines and bytes, rows of the truth."""

    parts: tuple[bytes, bytes]
    lines: tuple[int, int]
    sizes: tuple[int, int]
    truth: list[tuple[Any, ...]]


class Result(NamedTuple):
    lines: tuple[int, int]
    sizes: tuple[int, int]
    """Bytes of text."""
    events: int
    truth: int


class Maker:
    """Makes blocks; each process has one."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.world = World(plan.old, plan.new, plan.seed, plan.entities)
        self.background = Background(self.world)
        self.table: list[Event] = read_events()
        wanted = max(AT_LEAST * len(self.table), int(plan.entities * EVENT_SHARE))
        self.events = wanted // len(self.table) * len(self.table)
        self._fixed = self.world.fixed()
        made = self.events // len(self.table) * sum(items_of(event) for event in self.table)
        self.others = plan.entities - made - len(self._fixed)
        if self.others < 0:
            raise ValueError(f"{plan.entities} entities are too few for the events; take {made * 2} or more")
        self.blocks = max(-(-self.others // BLOCK), 1)

    def lines(self, block: int) -> tuple[list[tuple[bytes | None, bytes | None]], list[tuple[Any, ...]]]:
        """The items of a block in both dumps, and the truth; the one after the last is equal in both."""
        lines: list[tuple[bytes | None, bytes | None]] = []
        truth: list[tuple[Any, ...]] = []
        if block == self.blocks:
            lines = [self.world.lines(number, body, body) for number, body in self._fixed]
        else:
            rng = random.Random(f"block {self.plan.seed} {block}")
            for serial in range(block * BLOCK, min((block + 1) * BLOCK, self.others)):
                lines.append(self.background.lines(BACKGROUND + serial, serial, rng))
            for serial in range(block, self.events, self.blocks):
                planted = plant(self.world, self.table[serial % len(self.table)], serial)
                lines += planted.lines
                truth += planted.truth
        return lines, truth

    def make(self, block: int) -> Made:
        lines, truth = self.lines(block)
        olds = [old for old, _ in lines if old is not None]
        news = [new for _, new in lines if new is not None]
        old, new = b",\n".join(olds), b",\n".join(news)
        parts = (_gzipped(old), _gzipped(new)) if self.plan.gzip else (old, new)
        return Made(parts, (len(olds), len(news)), (len(old), len(new)), truth)


class _Sink(Protocol):
    def write(self, part: bytes, /) -> Any: ...


class _Members:
    """A gzip file of blocks that are compressed already."""

    def __init__(self, file: _Sink) -> None:
        self._file = file
        self._first = True
        file.write(_gzipped(b"[\n"))

    def write(self, part: bytes) -> None:
        if not self._first:
            self._file.write(_gzipped(b",\n"))
        self._file.write(part)
        self._first = False


@contextlib.contextmanager
def _sink(path: Path, gzip: bool) -> Iterator[_Sink]:
    """Takes the blocks of a dump in their order."""
    if gzip:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            yield _Members(file)
            file.write(_gzipped(b"\n]\n"))
    else:
        with dump_writer(path, member_size=1) as writer:
            yield writer


def write_pair(plan: Plan, directory: Path, format_: str, jobs: int) -> Result:
    """Writes `<old>` and `<new>` with the suffix of the format, `truth.parquet` and SUMMARY into a directory.

    Raises ValueError for fewer entities than the events need.
    """
    maker = Maker(plan)
    lines, sizes, rows = [0, 0], [0, 0], 0
    progress = Progress("synthesize", maker.blocks + 1, "blocks")
    names = [f"{day.isoformat()}{FORMATS[format_]}" for day in (plan.old, plan.new)]
    with contextlib.ExitStack() as files:
        sinks = [files.enter_context(_sink(directory / name, plan.gzip)) for name in names]
        truth = files.enter_context(parquet_writer(directory / "truth.parquet", TRUTH))
        for made in _made(maker, jobs):
            for which, sink in enumerate(sinks):
                if made.parts[which]:
                    sink.write(made.parts[which])
                lines[which] += made.lines[which]
                sizes[which] += made.sizes[which]
            if made.truth:
                columns = zip(*made.truth, strict=True)
                truth.write_table(
                    pa.table(
                        [pa.array(column, field.type) for column, field in zip(columns, TRUTH, strict=True)],
                        TRUTH,
                    )
                )
            rows += len(made.truth)
            progress.advance(note=f"{sum(sizes) / 1e6:,.0f} MB")
    summary = {
        day.isoformat(): {"file": name, "entities": lines[which], "bytes": sizes[which]}
        for which, (day, name) in enumerate(zip((plan.old, plan.new), names, strict=True))
    }
    settings = {"entities": plan.entities, "seed": plan.seed, "events": maker.events}
    with atomic_path(directory / SUMMARY) as temporary:
        temporary.write_text(json.dumps({**settings, "dumps": summary}, indent=2) + "\n", "utf-8")
    return Result((lines[0], lines[1]), (sizes[0], sizes[1]), maker.events, rows)


def write_between(plan: Plan, days: Sequence[date], directory: Path, format_: str) -> None:
    """Writes dumps of days between the two: each item turns from its old into its new state at one of them.

    Which one is drawn by seed and item, so that most changes come late into the dumps.
    """
    maker = Maker(plan)
    progress = Progress("between", maker.blocks + 1, "blocks")
    with contextlib.ExitStack() as files:
        paths = [directory / f"{day}{FORMATS[format_]}" for day in days]
        sinks = [files.enter_context(_sink(path, plan.gzip)) for path in paths]
        for block in range(maker.blocks + 1):
            rng = random.Random(f"between {plan.seed} {block}")
            pairs = [(rng.randint(0, len(days)), *pair) for pair in maker.lines(block)[0]]
            for step, sink in enumerate(sinks):
                states = (new if turn <= step else old for turn, old, new in pairs)
                part = b",\n".join(state for state in states if state is not None)
                sink.write(_gzipped(part) if plan.gzip else part)
            progress.advance()


_maker: Maker


def _start(plan: Plan) -> None:
    global _maker
    _maker = Maker(plan)


def _make(block: int) -> Made:
    return _maker.make(block)


def _made(maker: Maker, jobs: int) -> Iterator[Made]:
    """All blocks in their order; a few are made ahead, so that a slow writer does not fill the memory."""
    blocks = range(maker.blocks + 1)
    if jobs == 1:
        yield from map(maker.make, blocks)
        return
    ahead: deque[AsyncResult[Made]] = deque()
    with multiprocessing.get_context("spawn").Pool(jobs, _start, (maker.plan,)) as pool:
        for block in blocks:
            ahead.append(pool.apply_async(_make, (block,)))
            if len(ahead) > _AHEAD * jobs:
                yield ahead.popleft().get()
        while ahead:
            yield ahead.popleft().get()
        pool.close()
        pool.join()


def _gzipped(text: bytes) -> bytes:
    """A gzip member without time or name."""
    return igzip.compress(text, _GZIP_LEVEL, mtime=0)

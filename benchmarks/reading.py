"""Speed of reading a dump, from the file to the tables, against plainer ways of reading the same file.

All ways are measured in one run, each in a process of its own, in turn, and the best of `--repeats` counts.
One core: megabytes of text a CPU second, imports left out. Two cores: wall clock. The English-article filter
is on everywhere.

qwikidata is used as its own example of reading a dump (examples/basic_json_dump.py) does: a WikidataItem is
built of every item, then asked. The example asks each for its truthy claims of one property; with the article
filter we ask for the title of the article (get_enwiki_title) and, where there is one, for all truthy claims.
It writes nothing, counts only what it reads, and is thus spared what the others do for their tables.

DuckDB's `read_json` reads the array with the fields that are asked for, and writes labels and claims of the
items with an article as JSON, which is less than our tables: no statement is taken apart.

`gzip` and `json.loads` parse every line, filter by the parsed object, and hand what is kept to the code that
makes our tables: what differs is decompression and how a line is found to be kept.

The dump is written anew before as Wikidata's own are, by `gzip -9` in members, since decompression takes less
time the better a text is compressed: a member every 64 MB of text, so that two cores get about as much.

Entities have sizes, languages and claims that are spread as in Wikidata:

    python benchmarks/synthesize.py --entities 110000 -o pair
    python benchmarks/reading.py pair/2023-02-27.json.gz --record benchmarks/RESULTS.md
"""

import argparse
import bz2
import datetime
import gzip
import json
import multiprocessing
import os
import platform
import resource
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from record import add_record, append

CHUNK = 1 << 20
MEMBER = 64_000_000
BUCKETS = 2


OURS, OURS_ON_TWO = "gzip: factdrift, to Parquet", "gzip: factdrift, 2 shards on 2 cores"
BLOCKS, BLOCKS_ON_TWO = "bzip2: factdrift, to Parquet", "bzip2: factdrift, 2 shards on 2 cores"
QWIKIDATA, PLAIN_JSON = (
    "gzip: qwikidata, article filter, nothing written",
    "gzip: `gzip` and `json.loads`, to Parquet",
)
QWIKIDATA_EVERY = "gzip: qwikidata, claims of every item, nothing written"
DUCKDB = "gzip: DuckDB's `read_json`, article filter, labels and claims as JSON to Parquet"
LINES = "gzip: decompress, split into lines"
BZIP2, BZIP2_ON_TWO = "bzip2: decompress (`bz2`)", "bzip2: decompress, two halves on 2 cores"
RATIOS = (
    ("times as fast as qwikidata with the filter", "cpu", QWIKIDATA, OURS, 1, "15"),
    ("times as fast as qwikidata without it", "cpu", QWIKIDATA_EVERY, OURS, 1, ""),
    ("times as fast as `json.loads`", "cpu", PLAIN_JSON, OURS, 1, "8"),
    ("times as fast as DuckDB's JSON reader", "cpu", DUCKDB, OURS, 1, ""),
    ("of the speed of decompressing and splitting", "cpu", LINES, OURS, 2, "0.50"),
    ("gzip, two cores against one", "wall", OURS, OURS_ON_TWO, 2, "1.7"),
    ("of the speed of decompressing bzip2", "cpu", BZIP2, BLOCKS, 2, "0.90"),
    ("the same on two cores", "wall", BZIP2_ON_TWO, BLOCKS_ON_TWO, 2, "0.90"),
    ("bzip2, two cores against one", "wall", BLOCKS, BLOCKS_ON_TWO, 2, "1.7"),
)


class Run(NamedTuple):
    """Seconds of CPU and of the clock, and megabytes of memory at most."""

    cpu: float
    wall: float
    memory: float


def decompress_gzip(dump: Path, folder: Path) -> None:
    from isal import igzip

    with igzip.open(dump) as file:
        while file.read(CHUNK):
            pass


def lines_gzip(dump: Path, folder: Path) -> None:
    import io

    from isal import igzip

    for _ in io.BufferedReader(igzip.open(dump), CHUNK):
        pass


def decompress_bzip2(dump: Path, folder: Path) -> None:
    with bz2.open(dump) as file:
        while file.read(CHUNK):
            pass


def decompress_bzip2_half(dump: Path, folder: Path) -> None:
    """Half of a file, by decompressing half of its text."""
    size = int(dump.with_name("text").read_text()) // 2
    with bz2.open(dump) as file:
        while size > 0:
            size -= len(file.read(CHUNK))


def qwikidata(dump: Path, folder: Path, every: bool = False) -> None:
    """As its documentation shows, the claims of items with an English article; nothing is written."""
    from qwikidata.entity import WikidataItem
    from qwikidata.json_dump import WikidataJsonDump

    for entity in WikidataJsonDump(str(dump)):
        if entity["type"] == "item":
            item = WikidataItem(entity)
            if every or item.get_enwiki_title():
                item.get_truthy_claim_groups()


def qwikidata_every(dump: Path, folder: Path) -> None:
    """The same without the filter, as its own example has it."""
    qwikidata(dump, folder, every=True)


def duckdb_json(dump: Path, folder: Path) -> None:
    """DuckDB's reader of JSON on one thread: a row an item with its article, JSON not taken apart."""
    import duckdb

    folder.mkdir()
    names = ("id", "type", "labels", "sitelinks", "claims")
    columns = ", ".join(f"{name}: '{'VARCHAR' if name in ('id', 'type') else 'JSON'}'" for name in names)
    with duckdb.connect(config={"threads": 1}) as db:
        db.execute(
            f"""COPY (
                SELECT id, labels, claims FROM read_json('{dump}', format = 'array',
                    maximum_object_size = 256_000_000, columns = {{{columns}}})
                WHERE type = 'item' AND json_exists(sitelinks, '$.enwiki')
            ) TO '{folder / "items.parquet"}' (FORMAT parquet, COMPRESSION zstd)"""
        )


def plain_json(dump: Path, folder: Path) -> None:
    """`gzip` and `json.loads`; what is held is turned into the same tables by the code that is measured."""
    from factdrift.statements import extract as module

    class Parsed:
        def __init__(self, path: Path, shard: int, shards: int) -> None:
            from factdrift.wikidata.shares import Account

            self.account = Account(False, 0)
            self.size, self.passed = path.stat().st_size, 0

        def lines(self, needless: object) -> object:
            with gzip.open(dump) as file:
                for number, line in enumerate(file):
                    text = line.strip(b",\n[]")
                    if text:
                        entity = json.loads(text)
                        if (
                            entity["type"] != "item"
                            or "enwiki" in entity.get("sitelinks", ())
                            or "P279" in entity.get("claims", ())
                            or "P5061" in entity.get("claims", ())
                        ):
                            yield number, 0, text

    module.Share = Parsed  # type: ignore[assignment,misc]
    write_shard(dump, folder, parse_all=True)


def write_shard(dump: Path, folder: Path, **options: Any) -> None:
    from factdrift.statements.extract import Choice, extract

    extract(dump, Choice(buckets=BUCKETS, scope="enwiki", names="held", **options), folder)


def ours(dump: Path, folder: Path) -> None:
    write_shard(dump, folder)


def first_of_two(dump: Path, folder: Path) -> None:
    write_shard(dump, folder, shards=2)


def second_of_two(dump: Path, folder: Path) -> None:
    write_shard(dump, folder, shard=1, shards=2)


def measured(way: Callable[[Path, Path], None], dump: Path, folder: Path) -> Run:
    import numpy.ma  # noqa: F401  # imports are no part of what is measured
    import pyarrow.compute  # noqa: F401
    import qwikidata.entity
    import qwikidata.json_dump  # noqa: F401

    import factdrift.statements.extract  # noqa: F401
    from factdrift.core.tables import spare_pandas

    spare_pandas()
    if way is duckdb_json:
        import duckdb  # noqa: F401
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        cpu, wall = time.process_time(), time.perf_counter()
        way(dump, Path(own) / "out")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Run(cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def apart(dump: Path, folder: Path, *ways: Callable[[Path, Path], None]) -> Run:
    """Ways at the same time, each in a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(ways), context, max_tasks_per_child=1) as pool:
        runs = [run.result() for run in [pool.submit(measured, way, dump, folder) for way in ways]]
    return Run(sum(run.cpu for run in runs), max(run.wall for run in runs), max(run.memory for run in runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("dump", type=Path, help="a dump, .json.gz")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bzip2-mb", type=float, default=400, help="megabytes of text for bzip2")
    add_record(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "runs").mkdir()
        dump, blocks, sizes = as_dumped(options.dump, folder, options.bzip2_mb)
        compressed = dump.stat().st_size
        table = compare(dump, blocks, sizes, folder / "runs", options.repeats)
    share = sizes["articles"] / sizes["lines"]
    title = (
        f"## Reading, {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}\n\n"
        f"{machine()}, load average {os.getloadavg()[0]:.1f}; {sizes['gzip'] / 1e6:,.0f} MB of text as gzip "
        f"({compressed / 1e6:,.0f} MB), {sizes['lines']:,} entities, {share:.1%} with an "
        f"English article; {sizes['bzip2'] / 1e6:,.0f} MB as bzip2. `benchmarks/reading.py "
        f"{options.dump.name}`, best of {options.repeats}, of slow ways one.\n\n"
    )
    print(title + table)
    if options.record is not None:
        append(title + table, options.record)


def as_dumped(dump: Path, folder: Path, megabytes: float) -> tuple[Path, Path, dict[str, int]]:
    """The dump as Wikidata compresses its own, its beginning as one bzip2 stream, and how much is of what."""
    sizes = {"gzip": 0, "lines": 0, "articles": 0, "bzip2": 0}
    members, blocks = folder / "dump.json.gz", folder / "dump.json.bz2"
    with members.open("wb") as file, bz2.open(blocks, "wb") as stream, ProcessPoolExecutor() as pool:
        waiting: deque[Future[bytes]] = deque()
        for text in _member_texts(dump):
            waiting.append(pool.submit(gzip.compress, text, 9, mtime=0))
            sizes["gzip"] += len(text)
            for line in text.splitlines(keepends=True):
                sizes["lines"] += len(line) > 10
                sizes["articles"] += b'"enwiki"' in line
                if sizes["bzip2"] < megabytes * 1e6:
                    sizes["bzip2"] += stream.write(line)
            if len(waiting) > 2:
                file.write(waiting.popleft().result())
        for compressed in waiting:
            file.write(compressed.result())
        if sizes["bzip2"] < sizes["gzip"]:
            stream.write(b"{}\n]\n")
    (folder / "text").write_text(str(sizes["bzip2"]))
    return members, blocks, sizes


def _member_texts(dump: Path) -> Iterator[bytes]:
    """Whole lines, some 64 MB of them at a time."""
    with gzip.open(dump) as lines:
        while text := b"".join(lines.readlines(MEMBER)):
            yield text


def compare(dump: Path, blocks: Path, sizes: dict[str, int], folder: Path, repeats: int) -> str:
    """The table of all ways."""
    ways: dict[str, tuple[Path, tuple[Callable[[Path, Path], None], ...]]] = {
        "gzip: decompress (isal)": (dump, (decompress_gzip,)),
        LINES: (dump, (lines_gzip,)),
        QWIKIDATA: (dump, (qwikidata,)),
        QWIKIDATA_EVERY: (dump, (qwikidata_every,)),
        PLAIN_JSON: (dump, (plain_json,)),
        DUCKDB: (dump, (duckdb_json,)),
        OURS: (dump, (ours,)),
        OURS_ON_TWO: (dump, (first_of_two, second_of_two)),
        BZIP2: (blocks, (decompress_bzip2,)),
        BLOCKS: (blocks, (ours,)),
        BZIP2_ON_TWO: (blocks, (decompress_bzip2_half, decompress_bzip2_half)),
        BLOCKS_ON_TWO: (blocks, (first_of_two, second_of_two)),
    }
    best: dict[str, Run] = {}
    for _ in range(repeats):
        for name, (path, functions) in ways.items():
            if name in best and best[name].cpu > 10:
                continue  # slow ways once
            run = apart(path, folder, *functions)
            known = best.get(name, run)
            best[name] = Run(
                *(min(pair) for pair in zip(known[:2], run[:2], strict=True)), max(known.memory, run.memory)
            )
    text = ["| way | CPU s | MB/s and core | wall s | MB/s | memory MB |", "|---|--:|--:|--:|--:|--:|"]
    for name, run in best.items():
        size = sizes[name.partition(":")[0]] / 1e6
        text.append(
            f"| {name} | {run.cpu:.2f} | {size / run.cpu:,.0f} | {run.wall:.2f} | {size / run.wall:,.0f} "
            f"| {run.memory:,.0f} |"
        )
    text += ["", "| ratio | measured | target |", "|---|--:|--:|"]
    text += [
        f"| {ratio} | {getattr(best[one], kind) / getattr(best[other], kind):.{digits}f} | {target} |"
        for ratio, kind, one, other, digits, target in RATIOS
    ]
    return "\n".join(text) + "\n"


def machine() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main()

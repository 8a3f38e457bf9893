"""Speed and memory of `factdrift chat ask`, live, against the bare client on one server; speed of the store.

    python benchmarks/chat.py [--requests 2000 20000] [--concurrency 64] [--record FILE]

The server (tests/support/chat_server.py) and each of the clients are processes of their own. The bare client
is AsyncOpenAI with as many workers, which read the same table and keep nothing; it and `chat ask` take turns.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import openai
import pyarrow as pa
import pyarrow.parquet as pq
from record import add_record, peak, record

from factdrift.chat.ask import ask
from factdrift.chat.replies import read_reply
from factdrift.chat.requests import REQUESTS, canonical, read_requests
from factdrift.chat.settings import Chat
from factdrift.chat.store import Store
from factdrift.core.keys import read_settings
from factdrift.core.paths import PRICES
from factdrift.core.tables import write_parquet

TESTS = Path(__file__).parents[1] / "tests"
PROMPT = 1400
"""Bytes of a request, about 350 tokens."""
MANY = 5000
"""Above so many requests one turn is enough."""


class Run(NamedTuple):
    seconds: float
    """All but starting Python and loading modules."""
    megabytes: float
    """Peak resident memory."""


def write_requests(path: Path, count: int) -> None:
    words = "In one sentence that names its subject first and ends with its object, say what is known: "
    bodies = [
        canonical(
            {
                "max_completion_tokens": 800,
                "messages": [{"role": "user", "content": f"{number} {words * (PROMPT // len(words))}"}],
                "temperature": 0,
            }
        )
        for number in range(count)
    ]
    names = [f"r{number}" for number in range(count)]
    write_parquet(pa.table({"request": names, "body": bodies}, schema=REQUESTS), path)


async def ask_bare(path: Path, url: str, concurrency: int) -> None:
    """What one would write by hand: workers that take requests from a queue."""
    bodies = iter(pq.read_table(path)["body"].to_pylist())
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def work() -> None:
            for body in bodies:
                answer = await client.chat.completions.create(model="tiny", **json.loads(body))
                assert answer.choices[0].message.content

        await asyncio.gather(*(work() for _ in range(concurrency)))


@contextlib.contextmanager
def serving() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "support.chat_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


def store_rates(folder: Path, count: int) -> list[list[str]]:
    """Answers a second that are kept by the store, by it waiting for the disk, and as lines of JSON."""
    choice = {"message": {"content": "x" * PROMPT}, "finish_reason": "stop"}
    reply = read_reply(json.dumps({"choices": [choice], "model": "tiny"}).encode())
    write_requests(folder / "store.parquet", count)
    requests = [each for batch in read_requests(folder / "store.parquet", "tiny") for each in batch]

    def keep(name: str, level: str) -> float:
        with Store(folder / name) as store:
            store._connection.execute(f"PRAGMA synchronous = {level}")
            started = time.monotonic()
            for request in requests:
                store.keep(request, "tiny", reply, 1)
            return count / (time.monotonic() - started)

    def append(wait: bool) -> float:
        started = time.monotonic()
        with (folder / "lines.jsonl").open("ab", buffering=0) as file:
            for request in requests:
                row = {"key": request.key, "body": request.text} | reply._asdict()
                file.write(json.dumps(row).encode() + b"\n")
                if wait:
                    os.fsync(file)
        return count / (time.monotonic() - started)

    rates = {
        "the store": keep("normal", "NORMAL"),
        "the store, waiting for the disk each time": keep("full", "FULL"),
        "lines of JSON": append(False),
        "lines of JSON, waiting for the disk each time": append(True),
    }
    return [[way, f"{rate:,.0f}"] for way, rate in rates.items()]


def measured(way: str, requests: Path, place: Path, url: str, concurrency: int) -> Run:
    """Asks in a process of its own, `way` being `ask` or `bare`."""
    command = [sys.executable, __file__, "--way", way, str(requests), str(place), url]
    done = subprocess.run(
        [*command, "--concurrency", str(concurrency)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return Run(*json.loads(done.stdout.splitlines()[-1]))


def run(way: str, requests: Path, place: Path, url: str, concurrency: int) -> None:
    """What such a process does; its last line tells seconds and megabytes."""
    settings = json.dumps({"model": "tiny", "base_url": url, "concurrency": concurrency})
    started = time.monotonic()
    if way == "bare":
        asyncio.run(ask_bare(requests, url, concurrency))
    else:
        ask(
            requests,
            place / "store",
            read_settings(settings, Chat, "chat"),
            place / "answers.parquet",
            PRICES,
        )
    print(json.dumps([time.monotonic() - started, peak()]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3, help=f"up to {MANY} requests; one above")
    parser.add_argument("--answers", type=int, default=2000, help="that are kept, to time the store")
    add_record(parser)
    parser.add_argument("--way", nargs=4, metavar=("WAY", "FILE", "DIR", "URL"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        way, requests, place, url = given.way
        run(way, Path(requests), Path(place), url, given.concurrency)
        return 0
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    rows = []
    with tempfile.TemporaryDirectory() as name, serving() as url:
        folder = Path(name)
        kept = store_rates(folder, given.answers)
        for count in given.requests:
            write_requests(folder / "r.parquet", count)
            ours, theirs = [], []
            for turn in range(given.turns if count <= MANY else 1):
                (place := folder / f"{count}-{turn}").mkdir()
                asked = (folder / "r.parquet", place, url, given.concurrency)
                theirs.append(measured("bare", *asked))
                ours.append(measured("ask", *asked))
            rate, other = (
                count / statistics.median(each.seconds for each in runs) for runs in (ours, theirs)
            )
            rows.append(
                [
                    f"{count:,}",
                    f"{other:,.0f}",
                    f"{rate:,.0f}",
                    f"{rate / other:.2f}",
                    f"{max(each.megabytes for each in theirs):,.0f}",
                    f"{max(each.megabytes for each in ours):,.0f}",
                ]
            )
    header = ["requests", "bare client, /s", "`chat ask`, /s", "ratio", "bare client, MB", "`chat ask`, MB"]
    command = f"`benchmarks/chat.py --concurrency {given.concurrency}`"
    note = (
        f"{command}: all but loading modules; median of {given.turns} turns (one above {MANY:,} requests); "
        "peak resident memory. Server and client share the machine."
    )
    record("Asking a chat model", header, rows, note, given.record)
    note = (
        f"{command}: one transaction or line an answer, {given.answers:,} of about "
        f"{2 * PROMPT / 1000:.0f} kB."
    )
    record("Keeping answers", ["kept by", "answers/s"], kept, note, given.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())

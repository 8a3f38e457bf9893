"""Fixtures for the tests of the chat package: tables of requests, settings, and the command line."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.chat_server import ChatServer, chat_serving
from support.waiting import LONGEST

from factdrift.chat.ask import ask
from factdrift.chat.requests import REQUESTS
from factdrift.chat.settings import Chat
from factdrift.core.keys import read_settings
from factdrift.core.paths import PRICES
from factdrift.core.tables import write_parquet

MODEL = "tiny"


class Bench:
    """A folder with requests, a store and answers, and a server to ask."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder, self.server = folder, server
        self.requests, self.store = folder / "requests.parquet", folder / "store"
        self.output = folder / "answers.parquet"
        self.options: dict[str, Any] = {"model": MODEL, "base_url": server.url, "concurrency": 16}
        self.options |= {"backoff": 0.01}

    def write(self, count: int, start: int = 0) -> None:
        names = [f"r{number}" for number in range(start, start + count)]
        self.write_bodies({name: {"messages": [{"role": "user", "content": name}]} for name in names})

    def write_bodies(self, bodies: dict[str, dict[str, Any]]) -> None:
        limits = {"max_completion_tokens": 50}
        columns = {"request": list(bodies), "body": [json.dumps(limits | body) for body in bodies.values()]}
        write_parquet(pa.table(columns, schema=REQUESTS), self.requests)

    def chat(self, **options: Any) -> str:
        return json.dumps(self.options | options)

    def ask(self, prices: Path = PRICES, **options: Any) -> list[dict[str, Any]]:
        """The answers, by `factdrift chat ask` in this process."""
        ask(self.requests, self.store, read_settings(self.chat(**options), Chat, "chat"), self.output, prices)
        return self.answers()

    def statuses(self, *prices: Path, **options: Any) -> list[str]:
        """What became of each request."""
        return [answer["status"] for answer in self.ask(*prices, **options)]

    def start(self, **options: Any) -> subprocess.Popen[str]:
        """`factdrift chat ask` in a process of its own."""
        command = [sys.executable, "-c", "import sys; from factdrift.cli import main; sys.exit(main())"]
        command += ["chat", "ask", "--requests", str(self.requests), "--store", str(self.store)]
        command += ["--settings", self.chat(**options), "-o", str(self.output)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def signalled(self, number: int, when: Callable[[], bool]) -> tuple[int, str]:
        """Status and output of a run that gets a signal at the first request at which `when()` holds."""
        process: subprocess.Popen[str] | None = None
        sent = False

        def fault(path: str, body: Any, attempt: int) -> None:
            nonlocal sent
            if process and when() and not sent:
                sent = True
                process.send_signal(number)
                if number == signal.SIGKILL:
                    process.wait()

        self.server.fault = fault
        process = self.start()
        said, _ = process.communicate(timeout=LONGEST)
        return process.returncode, said

    def answers(self) -> list[dict[str, Any]]:
        return list(pq.read_table(self.output).to_pylist())

    def stored(self, columns: str = "*", table: str = "answers") -> list[tuple[Any, ...]]:
        """The rows of the store."""
        with contextlib.closing(sqlite3.connect(self.store / "answers.sqlite")) as connection:
            return connection.execute(f"SELECT {columns} FROM {table} ORDER BY key").fetchall()

    def most(self) -> int:
        """The largest number of times that one request was sent."""
        return max(self.server.asked.values(), default=0)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_serving() as server:
        yield server


@pytest.fixture
def bench(tmp_path: Path, server: ChatServer) -> Bench:
    return Bench(tmp_path, server)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """One dollar per token (a million dollars per million tokens)."""
    path = tmp_path / "prices.yaml"
    path.write_text("models:\n  tiny: {input: 1000000, output: 1000000}\n")
    return path

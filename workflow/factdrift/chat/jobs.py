"""Jobs that ask a chat model, and keep, export and import its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from factdrift.chat.settings import Chat
from factdrift.core.jobs import Flag, Job, Key, Output, Place
from factdrift.core.paths import PRICES

Placed = Flag(positional=True)


class Ask(Job, command="chat ask"):
    """Get the answers to a table of requests."""

    requests: Annotated[Path, "table of requests, .parquet"]
    store: Annotated[Place, "folder of the store of answers"]
    settings: Annotated[Chat, Key("chat")]
    prices: Annotated[Path, "table of prices"] = PRICES
    output: Annotated[Output, "table of answers, .parquet"]

    def run(self) -> None:
        from factdrift.chat.ask import ask

        ask(self.requests, self.store, self.settings, self.output, self.prices)


class Export(Job, command="chat export"):
    """Write a store as one Parquet file."""

    store: Annotated[Place, "folder of the store", Placed]
    output: Annotated[Output, "the file to write, .parquet", Placed]

    def run(self) -> str:
        from factdrift.chat.store import export_store

        return f"{self.output}: {export_store(self.store, self.output):,} answers"


class Import(Job, command="chat import"):
    """Add an exported file to a store."""

    file: Annotated[Path, "the exported file, .parquet", Placed]
    store: Annotated[Place, "folder of the store", Placed]

    def run(self) -> str:
        from factdrift.chat.store import import_store

        read, new = import_store(self.file, self.store)
        return f"{self.store}: {new:,} of {read:,} answers are new"

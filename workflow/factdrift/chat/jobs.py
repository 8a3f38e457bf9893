"""The job that asks a chat model and keeps its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from factdrift.chat.settings import Chat
from factdrift.core.jobs import Job, Key, Output, Place
from factdrift.core.paths import PRICES


class Ask(Job, command="chat ask"):
    """Get the answers to a table of requests."""

    requests: Annotated[Path, "table of requests, .parquet"]
    store: Annotated[Place, "folder of the store of answers"]
    settings: Annotated[Chat, Key("chat")]
    output: Annotated[Output, "table of answers, .parquet"]

    def run(self) -> None:
        from factdrift.chat.ask import ask

        ask(self.requests, self.store, self.settings, self.output, PRICES)

"""The command that judges anybody's answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from factdrift.chat.settings import Chat
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Output, Place
from factdrift.core.keys import read_settings


class Judge(Job, command="judge"):
    """Judge a model's written answers by rule: correct, stale, wrong, both, denied, refused, empty, unclear.

    factdrift judge answers.jsonl --output verdicts.parquet

    A row has `text` and `accepted`, and may have `question`, `stale`, `others`, `language` and `several`; it
    gets `verdict`, `answer`, `named`, `stop`, `reason`, `exact_match` and `contains`. Without --output the
    rows are printed. With `--judge MODEL` a chat model judges them, too (`judge`), and the agreement of both
    is printed.
    """

    answers: Annotated[Path, "JSON Lines or Parquet", Flag(positional=True)]
    judge: Annotated[str | None, "a chat model that judges, too", Flag("MODEL")] = None
    which: Annotated[Literal["unclear", "all"], "the answers that it judges"] = "all"
    address: Annotated[str, "of its server, with the OpenAI chat API [default: OpenAI's]", Flag("URL")] = ""
    chat: Annotated[dict[str, Any] | None, "keys of the part `chat` of a configuration"] = None
    store: Annotated[Place, "folder of the store of its answers"] = Path("chat_store")
    output: Annotated[Output | None, "JSON Lines or Parquet", Flag("TABLE")] = None

    def run(self) -> None:
        from factdrift.verdict.files import ModelJudge, judge_file

        judge = ModelJudge(self._chat(), self.store, self.which) if self.judge else None
        if not judge and (self.chat is not None or self.address):
            raise InputError("--chat, --address: no chat model judges; name one with --judge")
        if judge and self.output is None:
            raise InputError("--judge: name a file for the rows with --output; the agreement is printed")
        for line in judge_file(self.answers, self.output, judge):
            print(line)

    def _chat(self) -> Chat:
        keys = {**(self.chat or {}), "model": self.judge, "base_url": self.address}
        chat: Chat = read_settings(json.dumps(keys), Chat, "chat", "--chat")
        return chat

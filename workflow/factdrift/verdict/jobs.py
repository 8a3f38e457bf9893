"""The command that judges anybody's answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from factdrift.core.jobs import Flag, Job, Output


class Judge(Job, command="judge"):
    """Judge by rule what a model has written: correct, stale, wrong, both, denied, refused, empty, unclear.

    factdrift judge answers.jsonl --output verdicts.parquet

    A row has `text` and `accepted`, and may have `question`, `stale`, `others`, `language` and `several`; it
    gets `verdict`, `answer`, `named`, `stop` and `reason`. Without --output the rows are printed.
    """

    answers: Annotated[Path, "JSON Lines or Parquet", Flag(by_place=True)]
    output: Annotated[Output | None, "JSON Lines or Parquet", Flag("TABLE")] = None

    def run(self) -> None:
        from factdrift.verdict.files import judge_file

        for line in judge_file(self.answers, self.output):
            print(line)

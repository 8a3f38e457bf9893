"""The command line, run in this process."""

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factdrift.cli import main
from support.rows import Row, rows


def printed(*words: object) -> str:
    """The output of a command; asserts that it ends well."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert main([*map(str, words)]) == 0
    return output.getvalue()


def refusal(*words: object) -> str:
    """The message with which a command ends; asserts that it is no traceback."""
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert main([*map(str, words)]) == 1
    assert "Traceback" not in errors.getvalue()
    return errors.getvalue()


def files(folder: Path, **named: str) -> list[str]:
    """Options that name files of a folder: of `out_text="t.txt"`, `--out-text=FOLDER/t.txt`."""
    return [f"--{name.replace('_', '-')}={folder / file}" for name, file in named.items()]


def sending(folder: Path, of: Sequence[object], **chat: Any) -> list[object]:
    """Writes requests to a chat model about questions; the command that sends them."""
    settings = ["--settings", json.dumps(chat)]
    printed("answer", "requests", *of, *settings, *files(folder, output="requests.parquet"))
    paths = files(folder, requests="requests.parquet", store="store", output="replies.parquet")
    return ["chat", "ask", *paths, *settings]


def chatted(folder: Path, of: Sequence[object], **chat: Any) -> list[Row]:
    """The answers of a chat model to questions, by the three commands of the workflow."""
    printed(*sending(folder, of, **chat))
    paths = files(folder, answers="replies.parquet", out_run="run.json", output="read.parquet")
    printed("answer", "read", *of, *paths, "--settings", json.dumps(chat))
    return rows(folder / "read.parquet")

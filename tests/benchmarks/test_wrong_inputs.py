"""Wrong inputs of any command are refused in a line: a sample of benchmarks/wrong_inputs.py."""

import random
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from wrong_inputs import ENDLESS, TRACEBACK, WRONG, cases, kind_of, outcome

from factdrift import cli
from factdrift.core.jobs import JOBS


def _refuse(*_: object) -> None:
    raise ConnectionRefusedError("no other machine is reached here")


def test_a_sample_of_wrong_inputs_gives_no_traceback(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.parser()
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    pq.write_table(pa.table({"id": ["Q1"], "subject": [1], "objects": [[{"id": "Q2"}]]}), "right.parquet")
    every = [
        (command, name, prepare)
        for command in sorted(JOBS)
        # Importing PyTorch takes longer than all others together.
        if not JOBS[command].__module__.startswith(("factdrift.models", "factdrift.evaluation"))
        for name, prepare in cases(command, None, here / "wrong", [*WRONG])
    ]
    outcomes = {}
    for number, (_, name, prepare) in enumerate(random.Random(0).sample(every, 60)):
        wrong = here / "wrong"
        wrong.mkdir()
        outcomes[name] = outcome(prepare())
        wrong.rename(here / str(number))
    assert not {name: text for name, text in outcomes.items() if kind_of(text) in (TRACEBACK, ENDLESS)}
    refused = [text for text in outcomes.values() if kind_of(text) in ("exit 1", "exit 2")]
    assert len(refused) > 50

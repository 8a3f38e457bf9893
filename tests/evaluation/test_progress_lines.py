"""Each command that runs a model prints how far it is, and not only at the end."""

import json
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from support.asking import command, saved
from support.tiny_sentences import FACTS, row
from support.updates import dataset, edits

from factdrift.cli import main
from factdrift.core import progress
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.progress import read_line
from factdrift.core.tables import write_parquet
from factdrift.evaluation.locators.sentences import SENTENCES
from factdrift.evaluation.questions.cutoff import CHAINS, read_chains

ANSWER = {"text": "It is Marta.", "accepted": ["Marta"]}
TRY = '"The head of government of Atlantis is" Zoë --subject Atlantis --model tiny --dataset dataset.parquet'
IN_FEW_STEPS = '{"steps": 3}'
LINES = {
    "cutoff tiny --chains chains.parquet --answers answers.parquet": [
        "none on tiny: likelihoods",
        "date",
        "date: permutations",
    ],
    "cutoff tiny --chains chains.parquet --way written": ["none on tiny: writing"],
    f"edit try {TRY} --method ft --set '{IN_FEW_STEPS}'": ["likelihoods", "training of 1 edits"],
    f"edit try {TRY} --method lora --set '{IN_FEW_STEPS}'": ["adapters"],
    f"edit try {TRY} --method grace --set '{IN_FEW_STEPS}'": ["values"],
    f"edit try {TRY} --method wise --set '{IN_FEW_STEPS}'": ["side memories"],
    f"edit tune tiny --method ft --dataset dataset.parquet -o tuned.yaml --set '{IN_FEW_STEPS}'": [
        "none on tiny: likelihoods",
        "settings",
        "settings: ft on tiny: training of",
    ],
    "judge answers.jsonl --output verdicts.jsonl": ["judging answers.jsonl"],
    "locate run --sentences sentences.parquet --model tiny --locator activation --parts parts "
    "--output located.parquet --out-about about.json": ["activation on tiny: batches", "activation on tiny"],
}
"""A command by hand -> the work of which it prints lines."""
CPU = '{"device": "cpu", "length": 24}'
LOCATING = '{"edit_device": "cpu"}'


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    saved(folder / "tiny")
    dataset(folder / "dataset.parquet")
    living = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None]
    write_parquet(pa.Table.from_pylist(living[::200], CHAINS), folder / "chains.parquet")
    write_parquet(
        pa.Table.from_pylist([row(*fact) for fact in FACTS], SENTENCES), folder / "sentences.parquet"
    )
    (folder / "answers.jsonl").write_text(f"{json.dumps(ANSWER)}\n" * 3, encoding="utf-8")
    return folder


def work_of(text: str) -> list[str]:
    """The work of each line of progress; every line has a share."""
    lines = [line for line in map(read_line, text.splitlines()) if line]
    lines = [line for line in lines if not line.what.startswith("writing ")]  # of files
    assert all(line.share is not None for line in lines)
    return [line.what for line in lines]


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line.split()[:3]))
def test_a_command_that_runs_a_model_prints_lines_with_a_share(line, world, monkeypatch, capsys):
    monkeypatch.chdir(world)
    monkeypatch.setattr(progress, "EVERY", 0)
    words = shlex.split(line)
    if words[0] != "judge":
        words += ["--settings", LOCATING if words[0] == "locate" else CPU]
    assert main(words) == 0
    printed = work_of(capsys.readouterr().err)
    for name in LINES[line]:
        assert any(work.startswith(name) for work in printed), (name, sorted({*printed}))


def test_an_evaluation_names_the_method_before_the_work_inside_of_it(world, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "EVERY", 0)
    command(world / "tiny", tmp_path / "job", "updates", [edits(tmp_path, limit=2)], "ft")
    printed = work_of(capsys.readouterr().err)
    name = next(work for work in printed if work.startswith("ft on ") and ": " not in work)
    assert {f"{name}: training of 2 edits", f"{name}: likelihoods"} <= {*printed}

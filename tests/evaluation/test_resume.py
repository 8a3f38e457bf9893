"""Killed jobs continue with the same bytes in every kind of state, and only if nothing else has changed."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import torch
from support.asking import Told, ask, counted, state_of
from support.own_methods import write_examples
from support.questions import write_tables
from support.stream_updates import stream_edits
from support.tiny_edits import PREFIXES, add_method, shifted, tiny_artefacts, tiny_hyper
from support.tiny_models import TEXT, tiny_model
from support.updates import edits

from factdrift.core.keys import read_settings
from factdrift.evaluation import plan
from factdrift.evaluation.ability.measure import make_ability
from factdrift.evaluation.ability.record import AbilitySettings
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Prepared
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.items import read_tempripple
from factdrift.evaluation.questions.question import Tables

from .test_template import chatting

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:second moments")]


class State(NamedTuple):
    """A benchmark, and what a model is told when it is asked it."""

    benchmark: str
    method: str
    settings: dict[str, Any] = {}  # noqa: RUF012

    def __str__(self) -> str:
        return "-".join([self.benchmark, self.method, *map(str, self.settings.values())])


IN_TURN = {"regime": "sequential", "group": 2}
TEXT_BEFORE = {"text": "{prompt} {target}. "}
STATES = [
    State("updates", "none", {"batch": 4}),
    State("tempripple", "context", {"batch": 1}),
    State("tempripple", "shifted", {"batch": 1}),
    State("updates", "shifted", IN_TURN),
    State("updates", "prompt"),
    *(State("stream", method) for method in ("ft", "alphaedit", "ultraedit", "grace", "merge", "replay")),
    *(State("stream", method) for method in ("wise", "rag", "context_all", "prompt", "mine.py:edit")),
]


@pytest.fixture(autouse=True)
def _methods(monkeypatch) -> None:
    add_method(monkeypatch, "shifted", shifted)
    monkeypatch.setattr(plan, "CHUNK", 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = write_examples(tmp_path_factory.mktemp("tables"))
    edits(folder)
    write_tables(folder)
    stream_edits(folder / "stream_edits.parquet")
    return folder


def run(state: State, folder: Path, out: Path) -> Told:
    loaded = tiny_model("llama", positions=192)
    asked = {
        "updates": lambda: read_edits(folder / "edits.parquet"),
        "stream": lambda: read_edits(folder / "stream_edits.parquet"),
        "tempripple": lambda: read_tempripple(
            Tables([folder / "tr_items.parquet"], facts=folder / "tr_facts.parquet")
        ),
    }[state.benchmark]()
    if state.benchmark != "stream":
        given = state_of(state.method, **(TEXT_BEFORE if state.method == "prompt" else {}))
    elif "." in state.method:
        values = {"layer": 1, "lr": 0.01, "steps": 2}
        given = Prepared(read_hyper(f"{folder}/{state.method}", "tiny", values), Artefacts(PREFIXES))
    else:
        given = Prepared(tiny_hyper(state.method), tiny_artefacts(loaded))
    keys = {"answer_tokens": 2, "written_tokens": 2, **state.settings}
    return ask(loaded, asked, out, given, stream=state.benchmark == "stream", **keys)


@pytest.mark.parametrize("state", STATES, ids=str)
def test_a_killed_job_continues_and_writes_the_same_bytes(state, folder, tmp_path, monkeypatch):
    whole = run(state, folder, tmp_path / "whole")
    before = tiny_model("llama", positions=192).model.state_dict()
    with counted(monkeypatch, dies_at=2) as begun:
        run(state, folder, tmp_path / "killed")
    assert begun == [0, 1]
    assert not list((tmp_path / "killed").glob("*.parquet"))
    (kept,) = (tmp_path / "killed/run").iterdir()
    persistent = state.benchmark == "stream" and state.method != "mine.py:edit"
    assert [path.name for path in kept.glob("*.state.pt")] == ["000000.state.pt"] * persistent
    with counted(monkeypatch, dies_at=2) as begun:
        run(state, folder, tmp_path / "killed")
    assert begun == [1, 2]
    # What is in place is kept once, whatever the number of intervals.
    assert [path.name for path in kept.glob("*.state.pt")] == ["000001.state.pt"] * persistent
    with counted(monkeypatch) as begun:
        resumed = run(state, folder, tmp_path / "killed")
    assert begun == list(range(2, len(whole.costs)))
    assert resumed.bytes() == whole.bytes()
    assert not (tmp_path / "killed/run").exists()
    after = tiny_model("llama", positions=192).model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_steps_of_anything_else_are_not_taken_up(folder, tmp_path, monkeypatch):
    updates, loaded = read_edits(folder / "edits.parquet"), chatting("none")
    (folder / "held.txt").write_text("\n".join(TEXT), encoding="utf-8")
    abilities = []
    for tokens in (40, 20):
        keys = {"text": str(folder / "held.txt"), "tokens": tokens, "length": 16}
        settings = read_settings(json.dumps({"ability": keys}), AbilitySettings, "edit")
        abilities.append(make_ability(loaded, settings, 8192, [], 0))
    assert msgspec.to_builtins(abilities[0]) != msgspec.to_builtins(abilities[1])
    first = {"loaded": loaded, "given": "shifted", "ability": abilities[0], "written_tokens": 1, **IN_TURN}
    for name, other in {
        "method": {"given": state_of("prompt", **TEXT_BEFORE), "regime": "independent"},
        "value": {"given": state_of("shifted", factor=2)},
        "setting": {"length": 30},
        "text": {"ability": abilities[1]},
        "template": {"loaded": chatting()},
        "adapters": {"adapters": True},
    }.items():
        with counted(monkeypatch, dies_at=3):
            ask(benchmark=updates, out=tmp_path / name, **first)
        with counted(monkeypatch) as begun:
            ask(benchmark=updates, out=tmp_path / name, **(first | other))
        assert begun == [0, 1, 2], name

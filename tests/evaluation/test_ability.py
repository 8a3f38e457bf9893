"""What edits do to a model in general: held-out text, states, resumed jobs, tables, tasks."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from support.asking import ask, chance, saved, state_of
from support.commands import printed, refusal
from support.tiny_edits import FAILING, add_method, shifted
from support.tiny_models import TEXT, tiny_model
from support.updates import edits

from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings
from factdrift.evaluation.ability.measure import WRITTEN, make_ability
from factdrift.evaluation.ability.record import Ability, AbilitySettings, read_ability, write_ability
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Prepared
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Benchmark
from factdrift.evaluation.scores.groups import Group
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.scores.table import ability_lines
from factdrift.models.deltas import Deltas, LowRank, written
from factdrift.models.loaded import Loaded
from factdrift.models.texts import perplexity, sampled


@pytest.fixture(autouse=True)
def _methods(monkeypatch) -> None:
    add_method(monkeypatch, "shifted", shifted)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A folder with edits, held-out text and a model."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, fluency_sample=0)
    (folder / "held.txt").write_text("\n".join(TEXT), encoding="utf-8")
    saved(folder / "model")
    return folder


def ability_of(world: Path, **keys: Any) -> Ability:
    text = str(world / "held.txt")
    given = json.dumps({"ability": {"text": text, "tokens": 40, "length": 16} | keys})
    settings = read_settings(given, AbilitySettings, "edit")
    names = [edit.id for edit in updates_of(world).edits]
    return make_ability(tiny_model("llama", dtype=torch.float32), settings, 8192, names, 0)


def updates_of(world: Path) -> Benchmark:
    return read_edits(world / "edits.parquet")


def made(
    world: Path, out: Path, ability: Ability | None, given: Prepared | None = None, **keys: Any
) -> list[dict[str, Any]]:
    """The rows of EDITS, each with what is measured of its state."""
    loaded = tiny_model("llama", dtype=torch.float32)
    chosen = {"written_tokens": 1, **keys}
    told = ask(loaded, updates_of(world), out, given or state_of("shifted"), ability=ability, **chosen)
    states = {row["state"]: row for row in told.states}
    assert len(states) == len(told.states)
    return [states[row["state"]] | row for row in told.edits]


def together(loaded: Loaded, edits: list[Edit], factor: float = 1) -> Deltas:
    """One change for all edits that do not fail."""
    persistent = [edit for edit in edits if edit.id != FAILING]
    hyper = Hyper("", "", "", {"factor": factor})
    ((name, each),) = shifted(loaded, persistent, hyper, Artefacts()).deltas.items()
    return {name: LowRank(torch.cat([*each.read], 1)[None], torch.cat([*each.write], 1)[None])}


def test_a_group_is_measured_with_all_of_its_edits_in_place(world, tmp_path):
    ability, given = ability_of(world), {"regime": "sequential", "group": 2}
    rows = made(world, tmp_path / "one", ability, **given)
    assert [row["state"] for row in rows] == [0, 0, 1, 1, 2]
    loaded = tiny_model("llama", dtype=torch.float32)
    edits = updates_of(world).edits
    for state in (0, 1, 2):
        with written(loaded.model, together(loaded, edits[2 * state : 2 * state + 2]), 0):
            wanted = perplexity(loaded, ability.pieces)
        mine = [row["perplexity"] for row in rows if row["state"] == state]
        assert mine == pytest.approx([wanted] * len(mine), rel=1e-5)
    assert ability.perplexity == perplexity(loaded, ability.pieces)
    same = made(world, tmp_path / "same", ability, state_of("shifted", factor=0), **given)
    assert {row["perplexity"] for row in same} == {ability.perplexity}


def test_of_independent_edits_a_sample_is_measured_one_by_one(world, tmp_path):
    assert ability_of(world).edits == []
    ability = ability_of(world, sample=3)
    assert len(ability.edits) == 3
    rows = made(world, tmp_path, ability)
    assert [row["state"] for row in rows] == list(range(5))
    measured = {row["edit"]: row["perplexity"] for row in rows if row["perplexity"] is not None}
    assert set(measured) == {*ability.edits} - {FAILING}
    assert len(set(measured.values())) == len(measured)


def test_a_text_before_the_prompt_changes_no_model(world, tmp_path):
    prompt = state_of("prompt", text="{prompt} {target}. ")
    rows = made(world, tmp_path, ability_of(world, sample=5), prompt)
    assert len(rows) == 5
    assert all(row["perplexity"] is None for row in rows)


def test_text_that_the_model_writes_is_not_that_of_its_second_moments(world):
    loaded = tiny_model("llama", dtype=torch.float32)
    ability = ability_of(world, text="auto", length=24)
    assert (ability.text, ability.tokens) == (WRITTEN, 40)
    assert ability == ability_of(world, text="auto", length=24)
    texts = {
        tuple(loaded.tokenizer(text)["input_ids"])
        for seed in range(3)
        for text in sampled(loaded, "", 24, 16, seed)
    }
    assert not {tuple(row) for row in ability.pieces} & texts


def test_the_command_writes_what_the_job_reads(world, tmp_path):
    keys = {"text": str(world / "held.txt"), "tokens": 5000, "sample": 2}
    settings = {"device": "cpu", "dtype": "float32", "ability": keys}
    line = ["edit", "ability", "--model", str(world / "model"), "--edits", str(world / "edits.parquet")]
    path = tmp_path / "ability.json"
    line += ["-o", str(path)]
    assert "fewer tokens than the 5,000 wanted (edit.ability.tokens)" in printed(
        *line, "--settings", json.dumps(settings)
    )
    found = read_ability(path)
    assert (found.text, len(found.edits), found.results) == ("held.txt", 2, None)
    # The model of `world` is not the one of this digest.
    with pytest.raises(InputError, match="of another model than"):
        read_ability(path, tiny_model("llama"))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged, or not written by `factdrift edit ability`"):
        read_ability(path)
    with pytest.raises(InputError, match="no such file"):
        read_ability(tmp_path / "none.json")
    (world / "empty.txt").write_text("\n", encoding="utf-8")
    settings["ability"] = keys | {"text": [str(world / "empty.txt")]}
    assert "no text of two tokens or more" in refusal(*line, "--settings", json.dumps(settings))


def row(state: int, value: float | None, **tasks: dict[str, float]) -> dict[str, Any]:
    given = json.dumps(tasks) if tasks else None
    return {"state": state, "perplexity": value, "tasks": given, "text": "held.txt, 40 tokens"}


def group_of(method: str, *rows: dict[str, Any]) -> Group:
    return Group("m", "replace", method, [each | {"failed": None} for each in rows], {})


def test_a_model_with_several_edits_counts_once():
    rows = [row(0, 10.0, arc={"acc": 0.5}), row(0, 10.0, arc={"acc": 0.5}), row(1, 40.0, arc={"acc": 0.7})]
    found = group_of("ft", *rows, row(2, None)).abilities
    assert list(found) == ["Perplexity", "arc acc"]
    assert found["Perplexity"].mean == pytest.approx(20)
    half = 20 * 1.96 * (math.log(4) / math.sqrt(2)) / math.sqrt(2)
    assert found["Perplexity"].half == pytest.approx(half)
    assert (found["arc acc"].mean, found["arc acc"].n) == (pytest.approx(0.6), 2)
    groups = [group_of("none", *[row(0, 8.0)] * 3), group_of("ft", *rows), group_of("prompt", row(0, None))]
    said = list(ability_lines(groups))
    assert [line.split() for line in said[1:]] == [
        ["Perplexity", "arc", "acc", "Models"],
        ["no", "edit", "8", "-", "1"],
        ["FT", "20", "±27", "0.6", "±0.2", "2"],
        ["PROMPT", "-", "-", "-"],
        ["Perplexity", "on", "held.txt,", "40", "tokens;", "geometric", "means", "over", "edited", "models"],
    ]
    assert list(ability_lines([group_of("none", row(0, None))])) == []
    # One that is infinite is not hidden in a mean.
    found = group_of("ft", row(0, 3.0), row(1, math.inf)).abilities
    assert (found["Perplexity"].mean, found["Perplexity"].n) == (math.inf, 2)
    assert math.isnan(found["Perplexity"].half)


def test_scores_have_the_numbers_of_the_unedited_and_of_the_edited_model(world, tmp_path):
    ability, loaded = ability_of(world), tiny_model("llama", dtype=torch.float32)
    write_ability(ability, tmp_path / "ability.json")
    given = {"regime": "sequential", "group": 2, "written_tokens": 1}
    none, mine = (
        ask(loaded, updates_of(world), tmp_path / method, method, ability=ability, **given)
        for method in ("none", "shifted")
    )
    files = [none.files, mine.files]
    runs = Runs(
        edits=world / "edits.parquet",
        answers=[each.answers for each in files],
        made=[each.edits for each in files],
        states=[each.states for each in files],
        models=["tiny-llama"],
        methods=["none", "shifted"],
        abilities=[tmp_path / "ability.json"],
    )
    write_scores(runs, tmp_path / "scores.parquet", tmp_path / "joined.parquet")
    rows = pq.read_table(tmp_path / "scores.parquet").to_pylist()
    assert {(row["text"], row["perplexity_before"], row["tasks"]) for row in rows} == {
        ("held.txt, 40 tokens", ability.perplexity, None)
    }
    found = {(row["method"], row["edit"]): (row["state"], row["perplexity"]) for row in rows}
    of_state = {row["state"]: row["perplexity"] for row in mine.states}
    wanted = {("none", row["edit"]): (0, ability.perplexity) for row in none.edits}
    wanted |= {("shifted", row["edit"]): (row["state"], of_state[row["state"]]) for row in mine.edits}
    assert found == wanted


def test_tasks_need_lm_eval(world, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lm_eval", None)
    with pytest.raises(InputError, match=r"edit\.ability\.tasks: arc_easy need the package lm_eval"):
        ability_of(world, tasks=["arc_easy"])


TASK = """
task: capitals
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
output_type: multiple_choice
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""
QUESTIONS = [
    {"question": "The capital of Atlantis is", "choices": ["Poseidonis", "New Orleans"], "answer": 0},
    {"question": "Marta Kowalska lives in", "choices": ["the sea", "New Orleans"], "answer": 1},
    {"question": "The mother of Zoë Müller is", "choices": ["a baker", "Joe Biden"], "answer": 0},
]


@pytest.mark.slow
def test_tasks_are_run_on_the_edited_model(world, tmp_path, monkeypatch):
    from lm_eval import evaluator

    # What takes long and concerns no result: an index of all tasks of the package, an account of the machine.
    monkeypatch.setattr(evaluator, "TaskManager", partial(evaluator.TaskManager, include_defaults=False))
    monkeypatch.setattr(evaluator, "add_env_info", lambda results: None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    data = tmp_path / "questions.jsonl"
    data.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS), encoding="utf-8")
    task = tmp_path / "capitals.yaml"
    task.write_text(TASK.format(data=data), encoding="utf-8")
    ability = ability_of(world, tasks=[str(task)], tokens=0)
    state = torch.get_rng_state()
    rows = made(world, tmp_path, ability, state_of("shifted", factor=3), regime="sequential", group=5)
    assert torch.equal(torch.get_rng_state(), state)
    loaded = tiny_model("llama", dtype=torch.float32)

    def right() -> float:
        """The share of questions whose answer has the greatest sum of log-probabilities."""
        hits = []
        for one in QUESTIONS:
            chances = [chance(loaded, one["question"], choice, total=True) for choice in one["choices"]]
            hits.append(chances.index(max(chances)) == one["answer"])
        return sum(hits) / len(hits)

    assert ability.results == {"capitals": {"acc": pytest.approx(right())}}
    with written(loaded.model, together(loaded, updates_of(world).edits, 3), 0):
        wanted = {"capitals": {"acc": pytest.approx(right())}}
    assert [json.loads(row["tasks"]) for row in rows if row["failed"] is None] == [wanted] * 4
    with pytest.raises(InputError, match=r"edit\.ability\.tasks: nothing_known: lm-eval cannot run them"):
        ability_of(world, tasks=["nothing_known"], tokens=0)

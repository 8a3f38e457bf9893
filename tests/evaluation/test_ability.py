"""What edits do to a model in general: held-out text, states, resumed jobs, tables, tasks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from factdrift.evaluation.baseline import write_baseline  # noqa: E402
from factdrift.evaluation.questions.probes import read_aligned, read_updates, write_aligned  # noqa: E402
from support.tiny_edits import add_method  # noqa: E402
from support.tiny_models import TEXT, tiny_model, tiny_tokenizer  # noqa: E402
from support.updates import edits  # noqa: E402

from factdrift.cli import main  # noqa: E402
from factdrift.core.errors import InputError  # noqa: E402
from factdrift.core.keys import read_settings  # noqa: E402
from factdrift.evaluation import run  # noqa: E402
from factdrift.evaluation.ability.measure import WRITTEN, make_ability  # noqa: E402
from factdrift.evaluation.ability.record import Ability, read_ability, write_ability  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Prepared  # noqa: E402
from factdrift.evaluation.run import Files, write_run  # noqa: E402
from factdrift.evaluation.scores.general import measured_lines, measured_values  # noqa: E402
from factdrift.evaluation.scores.intervals import geometric  # noqa: E402
from factdrift.evaluation.scores.metrics import Runs, write_scores  # noqa: E402
from factdrift.evaluation.session import Job  # noqa: E402
from factdrift.evaluation.settings import AbilitySettings, Settings  # noqa: E402
from factdrift.models.deltas import LowRank, written  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402
from factdrift.models.perplexity import perplexity  # noqa: E402
from factdrift.models.scoring import generate  # noqa: E402
from factdrift.models.texts import sampled  # noqa: E402

FAILING = "Q3-P6"


def shifted(loaded: Loaded, given: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A method that adds a random matrix of rank one, scaled by its `factor`; one edit fails."""
    spec = loaded.spec
    read = torch.zeros(len(given), spec.inner, 1)
    write = torch.zeros(len(given), spec.hidden, 1)
    for place, edit in enumerate(given):
        make = torch.Generator().manual_seed(int(edit.id[1]))
        read[place] = hyper["factor"] * torch.randn(spec.inner, 1, generator=make)
        write[place] = torch.randn(spec.hidden, 1, generator=make)
    failed = {place: "it would not" for place, edit in enumerate(given) if edit.id == FAILING}
    return Edited(deltas={spec.module(1, spec.down): LowRank(read, write)}, failed=failed)


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    add_method(monkeypatch, "shifted", shifted)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with edits, aligned for the tiny tokenizer, held-out text and a model."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, fluency_sample=0)
    tables = (folder / f"{name}.parquet" for name in ("edits", "aligned", "unaligned"))
    write_aligned(tiny_tokenizer(), "tiny-llama", *tables)
    (folder / "held.txt").write_text("\n".join(TEXT), encoding="utf-8")
    tiny_model("llama", dtype=torch.float32).model.save_pretrained(folder / "model")
    tiny_tokenizer().save_pretrained(folder / "model")
    return folder


def ability_of(world: Path, **keys: Any) -> Ability:
    text = str(world / "held.txt")
    given = json.dumps({"ability": {"text": text, "tokens": 40, "length": 16} | keys})
    settings = read_settings(given, AbilitySettings, "edit")
    names = [update.edit.id for update in read_updates(world / "edits.parquet")]
    return make_ability(tiny_model("llama", dtype=torch.float32), settings, 8192, names, 0)


def made(
    world: Path, out: Path, ability: Ability | None, method: str = "shifted", factor: float = 1, **keys: Any
) -> list[dict[str, Any]]:
    """The rows of RUN_EDITS."""
    settings = read_settings(json.dumps({"batch": 2, "length": 24} | keys), Settings, "edit")
    loaded = tiny_model("llama", dtype=torch.float32)
    job = Job(loaded, read_aligned(world / "aligned.parquet"), settings, ability=ability)
    values = {"text": "{prompt} {target}. "} if method == "prompt" else {"factor": factor}
    hyper = Hyper(method, "tiny-llama", "", values)
    updates = read_updates(world / "edits.parquet", world / "unaligned.parquet")
    files = (out / "probes.parquet", out / "edits.parquet")
    write_run(job, updates, Prepared(hyper, Artefacts()), Files(out / "parts", *files))
    rows: list[dict[str, Any]] = pq.read_table(files[1]).to_pylist()
    return rows


def test_a_group_is_measured_with_all_of_its_edits_in_place(world: Path, tmp_path: Path) -> None:
    ability = ability_of(world)
    rows = made(world, tmp_path, ability, regime="sequential", group=2)
    assert [row["state"] for row in rows] == [0, 0, 1, 1, 2]
    loaded = tiny_model("llama", dtype=torch.float32)
    updates = {one.edit.id: one.edit for one in read_updates(world / "edits.parquet")}
    for state in (0, 1, 2):
        mine = [row for row in rows if row["state"] == state]
        lasting = [updates[row["edit"]] for row in mine if row["failed"] is None]
        hyper = Hyper("shifted", "", "", {"factor": 1})
        each = [shifted(loaded, [edit], hyper, Artefacts()).deltas for edit in lasting]
        name = loaded.spec.module(1, loaded.spec.down)
        total = LowRank(
            *(torch.cat([getattr(one[name], part) for one in each], 2) for part in ("read", "write"))
        )
        with written(loaded.model, {name: total}, 0):
            wanted = perplexity(loaded, ability.pieces)
        assert {row["edit"]: row["perplexity"] for row in mine if row["perplexity"]} == pytest.approx(
            {edit.id: wanted for edit in lasting}, rel=1e-5
        )
    assert ability.perplexity == perplexity(loaded, ability.pieces)


def test_of_independent_edits_a_sample_is_measured_one_by_one(world: Path, tmp_path: Path) -> None:
    ability = ability_of(world, sample=3)
    assert len(ability.edits) == 3
    rows = made(world, tmp_path, ability)
    assert [row["state"] for row in rows] == list(range(5))
    measured = {row["edit"]: row["perplexity"] for row in rows if row["perplexity"] is not None}
    assert set(measured) == {*ability.edits} - {FAILING}
    assert len(set(measured.values())) == len(measured)
    assert all(row["perplexity"] is None for row in made(world, tmp_path, ability_of(world)))
    assert all(row["perplexity"] is None for row in made(world, tmp_path, None))


def test_no_change_keeps_it_to_the_last_bit_and_a_large_one_destroys_the_model(
    world: Path, tmp_path: Path
) -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    start = loaded.tokenizer(TEXT[0])["input_ids"][:2]
    # What the model itself finds most probable.
    pieces = [[*start, *generate(loaded, [start], [40])[0]]]
    ability = msgspec.structs.replace(ability_of(world), pieces=pieces, perplexity=perplexity(loaded, pieces))
    group = {"regime": "sequential", "group": 5}
    found = [
        {row["perplexity"] for row in made(world, tmp_path, ability, factor=factor, **group)} - {None}
        for factor in (0, 1, 1e4)
    ]
    assert found[0] == {ability.perplexity}
    assert max(found[0]) < max(found[2])
    assert found[1] not in (found[0], found[2])


def test_a_text_before_the_prompt_changes_no_model(world: Path, tmp_path: Path) -> None:
    rows = made(world, tmp_path, ability_of(world, sample=5), "prompt")
    assert len(rows) == 5
    assert all(row["perplexity"] is None for row in rows)


def test_a_killed_job_goes_on_and_other_text_begins_anew(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ability, keys = ability_of(world), {"regime": "sequential", "group": 2}
    whole = made(world, tmp_path / "whole", ability, **keys)
    plain, batches = run._batch, list[Any]()

    def killed(*arguments: Any) -> Any:
        batches.append(arguments)
        if len(batches) in (3, 6):
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(run, "_batch", killed)
    with pytest.raises(KeyboardInterrupt):
        made(world, tmp_path / "resumed", ability, **keys)
    assert made(world, tmp_path / "resumed", ability, **keys) == whole
    assert len(batches) == 4  # of three batches the third was begun twice
    files = [tmp_path / name / "edits.parquet" for name in ("whole", "resumed")]
    assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(KeyboardInterrupt):
        made(world, tmp_path / "other", ability, **keys)
    other = ability_of(world, tokens=20)
    rows = made(world, tmp_path / "other", other, **keys)
    assert len(batches) == 6 + 3
    assert [row["perplexity"] for row in rows] != [row["perplexity"] for row in whole]


def test_text_that_the_model_writes_is_not_that_of_its_second_moments(world: Path) -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    ability = ability_of(world, text="auto", length=24)
    assert (ability.text, ability.tokens) == (WRITTEN, 40)
    assert ability == ability_of(world, text="auto", length=24)
    texts = {
        tuple(loaded.tokenizer(text)["input_ids"])
        for seed in range(20)
        for text in sampled(loaded, "", 24, 16, seed)
    }
    assert not {tuple(row) for row in ability.pieces} & texts


def test_the_command_writes_what_the_job_reads(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"text": str(world / "held.txt"), "tokens": 5000, "sample": 2}
    settings = {"device": "cpu", "dtype": "float32", "ability": keys}
    line = ["edit", "ability", "--model", str(world / "model"), "--edits", str(world / "edits.parquet")]
    line += ["--unaligned", str(world / "unaligned.parquet"), "-o", str(tmp_path / "ability.json")]
    assert main([*line, "--settings", json.dumps(settings)]) == 0
    assert "fewer tokens than the 5,000 wanted (edit.ability.tokens)" in capsys.readouterr().out
    found = read_ability(tmp_path / "ability.json")
    assert found.perplexity is not None
    assert (found.text, len(found.edits), found.results) == ("held.txt", 2, None)
    # The model of `world` is not the one of this digest.
    with pytest.raises(InputError, match="of another model than"):
        read_ability(tmp_path / "ability.json", tiny_model("llama"))
    (world / "empty.txt").write_text("\n", encoding="utf-8")
    settings["ability"] = keys | {"text": [str(world / "empty.txt")]}
    assert main([*line, "--settings", json.dumps(settings)]) == 1
    assert "no text of two tokens or more" in capsys.readouterr().err
    settings["ability"] = keys | {"length": 1}
    assert main([*line, "--settings", json.dumps(settings)]) == 1
    assert "length: 1 is less than the minimum of 2" in capsys.readouterr().err


def test_damaged_files_are_refused(world: Path, tmp_path: Path) -> None:
    path = tmp_path / "ability.json"
    with pytest.raises(InputError, match="no such file"):
        read_ability(path)
    write_ability(ability_of(world), path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged, or not written by `factdrift edit ability`"):
        read_ability(path)


def row(state: int, value: float | None, **tasks: dict[str, float]) -> dict[str, Any]:
    given = json.dumps(tasks) if tasks else None
    return {"state": state, "perplexity": value, "tasks": given, "text": "held.txt, 40 tokens"}


def test_a_model_with_several_edits_counts_once() -> None:
    rows = [row(0, 10.0, arc={"acc": 0.5}), row(0, 10.0, arc={"acc": 0.5}), row(1, 40.0, arc={"acc": 0.7})]
    found = measured_values([*rows, row(2, None)])
    assert list(found) == ["Perplexity", "arc acc"]
    assert found["Perplexity"].mean == pytest.approx(20)
    half = 20 * 1.96 * (math.log(4) / math.sqrt(2)) / math.sqrt(2)
    assert found["Perplexity"].half == pytest.approx(half)
    assert (found["arc acc"].mean, found["arc acc"].n) == (pytest.approx(0.6), 2)
    said = list(measured_lines({"no edit": [row(0, 8.0)] * 3, "X": rows, "PROMPT": [row(0, None)]}))
    assert [line.split() for line in said[1:]] == [
        ["Perplexity", "arc", "acc", "Models"],
        ["no", "edit", "8", "-", "1"],
        ["X", "20", "±27", "0.6", "±0.2", "2"],
        ["PROMPT", "-", "-", "-"],
        ["Perplexity", "on", "held.txt,", "40", "tokens;", "geometric", "means", "over", "edited", "models"],
    ]
    assert list(measured_lines({"no edit": [row(0, None)]})) == []


def test_one_infinite_perplexity_is_not_hidden_in_a_mean() -> None:
    found = geometric([3.0, math.inf])
    assert found is not None
    assert (found.mean, found.n) == (math.inf, 2)
    assert math.isnan(found.half)
    assert geometric([]) is None


def test_scores_have_the_numbers_of_the_unedited_and_of_the_edited_model(world: Path, tmp_path: Path) -> None:
    ability = ability_of(world)
    write_ability(ability, tmp_path / "ability.json")
    mine = made(world, tmp_path, ability, regime="sequential", group=2)
    settings = read_settings('{"length": 24}', Settings, "edit")
    job = Job(tiny_model("llama", dtype=torch.float32), read_aligned(world / "aligned.parquet"), settings)
    base = [tmp_path / "baseline.parquet", tmp_path / "clozes.parquet"]
    write_baseline(job, read_updates(world / "edits.parquet"), tmp_path / "base", *base)
    runs = Runs(
        edits=world / "edits.parquet",
        unaligned=[world / "unaligned.parquet"],
        base_probes=base[:1],
        base_clozes=base[1:],
        run_probes=[tmp_path / "probes.parquet"],
        run_edits=[tmp_path / "edits.parquet"],
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
    wanted = {("none", row["edit"]): (0, ability.perplexity) for row in mine}
    wanted |= {("shifted", row["edit"]): (row["state"], row["perplexity"]) for row in mine}
    assert found == wanted


def test_tasks_need_lm_eval(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_tasks_are_run_on_the_edited_model(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lm_eval", reason="lm-eval is installed with `pip install lm_eval`")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    data = tmp_path / "questions.jsonl"
    data.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS), encoding="utf-8")
    task = tmp_path / "capitals.yaml"
    task.write_text(TASK.format(data=data), encoding="utf-8")
    ability = ability_of(world, tasks=[str(task)], tokens=0)
    state = torch.get_rng_state()
    rows = made(world, tmp_path, ability, factor=3, regime="sequential", group=5)
    assert torch.equal(torch.get_rng_state(), state)
    loaded = tiny_model("llama", dtype=torch.float32)

    def right() -> float:
        """The share of questions whose answer has the greatest sum of log-probabilities."""
        hits = []
        for one in QUESTIONS:
            chances = []
            for choice in one["choices"]:
                ids = loaded.tokenizer(f"{one['question']} {choice}")["input_ids"]
                start = len(loaded.tokenizer(one["question"])["input_ids"])
                logs = loaded.model(torch.tensor([ids])).logits[0].log_softmax(-1)[start - 1 : -1]
                chances.append(logs.gather(1, torch.tensor(ids[start:])[:, None]).sum().item())
            hits.append(chances.index(max(chances)) == one["answer"])
        return sum(hits) / len(hits)

    assert ability.results == {"capitals": {"acc": pytest.approx(right())}}
    lasting = [one.edit for one in read_updates(world / "edits.parquet") if one.edit.id != FAILING]
    each = [shifted(loaded, [edit], Hyper("", "", "", {"factor": 3}), Artefacts()).deltas for edit in lasting]
    name = loaded.spec.module(1, loaded.spec.down)
    parts = [torch.cat([getattr(one[name], part) for one in each], 2) for part in ("read", "write")]
    with written(loaded.model, {name: LowRank(*parts)}, 0):
        wanted = right()
    for row in rows:
        if row["failed"] is None:
            assert json.loads(row["tasks"]) == {"capitals": {"acc": pytest.approx(wanted)}}
    with pytest.raises(InputError, match=r"edit\.ability\.tasks: nothing_known: lm-eval cannot run them"):
        ability_of(world, tasks=["nothing_known"], tokens=0)


def test_the_file_says_all_that_a_row_depends_on(world: Path, tmp_path: Path) -> None:
    ability = ability_of(world)
    write_ability(ability, tmp_path / "ability.json")
    assert read_ability(tmp_path / "ability.json") == ability
    other = msgspec.structs.replace(ability, tasks=["arc_easy"])
    assert str(other) != str(ability)

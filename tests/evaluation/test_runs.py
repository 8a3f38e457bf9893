"""Asking about updates: against plain transformers, in shards, with edits that fail, and adapters kept."""

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from support.asking import Told, ask, chance, counted, settings_with, state_of
from support.tiny_edits import FAILING, add_method, shifted
from support.tiny_models import tiny_model
from support.updates import edits, update

from factdrift.core.errors import InputError
from factdrift.evaluation import adapters, run
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Prepared
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.session import Session, excluded, process_peak_mb
from factdrift.evaluation.states.edited import Condition
from factdrift.models.deltas import written
from factdrift.models.loaded import Loaded

PROMPT = state_of("prompt", text="{prompt} {target}. ")


@pytest.fixture(autouse=True)
def _methods(monkeypatch) -> None:
    add_method(monkeypatch, "shifted", shifted)


@pytest.fixture(scope="module")
def updates(tmp_path_factory) -> Benchmark:
    return read_edits(edits(tmp_path_factory.mktemp("updates"), fluency_sample=0.5))


def tiny() -> Loaded:
    return tiny_model("llama", dtype=torch.float32)


def made(updates: Benchmark, out: Path, given: Prepared | str = "shifted", **options: Any) -> Told:
    return ask(tiny(), updates, out, given, **{"written_tokens": 4, **options})


def probes_of(updates: Benchmark) -> dict[str, Question]:
    return {each.id: each for each in updates.questions if "loglik" in each.ways}


def test_probes_of_an_edit_are_those_of_the_model_with_its_weights_changed_in_any_shard(updates, tmp_path):
    found = made(updates, tmp_path / "whole")
    assert sum(batch["edits"] for batch in found.costs) == 5
    assert all(batch["peak_mb"] > 0 and batch["edit_seconds"] > 0 for batch in found.costs)
    loaded, asked = tiny(), probes_of(updates)
    assert sorted(row["question"] for row in found.of_way("loglik")) == sorted(asked)
    for edit in updates.edits:
        deltas = shifted(loaded, [edit], Hyper("", "", "", {}), Artefacts()).deltas
        with written(loaded.model, deltas, 0):
            for row in [row for row in found.of_way("loglik") if row["edit"] == edit.id]:
                probe = asked[row["question"]]
                if edit.id == FAILING:
                    assert (row["logprobs"], row["reason"]) == (None, "edit_failed")
                    continue
                wanted = chance(loaded, probe.prompt, probe.targets[0])
                assert row["logprobs"] == pytest.approx([wanted], abs=1e-4)
                assert row["reason"] is None
    parts = [made(updates, tmp_path / str(place), shard=(place, 3)) for place in range(3)]
    for name in ("answers", "edits", "states"):
        assert [row for part in parts for row in getattr(part, name)] == getattr(found, name)
    assert [row["edit"] for row in found.edits] == [edit.id for edit in updates.edits]
    for row in found.edits:
        assert {name: row[name] for name in ("model", "method", "regime", "dtype", "excluded")} == {
            **{"model": "tiny-llama", "method": "shifted", "excluded": None},
            **{"regime": "independent", "dtype": "float32"},
        }
        failed = row["edit"] == FAILING
        assert (row["failed"], row["steps"] in (0, 1)) == (
            ("it would not", False) if failed else (None, True)
        )
    long = {each.id for each in updates.questions if each.long}
    written_ = {each.id for each in updates.questions if each.ways == ("written",)}
    assert 0 < len(long) < len(written_) == 3 * 5
    for row in found.of_way("written"):
        failed = row["edit"] == FAILING
        assert (row["output"] is None) == failed == (row["reason"] is not None)
        assert (row["entropy"] is not None) == (row["question"] in long and not failed)


def test_prompt_stands_before_each_probe(updates, tmp_path):
    loaded, asked = tiny(), probes_of(updates)
    of_id = {edit.id: edit for edit in updates.edits}
    for row in made(updates, tmp_path, PROMPT, adapters=True).of_way("loglik"):
        probe, edit = asked[row["question"]], of_id[row["edit"]]
        text = f"{edit.prompt} {edit.target}. {probe.prompt}"
        assert row["logprobs"] == pytest.approx([chance(loaded, text, probe.targets[0])], abs=1e-4)
    assert list((tmp_path / "adapters").iterdir()) == []  # no weight was changed


def test_edits_without_intervals_are_no_stream(updates, tmp_path):
    with pytest.raises(InputError, match="--stream: the edits of updates have no intervals"):
        made(updates, tmp_path, stream=True)


def test_a_batch_that_does_not_fit_is_halved(updates, tmp_path, monkeypatch):
    whole = made(updates, tmp_path / "whole")

    def hungry(loaded: Loaded, given: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
        if len(given) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return shifted(loaded, given, hyper, artefacts)

    add_method(monkeypatch, "shifted", hungry)
    halved = made(updates, tmp_path / "halved")
    assert halved.states == whole.states
    known = {(row["way"], row["question"]): row for row in whole.answers}
    assert len(halved.answers) == len(known)
    for row in halved.answers:
        other = known[row["way"], row["question"]]
        for name in ("logprobs", "entropy"):
            one, two = row.pop(name), other.pop(name)
            assert one == (two if two is None else pytest.approx(two, abs=1e-4))
        assert row == other


def test_output_that_is_not_finite_is_named_and_never_exact(updates, tmp_path):
    broken = tiny()
    broken.model.model.norm.weight.data.fill_(torch.nan)
    huge = made(updates, tmp_path / "huge", state_of("shifted", factor=1e30))
    for rows in (huge.answers, ask(broken, updates, tmp_path / "none", written_tokens=1).answers):
        lost = [row for row in rows if row["way"] == "loglik" and row["reason"] != "edit_failed"]
        assert lost
        for row in lost:
            assert (row["logprobs"], row["exact"], row["reason"]) == (None, [False], "not_finite")
            assert row["tokens"][0] > 0


class Merging:
    """A tokenizer one of whose tokens holds the end of `is` and the begin of a target."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer

    def __call__(self, text: str, **options: Any) -> Any:
        encoded = self._tokenizer(text, **options)
        place = text.find("America is Mar")
        if place >= 0:
            start = place + len("America i")
            encoded["offset_mapping"] = [
                (first, start + 4) if first <= start < last else (first, last)
                for first, last in encoded["offset_mapping"]
            ]
        return encoded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


def test_what_cannot_be_aligned_is_reported_and_left_out(tmp_path):
    given = [update("America", 1), update("Atlantis", 2)]
    given[1]["subject"]["label"] = "Atlantida"
    given.append(update("the sea", 3))
    updates, loaded = read_edits(edits(tmp_path, given)), tiny()
    object.__setattr__(loaded, "tokenizer", Merging(loaded.tokenizer))
    reasons = {"Q1-P6": "target_merged", "Q2-P6": "subject_missing"}
    assert excluded(loaded, updates) == reasons
    none = ask(loaded, updates, tmp_path / "none")
    assert {row["edit"]: row["excluded"] for row in none.edits} == reasons | {"Q3-P6": None}
    assert {row["edit"]: row["state"] for row in none.edits} == dict.fromkeys(reasons) | {"Q3-P6": 0}
    # Asked about is all that is aligned.
    lost = [(row["question"], row["reason"]) for row in none.of_way("loglik") if row["reason"]]
    assert lost == [("Q1-P6#0", "target_merged")]
    made = ask(loaded, updates, tmp_path / "made", state_of("shifted", failing=""))
    assert {row["edit"] for row in made.edits} == {"Q3-P6"} == {row["edit"] for row in made.answers}


def test_memory_is_in_megabytes_on_every_system():
    assert process_peak_mb(512_000, "linux") == 512
    assert process_peak_mb(512_000_000, "darwin") == 512


def kept(updates: Benchmark, out: Path, **options: Any) -> dict[str, dict[str, bytes]]:
    """The files of each adapter that a run keeps."""
    made(updates, out, adapters=True, **options)
    return files_of(out / "adapters")


def files_of(adapters: Path) -> dict[str, dict[str, bytes]]:
    return {
        folder.name: {file.name: file.read_bytes() for file in folder.iterdir()}
        for folder in sorted(adapters.iterdir())
    }


def test_adapters_of_the_edits_are_kept_whenever_a_run_is_killed(updates, tmp_path, monkeypatch):
    # When it has moved the adapters, before it removes its finished steps.
    with monkeypatch.context() as patch:
        patch.setattr(run.Checkpoints, "remove", lambda self: None)
        whole = kept(updates, tmp_path / "whole")
    assert list((tmp_path / "whole/run").iterdir())
    assert set(whole) == {edit.id for edit in updates.edits} - {FAILING}
    for edit in updates.edits[:2]:
        loaded = tiny()
        ids = torch.tensor([loaded.tokenizer(edit.prompt)["input_ids"]])
        deltas = shifted(loaded, [edit], Hyper("", "", "", {}), Artefacts()).deltas
        with written(loaded.model, deltas, 0):
            expected = loaded.model(ids).logits
        copy = deepcopy(loaded.model)  # peft changes the model that it is given
        read = PeftModel.from_pretrained(copy, str(tmp_path / "whole/adapters" / edit.id))
        assert (read(ids).logits - expected).abs().max() < 1e-4
        assert (loaded.model(ids).logits - expected).abs().max() > 1e-2
    assert kept(updates, tmp_path / "whole") == whole
    # When it writes an adapter.
    plain, begun = adapters.write_adapter, []

    def killed(*arguments: Any, **others: Any) -> None:
        begun.append(arguments)
        if len(begun) == 2:
            raise KeyboardInterrupt
        plain(*arguments, **others)

    monkeypatch.setattr(adapters, "write_adapter", killed)
    with pytest.raises(KeyboardInterrupt):
        kept(updates, tmp_path / "resumed")
    assert not (tmp_path / "resumed" / "adapters").exists()
    # What a job that cannot tidy up leaves behind.
    (parts,) = (tmp_path / "resumed" / "run").iterdir()
    (parts / "adapters" / ".Q9-P6.factdrift-node-1.part").mkdir()
    (parts / "000009.tables.parquet").touch()
    # And what a user keeps beside it.
    others = [parts.parent / name for name in ("notes.txt", "0123456789abcdef.txt", "data/000001.json")]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("of the user")
    assert kept(updates, tmp_path / "resumed") == whole
    assert sorted(path for path in parts.parent.rglob("*") if path.is_file()) == sorted(others)


def test_adapters_do_not_replace_files_of_a_user(updates, tmp_path):
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "mine.safetensors").write_text("of the user")
    with pytest.raises(InputError, match=r"mine\.safetensors in it was not written there"):
        kept(updates, tmp_path)
    assert [path.name for path in (tmp_path / "adapters").iterdir()] == ["mine.safetensors"]


def test_a_group_of_edits_is_one_adapter(updates, tmp_path):
    found = kept(updates, tmp_path, regime="sequential", group=3)
    assert [name.rpartition(".")[0] for name in found] == ["Q1-P6..Q3-P6", "Q4-P6..Q5-P6"]
    # The third failed.
    assert [json.loads(files["adapter_config.json"])["r"] for files in found.values()] == [2, 2]


def test_each_of_several_tellings_has_a_folder_of_adapters(updates, tmp_path, monkeypatch):
    """Edits at every block of a model, by a job that is killed in the second one."""
    factors = {"shifted@0": 1.0, "shifted@1": 2.0}
    conditions = [
        Condition(state_of("shifted", factor=factor), "independent", name) for name, factor in factors.items()
    ]
    files = Files.under(tmp_path, "run")._replace(adapters=tmp_path / "adapters")
    told = Run.of(Session(tiny(), settings_with(written_tokens=4)), updates, conditions, 0)
    with counted(monkeypatch, dies_at=4):
        evaluate(told, files)
    evaluate(told, files)
    for name, factor in factors.items():
        alone = kept(updates, tmp_path / name, given=state_of("shifted", factor=factor))
        assert files_of(tmp_path / "adapters" / name) == alone
    assert sorted(path.name for path in (tmp_path / "adapters").iterdir()) == list(factors)

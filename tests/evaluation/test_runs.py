"""Runs of methods over probes: against plain transformers, resumed, in shards, with edits that fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from peft import PeftModel  # noqa: E402
from support.tiny_edits import add_method  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402
from support.updates import edits, update  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.core.keys import read_settings  # noqa: E402
from factdrift.evaluation import keeping, run  # noqa: E402
from factdrift.evaluation.baseline import write_baseline  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Prepared  # noqa: E402
from factdrift.evaluation.questions.probes import read_aligned, read_updates, write_aligned  # noqa: E402
from factdrift.evaluation.run import Files, write_run  # noqa: E402
from factdrift.evaluation.session import Job, process_peak_mb  # noqa: E402
from factdrift.evaluation.settings import Settings  # noqa: E402
from factdrift.models.deltas import LowRank, written  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402

SETTINGS = read_settings('{"batch": 2, "length": 24}', Settings, "edit")
FAILING = "Q3-P6"


def shifted(loaded: Loaded, given: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A method that changes one matrix by random numbers that depend on the edit; one edit fails."""
    spec = loaded.spec
    read = torch.zeros(len(given), spec.inner, 1, dtype=loaded.dtype)
    write = torch.zeros(len(given), spec.hidden, 1, dtype=loaded.dtype)
    failed = {}
    for place, edit in enumerate(given):
        if edit.id == FAILING:
            failed[place] = "it would not"
            continue
        make = torch.Generator().manual_seed(int(edit.id[1]))
        read[place] = torch.randn(spec.inner, 1, generator=make, dtype=loaded.dtype)
        write[place] = torch.randn(spec.hidden, 1, generator=make, dtype=loaded.dtype)
    steps = torch.arange(len(given))
    return Edited(deltas={spec.module(1, spec.down): LowRank(read, write)}, failed=failed, steps=steps)


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    add_method(monkeypatch, "shifted", shifted)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with edits, aligned for the tiny tokenizer."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, fluency_sample=0.5)
    write_aligned(
        tiny_model("llama").tokenizer,
        "tiny-llama",
        folder / "edits.parquet",
        folder / "aligned.parquet",
        folder / "unaligned.parquet",
    )
    return folder


def job_of(world: Path, settings: Settings = SETTINGS, dtype: Any = torch.float32) -> Job:
    return Job(tiny_model("llama", dtype=dtype), read_aligned(world / "aligned.parquet"), settings)


def made(
    world: Path, out: Path, method: str = "shifted", shard: tuple[int, int] = (0, 1)
) -> list[dict[str, float]]:
    hyper = Hyper(method, "tiny-llama", "", {"text": "{prompt} {target}. "} if method == "prompt" else {})
    updates = read_updates(world / "edits.parquet", world / "unaligned.parquet")
    files = (out / "probes.parquet", out / "edits.parquet")
    return write_run(
        job_of(world), updates, Prepared(hyper, Artefacts()), Files(out / "parts", *files), shard
    )


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def chance(loaded: Loaded, text: str, target: str) -> float:
    """The mean log-probability of a target: of the tokens that the text alone has not."""
    ids = loaded.tokenizer(f"{text} {target}")["input_ids"]
    start = len(loaded.tokenizer(text)["input_ids"])
    logits = loaded.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return logits[start - 1 : -1].gather(1, torch.tensor(ids[start:])[:, None]).mean().item()


def test_probes_of_an_edit_are_those_of_the_model_with_its_weights_changed(
    world: Path, tmp_path: Path
) -> None:
    costs = made(world, tmp_path)
    assert sum(batch["edits"] for batch in costs) == 5
    assert all(batch["peak_mb"] > 0 and batch["edit_seconds"] > 0 for batch in costs)
    loaded = tiny_model("llama", dtype=torch.float32)
    updates = {each.edit.id: each for each in read_updates(world / "edits.parquet")}
    found = rows(tmp_path / "probes.parquet")
    assert {row["edit"] for row in found} == {*updates} - {FAILING}
    assert len(found) == sum(len(each.probes) for name, each in updates.items() if name != FAILING)
    for name, each in updates.items():
        if name == FAILING:
            continue
        deltas = shifted(loaded, [each.edit], Hyper("", "", "", {}), Artefacts()).deltas
        with written(loaded.model, deltas, 0):
            for row in [row for row in found if row["edit"] == name]:
                probe = each.probes[row["number"]]
                assert row["logprob"] == pytest.approx(
                    chance(loaded, probe["prompt"], probe["target"]), abs=1e-4
                )
                assert row["reason"] is None


def test_what_a_method_says_and_how_varied(world: Path, tmp_path: Path) -> None:
    made(world, tmp_path)
    found = {row["edit"]: row for row in rows(tmp_path / "edits.parquet")}
    updates = read_updates(world / "edits.parquet")
    assert [each.edit.id for each in updates] == list(found)
    assert found[FAILING]["failed"] == "it would not"
    assert (found[FAILING]["said"], found[FAILING]["fluency"], found[FAILING]["steps"]) == (None, None, None)
    for each in updates:
        row = found[each.edit.id]
        assert {name: row[name] for name in ("model", "method", "regime", "dtype")} == {
            **{"model": "tiny-llama", "method": "shifted"},
            **{"regime": "independent", "dtype": "float32"},
        }
        if row["failed"] is None:
            assert len(row["said"]) == 3
            assert (row["fluency"] is not None) == each.row["fluency"]
            assert row["fluency"] is None or row["fluency_full"] == pytest.approx(2 * row["fluency"])
            assert row["steps"] in (0, 1)
    assert {each.row["fluency"] for each in updates} == {True, False}


def test_prompt_stands_before_each_probe(world: Path, tmp_path: Path) -> None:
    made(world, tmp_path, "prompt")
    loaded = tiny_model("llama", dtype=torch.float32)
    updates = {each.edit.id: each for each in read_updates(world / "edits.parquet")}
    for row in rows(tmp_path / "probes.parquet"):
        probe, edit = updates[row["edit"]].probes[row["number"]], updates[row["edit"]].edit
        text = f"{edit.prompt} {edit.target}. {probe['prompt']}"
        assert row["logprob"] == pytest.approx(chance(loaded, text, probe["target"]), abs=1e-4)


def test_shards_make_the_same_rows(world: Path, tmp_path: Path) -> None:
    made(world, tmp_path / "whole")
    for place in range(3):
        made(world, tmp_path / str(place), shard=(place, 3))
    for name in ("probes.parquet", "edits.parquet"):
        parts = [row for place in range(3) for row in rows(tmp_path / str(place) / name)]
        assert parts == rows(tmp_path / "whole" / name)


def test_a_killed_job_goes_on_and_writes_the_same_bytes(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(world, tmp_path / "whole")
    plain, made_batches = run._batch, []

    def killed(*arguments: Any) -> Any:
        made_batches.append(arguments)
        if len(made_batches) == 3:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(run, "_batch", killed)
    with pytest.raises(KeyboardInterrupt):
        made(world, tmp_path / "resumed")
    assert not list((tmp_path / "resumed").glob("*.parquet"))
    made(world, tmp_path / "resumed")
    assert len(made_batches) == 4  # of three batches the third was begun twice
    for name in ("probes.parquet", "edits.parquet"):
        assert (tmp_path / "resumed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (tmp_path / "resumed" / "parts").exists()


def test_batches_of_other_settings_are_not_taken_up(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, made_batches = run._batch, []

    def counted(*arguments: Any) -> Any:
        made_batches.append(arguments)
        if len(made_batches) == 2:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(run, "_batch", counted)
    with pytest.raises(KeyboardInterrupt):
        made(world, tmp_path)
    made(world, tmp_path, "prompt")
    assert len(made_batches) == 2 + 3


def test_a_batch_that_does_not_fit_is_halved(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(world, tmp_path / "whole")

    def hungry(loaded: Loaded, given: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
        if len(given) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return shifted(loaded, given, hyper, artefacts)

    add_method(monkeypatch, "shifted", hungry)
    made(world, tmp_path / "halved")
    pairs = zip(*(rows(tmp_path / name / "probes.parquet") for name in ("halved", "whole")), strict=True)
    for halved, whole in pairs:
        assert halved.pop("logprob") == pytest.approx(whole.pop("logprob"), abs=1e-4)
        assert halved == whole


def test_the_baseline_is_the_model_as_loaded(world: Path, tmp_path: Path) -> None:
    updates = read_updates(world / "edits.parquet")
    files = (tmp_path / "probes.parquet", tmp_path / "clozes.parquet")
    write_baseline(job_of(world), updates, tmp_path / "parts", *files)
    loaded = tiny_model("llama", dtype=torch.float32)
    asked = {(each["prompt"], each["target"]) for one in updates for each in one.probes}
    found = rows(files[0])
    assert [(row["prompt"], row["target"]) for row in found] == sorted(asked)
    for row in found:
        assert row["logprob"] == pytest.approx(chance(loaded, row["prompt"], row["target"]), abs=1e-4)
    clozes = {row["prompt"]: row for row in rows(files[1])}
    assert set(clozes) == {prompt for one in updates for _, prompt in one.clozes()}
    long = {prompt for one in updates if one.row["fluency"] for _, prompt in one.clozes()[1:]}
    assert {prompt for prompt, row in clozes.items() if row["entropy"] is not None} == long
    again = (tmp_path / "again.parquet", tmp_path / "again-clozes.parquet")
    write_baseline(job_of(world), updates, tmp_path / "parts", *again)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files]


def test_output_that_is_not_finite_is_named_and_never_exact(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def huge(loaded: Loaded, given: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
        found = shifted(loaded, given, hyper, artefacts)
        (delta,) = found.deltas.values()
        assert isinstance(delta, LowRank)
        for factor in (delta.read, delta.write):
            factor *= 1e30
        return found

    add_method(monkeypatch, "shifted", huge)
    made(world, tmp_path)
    found = rows(tmp_path / "probes.parquet")
    assert found
    for row in found:
        assert (row["logprob"], row["exact"], row["reason"]) == (None, False, "not_finite")
        assert row["tokens"] > 0
    job = job_of(world)
    broken = job.loaded.model.model.norm.weight
    monkeypatch.setattr(broken, "data", torch.full_like(broken.data, torch.nan))
    files = (tmp_path / "base.parquet", tmp_path / "clozes.parquet")
    write_baseline(job, read_updates(world / "edits.parquet"), tmp_path / "parts", *files)
    for row in rows(files[0]):
        assert (row["logprob"], row["exact"], row["tokens"] > 0) == (None, False, True)


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


def test_what_cannot_be_aligned_is_reported_and_left_out(tmp_path: Path) -> None:
    given = [update("America", 1), update("Atlantis", 2)]
    given[1]["subject"]["label"] = "Atlantida"
    given.append(update("the sea", 3))
    path = edits(tmp_path, given)
    out = (tmp_path / "aligned.parquet", tmp_path / "unaligned.parquet")
    total, lost = write_aligned(Merging(tiny_model("llama").tokenizer), "tiny-llama", path, *out)
    assert (len(rows(out[0])), total) == (
        total,
        len({(row["prompt"], row["target"]) for row in rows(out[0])}),
    )
    assert lost == 1
    left = [(row["edit"], row["role"], row["reason"], row["excludes"]) for row in rows(out[1])]
    assert left == [
        ("Q1-P6", "edit", "target_merged", True),
        ("Q1-P6", "update", "target_merged", True),
        ("Q2-P6", "edit", "subject_missing", True),
    ]
    assert [each.edit.id for each in read_updates(path, out[1])] == ["Q3-P6"]
    assert ("The head of government of America is", "Marta") not in read_aligned(out[0])


def test_memory_is_in_megabytes_on_every_system() -> None:
    assert process_peak_mb(512_000, "linux") == 512
    assert process_peak_mb(512_000_000, "darwin") == 512


def kept(world: Path, out: Path, settings: Settings = SETTINGS) -> dict[str, dict[str, bytes]]:
    """The files of each adapter that a run keeps."""
    updates = read_updates(world / "edits.parquet", world / "unaligned.parquet")
    files = (out / "probes.parquet", out / "edits.parquet", out / "adapters")
    hyper = Hyper("shifted", "tiny-llama", "", {})
    *tables, adapters = files
    prepared, files = Prepared(hyper), Files(out / "parts", *tables, adapters)
    write_run(job_of(world, settings), updates, prepared, files)
    return {
        folder.name: {file.name: file.read_bytes() for file in folder.iterdir()}
        for folder in sorted((out / "adapters").iterdir())
    }


def test_adapters_of_the_edits_are_kept(world: Path, tmp_path: Path) -> None:
    found = kept(world, tmp_path)
    updates = read_updates(world / "edits.parquet")
    assert set(found) == {each.edit.id for each in updates} - {FAILING}
    for each in updates:
        if each.edit.id == FAILING:
            continue
        loaded = tiny_model("llama", dtype=torch.float32)
        ids = torch.tensor([loaded.tokenizer(each.edit.prompt)["input_ids"]])
        deltas = shifted(loaded, [each.edit], Hyper("", "", "", {}), Artefacts()).deltas
        with written(loaded.model, deltas, 0):
            expected = loaded.model(ids).logits
        copy = deepcopy(loaded.model)  # peft changes the model that it is given
        read = PeftModel.from_pretrained(copy, str(tmp_path / "adapters" / each.edit.id))
        assert (read(ids).logits - expected).abs().max() < 1e-4
        assert (loaded.model(ids).logits - expected).abs().max() > 1e-2


def test_a_killed_run_keeps_the_same_adapters(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = kept(world, tmp_path / "whole")
    plain, begun = keeping.write_adapter, []

    def killed(*arguments: Any, **others: Any) -> None:
        begun.append(arguments)
        if len(begun) == 2:
            raise KeyboardInterrupt
        plain(*arguments, **others)

    monkeypatch.setattr(keeping, "write_adapter", killed)
    with pytest.raises(KeyboardInterrupt):
        kept(world, tmp_path / "resumed")
    assert not (tmp_path / "resumed" / "adapters").exists()
    # What a job that cannot tidy up leaves behind.
    (parts,) = (tmp_path / "resumed" / "parts").iterdir()
    (parts / "adapters" / ".Q9-P6.factdrift-node-1.part").mkdir()
    (parts / "000009.tables.parquet").touch()
    # And what a user keeps beside it.
    others = [parts.parent / name for name in ("notes.txt", "0123456789abcdef.txt", "data/000001.json")]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("of the user")
    assert kept(world, tmp_path / "resumed") == whole
    assert sorted(path for path in parts.parent.rglob("*") if path.is_file()) == sorted(others)


def test_adapters_do_not_replace_files_of_a_user(world: Path, tmp_path: Path) -> None:
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "mine.safetensors").write_text("of the user")
    with pytest.raises(InputError, match=r"mine\.safetensors in it was not written there"):
        kept(world, tmp_path)
    assert [path.name for path in (tmp_path / "adapters").iterdir()] == ["mine.safetensors"]


def test_adapters_that_a_killed_run_had_moved_are_made_again(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run.Parts.remove
    monkeypatch.setattr(run.Parts, "remove", lambda self: None)
    whole = kept(world, tmp_path)
    assert list((tmp_path / "parts").iterdir())
    monkeypatch.setattr(run.Parts, "remove", plain)
    assert kept(world, tmp_path) == whole


def test_a_group_of_edits_is_one_adapter(world: Path, tmp_path: Path) -> None:
    settings = read_settings('{"regime": "sequential", "group": 3, "length": 24}', Settings, "edit")
    found = kept(world, tmp_path, settings)
    assert [name.rpartition(".")[0] for name in found] == ["Q1-P6..Q3-P6", "Q4-P6..Q5-P6"]
    said = [json.loads(files["factdrift.json"]) for files in found.values()]
    assert [[edit["id"] for edit in each["edits"]] for each in said] == [
        ["Q1-P6", "Q2-P6"],  # the third failed
        ["Q4-P6", "Q5-P6"],
    ]
    assert [json.loads(files["adapter_config.json"])["r"] for files in found.values()] == [2, 2]


def test_a_method_that_changes_no_weight_leaves_no_adapter(world: Path, tmp_path: Path) -> None:
    updates = read_updates(world / "edits.parquet", world / "unaligned.parquet")
    files = (tmp_path / "probes.parquet", tmp_path / "edits.parquet", tmp_path / "adapters")
    hyper = Hyper("prompt", "tiny-llama", "", {"text": "{prompt} {target}. "})
    *tables, adapters = files
    prepared = Prepared(hyper)
    write_run(job_of(world), updates, prepared, Files(tmp_path / "parts", *tables, adapters))
    assert list(adapters.iterdir()) == []

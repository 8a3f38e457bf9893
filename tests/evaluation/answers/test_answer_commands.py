"""`factdrift answer` from a model on disk to the tables, on an untrained model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from factdrift.evaluation.answer_settings import not_asked  # noqa: E402
from support.questions import write_tables  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.cli import main  # noqa: E402
from factdrift.core.errors import CannotEdit  # noqa: E402
from factdrift.evaluation.scores.answers import write_runs  # noqa: E402
from factdrift.models.loading import weights_digest  # noqa: E402

SETTINGS = json.dumps({"device": "cpu", "batch": 4, "answer_tokens": 2})
HYPER = json.dumps({"layers": [1], "steps": 2})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with items, facts and a model."""
    folder = tmp_path_factory.mktemp("bench")
    write_tables(folder)
    loaded = tiny_model("llama", dtype=torch.float32, positions=192)
    loaded.model.save_pretrained(folder / "model")
    loaded.tokenizer.save_pretrained(folder / "model")
    return folder


def asked(bench: Path, verb: str, name: str, *more: str) -> int:
    """`factdrift answer run | edited`, which writes NAME.parquet and NAME.json."""
    options = ["--items", str(bench / "tr_items.parquet"), "--model", str(bench / "model")]
    options += ["--settings", SETTINGS, "--parts", str(bench / name)]
    options += ["--out-run", str(bench / f"{name}.json"), "-o", str(bench / f"{name}.parquet")]
    return main(["answer", verb, *options, *more])


def test_from_a_model_to_the_tables(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = ["--facts", str(bench / "tr_facts.parquet")]
    assert asked(bench, "run", "unedited") == 0
    assert asked(bench, "edited", "ft", *facts, "--method", "ft", "--set", HYPER) == 0
    files: dict[str, Any] = {form: [str(bench / f"{name}.{form}") for name in ("unedited", "ft")]
                             for form in ("parquet", "json")}  # fmt: skip
    named = ["--items", str(bench / "tr_items.parquet"), *facts, "--draws", "50"]
    named += ["--predictions", *files["parquet"], "--runs", *files["json"]]
    outputs = [
        "--out-predictions",
        str(bench / "predictions.parquet"),
        "--out-runs",
        str(bench / "runs.json"),
    ]
    outputs += ["--out-tests", str(bench / "tests.json"), "-o", str(bench / "scores.parquet")]
    without = json.dumps(not_asked(str(bench / "model"), ["none", "ft", "prompt", "mine"]))
    assert main(["answer", "scores", *named, "--skipped", without, *outputs]) == 0
    read = [f"--{name}={bench / name}.{form}" for name, form in (("scores", "parquet"), ("tests", "json"))]
    read.append(f"--runs={bench / 'runs.json'}")
    assert main(["answer", "table", *read, "--output", str(bench)]) == 0
    said = capsys.readouterr().out
    assert "letter\nn (items/asked facts): 3/3, 2/2, 3/3, 2/2\n" in said
    inline = [*read[:2], "--runs", (bench / "runs.json").read_text(encoding="utf-8")]
    assert main(["answer", "table", *inline, "--output", str(bench)]) == 0
    assert said.endswith(capsys.readouterr().out)
    assert main(["answer", "table", "--scores", "none.parquet", *read[1:], "--output", str(bench)]) == 1
    assert "factdrift: --scores: none.parquet: no such file" in capsys.readouterr().err
    for runs in ("none.json", "@none.json"):
        assert main(["answer", "table", *read[:2], f"--runs={runs}", "--output", str(bench)]) == 1
        assert "factdrift: --runs: none.json: " in capsys.readouterr().err
    for table in ("table2", "table3"):
        text = (bench / f"{table}.txt").read_text(encoding="utf-8")
        assert "\nPROMPT skipped: it writes the fact before the question" in text
        assert "\nmine skipped: methods of your own are not asked about" in text
    predictions = pq.read_table(bench / "predictions.parquet").to_pylist()
    conditions = {(row["scoring"], row["condition"]) for row in predictions}
    assert conditions == {
        (way, one) for way in ("letter", "loglik") for one in ("without", "with", "edited-ft")
    }
    assert len(predictions) == 6 * 10
    unedited, edited, *_ = json.loads((bench / "runs.json").read_text(encoding="utf-8"))
    assert (unedited["method"], edited["method"]) == ("none", "ft")
    assert edited["hyper"]["layers"] == [1]
    assert unedited["run_id"] != edited["run_id"]
    assert unedited["costs"]["answer_seconds"] > 0


def test_the_same_run_writes_the_same_bytes(bench: Path) -> None:
    for name in ("one", "two"):
        assert asked(bench, "run", name) == 0
    assert (bench / "one.parquet").read_bytes() == (bench / "two.parquet").read_bytes()


@pytest.mark.parametrize(
    ("method", "values", "regime"),
    [
        ("alphaedit", {"layers": [1], "covariance": False, "steps": 2, "prefixes": []}, "independent"),
        ("ultraedit", {"layers": [1]}, "batch"),
        ("grace", {"layer": 1, "steps": 2}, "sequential"),
        ("rag", {}, "batch"),
    ],
)
def test_each_method_whose_edits_can_stand_for_the_context_is_asked(
    bench: Path, method: str, values: dict[str, Any], regime: str
) -> None:
    about = {"model": weights_digest(str(bench / "model"), "main"), "prefixes": [""]}
    (bench / "prefixes.json").write_text(json.dumps(about), encoding="utf-8")
    given = ["--facts", str(bench / "tr_facts.parquet"), "--method", method, "--set", json.dumps(values)]
    given += ["--settings", json.dumps(json.loads(SETTINGS) | {"regime": regime})]
    given += ["--prefixes", str(bench / "prefixes.json")]
    assert asked(bench, "edited", method, *given) == 0
    rows = pq.read_table(bench / f"{method}.parquet").to_pylist()
    assert {row["condition"] for row in rows} == {f"edited-{method}"}
    assert any(row["parsed"] is not None for row in rows)


def test_methods_that_cannot_be_asked_about_are_named(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = ["--facts", str(bench / "tr_facts.parquet")]
    assert asked(bench, "edited", "mend", *facts, "--method", "mend") == 1
    assert "mend: not an edit to ask about; there are ft, ft_l, rome, memit" in capsys.readouterr().err


def test_a_method_that_cannot_edit_the_model_is_skipped_with_the_reason(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--facts", str(bench / "tr_facts.parquet"), "--method", "ft"]
    given += ["--settings", json.dumps(json.loads(SETTINGS) | {"regime": "batch"})]
    assert asked(bench, "edited", "strict", *given, "--strict") == 1
    assert "edit.regime: batch: ft cannot edit so" in capsys.readouterr().err
    assert not (bench / "strict.parquet").exists()
    assert asked(bench, "edited", "skipped", *given) == 0
    assert pq.read_table(bench / "skipped.parquet").num_rows == 0
    about = json.loads((bench / "skipped.json").read_text(encoding="utf-8"))
    assert about["method"] == "ft"
    assert "batch is for memit" in about["skipped"]
    write_runs([json.loads((bench / "skipped.json").read_text())], bench / "all.json")
    with pytest.raises(CannotEdit, match="batch is for memit"):
        write_runs([json.loads((bench / "skipped.json").read_text())], bench / "none.json", strict=True)
    assert asked(bench, "edited", "rag", *given[:2], "--method", "rag") == 0
    about = json.loads((bench / "rag.json").read_text(encoding="utf-8"))
    assert "the index of rag has one update" in about["skipped"]
    said = capsys.readouterr().out
    assert "derived, not tuned: layers" in said
    assert "skipped: edit.regime" in said


def test_a_model_that_cannot_be_run_is_skipped_and_the_others_are_asked(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(bench / "model", tmp_path / "vision")
    (tmp_path / "vision/config.json").write_text('{"model_type": "qwen2_5_vl"}', encoding="utf-8")
    facts = ["--facts", str(bench / "tr_facts.parquet")]
    other = ["--model", str(tmp_path / "vision")]
    assert asked(bench, "run", "known") == 0
    assert asked(bench, "run", "lost", *other) == 0
    assert asked(bench, "edited", "lost-ft", *facts, "--method", "ft", *other) == 0
    assert asked(bench, "edited", "strict-ft", *facts, "--method", "ft", *other, "--strict") == 1
    names = ("known", "lost", "lost-ft")
    given = ["--items", str(bench / "tr_items.parquet"), *facts, "--draws", "50"]
    given += ["--predictions", *(str(bench / f"{name}.parquet") for name in names)]
    given += ["--runs", *(str(bench / f"{name}.json") for name in names)]
    given += [f"--out-{name}={tmp_path / name}" for name in ("predictions", "runs", "tests")]
    assert main(["answer", "scores", *given, "-o", str(tmp_path / "scores.parquet")]) == 0
    models = set(pq.read_table(tmp_path / "scores.parquet")["model"].to_pylist())
    assert models == {str(bench / "model")}
    read = [f"--scores={tmp_path / 'scores.parquet'}", f"--tests={tmp_path / 'tests'}"]
    assert main(["answer", "table", *read, f"--runs={tmp_path / 'runs'}", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"on {tmp_path / 'vision'}: skipped: models: " in said
    assert "is of the type 'qwen2_5_vl', for which" in said.split("Table")[-1]

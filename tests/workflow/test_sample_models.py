"""The bundled models recall the sample's facts after training by the workflow."""

import json
from pathlib import Path

import pytest
from support.workflow import ROOT, snakemake

from factdrift.cli import job_of, main
from factdrift.core.fingerprint import modules_of
from factdrift.core.paths import CONFIG, SHIPPED_MODELS
from factdrift.models.bundled.recipe import read_recipe
from factdrift.models.bundled.shipped import MADE, differences, read_made, source_of
from factdrift.models.names import BUNDLED


@pytest.mark.slow
@pytest.mark.parametrize(("name", "family"), [("sample-llama", "Llama"), ("sample-gpt2", "GPT-2")])
def test_the_facts_are_known(
    trained: Path, name: str, family: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = trained / "results" / "models" / name
    recall = read_recipe(CONFIG / "models" / f"{name}.yaml").expected
    assert recall > 0.8
    found = json.loads((folder / "recall.json").read_text())
    assert found["held_out"]["recall"] >= recall
    assert found["taught"]["recall"] >= recall
    assert found["held_out"]["sentences"] > 900
    assert main(["models", "describe", name, "--folder", str(folder.parent)]) == 0
    assert f"family               {family}" in capsys.readouterr().out
    # A change of the sample or of a sentence trains them anew, to ship again (docs/bundled-models.md).
    assert "taken as it ships" in (trained / "logs" / "models" / f"{name}.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_a_training_would_be_on_the_same_rows(trained: Path, name: str) -> None:
    """A change of the code that makes documents trains them anew, too.

    How rows become a model is tested with a small one (tests/models/test_bundled.py).
    """
    from factdrift.models.bundled.train import rows_of

    recipe = read_recipe(CONFIG / "models" / f"{name}.yaml")
    (sentences,) = trained.glob("results/*/models/sentences.parquet")
    made = read_made(SHIPPED_MODELS / name / MADE)
    assert not differences(made, source_of(sentences, recipe, 0))
    assert rows_of(sentences, recipe, 0).digest() == made.rows


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_the_weights_know_what_their_recall_says(trained: Path, name: str) -> None:
    """Asked again: what ships beside the weights could be of others."""
    from factdrift.models.bundled.train import recall
    from factdrift.models.loading import load

    (sentences,) = trained.glob("results/*/models/sentences.parquet")
    folder = SHIPPED_MODELS / name
    found = recall(load(str(folder), device="cpu", dtype="float32"), sentences)
    said = json.loads((folder / "recall.json").read_text())
    assert {group: each["sentences"] for group, each in found.items()} == {
        group: each["sentences"] for group, each in said.items()
    }
    for group in ("taught", "held_out"):
        assert found[group]["recall"] == pytest.approx(said[group]["recall"], abs=0.005)


@pytest.mark.slow
def test_nothing_is_trained_again(trained: Path):
    said = snakemake(trained, "--dry-run", "results/models/sample-llama", "results/models/sample-gpt2")
    assert "Nothing to be done" in said


def test_a_new_recipe_trains_again(tmp_path: Path):
    """Recipe and wording are inputs of the rules; the code of the training is in their fingerprints."""
    said = snakemake(tmp_path, "--dry-run", "--printshellcmds", "results/models/sample-gpt2", cores=1)
    for path in ("config/models/sample-gpt2.yaml", "config/models/sentences.yaml"):
        assert str(ROOT / path) in said
    assert "factdrift models train" in said
    assert "factdrift.models.bundled.train" in modules_of(job_of("models train"))

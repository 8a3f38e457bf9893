"""The bundled models recall the sample's facts after training by the workflow."""

import json

import pyarrow.parquet as pq
import pytest
from support.workflow import ROOT, snakemake

from factdrift.cli import job_of, main
from factdrift.core.fingerprint import modules_of
from factdrift.core.paths import CONFIG, SHIPPED_MODELS
from factdrift.models.bundled.recipe import read_recipe
from factdrift.models.bundled.shipped import MADE, differences, read_made, source_of


@pytest.mark.slow
@pytest.mark.parametrize(("name", "family"), [("sample-llama", "Llama"), ("sample-gpt2", "GPT-2")])
def test_the_facts_are_known(trained, name, family, tmp_path, capsys):
    from factdrift.models.bundled.train import recall
    from factdrift.models.loading import load

    folder = trained / "results" / "models" / name
    expected = read_recipe(CONFIG / "models" / f"{name}.yaml").expected
    assert expected > 0.8
    said = json.loads((folder / "recall.json").read_text())
    assert said["held_out"]["recall"] >= expected
    assert said["taught"]["recall"] >= expected
    assert said["held_out"]["sentences"] > 900
    assert main(["models", "describe", name, "--folder", str(folder.parent)]) == 0
    assert f"family               {family}" in capsys.readouterr().out
    # A change of the sample or of a sentence trains them anew, to ship again (docs/bundled-models.md).
    assert "taken as it ships" in (trained / "logs" / "models" / f"{name}.txt").read_text()
    # One fact in eight is asked again: what ships beside the weights could be of others.
    (sentences,) = trained.glob("results/*/models/sentences.parquet")
    table = pq.read_table(sentences)
    facts = set(sorted(set(table["fact"].drop_null().to_pylist()))[::8])
    some = table.filter([fact in facts for fact in table["fact"].to_pylist()])
    pq.write_table(some, tmp_path / "some.parquet")
    found = recall(load(str(folder), device="cpu", dtype="float32"), tmp_path / "some.parquet")
    for group in ("taught", "held_out"):
        assert found[group]["recall"] == pytest.approx(said[group]["recall"], abs=0.05)


@pytest.mark.slow
def test_a_training_would_be_on_the_same_rows(trained):
    """A change of the code that makes documents trains the models anew, too.

    How rows become a model is tested with a small one (tests/models/test_bundled.py).
    """
    from factdrift.models.bundled.train import rows_of

    recipe = read_recipe(CONFIG / "models" / "sample-llama.yaml")
    (sentences,) = trained.glob("results/*/models/sentences.parquet")
    made, source = read_made(SHIPPED_MODELS / "sample-llama" / MADE), source_of(sentences, recipe, 0)
    assert not differences(made, source)
    rows = {made.sentences: made.rows, **{later.sentences: later.rows for later in made.later}}
    assert rows_of(sentences, recipe, 0)[2] == rows[source.sentences]


def test_a_new_recipe_trains_again(tmp_path):
    """Recipe and wording are inputs of the rules; the code of the training is in their fingerprints."""
    said = snakemake(tmp_path, "--dry-run", "--printshellcmds", "results/models/sample-gpt2", cores=1)
    for path in ("config/models/sample-gpt2.yaml", "config/models/sentences.yaml"):
        assert str(ROOT / path) in said
    assert "factdrift models train" in said
    assert "factdrift.models.bundled.train" in modules_of(job_of("models train"))

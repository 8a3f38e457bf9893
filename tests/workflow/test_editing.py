"""Editing in the real workflow: the results on the bundled models, and a model that no entry names."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.digests import Check, Product
from support.workflow import jobs, snakemake

TARGET = "results/edit_scores.parquet"
METHODS = ["none", "ft", "ft_l", "mend", "rome", "memit", "prompt"]
FLOORS = {
    "sample-llama": {
        **{"rome": (0.85, 0.7), "memit": (0.65, 0.55), "ft": (0.85, 0.8), "mend": (0.75, 0.7)},
        "prompt": (0.5, 0.5),
    },
    "sample-gpt2": dict.fromkeys(("rome", "ft", "prompt"), (0.4, 0.4)),
}
"""Model -> method -> least gain in (efficacy, generalization) success over the unedited model.

Those of `sample-llama` are a tenth below the least of five trainings (`benchmarks/trainings.py`).
"""
EDITED: dict[str, dict[str, Any]] = {
    "sample-gpt2": {
        "models": ["sample-gpt2"],
        "methods": ["none", *FLOORS["sample-gpt2"]],
        "edit": {"fluency_sample": 0.1, "limit": 24},
    },
    "sample-llama": {"models": ["sample-llama"], "edit": {"fluency_sample": 0.1, "limit": 64}},
}
"""Model -> what is asked of it; the last one's results stay. Few long continuations, since they take half of
the time and no floor is about fluency."""


@pytest.fixture(scope="session")
def scores(trained: Path) -> dict[str, pd.DataFrame]:
    """Model -> its scores."""
    found = {}
    for model, asked in EDITED.items():
        said = snakemake(trained, TARGET, **asked)
        assert "Table 6" in said
        found[model] = pq.read_table(trained / TARGET).to_pandas()
    assert "Table 7" in said
    return found


@pytest.fixture(scope="session")
def edited(trained: Path, scores: dict[str, pd.DataFrame]) -> Path:
    """The `results` folder with every method on the last model."""
    return trained / "results"


@pytest.mark.slow
@pytest.mark.parametrize("model", FLOORS)
def test_every_method_on_the_bundled_models(model: str, scores: dict[str, pd.DataFrame]) -> None:
    found, asked = scores[model], EDITED[model]
    assert set(found["model"]) == {model}
    assert list(dict.fromkeys(found["method"])) == asked.get("methods", METHODS)
    assert found.groupby("method").size().min() >= 0.9 * asked["edit"]["limit"]
    assert found["failed"].isna().mean() > 0.99
    assert set(found["regime"]) == {"independent"}
    assert found["known_before"].mean() > 0.8
    means = found.groupby("method").mean(numeric_only=True)
    base = means.loc["none"]
    assert base[["bleedover_random", "bleedover_nearest"]].tolist() == [0, 0]
    assert base["efficacy_s"] < 0.1
    for method, (efficacy, generalization) in FLOORS[model].items():
        assert means.loc[method, "efficacy_s"] >= efficacy + base["efficacy_s"], method
        assert means.loc[method, "generalization_s"] >= generalization + base["generalization_s"], method


@pytest.mark.slow
def test_mend_is_not_asked_what_it_was_trained_on(edited: Path, scores: dict[str, pd.DataFrame]) -> None:
    split = edited / "2021-01-04_2023-02-27/edit/sample-llama/mend_split.json"
    practised = split.read_text(encoding="utf-8")
    own = scores["sample-llama"].query("method == 'mend'")
    assert not [subject for subject in own["subject"] if f'"{subject}"' in practised]


@pytest.mark.slow
def test_a_changed_hyperparameter_runs_that_method_again_and_nothing_else(edited: Path) -> None:
    asked = EDITED["sample-llama"]
    assert "Nothing to be done" in snakemake(edited.parent, TARGET, "--dry-run", **asked)
    changed = asked | {"rome": {"keys": "averaged"}}
    said = snakemake(edited.parent, TARGET, "--dry-run", "--quiet", "rules", **changed)
    found = jobs(said)
    assert found["evaluate"] == 1
    assert not {"edit_moments", "edit_mend", "sample_model"} & set(found)


@pytest.fixture
def unlisted(tmp_path: Path) -> Path:
    """A folder with an untrained model that no entry names and MEMIT cannot edit, a dataset and texts."""
    torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
    from support.tiny_models import TEXT, tiny_model, tiny_tokenizer
    from support.updates import dataset

    tiny_model("olmo2", dtype=torch.float32, layers=6).model.save_pretrained(tmp_path / "new")
    tiny_tokenizer().save_pretrained(tmp_path / "new")
    dataset(tmp_path / "updates.parquet")
    (tmp_path / "texts.txt").write_text("\n".join(TEXT * 20), encoding="utf-8")
    return tmp_path


def unlisted_config(folder: Path, *methods: str) -> dict[str, Any]:
    edit = {"dataset": str(folder / "updates.parquet"), "limit": 2, "length": 24, "device": "cpu"}
    given = {"models": [str(folder / "new")], "methods": list(methods), "edit": edit}
    return given | {"moments": {"corpus": [str(folder / "texts.txt")]}, "rome": {"prefixes": []}}


def test_jobs_of_a_model_that_no_entry_names(unlisted: Path) -> None:
    """The blocks whose second moments are counted follow from the model's configuration."""
    given = unlisted_config(unlisted, "none", "ft", "ft_l", "rome", "memit")
    said = snakemake(unlisted, TARGET, "--dry-run", "--printshellcmds", **given)
    assert jobs(said)["evaluate"] == 5
    (line,) = [line for line in said.splitlines() if line.strip().startswith("--layers")]
    assert line.split()[1:3] == ["0", "1"]


@pytest.mark.slow
def test_a_model_that_no_entry_names_is_edited_and_what_cannot_be_is_skipped(unlisted: Path) -> None:
    given = unlisted_config(unlisted, "none", "ft", "rome", "memit")
    said = snakemake(unlisted, TARGET, **given)
    assert "MEMIT skipped: methods: memit on" in said
    assert "ROME* derived, not tuned: layer 1 of 6; steps 25; weight_decay 0.001" in said
    scores = pq.read_table(unlisted / TARGET).to_pylist()
    assert {row["method"] for row in scores} == {"none", "ft", "rome"}
    sources = {row["method"]: row["source"] for row in scores}
    assert sources["none"] is None
    assert sources["ft"] == "derived, not tuned: layers 4 of 6"
    assert "use rome" in snakemake(unlisted, TARGET, fails=True, strict=True, **given)
    alone = given | {"methods": ["none", "memit"]}
    assert "none of them can edit a configured model" in snakemake(unlisted, TARGET, fails=True, **alone)


@pytest.mark.digests
@pytest.mark.slow
def test_digests_of_edits(edited: Path, digests: Check) -> None:
    """What does not depend on the processor: which edits were made by which method, and what was asked."""
    shared = ("model", "method", "edit")
    scores = Product("edit_scores.parquet", columns=(*shared, "kind", "scenario", "regime", "template"))
    folder = edited / "2021-01-04_2023-02-27"
    probes = Product(
        "edit/probes.parquet", columns=(*shared, "number", "role", "place", "prompt", "target", "tokens")
    )
    digests("edits", edited, [scores])
    digests("edits, probes", folder, [probes, "edit/edits.parquet"])

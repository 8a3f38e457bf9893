"""Locating in the real workflow: the jobs of a plan, and a locator from outside of the package."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.digests import Check, Product
from support.workflow import copied, jobs, snakemake

SCORES, AGAINST = "results/locate_scores.parquet", "results/locate_vs_edit.parquet"
LOCATORS = 15
MINE = '''
def locate(model, sentences, targets):
    """Blocks by the number of the sentence's tokens, the first one most."""
    rows = [[len(one.ids) / (1 + block) for block in range(model.spec.layers)] for one in sentences]
    return {"granularity": "layer", "scores": rows}
'''


@pytest.mark.slow
def test_jobs_by_model_locator_and_shard(tmp_path: Path) -> None:
    found = jobs(snakemake(tmp_path, SCORES, "--dry-run", "--quiet", "rules"))
    wanted = {"locate_sentences": 1, "locate_run": LOCATORS, "locate_gather": LOCATORS, "locate_scores": 1}
    wanted |= {"publish": 1, "sample_model": 1}
    assert {rule: found[rule] for rule in wanted} == wanted
    assert "evaluate" not in found
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    many: dict[str, Any] = {"models": ["EleutherAI/gpt-j-6b@float16", "sample-gpt2"], "locate": {"shards": 3}}
    many |= {"locators": ["causal_tracing", "mine.py:locate"]}
    found = jobs(snakemake(tmp_path, SCORES, "--dry-run", "--quiet", "rules", **many))
    assert (found["locate_run"], found["locate_gather"], found["sample_model"]) == (2 * 2 * 3, 2 * 2, 1)
    found = jobs(snakemake(tmp_path, AGAINST, "--dry-run", "--quiet", "rules", **many))
    assert (found["locate_run"], found["evaluate"], found["locate_moments"]) == (12, 2 * (1 + 3), 2)
    assert "locate_sentences" not in found


@pytest.mark.slow
def test_unknown_locators_and_keys_are_named(tmp_path: Path) -> None:
    for given, said in (
        ({"locators": ["magic"]}, "locators: magic: no such locator; there are activation, "),
        ({"locators": ["mine.py:locate"]}, "there is no file mine.py"),
        ({"locate": {"hyper": {"activation": {"colour": 1}}}}, "locate.hyper.activation.colour: no such key"),
        ({"locate": {"hyper": {"magic": {}}}}, "locators: magic: no such locator"),
        ({"locate": {"hyper": {"causal_tracing": {"samples": 0}}}}, "less than the minimum of 1"),
    ):
        # Before any job is looked for: Snakemake drops errors of input functions where outputs exist.
        assert said in snakemake(tmp_path, "results/wfd_repl.parquet", "--dry-run", fails=True, **given)


@pytest.mark.digests
@pytest.mark.slow
def test_own_locator_and_edits_at_every_block_of_a_bundled_model(
    trained: Path, tmp_path: Path, digests: Check
) -> None:
    run = copied(trained, tmp_path / "run")
    (run / "mine.py").write_text(MINE, encoding="utf-8")
    config: dict[str, Any] = {"models": ["sample-gpt2"], "locators": ["causal_tracing", "mine.py:locate"]}
    config |= {"locate": {"limit": 6, "edits": 6, "edit_methods": ["ft"], "shards": 2}}
    # KLoB stays as the model was taught it, so that the model is not trained again.
    config |= {"edit": {"fluency_sample": 0, "limit": 12}}
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

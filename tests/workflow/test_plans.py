"""The jobs of plans by model, method, locator and shard, and what is refused (plans.yaml)."""

from pathlib import Path

import pytest
import yaml
from support.workflow import jobs, joined, snakemake

from factdrift.core.paths import CONFIG

PLANS = yaml.safe_load(Path(__file__).with_name("plans.yaml").read_text(encoding="utf-8"))

FILES = {
    **dict.fromkeys(("held.txt", "to", "theirs/scores.json", "dataset.parquet", "probes.parquet"), ""),
    "twice.yaml": "seed: 1\nseed: 2\n",
    "mine.py": "def locate(model, sentences, targets): ...\ndef edit(model, tokenizer, update): ...\n",
}
"""The user's files, which plans only name."""


@pytest.mark.parametrize(
    "plan", [pytest.param(each, marks=[pytest.mark.slow] if each.get("slow") else []) for each in PLANS]
)
def test_what_is_planned_or_refused(plan, tmp_path, monkeypatch):
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    refused, config = plan.get("refused"), plan.get("config", {})
    line = [*plan["target"].split(), "--dry-run"]
    if "preset" in plan:
        line += ["--configfile", str(CONFIG / "presets" / plan["preset"])]
    said = joined(snakemake(tmp_path, *line, fails=bool(refused), **config))
    found, wanted, texts = jobs(said), plan.get("jobs", {}), plan.get("said", {})
    assert {rule: found.get(rule, 0) for rule in wanted} == wanted
    assert {text: said.count(text) for text in texts} == texts
    assert not refused or (refused in said and not (tmp_path / "results").exists())
    assert "Traceback (most recent" not in said  # without it, Snakemake names the function that refused

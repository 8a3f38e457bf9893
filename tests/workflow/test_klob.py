"""KLoB built from the bundled sample by the real workflow."""

import json
from collections import Counter

import pytest
from support.asking import saved
from support.digests import Product
from support.rows import rows
from support.workflow import copied, run_here, snakemake

PAIR = "2021-01-04_2023-02-27"


def test_every_relation_has_twenty_facts_and_there_are_two_hundred_chains(klob):
    facts = Counter(row["p1"] for row in rows(klob / "klob_c.parquet"))
    assert len(facts) == 32
    assert min(facts.values()) >= 20
    chains = rows(klob / "klob_r.parquet")
    assert len(chains) >= 200
    pairs = Counter((row["p1"], row["p2"]) for row in chains)
    assert max(pairs.values()) <= 0.1 * len(chains)


@pytest.mark.slow
def test_recall_filter_mquake_and_the_old_snapshot_by_configuration(built, tmp_path):
    copied(built, tmp_path)
    saved(tmp_path / "model", positions=1024)
    case = {
        "case_id": 1,
        "orig_triples": [["Q17", "P36", "Q1490"], ["Q1490", "P17", "Q17"]],
        "orig_triples_labeled": [["Japan", "capital", "Tokyo"], ["Tokyo", "country", "Japan"]],
    }
    (tmp_path / "mquake.json").write_text(json.dumps([case]), encoding="utf-8")
    # With templates for one relation only, few sentences are put to the model.
    templates = {"P36": ["[X] has the capital [Y]", "The capital of [X] is [Y]", "Of [X] the capital is [Y]"]}
    (tmp_path / "templates.json").write_text(json.dumps(templates), encoding="utf-8")
    recall = {"filter": "on", "model": "model", "revision": "main", "dtype": "float32"}
    chains = {"source": "mquake", "mquake": "mquake.json"}
    settings = {"templates": "templates.json", "r": chains, "c": {"quota": 1}, "u": {"size": 5}}
    settings["snapshot"] = "old"
    snakemake(tmp_path, "klob", klob=settings | {"recall": recall})
    results = tmp_path / "results"
    assert [path.parent.name for path in results.glob("snapshots/*/klob")] == ["2021-01-04"]
    assert json.loads((results / "klob_meta.json").read_text("utf-8"))["snapshot"]["date"] == "2021-01-04"
    # An untrained model knows nothing.
    assert rows(results / "klob_c.parquet") == rows(results / "klob_r.parquet") == []
    asked = rows(results / PAIR / "klob" / "klob_recall.parquet")
    assert len(asked) >= 3 * 20 + 4
    assert not any(row["matched"] for row in asked)
    (chain,) = rows(results / PAIR / "klob" / "chains.parquet")
    assert (chain["p1"], chain["p2"], chain["dropped_by"]) == (36, 17, None)


@pytest.mark.digests
def test_digests_of_klob_and_of_what_models_are_asked(klob, tmp_path, digests):
    """With the tables of edits and of locating before a model is run, which no processor changes."""
    folder = copied(klob.parent, tmp_path / "run")
    edits = [f"results/{PAIR}/edit/edits.parquet", f"results/{PAIR}/locate/edits.parquet"]
    locate = [f"results/{PAIR}/locate/{name}.sentences.parquet" for name in ("klob", "edits")]
    run_here(folder, *edits, *locate)
    tables = [f"results/{name}" for part in "cru" for name in (f"klob_{part}.parquet", f"KLoB-{part}.jsonl")]
    meta = Product("results/klob_meta.json", without=["snapshot"])
    digests("klob", folder, [*tables, meta, *edits, *locate])

"""KLoB built from the bundled sample by the real workflow."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.digests import Check, Product
from support.rows import rows
from support.workflow import copied, run_here, snakemake

from factdrift.klob.published import export, import_published

PAIR = "2021-01-04_2023-02-27"


def test_every_relation_has_twenty_facts_and_there_are_two_hundred_chains(klob: Path) -> None:
    facts = Counter(row["p1"] for row in rows(klob / "klob_c.parquet"))
    assert len(facts) == 32
    assert min(facts.values()) >= 20
    chains = rows(klob / "klob_r.parquet")
    assert len(chains) >= 200
    pairs = Counter((row["p1"], row["p2"]) for row in chains)
    assert max(pairs.values()) <= 0.1 * len(chains)


def test_the_metadata_count_the_examples(klob: Path) -> None:
    meta = json.loads((klob / "klob_meta.json").read_text(encoding="utf-8"))
    for name in "cru":
        dataset = klob / f"klob_{name}.parquet"
        assert meta["table1"][f"klob_{name}"]["examples"] == pq.read_metadata(dataset).num_rows
    assert sum(row["examples"] for row in meta["table2"]) == meta["table1"]["klob_c"]["examples"]
    assert meta["words"]["name"] == "web2"
    assert meta["snapshot"]["id"] == "2023-02-27"
    candidates = Counter(row["dropped_by"] for row in rows(klob / PAIR / "klob" / "facts.parquet"))
    assert sum(candidates.values()) == meta["table1"]["klob_c"]["examples"] + sum(
        meta["dropped"]["c"].values()
    )
    assert {"multi_valued", "leak", "alias_leak", "twin"} <= set(meta["dropped"]["c"])
    assert {"deprecated", "ended", "rank"} <= set(meta["dropped"]["statements"])


def test_published_layout_comes_back_byte_for_byte(klob: Path, tmp_path: Path) -> None:
    assert set(import_published(klob, tmp_path)) == set("cru")
    for name in "cru":
        export(tmp_path / f"klob_{name}.parquet", tmp_path / "back.jsonl")
        assert (tmp_path / "back.jsonl").read_bytes() == (klob / f"KLoB-{name}.jsonl").read_bytes()


def test_nothing_is_made_twice(klob: Path) -> None:
    assert "Nothing to be done" in snakemake(klob.parent, "klob", "--dry-run")


@pytest.mark.slow
def test_the_old_snapshot_can_be_asked(klob: Path, tmp_path: Path) -> None:
    directory = copied(klob.parent, tmp_path / "run")
    snakemake(directory, "results/klob_c.parquet", klob={"snapshot": "old", "c": {"quota": 2}})
    facts = rows(directory / "results" / "klob_c.parquet")
    assert {row["snapshot_id"] for row in facts} == {"2021-01-04"}
    assert max(Counter(row["p1"] for row in facts).values()) == 2


@pytest.mark.slow
def test_recall_filter_and_mquake_by_configuration(built: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip(
        "transformers", reason="language models are installed with `make models`"
    )
    tokenizers = pytest.importorskip("tokenizers")
    copied(built, tmp_path)
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0, "<end>": 1}, unk_token="<unk>"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="<unk>", eos_token="<end>"
    ).save_pretrained(tmp_path / "model")
    transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=2, n_positions=512, n_embd=8, n_layer=1, n_head=1)
    ).save_pretrained(tmp_path / "model")
    triples = [["Q17", "P36", "Q1490"], ["Q1490", "P17", "Q17"]]
    case = {
        "case_id": 1,
        "orig_triples": triples,
        "orig_triples_labeled": [["Japan", "capital", "Tokyo"], ["Tokyo", "country", "Japan"]],
    }
    (tmp_path / "mquake.json").write_text(json.dumps([case]), encoding="utf-8")
    # With templates for one relation only, few sentences are put to the model.
    templates = {"P36": ["[X] has the capital [Y]", "The capital of [X] is [Y]", "Of [X] the capital is [Y]"]}
    (tmp_path / "templates.json").write_text(json.dumps(templates), encoding="utf-8")
    settings = {
        "templates": "templates.json",
        "r": {"source": "mquake", "mquake": "mquake.json"},
        "c": {"quota": 1},
    }
    recall = {"filter": "on", "model": "model", "revision": "main", "dtype": "float32"}
    snakemake(tmp_path, "klob", klob=settings | {"recall": recall, "u": {"size": 5}})
    # A model of two tokens knows nothing.
    assert (
        rows(tmp_path / "results" / "klob_c.parquet") == rows(tmp_path / "results" / "klob_r.parquet") == []
    )
    asked = rows(tmp_path / "results" / PAIR / "klob" / "klob_recall.parquet")
    assert len(asked) >= 3 * 20 + 4
    (chain,) = rows(tmp_path / "results" / PAIR / "klob" / "mquake.parquet")
    assert (chain["p1"], chain["p2"], chain["dropped_by"]) == (36, 17, None)
    assert not any(row["matched"] for row in asked)


@pytest.mark.slow
def test_a_slice_in_which_there_is_nothing(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    item = {"type": "item", "id": "Q1", "labels": {}, "claims": {}, "sitelinks": {"enwiki": {"title": "x"}}}
    dump.write_text(f"[\n{json.dumps(item)}\n]\n", encoding="utf-8")
    keys: dict[str, Any] = {"dumps": {"2021-01-04": str(dump), "2023-02-27": str(dump)}}
    snakemake(tmp_path, "klob", slice=True, **keys)
    assert rows(tmp_path / "results" / "klob_c.parquet") == []
    assert (tmp_path / "results" / "KLoB-u.jsonl").read_bytes() == b""


@pytest.mark.digests
def test_digests_of_klob_and_of_what_models_are_asked(klob: Path, tmp_path: Path, digests: Check) -> None:
    """With the tables of edits and of locating before a model is run, which no processor changes."""
    folder = copied(klob.parent, tmp_path / "run")
    edits = [f"results/{PAIR}/edit/edits.parquet", f"results/{PAIR}/locate/edits.parquet"]
    locate = [f"results/{PAIR}/locate/{name}.sentences.parquet" for name in ("klob", "edits")]
    run_here(folder, *edits, *locate)
    tables = [f"results/klob_{part}.parquet" for part in "cru"] + [
        f"results/KLoB-{part}.jsonl" for part in "cru"
    ]
    meta = Product("results/klob_meta.json", without=["snapshot"])
    digests("klob", folder, [*tables, meta, *edits, *locate])

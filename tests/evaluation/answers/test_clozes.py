"""Cloze tests of KLoB and WikiFactDiff, put to an unedited model."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.asking import ask, chance  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.evaluation.questions.clozes import read_edits  # noqa: E402
from factdrift.evaluation.questions.klob import read_sentences  # noqa: E402
from factdrift.evaluation.questions.updates import EDITS  # noqa: E402
from factdrift.evaluation.scores.clozes import CLOZES, lines, shares, table_of  # noqa: E402


def probe(role: str, kind: str, prompt: str, target: str) -> dict[str, Any]:
    return {"role": role, "object": kind, "prompt": prompt, "target": target}


def example(folder: Path, subtask: str, said: list[tuple[str, str, str]]) -> Path:
    """A table of KLoB with one example of these (role, text, answer)."""
    sentences = [dict(zip(("role", "text", "target_label"), one, strict=True)) for one in said]
    row = {"example_id": f"{subtask}1", "subtask": subtask, "sentences": sentences}
    pq.write_table(pa.Table.from_pylist([row]), folder / f"klob_{subtask}.parquet")
    return folder / f"klob_{subtask}.parquet"


def tables(folder: Path) -> tuple[Path, Path]:
    """A KLoB-r example with a chain, and two updates, one of which has no obsolete object."""
    texts = {"single": "Marta Kowalska lives in", "chain": "The mother of Marta Kowalska is"}
    klob = example(folder, "r", [(role, text, "Joe Biden") for role, text in texts.items()])
    prompt = "The capital of Atlantis is"
    rows = []
    for name, old in (("one", "Poseidonis"), ("two", None)):
        probes = [probe("update", "new", prompt, "New Orleans"), probe("nearest", "neighbor", "It is", "a")]
        probes += [probe("update", "obsolete", prompt, old)] if old else []
        row = {"edit": name, "prompt": prompt, "target": "New Orleans", "new": "New Orleans"}
        row |= {"obsolete": old, "subject_label": "Atlantis", "probes": probes, "fluency": False}
        rows.append(dict.fromkeys(EDITS.names) | row)
    pq.write_table(pa.Table.from_pylist(rows, schema=EDITS), folder / "edits.parquet")
    return klob, folder / "edits.parquet"


def test_every_sentence_is_asked_as_transformers_would(tmp_path: Path) -> None:
    chains, edits = tables(tmp_path)
    loaded = tiny_model("llama", dtype=torch.float32)
    # What the model itself would write is completed; a text of more tokens than positions cannot be asked.
    ids = loaded.tokenizer("It is", return_tensors="pt").input_ids
    likeliest = loaded.tokenizer.decode(loaded.model(ids).logits[0, -1].argmax()).strip()
    own = [("expr", "It is", likeliest), ("expr", "It is " * 500, "a")]
    klob = [example(tmp_path, "c", own), chains]
    benchmarks = {"k": read_sentences(klob), "u": read_edits(edits)}
    asked = [ask(loaded, each, tmp_path / name).files.answers for name, each in benchmarks.items()]
    table = table_of(asked, klob, edits)
    assert table.schema.equals(CLOZES)
    found = table.to_pylist()
    assert [(row["benchmark"], row["role"], row["object"]) for row in found] == [
        ("klob_c", "expr", likeliest),
        ("klob_c", "expr", "a"),
        ("klob_r", "single", "Joe Biden"),
        ("klob_r", "chain", "Joe Biden"),
        ("wikifactdiff", "update, new", "New Orleans"),
        ("wikifactdiff", "update, old", "Poseidonis"),
        ("wikifactdiff", "update, new", "New Orleans"),
    ]
    assert (found[1]["exact"], found[1]["reason"]) == (None, "too_long")
    for row in [found[0], *found[2:]]:
        assert row["logprob"] == pytest.approx(chance(loaded, row["prompt"], row["object"]), abs=1e-4)
        before = loaded.tokenizer(row["prompt"]).input_ids
        whole = loaded.tokenizer(f"{row['prompt']} {row['object']}").input_ids
        logits = loaded.model(torch.tensor([whole])).logits[0]
        places = range(len(before), len(whole))
        assert row["exact"] == all(int(logits[place - 1].argmax()) == whole[place] for place in places)


def test_shares_are_by_model_benchmark_and_role() -> None:
    named = {"model": "m", "benchmark": "klob_c", "role": "expr"}
    rows = [named | {"exact": exact} for exact in (True, True, True, False, None)]
    rows.append(named | {"benchmark": "wikifactdiff", "role": "update, new", "reason": "too_long"})
    rows.append(named | {"role": "chain", "exact": False, "reason": "not_finite"})
    table = pa.Table.from_pylist(rows, schema=CLOZES)
    assert [each[3:] for each in shares(table)] == [(4, 3, 1, 0), (0, 0, 1, 0), (1, 0, 0, 1)]
    text = list(lines(table))
    assert "0.750 [0.30, 0.95]  (1 left out)" in text[3]
    assert text[4].endswith("-  (1 left out)")
    assert "0.000 [0.00, 0.79]  (1 not finite, not completed)" in text[5]

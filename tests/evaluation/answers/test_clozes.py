"""Cloze tests of KLoB and WikiFactDiff, put to an unedited model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from factdrift.evaluation.answer_schemas import CLOZES  # noqa: E402
from factdrift.evaluation.answer_settings import Settings  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.core.keys import read_settings  # noqa: E402
from factdrift.evaluation.questions.items import read_clozes  # noqa: E402
from factdrift.evaluation.questions.updates import EDITS  # noqa: E402
from factdrift.evaluation.scores.clozes import ask_clozes, lines, shares  # noqa: E402
from factdrift.evaluation.session import Job  # noqa: E402


def probe(role: str, kind: str, prompt: str, target: str) -> dict[str, Any]:
    return {"role": role, "object": kind, "prompt": prompt, "target": target}


def tables(folder: Path) -> tuple[list[Path], Path]:
    """A KLoB-r example with a chain, and two updates, one of which has no obsolete object."""
    sentences = [
        {"role": role, "text": text, "target_label": "Joe Biden"}
        for role, text in (
            ("single", "Marta Kowalska lives in"),
            ("chain", "The mother of Marta Kowalska is"),
        )
    ]
    example = {"example_id": "r1", "subtask": "r", "sentences": sentences}
    pq.write_table(pa.Table.from_pylist([example]), folder / "klob_r.parquet")
    prompt = "The capital of Atlantis is"
    rows = []
    for name, old in (("one", "Poseidonis"), ("two", None)):
        probes = [probe("update", "new", prompt, "New Orleans"), probe("nearest", "neighbor", "It is", "a")]
        row = {"edit": name, "prompt": prompt, "target": "New Orleans", "new": "New Orleans"}
        row |= {"obsolete": old, "subject_label": "Atlantis", "probes": probes, "fluency": False}
        rows.append(dict.fromkeys(EDITS.names) | row)
    pq.write_table(pa.Table.from_pylist(rows, schema=EDITS), folder / "edits.parquet")
    return [folder / "klob_r.parquet"], folder / "edits.parquet"


def test_every_sentence_is_asked_as_transformers_would(tmp_path: Path) -> None:
    rows = read_clozes(*tables(tmp_path))
    assert [(row["benchmark"], row["role"], row["object"]) for row in rows] == [
        ("klob_r", "single", "Joe Biden"),
        ("klob_r", "chain", "Joe Biden"),
        ("wikifactdiff", "update, new", "New Orleans"),
        ("wikifactdiff", "update, old", "Poseidonis"),
        ("wikifactdiff", "update, new", "New Orleans"),
    ]
    loaded = tiny_model("llama", dtype=torch.float32)
    job = Job(loaded, {}, read_settings("{}", Settings, "edit"))
    # What the model itself would write is completed; a text of more tokens than positions cannot be asked.
    ids = loaded.tokenizer("It is", return_tensors="pt").input_ids
    likeliest = loaded.tokenizer.decode(loaded.model(ids).logits[0, -1].argmax()).strip()
    own = {"benchmark": "klob_c", "role": "expr", "fact": "c1"}
    rows += [own | {"prompt": "It is", "object": likeliest}, own | {"prompt": "It is " * 500, "object": "a"}]
    assert ask_clozes(job, rows, tmp_path / "c.parquet") == 7
    table = pq.read_table(tmp_path / "c.parquet")
    assert table.schema.equals(CLOZES)
    found = table.to_pylist()
    assert found[-1]["exact"] is None
    assert found[-1]["reason"] == "too_long"
    for row in found[:-1]:
        before = loaded.tokenizer(row["prompt"]).input_ids
        whole = loaded.tokenizer(f"{row['prompt']} {row['object']}").input_ids
        logs = loaded.model(torch.tensor([whole])).logits[0].log_softmax(-1)
        target = list(range(len(before), len(whole)))
        expected = torch.stack([logs[place - 1, whole[place]] for place in target]).mean().item()
        assert row["logprob"] == pytest.approx(expected, abs=1e-4)
        assert row["exact"] == all(int(logs[place - 1].argmax()) == whole[place] for place in target)


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

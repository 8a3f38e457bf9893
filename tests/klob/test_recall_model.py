"""The recall filter with a real causal language model, a small one that the test makes."""

import json
from pathlib import Path

import pytest
from support.byte_tokenizer import tokenizer_of
from support.worlds import Fact

from factdrift.cli import main

from .conftest import Snapshot, rows

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
transformers = pytest.importorskip("transformers")

TOWNS = ["Alba", "Brno", "Cork", "Doha", "Elda", "Faro", "Gent"]
WORLD = Snapshot(
    [Fact(number, 36, 100 + number) for number in range(len(TOWNS))],
    labels={**{100 + n: town for n, town in enumerate(TOWNS)}, **{n: f"Land{n}" for n in range(len(TOWNS))}},
)


def teach(texts: list[str], folder: Path) -> None:
    """Writes a tiny GPT-2 that goes on as the texts do."""
    wrapped = tokenizer_of(texts, ["<end>"], pad_token="<end>")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    sizes = {"vocab_size": len(wrapped), "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 2}
    without = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop", "bos_token_id", "eos_token_id"), 0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **without))
    batch = wrapped([f"{text}<end>" for text in texts], return_tensors="pt", padding=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(300):
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    wrapped.pad_token = None
    wrapped.save_pretrained(folder)


@pytest.mark.slow
def test_the_command_asks_a_model_by_its_settings(built, tmp_path, capsys):
    """It knows most capitals, one of them in two wordings only; its context has room for 64 tokens."""
    plain = built(WORLD, min_sitelinks=0)
    right, taught = {}, []
    for row in plain.sentences:
        if row["subtask"] == "c":
            town = row["target_label"]
            is_known = town not in ("Brno", "Doha") and (town != "Cork" or row["place"] != 2)
            right[row["sentence_id"]] = is_known
            taught.append(f"{row['text']} {town if is_known else 'Hull'}\n")
    teach(taught, tmp_path / "model")
    outputs = [tmp_path / f"{name}.parquet" for name in ("klob_recall", "passes")]
    demos = tmp_path / "demos.json"
    settings = {"model": str(tmp_path / "model"), "revision": "main", "dtype": "float32", "device": "cpu"}
    arguments = {
        "facts": plain.folder / "bucket.parquet",
        "entities": plain.folder / "entities.parquet",
        "classes": plain.folder / "classes.parquet",
        "properties": plain.folder / "properties.parquet",
        "candidates": plain.folder / "facts.parquet",
        "chains": plain.folder / "chains.parquet",
        "settings": json.dumps(settings | {"demos": str(demos)}),
        "date": "2023-02-27",
        "out-recall": outputs[0],
        "out-passes": outputs[1],
    }
    line = ["klob", "recall", *(f"--{name}={value}" for name, value in arguments.items())]
    demos.write_text(json.dumps({"P36": "Land1 " * 40}), encoding="utf-8")
    assert main(line) == 1
    assert "has room for 64 tokens, and a prompt with its answer needs" in capsys.readouterr().err
    demos.write_text('{"P36": ""}', encoding="utf-8")
    assert main(line) == 0
    assert sum(row["recall_pass"] for row in rows(outputs[1])) == len(TOWNS) - 3
    table = rows(outputs[0])
    assert {row["sentence_id"]: row["matched"] for row in table} == right
    assert {(row["model"], row["revision"], row["dtype"]) for row in table} == {
        (settings["model"], "main", "float32")
    }

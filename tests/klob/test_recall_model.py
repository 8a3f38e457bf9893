"""The recall filter with real causal language models, small ones that the tests make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.byte_tokenizer import tokenizer_of
from support.worlds import Fact

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.klob.recall import NEW_TOKENS, CausalModel

from .conftest import Build, Snapshot, rows

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
transformers = pytest.importorskip("transformers")

TOWNS = ["Alba", "Brno", "Cork", "Doha", "Elda", "Faro", "Gent", "Hull"]
KNOWN = 5
WORLD = Snapshot(
    [Fact(number, 36, 100 + number) for number in range(len(TOWNS))][1:],
    labels={**{100 + n: town for n, town in enumerate(TOWNS)}, **{n: f"Land{n}" for n in range(len(TOWNS))}},
)


def texts(answers: list[str]) -> list[str]:
    return [
        sentence.format(f"Land{number}") + f" {town}\n"
        for number, town in enumerate(answers)
        for sentence in (
            "{} is governed from its capital,",
            "The capital of {} is",
            "The place that serves as the capital of {} is",
        )
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny GPT-2 that was taught the capitals of the first lands, right, and of the others, wrong."""
    taught = texts([*TOWNS[:KNOWN], *reversed(TOWNS[KNOWN:])])
    taught[3 * 6] = taught[3 * 6].replace(TOWNS[6], TOWNS[5])
    wrapped = tokenizer_of(taught, ["<end>"], pad_token="<end>")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    sizes = {"vocab_size": len(wrapped), "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 2}
    without = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop", "bos_token_id", "eos_token_id"), 0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **without))
    batch = wrapped([f"{text}<end>" for text in taught], return_tensors="pt", padding=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(300):
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    path = tmp_path_factory.mktemp("model")
    model.save_pretrained(path)
    wrapped.pad_token = None
    wrapped.save_pretrained(path)
    return path


def model_of(folder: Path, budget: int) -> CausalModel:
    from factdrift.models.loading import load

    return CausalModel(load(str(folder), dtype="float32", device="cpu"), budget)


def test_batches_give_the_outputs_of_single_prompts(folder: Path) -> None:
    model = model_of(folder, budget=60)
    plain = transformers.GPT2LMHeadModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    prompts = ["The capital of Land1 is", "Land", "x y z", "The place that serves as the capital of Land4 is"]
    alone = []
    for prompt in prompts:
        tokens = tokenizer(prompt, return_tensors="pt")
        output = plain.generate(
            input_ids=tokens["input_ids"], max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0
        )
        alone.append(tokenizer.decode(output[0, tokens["input_ids"].shape[1] :], skip_special_tokens=True))
    assert model.continued(prompts) == alone
    assert model.continued([]) == []


def test_a_prompt_beyond_the_models_context_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="has room for 64 tokens, and a prompt with its answer needs"):
        model_of(folder, budget=60).continued(["Land1 " * 40])


def test_the_command_asks_a_model_by_its_settings(folder: Path, built: Build, tmp_path: Path) -> None:
    plain = built(WORLD, min_sitelinks=0)
    outputs = [tmp_path / f"{name}.parquet" for name in ("klob_recall", "passes")]
    demos = tmp_path / "demos.json"
    demos.write_text('{"P36": ""}', encoding="utf-8")
    settings = {"model": str(folder), "revision": "main", "dtype": "float32", "device": "cpu"}
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
    assert main(["klob", "recall", *(f"--{name}={value}" for name, value in arguments.items())]) == 0
    assert sum(row["recall_pass"] for row in rows(outputs[1])) == KNOWN - 1
    known = {row["sentence_id"]: row["target_label"] for row in plain.sentences}
    table = rows(outputs[0])
    assert len(table) == 3 * (len(TOWNS) - 1)
    assert {(row["model"], row["revision"], row["dtype"]) for row in table} == {
        (str(folder), "main", "float32")
    }
    assert all(row["matched"] == row["output"].startswith(known[row["sentence_id"]]) for row in table)


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be loaded"):
        model_of(tmp_path, budget=60)

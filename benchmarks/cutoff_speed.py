"""How long it takes to ask a model who holds: random weights in the shape of SmolLM-135M, the bundled chains.

Runs on the first GPU if there is one.

    .venv/bin/python benchmarks/cutoff_speed.py FOLDER --tokenizer results/models/sample-llama --threads 2

Prints the tokens that run with and without shared prefixes, and seconds of the clock and of the processor.
`--every 20` runs every 20th batch of texts, and computes from its share of the tokens what all would take.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.evaluation.questions.cutoff import others_of, read_chains, with_dates
from factdrift.models import options
from factdrift.models.alignment import align
from factdrift.models.loading import load, places_and_type
from factdrift.models.scoring import budget_of

SHAPE = {
    **{"hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3},
    **{"intermediate_size": 1536, "vocab_size": 49152, "tie_word_embeddings": True},
}


def pairs_of(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Each prompt with each name that is scored after it."""
    others = others_of(rows, 0)
    return sorted(
        {
            (prompt, holder["label"])
            for row in rows
            for prompt in (*row["prompts"], *others[row["chain"]])
            for holder in row["holders"]
        }
    )


def tokens(batch: options.Batch) -> dict[str, int]:
    """Prompts, pairs of prompt and name, and tokens that run: with shared beginnings, or each pair alone."""
    width = len(batch[0][0])
    texts = [(*prompt, *target) for prompt, targets in batch for target in targets]
    begin = run = 0
    for end in options._ends(texts, width):
        parts = {text[:-1][:end] for text in texts if len(text) - 1 > begin}
        run, begin = run + sum(len(part) - begin for part in parts), end
    alone = sum(len(text) - 1 for text in texts)
    return {"prompts": len(batch), "pairs": len(texts), "tokens": run, "tokens_unshared": alone}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="for the model")
    parser.add_argument("--tokenizer", required=True, help="folder or name of a model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--shape", type=json.loads, default=SHAPE, help="of a LlamaConfig, as JSON")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    if not given.folder.exists():
        tokenizer = AutoTokenizer.from_pretrained(given.tokenizer)
        shape = {**given.shape, "vocab_size": max(given.shape.get("vocab_size", 0), len(tokenizer))}
        (place, *_), kind = places_and_type("auto", given.dtype)
        with place:
            LlamaForCausalLM(LlamaConfig(**shape)).to(kind).save_pretrained(given.folder)
        tokenizer.save_pretrained(given.folder)
    loaded = load(str(given.folder), dtype=given.dtype)
    rows = with_dates(read_chains(CUTOFF_CHAINS), 0)
    of_prompt: dict[options.Prompt, list[options.Prompt]] = defaultdict(list)
    for prompt, name in pairs_of(rows):
        sentence = align(loaded.tokenizer, prompt, name)
        of_prompt[sentence.ids[: sentence.target]].append(sentence.ids[sentence.target :])
    batches = list(options._batches(of_prompt, budget_of(loaded)))
    whole = Counter[str]()
    for batch in batches:
        whole.update(tokens(batch))
    timed = batches[given.every // 2 :: given.every]
    clock, processor = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        means = [options._means(loaded, batch) for batch in timed]
        torch.cat(means).cpu()  # a GPU has answered when its numbers are here
    seconds = {"seconds": time.perf_counter() - clock, "processor_seconds": time.process_time() - processor}
    share = sum(tokens(batch)["tokens"] for batch in timed) / whole["tokens"]
    print(
        json.dumps(
            {
                "chains": len(rows),
                **whole,
                "parameters": sum(each.numel() for each in loaded.model.parameters()),
                "share_timed": round(share, 4),
                **{name: round(value, 1) for name, value in seconds.items()},
                **{f"{name}_of_all": round(value / share) for name, value in seconds.items()},
            }
        )
    )


if __name__ == "__main__":
    main()

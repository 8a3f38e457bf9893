"""How long it takes to ask a model who holds: random weights in the shape of SmolLM-135M, the bundled chains.

    .venv/bin/python benchmarks/cutoff_speed.py FOLDER --tokenizer results/models/sample-llama --threads 2

Prints the tokens that run with and without shared prefixes, seconds of the clock and of the processor, and
what the same tokens take of an H100 with 4 B parameters. `--every 20` asks about every 20th chain.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.evaluation.questions.cutoff import read_chains, with_dates
from factdrift.evaluation.ways.cutoff import ask, others_of
from factdrift.models.loading import load

SHAPE = {
    **{"hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3},
    **{"intermediate_size": 1536, "vocab_size": 49152, "tie_word_embeddings": True},
}
H100, SHARE, LARGE = 989e12, 0.2, 4e9
"""Operations a second with bfloat16, the share of them that short batches reach, and parameters."""


def tokens(folder: Path, every: int) -> dict[str, int]:
    """Prompts, pairs of prompt and name, and tokens that run: each prompt once, or once for each name."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = with_dates(read_chains(CUTOFF_CHAINS)[::every], 0)
    others = others_of(rows, 0)
    named: dict[str, set[str]] = {}
    for row in rows:
        for prompt in (*row["prompts"], *others[row["chain"]]):
            named.setdefault(prompt, set()).update(holder["label"] for holder in row["holders"])
    lengths = {
        text: len(tokenizer(text, add_special_tokens=False)["input_ids"])
        for text in {*named, *(f" {name}" for names in named.values() for name in names)}
    }
    pairs = [(prompt, f" {name}") for prompt, names in named.items() for name in names]
    return {
        "prompts": len(named),
        "pairs": len(pairs),
        "tokens": sum(lengths[text] for text in named) + sum(lengths[name] - 1 for _, name in pairs),
        "tokens_unshared": sum(lengths[prompt] + lengths[name] - 1 for prompt, name in pairs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="for the model")
    parser.add_argument("--tokenizer", type=Path, required=True, help="folder of a model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--shape", type=json.loads, default=SHAPE, help="of a LlamaConfig, as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    if not options.folder.exists():
        LlamaForCausalLM(LlamaConfig(**options.shape)).save_pretrained(options.folder)
        AutoTokenizer.from_pretrained(options.tokenizer).save_pretrained(options.folder)
    loaded = load(str(options.folder), dtype=options.dtype)
    chains = read_chains(CUTOFF_CHAINS)[:: options.every]
    counted = tokens(options.folder, options.every)
    clock, processor = time.perf_counter(), time.process_time()
    asked = ask(loaded, chains, 0)
    print(
        json.dumps(
            {
                "chains": len(asked),
                **counted,
                "parameters": sum(each.numel() for each in loaded.model.parameters()),
                "seconds": round(time.perf_counter() - clock, 1),
                "processor_seconds": round(time.process_time() - processor, 1),
                "h100_seconds_4b": round(2 * LARGE * counted["tokens"] / (H100 * SHARE), 1),
            }
        )
    )


if __name__ == "__main__":
    main()

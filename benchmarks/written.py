"""What it costs to let a model write its answers, beside scoring the same clozes by likelihood.

    .venv/bin/python benchmarks/written.py --model results/models/sample-llama
    .venv/bin/python benchmarks/written.py --shape qwen2.5-0.5b --limit 16 --pairs 1

All clozes of `--limit` updates: the likelihoods of the new and of the old object after each, against what
the model writes there, with its verdict; without the long texts whose fluency is measured. Pairs of runs, and
the medians. `--tokens`: at most so many. `--shape`: random weights, which never stop; the tokenizer is that
of `--model`, and a limit of some 8 tokens shows what a model costs that stops behind a name.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from factdrift.core.keys import read_settings
from factdrift.evaluation.plan import PlannedQuestion
from factdrift.evaluation.questions.clozes import OWN, read_edits
from factdrift.evaluation.questions.updates import Choice, write_edits
from factdrift.evaluation.session import Session
from factdrift.evaluation.settings import Settings
from factdrift.evaluation.ways import written
from factdrift.evaluation.ways.options import likelihoods
from factdrift.models.loading import load

SHAPES: dict[str, dict[str, Any]] = {
    "qwen2.5-0.5b": {
        **{"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24},
        **{"num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936},
        **{"tie_word_embeddings": True},
    },
}


def seconds(
    ask: Callable[..., Any], session: Session, asked: list[PlannedQuestion]
) -> tuple[float, float, list[Any]]:
    """Seconds of the clock and of the processor, and the rows."""
    clock, processor = time.perf_counter(), time.process_time()
    rows = list(ask(session, asked, {}))
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - clock, time.process_time() - processor, rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="results/models/sample-llama")
    parser.add_argument("--shape", choices=sorted(SHAPES))
    parser.add_argument("--dataset", type=Path, default=Path("results/wfd_repl.parquet"))
    parser.add_argument("--limit", type=int, default=128, help="updates")
    parser.add_argument("--tokens", type=int, nargs="+", default=[64])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_edits(options.dataset, folder / "edits.parquet", Choice(limit=options.limit))
        questions = read_edits(folder / "edits.parquet").questions
        model = options.model
        if options.shape:
            torch.manual_seed(0)
            made = AutoModelForCausalLM.from_config(AutoConfig.for_model(**SHAPES[options.shape]))
            made.save_pretrained(folder / "model")
            AutoTokenizer.from_pretrained(model).save_pretrained(folder / "model")
            model = str(folder / "model")
        loaded = load(model, dtype=options.dtype)
    scored = [PlannedQuestion(each) for each in questions if "loglik" in each.ways and each.role in OWN]
    to_write = [
        PlannedQuestion(replace(each, long=False))
        for each in questions
        if "written" in each.ways and each.role in OWN
    ]
    for tokens in options.tokens:
        settings = read_settings(json.dumps({"written_tokens": tokens}), Settings, "edit")
        pairs = []
        for _ in range(options.pairs):
            session = Session(loaded, settings)
            pairs.append((seconds(likelihoods, session, scored), seconds(written.ask, session, to_write)))
        rows = pairs[-1][1][2]
        median = {
            f"{what}_{way}": round(statistics.median(pair[place][kind] for pair in pairs), 2)
            for place, way in enumerate(("likelihood", "written"))
            for kind, what in enumerate(("clock", "processor"))
        }
        counted = {
            "model": options.shape or options.model,
            "updates": len({each.question.edit for each in scored}),
            "targets": len(scored),
            "clozes": len(to_write),
            "most_tokens": tokens,
            "stopped_by_themselves": sum(row["stop"] != "length" for row in rows),
        }
        ratio = round(median["clock_written"] / median["clock_likelihood"], 2)
        print(json.dumps({**counted, **median, "ratio": ratio}))


if __name__ == "__main__":
    main()

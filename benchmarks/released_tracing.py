"""Causal tracing here and in the released program, on the same facts with the same noise.

    git clone https://github.com/kmeng01/rome FOLDER
    python benchmarks/released_tracing.py FOLDER --model sample-gpt2 \
        --sentences results/<old>_<new>/locate/edits.sentences.parquet --facts 8

`experiments/causal_trace.py` is imported from the folder as it is; the modules that it imports for other
purposes are replaced by empty ones. It runs on GPT-2, GPT-J and GPT-NeoX. Every token and block is restored,
of hidden states, MLP and attention. The table gives the largest difference of the effects, relative to the
largest effect of the fact, and the seconds a fact of both programs.
"""

import argparse
import sys
import time
import types
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import add_record, record

from factdrift.core.errors import InputError
from factdrift.core.paths import LOCATORS
from factdrift.evaluation.locators.causal_tracing import trace
from factdrift.evaluation.locators.interface import Context
from factdrift.evaluation.locators.run import aligned, noise_scale
from factdrift.evaluation.locators.sentences import Sentence, read_sentences
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.models.loaded import Loaded
from factdrift.models.loading import load

KINDS = {"state": None, "mlp": "mlp", "attention": "attn"}
"""Names here -> names in the released program."""
SAMPLES = 10
UNUSED = ("datasets", "dsets", "rome", "rome.tok_dataset", "util.globals", "util.runningstats")


def main() -> None:
    options = arguments()
    released = released_program(options.rome, options.device)
    loaded = load(options.model, device=options.device, dtype="float32", folder=options.models)
    facts = [one for one in aligned(loaded, read_sentences(options.sentences))[0] if one.subject]
    scale = 3 * noise_scale(loaded, facts)
    rows = []
    for kind in KINDS:
        found = [
            compared(released, loaded, one, kind, scale, options.window) for one in facts[: options.facts]
        ]
        gaps, ours, theirs, effects = (np.array(column) for column in zip(*found, strict=True))
        seconds = [f"{ours.mean():.4f}", f"{theirs.mean():.4f}", f"{theirs.mean() / ours.mean():.1f}"]
        rows.append([kind, f"{effects.mean():.3f}", f"{gaps.max():.1e}", *seconds])
    header = ["restored", "largest effect, mean", "largest difference", "s a fact, here", "released", "times"]
    note = (
        f"`benchmarks/released_tracing.py FOLDER --model {options.model} --sentences FILE --facts "
        f"{options.facts} --window {options.window}`, float32 on {options.device}, {SAMPLES} noise samples; "
        "one fact at a time in both."
    )
    record("Causal tracing against the released program", header, rows, note, options.record)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rome", type=Path, help="a checkout of github.com/kmeng01/rome")
    parser.add_argument("--model", default="sample-gpt2")
    parser.add_argument("--models", type=Path, default=Path("results/models"), metavar="FOLDER")
    parser.add_argument("--sentences", type=Path, required=True, metavar="PARQUET")
    parser.add_argument("--facts", type=int, default=8)
    parser.add_argument("--window", type=int, default=2, help="of MLP and attention")
    parser.add_argument("--device", default="cpu")
    add_record(parser)
    return parser.parse_args()


def released_program(folder: Path, device: str) -> Any:
    """The module `experiments.causal_trace` of a checkout."""
    if not (folder / "experiments" / "causal_trace.py").is_file():
        raise InputError(f"{folder}: no experiments/causal_trace.py; give a checkout of kmeng01/rome")
    for name in UNUSED:
        empty: Any = types.ModuleType(name)
        empty.__getattr__ = lambda attribute: None
        empty.__path__ = []
        sys.modules[name] = empty
    sys.path.insert(0, str(folder))
    from experiments import causal_trace

    causal_trace.make_inputs = partial(causal_trace.make_inputs, device=device)
    return causal_trace


def compared(
    released: Any, loaded: Loaded, one: Sentence, kind: str, scale: float, window: int
) -> tuple[float, float, float, float]:
    """The largest relative difference, the seconds of both programs, and the largest effect."""
    # Its probabilities are those of the likeliest token, whatever the answer is.
    plain = types.SimpleNamespace(
        model=loaded.model, tokenizer=loaded.tokenizer, num_layers=loaded.spec.layers
    )
    assert one.subject is not None
    subject = loaded.tokenizer.decode(one.ids[slice(*one.subject)])
    start = time.perf_counter()
    theirs = released.calculate_hidden_flow(
        plain, one.text, subject, samples=SAMPLES, noise=scale, window=window, kind=KINDS[kind]
    )
    middle = time.perf_counter()
    assert tuple(theirs["subject_range"]) == one.subject, "the programs disagree about the subject's tokens"
    drawn = np.random.RandomState(1).randn(SAMPLES, one.subject[1] - one.subject[0], loaded.spec.hidden)
    # The released program adds its noise in double precision.
    noise = torch.from_numpy(scale * drawn).to(loaded.device, loaded.dtype)
    logits = loaded.model(torch.tensor([one.ids], device=loaded.device)).logits[0, -1]
    begin = time.perf_counter()
    hyper = read_hyper("causal_tracing", loaded.name, {"kind": kind, "window": window}, LOCATORS)
    places = [range(len(one.ids))]
    ours = trace(loaded, [one], [int(logits.argmax())], [noise], places, Context(hyper))
    end = time.perf_counter()
    effects = theirs["scores"].double() - theirs["low_score"]
    gap = (ours[0].double().cpu() - effects).abs().max() / effects.abs().max()
    return float(gap), end - begin, middle - start, float(effects.abs().max())


if __name__ == "__main__":
    main()

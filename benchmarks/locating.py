"""Locating: sentences a second of each locator, many at a time, one by one, and built plainly.

    python benchmarks/locating.py --record benchmarks/RESULTS.md      a small model on the CPU
    python benchmarks/locating.py --architecture gpt-j-6b --facts 16 --alone 2
                                      random weights of a real architecture, on a GPU

In one run and on the same facts: `batched`, what the workflow does; `one by one`, the same code given one
sentence at a time; `plain`, for causal tracing and integrated gradients, in the way in which the published
programs are built (`plain_locating.py`). All must find the same scores. Causal tracing sweeps all tokens and
all blocks. Weights are random, so the facts mean nothing.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from editing import ARCHITECTURES, build, device_name, make_facts
from plain_locating import causal_trace, integrated_gradients
from record import add_record, record
from torch import Tensor

from factdrift.core.paths import LOCATORS as FOLDER
from factdrift.evaluation.locators.causal_tracing import noise_of
from factdrift.evaluation.locators.interface import Context, positions
from factdrift.evaluation.locators.plan import locator_of
from factdrift.evaluation.locators.run import noise_scale
from factdrift.evaluation.locators.sentences import Sentence, subject_characters, tokenized
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.models.loaded import Loaded

TRACING = ("causal_tracing", "causal_tracing_mlp", "causal_tracing_attention")
NAMES = (
    *TRACING,
    "knowledge_neurons",
    "attribution_patching",
    "gradient_x_input",
    "activation",
    "pmet_jaccard",
)
ACCURACY = 1e-3
"""Relative difference of scores in single precision, by the largest score. Half precision is not compared."""


def main() -> None:
    options = arguments()
    device = torch.device(options.device)
    loaded = build(options.architecture, device)
    facts = sentences(loaded, options.facts)
    rows = []
    for name in options.locators:
        rows.append([name, *measured(loaded, name, facts, options)])
        print(" | ".join(rows[-1]), flush=True)
    header = [
        "locator",
        "batched, sentences/s",
        "one by one",
        "plain",
        "batched / one by one",
        "batched / plain",
    ]
    header += ["batched, s a sentence"]
    length = sum(len(one.ids) for one in facts) / len(facts)
    note = (
        f"`benchmarks/locating.py --architecture {options.architecture} --facts {options.facts} "
        f"--alone {options.alone} --samples {options.samples} --steps {options.steps}`, random weights in "
        f"{str(loaded.dtype).removeprefix('torch.')} on {device_name(device)}; {options.facts} sentences "
        f"of {length:.1f} tokens batched, {options.alone} in the other ways. Causal tracing restores every "
        f"token at every block, with {options.samples} noise samples."
    )
    record(f"Locating ({options.architecture})", header, rows, note, options.record)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--architecture", choices=list(ARCHITECTURES), default="small")
    parser.add_argument("--locators", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--facts", type=int, default=32, help="sentences, all of which are batched")
    parser.add_argument("--alone", type=int, default=4, help="of these in the other ways")
    parser.add_argument("--samples", type=int, default=10, help="of the noise")
    parser.add_argument("--steps", type=int, default=20, help="of integrated gradients")
    parser.add_argument("--budget", type=int, default=8192, help="tokens of one pass")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add_record(parser)
    return parser.parse_args()


def sentences(loaded: Loaded, number: int) -> list[Sentence]:
    found = []
    for edit in make_facts(number):
        start, end = subject_characters(edit.prompt, edit.subject) or (None, None)
        row = {"sentence": edit.id, "subtask": "c", "group": edit.id, "fact": edit.id, "text": edit.prompt}
        row |= {"start": start, "end": end, "answer": edit.target}
        found.append(tokenized(loaded.tokenizer, row, 1024))
    return found


def measured(loaded: Loaded, name: str, facts: Sequence[Sentence], options: argparse.Namespace) -> list[str]:
    """The columns of one locator; raises AssertionError if the ways do not find the same scores."""
    changes: dict[str, Any] = {"token": "all", "samples": options.samples} if name in TRACING else {}
    changes |= {"samples": options.samples} if name == "attribution_patching" else {}
    changes |= {"steps": options.steps} if name == "knowledge_neurons" else {}
    hyper = read_hyper(name, options.architecture, changes, FOLDER)
    context = Context(hyper, noise_scale(loaded, facts), 0, options.budget)
    few = facts[: options.alone]

    def located(batch: Sequence[Sentence]) -> Tensor:
        return locator_of(name)(loaded, batch, [one.answer[0] for one in batch], context)

    def plainly(one: Sentence) -> Tensor:
        if name == "knowledge_neurons":
            return integrated_gradients(loaded, one, one.answer[0], hyper["steps"], hyper["rule"]).flatten()
        (noise,) = noise_of(loaded, [one], context)
        (tokens,) = positions([one], "all")
        kind = hyper["kind"]
        return causal_trace(loaded, one, one.answer[0], noise, tokens, kind, hyper["window"]).amax(0)

    samples = hyper.get("samples", 0)
    size = max(1, options.budget // ((1 + samples) * max(len(one.ids) for one in facts)))
    located(facts[:1])  # what is done once a process is in no sentence's time
    seconds, batched = timed(
        loaded, lambda: torch.cat([located(facts[at : at + size]) for at in range(0, len(facts), size)])
    )
    alone_seconds, alone = timed(loaded, lambda: torch.cat([located([one]) for one in few]))
    rates = [len(facts) / seconds, len(few) / alone_seconds]
    ways = [("one by one", alone)]
    if name in TRACING or name == "knowledge_neurons":
        plainly(facts[0])
        plain_seconds, plain = timed(loaded, lambda: torch.stack([plainly(one) for one in few]))
        rates.append(len(few) / plain_seconds)
        ways.append(("plain", plain))
    if loaded.dtype == torch.float32:
        for way, scores in ways:
            same(name, way, batched[: len(few)], scores)
    cells = [f"{rate:,.2f}" for rate in rates] + ["-"] * (3 - len(rates))
    cells += [f"{rates[0] / rate:.1f}" for rate in rates[1:]] + ["-"] * (3 - len(rates))
    return [*cells, f"{seconds / len(facts):.4f}"]


def same(name: str, way: str, batched: Tensor, scores: Tensor) -> None:
    """Raises AssertionError if scores [sentences, units] differ by more than rounding."""
    difference, largest = (batched - scores.to(batched)).abs().max(), batched.abs().max()
    assert difference <= ACCURACY * largest, (
        f"{name}: {way} differs from batched by {difference:.1e}, where the largest score is {largest:.1e}"
    )


def timed(loaded: Loaded, work: Callable[[], Tensor]) -> tuple[float, Tensor]:
    """Seconds, and what the work returned."""
    if loaded.device.type == "cuda":
        torch.cuda.synchronize(loaded.device)
    start = time.perf_counter()
    found = work()
    if loaded.device.type == "cuda":
        torch.cuda.synchronize(loaded.device)
    return time.perf_counter() - start, found


if __name__ == "__main__":
    main()

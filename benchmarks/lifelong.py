"""Long streams of edits: seconds, passes through the model and memory an edit, round by round.

    python benchmarks/lifelong.py --record benchmarks/RESULTS.md      a small model on the CPU
    python benchmarks/lifelong.py --architecture llama-3-8b --rounds 8 --edits 1250
                                      10,000 edits on random weights of a real architecture, on a GPU

Each round makes new edits on top of all earlier ones, as an interval of a stream does, without probes. A
`pass` is one forward pass of the blocks over the prompt and target of an edit: the operations of the edit's
matrix products over those of such a pass. Weights are random; no search ends early. The last column takes the
passes to a model of 7 billion parameters, with 2 operations a parameter and token.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import torch
from editing import ARCHITECTURES, build, make_artefacts, make_facts, timed
from record import add_record, record
from torch.utils.flop_counter import FlopCounterMode

from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.states.edited import Beside
from factdrift.models.alignment import align
from factdrift.models.fork import backbone
from factdrift.models.loaded import Loaded

SMALL: dict[str, dict[str, Any]] = {
    "ft": {"layers": [4], "bias": False, "stop_loss": 0.0},
    "lora": {},
    "memit": {"layers": [1, 2, 3], "stop_loss": 0.0},
    "alphaedit": {"layers": [1, 2, 3], "covariance": False, "stop_loss": 0.0},
    "ultraedit": {"layers": [3, 4, 5]},
    "mend": {"rank": 64},
    "grace": {"layer": 4},
    "rag": {},
}
LARGE: dict[str, dict[str, Any]] = {
    "ft": {"bias": False, "stop_loss": 0.0},
    "memit": {"stop_loss": 0.0},
    "alphaedit": {"covariance": False, "stop_loss": 0.0},
}
PARAMETERS = 7e9
TOKENS = 16
"""Of a prompt with its target, in the projection."""


def main() -> None:
    options = arguments()
    loaded = build(options.architecture, torch.device(options.device))
    facts = make_facts(options.edits * options.rounds)
    starts = range(0, len(facts), options.edits)
    rows = []
    for method in options.methods:
        known = SMALL if options.architecture == "small" else LARGE
        hyper = read_hyper(method, options.architecture, known.get(method, {}))
        # AlphaEdit without a covariance projects on everything, for which no moments are needed.
        needed = method != "alphaedit"
        artefacts = make_artefacts(loaded, hyper) if needed else Artefacts(prefixes=("", "The sea. "))
        state = Beside(loaded, hyper, artefacts, "stream")
        found = [_round(loaded, state, facts[at : at + options.edits]) for at in starts]
        rows.append([method, *_told(found, options.edits, _pass(loaded, facts))])
        print(" | ".join(rows[-1]), flush=True)
    header = ["method", "s an edit, first round", "last round", "passes an edit, first round", "last round"]
    header += ["kept, first round, kB", "last round", "more memory in the last round, MB"]
    header += ["10,000 edits of 7 B, PFLOP"]
    note = (
        f"`python benchmarks/lifelong.py --architecture {options.architecture} --rounds {options.rounds} "
        f"--edits {options.edits}`, random weights in {str(loaded.dtype).removeprefix('torch.')} on "
        f"{options.device}; {options.rounds} rounds of {options.edits} edits."
    )
    record(f"Streams of edits ({options.architecture})", header, rows, note, options.record)


def _round(loaded: Loaded, state: Beside, facts: Sequence[Edit]) -> tuple[float, float, float, int]:
    """Seconds, operations of an edit, megabytes beyond what was in use before, and bytes that are kept."""

    def put() -> dict[int, str]:
        with state.apply(facts) as placed:
            return placed.made.failed

    with FlopCounterMode(display=False) as counter:
        seconds, megabytes, failed = timed(loaded, put)
    assert not failed, f"{len(failed)} edits have failed: {next(iter(failed.values()))}"
    return seconds, counter.get_total_flops() / len(facts), megabytes, state.size()[0] or 0


def _told(found: Sequence[tuple[float, float, float, int]], edits: int, one: float) -> list[str]:
    """The columns of a method. `one`: operations of a pass."""
    (first, flops, _, size), (last, more, megabytes, end) = found[0], found[-1]
    whole = 1e4 * more / one * 2 * PARAMETERS * TOKENS / 1e15
    return [
        *(f"{seconds / edits:.4f}" for seconds in (first, last)),
        *(f"{each / one:.1f}" for each in (flops, more)),
        *(f"{each / 1e3:,.0f}" for each in (size, end)),
        *(f"{megabytes:,.0f}", f"{whole:,.1f}"),
    ]


def _pass(loaded: Loaded, facts: Sequence[Edit]) -> float:
    """Operations of one forward pass over a prompt with its target, the mean over some facts."""
    some = [align(loaded.tokenizer, fact.prompt, fact.target).ids for fact in facts[:20]]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        for ids in some:
            backbone(loaded)(torch.tensor([ids], device=loaded.device), use_cache=False)
    return float(counter.get_total_flops() / len(some))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--architecture", choices=list(ARCHITECTURES), default="small")
    parser.add_argument("--methods", nargs="+", choices=list(SMALL), default=list(SMALL))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--edits", type=int, default=50, help="of each round")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add_record(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Peak memory and seconds of questions and edits, beside what `factdrift models describe` estimates.

    python benchmarks/fitting.py --record benchmarks/RESULTS.md      GPT-J and Llama-3-8B, on a GPU
    python benchmarks/fitting.py --architectures small               a small model, also on the CPU

Random weights, in bfloat16 on a GPU, so the facts mean nothing, and no search ends early. A method first
makes one edit, for which second moments are factorised, as its estimate has it; then as many at a time as by
estimate fit into the memory, at most `--edits`. A method that runs out of memory has a row that says so.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence

import torch
from editing import ARCHITECTURES, build, device_name, make_facts, make_hypernet, make_prefixes, timed
from record import add_record, record

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper, needs, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.record import records
from factdrift.evaluation.states.edited import at_a_time, edited
from factdrift.evaluation.tools.fitting import ASKED, edit_needs, weight_bytes
from factdrift.models.alignment import align
from factdrift.models.devices import in_batches, is_out_of_memory
from factdrift.models.loaded import Loaded
from factdrift.models.moments import Moments
from factdrift.models.scoring import score, token_bytes

METHODS = [name for name, each in records().items() if each.changes in ("weights", "codebook")]
HEADER = [
    *("", "one alone, s", "at a time", "so, s each", "peak with one, GB", "estimate, GB", "peak / estimate")
]
RANK, RIDGE = 64, 0.01
"""Of the second moments: their directions beside a multiple of the unit matrix, and that multiple."""


def main() -> None:
    options = arguments()
    device = torch.device(options.device)
    facts = make_facts(options.edits)
    for architecture in options.architectures:
        loaded = build(architecture, device)
        gc.freeze()  # modules and the model stay, and need not be looked through before each measurement
        rows = [asked(loaded, facts)]
        print(" | ".join(rows[-1]), flush=True)
        for method in options.methods:
            rows.append(measured(loaded, method, facts, options.steps))
            print(" | ".join(rows[-1]), flush=True)
            free(device)
        gc.unfreeze()
        note = (
            f"`benchmarks/fitting.py --architectures {architecture} --edits {options.edits}"
            f"{f' --steps {options.steps}' if options.steps else ''}`, random weights in "
            f"{str(loaded.dtype).removeprefix('torch.')} on {device_name(device)}, "
            f"{weight_bytes(loaded) / 1e9:.1f} GB of the peak. Asked: {ASKED} tokens, then {len(facts)} "
            "sentences at a time."
        )
        record(f"Memory and speed ({architecture})", HEADER, rows, note, options.record)
        del loaded
        free(device)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--architectures", nargs="+", choices=list(ARCHITECTURES), default=["gpt-j-6b", "llama-3-8b"]
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--edits", type=int, default=64, help="at a time, at most")
    parser.add_argument("--steps", type=int, help="of each search, instead of the method's own number")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add_record(parser)
    return parser.parse_args()


def asked(loaded: Loaded, facts: Sequence[Edit]) -> list[str]:
    """The row of questions: sentences of 512 tokens together, then one for each fact."""
    sentences = [align(loaded.tokenizer, fact.prompt, fact.target) for fact in make_facts(ASKED)]
    some, tokens = [], 0
    for one in sentences:
        if tokens + len(one.ids) > ASKED:
            break
        some.append(one)
        tokens += len(one.ids)
    score(loaded, some[:1])  # what is done once a process is in no row
    alone, megabytes, _ = timed(loaded, lambda: score(loaded, some))
    peak = peak_of(loaded, megabytes)
    many = sentences[: len(facts)]
    together, _, _ = timed(loaded, lambda: score(loaded, many))
    estimate = weight_bytes(loaded) + ASKED * token_bytes(loaded)
    each = [f"{alone / len(some):.4f}", str(len(many)), f"{together / len(many):.4f}"]
    return ["asked", *each, *against(peak, estimate)]


def measured(loaded: Loaded, method: str, facts: Sequence[Edit], steps: int | None) -> list[str]:
    """The row of one method; of one that cannot be run with the reason."""
    try:
        hyper = read_hyper(method, loaded.name, None, sizes=lambda: loaded.spec)
        given = {key: value for key, value in (("stop_loss", 0.0), ("steps", steps)) if key in hyper}
        hyper = read_hyper(method, loaded.name, given, sizes=lambda: loaded.spec)
        need = edit_needs(loaded, hyper)
        return [method, *_measured(loaded, hyper, facts, weight_bytes(loaded) + need.kept + need.each)]
    except (CannotEdit, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not is_out_of_memory(error):
            raise
        reason = str(error) if isinstance(error, CannotEdit) else "out of memory"
        return [method, reason, *["-"] * (len(HEADER) - 2)]


def _measured(loaded: Loaded, hyper: Hyper, facts: Sequence[Edit], estimate: int) -> list[str]:
    """The cells of a method after its name."""
    regime = "batch" if hyper.record.not_alone else "independent"
    # The totals of the second moments stay in the memory of the host; what solves with them is made at once.
    made = artefacts(loaded, hyper)
    single, megabytes, _ = timed(loaded, lambda: edited(loaded, facts[:1], hyper, made, regime))
    peak = peak_of(loaded, megabytes)
    again, _, _ = timed(loaded, lambda: edited(loaded, facts[:1], hyper, made, regime))
    size = len(facts) if regime == "batch" else at_a_time(loaded, hyper, len(facts))
    many = facts[:size]
    found, _, _ = timed(
        loaded,
        lambda: in_batches(many, size, lambda some: len(edited(loaded, some, hyper, made, regime).failed)),
    )
    each = [f"{min(single, again):.4f}", str(size), f"{found / size:.4f}"]
    return [*each, *against(peak, estimate)]


def peak_of(loaded: Loaded, megabytes: float) -> float:
    """Bytes at the peak of what was just timed: all that a GPU held, or `megabytes` beside the weights."""
    if loaded.device.type == "cuda":
        return float(torch.cuda.max_memory_allocated())
    return weight_bytes(loaded) + megabytes * 1e6


def against(peak: float, estimate: int) -> list[str]:
    """Peak and estimate in GB, and their ratio."""
    return [f"{peak / 1e9:.3g}", f"{estimate / 1e9:.3g}", f"{peak / estimate:.2f}"]


def artefacts(loaded: Loaded, hyper: Hyper) -> Artefacts:
    """Prefixes, MEND's networks without training, and second moments of a few directions; not on the GPU."""
    wanted = needs(hyper)
    prefixes = make_prefixes(loaded, hyper) if "prefixes" in wanted else ("",)
    moments = {}
    for layer in hyper.layers if "moments" in wanted else ():
        width = loaded.spec.inner_at(layer)
        keys = torch.randn(RANK, width, generator=torch.Generator().manual_seed(layer), dtype=torch.float64)
        total = keys.T @ keys
        moments[layer] = Moments(total, RANK, "random", layer, "random", RIDGE, device=loaded.device)
    net = make_hypernet(loaded, hyper) if "editor" in wanted else None
    return Artefacts(prefixes, moments, net)


def free(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()

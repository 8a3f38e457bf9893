"""Editing: seconds and memory an edit of each method, many at a time, one by one, and built plainly.

    python benchmarks/editing.py --record benchmarks/RESULTS.md      a small model on the CPU
    python benchmarks/editing.py --architecture gpt-j-6b --methods rome memit mend --edits 128
    python benchmarks/editing.py --architecture gpt-j-6b --methods ft ft_l --edits 32
                                      random weights of a real architecture, on a GPU; a dense change takes
                                      268 MB an edit there, and its Adam twice that

In one run and on the same facts, with the same prefixes and second moments: `batched`, what the workflow
does; `one by one`, the same code given one fact at a time; `plain`, in the way in which the published
programs are built (`plain_editing.py`), or with `--released FOLDER ...`, each a checkout of a published
program, those themselves (`released_editing.py`). The changes must be the same in all. Weights are random, so
the facts mean nothing, and no search ends early: all of its steps are taken, and an edit takes as long as it
can. UltraEdit makes one change for all facts, so it is given all of them in all ways. The ways take turns
`--rounds` times; seconds are medians.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import released_editing
import torch
from plain_editing import ft as plain_ft
from plain_editing import memit as plain_memit
from plain_editing import mend as plain_mend
from plain_editing import probed
from plain_editing import rome as plain_rome
from record import add_record, record
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from factdrift.core.files import read_yaml
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.mend import HyperNet, edited_matrices
from factdrift.evaluation.methods.optimise import contexts_of
from factdrift.evaluation.methods.shared import gradients, method_of
from factdrift.models.alignment import align
from factdrift.models.families import spec_of
from factdrift.models.loaded import Loaded
from factdrift.models.moments import Moments
from factdrift.models.scoring import score

ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "small": ("llama", {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 6,
                        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 4000}),
    "small-gptj": ("gptj", {"n_embd": 256, "n_layer": 6, "n_head": 4, "rotary_dim": 64, "vocab_size": 4000}),
    **{name: (sizes["model_type"], {key: value for key, value in sizes.items() if key != "model_type"})
       for name, sizes in read_yaml(Path(__file__).with_name("shapes.yaml")).items()},
}  # fmt: skip
SMALL: dict[str, dict[str, Any]] = {
    "rome": {"layer": 2, "steps": 20},
    "memit": {"layers": [1, 2, 3], "steps": 25},
    "ft": {"layers": [5]},
    "ft_l": {"layers": [0], "norm_constraint": 5e-5},
    "mend": {"rank": 64},
    "alphaedit": {"layers": [1, 2, 3]},
    "ultraedit": {"layers": [3, 4, 5]},
    "grace": {"layer": 4},
}
SMOLLM2: dict[str, dict[str, Any]] = {
    "rome": {"layer": 5, "steps": 25, "weight_decay": 1e-3},
    "memit": {"layers": [3, 4, 5, 6, 7]},
    "mend": {"rank": 64},
    "alphaedit": {"layers": [3, 4, 5, 6, 7]},
    "ultraedit": {"layers": [23, 24, 25, 26, 27, 28]},
    "grace": {"layer": 22},
}
"""Blocks by the shares of the published entries, for a model that no entry names."""
PAPER = {"rome": 4.9, "memit": 41.4, "ft": 1.4, "ft_l": 2.4, "mend": 1.1}
"""Seconds an update of GPT-J on an RTX 3090, without probes (WikiFactDiff, Table 6)."""
NAMES = ("ka", "lo", "mir", "ten", "su", "bra", "vel", "no", "chi", "dor", "an", "esk")
PROMPTS = (
    "The head of government of {} is",
    "{} was born in the city of",
    "The capital of the region of {} is",
)
ACCURACY = 2e-2
"""Relative difference of changes: single precision through two dozen steps of Adam. Half precision, in which
sums of other order soon lead elsewhere, is not compared."""


def main() -> None:
    options = arguments()
    device = torch.device(options.device)
    for method in options.methods:
        if options.released and released_editing.found(method, options.released) is None:
            raise SystemExit(f"--released: no folder has {method}; name its checkout, or leave it out")
        if not options.released and method not in PLAIN:
            raise SystemExit(f"--methods: {method} has no plain form; name its checkout with --released")
    loaded = build(options.architecture, device, options.dtype)
    facts = make_facts(options.edits)
    gc.freeze()  # modules and the model stay, and need not be looked through before each measurement
    rows = []
    steps = {"steps": options.steps} if options.steps else {}
    for method in options.methods:
        shape = options.architecture
        known = SMALL if shape.startswith("small") else SMOLLM2 if shape == "smollm2" else {}
        changes = known.get(method, {})
        hyper = read_hyper(method, options.architecture, changes)
        if method in ("ft", "ft_l"):
            changes = changes | {"bias": bool(options.released)}
        changes = changes | ({"stop_loss": 0.0} if "stop_loss" in hyper else {})
        changes = changes | (steps if "steps" in hyper else {})
        if method == "lora":
            changes = changes | {"dropout": 0}  # whose random numbers are others in the released code
        if method == "ultraedit":
            changes = changes | {"variance": "released", "batch": options.edits}
        hyper = read_hyper(method, options.architecture, changes)
        paper = [f"{PAPER[method]:.1f}"] if options.architecture == "gpt-j-6b" else []
        rows.append([method, *measured(loaded, hyper, facts, options), *paper])
        print(" | ".join(rows[-1]), flush=True)
    gc.unfreeze()
    others = "released" if options.released else "plain"
    header = [
        "method",
        "batched, s an edit",
        "one by one",
        others,
        "one by one / batched",
        f"{others} / batched",
    ]
    header += ["batched, MB", "one by one, MB", f"{others}, MB"]
    header += [] if options.released else [f"{options.probes} probes, s", "plain probes, s"]
    header += ["paper, s"] if options.architecture == "gpt-j-6b" else []
    taken = f" --steps {options.steps}" if options.steps else ""
    taken += " --released FOLDER ..." if options.released else ""
    note = (
        f"`benchmarks/editing.py --architecture {options.architecture} --edits {options.edits} "
        f"--alone {options.alone} --rounds {options.rounds}{taken}`, "
        f"random weights in {str(loaded.dtype).removeprefix('torch.')} on "
        f"{device_name(device)}; {options.edits} facts batched, {options.alone} in the other ways. Memory is "
        "what the way takes beyond the model."
    )
    if not options.released:
        note += " Probes are scored with the edits in place; plain ones also without, after each edit."
    record(f"Editing ({options.architecture})", header, rows, note, options.record)


def measured(loaded: Loaded, hyper: Hyper, facts: Sequence[Edit], options: argparse.Namespace) -> list[str]:
    """The columns of one method: seconds and megabytes of each way, seconds of probes.

    Raises AssertionError if the ways do not find the same changes.
    """
    edit, few, probes = method_of(hyper), facts[: options.alone], options.probes
    groups = [facts] if hyper.record.not_alone else [[fact] for fact in few]
    artefacts = make_artefacts(loaded, hyper)
    with contextlib.ExitStack() as stack:
        if options.released:
            folder = released_editing.found(hyper.method, options.released)
            plainly = stack.enter_context(released_editing.method(folder, loaded, hyper, artefacts))
        else:
            plain = PLAIN[hyper.method](loaded, hyper, artefacts)
            plainly = lambda group: plain(group[0])  # noqa: E731
        for first in (lambda: edit(loaded, groups[0], hyper, artefacts), lambda: plainly(groups[0])):
            first()  # what is done once a process is in no edit's time
        ways: list[Callable[[], Any]] = [
            lambda: edit(loaded, facts, hyper, artefacts),
            lambda: [edit(loaded, group, hyper, artefacts) for group in groups],
            lambda: [plainly(group) for group in groups],
        ]
        rounds = [[timed(loaded, way) for way in ways] for _ in range(options.rounds)]
    edited, ones, changes = (result for _, _, result in rounds[0])
    if loaded.dtype == torch.float32:
        same(hyper.method, edited, ones, changes)
    totals = [median(each for each, _, _ in way) for way in zip(*rounds, strict=True)]
    memory = [max(each for _, each, _ in way) for way in zip(*rounds, strict=True)]
    number = sum(map(len, groups))
    seconds = [total / of for total, of in zip(totals, (len(facts), number, number), strict=True)]
    columns = [
        *(f"{each:.4f}" for each in seconds),
        *(f"{each / seconds[0]:.1f}" for each in seconds[1:]),
        *(f"{each:,.0f}" for each in memory),
    ]
    if options.released:
        return columns

    sentences = [align(loaded.tokenizer, fact.prompt, fact.target) for fact in facts]
    owners = [place for place in range(len(facts)) for _ in range(probes)]
    asked = [sentences[(owner + each) % len(facts)] for each, owner in enumerate(owners)]
    scoring, _, _ = timed(loaded, lambda: score(loaded, asked, edited.deltas, owners))
    matrices = [{name: value for name, value in one.items() if value.dim() == 2} for one in changes]
    plain_scoring, _, _ = timed(loaded, lambda: [probed(loaded, one, asked[:probes]) for one in matrices])
    return [*columns, *(f"{each:.4f}" for each in (scoring / len(facts), plain_scoring / len(few)))]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--architecture", choices=list(ARCHITECTURES), default="small")
    parser.add_argument("--methods", nargs="+", choices=list(released_editing.METHODS), default=list(PLAIN))
    parser.add_argument("--edits", type=int, default=32, help="facts, all of which are batched")
    parser.add_argument("--alone", type=int, default=4, help="of these in the other ways")
    parser.add_argument("--probes", type=int, default=20, help="sentences scored for each edit")
    parser.add_argument("--steps", type=int, help="of each search, instead of the method's own number")
    parser.add_argument("--rounds", type=int, default=1, help="of all ways in turns; their medians count")
    parser.add_argument(
        "--released",
        **{"type": Path, "metavar": "FOLDER", "nargs": "+", "default": []},
        help="checkouts of published programs",
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], help="of the weights")
    add_record(parser)
    return parser.parse_args()


def build(architecture: str, device: torch.device, dtype_name: str | None = None) -> Loaded:
    """A model with random weights; unless a type is named, in bfloat16 on a GPU and float32 on a CPU."""
    family, sizes = ARCHITECTURES[architecture]
    dtype = getattr(torch, dtype_name or ("bfloat16" if device.type == "cuda" else "float32"))
    torch.manual_seed(0)
    with device:
        model: Any = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **sizes), dtype=dtype)
    return Loaded(
        model=model.eval().requires_grad_(False),
        tokenizer=make_tokenizer(),
        spec=spec_of(model, architecture),
        name=architecture,
        revision="random",
        digest="random",
        device=device,
        dtype=dtype,
    )


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([f"{fact.prompt} {fact.target}." for fact in make_facts(500)], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<|endoftext|>")
    )


def make_facts(number: int) -> list[Edit]:
    dice = random.Random(0)

    def name() -> str:
        return "".join(dice.choices(NAMES, k=3)).capitalize()

    facts = []
    for place in range(number):
        subject, target = f"{name()} {name()}", name()
        facts.append(Edit(str(place), dice.choice(PROMPTS).format(subject), subject, target))
    return facts


def make_artefacts(loaded: Loaded, hyper: Hyper) -> Artefacts:
    """Prefixes, and second moments of random keys; MEND's networks, which have learned nothing."""
    if hyper.method == "mend":
        return Artefacts(editor=make_hypernet(loaded, hyper))
    if "prefixes" not in hyper:
        return Artefacts()
    moments = {}
    width = loaded.spec.inner
    for layer in hyper.layers:
        generator = torch.Generator(loaded.device).manual_seed(layer)
        # AlphaEdit needs a null space.
        number = width // 2 if hyper.method == "alphaedit" else 2 * width
        keys = torch.randn(number, width, generator=generator, device=loaded.device)
        total = (keys.T @ keys).double().cpu()
        made = moments[layer] = Moments(total, number, "random", layer, "random", device=loaded.device)
        _ = made.eigen if hyper.method == "alphaedit" else made.factor  # once a model
    return Artefacts(make_prefixes(loaded, hyper), moments)


def make_prefixes(loaded: Loaded, hyper: Hyper) -> tuple[str, ...]:
    """Prefixes as long and as many as the method's, the empty one first."""
    words = make_facts(100)
    prefixes = [""]
    for kind in hyper["prefixes"]:
        ids = loaded.tokenizer(" ".join(word.prompt for word in words))["input_ids"]
        for _ in range(kind["number"]):
            start = len(prefixes) * 7
            prefixes.append(loaded.tokenizer.decode(ids[start : start + kind["tokens"] - 1]) + ". ")
    return tuple(prefixes)


def make_hypernet(loaded: Loaded, hyper: Hyper) -> HyperNet:
    torch.manual_seed(0)
    net = HyperNet(edited_matrices(loaded, hyper["blocks"]), hyper["rank"], 1e-4).to(loaded.device)
    for name, value in net.named_parameters():
        if name.endswith(".u"):
            torch.nn.init.normal_(value, std=0.01)  # as if trained: at 0 the networks would do nothing
    sentences = [align(loaded.tokenizer, fact.prompt, fact.target) for fact in make_facts(16)]
    net.see(gradients(loaded, net.matrices, sentences)[1])
    return net.requires_grad_(False)


def _rome(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Callable[[Edit], dict[str, torch.Tensor]]:
    inverse = torch.linalg.inv(artefacts.moments[hyper["layer"]].matrix.to(loaded.device)).float()

    def edit(fact: Edit) -> dict[str, torch.Tensor]:
        return plain_rome(loaded, contexts_of(loaded, [fact], hyper, artefacts)[0][0], hyper, inverse)

    return edit


def _memit(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Callable[[Edit], dict[str, torch.Tensor]]:
    cpu = torch.device("cpu")
    kept = {layer: replace(moments, device=cpu) for layer, moments in artefacts.moments.items()}

    def edit(fact: Edit) -> dict[str, torch.Tensor]:
        return plain_memit(loaded, contexts_of(loaded, [fact], hyper, artefacts)[0][0], hyper, kept)

    return edit


def _ft(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Callable[[Edit], dict[str, torch.Tensor]]:
    return lambda fact: plain_ft(loaded, align(loaded.tokenizer, fact.prompt, fact.target), hyper)


def _mend(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Callable[[Edit], dict[str, torch.Tensor]]:
    return lambda edit: plain_mend(
        loaded, align(loaded.tokenizer, edit.prompt, edit.target), artefacts.editor
    )


PLAIN = {"rome": _rome, "memit": _memit, "ft": _ft, "ft_l": _ft, "mend": _mend}


def same(
    method: str, edited: Edited, single: Sequence[Edited], plain: Sequence[dict[str, torch.Tensor]]
) -> None:
    """Raises AssertionError if the ways do not find the same changes."""
    for place, (one, other) in enumerate(zip(single, plain, strict=True)):
        for name, change in other.items():
            found, alone = put_in(edited, place, name), put_in(one, 0, name)
            for way, value in (("one by one", alone), ("plain", change)):
                error = float((value - found).norm() / found.norm())
                assert error < ACCURACY, f"{method}, fact {place}: {way} differs by {error:.1e}"


def put_in(edited: Edited, place: int, name: str) -> torch.Tensor:
    """What an edit changes of a matrix, of its bias (NAME.bias), or its entry (NAME.keys, NAME.values)."""
    module, _, part = name.rpartition(".")
    if module in edited.codebooks:
        return getattr(edited.codebooks[module], part)[place, 0]
    biased = part == "bias"
    return edited.deltas[module if biased else name].dense(place)[biased]


def timed(loaded: Loaded, work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds (on a CPU, of one core), megabytes beyond what was in use before, and what `work` returns."""
    if loaded.device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        start = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        return time.perf_counter() - start, (torch.cuda.max_memory_allocated() - before) / 1e6, result
    torch.set_num_threads(1)
    with _Watched() as memory:
        # Of the processor, so that other work on the machine counts little.
        start = time.process_time()
        result = work()
        seconds = time.process_time() - start
    return seconds, memory.most, result


class _Watched:
    """The most memory that the process takes beyond what it has at first; looks every few milliseconds."""

    def __enter__(self) -> _Watched:
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what earlier work has left would hide what this one takes
        self.process, self.ended = psutil.Process(), threading.Event()
        self.before = self.process.memory_info().rss
        self.most = 0.0
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.ended.wait(0.005):
            self.most = max(self.most, (self.process.memory_info().rss - self.before) / 1e6)

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join()


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"


if __name__ == "__main__":
    main()

"""MEND's editor networks: trained on practice edits (Mitchell et al., 2022, section 3.2), or published ones.

A practice edit is made from the gradient on a fact's prompt with another object
as target. The loss has two parts: L_e, the negative log-likelihood of that object after a paraphrase, and
L_loc, how much the edited model differs on a fact of another subject:

    L = edit_weight * L_e + locality_weight * L_loc        (eq. 4a, 4b; 0.1 and 1 in the reference)

All edits of a step run at once, with their changes added by hooks. Gradients reach the networks through the
changes; the gradients from which the changes are made are constants, as in the reference. Published
checkpoints are those of eric-mitchell/mend, algs/mend.py (docs/methods-weights.md). Imports torch.
"""

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.owned import atomic_path
from factdrift.core.progress import Progress
from factdrift.evaluation.methods.editors import Fact, Split
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.methods.mend import LAYERS, HyperNet, edited_matrices
from factdrift.evaluation.methods.shared import Targets, aligned, final_hidden, gradients
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import applied
from factdrift.models.families import transposed
from factdrift.models.fork import unembedded
from factdrift.models.loaded import Loaded

SPARE = 4
"""Oversampling factor: some examples cannot be aligned with the tokenizer."""
Asked = tuple[str, str]
"""A prompt, and a target after it."""
Practice = tuple[Sentence, Sentence, Sentence]
"""The tokens of a practice edit, of a paraphrase of it, and of an unchanged fact of another subject."""


def draw_examples(
    split: Split, facts: Sequence[Fact], number: int, seed: str
) -> list[tuple[Asked, Asked, Asked]]:
    """Draws `number` practice edits of `facts` with `seed`: edit, paraphrase, and a fact that is trained on.

    The last one is of another subject, and unchanged.
    """
    random = Random(seed)
    examples = []
    for _ in range(number):
        fact = random.choice(facts)
        target = random.choice([pool for pool in split.pools[fact.relation] if pool != fact.object])
        prompt, paraphrase = random.sample(fact.prompts, 2)
        other = fact
        while other.subject == fact.subject:
            other = random.choice(split.train)
        kept = random.choice(other.prompts), other.object
        examples.append(((prompt, target), (paraphrase, target), kept))
    return examples


def loss_of(
    loaded: Loaded, net: HyperNet, practice: Sequence[Practice], hyper: Hyper, *, training: bool = False
) -> Tensor:
    """The mean loss L of a batch. With `training`, the gradients are added to the networks' statistics first.

    L_e is the mean over the target's tokens of -log p(target | paraphrase) of the edited model, L_loc the
    mean over the tokens of the locality sentence of KL(model || edited model).
    """
    edits, paraphrases, others = zip(*practice, strict=True)
    _, factors = gradients(loaded, net.matrices, edits)
    if training:
        net.see(factors)
    deltas = net(factors)
    targets = Targets(loaded, paraphrases)
    rows = [other.ids for other in others]
    owner = torch.arange(len(practice), device=loaded.device)
    with torch.no_grad():
        before = unembedded(loaded, final_hidden(loaded, rows)).log_softmax(2)
    with applied(loaded.model, deltas, torch.cat([owner, owner])):
        hidden = final_hidden(loaded, [*targets.rows, *rows])
    asked, kept = hidden[: len(practice)], hidden[len(practice) :]
    after = unembedded(loaded, kept[:, : before.shape[1]]).log_softmax(2)
    apart = (before.exp() * (before - after)).sum(2)
    lengths = torch.tensor([len(row) for row in rows], device=loaded.device)
    real = torch.arange(apart.shape[1], device=loaded.device) < lengths[:, None]
    edit, locality = targets.losses(asked).mean(), ((apart * real).sum(1) / lengths).mean()
    loss: Tensor = hyper["edit_weight"] * edit + hyper["locality_weight"] * locality
    return loss


def train(loaded: Loaded, split: Split, hyper: Hyper, output: Path, seed: int = 0) -> HyperNet:
    """Trains an editor; writes and returns the one with the lowest validation loss.

    Training ends after `steps`, or after `patience` steps without a lower loss. At each validation a
    checkpoint is written beside `output`. Training continues from a checkpoint of the same model in the same
    type, facts, hyper-parameters and seed, and gives the same editor as without interruption.
    """
    about = {
        "model": loaded.digest,
        "template": loaded.template,
        "split": split.digest(),
        "hyper": hyper.json(),
        "seed": seed,
    }
    state = _State(loaded, hyper, seed)
    checkpoint = output.with_name(f".{output.name}.checkpoint")
    begun = {**about, "dtype": str(loaded.dtype)}
    state.resume(checkpoint, begun)
    draw = _drawing(loaded, split)
    held_out = draw(split.validation, hyper["validation"], f"{seed} validation")
    progress = Progress(f"MEND on {loaded.name}", hyper["steps"], "steps", before=state.step)
    while state.step < hyper["steps"] and state.step - state.best_step < hyper["patience"]:
        batch = draw(split.train, hyper["batch"], f"{seed} {state.step}")
        state.advance(loss_of(loaded, state.net, batch, hyper, training=True))
        progress.advance(note=f"validation {state.best:.3f}")
        if state.step % hyper["validate_every"] == 0 or state.step == hyper["steps"]:
            with torch.no_grad():
                starts = range(0, len(held_out), hyper["batch"])
                parts = [held_out[start : start + hyper["batch"]] for start in starts]
                losses = [float(loss_of(loaded, state.net, part, hyper)) for part in parts]
            if (loss := sum(losses) / len(losses)) < state.best:
                state.best, state.best_step, state.best_values = loss, state.step, state.values()
            state.write(checkpoint, begun)
    progress.say(f"validation {state.best:.3f} at step {state.best_step}")
    net = state.net
    net.load_state_dict(state.best_values)
    net.write(output, {**about, "step": state.best_step, "validation": state.best})
    checkpoint.unlink(missing_ok=True)
    return net.requires_grad_(False)


def _drawing(loaded: Loaded, split: Split) -> Callable[[Sequence[Fact], int, str], list[Practice]]:
    """A function that draws a number of practice edits of facts, with a seed, as tokens.

    Those that cannot be aligned are skipped; it raises CannotEdit if too few can be.
    """

    @cache
    def sentences(pair: Asked) -> list[Sentence]:
        prompt, target = pair
        return [*aligned(loaded, [Edit("", prompt, "", target)])[0].values()]

    def draw(facts: Sequence[Fact], number: int, seed: str) -> list[Practice]:
        practice: list[Practice] = []
        for edit, paraphrase, other in draw_examples(split, facts, SPARE * number, seed):
            tokens = [*sentences(edit), *sentences(paraphrase), *sentences(other)]
            if len(tokens) == 3:
                practice.append((tokens[0], tokens[1], tokens[2]))
        if len(practice) < number:
            raise CannotEdit(
                f"models: {loaded.name}: most facts cannot be aligned with its tokens, so that MEND cannot "
                "be trained; leave it out of `methods`"
            )
        return practice[:number]

    return draw


class _State:
    """An editor in training, with its optimiser, the best values so far and the number of steps."""

    def __init__(self, loaded: Loaded, hyper: Hyper, seed: int):
        kind = loaded.change_dtype
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = HyperNet(edited_matrices(loaded, hyper["blocks"]), hyper["rank"], hyper["edit_lr"])
        self.net = net.to(loaded.device, kind)
        self.hyper = hyper
        networks = list(self.net.editors.parameters())
        self.adam = torch.optim.Adam(
            [{"params": networks, "lr": hyper["lr"]}, {"params": [self.net.rates], "lr": hyper["lr_lr"]}]
        )
        self.step, self.best_step, self.best = 0, 0, math.inf
        self.best_values = self.values()

    def advance(self, loss: Tensor) -> None:
        """One step of Adam."""
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.hyper["clip"], error_if_nonfinite=True)
        self.adam.step()
        self.step += 1

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        kept: dict[str, Any] = {"about": about, "net": self.net.state_dict(), "best": self.best_values}
        kept |= {"adam": self.adam.state_dict(), "reached": (self.step, self.best_step, self.best)}
        with atomic_path(path) as temporary:
            torch.save(kept, temporary)

    def resume(self, path: Path, about: Mapping[str, Any]) -> None:
        """Loads a checkpoint; one of another model, type, split, seed or hyper-parameters is ignored."""
        if not path.is_file():
            return
        kept = torch.load(path, map_location=self.net.rates.device, weights_only=True)
        if kept["about"] == about:
            self.net.load_state_dict(kept["net"])
            self.adam.load_state_dict(kept["adam"])
            self.best_values = kept["best"]
            self.step, self.best_step, self.best = kept["reached"]

    def values(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.net.state_dict().items()}


def convert(path: Path, loaded: Loaded, hyper: Hyper, output: Path) -> HyperNet:
    """Writes and returns the editor of a published checkpoint of the model `loaded`.

    The key `rates`: `by_position` assigns the learned rates in the order of the model's parameters, as
    `mend_main.py` of kmeng01/rome does; `matched` assigns each matrix its own. They differ for GPT-2, whose
    checkpoints list the second matrix of a block before the first. Only tensors and configurations of the
    model's class are unpickled. Raises InputError for a file of another layout or model.
    """
    values = _read(path, loaded)
    matrices = edited_matrices(loaded, hyper["blocks"])
    shapes = sorted({str(shape) for shape in matrices.values()})
    found = sorted({name.split(".")[1] for name in values if name.startswith("mend.")})
    if found != shapes or len(values.get("edit_lrs", ())) != len(matrices):
        raise InputError(
            f"{path}: made for {len(values.get('edit_lrs', ()))} matrices of the shapes {', '.join(found)}, "
            f"but those of {loaded.name} are {len(matrices)}, of {', '.join(shapes)}; name its model"
        )
    order = list(matrices)
    if transposed(loaded.model.get_submodule(order[0])):
        # In the checkpoints of GPT-2 the second matrix of a block comes first.
        parts = len(loaded.spec.mlp_matrices)
        blocks_of = [order[start : start + parts] for start in range(0, len(order), parts)]
        order = [name for block in blocks_of for name in reversed(block)]
    learned = values["edit_lrs"]
    given = list(matrices) if hyper["rates"] == "by_position" else order
    state = {"rates": torch.stack([learned[given.index(name)] for name in matrices])}
    for shape in dict.fromkeys(matrices.values()):
        names = [name for name in order if matrices[name] == shape]
        # Row i of their scales and shifts belongs to matrix i in their order.
        rows = torch.tensor([names.index(name) for name in matrices if name in names])
        theirs, ours = f"mend.{shape}.", f"editors.{shape[0]}x{shape[1]}."
        taken = {name: value for name, value in values.items() if name.startswith(theirs)}
        for side in "uv":
            taken.pop(f"{theirs}{side}_std", None)  # follows from the squares
        try:
            count = taken.pop(f"{theirs}k").round().long().reshape(())
            for side, name in {"u": "entering", "v": "leaving"}.items():
                state[f"{ours}{name}.count"] = count
                state[f"{ours}{name}.mean"] = taken.pop(f"{theirs}{side}_mean")
                state[f"{ours}{name}.squares"] = taken.pop(f"{theirs}{side}_s")
            for layer in range(LAYERS):
                inner = f"{theirs}mlp.layers.{layer}."
                for name in ("u", "v", "bias"):
                    state[f"{ours}layers.{layer}.{name}"] = taken.pop(f"{inner}{name}")
                for name in ("scale", "shift"):
                    state[f"{ours}layers.{layer}.{name}"] = taken.pop(f"{inner}mode_{name}.weight")[rows]
        except KeyError as error:
            taken = {str(error): torch.empty(0)}
        if taken:
            raise InputError(
                f"{path}: not the layout of MEND's code with one shared, combined network a shape "
                f"(mend.combine and mend.shared, n_hidden 1): {next(iter(taken))} is missing or unknown"
            )
    rank = max(len(value) for name, value in values.items() if name.endswith(".v"))
    net = HyperNet(matrices, rank, 0.0)
    net.load_state_dict(state)
    net.write(output, {"model": loaded.digest, "source": path.name})
    return net.to(loaded.device).requires_grad_(False)


def _read(path: Path, loaded: Loaded) -> dict[str, Tensor]:
    """The tensors under `model`, by the newer of the two naming schemes."""
    kinds: list[Any] = [type(loaded.model.config)]
    try:
        with torch.serialization.safe_globals(kinds):
            archive: Any = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        why = next((line.strip() for line in lines if "GLOBAL" in line), lines[0])
        raise InputError(
            f"{path}: cannot be read as a MEND checkpoint for {loaded.name}: {why} "
            "(a file with other objects than tensors and this model's configuration is not opened, since "
            "that could run anything)"
        ) from None
    model = archive.get("model") if isinstance(archive, dict) else None
    if not isinstance(model, dict) or "edit_lrs" not in model:
        raise InputError(f"{path}: no MEND checkpoint: it has no `model` with `edit_lrs`")
    return {
        name.replace("gtn.", "mend.", 1): value for name, value in model.items() if isinstance(value, Tensor)
    }

"""Training of MEND's editor networks on practice edits (Mitchell et al., 2022, section 3.2).

A practice edit is made from the gradient on a fact's prompt with another object as target. The loss has two
parts: L_e, the negative log-likelihood of that object after a paraphrase, and L_loc, how much the edited
model differs on a fact of another subject:

    L = edit_weight * L_e + locality_weight * L_loc        (eq. 4a, 4b; 0.1 and 1 in the reference)

All edits of a step run at once, with their changes added by hooks. Gradients reach the networks through the
changes; the gradients from which the changes are made are constants, as in the reference. Imports torch.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from factdrift.core.errors import CannotEdit
from factdrift.core.progress import Progress
from factdrift.evaluation.methods.artefacts.mend_facts import Example, Fact, Split, draw_examples
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.mend import final_hidden, gradients
from factdrift.evaluation.methods.mend_editor import HyperNet, edited_matrices
from factdrift.evaluation.methods.targets import Targets
from factdrift.models.alignment import AlignmentError, Sentence, align
from factdrift.models.deltas import applied
from factdrift.models.fork import unembedded
from factdrift.models.loaded import Loaded
from factdrift.models.tensor_files import read_tensors, write_tensors

SPARE = 4
"""Oversampling factor: some examples cannot be aligned with the tokenizer."""


@dataclass(frozen=True)
class Practice:
    """A practice edit as tokens."""

    edit: Sentence
    paraphrase: Sentence
    locality: Sentence


def loss_of(
    loaded: Loaded, net: HyperNet, practice: Sequence[Practice], hyper: Hyper, *, training: bool = False
) -> Tensor:
    """The mean loss L of a batch. With `training`, the gradients are added to the networks' statistics first.

    L_e is the mean over the target's tokens of -log p(target | paraphrase) of the edited model, L_loc the
    mean over the tokens of the locality sentence of KL(model || edited model).
    """
    _, factors = gradients(loaded, net.matrices, [one.edit for one in practice])
    if training:
        net.see(factors)
    deltas = net(factors)
    targets = Targets(loaded, [one.paraphrase for one in practice])
    rows = [one.locality.ids for one in practice]
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


def train(loaded: Loaded, split: Split, hyper: Hyper, output: Path, *, seed: int = 0) -> HyperNet:
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
    examples = _Examples(loaded, split)
    held_out = examples.draw(split.validation, hyper["validation"], f"{seed} validation")
    progress = Progress(f"MEND on {loaded.name}", hyper["steps"], "steps", before=state.step)
    while state.step < hyper["steps"] and state.step - state.best_step < hyper["patience"]:
        batch = examples.draw(split.train, hyper["batch"], f"{seed} {state.step}")
        state.advance(loss_of(loaded, state.net, batch, hyper, training=True))
        progress.advance(note=f"validation {state.best:.3f}")
        if state.step % hyper["validate_every"] == 0 or state.step == hyper["steps"]:
            with torch.no_grad():
                starts = range(0, len(held_out), hyper["batch"])
                parts = [held_out[start : start + hyper["batch"]] for start in starts]
                found = [float(loss_of(loaded, state.net, part, hyper)) for part in parts]
            state.validated(sum(found) / len(found))
            state.write(checkpoint, begun)
    progress.say(f"validation {state.best:.3f} at step {state.best_step}")
    net = state.best_net()
    net.write(output, {**about, "step": state.best_step, "validation": state.best})
    checkpoint.unlink(missing_ok=True)
    return net


class _Examples:
    """Draws practice edits as tokens; those that cannot be aligned are skipped."""

    def __init__(self, loaded: Loaded, split: Split):
        self._loaded, self._split = loaded, split
        self._known: dict[tuple[str, str], Sentence | None] = {}

    def draw(self, facts: Sequence[Fact], number: int, seed: str) -> list[Practice]:
        """`number` practice edits of `facts`; raises CannotEdit if too few can be aligned."""
        drawn = (self._practice(one) for one in draw_examples(self._split, facts, SPARE * number, seed))
        found = [one for one in drawn if one is not None][:number]
        if len(found) < number:
            raise CannotEdit(
                f"models: {self._loaded.name}: most facts cannot be aligned with its tokens, so that MEND "
                "cannot be trained; leave it out of `methods`"
            )
        return found

    def _practice(self, example: Example) -> Practice | None:
        sentences = [self._sentence(*pair) for pair in (example.edit, example.paraphrase, example.locality)]
        known = [one for one in sentences if one is not None]
        return Practice(*known) if len(known) == len(sentences) else None

    def _sentence(self, prompt: str, target: str) -> Sentence | None:
        pair = prompt, target
        if pair not in self._known:
            try:
                found = align(self._loaded.tokenizer, prompt, target)
            except AlignmentError:
                self._known[pair] = None
            else:
                self._known[pair] = found if len(found.ids) <= self._loaded.spec.positions else None
        return self._known[pair]


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
        self.best_values = self._values()

    def advance(self, loss: Tensor) -> None:
        """One step of Adam."""
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.hyper["clip"], error_if_nonfinite=True)
        self.adam.step()
        self.step += 1

    def validated(self, loss: float) -> None:
        if loss < self.best:
            self.best, self.best_step, self.best_values = loss, self.step, self._values()

    def best_net(self) -> HyperNet:
        self.net.load_state_dict(self.best_values)
        return self.net.requires_grad_(False)

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        values = {f"net.{name}": value for name, value in self._values().items()}
        values |= {f"best.{name}": value for name, value in self.best_values.items()}
        for place, moments in self.adam.state_dict()["state"].items():
            values |= {f"adam.{place}.{name}": value for name, value in moments.items()}
        reached = {"step": self.step, "best_step": self.best_step, "best": self.best}
        write_tensors(path, values, {**about, **reached})

    def resume(self, path: Path, about: Mapping[str, Any]) -> None:
        """Loads a checkpoint; one of another model, type, split, seed or hyper-parameters is ignored."""
        if not path.is_file():
            return
        values, reached = read_tensors(path, "factdrift edit mend-train", str(self.net.rates.device))
        if any(reached.get(key) != value for key, value in about.items()):
            return
        self.net.load_state_dict(_under("net.", values))
        self.best_values = _under("best.", values)
        state = self.adam.state_dict()
        for name, value in _under("adam.", values).items():
            place, _, moment = name.partition(".")
            state["state"].setdefault(int(place), {})[moment] = value
        self.adam.load_state_dict(state)
        self.step, self.best_step, self.best = (reached[key] for key in ("step", "best_step", "best"))

    def _values(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.net.state_dict().items()}


def _under(prefix: str, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}

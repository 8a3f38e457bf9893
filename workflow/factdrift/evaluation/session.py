"""Run settings, provenance columns and costs of one loaded model. Imports torch."""

from __future__ import annotations

import importlib.metadata
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import torch

from factdrift.evaluation.ability.record import Ability
from factdrift.evaluation.methods.interface import Edited
from factdrift.evaluation.questions.probes import Sentences, Update
from factdrift.evaluation.settings import Settings
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import budget_of, generate
from factdrift.models.templated import Templated

SAID = 3
"""Tokens of a continuation that are kept beyond the length of the longest object."""

META = [
    *((name, pa.string()) for name in ("model", "revision", "model_digest", "method", "hyper")),
    *((name, pa.string()) for name in ("moments", "prefixes", "mend", "regime")),
    ("group", pa.int32()),
    *((name, pa.string()) for name in ("template", "dtype")),
    *((name, pa.string()) for name in ("torch", "transformers", "factdrift")),
]
"""Provenance columns; digests of files that a method does not use are null."""


@dataclass
class Job:
    """A loaded model with its sentences, settings and accumulated costs."""

    loaded: Loaded
    sentences: Sentences
    settings: Settings
    costs: dict[str, float] = field(default_factory=dict)
    ability: Ability | None = None
    """What is measured on the edited models besides probes."""

    def meta(self, method: str, hyper: str, digests: Mapping[str, str | None]) -> dict[str, Any]:
        """Values of the columns META."""
        loaded = self.loaded
        return {
            "model": loaded.name,
            "revision": loaded.revision,
            "model_digest": loaded.digest,
            "method": method,
            "hyper": hyper,
            **{name: digests.get(name) for name in ("moments", "prefixes", "mend")},
            "regime": self.settings.regime,
            "group": self.settings.edits if self.settings.regime != "independent" else None,
            "template": loaded.template,
            "dtype": str(loaded.dtype).removeprefix("torch."),
            **{name: importlib.metadata.version(name) for name in ("torch", "transformers", "factdrift")},
        }

    @cached_property
    def budget(self) -> int:
        """Tokens of probes and continuations at a time."""
        given = self.settings.budget
        return budget_of(self.loaded) if given == "auto" else given

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Adds the seconds that the `with` block takes to `costs[what]`."""
        start = time.perf_counter()
        yield
        for device in self.loaded.devices:
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        self.costs[what] = self.costs.get(what, 0.0) + time.perf_counter() - start

    def count_left_out(self, edited: Edited) -> None:
        """Keeps in `costs` how many texts, at most, did not fit before a prompt; nothing if all did."""
        if edited.left_out:
            self.costs["left_out"] = max(self.costs.get("left_out", 0), edited.left_out)

    def peak_mb(self) -> float:
        return peak_mb(*self.loaded.devices)

    def device_name(self) -> str:
        if self.loaded.device.type == "cuda":
            return " + ".join(map(torch.cuda.get_device_name, self.loaded.devices))
        return str(self.loaded.device)

    def continued(
        self,
        prompts: Sequence[Sequence[int]],
        counts: Sequence[int],
        edited: Edited | None = None,
        owners: Sequence[int] | None = None,
    ) -> list[list[int]]:
        """Greedy continuations of `counts[row]` tokens, with the edit `owners[row]` if one is given."""
        changes = edited.changes if edited else None
        return generate(self.loaded, prompts, counts, changes, owners, self.budget)

    def room(self, prompt: str) -> int:
        """Tokens of a long continuation of a cloze: what `length` leaves, without those of a template."""
        tokenizer = self.loaded.tokenizer
        own = tokenizer.tokens if isinstance(tokenizer, Templated) else 0
        return self.settings.length - (len(self.sentences[prompt, ""].ids) - own)

    def text(self, ids: Sequence[int]) -> str:
        said: str = self.loaded.tokenizer.decode(ids, skip_special_tokens=True)
        return said

    def opening(self, ids: Sequence[int], longest: int) -> str:
        """The first `longest + SAID` tokens of a continuation as text, up to an end-of-text token."""
        kept = list(ids[: longest + SAID])
        end = self.loaded.tokenizer.eos_token_id
        return self.text(kept[: kept.index(end)] if end in kept else kept)


def peak_mb(*devices: torch.device) -> float:
    """Peak memory in MB, summed over the GPUs that the model is on; without any, of the process."""
    if devices[0].type == "cuda":
        return sum(map(torch.cuda.max_memory_allocated, devices)) / 1e6
    return process_peak_mb(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sys.platform)


def process_peak_mb(ru_maxrss: int, platform: str) -> float:
    """The peak memory of a process in MB, from what the system reports: kB on Linux, bytes on macOS."""
    return ru_maxrss / (1e6 if platform == "darwin" else 1e3)


def cut(values: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def longest(sentences: Sentences, update: Update) -> int:
    """Number of tokens of the longest aligned object of the update itself; 0 if none is aligned."""
    pairs = [(each["prompt"], each["target"]) for each in update.probes if each["object"] != "neighbor"]
    found = [sentences[pair] for pair in pairs if pair in sentences]
    return max((len(one.ids) - one.target for one in found), default=0)

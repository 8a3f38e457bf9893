"""Facts to edit into untrained models, and what the methods need for that."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from factdrift.evaluation.methods import shared
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Method
from factdrift.evaluation.methods.record import MethodRecord, records
from factdrift.models.deltas import LowRank
from factdrift.models.loaded import Loaded
from factdrift.models.moments import count_moments
from support.tiny_models import TEXT

PREFIXES = ("", "Therefore I am. ", "You said so. ")
EDITS = (
    Edit(
        "a", "The head of government of the United States of America is", "United States of America", "Marta"
    ),
    Edit("b", "Marta Kowalska lives in", "Marta Kowalska", "New Orleans"),
    Edit("c", "The capital of Atlantis is", "Atlantis", "Zoë Müller"),
    Edit("d", "The mother of Zoë Müller (painter) is", "Zoë Müller (painter)", "Poseidonis"),
    Edit("e", "Because of Joe Biden's sea, Joe Biden's capital is", "Joe Biden", "Kowalska"),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "ft": {"layers": [1], "lr": 0.01, "steps": 3},
    "lora": {"rank": 3, "alpha": 6, "steps": 4, "dropout": 0},
    "merge": {"rank": 2, "alpha": 4, "steps": 3, "combination": "ties", "density": 0.5},
    "replay": {"rank": 2, "alpha": 4, "steps": 3, "replayed": 2},
    "ultraedit": {"layers": [1, 2], "lr": 0.01, "turn": 2},
    "grace": {"layer": 1, "steps": 3, "lr": 0.1},
    "wise": {"layer": 1, "steps": 3, "contexts": 1, "margins": [0.1, 0.5, 0.3], "shard": 2, "lr": 0.5},
    "mend": {"blocks": 2, "rank": 5},
    "context_all": {"room": 24},
    "rag": {"k": 1},
    "prompt": {},
    "rome": {"layer": 1, "steps": 6, "weight_decay": 0.001, "clamp": 20},
    "memit": {"layers": [0, 1], "steps": 6, "weight_decay": 0.001, "clamp": 20, "moment_weight": 0.1},
    # The keys of these models are short, so that C is small.
    "alphaedit": {"layers": [0, 1], "steps": 6, "weight_decay": 0.001, "clamp": 20, "l2": 0.01},
}


def tiny_hyper(method: str, **changes: Any) -> Hyper:
    return read_hyper(method, "tiny", SETTINGS[method] | changes)


def tiny_artefacts(loaded: Loaded, *, prefixes: tuple[str, ...] = PREFIXES) -> Artefacts:
    return Artefacts(prefixes=prefixes, moments=count_moments(loaded, [0, 1, 2], TEXT, ridge=1e-3))


FAILING = "Q3-P6"


def shifted(loaded: Loaded, given: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A method that changes one matrix by random numbers that depend on the edit; one edit fails.

    Hyper-parameters, which may be missing: `factor` of both factors of the change, and `failing`.
    """
    spec = loaded.spec
    read = torch.zeros(len(given), spec.inner, 1, dtype=loaded.dtype)
    write = torch.zeros(len(given), spec.hidden, 1, dtype=loaded.dtype)
    failed = {}
    for place, edit in enumerate(given):
        if edit.id == hyper.get("failing", FAILING):
            failed[place] = "it would not"
            continue
        make = torch.Generator().manual_seed(int(edit.id[1]))
        factor = hyper.get("factor", 1)
        read[place] = factor * torch.randn(spec.inner, 1, generator=make, dtype=loaded.dtype)
        write[place] = factor * torch.randn(spec.hidden, 1, generator=make, dtype=loaded.dtype)
    steps = torch.arange(len(given))
    return Edited(deltas={spec.module(1, spec.down): LowRank(read, write)}, failed=failed, steps=steps)


def add_method(monkeypatch: pytest.MonkeyPatch, name: str, method: Method) -> None:
    """Makes a function a method of factdrift until the test ends."""
    plain = shared.named
    monkeypatch.setitem(records(), name, MethodRecord(edit=name))
    monkeypatch.setattr(shared, "named", lambda function: method if function == name else plain(function))

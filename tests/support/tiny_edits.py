"""Facts to edit into untrained models, and what the methods need for that."""

from __future__ import annotations

from typing import Any

import pytest

from factdrift.evaluation.methods import registry
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Method
from factdrift.evaluation.methods.record import Record, records
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
    "rome": {"layer": 1, "steps": 6, "weight_decay": 0.001, "clamp": 20},
    "memit": {"layers": [0, 1], "steps": 6, "weight_decay": 0.001, "clamp": 20, "moment_weight": 0.1},
    # The keys of these models are short, so that C is small.
    "alphaedit": {"layers": [0, 1], "steps": 6, "weight_decay": 0.001, "clamp": 20, "l2": 0.01},
}


def tiny_hyper(method: str, **changes: Any) -> Hyper:
    return read_hyper(method, "tiny", SETTINGS[method] | changes)


def tiny_artefacts(loaded: Loaded, *, prefixes: tuple[str, ...] = PREFIXES, ridge: float = 1e-3) -> Artefacts:
    return Artefacts(prefixes=prefixes, moments=count_moments(loaded, [0, 1, 2], TEXT, ridge=ridge))


def add_method(monkeypatch: pytest.MonkeyPatch, name: str, method: Method) -> None:
    """Makes a function a method of factdrift until the test ends."""
    plain = registry.named
    monkeypatch.setitem(records(), name, Record(edit=name))
    monkeypatch.setattr(registry, "named", lambda function: method if function == name else plain(function))

"""What is to be known of a locating method besides its hyper-parameters: config/locators/LOCATOR.yaml.

Registry, plan, runs and documents read it; a locator's name stands in no module. Does not import torch.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from factdrift.core.functions import named_function
from factdrift.core.paths import LOCATORS
from factdrift.core.yaml_files import read_alike

if TYPE_CHECKING:
    from factdrift.evaluation.locators.interface import Locator


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One locator: `record` in its file, and the units that its key `granularity` allows."""

    title: str
    """What it measures."""
    function: str
    """MODULE.FUNCTION of `factdrift.evaluation.locators` (`interface.Locator`)."""
    units: tuple[Literal["neuron", "head", "module", "layer"], ...]
    needs: frozenset[Literal["gradients", "corrupted"]] = frozenset()
    """`gradients`: a backward pass. `corrupted`: runs with noise on the subject, `samples` a sentence."""
    follows: str = ""
    """The key that names an editing method; what the user has set as its `layer` is the locator's, too."""
    paper: str = ""


@cache
def records() -> dict[str, Record]:
    """Name -> record of each locator of factdrift."""
    files = {path.stem: read_alike(path) for path in sorted(LOCATORS.glob("*.yaml"))}
    return {
        name: msgspec.convert({**file["record"], "units": file["keys"]["granularity"]["enum"]}, Record)
        for name, file in files.items()
    }


def locator_of(name: str) -> Locator:
    """The function of one of factdrift's locators."""
    return named_function(__package__, records()[name].function)

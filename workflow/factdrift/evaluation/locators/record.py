"""What is to be known of a locating method besides its hyper-parameters: config/locators/LOCATOR.yaml.

Registry, plan, runs and documents read it; no module contains a locator's name. Does not import torch.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from factdrift.core.files import read_yaml
from factdrift.core.functions import named_function
from factdrift.core.paths import LOCATORS
from factdrift.evaluation.methods.hyperparameters import files_of

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
    """The key that names an editing method; the block that the user has set for it is the locator's, too."""
    paper: str = ""


@cache
def records() -> dict[str, Record]:
    """Name -> record of each locator of factdrift; what one that is like another leaves out is as there."""
    found = {}
    for name in sorted(path.stem for path in LOCATORS.glob("*.yaml")):
        files = [read_yaml(path) for path in reversed(files_of(name, LOCATORS))]
        said = {key: value for file in files for key, value in file["record"].items()}
        units = files[0]["keys"]["granularity"]["enum"]
        found[name] = msgspec.convert({**said, "units": units}, Record)
    return found


def locator_of(name: str) -> Locator:
    """The function of one of factdrift's locators."""
    return named_function(__package__, records()[name].function)

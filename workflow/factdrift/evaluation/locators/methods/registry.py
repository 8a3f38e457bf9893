"""The locating methods: `function` in config/locators/LOCATOR.yaml is MODULE.FUNCTION of this package."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from factdrift.evaluation.locators.interface import Locator
from factdrift.evaluation.locators.plan import function_of


def locator_of(name: str) -> Locator:
    """The locator of a name; raises InputError if there is none."""
    module, _, function = function_of(name).rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), function)
    return found

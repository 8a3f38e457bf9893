"""The methods by name, and those that users have written."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from factdrift.core.errors import InputError
from factdrift.core.functions import function_of, named_function, read_function
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Method
from factdrift.evaluation.methods.own import DOCUMENT, Entry
from factdrift.evaluation.methods.results import checked
from factdrift.models.leaks import leaving_alone
from factdrift.models.loaded import Loaded


def named(function: str) -> Callable[..., Any]:
    """A function that the record of a method names, MODULE.FUNCTION."""
    return named_function(__package__, function)


def method_of(hyper: Hyper) -> Method:
    """The method whose hyper-parameters these are.

    Of a user's own it is checked what it returns, and that it leaves model and tokenizer alone.
    """
    own = hyper.own
    if own is None:
        return named(hyper.record.edit)
    function = own_function(own)

    def method(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
        instead = f"a batched method returns its changes in an Edited ({DOCUMENT})"
        values = replace(hyper, settings=deepcopy(dict(hyper)))
        given = replace(artefacts, before=dict(artefacts.before))
        with leaving_alone(loaded, f"methods: {own.given}", instead):
            made = function(loaded, edits, values, given)
        return checked(own.given, loaded, len(edits), made)

    return method


@cache
def own_function(own: Entry) -> Callable[..., Any]:
    """The function of a user's own method, imported; raises InputError if that fails."""
    assert own.path is not None
    if not own.module:
        return read_function(own.path, own.function, "methods")
    try:
        module = import_module(own.module)
    except Exception as error:
        raise InputError(
            f"methods: {own.given}: {own.module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return function_of(module, own.function, own.module, "methods")

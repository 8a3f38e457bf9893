"""The methods by name, and those that users have written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from factdrift.core.errors import InputError
from factdrift.core.functions import function_of, read_function
from factdrift.edit.methods.ft import ft
from factdrift.edit.methods.grace import grace
from factdrift.edit.methods.hyperparameters import Hyper
from factdrift.edit.methods.interface import Artefacts, Edit, Edited, Method
from factdrift.edit.methods.lora import lora
from factdrift.edit.methods.memit import memit
from factdrift.edit.methods.mend import mend
from factdrift.edit.methods.own import DOCUMENT, Entry
from factdrift.edit.methods.prompt import none, prompt
from factdrift.edit.methods.rag import rag
from factdrift.edit.methods.results import checked
from factdrift.edit.methods.rome import rome
from factdrift.edit.methods.ultraedit import together as ultraedit
from factdrift.models.leaks import leaving_alone

if TYPE_CHECKING:
    from factdrift.models.loading import Loaded

__all__ = ["METHODS", "Artefacts", "Edit", "Edited", "Method", "method_of", "own_function"]

METHODS: dict[str, Method] = {
    "none": none,
    "ft": ft,
    "ft_l": ft,
    "mend": mend,
    "rome": rome,
    "memit": memit,
    "alphaedit": memit,
    "ultraedit": ultraedit,
    "lora": lora,
    "grace": grace,
    "prompt": prompt,
    "rag": rag,
}


def method_of(hyper: Hyper) -> Method:
    """The method whose hyper-parameters these are.

    Of a user's own it is checked what it returns, and that it leaves model and tokenizer alone.
    """
    own = hyper.own
    if own is None:
        return METHODS[hyper.method]
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

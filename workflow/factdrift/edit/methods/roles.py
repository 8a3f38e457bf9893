"""What the methods edit in a model, and what they cannot, in words for `factdrift models describe`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from factdrift.edit.methods.refusals import ALL_MATRICES, ANY_MATRIX, CODEBOOKS, DOWN, SOME_MATRICES, refusal
from factdrift.edit.methods.registry import METHODS
from factdrift.models.describe import ranges

if TYPE_CHECKING:
    from factdrift.models.families import ModelSpec

NAMED = (*SOME_MATRICES, "lora", *CODEBOOKS)
"""Methods that edit other matrices of an MLP if their hyper-parameters name them."""
ANYWHERE = (
    ("lora", "trains the matrices of queries and values, or those that it is given, in all blocks"),
    ("prompt, rag", "edit no matrix; they write updates before a prompt"),
)
"""Methods that no matrix below names, and what they do."""


def role(spec: ModelSpec, layer: int, part: str) -> str:
    """Which methods edit a matrix of block `layer`; `part` is its usual name, as in `ModelSpec.module`."""
    if part == spec.attention_out:
        return f"edited by {_listed(ANY_MATRIX)}"
    able = [method for method in METHODS if refusal(spec, method, layer) is None]
    usual = (*ANY_MATRIX, *DOWN, *CODEBOOKS) if part == spec.down else ALL_MATRICES
    named = [method for method in NAMED if method in able and method not in usual]
    return f"edited by {_listed(method for method in able if method in usual)}; if named, by {_listed(named)}"


def refused(spec: ModelSpec) -> Iterator[str]:
    """The methods that cannot edit some blocks of a model, each with the blocks and the reason."""
    lines: dict[tuple[str, str], list[str]] = {}
    for method in METHODS:
        for lacking in (True, False):
            blocks = [layer for layer in range(spec.layers) if spec.has_down(layer) != lacking]
            reasons = {layer: reason for layer in blocks if (reason := refusal(spec, method, layer))}
            if reasons:
                where = ranges(list(reasons))
                lines.setdefault((where, next(iter(reasons.values()))), []).append(method)
    for (where, reason), methods in lines.items():
        yield f"{', '.join(methods)} in {where}: {reason}"


def _listed(methods: Iterable[str]) -> str:
    *most, last = methods
    return f"{', '.join(most)} and {last}" if most else last

"""What methods edit in a model, and which cannot because of its architecture, and why. Imports torch."""

from collections.abc import Iterable, Iterator

from factdrift.evaluation.methods.record import DOWN, record_of, records
from factdrift.models.describe import ranges
from factdrift.models.families import ModelSpec

BY_NAME = ("named", "others", "output")
"""What methods edit that take other matrices of an MLP if their hyper-parameters name them."""


def refusal(spec: ModelSpec, method: str, layer: int) -> str | None:
    """Why a method cannot edit block `layer` of a model, and what to do instead; None if it can.

    Methods of users are not refused.
    """
    edits = record_of(method).edits
    if edits in DOWN and not spec.has_down(layer):
        return spec.lacking(layer)
    return spec.no_target(layer) if edits == "states" else None


def anywhere() -> list[tuple[str, str]]:
    """Methods that `role` names at no matrix, and what they do."""
    says: dict[str, list[str]] = {}
    for name, record in records().items():
        if record.says:
            says.setdefault(record.says, []).append(name)
    return [(", ".join(names), text) for text, names in says.items()]


def role(spec: ModelSpec, layer: int, part: str) -> str:
    """Which methods edit a matrix of block `layer`; `part` is its usual name, as in `ModelSpec.module`."""
    edits = {name: record.edits for name, record in records().items()}
    if part == spec.attention_out:
        return f"edited by {_listed(name for name, what in edits.items() if what == 'trained')}"
    able = [method for method in edits if refusal(spec, method, layer) is None]
    usual = ("trained", *DOWN, "output") if part == spec.down else ("all",)
    by_use = [method for method in able if edits[method] in usual]
    named = [method for method in able if edits[method] in BY_NAME and method not in by_use]
    return f"edited by {_listed(by_use)}; if named, by {_listed(named)}"


def refused(spec: ModelSpec) -> Iterator[str]:
    """The methods that cannot edit some blocks of a model, each with the blocks and the reason."""
    lines: dict[tuple[str, str], list[str]] = {}
    for method in records():
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

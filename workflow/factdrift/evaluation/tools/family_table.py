"""The table of model families and editing methods, made by trying them on tiny models. Imports torch."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping
from typing import Any

import torch

from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.mend import gradients
from factdrift.evaluation.methods.mend_editor import HyperNet, edited_matrices
from factdrift.evaluation.methods.plan import needs
from factdrift.evaluation.methods.record import DOWN, record_of, records
from factdrift.evaluation.methods.refusals import refusal
from factdrift.evaluation.methods.targets import aligned
from factdrift.evaluation.states.edited import edited
from factdrift.models.families import ModelSpec, read_families
from factdrift.models.loaded import Loaded
from factdrift.models.moments import count_moments
from factdrift.models.tiny import TEXT, tiny_model

EDITS = (
    Edit(
        "a", "The head of government of the United States of America is", "United States of America", "Marta"
    ),
    Edit("b", "Marta Kowalska lives in", "Marta Kowalska", "New Orleans"),
)
FEW: Mapping[str, Any] = {"steps": 3, "rank": 4, "prefixes": [], "contexts": 0}
"""Hyper-parameters, where a method has them, that make it quick."""
NOTES = {
    "attention": "In mixtures of experts without a shared one, attention's output projection is trained.",
    "whole": "In mixtures of experts without a shared one, what the whole MLP puts out is replaced.",
    "shared": "In mixtures of experts, the matrices of the expert that every token passes.",
    "experts": (
        "Each expert has matrices of its own, and none is passed by every token. If some blocks of a "
        "model are no mixtures, the method works there."
    ),
    "target": "What is missing in the hidden state is no target for the down projection (see below).",
}


def table() -> str:
    """Markdown: a row for each family of families.yaml, a column for each method, and footnotes."""
    methods = [name for name, record in records().items() if record.changes != "nothing"]
    used: list[str] = []
    lines = [f"| family | {' | '.join(methods)} |", f"|---|{'---|' * len(methods)}"]
    for family, entry in read_families().items():
        cells = []
        with warnings.catch_warnings():
            # Few tokens for the second moments, and another matrix for FT, which is a note.
            warnings.simplefilter("ignore")
            loaded = tiny_model(family, dtype=torch.float32)
            for method in methods:
                answer, note = tried(loaded, method)
                if note and note not in used:
                    used.append(note)
                cells.append(f"{answer}{f' [{used.index(note) + 1}]' if note else ''}")
        lines.append(f"| {entry['title']} (`{family}`) | {' | '.join(cells)} |")
    notes = [f"{place + 1}. {NOTES[note]}" for place, note in enumerate(used)]
    return "\n".join([*lines, "", *(textwrap.fill(note, 98, subsequent_indent="   ") for note in notes)])


def tried(loaded: Loaded, method: str) -> tuple[str, str]:
    """`yes` or `no`, and the key of a note, of a method tried in the first block that it can edit.

    Raises AssertionError if a method that is not refused makes no edit.
    """
    spec = loaded.spec
    open_ = [layer for layer in range(spec.layers) if refusal(spec, method, layer) is None]
    if not open_:
        return "no", "target" if any(map(spec.has_down, range(spec.layers))) else "experts"
    for layer in {open_[0], open_[-1]}:
        hyper = _hyper(spec, method, layer)
        regime = "batch" if hyper.record.not_alone else "independent"
        found = edited(loaded, EDITS, hyper, _artefacts(loaded, hyper), regime)
        assert not found.failed, f"{method} on {loaded.name}: {found.failed}"
        made = [delta.dense(edit)[0] for delta in found.deltas.values() for edit in range(len(delta))]
        made += [book.values[edit] for book in found.codebooks.values() for edit in range(len(book))]
        assert found.contexts or made, f"{method} on {loaded.name} changed nothing"
        assert all(one.isfinite().all() and one.any() for one in made), f"{method} on {loaded.name}"
    return "yes", _note(spec, method, open_)


def _note(spec: ModelSpec, method: str, layers: list[int]) -> str:
    edits = record_of(method).edits
    if edits == "trained" and not all(map(spec.has_down, layers)):
        return "attention"
    if edits == "output" and not all(map(spec.has_down, layers)):
        return "whole"
    shared = any(layer in spec.experts and spec.has_down(layer) for layer in layers)
    return "shared" if shared and edits in (*DOWN, "trained", "output") else ""


def _hyper(spec: ModelSpec, method: str, layer: int) -> Hyper:
    """Values of the bundled model, but few steps, in one block."""
    hyper = read_hyper(method, "sample-llama")
    own: dict[str, Any] = {key: value for key, value in FEW.items() if key in hyper}
    own |= {"layer": layer} if "layer" in hyper else {}
    own |= {"layers": [layer]} if "layers" in hyper else {}
    own |= {"others": {}} if "others" in hyper else {}
    own |= {"blocks": 1 if hyper.record.edits == "all" else hyper["blocks"]} if "blocks" in hyper else {}
    return read_hyper(method, "sample-llama", own)


def _artefacts(loaded: Loaded, hyper: Hyper) -> Artefacts:
    layers = hyper.layers if hyper.get("covariance") else []
    return Artefacts(
        prefixes=("", "Therefore I am. "),
        moments=count_moments(loaded, layers, TEXT, ridge=1e-3) if layers else {},
        mend=_editor(loaded, hyper) if "mend" in needs(hyper) else None,
    )


def _editor(loaded: Loaded, hyper: Hyper) -> HyperNet:
    """An untrained editor of MEND that has seen the gradients of the edits."""
    net = HyperNet(edited_matrices(loaded, hyper["blocks"]), hyper["rank"], hyper["edit_lr"])
    sentences, _ = aligned(loaded, EDITS)
    net.see(gradients(loaded, net.matrices, list(sentences.values()))[1])
    return net.requires_grad_(False)

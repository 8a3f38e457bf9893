"""Which editing methods can edit tiny models of each family, as a table. Imports torch."""

import textwrap

from factdrift.evaluation.methods.record import DOWN, record_of, records, refusal
from factdrift.models.families import ModelSpec, read_families
from factdrift.models.tiny import tiny_model

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
        spec = tiny_model(family).spec
        for method in methods:
            note = _note(spec, method)
            if note and note not in used:
                used.append(note)
            answer = "yes" if editable(spec, method) else "no"
            cells.append(f"{answer}{f' [{used.index(note) + 1}]' if note else ''}")
        lines.append(f"| {entry['title']} (`{family}`) | {' | '.join(cells)} |")
    notes = [f"{place + 1}. {NOTES[note]}" for place, note in enumerate(used)]
    return "\n".join([*lines, "", *(textwrap.fill(note, 98, subsequent_indent="   ") for note in notes)])


def editable(spec: ModelSpec, method: str) -> list[int]:
    """The blocks of a model that a method can edit."""
    return [layer for layer in range(spec.layers) if refusal(spec, method, layer) is None]


def _note(spec: ModelSpec, method: str) -> str:
    """The key of the note on a method and a model; empty for none."""
    layers, edits = editable(spec, method), record_of(method).edits
    if not layers:
        return "target" if any(map(spec.has_down, range(spec.layers))) else "experts"
    if edits in ("trained", "output") and not all(map(spec.has_down, layers)):
        return "attention" if edits == "trained" else "whole"
    shared = any(layer in spec.experts and spec.has_down(layer) for layer in layers)
    return "shared" if shared and edits in (*DOWN, "trained", "output") else ""

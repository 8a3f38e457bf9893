"""Records of the methods: what is known of each stands in its file and in config/methods/METHOD.yaml only."""

from __future__ import annotations

import ast

from factdrift.core.paths import PACKAGE
from factdrift.evaluation.locators import plan as locators
from factdrift.evaluation.methods.record import OWN, record_of, records, title_of

OTHER_MEANINGS = {"none", "prompt", "mend", "replay"}
"""Also a value of switches, a column, what a method needs, and a way to ask a chat model."""


def test_places_and_titles_are_different():
    assert len({record.place for record in records().values()}) == len(records())
    assert len({title_of(name) for name in records()}) == len(records())
    assert (title_of("mine"), record_of("mine")) == ("mine", OWN)


def test_no_other_module_names_a_method_or_a_locator():
    names = (set(records()) | set(locators.records())) - OTHER_MEANINGS
    found = []
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        nodes = ast.walk(ast.parse(text)) if any(f'"{name}"' in text for name in names) else ()
        for node in nodes:
            if isinstance(node, ast.Constant) and node.value in names:
                found.append(f"{path.relative_to(PACKAGE)}, line {node.lineno}: {node.value}")
    assert not found, "\n".join(found)

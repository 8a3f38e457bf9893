"""The audit of a file in RippleEdits' layout: nothing in a right one, and planted faults are found."""

import json
from pathlib import Path
from typing import Any

from factdrift.audit.of_layouts import layout

ROW: dict[str, Any] = {
    "subject": {"id": "Q1", "label": "Atlantis"},
    "relation": {"id": "P6"},
    "update_prompt": "The head of Atlantis is ____",
    "generalization_prompts": [],
    "neighborhood": [],
    "random_neighborhood": [],
    "objects": [
        {"id": "Q2", "label": "Ann", "decision": "obsolete"},
        {"id": "Q3", "label": "Bob", "decision": "new"},
    ],
}


def faults(folder: Path, **changes: Any) -> list[str]:
    fact = {"subject_id": "Q1", "relation": "HEAD_OF_GOVERNMENT"}
    old = {"prompt": "The head of Atlantis is Ann.", **fact, "target_id": "Q2"}
    edit = {"prompt": "The head of Atlantis is Bob.", **fact, "target_id": "Q3", "original_fact": old}
    own = {"subject": ROW["subject"], "relation": ROW["relation"]}
    path = folder / "rippleedits.json"
    path.write_text(
        json.dumps([{"example_type": "recent", "edit": edit | changes, "factdrift": own}]), "utf-8"
    )
    return [fault.reason for fault in layout(path, [ROW], folder)]


def test_planted_faults_are_found(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    assert "edit is" in faults(tmp_path, prompt="The head of Atlantis is Ann.")[0]
    assert "subject_id is 'Q9'" in faults(tmp_path, subject_id="Q9")[0]
    assert "original_fact is" in faults(tmp_path, original_fact={"prompt": "", "target_id": "Q2"})[0]

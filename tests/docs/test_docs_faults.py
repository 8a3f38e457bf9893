"""Every test that the table of faults names exists."""

import re

from support.workflow import ROOT


def test_each_fault_has_its_tests():
    rows = [row for row in (ROOT / "docs" / "faults.md").read_text().splitlines() if row.startswith("| ")][1:]
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
        assert named, row
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"

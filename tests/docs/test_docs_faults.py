"""Every fault of the page has tests, which `tests/faults.tsv` names, and these exist."""

import csv

from support.workflow import ROOT


def test_each_fault_has_its_tests():
    page = (ROOT / "docs" / "faults.md").read_text("utf-8").splitlines()
    faults = [row.split(" | ")[0].removeprefix("| ") for row in page if row.startswith("| ")]
    with (ROOT / "tests" / "faults.tsv").open(encoding="utf-8", newline="") as lines:
        tests = {row["fault"]: row["tests"].split() for row in csv.DictReader(lines, delimiter="\t")}
    assert [fault for fault in faults if fault != "fault"] == list(tests)
    for named in tests.values():
        assert named
        for path, test in (name.split("::") for name in named):
            assert f"def {test}(" in (ROOT / path).read_text("utf-8"), f"{path}::{test}"

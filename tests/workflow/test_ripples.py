"""The probes of the sample: counts by criterion, and their digests."""

from collections import Counter

import pytest
from support.rows import rows

from factdrift.ripples.tables import CRITERIA

PAIR = "2021-01-04_2023-02-27"
pytestmark = pytest.mark.slow


def test_each_criterion_has_probes(audited):
    found = rows(audited / "ripples.parquet")
    counts = Counter(row["criterion"] for row in found)
    assert all(counts[name] >= 40 for name in CRITERIA), counts
    assert sum(row["kind"] in ("inverse", "symmetric", "rule") for row in found) >= 20
    for criterion in counts:
        answers = Counter(row["answers"][0]["label"] for row in found if row["criterion"] == criterion)
        assert 4 * max(answers.values()) <= answers.total(), criterion


@pytest.mark.digests
def test_digests_of_ripples(audited, digests):
    digests("ripples", audited.parent, ["results/ripples.parquet", f"results/{PAIR}/ripples/dropped.parquet"])

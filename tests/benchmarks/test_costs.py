"""Costs fitted to two measured builds: a fixed part, and one that grows with the text of a job's share."""

import pytest
from costs import Figures, fit
from watch import Stage


def figures(gigabytes: float, cpu: float, memory: float, jobs: int) -> Figures:
    found = Figures({"updates classify": (Stage(jobs, cpu, cpu, memory), int(gigabytes * 4e6), True)})
    found.gigabytes = gigabytes
    return found


def test_a_line_through_two_sizes():
    # Three buckets of 1 and of 10 GB: a job takes 2 s and 1.5 s a GB, 100 MB and 20 MB a GB.
    small = figures(3, 3 * (2 + 1.5), 100 + 20, 3)
    large = figures(30, 3 * (2 + 15), 100 + 200, 3)
    cost = fit(small, large)["updates classify"]
    assert cost.split == "bucket"
    assert cost[1:5] == pytest.approx((2, 1.5, 100, 20))
    assert (cost.most_mb, cost.kept) == (2000, True)
    # 120 MB in all, of 30 GB.
    assert cost.output_mb_gb == pytest.approx(4)
    assert cost.cpu(10) == pytest.approx(17)
    assert cost.memory(1000) == 2000
    # Noise makes nothing negative.
    cost = fit(figures(3, 6, 120, 3), figures(30, 4.8, 110, 3))["updates classify"]
    assert cost[1:5] == pytest.approx((1.6, 0, 110, 0))
    cost = fit(figures(3, 1, 10, 3), figures(30, 100, 1000, 3))["updates classify"]
    assert cost.cpu_s == cost.memory_mb == 0

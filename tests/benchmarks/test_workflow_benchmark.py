"""What the benchmark of the whole workflow reads from Snakemake's files, and how it reports it."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow import Run, Stage, measure, read_stages, report

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def write(path: Path, seconds: str, memory: str, cpu: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADER}{seconds}\t0:00:01\t{memory}\t1\t1\t1\t0\t0\t50\t{cpu}\n", "utf-8")


def test_stages_are_summed_over_dates_shards_and_buckets(tmp_path: Path) -> None:
    write(tmp_path / "snapshots" / "2021-01-04" / "shards" / "0-of-2x16.tsv", "10.5", "200", "9")
    write(tmp_path / "snapshots" / "2023-02-27" / "shards" / "1-of-2x16.tsv", "2", "300.5", "1")
    write(tmp_path / "2021-01-04_2023-02-27" / "filtered" / "old" / "0-of-16.tsv", "1", "NA", "NA")
    write(tmp_path / "2021-01-04_2023-02-27" / "funnel.tsv", "1", "-", "0.5")
    assert read_stages(tmp_path) == {
        "filtered": Stage(1, 1.0, 0.0, 0.0),
        "funnel": Stage(1, 1.0, 0.5, 0.0),
        "snapshots/shards": Stage(2, 12.5, 10.0, 300.5),
    }


def test_report_has_slopes() -> None:
    runs = [
        Run(1000, 26.0, 20.0, {"a": Stage(2, 1.0, 1.0, 100.0), "b": Stage(1, 1.0, 0.0, 0.0)}, True),
        Run(100_000, 2600.0, 200.0, {"a": Stage(2, 90.0, 100.0, 150.0), "b": Stage(1, 1.0, 2.0, 5.0)}, False),
    ]
    text = report(runs, 2, {"variant": "paper"})
    assert "| slope | | 0.50 |" in text
    assert "| a | 2 | 1.0 | 1.0 | 100 | 90.0 | 100.0 | 150 | 1.00 |" in text
    assert "| b | 1 | 1.0 | 0.0 | 0 | 1.0 | 2.0 | 5 |  |" in text
    assert "| 100,000 | 2,600 | 200 | 102 | 150 | NOT exact |" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in tables[:5]}) == 1
    assert len({line.count("|") for line in tables[5:]}) == 1


def test_folder_that_is_no_pair(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"synthesize\.py"):
        measure(tmp_path, 1, {})

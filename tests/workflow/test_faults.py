"""What goes wrong is said once, with the file, line or key and the remedy, and nothing half-made is left."""

from __future__ import annotations

import bz2
import gzip
import shutil

import pytest
from support.workflow import ROOT, snakemake

EXCERPT = ROOT / "tests" / "data" / "real-excerpt.json.bz2"
OLD, NEW = "2018-01-01", "2022-01-01"
DATES = {"old": OLD, "new": NEW}


def run(directory, old, new, *targets, **keys):
    return snakemake(
        directory, *targets, fails=True, snapshots=DATES, dumps={OLD: str(old), NEW: str(new)}, **keys
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"snapshots": {"old": "2023-02-27", "new": "2021-01-04"}},
            "snapshots.old (2023-02-27) is not before",
        ),
        (
            {"snapshots": {"old": "tomorrow", "new": "2021-01-04"}},
            "'tomorrow' is no date; write it as 2021-01-04",
        ),
        ({"spede": 3}, "unknown key spede; known are snapshots, dumps"),
        ({"dumps": {"2021-01-04": "a.json.gz", "2023-02-27": "b.json.gz"}}, "a.json.gz does not exist"),
    ],
)
def test_a_wrong_configuration(tmp_path, keys, message):
    said = snakemake(tmp_path, fails=True, **keys)
    assert message in said
    assert "Traceback" not in said
    assert not (tmp_path / "results").exists()


def test_a_truncated_archive_is_named_and_the_rest_kept(tmp_path):
    lines = bz2.decompress(EXCERPT.read_bytes())
    whole = tmp_path / "whole.json.gz"
    whole.write_bytes(gzip.compress(lines, mtime=0))
    damaged = tmp_path / "damaged.json.gz"
    damaged.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    said = run(tmp_path, EXCERPT, damaged, "--keep-going", "results/wikifactdiff.parquet")
    assert str(damaged) in said
    assert "truncated" in said or "ends" in said
    assert "Traceback" not in said
    results = tmp_path / "results" / "snapshots"
    assert (results / OLD / "properties.parquet").is_file()
    assert not list(results.glob(f"{NEW}/statements/*"))


def test_broken_lines_are_named_with_their_number(tmp_path):
    lines = bz2.decompress(EXCERPT.read_bytes()).split(b"\n")
    lines[3] = lines[3][: len(lines[3]) // 2]
    broken = tmp_path / "broken.json"
    broken.write_bytes(b"\n".join(lines))
    said = run(tmp_path, EXCERPT, broken, "results/wikifactdiff.parquet")
    assert "broken.json" in said
    assert "line 4" in said
    assert "max_bad_lines" in said


def test_a_dump_without_items(tmp_path):
    empty = tmp_path / "empty.json"
    empty.write_text("[\n]\n")
    said = run(tmp_path, EXCERPT, empty, "results/wikifactdiff.parquet")
    assert "empty.json" in said
    assert "Traceback" not in said


def test_dumps_without_any_update(tmp_path):
    same = tmp_path / "same.json.bz2"
    shutil.copy(EXCERPT, same)
    said = run(tmp_path, EXCERPT, same, "results/wikifactdiff.parquet", only={"relations": ["P99999"]})
    assert OLD in said
    assert NEW in said
    assert "funnel.parquet" in said
    assert "Traceback" not in said
    pair = tmp_path / "results" / f"{OLD}_{NEW}"
    assert (pair / "funnel.parquet").is_file()
    assert not (pair / "wikifactdiff.parquet").exists()

"""Errors of a run name the file, line or key and the remedy; no unfinished output is left."""

import bz2
import gzip

import pytest
from support.excerpt import EXCERPT, NEW, OLD, build, config
from support.workflow import copied, snakemake


def run(directory, old, new, *options):
    """A run that begins with two dumps and does not get beyond the tables of one of them."""
    keys = {"snapshots": {"old": OLD, "new": NEW}, "dumps": {OLD: str(old), NEW: str(new)}}
    targets = [f"results/snapshots/{date}/properties.parquet" for date in (OLD, NEW)]
    return snakemake(directory, *targets, *options, fails=True, **keys)


def test_a_signed_address_is_refused_and_written_nowhere(tmp_path):
    """Other checks of the configuration: plans.yaml."""
    dumps = {"2021-01-04": "derive", "2023-02-27": "HTTPS://a/b.json.gz?X-Amz-Signature=5ec2e7"}
    said = snakemake(tmp_path, fails=True, dumps=dumps)
    assert (
        "dumps.2023-02-27: the address must not contain a user name, a password, a key or a signature" in said
    )
    assert "Traceback" not in said
    assert not (tmp_path / "results").exists()
    assert "5ec2e7" not in said
    assert not any(b"5ec2e7" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_truncated_archive_is_named_and_other_results_are_kept(tmp_path):
    lines = bz2.decompress(EXCERPT.read_bytes())
    whole = tmp_path / "whole.json.gz"
    whole.write_bytes(gzip.compress(lines, mtime=0))
    damaged = tmp_path / "damaged.json.gz"
    damaged.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    said = run(tmp_path, EXCERPT, damaged, "--keep-going")
    assert str(damaged) in said
    assert "truncated" in said or "ends" in said
    assert "Traceback" not in said
    results = tmp_path / "results" / "snapshots"
    assert (results / OLD / "properties.parquet").is_file()
    assert not list(results.glob(f"{NEW}/statements/*"))


def test_broken_lines_and_a_dump_without_items_are_named(tmp_path):
    lines = bz2.decompress(EXCERPT.read_bytes()).split(b"\n")
    lines[3] = lines[3][: len(lines[3]) // 2]
    (broken := tmp_path / "broken.json").write_bytes(b"\n".join(lines))
    (empty := tmp_path / "empty.json").write_text("[\n]\n")
    said = run(tmp_path, broken, empty, "--keep-going")
    assert f"{broken}, line 4 " in said
    assert "max_bad_lines" in said
    assert str(empty) in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_dumps_without_any_update(excerpt, tmp_path):
    directory = copied(excerpt, tmp_path / "run")
    keys = config(str(EXCERPT), pageviews="views", only={"relations": ["P99999"]})
    said = build(directory, fails=True, **keys)
    assert OLD in said
    assert NEW in said
    assert "funnel.parquet" in said
    assert "Traceback" not in said
    pair = directory / "results" / f"{OLD}_{NEW}"
    assert (pair / "funnel.parquet").is_file()
    assert not (pair / "wikifactdiff.parquet").exists()

"""A stream edited interval by interval in the real workflow, on the bundled model."""

import csv
import re
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.workflow import copied, jobs, snakemake

TARGET = "results/stream_scores.parquet"
METHODS = ["none", "ft", "grace", "rag"]
DATES = ["2021-01-04", "2022-02-01", "2023-02-27"]
GIVEN: dict[str, Any] = {
    "methods": METHODS,
    "stream": DATES,
    "edit": {"regime": "stream", "limit": 24, "stream": {"probes": 12}, "ability": {"tokens": 256}},
}


@pytest.mark.digests
@pytest.mark.slow
def test_two_intervals_on_the_bundled_model(trained, tmp_path, digests):
    directory = copied(trained, tmp_path / "run")
    said = snakemake(directory, TARGET, **GIVEN)
    assert re.search(r"^GRACE +\d", said, re.MULTILINE)
    scores = pq.read_table(directory / TARGET).to_pandas()
    assert list(dict.fromkeys(scores["method"])) == METHODS
    assert set(scores["interval"]) == {1, 2}
    digests("stream, edited", directory, [Product(TARGET, columns=("method", "interval", "probe", "edit"))])
    assert set(scores["probe"]) == {"current", "neighbors", "retention", "staleness"}
    means = scores.groupby(["method", "probe"]).mean(numeric_only=True)
    # Without edits the model says what held on the first date.
    assert means.loc[("none", "current"), "s"] < 0.3
    for method in ("ft", "grace", "rag"):
        assert means.loc[(method, "current"), "s"] > means.loc[("none", "current"), "s"] + 0.3
        assert means.loc[(method, "retention"), "s"] > means.loc[("none", "retention"), "s"]
    (folder,) = (directory / "results/streams").iterdir()
    with (folder / "edit/lifelong.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(METHODS) * 2
    assert (folder / "edit/lifelong.svg").stat().st_size > 10_000
    assert "Nothing to be done" in snakemake(directory, TARGET, "--dry-run", **GIVEN)
    # Another number of probes asks again; it does not make other edits, nor ask the unedited model.
    again = GIVEN | {"edit": GIVEN["edit"] | {"stream": {"probes": 6}}}
    found = jobs(snakemake(directory, TARGET, "--dry-run", "--quiet", "rules", **again))
    assert found["evaluate_stream"] == 3
    assert not {"stream_edits", "stream"} & set(found)

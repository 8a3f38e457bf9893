"""No published table holds rows of two sets of weights under the name of one model."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.locators.table import grouped
from factdrift.evaluation.scores.answers import described
from factdrift.evaluation.scores.metrics import weights_of
from factdrift.models.names import check_same_weights


def test_edits_of_two_sets_of_weights_are_refused(tmp_path):
    paths = []
    for name, letter, regime in (
        *(("none", "a", "independent"), ("rome", "a", "independent")),
        *(("probed", "c", "checkpoint"), ("memit", "b", "independent")),
    ):
        row = {"model": "tiny", "model_digest": letter * 64, "regime": regime, "edit": "Q1-P6"}
        paths.append(tmp_path / f"{name}.parquet")
        pq.write_table(pa.Table.from_pylist([row, row]), paths[-1])
    check_same_weights(weights_of(paths[:3]))
    with pytest.raises(InputError, match=r"none.parquet was made with other weights .*memit.parquet"):
        check_same_weights(weights_of(paths))


def test_answers_of_two_sets_of_weights_are_refused(tmp_path):
    runs: list[dict[str, Any]] = [
        {"model": "tiny", "method": "none", "model_digest": "a"},
        {"model": "tiny", "method": "rome", "model_digest": "a"},
        {"model": "tiny", "method": "rag", "skipped": "no index"},
    ]
    assert described(runs) == runs
    with pytest.raises(CannotEdit, match="no index"):
        described(runs, strict=True)
    runs[1]["model_digest"] = "b"
    with pytest.raises(InputError, match=r"models: tiny: the run of none was made with other weights"):
        described(runs)


def test_locators_on_two_sets_of_weights_are_refused(tmp_path):
    found = []
    for name, digest in (("first", {"model_digest": "a"}), ("others", {}), ("second", {"model_digest": "b"})):
        found.append(tmp_path / name)
        found[-1].mkdir()
        about = {"name": name, "model": "tiny", "revision": "main", "granularity": "layer", "units": 2}
        (found[-1] / "scores.json").write_text(json.dumps(about | digest | {"sign": "as_given"}))
        (found[-1] / "sentences.txt").write_text("c-1-0\n", encoding="utf-8")
        np.save(found[-1] / "units.npy", np.zeros((1, 1), np.int32))
        for moment in ("mean", "sd"):
            np.save(found[-1] / f"{moment}.npy", np.ones(1))
    assert [len(methods) for methods in grouped(found[:2]).values()] == [2]
    with pytest.raises(InputError, match=r"models: tiny@main: .*first was made with other weights"):
        grouped(found)

"""Classes of neighbours by quantiles."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.cli import main
from factdrift.evaluation.scores.figures import binned, neighbors
from factdrift.evaluation.scores.metrics import PROBES


def test_by_hand() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    middle, mean, half = binned(x, np.array([0.0, 1.0, 4.0, 4.0]), bins=2)
    assert middle.tolist() == [1.5, 3.5]
    assert mean.tolist() == [0.5, 4.0]
    assert half == pytest.approx([1.96 * np.sqrt(0.5) / np.sqrt(2), 0.0])
    # Equal values share a class, however many classes there may be.
    for bins in (1, 3, 9):
        middle, mean, half = binned(np.array([2.0, 1.0, 2.0, 2.0]), np.array([1.0, 5.0, 2.0, 3.0]), bins)
        assert middle.tolist() == ([1.75] if bins == 1 else [1, 2])
        assert mean.tolist() == ([2.75] if bins == 1 else [5, 2])
    assert half == pytest.approx([0, 1.96 / np.sqrt(3)])


def test_a_neighbour_whose_output_is_not_finite_has_lost_everything(tmp_path: Path) -> None:
    rows = [
        {"model": "m", "method": "ft", "role": "random", "logprob_before": np.log(0.5)}
        | {"logprob": logprob, "reason": reason}
        for logprob, reason in ((np.log(0.4), None), (None, "not_finite"), (None, "unaligned"))
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=PROBES), tmp_path / "probes.parquet")
    assert neighbors(tmp_path / "probes.parquet")["bleedover"].tolist() == pytest.approx([0.1, 0.5])


@pytest.mark.parametrize("missing", [("dist",), ("dist", "popularity"), ()])
def test_a_panel_without_values_says_so(
    missing: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"model": "m", "method": "ft", "edit": "e", "number": place, "role": "nearest"}
        | {"logprob_before": -0.1, "logprob": -0.1 - place}
        | {name: None if name in missing else place / 10 for name in ("dist", "popularity")}
        for place in range(9)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=PROBES), tmp_path / "probes.parquet")
    figure = tmp_path / "figure.svg"
    assert main(["edit", "figures", f"--probes={tmp_path / 'probes.parquet'}", f"--output={figure}"]) == 0
    said = capsys.readouterr().err
    assert all((f"has a value of `{name}`" in said) == (name in missing) for name in ("dist", "popularity"))
    drawn = figure.read_text()
    assert ("no similarity in the data" in drawn) == ("dist" in missing)
    assert (">FT<" in drawn or "<!-- FT -->" in drawn) == (len(missing) < 2)

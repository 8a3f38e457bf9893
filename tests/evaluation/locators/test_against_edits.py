"""Locating beside editing: ranks against scipy, and facts against a simulated truth."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats
from support.commands import refusal

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import hyper_at
from factdrift.evaluation.scores.against_edits import (
    METRICS,
    SHOWN,
    VS_EDIT,
    Located,
    compare,
    correlations,
    lines,
    spearman,
    unedited,
    write_against,
)
from factdrift.evaluation.scores.figures import draw_blocks


def test_ranks_are_those_of_scipy():
    random = np.random.default_rng(0)
    left, right = random.integers(0, 4, (2, 50, 6)).astype(float)
    left[0] = 1
    found = spearman(left, right)
    assert np.isnan(found[0])
    for row in range(1, 50):
        if len(set(right[row])) > 1 and len(set(left[row])) > 1:
            assert found[row] == pytest.approx(stats.spearmanr(left[row], right[row]).statistic, abs=1e-12)


def simulated(facts: int, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and metrics [facts, 5 blocks] that share an order of the blocks, with noise in the metrics."""
    random = np.random.default_rng(seed)
    left = random.random((facts, 5))
    return left, left + noise * random.standard_normal((facts, 5))


def test_correlations_of_simulated_facts():
    exact = {row["measure"]: row for row in correlations(*simulated(30, 0.0), seed=0)}
    assert all(row["value"] == pytest.approx(1) for row in exact.values())
    assert exact["rank_per_fact"]["low"] == pytest.approx(1)
    left, right = simulated(200, 1.0)
    rows = list(correlations(left, right, 0))
    per_fact = next(row for row in rows if row["measure"] == "rank_per_fact")
    each = [stats.spearmanr(a, b).statistic for a, b in zip(left, right, strict=True)]
    assert per_fact["value"] == pytest.approx(np.mean(each))
    half = 1.96 * np.std(each, ddof=1) / 200**0.5
    assert (per_fact["low"], per_fact["high"]) == pytest.approx((np.mean(each) - half, np.mean(each) + half))
    at = [row for row in rows if row["measure"] == "rank_at_layer"]
    assert [row["layer"] for row in at] == list(range(5))
    for layer, row in enumerate(at):
        assert row["value"] == pytest.approx(stats.spearmanr(left[:, layer], right[:, layer]).statistic)
        # The bootstrap's interval has about the width of Fisher's.
        assert row["low"] < row["value"] < row["high"]
        width = 2 * 1.96 / 200**0.5 * (1 - row["value"] ** 2)
        assert row["high"] - row["low"] == pytest.approx(width, rel=0.35)
    independent = simulated(200, 0.0)[0], simulated(200, 0.0, seed=9)[0]
    for row in correlations(*independent, seed=0):
        if row["measure"] != "rank_of_means":
            assert row["low"] - 0.05 < 0 < row["high"] + 0.05
    constant = next(correlations(np.ones((4, 3)), np.ones((4, 3)), 0))
    assert (constant["value"], constant["n"]) == (None, 4)


def test_table_text_and_figure(tmp_path):
    left, right = simulated(20, 0.1)
    names = [f"e{number}" for number in range(20)]
    one = Located("causal_tracing", "layer", dict(zip(names, left, strict=True)), "d")
    constant = Located("rome_layer", "layer", {name: np.eye(5)[2] for name in names}, "d")
    values = dict(zip(names[1:], right[1:], strict=True))
    values["e5"] = np.full(5, np.nan)
    edited = {"rome": dict.fromkeys(METRICS, values)}
    rows = list(compare("m", [one, constant], edited, 0))
    assert write_against(rows, [], tmp_path / "t.parquet") == len(rows)
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.schema.equals(VS_EDIT)
    frame = table.to_pandas()
    ranks = frame[(frame["locator"] == "causal_tracing") & (frame["measure"] == "rank_per_fact")]
    assert (len(ranks), set(ranks["n"])) == (len(METRICS), {18})
    assert (ranks["value"] > 0.8).all()
    # One of 20 located facts was not edited, and the edit of another has no number.
    assert set(ranks["left_out"]) == {2}
    means = frame[(frame["locator"] == "causal_tracing") & (frame["measure"] == "rank_of_means")]
    assert set(means["n"]) == {18}
    assert (means["value"] > 0.8).all()
    located = frame[frame["measure"] == "located"]
    assert located[located["locator"] == "causal_tracing"]["value"].tolist() == pytest.approx(left.mean(0))
    by_block = frame[frame["measure"] == "edited"]
    assert (by_block["n"].unique().tolist(), by_block["left_out"].unique().tolist()) == ([18], [1])
    text = "\n".join(lines(rows))
    assert "\nn = 18 facts, 2 left out\n" in text
    # A fact whose scores are not finite does not take the others with it.
    lost = Located("causal_tracing", "layer", one.scores | {"e7": np.full(5, np.nan)}, "d")
    again = list(compare("m", [lost, constant], edited, 0))
    found = next(row for row in again if row["measure"] == "rank_of_means")
    assert (found["n"], found["left_out"]) == (17, 3)
    assert found["value"] > 0.8
    assert "causal_tracing: n = 17 facts, 3 left out" in lines(again)
    # Each number of the text is one of the table, to two places.
    shown = frame[frame["metric"] == SHOWN]
    blocks = shown[shown["measure"] == "edited"]["value"]
    said = "  ".join(f"{block}: {value:.2f}" for block, value in enumerate(blocks))
    assert f"m, rome; {SHOWN} by block  {said}\n" in text
    own = shown[shown["locator"] == "causal_tracing"].set_index("measure")
    told = [own.loc[f"rank_{name}", ["value", "low", "high"]] for name in ("of_means", "per_fact")]
    at = own.loc["rank_at_layer", "value"]
    (line,) = (line for line in lines(rows) if line.startswith("causal_tracing "))
    numbers = [*(number for ends in told for number in ends), min(at), max(at)]
    assert re.findall(r"-?\d\.\d\d", line) == [f"{number:.2f}" for number in numbers]
    (blank,) = (line for line in lines(rows) if line.startswith("rome_layer "))
    assert blank.split()[-1] == "-"  # a constant score has no rank at a block
    (failed,) = (line for line in lines(rows) if line.startswith("5.0!"))
    assert " below 0 in blocks, means, blocks, a fact." in failed
    draw_blocks(rows, [tmp_path / "f.svg"], "efficacy_d")
    assert "edits by ROME" in (tmp_path / "f.svg").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"no locator.s scores can be compared[^\n]*\nleft out"):
        write_against([row for row in rows if "rank" not in row["measure"]], ["left out"], tmp_path / "u")
    # Output that is not finite at a block leaves D without a value there, and S with one.
    lost = dict.fromkeys(values, np.array([1, np.nan, 2, 3, 4]))
    rows = list(compare("m", [one], {"rome": edited["rome"] | {SHOWN: lost}}, 0))
    assert "causal_tracing: no fact has a value of efficacy_d at every block" in lines(rows)


def test_a_folder_without_scores_is_named(tmp_path):
    given = [f"--{name}={tmp_path / name}" for name in ("edits", "answers", "made", "states", "folders")]
    given += [f"--out-{name}={tmp_path / name}" for name in ("table", "text", "figures")]
    assert f"--folders: {tmp_path / 'folders' / 'ig'}: no edits.*.parquet" in refusal(
        "locate", "against-edits", "--models=m", "--locators=ig", "--methods=rome", *given
    )


def test_methods_at_a_block_and_those_that_made_no_edit_there():
    assert hyper_at("rome", "sample", {"steps": 7}, 3)["layer"] == 3
    assert hyper_at("memit", "sample", {"layers": [0, 1]}, 2)["layers"] == [2]
    with pytest.raises(InputError, match="mend edits no block"):
        hyper_at("mend", "sample", {}, 0)
    values = {"a": np.array([1.0, np.nan, np.nan]), "b": np.array([np.nan, 0.5, np.nan])}
    edited = {"rome": dict.fromkeys(METRICS, values), "ft": {"efficacy_d": {"a": np.ones(3)}}}
    said = list(unedited("m", edited, ["rome", "ft", "memit"], 3))
    for line, (method, blocks) in zip(said, (("rome", "2"), ("memit", "0, 1, 2")), strict=True):
        assert f"{method} on m: not compared, since no edit was made at block {blocks}; " in line

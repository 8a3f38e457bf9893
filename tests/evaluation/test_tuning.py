"""The search for hyper-parameters: what is tried, how it is judged, what is written."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.asking import saved
from support.updates import RULERS, dataset, update

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.owned import check_unchanged
from factdrift.core.settings import configure
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.evaluation.run import ASK, Files
from factdrift.evaluation.tools.tuning import Bench, Trial, _is_as_written, judged, search
from factdrift.models.names import read_sizes

from .test_template import TEMPLATE

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "config/config.yaml").read_text(encoding="utf-8"))
SEARCH = {"shares": [0, 0.5, 0.99], "factors": {"lr": [0.1, 2], "clamp": [10]}}


def trial(hyper: Hyper, score: float = 0.5, difference: float = 0.0) -> Trial:
    return Trial(hyper, score, score, score, difference)


def hyper(**values: Any) -> Hyper:
    return Hyper("rome", "tiny", "", {"layer": 2, "lr": 0.5, "clamp": 4, **values})


def found(scores: dict[str, float], start: Hyper, **options: Any) -> list[dict[str, Any]]:
    """What is tried, in its order, if these values of `lr` or blocks have these scores and all others 0.1."""

    def tried(values: dict[str, Any]) -> Trial:
        made = Hyper("rome", "tiny", "", {**start, **values})
        return trial(made, max((scores.get(str(value), 0.1) for value in values.values()), default=0.1))

    return [dict(each.hyper) for each in search(start, SEARCH, 8, tried, **options)]


def test_blocks_are_tried_first_and_other_values_at_the_best_one():
    made = found({"4": 0.7}, hyper())
    assert [(each["layer"], each["lr"], each["clamp"]) for each in made] == [
        *((layer, 0.5, 4) for layer in (0, 2, 4, 7)),
        *((4, 0.05, 4), (4, 1.0, 4), (4, 0.5, 40)),
    ]
    made = found({"4": 0.7, "1.0": 0.8}, hyper(), layers=[4])
    assert [(each["layer"], each["lr"], each["clamp"]) for each in made] == [
        *((4, 0.5, 4), (4, 0.05, 4), (4, 1.0, 4), (4, 1.0, 40))
    ]


def test_ranges_of_blocks_keep_their_length_where_they_can():
    start = Hyper("memit", "tiny", "", {"layers": [2, 3, 4], "lr": 0.5, "clamp": 4})
    assert [each["layers"] for each in found({}, start)[:3]] == [[0], [2, 3, 4], [5, 6, 7]]


def test_the_harmonic_mean_decides_and_then_the_difference():
    first, second = hyper(layer=0), hyper(layer=1)
    assert Trial(first, 1.0, 0.5, 0.25, 0).score == pytest.approx(3 / (1 + 2 + 4))
    assert Trial(first, 1.0, 1.0, 0.0, 1).score == 0
    assert trial(first, 0.5, 9).rank < trial(second, 0.6, 0).rank
    assert trial(first, 0.5, 0.1).rank < trial(second, 0.5, 0.2).rank


def test_failed_edits_count_as_failures_and_neighbours_by_what_is_left_of_them():
    row = {"failed": None, "efficacy_s": 1.0, "generalization_s": 0.5}
    row |= {"efficacy_d": 0.8, "generalization_d": 0.2}
    failed = dict.fromkeys(row) | {"failed": "diverged"}
    alone = row | {"generalization_s": None, "generalization_d": None}
    chances = [("nearest", 0.8, 0.4), ("random", 0.1, 0.2), ("nearest", 0.1, 0.05), ("update", 0.9, 0.1)]
    probes: list[dict[str, Any]] = [
        {"role": role, "logprob_before": math.log(before), "logprob": math.log(after), "reason": None}
        for role, before, after in chances
    ]
    probes.append({"role": "nearest", "logprob_before": None, "logprob": None, "reason": "unaligned"})
    probes.append({"role": "nearest", "logprob_before": None, "logprob": -1.0, "reason": None})
    made = judged(hyper(), [row, failed, alone], probes)
    assert (made.efficacy, made.generalization) == (pytest.approx(2 / 3), pytest.approx(0.25))
    assert made.kept == pytest.approx((0.4 + 0.1 + 0.05) / 1.0)
    assert made.difference == pytest.approx(((0.8 + 0.8) / 3 + 0.2 / 2) / 2)
    assert judged(hyper(), [row], []).kept == 1
    # A neighbour for which the output is not finite has lost everything.
    probes.append(
        {"role": "nearest", "logprob_before": math.log(0.6), "logprob": None, "reason": "not_finite"}
    )
    assert judged(hyper(), [row], probes).kept == pytest.approx((0.4 + 0.1 + 0.05) / 1.6)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A folder with a model that no entry names and updates of both splits."""
    folder = tmp_path_factory.mktemp("world")
    saved(folder / "model", "qwen3")
    (folder / "model/chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    dataset(folder / "dataset.parquet")
    return folder


def tune(
    world: Path, out: Path, method: str, *options: str, settings: Mapping[str, Any] = {}, **values: Any
) -> int:
    line = ["edit", "tune", str(world / "model"), "--method", method, "-o", str(out)]
    line += ["--dataset", str(world / "dataset.parquet"), "--set", json.dumps(values), *options]
    plain = {"device": "cpu", "batch": 4, "length": 24, "written_tokens": 1}
    return main([*line, "--settings", json.dumps(plain | {**settings})])


def test_what_is_written_is_a_configuration_with_the_best_values(world, tmp_path, capsys):
    out = tmp_path / "tuned.yaml"
    assert tune(world, out, "ft", "--layers", "0", "2", steps=2) == 0
    said = capsys.readouterr().out.splitlines()
    table = [line.split() for line in said[2 : said.index("the best:")]]
    assert [row[:2] for row in table[:2]] == [["0", "0.0005"], ["2", "0.0005"]]
    best = max(table, key=lambda row: float(row[-1]))
    (first, *_) = max(table[:2], key=lambda row: float(row[-1]))
    assert [row[:2] for row in table[2:]] == [[first, rate] for rate in ("0.0001", "0.00025", "0.001")]
    assert float(said[said.index("the best:") + 1].split()[-1]) == float(best[-1])
    given = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert given["edit"] == {"split": "test"}
    config = json.loads(json.dumps(CONFIG, default=str)) | given
    configure(config, keys_of_methods)
    name = str(world / "model")
    made = read_hyper("ft", name, config["ft"], sizes=lambda: read_sizes(name))
    assert made.derived == ()
    shown = said[said.index("the best:") + 1].split()
    assert [made["layers"], made["steps"]] == [[int(shown[0])], 2]
    assert made["lr"] == float(shown[1])
    (entry,) = yaml.safe_load(said[-1])
    assert entry["names"] == [name]
    assert {key: entry[key] for key in given["ft"]} == given["ft"]


MINE = """
import torch

def edit(model, tokenizer, update, layer, lr=0.001):
    weight = model.model.layers[layer].mlp.down_proj.weight
    ids = torch.tensor([tokenizer(f"{update.prompt} {update.target}")["input_ids"]])
    (gradient,) = torch.autograd.grad(model(ids, labels=ids).loss, weight)
    with torch.no_grad():
        weight -= lr * gradient
"""
ABOUT = """
keys:
  layer: {type: integer, minimum: 0}
  lr: {type: number, default: 0.001}
derived: {rules: {layer: {share: 0.5}}}
tune: {TRIED}
"""


@pytest.mark.parametrize("tried", ["{shares: [0, 0.5], factors: {lr: [10]}}", "{factors: {lr: [0.1, 10]}}"])
def test_a_method_of_the_users_own_is_tuned(tried, world, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(ABOUT.replace("{TRIED}", tried), encoding="utf-8")
    out = tmp_path / "tuned.yaml"
    assert tune(world, out, f"{tmp_path}/mine.py:edit", "--edits", "2") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("mine on ")
    assert len(said[2 : said.index("the best:")]) == 3
    given = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert given["mine"]["layer"] in (0, 1)
    assert f"put into `models` of {tmp_path}/mine.yaml" in said[-2]
    without = tmp_path / "other"
    without.mkdir()
    (without / "mine.py").write_text(MINE.replace("layer,", "layer=1,"), encoding="utf-8")
    assert tune(world, out, f"{without}/mine.py:edit") == 1
    assert "mine: its file does not say what to try" in capsys.readouterr().err


def test_what_a_method_needs_is_made_for_the_blocks_that_are_tried(world, tmp_path, capsys):
    options = ["--layers", "0", "1", "--edits", "2"]
    prefixes = [{"start": "", "tokens": 4, "number": 2}]
    assert tune(world, tmp_path / "tuned.yaml", "memit", *options, steps=2, prefixes=prefixes) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:4]] == ["0", "1"]


def test_a_method_that_edits_no_update_alone_is_tuned_in_its_regime(world, tmp_path, monkeypatch, capsys):
    """And nothing is written by the model, which no score of a trial needs."""
    monkeypatch.setitem(ASK, "written", lambda *_: pytest.fail("a trial writes"))
    out = tmp_path / "tuned.yaml"
    assert tune(world, out, "ultraedit", "--layers", "1") == 1
    assert "ultraedit cannot edit so" in capsys.readouterr().err
    assert tune(world, out, "ultraedit", "--layers", "1", settings={"regime": "batch", "group": 2}) == 0
    configured = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert configured["edit"] == {"split": "test", "regime": "batch", "group": 2}
    rates = [line.split()[1] for line in capsys.readouterr().out.splitlines()[2:7]]
    assert rates == ["1e-06", "1e-05", "0.0001", "0.001", "0.01"]


def test_updates_of_the_evaluation_are_left_out(world, tmp_path, monkeypatch):
    used: list[str] = []
    plain = Bench.ask

    def ask(self: Bench, prepared: Prepared, name: str) -> Files:
        used.extend(edit.id.partition("-")[0] for edit in self.updates.edits)
        return plain(self, prepared, name)

    monkeypatch.setattr(Bench, "ask", ask)
    rows = [update(subject, number) for number, subject in enumerate(RULERS, start=1)]
    splits = {row["subject"]["id"]: row["split"] for row in rows}
    assert tune(world, tmp_path / "tuned.yaml", "ft", "--layers", "0", "--template", "chat", steps=1) == 0
    assert used
    assert {splits[subject] for subject in used} == {"train"}
    out = tmp_path / "tuned.yaml"
    given = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert given["edit"] == {"split": "test", "template": "chat"}
    # It may be replaced until somebody has edited it.
    check_unchanged(out, _is_as_written)
    out.write_text(out.read_text(encoding="utf-8").replace("split: test", "split: all"), encoding="utf-8")
    with pytest.raises(InputError, match=r"tuned\.yaml: has been changed"):
        check_unchanged(out, _is_as_written)


def test_what_cannot_be_tuned_is_refused(world, tmp_path, capsys):
    out = tmp_path / "tuned.yaml"
    for method, options, message in (
        ("prompt", [], "that can be tuned: alphaedit, ft, ft_l, grace, lora, memit, rome, ultraedit, wise"),
        ("ft", ["--layers", "7"], "has no block 7"),
        ("ft", ["--dataset", "none.parquet"], "none.parquet: no such file"),
    ):
        assert tune(world, out, method, *options) == 1
        assert message in capsys.readouterr().err
        assert not out.exists()
    assert tune(world, out, "ft", settings={"regime": "stream"}) == 1
    assert "edit.regime: stream: the updates of a stream are scored in" in capsys.readouterr().err
    out.write_text("of: the user\n")
    assert tune(world, out, "rome") == 1
    assert f"{out}: has been changed since this command wrote it, or was not" in capsys.readouterr().err
    assert out.read_text() == "of: the user\n"

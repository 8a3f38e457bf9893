"""Published MEND checkpoints: a file in the layout of MEND's code gives the edits that its network makes."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from support.asking import saved
from support.commands import refusal
from support.tiny_edits import EDITS
from support.tiny_models import tiny_model
from torch import Tensor

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.methods.editors import read_editor, subjects_of
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts
from factdrift.evaluation.methods.mend import edited_matrices, mend
from factdrift.evaluation.methods.mend_training import convert
from factdrift.evaluation.methods.shared import aligned, gradients
from factdrift.models.loaded import Loaded
from factdrift.models.loading import load

BLOCKS, RANK, TOKENS = 2, 7, 100


def hyper_with(**changes: Any) -> Hyper:
    values = {"precision": "float32", "blocks": BLOCKS, "rates": "by_position"}
    return Hyper("mend", "", "", values | changes)


def inner_parameters(loaded: Loaded) -> list[str]:
    """The matrices as MEND's own configurations list them (config/model/gpt2xl.yaml, gptj.yaml)."""
    parts = list(loaded.spec.mlp_matrices)
    parts = parts[::-1] if loaded.spec.family == "gpt2" else parts
    layers = range(loaded.spec.layers - BLOCKS, loaded.spec.layers)
    return [loaded.spec.module(layer, part) for layer in layers for part in parts]


def archive(loaded: Loaded, prefix: str = "mend.") -> dict[str, Any]:
    """What `torch.save` is given by MEND's trainer, with numbers of no meaning."""
    torch.manual_seed(0)
    shapes = edited_matrices(loaded, BLOCKS)
    model: dict[str, Any] = {
        "edit_lrs": torch.linspace(0.1, 0.2, len(shapes)),
        "model_config": loaded.model.config,
    }
    for shape in set(shapes.values()):
        here, width = f"{prefix}{shape}.", sum(shape)
        modes = sum(other == shape for other in shapes.values())
        for side, size in zip("uv", shape, strict=True):
            spread = torch.rand(size) + 0.5
            model[f"{here}{side}_mean"] = torch.randn(size)
            model[f"{here}{side}_std"] = spread
            model[f"{here}{side}_s"] = spread**2 * (TOKENS - 1)
        model[f"{here}k"] = torch.tensor([float(TOKENS)])
        for layer in range(2):
            where = f"{here}mlp.layers.{layer}."
            model[f"{where}u"] = 0.1 * torch.randn(width, RANK)
            model[f"{where}v"] = torch.randn(RANK, width)
            model[f"{where}bias"] = 0.1 * torch.randn(width)
            model[f"{where}mode_scale.weight"] = 1 + 0.1 * torch.randn(modes, width)
            model[f"{where}mode_shift.weight"] = 0.1 * torch.randn(modes, width)
    return {"model": model, "opt": {"state": {}}, "lr_opt": None, "val_stats": {"loss": 0.5}, "step": 3}


def theirs(values: dict[str, Any], names: list[str], name: str, u: Tensor, delta: Tensor) -> Tensor:
    """The change by one matrix as MEND's code computes it, without its rate; [out, in]."""
    shape = u.shape[1], delta.shape[1]
    mode = [other for other in names if values["shapes"][other] == shape].index(name)
    model, here = values["model"], f"mend.{shape}."
    z = torch.cat(
        [
            (value - model[f"{here}{side}_mean"]) / (model[f"{here}{side}_std"] + 1e-7)
            for side, value in (("u", u), ("v", delta))
        ],
        1,
    )
    for layer in range(2):
        where = f"{here}mlp.layers.{layer}."
        inner = (model[f"{where}u"] @ (model[f"{where}v"] @ z.T)).T + model[f"{where}bias"]
        inner = inner * model[f"{where}mode_scale.weight"][mode] + model[f"{where}mode_shift.weight"][mode]
        z = inner.clamp(min=0) + z
    into, out = z.split(list(shape), 1)
    return out.T @ into


@pytest.mark.parametrize(("family", "prefix"), [("gpt2", "gtn."), ("llama", "mend.")])
def test_edits_are_those_of_the_published_network(family, prefix, tmp_path):
    loaded = tiny_model(family, dtype=torch.float32)
    torch.save(archive(loaded, prefix), tmp_path / "mend.pt")
    values = archive(loaded) | {"shapes": edited_matrices(loaded, BLOCKS)}
    names = inner_parameters(loaded)
    _, factors = gradients(loaded, names, list(aligned(loaded, EDITS[:1])[0].values()))
    parameters = [name for name, _ in loaded.model.named_modules() if name in names]
    for rates, order in (("matched", names), ("by_position", parameters)):
        hyper = hyper_with(rates=rates)
        convert(tmp_path / "mend.pt", loaded, hyper, tmp_path / "mend.safetensors")
        net = read_editor(tmp_path / "mend.safetensors", hyper, loaded)
        deltas = mend(loaded, EDITS[:1], hyper, Artefacts(editor=net)).deltas
        assert set(deltas) == set(names)
        for name, delta in deltas.items():
            u, gradient = (factor[0] for factor in factors[name])
            real = (gradient != 0).any(1)
            rate = values["model"]["edit_lrs"][order.index(name)]
            want = rate * theirs(values, names, name, u[real], gradient[real])
            torch.testing.assert_close(delta.dense(0)[0], want, rtol=1e-4, atol=1e-4)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    small = tiny_model("gptj", dtype=torch.float32)
    torch.save(archive(small), tmp_path / "mend.pt")
    with pytest.raises(
        InputError, match=r"made for 4 matrices of the shapes .*, but those of tiny-gptj are 6"
    ):
        convert(tmp_path / "mend.pt", small, hyper_with(blocks=3), tmp_path / "out")
    with pytest.raises(InputError, match=r"cannot be read as a MEND checkpoint for tiny-llama.*GPTJConfig"):
        convert(
            tmp_path / "mend.pt", tiny_model("llama", dtype=torch.float32), hyper_with(), tmp_path / "out"
        )


class Harmful:
    """Runs on unpickling, where that is allowed to."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("harmed"),)


def test_what_is_no_such_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = tiny_model("gptj", dtype=torch.float32)
    whole = archive(loaded)
    torch.save({"model": {**whole["model"], "x": Harmful()}}, "harmful.pt")
    torch.save({"state": 1}, "other.pt")
    Path("empty.pt").touch()
    torch.save(whole, "cut.pt")
    Path("cut.pt").write_bytes(Path("cut.pt").read_bytes()[:3000])
    lacking = {
        name: value for name, value in whole["model"].items() if not name.endswith("mode_scale.weight")
    }
    torch.save({"model": lacking}, "lacking.pt")
    for name, words in {
        "harmful.pt": "cannot be read as a MEND checkpoint",
        "other.pt": "no `model` with `edit_lrs`",
        "empty.pt": "empty.pt: cannot be read as a MEND checkpoint for tiny-gptj: ",
        "cut.pt": "cannot be read as a MEND checkpoint",
        "none.pt": "no such file",
        "lacking.pt": "not the layout of MEND's code",
    }.items():
        with pytest.raises(InputError, match=words):
            convert(Path(name), loaded, hyper_with(), Path("out"))
    assert not Path("harmed").exists()


def test_a_published_checkpoint_takes_the_place_of_training(tmp_path, capsys):
    model = load(str(saved(tmp_path / "model")), device="cpu", dtype="float32")
    torch.save(archive(model), tmp_path / "theirs.pt")
    line = ["edit", "train-editor", "--method=mend", "--model", str(tmp_path / "model")]
    line += ["--settings", json.dumps({"device": "cpu"}), '--set={"blocks": 2}']
    out, split = tmp_path / "mend.safetensors", tmp_path / "mend_split.json"
    line += [f"--out-split={split}", f"--output={out}"]
    assert main([*line, f"--checkpoint={tmp_path / 'theirs.pt'}"]) == 0
    hyper = read_hyper("mend", model.name, {"blocks": 2}, sizes=lambda: model.spec)
    assert len(read_editor(out, hyper, model).rates) == 2 * len(model.spec.mlp_matrices)
    assert subjects_of(out, "mend") is None
    split.write_text(json.dumps({"train": ["Q1"], "validation": ["Q2"]}), encoding="utf-8")
    assert subjects_of(out, "mend") == {"Q1", "Q2"}
    split.unlink()
    assert subjects_of(out, "mend") is None
    capsys.readouterr()
    for wrong, said in (
        ([], "name --dataset, --templates and --edits to train on, or a --checkpoint"),
        (["--method=rome"], "--method: rome has no trained editor; methods that have one: mend"),
    ):
        assert said in refusal(*line, *wrong)

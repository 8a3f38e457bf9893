"""No file that somebody else has made runs code, unless the user allows it."""

import ast
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from support.asking import saved
from support.tiny_models import tiny_model

import factdrift
from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.in_context import dense
from factdrift.evaluation.methods.interface import Artefacts, Edited
from factdrift.evaluation.states.edited import Beside
from factdrift.models.loading import load_checkpoint

CODE = """
from pathlib import Path
from transformers import LlamaConfig, LlamaModel, PreTrainedTokenizerFast
Path("ran").touch()
class OwnConfig(LlamaConfig):
    model_type = "own"
class OwnModel(LlamaModel):
    config_class = OwnConfig
class OwnTokenizer(PreTrainedTokenizerFast):
    pass
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, in which planted code leaves the file `ran`; somebody at the terminal says yes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("builtins.input", lambda *words: "yes")
    return tmp_path


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def own_model(folder: Path) -> Path:
    """A model of a type of its own, with the code that knows it."""
    saved(folder)
    (folder / "code.py").write_text(CODE, encoding="utf-8")
    code = {"AutoConfig": "code.OwnConfig", "AutoModel": "code.OwnModel"}
    change(folder / "config.json", model_type="own", auto_map=code)
    return folder


def test_the_code_of_a_model_runs_only_if_it_is_allowed(here, capsys):
    folder = str(own_model(here / "own"))
    assert main(["models", "describe", folder]) == 1
    said = capsys.readouterr().err
    assert "comes with Python code of its own, which is not run" in said
    assert "trust_remote_code: true" in said
    assert not Path("ran").exists()
    assert main(["models", "describe", folder, "--trust-remote-code"]) == 1
    assert "is of the type 'own', for which transformers has no causal" in capsys.readouterr().err
    assert Path("ran").exists()


def test_the_code_of_an_encoder_or_of_the_tokenizer_of_a_checkpoint_is_not_run(here):
    with pytest.raises(InputError, match=r"rag\.encoder: .* comes with Python code of its own, which is not"):
        dense(["a"], str(own_model(here / "encoder")), torch.device("cpu"))
    base, folder = saved(here / "base"), here / "edited"
    shutil.copytree(base, folder)
    (folder / "code.py").write_text(CODE, encoding="utf-8")
    change(
        folder / "tokenizer_config.json",
        tokenizer_class="OwnTokenizer",
        auto_map={"AutoTokenizer": [None, "code.OwnTokenizer"]},
    )
    with pytest.raises(InputError, match="comes with Python code of its own, which is not run"):
        load_checkpoint(folder, str(base), device="cpu")
    assert not Path("ran").exists()
    load_checkpoint(folder, str(base), device="cpu", trust_remote_code=True)
    assert Path("ran").exists()


class Payload:
    """What runs a function where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("ran",)


def test_what_a_stream_has_kept_runs_nothing(here):
    carried = Beside(tiny_model("llama"), Hyper("mine", "tiny", "", {}), Artefacts(), "stream")
    planted = here / "0.state.pt"
    torch.save({"deltas": {}, "codebooks": {}, "memory": Payload()}, planted)
    with pytest.raises(InputError, match=r"0\.state\.pt: it holds more than a job keeps, and is not read"):
        carried.resume(planted, [])
    assert not Path("ran").exists()
    carried._made = Edited(memory=[{"a": torch.ones(2)}, ("b", 1.5)])
    carried.save(here / "1.state.pt")
    carried.resume(here / "1.state.pt", [])
    assert carried._made.memory[1] == ("b", 1.5)


def test_nothing_is_read_in_a_way_that_may_run_code():
    """Every call of the package that loads what transformers or pickle may execute."""
    root = Path(factdrift.__file__).parent
    wrong = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in ("from_pretrained", ".load", "allow_pickle")):
            continue
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                of, name = ast.unparse(call.func.value), call.func.attr
                given = {each.arg: ast.unparse(each.value) for each in call.keywords}
                if (
                    (
                        name == "from_pretrained"
                        and of not in ("PeftModel", "PeftConfig")
                        and "trust_remote_code" not in given
                    )
                    or (name == "load" and of == "torch" and given.get("weights_only") != "True")
                    or (name in ("load", "loads") and of in ("pickle", "marshal", "dill", "joblib"))
                    or (name == "load" and of == "yaml" and "SafeLoader" not in given.get("Loader", ""))
                    or given.get("allow_pickle", "False") != "False"
                ):
                    wrong.append(f"{path.relative_to(root)}:{call.lineno} {of}.{name}")
    assert not wrong

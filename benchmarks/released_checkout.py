"""What it takes to run the code of another checkout on our models (`released_editing.py`)."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit
from factdrift.models.loaded import Loaded

Changes = dict[str, torch.Tensor]
"""What an edit puts into the model: full name of a matrix -> its change, [d_out, d_in], or NAME.bias; of a
codebook, NAME.keys and NAME.values of its one entry."""
Way = Callable[[Sequence[Edit]], Changes]
STANDINS = {"wandb": "", "hydra": "", "omegaconf": "DictConfig = dict"}
"""Modules that are imported, and of which the methods use nothing but a name."""


def copied(checkout: Path, folder: Path, device: torch.device) -> None:
    """Copies the Python files of a checkout, for a device."""
    for path in (*checkout.rglob("*.py"), *checkout.glob("*.yml")):
        text = "" if path.name == "__init__.py" else path.read_text("utf-8")
        text = text.replace('"cuda"', repr(str(device))).replace(".cuda()", f".to({str(device)!r})")
        target = folder / path.relative_to(checkout)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    for name, text in STANDINS.items():
        if importlib.util.find_spec(name) is None:
            (folder / f"{name}.py").write_text(text, "utf-8")


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Shows nothing of what is printed."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def silenced(loaded: Loaded, way: Way) -> Way:
    """A method that prints nothing, after which no weight has a gradient."""

    def quiet(facts: Sequence[Edit]) -> Changes:
        with silent():
            changes = way(facts)
        loaded.model.requires_grad_(False)
        loaded.model.zero_grad()
        return changes

    return quiet


@contextlib.contextmanager
def restored(loaded: Loaded, matrices: Sequence[str] | Mapping[str, Any]) -> Iterator[Changes]:
    """Puts matrices back at the end, and fills the yielded changes with what has been added to them."""
    weights = {name: loaded.model.get_submodule(name).weight for name in matrices}
    kept = {name: weight.detach().clone() for name, weight in weights.items()}
    changes: Changes = {}
    yield changes
    with torch.no_grad():
        for name, weight in weights.items():
            changes[name] = shaped(loaded, f"{name}.weight", weight - kept[name])
            weight.copy_(kept[name])


def show_as_gpt(loaded: Loaded) -> None:
    """Shows a Llama to the checkout as a GPT-J: blocks put out tuples, and the head has its own weight."""
    nethook = importlib.import_module("util.nethook")

    def parameter(model: Any, name: str) -> Any:
        try:
            return model.get_parameter(name)
        except AttributeError:
            raise LookupError(name) from None

    nethook.get_parameter = parameter
    blocks = {loaded.spec.module(number, "") for number in range(loaded.spec.layers)}
    plain = nethook.Trace

    class Trace(plain):  # type: ignore[misc, valid-type]
        def __init__(self, module: Any, layer: str | None = None, *, edit_output: Any = None, **others: Any):
            self.block = layer in blocks
            edit = edit_output

            def edited(output: Any, layer: str) -> Any:
                if not self.block or isinstance(output, tuple):
                    return edit_output(output, layer)
                return edit_output((output,), layer)[0]

            super().__init__(module, layer, edit_output=edit and edited, **others)

        @property
        def output(self) -> Any:
            whole = not self.block or isinstance(self._output, tuple)
            return self._output if whole else (self._output,)

        @output.setter
        def output(self, value: Any) -> None:
            self._output = value

    nethook.Trace = Trace


def hyperparameters(loaded: Loaded, hyper: Hyper) -> Any:
    """The hyper-parameters under the names of the checkouts that began as kmeng01/memit."""
    spec = loaded.spec
    loaded.model.config.n_embd = spec.hidden  # the name of GPT-2 and GPT-J
    loaded.tokenizer.unk_token = loaded.tokenizer.pad_token  # as GPT-J's has it; FT asks for it
    templates = {
        "rewrite_module_tmp": spec.down,
        "layer_module_tmp": "",
        "mlp_module_tmp": spec.mlp,
        "attn_module_tmp": spec.attention_out.rpartition(".")[0],
    }
    return SimpleNamespace(
        **{key: spec.module(0, name).replace("0", "{}", 1) for key, name in templates.items()},
        layers=list(hyper.layers),
        v_num_grad_steps=hyper["steps"],
        num_steps=hyper["steps"],
        lr=hyper["lr"],
        v_lr=hyper["lr"],
        weight_decay=hyper.get("weight_decay", 0),
        v_weight_decay=hyper.get("weight_decay", 0),
        clamp_norm_factor=hyper.get("clamp"),
        kl_factor=hyper.get("kl"),
        norm_constraint=hyper.get("norm_constraint") or False,
        mom2_update_weight=hyper.get("moment_weight"),
        mom2_adjustment=True,
        v_loss_layer=spec.layers - 1,
        fact_token="subject_last",
        context_template_length_params=None,
        mom2_dataset=None,
        mom2_n_samples=None,
        mom2_dtype=None,
        ln_f_module=spec.final_norm,
        lm_head_module=spec.head,
        batch_size=1,
        wd_power_law=None,
        L2=hyper.get("l2"),
    )


def shaped(loaded: Loaded, name: str, change: Any) -> torch.Tensor:
    """A change as a matrix of the shape of its weight; ROME's and MEMIT's come as two factors."""
    weight = loaded.model.get_parameter(name)
    if isinstance(change, tuple):
        left, right = (part if part.dim() == 2 else part[:, None] for part in change)
        change = left.to(weight.device).double() @ right.to(weight.device).double().T
    return (change if change.shape == weight.shape else change.T).float()

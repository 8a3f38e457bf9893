"""ROME, MEMIT and FT as their authors released them (github.com/kmeng01/memit, MIT licence).

`editing.py` compares with them. A checkout is copied, and the device written into the copy, because "cuda"
stands there literally. The prefixes and second moments, which it would make itself, are those of the
comparison; what it prints is not shown.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.models.loaded import Loaded

METHODS = {
    "rome": ("rome.rome_main", "execute_rome"),
    "memit": ("memit.memit_main", "execute_memit"),
    "ft": ("baselines.ft.ft_main", "execute_ft"),
    "ft_l": ("baselines.ft.ft_main", "execute_ft"),
}
"""Method -> the module of the checkout and its function, which returns changes and puts the model back."""
PARTS = ("rome", "memit", "baselines", "util", "globals.yml")


def install(checkout: Path, device: torch.device) -> None:
    """Puts a copy of the checkout, for a device, on the path of imports; FileNotFoundError without one."""
    folder = Path(tempfile.mkdtemp(prefix="released-"))
    atexit.register(shutil.rmtree, folder)
    for part in PARTS:
        path = checkout / part
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / part)
    for path in folder.rglob("*.py"):
        path.write_text(path.read_text("utf-8").replace('"cuda"', repr(str(device))), "utf-8")
    sys.path.insert(0, str(folder))
    with contextlib.chdir(folder):  # util/globals.py reads globals.yml from there
        importlib.import_module("util.globals")


def method(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Callable[[Edit], dict[str, torch.Tensor]]:
    """A method on one fact: full name of a matrix -> its change, [d_out, d_in]."""
    module_name, function = METHODS[hyper.method]
    module = importlib.import_module(module_name)
    templates = [prefix + "{}" for prefix in artefacts.prefixes]
    moments = {
        loaded.spec.module(layer, loaded.spec.down): kept.matrix.to(loaded.device).float()
        for layer, kept in artefacts.moments.items()
    }
    if hyper.method == "rome":
        inverse = {name: torch.inverse(matrix) for name, matrix in moments.items()}
        importlib.import_module("rome.compute_u").get_inv_cov = lambda model, tok, name, *_: inverse[name]
        module.get_context_templates = lambda *_: templates
    elif hyper.method == "memit":
        module.get_cov = lambda model, tok, name, *_, **__: moments[name].clone()
        module.get_context_templates = lambda *_: [templates[:1], templates[1:]]
    settings = hyperparameters(loaded, hyper)
    loaded.model.config.n_embd = loaded.spec.hidden  # the name of GPT-2 and GPT-J
    loaded.tokenizer.unk_token = loaded.tokenizer.pad_token  # as GPT-J's has it; FT asks for it

    def edit(fact: Edit) -> dict[str, torch.Tensor]:
        request = {
            "case_id": fact.id,
            "prompt": fact.prompt.replace(fact.subject, "{}"),
            "subject": fact.subject,
            "target_new": {"str": fact.target},
        }
        with contextlib.redirect_stdout(io.StringIO()):
            changes = getattr(module, function)(
                loaded.model, loaded.tokenizer, request if hyper.method == "rome" else [request], settings
            )
        loaded.model.requires_grad_(False)
        return {
            name.removesuffix(".weight"): shaped(loaded, name, change) for name, change in changes.items()
        }

    return edit


def hyperparameters(loaded: Loaded, hyper: Hyper) -> Any:
    """The hyper-parameters under the names of the checkout."""
    spec = loaded.spec
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
    )


def shaped(loaded: Loaded, name: str, change: Any) -> torch.Tensor:
    """A change as a matrix of the shape of its weight; ROME's and MEMIT's come as two factors."""
    weight = loaded.model.get_parameter(name)
    if isinstance(change, tuple):
        left, right = (part if part.dim() == 2 else part[:, None] for part in change)
        change = left.to(weight.device).double() @ right.to(weight.device).double().T
    return (change if change.shape == weight.shape else change.T).float()

"""Imports published MEND checkpoints, such as `mend-10tok-gpt-j-6b.pt` of rome.baulab.info.

Such a file holds, under `model`, what `state_dict` of MEND's code (eric-mitchell/mend, algs/mend.py) gives:
for each shape of matrix `mend.(d_in, d_out).` (`gtn.` in older files) with the statistics `u_mean`, `u_s`,
`v_mean`, `v_s`, `k` and the layers `mlp.layers.N.u`, `.v`, `.bias`, `.mode_scale.weight`,
`.mode_shift.weight`; `edit_lrs`, one learned rate a matrix; and `model_config`. EasyEdit's training writes
the same, and calls the file `archive`. Imports torch.
"""

import pickle
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.mend import LAYERS, HyperNet, edited_matrices
from factdrift.models.families import transposed
from factdrift.models.loaded import Loaded


def import_checkpoint(path: Path, loaded: Loaded, *, blocks: int, rates: str = "by_position") -> HyperNet:
    """The editor of a published checkpoint; `loaded` must be the model that it was trained for.

    `rates`: `by_position` assigns the learned rates in the order of the model's parameters, as `mend_main.py`
    of kmeng01/rome does; `matched` assigns each matrix its own. They differ for GPT-2, whose
    checkpoints list the second matrix of a block before the first. Only tensors and configurations of the
    model's class are unpickled. Raises InputError for a file of another layout or model.
    """
    values = _read(path, loaded)
    matrices = edited_matrices(loaded, blocks)
    shapes = sorted({str(shape) for shape in matrices.values()})
    found = sorted({name.split(".")[1] for name in values if name.startswith("mend.")})
    if found != shapes or len(values.get("edit_lrs", ())) != len(matrices):
        raise InputError(
            f"{path}: made for {len(values.get('edit_lrs', ()))} matrices of the shapes {', '.join(found)}, "
            f"but those of {loaded.name} are {len(matrices)}, of {', '.join(shapes)}; name its model"
        )
    order = list(matrices)
    if transposed(loaded.model.get_submodule(order[0])):
        # In the checkpoints of GPT-2 the second matrix of a block comes first.
        parts = len(loaded.spec.mlp_matrices)
        blocks_of = [order[start : start + parts] for start in range(0, len(order), parts)]
        order = [name for block in blocks_of for name in reversed(block)]
    learned = values["edit_lrs"]
    given = list(matrices) if rates == "by_position" else order
    state = {"rates": torch.stack([learned[given.index(name)] for name in matrices])}
    for shape in dict.fromkeys(matrices.values()):
        names = [name for name in order if matrices[name] == shape]
        # Row i of their scales and shifts belongs to matrix i in their order.
        rows = torch.tensor([names.index(name) for name in matrices if name in names])
        theirs, ours = f"mend.{shape}.", f"editors.{shape[0]}x{shape[1]}."
        try:
            for side, name in {"u": "entering", "v": "leaving"}.items():
                state[f"{ours}{name}.count"] = values[f"{theirs}k"].round().long().reshape(())
                state[f"{ours}{name}.mean"] = values[f"{theirs}{side}_mean"]
                state[f"{ours}{name}.squares"] = values[f"{theirs}{side}_s"]
            for layer in range(LAYERS):
                inner = f"{theirs}mlp.layers.{layer}."
                for name in ("u", "v", "bias"):
                    state[f"{ours}layers.{layer}.{name}"] = values[f"{inner}{name}"]
                for name in ("scale", "shift"):
                    state[f"{ours}layers.{layer}.{name}"] = values[f"{inner}mode_{name}.weight"][rows]
        except KeyError:
            raise InputError(
                f"{path}: not the layout of MEND's code with one shared, combined network a shape "
                f"(mend.combine and mend.shared, n_hidden 1): something of {theirs} is missing"
            ) from None
    rank = max(len(value) for name, value in values.items() if name.endswith(".v"))
    net = HyperNet(matrices, rank, 0.0)
    net.load_state_dict(state)
    return net.to(loaded.device).requires_grad_(False)


def _read(path: Path, loaded: Loaded) -> dict[str, Tensor]:
    """The tensors under `model`, by the newer of the two naming schemes."""
    kinds: list[Any] = [type(loaded.model.config)]
    try:
        with torch.serialization.safe_globals(kinds):
            archive: Any = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        why = next((line.strip() for line in lines if "GLOBAL" in line), lines[0])
        raise InputError(
            f"{path}: cannot be read as a MEND checkpoint for {loaded.name}: {why} "
            "(a file with other objects than tensors and this model's configuration is not opened, since "
            "that could run anything)"
        ) from None
    model = archive.get("model") if isinstance(archive, dict) else None
    if not isinstance(model, dict) or "edit_lrs" not in model:
        raise InputError(f"{path}: no MEND checkpoint: it has no `model` with `edit_lrs`")
    return {
        name.replace("gtn.", "mend.", 1): value for name, value in model.items() if isinstance(value, Tensor)
    }

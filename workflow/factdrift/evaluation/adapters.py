"""Edits as files that other programs load: LoRA adapters in peft's layout, or whole models. Imports torch.

LoRA (Hu et al. 2022, arXiv 2106.09685, section 4.1) is W + (alpha / r) B A with A [r, d_in] and B [d_out, r].
A low-rank change `write @ read.T` is that with B = write, A = read.T and alpha = r, without any rounding.
"""

import hashlib
import importlib.metadata
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder, remove_folder, remove_unfinished, writer_of_name
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit, Edited
from factdrift.models.deltas import Deltas, LowRank, written
from factdrift.models.families import transposed
from factdrift.models.loaded import Loaded

ABOUT = "factdrift.json"
"""The file beside adapter or model that says which edits it contains."""
PREFIX = "base_model.model."
"""What peft puts before the names of the modules of a model."""
PRECISIONS = ("float32", "weights")
"""`float32`: as changes are computed (float64 beside a float64 model). `weights`: in the weights' type."""


@dataclass
class Adapter:
    """The changes of one edit, in factors."""

    factors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    """The full name of a module -> A [r, d_in] and B [d_out, r]; the module's change is B A."""
    errors: dict[str, float] = field(default_factory=dict)
    """Module -> |W - B A| / |W| (Frobenius) of a change W that was not low-rank."""


def adapter_of(deltas: Deltas, edit: int, rank: int = 0) -> Adapter:
    """The changes of edit number `edit` as an adapter; exact if the method's changes have a low rank.

    `rank`: of the best approximation, by SVD, of changes of full matrices; 0 if none is wanted. Raises
    InputError if nothing was changed, a change has full rank and no rank is given, a bias was changed, or a
    rank is given for changes that are exact without one.
    """
    if not deltas:
        raise InputError("an adapter holds changes of weights, and this method changes none")
    found = Adapter()
    for name, delta in deltas.items():
        if isinstance(delta, LowRank):
            if rank:
                raise InputError(f"--rank: the change of {name} has a low rank and is exact without it")
            read, write = delta.read[edit], delta.write[edit]
            used = (read != 0).any(0) & (write != 0).any(0)
            used[0] = True  # a change of nothing is of rank one, too
            found.factors[name] = read[:, used].T, write[:, used]
            continue
        weight, bias = delta.dense(edit)
        if bias is not None:
            raise InputError(
                f"the bias of {name} was changed, which an adapter of low rank does not hold; write the "
                "whole model (--full), or leave the bias as it is (such as --set '{\"bias\": false}')"
            )
        if not rank:
            raise InputError(
                f"the change of {name} is a full matrix, which no adapter holds exactly; write the whole "
                "model (--full), or the best approximation of a rank of your choice (--rank), whose error is "
                "printed"
            )
        left, values, right = torch.linalg.svd(weight.double(), full_matrices=False)
        factor = values[:rank].sqrt()
        a, b = factor[:, None] * right[:rank], left[:, :rank] * factor
        found.factors[name] = a.to(weight.dtype), b.to(weight.dtype)
        found.errors[name] = float(values[rank:].norm() / values.norm()) if values.any() else 0.0
    return found


def write_adapter(
    loaded: Loaded, adapter: Adapter, folder: Path, about: Mapping[str, Any], *, precision: str = "float32"
) -> None:
    """Writes adapter_config.json, adapter_model.safetensors and ABOUT into a folder, which is made.

    `precision`: of PRECISIONS. Raises InputError if peft would put the factors elsewhere.
    """
    from peft import LoraConfig

    ranks = {name: len(a) for name, (a, _) in adapter.factors.items()}
    # The most frequent rank, the greater of equally frequent ones.
    rank, _ = max(Counter(ranks.values()).items(), key=lambda item: (item[1], item[0]))
    others = {re.escape(name): other for name, other in ranks.items() if other != rank}
    config = LoraConfig(
        task_type="CAUSAL_LM",
        inference_mode=True,
        base_model_name_or_path=getattr(loaded.model, "name_or_path", "") or loaded.name,
        revision=loaded.revision,
        r=rank,
        lora_alpha=rank,
        rank_pattern=others,
        alpha_pattern=others,
        # A pattern of whole names: a list would also match modules whose names end alike.
        target_modules="|".join(map(re.escape, ranks)),
        fan_in_fan_out=any(transposed(loaded.model.get_submodule(name)) for name in ranks),
    )
    _check_loadable(loaded, config)
    tensors = {}
    for name, (a, b) in adapter.factors.items():
        for part, value in (("lora_A", a), ("lora_B", b)):
            kept = value.detach().to("cpu", loaded.dtype if precision == "weights" else value.dtype)
            tensors[f"{PREFIX}{name}.{part}.weight"] = kept.contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(str(folder))
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    error = {"relative_error": adapter.errors} if adapter.errors else {}
    _write_about(folder, {**about, "precision": precision, **error})


def _check_loadable(loaded: Loaded, config: Any) -> None:
    """Raises InputError if peft changes which matrices the adapter names, as in some mixtures of experts."""
    from peft.utils.transformers_weight_conversion import convert_peft_config_for_transformers

    converted = deepcopy(config)
    try:
        convert_peft_config_for_transformers(converted, loaded.model, None)
        same = converted.target_modules == config.target_modules
    except ValueError:
        same = False
    if not same:
        raise InputError(
            f"peft cannot load an adapter of single matrices into {loaded.name}: it renames the matrices of "
            f"mixtures of experts of the family {loaded.spec.family}; write the whole model (--full)"
        )


def write_model(loaded: Loaded, deltas: Deltas, edit: int, folder: Path, about: Mapping[str, Any]) -> None:
    """Writes a whole model with one edit in its weights, in their type, with tokenizer and ABOUT.

    Raises InputError if nothing was changed.
    """
    if not deltas:
        raise InputError("this method changes no weights: the model would be the one that you have")
    folder.mkdir(parents=True, exist_ok=True)
    with written(loaded.model, deltas, edit):
        loaded.model.save_pretrained(str(folder))
    loaded.tokenizer.save_pretrained(str(folder))
    _write_about(folder, {**about, "precision": "weights"})


def about(loaded: Loaded, hyper: Hyper, edits: Sequence[Edit]) -> dict[str, Any]:
    """The contents of ABOUT: the model, the method with its values, and the facts."""
    return {
        "model": loaded.name,
        "revision": loaded.revision,
        "model_digest": loaded.digest,
        "method": hyper.method,
        "hyper": dict(hyper),
        "edits": [
            {"id": edit.id, "prompt": edit.prompt, "subject": edit.subject, "target": edit.target}
            for edit in edits
        ],
        "factdrift": importlib.metadata.version("factdrift"),
    }


def _write_about(folder: Path, about: Mapping[str, Any]) -> None:
    text = json.dumps(about, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / ABOUT).write_text(text + "\n", encoding="utf-8")


class Keeping:
    """The adapters of one telling, in a folder beside the finished batches until the job ends."""

    def __init__(self, loaded: Loaded, hyper: Hyper, folder: Path):
        self._loaded, self._hyper, self._folder = loaded, hyper, folder

    def begun(self) -> bool:
        """Whether the adapters of finished batches are there: they are not once they have been moved."""
        return self._folder.is_dir()

    def keep(self, edits: Sequence[Edit], made: Edited, alone: bool) -> None:
        """Writes an adapter for each edit that did not fail, under its id, or one for all.

        `alone`: each edit is in a model of its own.

        The folder of a group has the ids of its first and last edit and a digest of all. A method that
        changes no weight leaves nothing. Raises InputError if a change is not of low rank.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        lasting = [place for place in range(len(edits)) if place not in made.failed]
        if not made.deltas or not lasting:
            return
        if alone:
            for place in lasting:
                self._write(edits[place].id, [edits[place]], made, place)
            return
        digest = hashlib.sha256("\n".join(edit.id for edit in edits).encode()).hexdigest()[:8]
        name = f"{edits[0].id}..{edits[-1].id}.{digest}"
        self._write(name, [edits[place] for place in lasting], made, 0)

    def _write(self, name: str, edits: Sequence[Edit], made: Edited, place: int) -> None:
        with new_folder(self._folder / name) as folder:  # of a batch that was killed, it is made again
            said = about(self._loaded, self._hyper, edits)
            write_adapter(self._loaded, adapter_of(made.deltas, place), folder, said)


def move_adapters(folder: Path, output: Path) -> None:
    """Moves the adapters of a job to their final place, in the place of earlier ones.

    Raises InputError if other files are there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in list(folder.rglob(".*")):
        if writer_of_name(path.name):  # of a job that was killed
            remove_unfinished(path)
    remove_folder(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, output)

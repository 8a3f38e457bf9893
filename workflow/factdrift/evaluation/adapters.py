"""Edits as files that other programs load: LoRA adapters in peft's layout, or whole models. Imports torch.

LoRA (Hu et al. 2022, arXiv 2106.09685, section 4.1) is W + (alpha / r) B A with A [r, d_in] and B [d_out, r].
A low-rank change `write @ read.T` is that with B = write, A = read.T and alpha = r, without any rounding.
"""

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder, remove_folder, remove_unfinished, writer_of_name
from factdrift.evaluation.methods.interface import Edit, Edited
from factdrift.models.deltas import Deltas, LowRank, written
from factdrift.models.families import transposed
from factdrift.models.loaded import Loaded

PREFIX = "base_model.model."
"""What peft puts before the names of the modules of a model."""


def factors_of(deltas: Deltas, edit: int) -> dict[str, tuple[Tensor, Tensor]]:
    """The changes of edit number `edit`: the full name of a module -> A [r, d_in] and B [d_out, r].

    A module's change is B A. Raises InputError if nothing was changed, or a change is a full matrix.
    """
    if not deltas:
        raise InputError("an adapter holds changes of weights, and this method changes none")
    factors = {}
    for name, delta in deltas.items():
        if not isinstance(delta, LowRank):
            raise InputError(
                f"the change of {name} is a full matrix, which no adapter holds exactly; write the whole "
                "model (--full)"
            )
        read, write = delta.read[edit], delta.write[edit]
        used = (read != 0).any(0) & (write != 0).any(0)
        used[0] = True  # a change of nothing is of rank one, too
        factors[name] = read[:, used].T, write[:, used]
    return factors


def write_adapter(loaded: Loaded, deltas: Deltas, edit: int, folder: Path) -> None:
    """Writes adapter_config.json and adapter_model.safetensors into a folder, which is made.

    Numbers are as computed: in float32, beside a float64 model in float64. Raises InputError as `factors_of`,
    and if peft would put the factors elsewhere.
    """
    from peft import LoraConfig
    from peft.utils.transformers_weight_conversion import convert_peft_config_for_transformers

    factors = factors_of(deltas, edit)
    ranks = {name: len(a) for name, (a, _) in factors.items()}
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
    converted = deepcopy(config)
    try:
        convert_peft_config_for_transformers(converted, loaded.model, None)
        same = converted.target_modules == config.target_modules
    except ValueError:
        same = False
    if not same:  # in some mixtures of experts
        raise InputError(
            f"peft cannot load an adapter of single matrices into {loaded.name}: it renames the matrices of "
            f"mixtures of experts of the family {loaded.spec.family}; write the whole model (--full)"
        )
    tensors = {}
    for name, (a, b) in factors.items():
        tensors[f"{PREFIX}{name}.lora_A.weight"] = a.detach().cpu().contiguous()
        tensors[f"{PREFIX}{name}.lora_B.weight"] = b.detach().cpu().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(str(folder))
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def write_model(loaded: Loaded, deltas: Deltas, edit: int, folder: Path) -> None:
    """Writes a whole model with one edit in its weights, in their type, with the tokenizer.

    Raises InputError if nothing was changed.
    """
    if not deltas:
        raise InputError("this method changes no weights: the model would be the one that you have")
    folder.mkdir(parents=True, exist_ok=True)
    with written(loaded.model, deltas, edit):
        loaded.model.save_pretrained(str(folder))
    loaded.tokenizer.save_pretrained(str(folder))


def keep_adapters(loaded: Loaded, folder: Path, edits: Sequence[Edit], made: Edited, alone: bool) -> None:
    """Writes an adapter for each edit that did not fail, under its id, or one for all.

    `folder`: beside the finished batches until the job ends. `alone`: each edit is in a model of its own.

    The folder of a group has the ids of its first and last edit and a digest of all. A method that changes no
    weight leaves nothing. Raises InputError if a change is not of low rank.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lasting = [index for index in range(len(edits)) if index not in made.failed]
    if not made.deltas or not lasting:
        return
    digest = hashlib.sha256("\n".join(edit.id for edit in edits).encode()).hexdigest()[:8]
    together = (f"{edits[0].id}..{edits[-1].id}.{digest}", 0)
    each = [(edits[at].id, made.change_of(at)) for at in lasting]
    for name, owner in each if alone else [together]:
        with new_folder(folder / name) as new:  # of a batch that was killed, it is made again
            write_adapter(loaded, made.deltas, owner, new)


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

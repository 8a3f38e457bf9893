"""Loads a checkpoint or an adapter that was made from a model elsewhere. Imports torch."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoTokenizer

from factdrift.core.errors import InputError
from factdrift.models.loaded import Loaded
from factdrift.models.loading import (
    FOLDER,
    UNREADABLE,
    load,
    places_and_type,
    read_config,
    reading,
    with_weights,
    without_weights,
)
from factdrift.models.names import ALIASES
from factdrift.models.shape import spec_of

ADAPTER = "adapter_config.json"


def base_of(folder: Path) -> str | None:
    """The model that an adapter was made for, as its configuration names it; None for a checkpoint."""
    path = folder / ADAPTER
    if not path.is_file():
        return None
    try:
        named: str | None = json.loads(path.read_text(encoding="utf-8")).get("base_model_name_or_path")
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path} is no configuration of an adapter: {error}") from None
    return named


def load_checkpoint(
    folder: Path,
    base: str,
    *,
    revision: str = "main",
    device: str = "auto",
    dtype: str = "auto",
    models: Path = FOLDER,
    trust_remote_code: bool = False,
) -> Loaded:
    """The model of a folder, with the name and the tokenizer of the model `base`, from which it was made.

    `folder`: of `save_pretrained`, or of an adapter of PEFT, which is merged into `base`. `revision`: of
    `base`; the other arguments are those of `load`. Raises InputError if the folder cannot be loaded or
    is not of that model.
    """
    if not folder.is_dir():
        raise InputError(f"--model: {folder} is no folder of a checkpoint or an adapter")
    if (folder / ADAPTER).is_file():
        loaded = load(
            base,
            revision=revision,
            device=device,
            dtype=dtype,
            folder=models,
            trust_remote_code=trust_remote_code,
        )
        return _merged(loaded, folder)
    places, kind = places_and_type(device, dtype)
    config, tokenizer, _ = read_config(base, revision, models, trust_remote_code)
    _, wanted = without_weights(config, base, trust_remote_code)
    with reading(str(folder)):
        own = AutoConfig.from_pretrained(str(folder), trust_remote_code=trust_remote_code)
    loaded = with_weights(str(folder), own, tokenizer, places, kind, trust_remote_code=trust_remote_code)
    if loaded.spec != wanted:
        raise InputError(
            f"--model: {folder} is of another architecture or size than {base}; name the model that it was "
            "made from with --base"
        )
    _check_tokenizer(folder, tokenizer, base, trust_remote_code)
    return replace(loaded, name=ALIASES.get(base, base), revision=revision)


def _merged(loaded: Loaded, folder: Path) -> Loaded:
    """A model with an adapter merged into its weights."""
    try:
        from peft import PeftModel
    except ImportError:
        raise InputError(
            f"--model: {folder} is an adapter, for which the package peft is needed; install it (pip install "
            "peft), or merge the adapter into its model where it was made and save that"
        ) from None
    try:
        adapted: Any = PeftModel.from_pretrained(loaded.model, str(folder))
    except UNREADABLE as error:
        raise InputError(
            f"--model: the adapter {folder} does not fit {loaded.name} ({type(error).__name__}: {error}); "
            "name its model with --base"
        ) from None
    try:
        model = adapted.merge_and_unload()
    except (AttributeError, NotImplementedError, ValueError) as error:
        raise InputError(
            f"--model: the adapter {folder} cannot be merged into the weights of {loaded.name}: {error}"
        ) from None
    whole = hashlib.sha256(loaded.digest.encode())
    for path in (folder / ADAPTER, *sorted(folder.glob("adapter_model.*"))):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    model = model.eval().requires_grad_(False)
    return replace(loaded, model=model, spec=spec_of(model, loaded.name), digest=whole.hexdigest())


def _check_tokenizer(folder: Path, tokenizer: Any, base: str, trust_remote_code: bool) -> None:
    """Raises InputError if the folder has a tokenizer with other tokens than that of `base`."""
    if not (folder / "tokenizer.json").is_file():
        return
    with reading(str(folder)):
        own = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=trust_remote_code)
    if own.get_vocab() != tokenizer.get_vocab():
        raise InputError(f"--model: the tokenizer of {folder} has other tokens than that of {base}")

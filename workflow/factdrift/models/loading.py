"""Loads causal language models of the supported families for inference. Imports torch."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils.hub import cached_file
from transformers.utils.logging import disable_progress_bar

from factdrift.core.errors import InputError, Unsupported
from factdrift.core.files import sha256_of_all
from factdrift.models.alignment import check_tokenizer
from factdrift.models.bundled.shipped import bundled_folder
from factdrift.models.families import ModelSpec, is_listed
from factdrift.models.fork import check_logits
from factdrift.models.loaded import Loaded
from factdrift.models.memory import free_bytes
from factdrift.models.names import ALIASES, BUNDLED, check_whole
from factdrift.models.quantized import is_quantized, prepare
from factdrift.models.shape import spec_of

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError),
    *(RuntimeError, EOFError, UnpicklingError, SafetensorError, ImportError),
)
"""What transformers raises for files that are damaged, or are not what their name says, and for packages that
are not installed, such as those for quantized weights.
"""
SAID = 300
"""Characters of an error of another program that a message repeats."""
FILLED = 0.9
"""Share of a GPU's free memory that the weights of a model may fill that is spread over several."""
_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
FOLDER = Path("results/models")
"""The folder of the bundled models of a build."""


def load(
    name: str,
    *,
    revision: str = "main",
    device: str = "auto",
    dtype: str = "auto",
    folder: Path = FOLDER,
    trust_remote_code: bool = False,
) -> Loaded:
    """A bundled model (`sample`, `sample-llama`, `sample-gpt2`), a folder, or a name that transformers knows.

    `auto` means the first GPU and bfloat16 if there is one, else the CPU and float32. Of several devices
    (`cuda:0,cuda:1`) each has some of the blocks. What is not quantized of a quantized model keeps the type
    in which it is stored. `trust_remote_code`: runs Python code that comes with the model. Raises InputError
    if the model cannot be loaded, its family is not supported, its tokenizer keeps no offsets, or its logits
    are not reproduced (`check_logits`); Unsupported where that is so whatever the settings.
    """
    name = ALIASES.get(name, name)
    places, kind = places_and_type(device, dtype)
    config, tokenizer, source = read_config(name, revision, folder, trust_remote_code)
    if not is_listed(config):
        # Refuses an unclear shape before weights are fetched.
        without_weights(config, name, trust_remote_code)
    given: dict[str, Any] = {"revision": revision, "trust_remote_code": trust_remote_code}
    return replace(with_weights(source, config, tokenizer, places, kind, **given), name=name)


def with_weights(
    source: str,
    config: Any,
    tokenizer: Any,
    places: Sequence[torch.device],
    kind: torch.dtype,
    *,
    revision: str = "main",
    trust_remote_code: bool = False,
) -> Loaded:
    """The model whose weights are in a folder, or at a name that transformers knows, named by that.

    `config`: that of these weights. Raises InputError and Unsupported as `load` does.
    """
    disable_progress_bar()  # type: ignore[no-untyped-call]
    with reading(source, revision):
        model: Any = AutoModelForCausalLM.from_pretrained(
            source,
            revision=revision,
            dtype=kind,
            trust_remote_code=trust_remote_code,
            **spreading(places, config),
        )
    model, places = placed(model, source, places)
    exact_experts(model, kind)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    model = model.eval().requires_grad_(False)
    if is_quantized(config):
        # transformers leaves what is not quantized in the type in which it is stored.
        stored = model.get_input_embeddings().weight.dtype
        kind = stored if stored in DTYPES.values() else kind
        prepare(model)
    loaded = Loaded(
        model=model,
        tokenizer=tokenizer,
        spec=spec_of(model, source),
        name=source,
        revision=getattr(config, "_commit_hash", None) or revision,
        digest=weights_digest(source, revision),
        device=places[0],
        dtype=kind,
        others=tuple(places[1:]),
    )
    check_logits(loaded)
    return loaded


def places_and_type(device: str, dtype: str) -> tuple[list[torch.device], torch.dtype]:
    """What the settings `device` and `dtype` mean on this machine."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    places = [torch.device(name.strip()) for name in device.split(",")]
    if len(places) > 1 and any(place.type != "cuda" or place.index is None for place in places):
        raise InputError(f"device: {device!r}: several devices must be GPUs, such as cuda:0,cuda:1")
    if dtype not in ("auto", *DTYPES):
        raise InputError(f"dtype: {dtype!r} is none of auto, {', '.join(DTYPES)}")
    on_gpu = places[0].type == "cuda"
    kind = DTYPES["bfloat16" if on_gpu else "float32"] if dtype == "auto" else DTYPES[dtype]
    return places, kind


def spreading(places: Sequence[torch.device], config: Any) -> dict[str, Any]:
    """The options of `from_pretrained` by which accelerate divides the blocks of a model among GPUs.

    Each gets about as much of the weights. None for a single device, unless the weights are quantized, which
    cannot be moved afterwards. `config`: of the model.
    """
    if len(places) == 1:
        return {"device_map": {"": places[0]}} if is_quantized(config) else {}
    room = {place.index: int(FILLED * free_bytes(place, 0)) for place in places}
    return {"device_map": "balanced", "max_memory": room}


def placed(model: Any, source: str, places: Sequence[torch.device]) -> tuple[Any, list[torch.device]]:
    """A model on its devices, and these, that of the embedding first.

    Raises InputError if a model that was read with `spreading` does not fit into the GPUs.
    """
    if len(places) == 1:
        # bitsandbytes and others refuse to move a model, and have it on its device already.
        return model if is_quantized(model.config) else model.to(places[0]), list(places)
    check_spread(model.hf_device_map, source, len(places))
    first: torch.device = model.get_input_embeddings().weight.device
    return model, [first, *(place for place in places if place != first)]


def check_spread(placed: Mapping[str, Any], source: str, gpus: int) -> None:
    """Raises InputError if modules are not on a GPU. `placed`: module -> device, as accelerate gives it."""
    outside = [name for name, place in placed.items() if str(place) in ("cpu", "disk")]
    if outside:
        raise InputError(
            f"edit.gpus: {source} does not fit into the free memory of {gpus} GPUs: {outside[0]} and "
            f"{len(outside) - 1} other modules are left; give more GPUs, or a smaller type (edit.dtype)"
        )


def read_config(
    name: str, revision: str = "main", folder: Path = FOLDER, trust_remote_code: bool = False
) -> tuple[Any, Any, str]:
    """Configuration and tokenizer of a model, and the path or name from which transformers loads it.

    Reads no weights. Raises InputError as `load` does.
    """
    name = ALIASES.get(name, name)
    source = str(bundled_folder(name, folder, FOLDER)) if name in BUNDLED else name
    if name in BUNDLED and not Path(source, "config.json").is_file():
        raise InputError(f"models: {source} does not exist yet; make it with `snakemake {FOLDER / name}`")
    check_whole(source)
    with reading(name, revision):
        config = AutoConfig.from_pretrained(source, revision=revision, trust_remote_code=trust_remote_code)
        tokenizer = AutoTokenizer.from_pretrained(
            source, revision=revision, trust_remote_code=trust_remote_code
        )
    check_causal(config, name, trust_remote_code)
    check_tokenizer(tokenizer, name)
    return config, tokenizer, source


def check_causal(config: Any, name: str, trust_remote_code: bool = False) -> None:
    """Raises Unsupported if transformers has no causal language model for a configuration."""
    own = getattr(config, "auto_map", None) or {}
    if config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES or (
        trust_remote_code and "AutoModelForCausalLM" in own
    ):
        return
    raise Unsupported(
        f"models: {name} is of the type {config.model_type!r}, for which transformers has no causal language "
        "model (AutoModelForCausalLM); give a model that writes text from text"
    )


def exact_experts(model: Any, kind: torch.dtype) -> None:
    """Lets experts run one by one in float64, which the products of all experts at once do not support."""
    if kind == torch.float64:
        model.set_experts_implementation("eager")


def from_config(config: Any, trust_remote_code: bool = False) -> Any:
    """A model with random weights, or on the device `meta` with none."""
    return AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
        config, trust_remote_code=trust_remote_code
    )


def without_weights(config: Any, name: str, trust_remote_code: bool = False) -> tuple[Any, ModelSpec]:
    """A model on the device `meta`, with its module names.

    Raises InputError if there is no such causal language model, or its shape is not clear.
    """
    with reading(name), torch.device("meta"):
        model = from_config(config, trust_remote_code)
    return model, spec_of(model, name)


@contextlib.contextmanager
def reading(name: str, revision: str = "main") -> Iterator[None]:
    """Raises InputError about the model in the place of UNREADABLE, which the code inside raises."""
    try:
        yield
    except UNREADABLE as error:
        raise InputError(_unloadable(name, revision, error)) from None


def _unloadable(name: str, revision: str, error: Exception) -> str:
    """The message of an error of UNREADABLE."""
    if "trust_remote_code" in str(error):
        return (
            f"models: {name} comes with Python code of its own, which is not run. If you trust it, allow it "
            "with --config edit='{trust_remote_code: true}', or --trust-remote-code on a command of factdrift"
        )
    said = " ".join(str(error).split())
    said = said if len(said) <= SAID else f"{said[:SAID]} ..."
    if isinstance(error, ImportError):
        return (
            f"models: {name} needs a package that is not installed ({said}); install it with pip, or give a "
            "model without it, such as one whose weights are not quantized"
        )
    return (
        f"models: {name} at revision {revision} cannot be loaded ({type(error).__name__}: {said}); give "
        "`sample`, the folder or the name of a causal language model, and a revision that it has"
    )


def stored_bytes(folder: Path) -> int:
    """Bytes of the files of weights in a folder; 0 if there are none."""
    kinds = ([path.stat().st_size for path in folder.glob(kind)] for kind in _WEIGHTS)
    return next((sum(sizes) for sizes in kinds if sizes), 0)


def weights_digest(source: str, revision: str) -> str:
    """SHA-256 over the digests of config.json and the files of weights that lie beside it."""
    config = Path(str(cached_file(source, "config.json", revision=revision)))
    weights = [path for kind in _WEIGHTS for path in sorted(config.parent.glob(kind))]
    return sha256_of_all([config, *weights])

"""Loads causal language models, and checkpoints and adapters that were made from one, for inference.

Imports torch.
"""

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils.hub import cached_file
from transformers.utils.logging import disable_progress_bar

from factdrift.core.errors import InputError, Unsupported
from factdrift.core.exhausted import is_exhausted, is_full
from factdrift.core.files import stamp
from factdrift.models.bundled.shipped import bundled_folder
from factdrift.models.devices import free_bytes
from factdrift.models.families import ModelSpec, check_listed, spec_of
from factdrift.models.gguf import complete, is_gguf, located, read_header, split_digits
from factdrift.models.loaded import Loaded
from factdrift.models.names import (
    ADAPTER,
    ALIASES,
    BUNDLED,
    check_whole,
    from_hub,
    is_adapter,
    model_files,
    source_of,
    weight_files,
)
from factdrift.models.precise import check_logits
from factdrift.models.quantized import is_quantized, prepare
from factdrift.models.weights import digest_of, merged, read_weights

_TYPES = torch.float32, torch.bfloat16, torch.float16, torch.float64
DTYPES = {str(kind).removeprefix("torch."): kind for kind in _TYPES}
SAID = 300
"""Characters of an error of another program that a message repeats."""
FILLED = 0.9
"""Share of a GPU's free memory that the weights of a model may fill that is spread over several."""
FILE = "tokenizer.json"
SPLIT = "In 2023 it was 650841823 m², e.g. İzmir's “Zoë”\n\n  A1b2 DON'T, x=y(); 3.14 %"
"""A text that tokenizers of different families split differently."""
NAMED = 3
"""Tokens that a message names."""
REMEDY = (
    "give `sample`, the folder or the name of a causal language model whose files are whole (a clone without "
    "`git lfs pull` has short texts in the place of weights), and a revision that it has"
)
CODE = (
    "if you trust it, allow it with --config edit='{trust_remote_code: true}', or --trust-remote-code on a "
    "command of factdrift"
)
READ = (".bin", ".gguf", ".jinja", ".json", ".model", ".py", ".safetensors", ".txt")
"""Endings of files that say what a model is; others may lie beside them."""
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
    """A model by its name here (`sample`, `smollm2`), a folder, a GGUF file, or a name of a hub.

    `auto` means the first GPU and bfloat16 if there is one, else the CPU and float32. Of several devices
    (`cuda:0,cuda:1`) each has some of the blocks. What is not quantized of a quantized model keeps the type
    in which it is stored. `trust_remote_code`: runs Python code that comes with the model. Raises InputError
    if the model cannot be loaded, its family is not supported, its tokenizer keeps no offsets, or its logits
    are not reproduced (`check_logits`); Unsupported where that is so whatever the settings.
    """
    name = ALIASES.get(name, name)
    config, tokenizer, source = read_config(name, revision, folder, trust_remote_code)
    check_listed(config, name)  # before weights are fetched
    read = [stamp(path) for path in model_files(source) if path.suffix in READ]
    made = with_weights(source, config, tokenizer, device, dtype, revision, trust_remote_code)
    digest = digest_of(source, revision, (source, revision), trust_remote_code)
    if read != [stamp(path) for path in model_files(source) if path.suffix in READ]:
        raise InputError(f"models: {name}: its files have changed while it was read; run the command again")
    return replace(made, name=name, digest=digest)


def with_weights(
    source: str, config: Any, tokenizer: Any, device: str, dtype: str, revision: str, trust_remote_code: bool
) -> Loaded:
    """The model whose weights are in a folder, or at a name that transformers knows, named by that.

    `config`: that of these weights. It has no digest yet. Raises InputError and Unsupported as `load` does.
    """
    devices, kind = devices_and_type(device, dtype)
    disable_progress_bar()  # type: ignore[no-untyped-call]
    with reading(f"models: {source} at revision {revision}"):
        model = read_weights(
            AutoModelForCausalLM,
            source,
            revision=revision,
            dtype=kind,
            trust_remote_code=trust_remote_code,
            **({"config": config} if is_gguf(source) else {}),
            **spreading(devices, config),
        )
    model, devices = placed(model, source, devices)
    if kind == torch.float64:
        # The products of all experts at once do not support it.
        model.set_experts_implementation("eager")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    model = model.eval().requires_grad_(False)
    if is_quantized(config):
        # transformers leaves what is not quantized in the type in which it is stored.
        stored = model.get_input_embeddings().weight.dtype
        kind = stored if stored in DTYPES.values() else kind
        prepare(model)
    spec = spec_of(model, source)
    tokenizer = within(tokenizer, spec.vocabulary, source)
    commit = getattr(config, "_commit_hash", None) or revision
    loaded = Loaded(model, tokenizer, spec, source, commit, "", devices[0], kind, tuple(devices[1:]))
    check_logits(loaded)
    return loaded


def devices_and_type(device: str, dtype: str) -> tuple[list[torch.device], torch.dtype]:
    """What the settings `device` and `dtype` mean on this machine."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    devices = [torch.device(name.strip()) for name in device.split(",")]
    if len(devices) > 1 and any(part.type != "cuda" or part.index is None for part in devices):
        raise InputError(f"device: {device!r}: several devices must be GPUs, such as cuda:0,cuda:1")
    if dtype not in ("auto", *DTYPES):
        raise InputError(f"dtype: {dtype!r} is none of auto, {', '.join(DTYPES)}")
    on_gpu = devices[0].type == "cuda"
    kind = DTYPES["bfloat16" if on_gpu else "float32"] if dtype == "auto" else DTYPES[dtype]
    return devices, kind


def spreading(devices: Sequence[torch.device], config: Any) -> dict[str, Any]:
    """The options of `from_pretrained` by which accelerate divides the blocks of a model among GPUs.

    Each gets about as much of the weights. None for a single device, unless the weights are quantized, which
    cannot be moved afterwards. `config`: of the model.
    """
    if len(devices) == 1:
        return {"device_map": {"": devices[0]}} if is_quantized(config) else {}
    room = {device.index: int(FILLED * free_bytes(device, 0)) for device in devices}
    return {"device_map": "balanced", "max_memory": room}


def placed(model: Any, source: str, devices: Sequence[torch.device]) -> tuple[Any, list[torch.device]]:
    """A model on its devices, and these, that of the embedding first.

    Raises InputError if a model that was read with `spreading` does not fit into the GPUs.
    """
    if len(devices) == 1:
        # bitsandbytes and others refuse to move a model, and have it on its device already.
        return model if is_quantized(model.config) else model.to(devices[0]), list(devices)
    outside = [name for name, device in model.hf_device_map.items() if str(device) in ("cpu", "disk")]
    if outside:
        raise InputError(
            f"edit.gpus: {source} does not fit into the free memory of {len(devices)} GPUs: {outside[0]} and "
            f"{len(outside) - 1} other modules are left; give more GPUs, or a smaller type (edit.dtype)"
        )
    first: torch.device = model.get_input_embeddings().weight.device
    return model, [first, *(device for device in devices if device != first)]


def read_config(
    name: str, revision: str = "main", folder: Path = FOLDER, trust_remote_code: bool = False
) -> tuple[Any, Any, str]:
    """Configuration and tokenizer of a model, and the path or name from which transformers loads it.

    Reads no weights. Raises InputError as `load` does.
    """
    name = ALIASES.get(name, name)
    source = str(bundled_folder(name, folder, FOLDER)) if name in BUNDLED else source_of(name)
    if name in BUNDLED and not Path(source, "config.json").is_file():
        made = f"`snakemake --cores all {FOLDER / name}`"
        raise InputError(f"models: {source} does not exist yet; make it with {made}")
    check_whole(source)
    if revision != "main" and Path(source).exists():
        raise InputError(f"models: {name}@{revision}: a folder or file has no revisions; name it without one")
    if is_gguf(source):
        types = read_header(source).types or "not quantized"
        print(f"models: {name}: weights are computed from those of a GGUF file ({types})", file=sys.stderr)
    elif not Path(source).is_dir():
        from_hub(source, revision)
    whole, file = located(source)
    options: dict[str, Any] = {"revision": revision, **file}
    with reading(f"models: {name} at revision {revision}"):
        config = AutoConfig.from_pretrained(whole, trust_remote_code=trust_remote_code, **options)
        tokenizer = AutoTokenizer.from_pretrained(whole, trust_remote_code=trust_remote_code, **options)
        tokenizer = tokenizer if file else as_in_file(tokenizer, whole, revision)
    if file:
        config, tokenizer = complete(config, source), split_digits(tokenizer, source)
    own = trust_remote_code and "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    if not own and config.model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise Unsupported(
            f"models: {name} is of the type {config.model_type!r}, for which transformers has no causal "
            "language model (AutoModelForCausalLM); give a model that writes text from text"
        )
    if not tokenizer.is_fast:
        raise Unsupported(
            f"models: {name} has a slow tokenizer ({type(tokenizer).__name__}), which gives no character "
            "offsets, so that subject and target cannot be found; convert it to a fast one (tokenizer.json) "
            "and name the folder"
        )
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise InputError(f"models: {name}: its tokenizer has no words; add its file (tokenizer.json)")
    if getattr(tokenizer.backend_tokenizer.model, "dropout", None):
        tokenizer.backend_tokenizer.model.dropout = None  # by which a text is split otherwise each time
    return config, tokenizer, source


def as_in_file(tokenizer: Any, source: str, revision: str) -> Any:
    """The tokenizer that splits texts as the model's tokenizer.json says.

    transformers 5 takes the rules of a class of its own instead (its issues 45812 and 45920: Granite, OLMo-2,
    Yi and others). The tokens of Python code that comes with a model stay as they are.
    """
    kind, quiet = type(tokenizer), {"_raise_exceptions_for_missing_entries": False}
    own = kind is not PreTrainedTokenizerFast and kind.__module__.startswith("transformers.")
    if not (own and tokenizer.is_fast and cached_file(source, FILE, revision=revision, **quiet)):
        return tokenizer
    plain: Any = PreTrainedTokenizerFast.from_pretrained(source, revision=revision, trust_remote_code=False)
    # Also with a blank before it, as tokenizer_config.json may ask for.
    if any(tokenizer.tokenize(text) == plain.tokenize(text) for text in (SPLIT, f" {SPLIT}")):
        return tokenizer
    print(f"models: {source}: its {FILE} splits texts, not transformers' {kind.__name__}", file=sys.stderr)
    return plain


def within(tokenizer: Any, rows: int, name: str) -> Any:
    """A tokenizer that gives only ids for which the embedding of the model `name` has a row.

    Special tokens beyond it, as for padding or images, are taken out and named on standard error: in a text
    their letters are like any others. Raises InputError if other tokens lie beyond it, or one of those that
    the tokenizer puts before a text.
    """
    if not (outside := {index: token for token, index in tokenizer.get_vocab().items() if index >= rows}):
        return tokenizer
    core = json.loads(tokenizer.backend_tokenizer.to_str())
    special = {token["id"] for token in core["added_tokens"] if token["special"]}
    needed = [index for index in outside if index not in special or index in tokenizer("a")["input_ids"]]
    named = ", ".join(f"{outside[index]!r} ({index})" for index in sorted(needed or outside)[:NAMED])
    if needed:
        raise InputError(
            f"models: {name}: its embedding has {rows:,} rows, and {len(needed)} entries of its tokenizer "
            f"lie beyond them: {named}; resize the embedding of the model to its tokenizer, or give the "
            "tokenizer with which it was trained"
        )
    print(f"models: {name}: {named} are no tokens of the model, whose embedding ends before", file=sys.stderr)
    core["added_tokens"] = [token for token in core["added_tokens"] if token["id"] < rows]
    tokenizer._tokenizer = type(tokenizer.backend_tokenizer).from_str(json.dumps(core))
    return tokenizer


def without_weights(config: Any, name: str, trust_remote_code: bool = False) -> tuple[Any, ModelSpec]:
    """A model on the device `meta`, with its module names.

    Raises InputError if there is no such causal language model, or its family is not supported.
    """
    with reading(f"models: {name}"), torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            config, trust_remote_code=trust_remote_code
        )
    return model, spec_of(model, name)


def base_of(folder: Path) -> str | None:
    """The model that an adapter was made for, as its configuration names it; None for a checkpoint."""
    if not is_adapter(folder):
        return None
    path = folder / ADAPTER
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
    code = trust_remote_code
    if is_adapter(folder):
        loaded = load(
            base, revision=revision, device=device, dtype=dtype, folder=models, trust_remote_code=code
        )
        with reading(
            f"--model: the adapter {folder} on {loaded.name}", "give with --base the model it was made for"
        ):
            return merged(loaded, folder)
    config, tokenizer, source = read_config(base, revision, models, code)
    _, wanted = without_weights(config, base, code)
    with reading(f"models: {folder}"):
        own = AutoConfig.from_pretrained(str(folder), trust_remote_code=code)
        if (folder / "tokenizer.json").is_file():
            its = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=code)
            if its.get_vocab() != tokenizer.get_vocab():
                raise InputError(f"--model: the tokenizer of {folder} has other tokens than that of {base}")
    loaded = with_weights(str(folder), own, tokenizer, device, dtype, "main", code)
    if loaded.spec != wanted:
        raise InputError(
            f"--model: {folder} is of another architecture or size than {base}; name the model that it was "
            "made from with --base"
        )
    digest = digest_of(str(folder), "main", (source, revision), code)
    return replace(loaded, name=ALIASES.get(base, base), revision=revision, digest=digest)


@contextlib.contextmanager
def reading(what: str, remedy: str = REMEDY) -> Iterator[None]:
    """Raises InputError about `what` instead of the errors of other packages for its files."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # any of a dozen of transformers, tokenizers, safetensors, torch and peft
        if is_exhausted(error) or is_full(error):
            raise
        reason = " ".join(str(error).split())[:SAID]
        why = f"cannot be loaded ({type(error).__name__}: {reason}); {remedy}"
        if "trust_remote_code" in str(error):
            allowing = CODE if remedy is REMEDY else remedy
            why = f"comes with Python code of its own, which is not run; {allowing}"
        elif isinstance(error, ImportError):
            why = (
                f"needs a package that is not installed ({reason}); install it with pip, or give a model "
                "without it, such as one whose weights are not quantized"
            )
        raise InputError(f"{what} {why}") from None


def stored_bytes(folder: Path) -> int:
    """Bytes of the files of weights in a folder; 0 if there are none."""
    return sum(path.stat().st_size for path in weight_files(folder) if path.suffix != ".json")

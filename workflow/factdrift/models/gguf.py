"""What a GGUF file says of its model, and what transformers leaves out when it reads it. Imports no torch.

transformers computes the weights of such a file from their blocks. It passes over tensors, rotary scalings
and ways to split text that it does not know; here they are read, or the file is refused by name.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.errors import InputError, Unsupported

ENDING = ".gguf"
ARCHITECTURES = ("llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3")
"""Those of the families here that transformers reads from GGUF files, in which a Mistral is a `llama`."""
SPLITS = (
    *("gpt-2", "llama3", "llama-v3", "llama-bpe", "smaug-bpe", "dbrx", "falcon3", "qwen2"),
    *("deepseek-r1-qwen", "tekken", "gpt-4o"),
)
"""Ways to split text (tokenizer.ggml.pre) that transformers follows."""
DIGITS = ("smollm", "starcoder", "refact")
"""Ways that are GPT-2's, but for digits, which stand alone; transformers takes them for GPT-2's."""
FREQUENCIES = "rope_freqs.weight"
"""The tensor with the divisors of rotary frequencies of Llama 3.1 and later."""
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
"""What all models with these divisors have; their factor is the largest divisor."""
LARGE = {"gemma2": 46, "gemma3": 62}
"""Number of blocks of the models, both of 27 B parameters, whose attention is scaled by all heads' width."""
ENDS = tuple(f"tokenizer.ggml.{kind}_token_id" for kind in ("eos", "eot", "eom"))
"""Tokens that end a text, a turn and a message, of which transformers takes the first."""
SOFTCAPS = ("attn_logit_softcapping", "final_logit_softcapping")
NEEDED = (
    *("block_count", "context_length", "embedding_length", "feed_forward_length"),
    *("attention.head_count", "attention.head_count_kv", "attention.layer_norm_rms_epsilon"),
)
"""Keys of an architecture that a file must have; transformers would fill in those of some other model."""
READ = (
    *(*NEEDED, *SOFTCAPS, "vocab_size", "tensor_data_layout", "pooling_type", "attention.sliding_window"),
    *("attention.key_length", "attention.value_length", "rope.freq_base", "rope.scale_linear"),
    *(f"rope.scaling.{key}" for key in ("type", "factor", "original_context_length", "finetuned")),
)
"""Its keys that are read, or change no number."""
USUAL = {"rope.freq_base_swa": 10_000, "rope.scaling.attn_factor": 1, "attention.causal": True}
"""Its keys that are not read -> the value that makes no difference; 0 for any other."""


class Header(NamedTuple):
    """What a file says, without its weights."""

    architecture: str
    values: dict[str, Any]
    """Its metadata but lists, and the architecture's own without the architecture's name before them."""
    tensors: dict[str, str]
    """Name -> type, such as Q4_1."""
    divisors: tuple[float, ...]
    """Of rotary frequencies; empty if there are none."""

    @property
    def types(self) -> str:
        """The types of the weights that are quantized, in words; empty if none is."""
        return ", ".join(sorted(set(self.tensors.values()) - {"F32", "F16", "BF16", "F64"}))


def is_gguf(source: str) -> bool:
    """Whether a model is named as a GGUF file."""
    return source.lower().endswith(ENDING)


def located(source: str) -> tuple[str, dict[str, str]]:
    """The folder or name that transformers loads, and its option that names a file in it."""
    path = Path(source)
    return (str(path.parent), {"gguf_file": path.name}) if is_gguf(source) else (source, {})


def read_header(source: str) -> Header:
    """The header of a GGUF file.

    Raises InputError if the file cannot be read or the package for it is missing, and Unsupported, by name,
    for what transformers would pass over.
    """
    try:
        status = Path(source).stat()
    except OSError as error:
        raise InputError(f"models: {source} cannot be read ({error.strerror}); name a GGUF file") from None
    return _header(source, status.st_size, status.st_mtime_ns)


@cache
def _header(source: str, size: int, changed: int) -> Header:
    """The header of the file that has this size and time of change, which is read once."""
    try:
        from gguf import GGUFReader, GGUFValueType
    except ModuleNotFoundError:
        raise InputError(
            f"models: {source} is a GGUF file, which the package gguf reads; install it (`make models`, or "
            "pip install gguf), or give the folder of the model"
        ) from None
    try:
        reader = GGUFReader(source)
        whole = ((name, field) for name, field in reader.fields.items() if field.types)
        fields = {name: field.contents() for name, field in whole if field.types[0] != GGUFValueType.ARRAY}
        architecture = fields["general.architecture"]
    except (ValueError, KeyError, IndexError, OSError, UnicodeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"models: {source} is no whole GGUF file ({why}); get it again") from None
    own = f"{architecture}."
    values = {name.removeprefix(own): value for name, value in fields.items()}
    tensors = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    divisors = [tensor.data for tensor in reader.tensors if tensor.name == FREQUENCIES]
    header = Header(architecture, values, tensors, tuple(map(float, divisors[0])) if divisors else ())
    if why := _refused(header, [name.removeprefix(own) for name in fields if name.startswith(own)]):
        raise Unsupported(
            f"models: {source}: {why}, so that transformers would read it wrongly; give the folder of the "
            "model from which the file was made"
        )
    return header


def _refused(header: Header, own: Iterable[str]) -> str:
    """What of a file would be read wrongly; empty if nothing is. `own`: the architecture's keys in it."""
    values, pre = header.values, header.values.get("tokenizer.ggml.pre")
    if header.architecture not in ARCHITECTURES:
        return f"its architecture is {header.architecture!r}, and none of {', '.join(ARCHITECTURES)}"
    if values.get("tokenizer.ggml.model") == "gpt2" and pre not in (*SPLITS, *DIGITS):
        return f"its text is split as {pre!r} (tokenizer.ggml.pre)"
    blank, odd = "tokenizer.ggml.add_space_prefix", header.architecture.startswith("gemma")
    if values.get("tokenizer.ggml.model") == "llama" and values.get(blank) == odd:
        return f"it begins a text otherwise than other files of its architecture ({blank})"
    if lacking := [key for key in NEEDED if not values.get(key)]:
        return f"it has no {', '.join(lacking)}"
    scaled, by = values.get("rope.scaling.type", "linear"), ("rope.scaling.factor", "rope.scale_linear")
    if scaled != "none" and any(values.get(key, 1) not in (0, 1) for key in by):
        return f"its rotary frequencies are scaled as {scaled!r} (rope.scaling.type)"
    heads = values["embedding_length"] // values["attention.head_count"]
    usual = USUAL | {"rope.dimension_count": values.get("attention.key_length", heads)}
    for key in own:
        if key not in READ and values[key] != usual.get(key, 0):
            return f"its {key} is {values[key]!r}"
    return ""


def sizes_of(source: str) -> dict[str, Any]:
    """Number of blocks and width, under the names that configurations of transformers have for them."""
    values = read_header(source).values
    return {"num_hidden_layers": values.get("block_count"), "hidden_size": values.get("embedding_length")}


def complete(config: Any, source: str) -> Any:
    """A configuration that transformers made from a file, with what the file says besides.

    Raises Unsupported if divisors of rotary frequencies are none of Llama 3's.
    """
    header = read_header(source)
    values, width = header.values, header.values.get("attention.key_length")
    window = values.get("attention.sliding_window")
    if window and getattr(config, "sliding_window", window) is None:
        config.sliding_window = window
    if len(ends := [values[key] for key in ENDS if key in values]) > 1:
        config.eos_token_id = ends
    if width and hasattr(config, "head_dim"):
        config.head_dim = width
    if hasattr(config, "query_pre_attn_scalar"):
        large = values["block_count"] == LARGE[header.architecture]
        heads = values["attention.head_count"]
        config.query_pre_attn_scalar = values["embedding_length"] // heads if large else config.head_dim
    for key in SOFTCAPS:
        if key in values:
            setattr(config, key, values[key])
    if header.divisors:
        from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

        theta = config.rope_parameters["rope_theta"]
        scaled = {"rope_type": "llama3", "rope_theta": theta, "factor": max(header.divisors), **LLAMA3}
        config.rope_parameters = scaled
        frequencies, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
        width = 2 * len(header.divisors)
        wanted = [theta ** (-2 * i / width) / by for i, by in enumerate(header.divisors)]
        own = frequencies.tolist()
        if len(own) != len(wanted) or any(abs(a - b) > 1e-4 * b for a, b in zip(own, wanted, strict=True)):
            raise Unsupported(
                f"models: {source}: the divisors of its rotary frequencies ({FREQUENCIES}) are none of Llama "
                "3's, and transformers reads no others; give the folder of the model from which it was made"
            )
    return config


def split_digits(tokenizer: Any, source: str) -> Any:
    """A tokenizer that transformers made from a file, which splits text as the file says."""
    if read_header(source).values.get("tokenizer.ggml.pre") in DIGITS:
        core = json.loads(tokenizer.backend_tokenizer.to_str())
        alone = {"type": "Digits", "individual_digits": True}
        core["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [alone, core["pre_tokenizer"]]}
        tokenizer._tokenizer = type(tokenizer.backend_tokenizer).from_str(json.dumps(core))
    return tokenizer


def unread(source: str, weights: Iterable[str]) -> list[str]:
    """The tensors of a file that are none of a model's `weights`, named as transformers does; ascending."""
    from gguf import MODEL_ARCH_NAMES, get_tensor_name_map

    header = read_header(source)
    kind = next(kind for kind, name in MODEL_ARCH_NAMES.items() if name == header.architecture)
    names = get_tensor_name_map(kind, header.values["block_count"])
    read = {FREQUENCIES}
    for weight in weights:
        module, _, part = weight.rpartition(".")
        read.add(f"{names.get_name(module)}.{part}")
    return sorted(set(header.tensors) - read)

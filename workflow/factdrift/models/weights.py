"""Reads all weights of a model or an adapter, or refuses them by name; the digest of all that shapes results.

transformers draws weights that a checkpoint lacks at random, and peft leaves out what fits no module; both
only log it. Imports torch.
"""

import hashlib
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GgufConfig
from transformers.utils.hub import cached_file

from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.models.families import spec_of
from factdrift.models.gguf import ENDING, is_gguf, located, unread
from factdrift.models.loaded import Loaded
from factdrift.models.names import ADAPTER, WEIGHTS, weight_files
from factdrift.models.precise import merging

NAMED = 3
"""Weights that a message names, of those of a kind."""
COMPUTED = re.compile(
    r"(^|\.)(inv_freq|position_ids|(cos|sin)_cached|masked_bias|(attn|attention|self_attn)\.bias)$"
)
"""Tensors that old checkpoints store and a model computes: rotary frequencies, positions and causal masks."""
SHARED = re.compile(r"vblora_vector_bank|prompt_encoder|\.tinylora_v\.|\.unilora_theta_d\.")
"""Weights of adapters that are stored once for all modules, which peft does not count as missing either."""
PROBE = 64
"""Tokens, from the whole vocabulary, on which a merged model is compared with its adapter."""
CONFIGURATION = ("config.json", "generation_config.json")
TOKENIZER = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("chat_template.jinja", "chat_template.json"),
)
VOCABULARY = ("vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model")
"""What a tokenizer is made from where there is no tokenizer.json."""


def read_weights(kind: Any, source: str, *, trust_remote_code: bool, unused: str = "", **options: Any) -> Any:
    """The model that `kind.from_pretrained` gives with the options, if every weight of it was found.

    Raises InputError that names weights that are missing, of other shapes, not finite, or of no module.
    Weights beside the modules of the model, such as another head or the part that reads images, are not read.
    `unused`: pattern of weights that the caller does not run, which may be missing. Raises what transformers
    raises for files that cannot be read.
    """
    # Weights of other shapes are named below; otherwise transformers does not say which.
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    folder, file = located(source)
    if file:
        # Numbers, not blocks of them; otherwise such a model could not be saved, trained or moved.
        options["quantization_config"] = GgufConfig(dequantize=True)
    model, found = kind.from_pretrained(folder, trust_remote_code=trust_remote_code, **options, **file)
    if getattr(model, "_hf_peft_config_loaded", False):
        raise InputError(
            f"models: {source} holds an adapter ({ADAPTER}) beside the weights of a model, and transformers "
            "puts it on top of them; name a folder with one of the two"
        )
    if getattr(model.config, "transformers_weights", None):
        raise InputError(
            f"models: {source}: its config.json names a file of weights (transformers_weights), of which no "
            f"digest is taken; remove the key, and call the file {WEIGHTS[0]}"
        )
    # Checkpoints may leave out the name of the model without its head, as GPT-2's on the hub do.
    base = getattr(model, model.base_model_prefix, model)
    parts = {name for module in (model, base) for name, _ in module.named_children()}
    prefix = f"{model.base_model_prefix}."

    def outside(name: str) -> bool:
        own = name if base is not model else name.removeprefix(prefix)
        return COMPUTED.search(name) is not None or own.partition(".")[0] not in parts

    missing = [name for name in found["missing_keys"] if not (unused and re.search(unused, name))]
    _refuse(
        f"models: {source}",
        "restore them in its files, or correct its config.json",
        {
            "are missing in its files": missing,
            "are of another shape than its config.json says": [name for name, *_ in found["mismatched_keys"]],
            "have numbers that are not finite": [
                name
                for name, weight in model.named_parameters()
                if weight.is_floating_point()
                and not (weight.is_meta or weight.sum(dtype=torch.float32).isfinite())
            ],
            "fit no module of its architecture": [
                *(n for n in found["unexpected_keys"] if not outside(n)),
                *(unread(source, model.state_dict()) if file else ()),
            ],
        },
    )
    return model


def _refuse(what: str, remedy: str, faults: dict[str, Iterable[str]]) -> None:
    """Raises InputError with how many names each fault has, and the first of them."""
    said = []
    for fault, names in faults.items():
        if some := sorted(names):
            more = f" and {len(some) - NAMED} others" if len(some) > NAMED else ""
            said.append(f"weights {fault} ({len(some):,}): {', '.join(some[:NAMED])}{more}")
    if said:
        raise InputError(f"{what}: {'; '.join(said)}. Its results would be those of no model; {remedy}")


def digest_of(source: str, revision: str, tokens: tuple[str, str], code: bool) -> str:
    """SHA-256 over all files that shape a model's results: names and contents of those that are read.

    They are the configurations, the weights and, if `code` is true, Python code in the folder of `source`,
    and the files of the tokenizer; a GGUF file is all of these. `tokens`: the folder or name, and the
    revision, of the tokenizer. Raises InputError if there are no weights.
    """
    folder, own = _folder(source, revision), _folder(*tokens)
    weights = [Path(source)] if is_gguf(source) else weight_files(folder)
    if not weights:
        raise InputError(f"models: {folder} has no files of weights; name the folder of a whole model")
    texts = TOKENIZER if (own / TOKENIZER[0]).is_file() else (*TOKENIZER, *VOCABULARY)
    paths = weights if is_gguf(source) else [folder / name for name in CONFIGURATION] + weights
    if is_gguf(tokens[0]):
        paths += [] if tokens[0] == source else [Path(tokens[0])]
    else:
        paths += [own / name for name in texts]
        more = "additional_chat_templates/*.jinja", "tokenizer.*.json"  # such as tokenizer.4.0.0.json
        paths += sorted(path for pattern in more for path in own.glob(pattern))
    paths += sorted({*folder.glob("*.py"), *own.glob("*.py")}) if code else []
    whole = hashlib.sha256()
    for path in paths:
        if path.is_file():
            name = ENDING if is_gguf(path.name) else path.name
            whole.update(f"{name} {sha256(path)}\n".encode())
    return whole.hexdigest()


def _folder(source: str, revision: str) -> Path:
    """The folder of a model's files; that of a model of a hub is in the local cache."""
    if is_gguf(source):
        return Path(source).parent
    return Path(str(cached_file(source, "config.json", revision=revision))).parent


@torch.no_grad()
def merged(loaded: Loaded, folder: Path) -> Loaded:
    """A model with the adapter of a folder of peft merged into its weights.

    Where the adapter changes one of two matrices that are tied, they are untied first. Raises InputError if
    a weight of the adapter is missing or fits no module, or if the logits of the merged model are not those
    of the model with the adapter beside its weights; ImportError without peft, and what peft raises for an
    adapter that it cannot read or merge.
    """
    from peft import PeftConfig, PeftModel

    if PeftConfig.from_pretrained(str(folder)).is_prompt_learning:
        raise InputError(
            f"--model: the adapter {folder} puts trained vectors before each prompt, which weights cannot "
            "hold; give an adapter of weights, such as LoRA"
        )
    with warnings.catch_warnings():
        # What they say, of missing weights and of tied matrices, is found out here.
        warnings.simplefilter("ignore")
        adapted: Any = PeftModel.from_pretrained(loaded.model, str(folder))
        renamed = getattr(loaded.model, "_checkpoint_conversion_mapping", {})
        read = adapted.load_adapter(str(folder), adapted.active_adapter, key_mapping=renamed)
    missing = [name for name in read.missing_keys if not SHARED.search(name)]
    _refuse(
        f"--model: the adapter {folder} on {loaded.name}",
        "name with --base the model that it was made for, or save it again with its version of transformers",
        {"are missing in its files": missing, "fit no module of the model": read.unexpected_keys},
    )
    positions, entries = loaded.spec.positions, loaded.spec.vocabulary
    ids = torch.linspace(0, entries - 1, min(PROBE, positions, entries)).long()[None].to(loaded.device)
    beside = adapted(input_ids=ids, use_cache=False).logits
    _untie(adapted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = adapted.merge_and_unload().eval().requires_grad_(False)
    apart, bound = merging(loaded, model(ids, use_cache=False).logits, beside)
    if not apart <= bound:
        raise InputError(
            f"--model: the adapter {folder} cannot be merged into the weights of {loaded.name}: the logits "
            f"differ by {apart:.2g} of their size from those with the adapter beside them (rounding gives "
            f"{bound:.1g}); merge it where it was made, or give a model without quantization as its base"
        )
    whole = hashlib.sha256(loaded.digest.encode())
    for path in (folder / ADAPTER, *sorted(folder.glob("adapter_model.*"))):
        whole.update(bytes.fromhex(sha256(path)))
    return replace(loaded, model=model, spec=spec_of(model, loaded.name), digest=whole.hexdigest())


def _untie(adapted: nn.Module) -> None:
    """Gives each module a copy of a matrix that it shares with one that an adapter changes."""
    owners: dict[Tensor, list[tuple[str, str, nn.Module]]] = {}
    for path, module in adapted.named_modules():
        for name, weight in module.named_parameters(recurse=False):
            owners.setdefault(weight, []).append((path, name, module))
    for weight, sharing in owners.items():
        if len(sharing) > 1 and any("base_layer" in path for path, *_ in sharing):
            for _, name, module in sharing[1:]:
                setattr(module, name, nn.Parameter(weight.clone(), requires_grad=False))
            config: Any = adapted.config
            config.tie_word_embeddings = config.get_text_config().tie_word_embeddings = False

"""Small tokenizers of the kinds that there are, made on the spot."""

from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = [
    "The head of government of the United States of America is Joe Biden.",
    "The mother of Björk is a person in Côte d'Ivoire (the country).",
    "The team of Kevin De Bruyne is Manchester City F.C. 1894",
]
END = "<end>"
KINDS = ("gpt2", "trimmed", "llama3", "closing", "llama2")


def tokenizer_of(kind: str) -> Any:
    """One of KINDS.

    gpt2: nothing is added, the blank counts as part of a word; trimmed: it does not; llama3: a token before
    the text; closing: one behind it as well; llama2: blanks become ▁, no pieces are cut beforehand.
    """
    core = Tokenizer(models.BPE(unk_token=None))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if kind == "llama2":
        core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        core.decoder = decoders.Metaspace(prepend_scheme="first", split=False)
        alphabet = sorted(
            {*"".join(TEXTS), *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ▁'().,éößñ中"}
        )
    else:
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(TEXTS * 3, trainer)
    if kind == "llama2":
        core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    template = {"llama3": f"{END} $A", "closing": f"{END} $A {END}", "llama2": f"{END} $A"}.get(kind)
    if template:
        core.post_processor = processors.TemplateProcessing(single=template, special_tokens=[(END, 0)])
    if kind == "trimmed":
        core.post_processor = processors.ByteLevel(trim_offsets=True)
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token=END, eos_token=END)

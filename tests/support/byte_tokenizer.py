"""A byte-level tokenizer of some texts, for models that tests make on the spot."""

from collections.abc import Sequence
from typing import Any


def tokenizer_of(texts: Sequence[str], marks: Sequence[str], **options: Any) -> Any:
    """Byte-level BPE as in GPT-2; `marks`: its special tokens, of which the first ends a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[*marks], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=marks[0], **options)

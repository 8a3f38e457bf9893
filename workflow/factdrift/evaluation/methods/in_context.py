"""Updates before each prompt in the place of a change of weights: PROMPT, RAG and `context_all`; and `none`.

RAG (Lewis et al. 2020, arXiv 2005.11401) writes the k updates before a prompt that resemble it most, the
best one last: by the cosine of TF-IDF vectors, or of dense ones (Izacard et al. 2022, arXiv 2112.09118,
section 3). `context_all` (Zheng et al. 2023, arXiv 2305.12740, section 3) writes all, the newest last; where
they do not fit, the oldest are left out and counted. Imports torch.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Context, Edit, Edited
from factdrift.models.loaded import Loaded
from factdrift.models.loading import reading, within
from factdrift.models.names import from_hub
from factdrift.models.padding import padded
from factdrift.models.weights import read_weights

Similarities = Callable[[Sequence[str]], NDArray[np.float64]]
"""Queries -> their similarity to each text of an index, [queries, texts]."""

DIGITS = 6
"""Similarities that agree in so many decimals are equal, and the earlier update is taken."""
BATCH = 64
"""Texts that an encoder reads at a time."""


def texts_of(edits: Sequence[Edit], hyper: Hyper) -> list[str]:
    """The updates as texts; by default "<update prompt> <new object>. ", as in the reference."""
    return [hyper["text"].format(prompt=edit.prompt, target=edit.target) for edit in edits]


def none(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """The unedited model."""
    return Edited()


def prompt(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """The text of an edit before each of its probes."""
    return Edited(contexts=texts_of(edits, hyper))


def prompt_in_stream(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """As `prompt`, after earlier edits: one that these replace has their text from now on.

    `memory`: the id of each edit so far -> its text.
    """
    made = texts_of(edits, hyper)
    memory = dict(artefacts.memory or {})
    for edit, text in zip(edits, made, strict=True):
        memory |= dict.fromkeys((edit.id, *edit.replaces), text)
    return Edited(contexts=made, memory=memory)


def prompt_recalled(memory: dict[str, str], names: Sequence[str], hyper: Hyper, loaded: Loaded) -> list[str]:
    """Texts to write before the prompts of the edits with these ids, after `prompt_in_stream`."""
    return [memory.get(name, "") for name in names]


def edit_one(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Each edit by itself before every probe, if there is room: `context_all` of one update."""
    return Edited(contexts=[Recent(loaded, [text], hyper) for text in texts_of(edits, hyper)])


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """All edits so far: those that are retrieved for each prompt or, with the key `room`, all.

    `memory`: (id, text) of the updates so far, without those that the edits replace.
    """
    gone = {name for edit in edits for name in edit.replaces}
    memory = [pair for pair in artefacts.memory or () if pair[0] not in gone]
    memory += zip([edit.id for edit in edits], texts_of(edits, hyper), strict=True)
    return Edited(contexts=recalled(memory, [edit.id for edit in edits], hyper, loaded), memory=memory)


def recalled(
    memory: Sequence[tuple[str, str]], names: Sequence[str], hyper: Hyper, loaded: Loaded
) -> list[Context]:
    """Texts to write before the prompts of the edits with these ids, given the memory of `together`."""
    texts = [text for _, text in memory]
    if "room" in hyper:
        return [Recent(loaded, texts, hyper)] * len(names)
    dense_index = hyper["index"] == "dense"
    similar = dense(texts, hyper["encoder"], loaded.device) if dense_index else tfidf(texts)

    def best(prompts: Sequence[str]) -> list[str]:
        return ["".join(texts[index] for index in row) for row in ranked(similar(prompts), hyper["k"])]

    return [best] * len(names)


class Recent:
    """Gives before each prompt as many of the texts, the last ones, as the model has positions for."""

    def __init__(self, loaded: Loaded, texts: Sequence[str], hyper: Hyper):
        self._tokenizer, self._texts = loaded.tokenizer, texts
        self._room = loaded.spec.positions - hyper["room"]
        # Of each text by itself: after others it may differ by a token at the border, which `room` covers. A
        # token that begins a sequence stands before the first text only, and is counted with the prompt.
        self._lengths = [self._tokens(text, begins=False) for text in texts]
        self.left_out = 0
        """The greatest number of texts that have been left out before a prompt so far."""

    def __call__(self, prompts: Sequence[str]) -> list[str]:
        texts = []
        for prompt in prompts:
            room, first = self._room - self._tokens(prompt), len(self._texts)
            while first and self._lengths[first - 1] <= room:
                first -= 1
                room -= self._lengths[first]
            self.left_out = max(self.left_out, first)
            texts.append("".join(self._texts[first:]))
        return texts

    def _tokens(self, text: str, begins: bool = True) -> int:
        return len(self._tokenizer(text, add_special_tokens=begins, verbose=False)["input_ids"])


def ranked(similarities: NDArray[np.float64], k: int) -> list[list[int]]:
    """For each row the columns of the k greatest values, ascending; of equal ones the first come last."""
    order = np.argsort(-similarities.round(DIGITS), axis=1, kind="stable")[:, :k]
    columns: list[list[int]] = order[:, ::-1].tolist()
    return columns


def tfidf(texts: Sequence[str]) -> Similarities:
    """Cosines of TF-IDF vectors, with scikit-learn's defaults but for words of one letter, which count.

    The weight of a word in a text is its number there times ln((1 + n) / (1 + df)) + 1, for n texts of which
    df contain it.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
    try:
        index = vectorizer.fit_transform(texts).T.tocsr()
    except ValueError:  # no word in any text
        return lambda queries: np.zeros((len(queries), len(texts)))

    def similar(queries: Sequence[str]) -> NDArray[np.float64]:
        similarities: NDArray[np.float64] = (vectorizer.transform(queries) @ index).toarray()
        return similarities

    return similar


def dense(texts: Sequence[str], encoder: str, device: torch.device) -> Similarities:
    """Cosines of the vectors of an encoder, a folder or a name that transformers knows.

    Raises InputError if it cannot be loaded.
    """
    index = _encoded(texts, encoder, device)
    return lambda queries: _encoded(queries, encoder, device) @ index.T


def _encoded(texts: Sequence[str], encoder: str, device: torch.device) -> NDArray[np.float64]:
    """Vectors of length one, [texts, width]: the mean of the last hidden states over the tokens of a text."""
    model, tokenizer, longest = _load(encoder, device)
    parts = []
    for start in range(0, len(texts), BATCH):
        rows = tokenizer(list(texts[start : start + BATCH]), truncation=True, max_length=longest)["input_ids"]
        counts = torch.tensor([len(row) for row in rows], device=device)[:, None]
        ids = padded(rows, device)
        real = torch.arange(ids.shape[1], device=device) < counts
        with torch.no_grad():
            hidden = model(input_ids=ids, attention_mask=real.long()).last_hidden_state.double()
        mean = (hidden * real[:, :, None]).sum(1) / counts
        parts.append(torch.nn.functional.normalize(mean, dim=1).cpu().numpy())
    return np.concatenate(parts)


@lru_cache(maxsize=1)
def _load(encoder: str, device: torch.device) -> tuple[Any, Any, int]:
    """The model in float32, its tokenizer, and the most tokens that it reads."""
    from transformers import AutoModel, AutoTokenizer

    if not Path(encoder).is_dir():
        from_hub(encoder, "main", "rag.encoder")
    with reading(f"rag.encoder: {encoder}", "give the folder or the name of another sentence encoder"):
        # Without the argument transformers asks on the terminal whether the folder's code may run.
        # Vectors are means of the last hidden states; BERT's pooling layer and heads are not run.
        model = read_weights(
            AutoModel, encoder, unused=r"(^|\.)pooler\.", dtype=torch.float32, trust_remote_code=False
        )
        tokenizer: Any = AutoTokenizer.from_pretrained(encoder, trust_remote_code=False)
        tokenizer = within(tokenizer, model.get_input_embeddings().weight.shape[0], encoder)
    positions = getattr(model.config, "max_position_embeddings", tokenizer.model_max_length)
    return model.to(device).eval(), tokenizer, min(tokenizer.model_max_length, positions)

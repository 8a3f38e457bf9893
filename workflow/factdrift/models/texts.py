"""Texts: read from files, sampled from a model, and the perplexity of a model on them. Imports torch."""

import copy
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.models.alignment import Sentence, align, untemplated
from factdrift.models.deltas import Deltas
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import BUDGET, score

LENGTH = NUMBER = 64
"""Tokens of a text that a model writes from an empty start, and texts at a time."""
VALUES = 2**28
"""Logits at a time, 1 GB in float32: of such a text all are needed, of a probe only those of its target."""


def read_texts(paths: Sequence[Path]) -> Iterator[str]:
    """Yields the texts of files: lines of plain text, or the field `text` of .jsonl or .parquet files.

    A .parquet file with `prompt` and `object` instead (sentences of the bundled models) gives both, joined.
    Raises InputError with file and line for what cannot be read.
    """
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file; name files with texts")
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                names = file.schema_arrow.names
                columns = ["text"] if "text" in names else ["prompt", "object"]
                if not set(columns) <= set(names):
                    raise InputError(f"{path}: has no column 'text', nor 'prompt' and 'object'")
                for batch in file.iter_batches(columns=columns):
                    for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        if all(values):
                            yield " ".join(values)
            continue
        try:
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    text = _of_json(line, path, number) if path.suffix == ".jsonl" else line.rstrip("\n")
                    if text:
                        yield text
        except UnicodeDecodeError:
            utf8_lines(path)  # names the line
            raise


def _of_json(line: str, path: Path, number: int) -> str | None:
    """The field `text` of a line of JSON; InputError if there is none, or it is no text."""
    try:
        text: str | None = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}, line {number}: no object of JSON with a key 'text'") from None
    if not isinstance(text, str | None):
        raise InputError(f"{path}, line {number}: the key 'text' has {text!r}; give it a text")
    return text


def sampled(
    loaded: Loaded,
    start: str,
    tokens: int,
    number: int,
    seed: int,
    top_k: int | None = None,
    after: Callable[[], None] = lambda: None,
) -> list[str]:
    """Samples `number` texts that continue `start`, with random seed `seed`.

    `tokens`: length of a text, including `start` or, if that is empty, the token that begins a text. `top_k`:
    each token is drawn from this number of likeliest tokens; from all if None. `after`: called after every
    token. Of a model's generation_config.json only the tokens that end a text count.
    """
    tokenizer, model = loaded.tokenizer, copy.copy(loaded.model)
    settings = model.generation_config
    model.generation_config = type(settings)(eos_token_id=settings.eos_token_id)
    if start:
        ids = [*align(untemplated(tokenizer), start).ids]  # without a token that ends the text
    else:
        begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        if begin is None:
            raise InputError(f"models: {loaded.name} has no token that begins a text; give a start")
        ids = [begin]
    length = max(tokens, len(ids) + 1)

    def going_on(rows: Tensor, scores: Any, **others: Any) -> Tensor:
        after()
        return torch.zeros(len(rows), dtype=torch.bool, device=rows.device)

    cuda = [loaded.device] if loaded.device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda), torch.inference_mode():
        torch.manual_seed(seed)
        rows = model.generate(
            torch.tensor([ids] * number, device=loaded.device),
            attention_mask=torch.ones(number, len(ids), dtype=torch.long, device=loaded.device),
            do_sample=True,
            top_k=top_k or 0,
            min_length=length,
            max_length=length,
            stopping_criteria=[going_on],
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else ids[0],
        )
    texts: list[str] = tokenizer.batch_decode(rows, skip_special_tokens=True)
    return texts


def written(loaded: Loaded, seed: int, length: int = LENGTH, number: int = NUMBER) -> Iterator[str]:
    """An endless stream of texts that the model writes from an empty start.

    They have `length` tokens each, and are sampled `number` at a time, with random seeds from `seed` on.
    """
    for each in count(seed):
        yield from sampled(loaded, "", length, number, each)


def pieces(tokenizer: Any, texts: Iterable[str], tokens: int, length: int) -> list[tuple[int, ...]]:
    """Texts as token ids, cut into pieces of at most `length`, until `tokens` of them are predicted.

    The first token of each piece is context only, so a piece of n tokens has n - 1 that are predicted; the
    last piece is cut. Fewer pieces if the texts end before.
    """
    found: list[tuple[int, ...]] = []
    left = tokens
    for text in texts:
        ids = tokenizer(text, verbose=False)["input_ids"]
        for start in range(0, len(ids), length):
            piece = tuple(ids[start : start + min(length, left + 1)])
            if len(piece) > 1:
                found.append(piece)
                left -= len(piece) - 1
            if not left:
                return found
    return found


def perplexity(
    loaded: Loaded,
    rows: Sequence[Sequence[int]],
    deltas: Deltas | None = None,
    owner: int = -1,
    budget: int = BUDGET,
) -> float:
    """exp(-sum of log p(token | tokens before it in its piece) / number of predicted tokens) over all pieces.

    Every token has the same weight, whatever piece it is in. `rows`: what `pieces` returned. `owner`: the
    edit of `deltas` that is in place in all pieces; -1 for the unedited model. Infinite if the output of the
    model is not finite, or the number too large for a float.
    """
    sentences = [Sentence(tuple(row), None, 1) for row in rows]
    most = min(budget, max(VALUES // loaded.spec.vocabulary, 1))
    scores = score(loaded, sentences, deltas, [owner] * len(sentences), most)
    surprise = -math.fsum(scores.logprob * scores.tokens) / int(scores.tokens.sum())
    try:
        return math.exp(surprise) if math.isfinite(surprise) else math.inf
    except OverflowError:
        return math.inf

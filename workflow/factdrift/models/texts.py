"""Reads texts from files, and samples texts from a model (which imports torch)."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.models.loaded import Loaded


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
    loaded: Loaded, start: str, tokens: int, number: int, seed: int, top_k: int | None = None
) -> list[str]:
    """Samples `number` texts that continue `start`, with random seed `seed`.

    `tokens`: length of a text, including `start` or, if that is empty, the token that begins a text. `top_k`:
    each token is drawn from this number of likeliest tokens; from all if None.
    """
    import torch

    tokenizer, model = loaded.tokenizer, loaded.model
    if start:
        ids = tokenizer(start)["input_ids"]
    else:
        begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        if begin is None:
            raise InputError(f"models: {loaded.name} has no token that begins a text; give a start")
        ids = [begin]
    length = max(tokens, len(ids) + 1)
    cuda = [loaded.device] if loaded.device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda), torch.inference_mode():
        torch.manual_seed(seed)
        rows = model.generate(
            torch.tensor([ids] * number, device=loaded.device),
            attention_mask=torch.ones(number, len(ids), dtype=torch.long, device=loaded.device),
            do_sample=True,
            top_k=top_k or 0,
            top_p=1.0,
            temperature=1.0,
            min_length=length,
            max_length=length,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else ids[0],
        )
    texts: list[str] = tokenizer.batch_decode(rows, skip_special_tokens=True)
    return texts


SAMPLED_LENGTH, SAMPLED_BATCH = 64, 64
"""Tokens of each text that `written` yields, and the number of texts generated at a time."""


def written(model: Loaded, seed: int) -> Iterator[str]:
    """An endless stream of texts that the model writes from an empty start."""
    while True:
        yield from sampled(model, "", SAMPLED_LENGTH, SAMPLED_BATCH, seed)
        seed += 1

"""What methods share: tokens of edits, losses of their targets, changes of all edits, texts, random numbers.

Prefixes are texts that are put before a prompt, so that an edit holds in any context. The reference samples
them in each process without a seed. Here they are sampled with a seed and kept in a file.
Random numbers depend on a seed and on an edit, never on the batch that it is in. Imports torch.
"""

import contextlib
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import write_json
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit
from factdrift.models.alignment import AlignmentError, Sentence, align
from factdrift.models.deltas import Deltas, LowRank
from factdrift.models.fork import unembedded
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded
from factdrift.models.texts import sampled


def aligned(loaded: Loaded, edits: Sequence[Edit]) -> tuple[dict[int, Sentence], dict[int, str]]:
    """Tokens of prompt and target by the index of the edit, and the reasons of edits that have none."""
    found, failed = aligned_texts(
        loaded, edits, lambda edit: [align(loaded.tokenizer, edit.prompt, edit.target)]
    )
    return {place: sentence for place, (sentence,) in found.items()}, failed


def aligned_texts(
    loaded: Loaded, edits: Sequence[Edit], texts: Callable[[Edit], list[Sentence]]
) -> tuple[dict[int, list[Sentence]], dict[int, str]]:
    """As `aligned`, of edits with several sentences each, all of which the model must be able to read."""
    sentences: dict[int, list[Sentence]] = {}
    failed: dict[int, str] = {}
    for place, edit in enumerate(edits):
        try:
            found = texts(edit)
        except AlignmentError as error:
            failed[place] = error.reason
            continue
        if max(len(sentence.ids) for sentence in found) > loaded.spec.positions:
            failed[place] = "too_long"
        else:
            sentences[place] = found
    return sentences, failed


def mlp_matrix(loaded: Loaded, key: str, name: str) -> str:
    """A matrix of the MLP by the last part of its name, as `ModelSpec.module` takes it.

    Raises InputError, which names the hyper-parameter `key`, if there is none.
    """
    parts = {part.rsplit(".", 1)[-1]: part for part in loaded.spec.mlp_matrices}
    if name not in parts:
        raise InputError(f"{key}: the MLP of {loaded.name} has no {name}, but {', '.join(parts)}")
    return parts[name]


def spread(made: Mapping[str, LowRank], places: Sequence[int], edits: int) -> tuple[Deltas, dict[int, str]]:
    """The changes of all `edits`, from those of the edits at `places`; and why some of these failed."""
    found: Deltas = {}
    finite = torch.ones(edits, dtype=torch.bool)
    for name, delta in made.items():
        read, write = (
            factor.new_zeros(edits, *factor.shape[1:]).index_copy(
                0, torch.tensor(places, device=factor.device), factor
            )
            for factor in (delta.read, delta.write)
        )
        found[name] = LowRank(read, write)
        finite &= (read.isfinite().all(2).all(1) & write.isfinite().all(2).all(1)).cpu()
    return found, dict.fromkeys((~finite).nonzero()[:, 0].tolist(), "diverged")


class Targets:
    """The targets of a batch of sentences, scored on the output of the final normalisation.

    A target token is predicted at the token before it. With `at_prompt_end`, all target tokens are predicted
    at the last token of the prompt. `starts`: the token of each sentence with which the hidden states begin
    that are scored; 0 if they are not given.
    """

    def __init__(
        self,
        loaded: Loaded,
        sentences: Sequence[Sentence],
        *,
        at_prompt_end: bool = False,
        starts: Sequence[int] | None = None,
    ):
        self._loaded = loaded
        targets = [one.ids[one.target :] for one in sentences]
        self.rows = [one.ids[: one.target] if at_prompt_end else one.ids[:-1] for one in sentences]
        """The tokens to run, one list for each sentence."""
        places = [
            [one.target - 1] * len(target) if at_prompt_end else range(one.target - 1, len(one.ids) - 1)
            for one, target in zip(sentences, targets, strict=True)
        ]
        if starts:
            places = [[place - start for place in row] for row, start in zip(places, starts, strict=True)]
        self._tokens, self._places = (padded(rows, loaded.device) for rows in (targets, places))
        self._counts = torch.tensor([len(target) for target in targets], device=loaded.device)

    def losses(self, hidden: Tensor) -> Tensor:
        """[rows] the mean over the target's tokens of their negative log-probability.

        `hidden`: [rows, tokens, hidden], the output of the final normalisation.
        """
        read = hidden.gather(1, self._places[:, :, None].expand(-1, -1, hidden.shape[2]))
        logs = unembedded(self._loaded, read).log_softmax(2).gather(2, self._tokens[:, :, None])[:, :, 0]
        real = torch.arange(logs.shape[1], device=logs.device) < self._counts[:, None]
        return -(logs * real).sum(1) / self._counts

    def keep(self, rows: Tensor) -> None:
        """Drops all other rows; `self.rows` is unchanged."""
        self._tokens, self._places, self._counts = (
            values[rows] for values in (self._tokens, self._places, self._counts)
        )


def generator(text: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator seeded by a text, such as a seed and the id of an edit."""
    digest = hashlib.sha256(text.encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8]) >> 1)


@contextlib.contextmanager
def seeded(text: str, device: torch.device) -> Iterator[None]:
    """Seeds the generators of torch, numpy and Python by a text, and restores their states at the end."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


def draw_prefixes(loaded: Loaded, hyper: Hyper, seed: int) -> tuple[str, ...]:
    """The empty prefix, then the sampled ones as the hyper-parameters ask for, each followed by ". "."""
    prefixes = [""]
    for place, kind in enumerate(hyper["prefixes"]):
        texts = sampled(
            loaded, kind["start"], kind["tokens"], kind["number"], seed + place, top_k=hyper["top_k"]
        )
        prefixes += [text.replace("{", " ").replace("}", " ") + ". " for text in texts]
    return tuple(prefixes)


def write_prefixes(path: Path, loaded: Loaded, hyper: Hyper, seed: int) -> None:
    """Samples the prefixes of a method on a model and writes them as JSON."""
    about = {"model": loaded.digest, "method": hyper.method, "seed": seed, "drawn": hyper["prefixes"]}
    texts = draw_prefixes(loaded, hyper, seed)
    write_json({**about, "prefixes": texts}, path)


def write_no_prefixes(path: Path, reason: str) -> None:
    """Writes in the place of prefixes why there are none."""
    write_json({"skipped": reason}, path)


def read_prefixes(path: Path, loaded: Loaded) -> tuple[str, ...]:
    """Reads a file of `write_prefixes`; raises InputError if it is missing, damaged or of another model.

    Raises CannotEdit with the reason if it has one.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift edit prefixes`")
    try:
        file = json.loads(path.read_text(encoding="utf-8"))
        if "skipped" in file:
            raise CannotEdit(file["skipped"])
        model, prefixes = file["model"], tuple(file["prefixes"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: damaged, or not written by `factdrift edit prefixes` ({type(error).__name__}: "
            f"{error}); delete it and make it again"
        ) from None
    if model != loaded.digest:
        raise InputError(f"{path}: of another model than {loaded.name}; delete it and make it again")
    return prefixes

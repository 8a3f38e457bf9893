"""What a locating method takes and gives, one of the user's too (docs/locating.md). Imports torch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.klob.scoring.inputs import GRANULARITIES, check_units
from factdrift.klob.scoring.selection import best_units
from factdrift.models.hooks import hooked_before
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded

DOCUMENT = 'docs/locating.md, "Your own locator"'
_LISTED = ("units", "top", "mean", "sd")


@dataclass(frozen=True)
class Context:
    """What a method knows besides the sentences of a batch."""

    hyper: Hyper
    spread: float = 0.0
    """The standard deviation of the embeddings of all subjects' tokens."""
    seed: int = 0
    budget: int = 8192
    """Tokens of one pass of the model, padding included."""


Locator = Callable[[Loaded, Sequence[Sentence], Sequence[int], Context], Tensor]
"""(model, sentences of a batch, the token whose probability is explained after each) -> [sentences, units].

The batch holds the other wordings of each sentence, too."""


Columns = dict[str, Any]
"""What is kept of the scores of S sentences: `granularity`; `units`, their number; `top` [S, K], the best
units, the best first, and of units with equal scores the lower number first; `mean` and `sd` (divided by the
number of units) [S] of all units' scores, NaN if one is not finite; `layers` [S], the sums of the scores of
each block's units, or None if units are not numbered by block."""


def of_scores(scores: NDArray[np.floating], granularity: str, layers: int, most: int) -> Columns:
    """Of scores [S, units] the `most` best units, the moments, and the sums over each of `layers` blocks."""
    number, units = scores.shape
    top = np.tile(np.arange(most, dtype=np.int32), (number, 1))
    mean, sd = np.full(number, np.nan), np.full(number, np.nan)
    wide = scores.astype(np.float64)
    for row in np.flatnonzero(np.isfinite(scores).all(1)):
        top[row] = best_units(scores[row], most)
        mean[row], sd[row] = wide[row].mean(), wide[row].std()
    sums = [None] * number if units % layers else list(wide.reshape(number, layers, -1).sum(2))
    moments = {"mean": mean, "sd": sd, "layers": sums}
    return {"granularity": granularity, "units": units, "top": list(top), **moments}


def found_of(given: str, answer: Any, sentences: int, layers: int, most: Callable[[int], int]) -> Columns:
    """The results of the function for a batch of sentences, checked.

    `layers`: blocks of the model. `most`: number of units -> how many of them are kept. Raises InputError
    that says what is wrong.
    """

    def wrong(what: str) -> InputError:
        return InputError(f"locators: {given}: {what} ({DOCUMENT})")

    def numbers(name: str, kinds: str = "biuf", expected: str = "numbers") -> NDArray[Any]:
        value = answer[name]
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            value = (value.float() if value.is_floating_point() else value).numpy()
        try:
            found = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise wrong(f"{name} cannot be read as an array: {error}") from None
        if found.dtype.kind not in kinds:
            raise wrong(f"{name} has the type {found.dtype}; {expected} are expected")
        return found

    keys = list(answer) if isinstance(answer, Mapping) else []
    if "granularity" not in keys or not {*keys} <= {"granularity", "scores", *_LISTED}:
        returned = f"a dict with {', '.join(map(str, keys))}" if keys else type(answer).__name__
        raise wrong(
            "the function must return a dict with granularity and scores, or with granularity, units, top, "
            f"mean and sd; it returned {returned}"
        )
    granularity = answer["granularity"]
    if granularity not in GRANULARITIES:
        raise wrong(f"granularity: {granularity!r} is none of {', '.join(GRANULARITIES)}")
    if "scores" in answer:
        scores = numbers("scores")
        if scores.ndim != 2 or len(scores) != sentences or not scores.shape[1]:
            raise wrong(f"scores have shape {scores.shape}; {sentences} sentences x units are expected")
        return of_scores(scores, granularity, layers, most(scores.shape[1]))
    if lacking := [key for key in _LISTED if key not in answer]:
        raise wrong(f"{', '.join(lacking)} are missing")
    units = answer["units"]
    if not isinstance(units, int | np.integer) or isinstance(units, bool):
        raise wrong(f"units is {units!r}; the number of units is expected")
    top = numbers("top", "iu", "numbers of units")
    mean, sd = (numbers(key).astype(np.float64) for key in ("mean", "sd"))
    wanted = most(int(units))
    if top.ndim != 2 or len(top) != sentences or top.shape[1] < wanted:
        raise wrong(
            f"top has shape {top.shape}; {sentences} sentences x at least {wanted} units are expected"
        )
    if mean.shape != (sentences,) or sd.shape != (sentences,):
        raise wrong(f"mean and sd have shapes {mean.shape} and {sd.shape}; ({sentences},) is expected")
    top = top[:, :wanted]
    check_units(f"locators: {given}: top", top, int(units))
    moments = {"mean": mean, "sd": sd, "layers": [None] * sentences}
    return {"granularity": granularity, "units": int(units), "top": list(top.astype(np.int32)), **moments}


def last_logits(loaded: Loaded, sentences: Sequence[Sentence], repeat: int = 1) -> Tensor:
    """[repeat x sentences, vocabulary]: logits at each last token, with gradients if a hook asks for them.

    All sentences are run `repeat` times, one copy of the batch after another.
    """
    ids = padded([one.ids for one in sentences], loaded.device).repeat(repeat, 1)
    last = torch.tensor([one.last for one in sentences], device=loaded.device).repeat(repeat)
    each = torch.arange(len(ids), device=loaded.device)
    with hooked_before(loaded.model, {loaded.spec.head: lambda hidden: hidden[each, last].unsqueeze(0)}):
        logits: Tensor = loaded.model(input_ids=ids, use_cache=False).logits[0]
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def probability(logits: Tensor, targets: Sequence[int] | Tensor) -> Tensor:
    """[rows]: the probability of each row's target token, from logits [rows, vocabulary]."""
    chosen = torch.as_tensor(targets, device=logits.device)
    return (logits.gather(1, chosen[:, None])[:, 0] - logits.logsumexp(1)).exp()


def positions(sentences: Sequence[Sentence], token: str) -> list[list[int]]:
    """For each sentence the indices of the tokens that a method looks at.

    `token`: `last`, `subject_last` (the last token in a sentence without subject) or `all`.
    """
    if token == "all":
        return [list(range(len(one.ids))) for one in sentences]
    if token == "last":
        return [[one.last] for one in sentences]
    return [[one.subject[1] - 1 if one.subject else one.last] for one in sentences]


def at(values: Tensor, places: Sequence[Sequence[int]]) -> Tensor:
    """[rows, width]: sums of values [rows, tokens, width] over the places of each row."""
    mask = torch.zeros(values.shape[:2], dtype=values.dtype, device=values.device)
    for row, mine in enumerate(places):
        mask[row, list(mine)] = 1
    return torch.einsum("rt,rtw->rw", mask, values)

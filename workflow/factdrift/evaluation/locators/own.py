"""What locators that users write return, checked (docs/locating.md)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.interface import Found, of_scores
from factdrift.klob.scoring.locator import GRANULARITIES

DOCUMENT = 'docs/locating.md, "Your own locator"'
_LISTED = ("units", "top", "mean", "sd")


def found_of(given: str, answer: Any, sentences: int, layers: int, most: Callable[[int], int]) -> Found:
    """The results of the function for a batch of sentences, checked.

    `layers`: blocks of the model. `most`: number of units -> how many of them are kept. Raises InputError
    that says what is wrong.
    """

    def wrong(what: str) -> InputError:
        return InputError(f"locators: {given}: {what} ({DOCUMENT})")

    def numbers(name: str, kinds: str = "biuf", expected: str = "numbers") -> NDArray[Any]:
        try:
            found = _array(answer[name])
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
    ordered = np.sort(top, axis=1)
    if (ordered < 0).any() or (ordered >= units).any() or (ordered[:, 1:] == ordered[:, :-1]).any():
        raise wrong(f"top lists a unit twice, or one that is not from 0 to {units - 1}")
    return Found(granularity, int(units), top.astype(np.int32), mean, sd, None)


def _array(value: Any) -> NDArray[Any]:
    """An array of numpy from one, a tensor, or nested lists."""
    if hasattr(value, "detach"):
        value = value.detach().float().cpu().numpy() if value.is_floating_point() else value.cpu().numpy()
    return np.asarray(value)

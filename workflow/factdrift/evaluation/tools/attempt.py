"""Shows one edit: a model before and after it, on the edited prompt, its paraphrases and neighbours. Imports
torch.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.states.edited import opened
from factdrift.models.alignment import AlignmentError, align
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import next_tokens, score
from factdrift.models.writing import Begun, write
from factdrift.words.templates import BLANK

TOP = 5
"""The number of continuations that are shown."""

NEIGHBOURS = 6
"""The number of neighbours at most."""

WORDS = 8
"""The number of tokens of a continuation."""


@dataclass(frozen=True)
class Around:
    """Probes around an edit: prompts that end before the object, and their objects."""

    obsolete: str = ""
    paraphrases: Sequence[str] = ()
    neighbors: Sequence[tuple[str, str]] = ()


def find_around(dataset: Path, prompt: str, subject: str) -> Around:
    """Finds the fact that a prompt asks for in a dataset, with its neighbours or facts of other subjects.

    The prompt must be one of the dataset's, apart from an article before the subject; otherwise nothing is
    found.
    """
    if not dataset.is_file():
        return Around()
    columns = ["subject", "update_prompt", "generalization_prompts", "objects", "neighborhood"]
    rows = pq.read_table(dataset, columns=columns).to_pylist()
    wanted = _template(prompt, subject)
    alike = [
        (row, cloze)
        for row in rows
        for cloze in (row["update_prompt"], *row["generalization_prompts"])
        if _template(_before(cloze), row["subject"]["label"]) == wanted
    ]
    own = [row for row, _ in alike if row["subject"]["label"] == subject]
    if own:
        others = [
            (fact["objects"][0]["prompt"], fact["objects"][0]["object"]) for fact in own[0]["neighborhood"]
        ]
        clozes = [own[0]["update_prompt"], *own[0]["generalization_prompts"]]
    else:
        others = [
            (cloze, each) for row, cloze in alike for each in row["objects"] if each["decision"] == "obsolete"
        ]
        clozes = []
    gone = [each["label"] for row in own for each in row["objects"] if each["decision"] == "obsolete"]
    return Around(
        obsolete=gone[0] if gone else "",
        paraphrases=[_before(cloze) for cloze in clozes if _template(_before(cloze), subject) != wanted],
        neighbors=[(_before(cloze), each["label"]) for cloze, each in others if each["label"]][:NEIGHBOURS],
    )


def _before(cloze: str) -> str:
    return cloze.rpartition(BLANK)[0].rstrip()


def _template(prompt: str, subject: str) -> str:
    """A prompt with `{}` in place of the subject and of an article before it."""
    blank = prompt.replace(subject, "{}") if subject in prompt else ""
    return blank.replace("the {}", "{}").replace("The {}", "{}")


def attempt(loaded: Loaded, edit: Edit, hyper: Hyper, artefacts: Artefacts, around: Around) -> Iterator[str]:
    """Makes the edit and yields the lines to print; raises InputError if the edit fails."""
    try:
        align(loaded.tokenizer, edit.prompt, edit.target, subject=edit.subject)
    except AlignmentError as error:
        raise InputError(
            f"the tokenizer of {loaded.name} does not split at the border of subject or target: {error}"
        ) from None
    wanted = [("new object", edit.prompt, edit.target)]
    if around.obsolete:
        wanted.append(("old object", edit.prompt, around.obsolete))
    parts = [
        ("", wanted),
        ("In other words", [(f"{prompt} ...", prompt, edit.target) for prompt in around.paraphrases]),
        (
            "Neighbours, which should stay",
            [(f"{prompt} ...", prompt, label) for prompt, label in around.neighbors],
        ),
    ]
    asked = [(prompt, label) for _, part in parts for _, prompt, label in part]
    before, chances = _seen(loaded, None, edit.prompt, asked)
    start = time.perf_counter()
    with opened(loaded, hyper, artefacts) as state, state.put([edit]) as placed:
        seconds = time.perf_counter() - start
        if placed.made.failed:
            raise InputError(f"{hyper.method}: the edit failed: {placed.made.failed[0]}")
        after, others = _seen(placed.loaded, placed.made, edit.prompt, asked)
    print(f"the edit took {seconds:.2f} s", file=sys.stderr)
    yield f"{title_of(hyper.method)} on {loaded.name}"
    yield ""
    yield f"{edit.prompt} ..."
    yield f"  {'before':<38}after"
    for one, other in zip(before, after, strict=True):
        yield f"  {one:<38}{other}".rstrip()
    found = iter(zip(chances, others, strict=True))
    for heading, part in parts:
        if part:
            yield from ("", heading) if heading else ("",)
            width, named = (max(len(each[place]) for each in part) for place in (0, 2))
            for title, _, label in part:
                one, other = next(found)
                yield f"  {title:<{width}}  {label:<{named}}  {one:>7} -> {other:>7}"


def _seen(
    loaded: Loaded, edited: Edited | None, prompt: str, asked: Sequence[tuple[str, str]]
) -> tuple[list[str], list[str]]:
    """The most probable continuations of a prompt, and the chances of objects after prompts.

    `edited`: the only edit of the model, if it has one. A continuation has the probability of its first
    token, and goes on greedily.
    """
    changes, owner = (edited.changes, 0) if edited else (None, -1)
    tokenizer: Any = loaded.tokenizer

    def context(prompt: str) -> str:
        return edited.before(0, [prompt])[0] if edited else ""

    def chance(prompt: str, label: str) -> str:
        """The geometric mean of the probabilities of an object's tokens, or why they cannot be aligned."""
        try:
            sentence = align(tokenizer, prompt, label, context=context(prompt))
        except AlignmentError as error:
            return error.reason
        return f"{math.exp(score(loaded, [sentence], changes, [owner]).logprob[0]):.2%}"

    ids = align(tokenizer, prompt, context=context(prompt)).ids
    first = next_tokens(loaded, ids, TOP, changes, owner)
    rest = write(loaded, [Begun([*ids, token], WORDS - 1, owner) for token, _ in first], changes)
    continuations = []
    for (token, probability), more in zip(first, rest, strict=True):
        tokens, end = [token, *more], tokenizer.eos_token_id
        said: str = tokenizer.decode(tokens[: tokens.index(end)] if end in tokens else tokens)
        sentence = said.strip().split("\n")[0].split(". ")[0].removesuffix(".")
        continuations.append(f"{probability:7.2%}  {sentence[:26]}")
    return continuations, [chance(prompt, label) for prompt, label in asked]

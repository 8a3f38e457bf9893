"""An edit that is made by hand: shown before and after, and written to files.

Imports torch.
"""

import math
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.evaluation.adapters import write_adapter, write_model
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit, Prepared
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.plan import PlannedQuestion
from factdrift.evaluation.questions.clozes import clozes_of
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.questions.updates import NEEDED, SCENARIOS, Choice, edits_of, read_updates
from factdrift.evaluation.session import Session
from factdrift.evaluation.settings import Settings
from factdrift.evaluation.states.edited import Condition, edited
from factdrift.evaluation.states.plain import EditedModel
from factdrift.evaluation.ways.options import likelihoods
from factdrift.models.alignment import AlignmentError, align
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import next_tokens
from factdrift.models.writing import Generation

TOP = 5
"""The number of continuations that are shown."""
NEIGHBOURS = 6
"""The number of neighbours at most."""
WORDS = 8
"""The number of tokens of a continuation."""
STAY = "Neighbours, which should stay"


Shown = tuple[str, str, str, str]
"""Heading, title, prompt up to its object, object."""


def find_around(dataset: Path, prompt: str, subject: str, target: str) -> list[Shown]:
    """Finds the fact that a prompt asks for in a dataset, with its neighbours or facts of other subjects.

    The prompt must be one of the dataset's, apart from an article before the subject; otherwise nothing is
    found. `target`: the object that is asked for in other words.
    """
    wanted = _template(prompt, subject)
    others: list[tuple[str, str]] = []
    for row in read_updates(dataset, NEEDED, Choice(tuple(SCENARIOS))) if dataset.is_file() else ():
        for edit in edits_of(row, ""):
            texts = {text: _template(text, edit["subject_label"]) for _, text in clozes_of(edit)}
            alike = [text for text, template in texts.items() if template == wanted]
            if alike and edit["subject_label"] == subject:
                old = [("", "old object", prompt, edit["obsolete"])] if edit["obsolete"] else []
                again = [text for text in texts if text not in alike]
                near = [probe for probe in edit["probes"] if probe["role"] == "nearest"][:NEIGHBOURS]
                return [
                    *old,
                    *(("In other words", f"{text} ...", text, target) for text in again),
                    *((STAY, f"{probe['prompt']} ...", probe["prompt"], probe["target"]) for probe in near),
                ]
            others += [(text, edit["obsolete"]) for text in alike if edit["obsolete"]]
    return [(STAY, f"{text} ...", text, label) for text, label in others[:NEIGHBOURS]]


def _template(prompt: str, subject: str) -> str:
    """A prompt with `{}` in place of the subject and of an article before it."""
    blank = prompt.replace(subject, "{}") if subject in prompt else ""
    return blank.replace("the {}", "{}").replace("The {}", "{}")


def attempt(
    model: Loaded, edit: Edit, prepared: Prepared, settings: Settings, dataset: Path
) -> Iterator[str]:
    """Makes an edit and yields the lines to print; raises InputError if it fails.

    `dataset`: where old object and neighbours are looked for (`find_around`).
    """
    hyper = prepared.hyper
    asked = [
        ("", "new object", edit.prompt, edit.target),
        *find_around(dataset, edit.prompt, edit.subject, edit.target),
    ]
    if hyper.derived:
        yield f"{hyper.method}: {hyper.source}"
    try:
        align(model.tokenizer, edit.prompt, edit.target, subject=edit.subject)
    except AlignmentError as error:
        raise InputError(
            f"the tokenizer of {model.name} does not split at the border of subject or target: {error}"
        ) from None
    questions = [
        Question(str(index), edit.id, prompt=text, targets=(label,))
        for index, (_, _, text, label) in enumerate(asked)
    ]
    columns = []
    for state in (Prepared(Hyper("none", model.name, "", {})), prepared):
        start = time.perf_counter()
        with Condition(state, "independent").opened(model) as opened, opened.apply([edit]) as model_edited:
            seconds = time.perf_counter() - start
            if failed := model_edited.failed(edit.id):
                raise InputError(f"{hyper.method}: the edit failed: {failed}")
            session = Session(model_edited.loaded, settings)
            shown = _continuations(session, model_edited, edit)
            columns.append([*shown, *_chances(session, model_edited, questions)])
    print(f"the edit took {seconds:.2f} s", file=sys.stderr)
    pairs = zip(*columns, strict=True)
    yield from (f"{title_of(hyper.method)} on {model.name}", "", f"{edit.prompt} ...")
    yield f"  {'before':<38}after"
    for _ in range(TOP):
        before, after = next(pairs)
        yield f"  {before:<38}{after}".rstrip()
    for heading, group in groupby(asked, key=itemgetter(0)):
        part = list(group)
        yield from ("", heading) if heading else ("",)
        width, named = (max(len(line[index]) for line in part) for index in (1, 3))
        for _, title, _, label in part:
            before, after = next(pairs)
            yield f"  {title:<{width}}  {label:<{named}}  {before:>7} -> {after:>7}"


def _continuations(session: Session, model_edited: EditedModel, edit: Edit) -> Iterator[str]:
    """The most probable continuations of the prompt of an edit.

    Each has the probability of its first token, and goes on greedily.
    """
    (context,) = model_edited.before([Question("", prompt=edit.prompt)], [edit.id])
    changes, owner = model_edited.made.changes, model_edited.owner(edit.id)
    ids = session.sentence(edit.prompt, "", context).ids
    first = next_tokens(session.loaded, ids, TOP, changes, owner)
    rest = session.written([Generation([*ids, token], WORDS - 1, owner) for token, _ in first], changes)
    end = session.loaded.tokenizer.eos_token_id
    for (token, probability), more in zip(first, rest, strict=True):
        tokens = [token, *more]
        said: str = session.loaded.tokenizer.decode(tokens[: tokens.index(end)] if end in tokens else tokens)
        sentence = said.strip().split("\n")[0].split(". ")[0].removesuffix(".")
        yield f"{probability:7.2%}  {sentence[:26]}"


def _chances(session: Session, model_edited: EditedModel, questions: Sequence[Question]) -> Iterator[str]:
    """The geometric mean of the probabilities of each object's tokens, or why they cannot be aligned."""
    edits = [question.edit for question in questions]
    asked = [
        PlannedQuestion(question, before=before, owner=model_edited.owner(question.edit))
        for question, before in zip(questions, model_edited.before(questions, edits), strict=True)
    ]
    for row in likelihoods(session, asked, model_edited.made.changes):
        yield row["reason"] if row.get("reason") else f"{math.exp(row['logprobs'][0]):.2%}"


def export(model: Loaded, edit: Edit, prepared: Prepared, output: Path, full: bool) -> None:
    """Makes an edit and writes it as an adapter, or as a whole model if `full`; nothing if it fails."""
    hyper = prepared.hyper
    with atomic_path(output) as folder:
        made = edited(model, [edit], hyper, prepared.artefacts, "independent")
        if reason := made.failed.get(0):
            raise InputError(f"{hyper.method}: the edit failed: {reason}")
        write_to = write_model if full else write_adapter
        write_to(model, made.deltas, made.change_of(0), folder)

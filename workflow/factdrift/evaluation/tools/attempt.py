"""Edits that are made by hand: one that is shown before and after, and ones that are written to files.

What a method needs besides the model is read from files of the workflow, or drawn. Imports torch.
"""

import dataclasses
import json
import math
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.core.tables import check_columns
from factdrift.evaluation.adapters import about, write_adapter, write_model
from factdrift.evaluation.methods.hyperparameters import Hyper, needs
from factdrift.evaluation.methods.interface import Artefacts, Edit, Prepared
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.methods.shared import write_prefixes
from factdrift.evaluation.plan import PlannedQuestion
from factdrift.evaluation.questions.clozes import clozes_of, read_edits
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.questions.updates import EDITS, NEEDED, SCENARIOS, Choice, edits_of, read_updates
from factdrift.evaluation.session import Session
from factdrift.evaluation.states.edited import Telling, check_layers, edited
from factdrift.evaluation.states.plain import Placed
from factdrift.evaluation.tools.jobs import BUILT_EDITS, ExportAdapter, TriesMethod, Try
from factdrift.evaluation.ways.options import likelihoods
from factdrift.models.alignment import AlignmentError, align
from factdrift.models.loaded import Loaded
from factdrift.models.moments import read_file
from factdrift.models.names import BUNDLED, folder_of
from factdrift.models.running import Computing
from factdrift.models.scoring import next_tokens
from factdrift.models.writing import Begun

TOP = 5
"""The number of continuations that are shown."""
NEIGHBOURS = 6
"""The number of neighbours at most."""
WORDS = 8
"""The number of tokens of a continuation."""
STAY = "Neighbours, which should stay"
BATCH = 16
"""Edits that are exported at a time."""


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
                near = [each for each in edit["probes"] if each["role"] == "nearest"][:NEIGHBOURS]
                return [
                    *old,
                    *(("In other words", f"{text} ...", text, target) for text in again),
                    *((STAY, f"{each['prompt']} ...", each["prompt"], each["target"]) for each in near),
                ]
            others += [(text, edit["obsolete"]) for text in alike if edit["obsolete"]]
    return [(STAY, f"{text} ...", text, label) for text, label in others[:NEIGHBOURS]]


def _template(prompt: str, subject: str) -> str:
    """A prompt with `{}` in place of the subject and of an article before it."""
    blank = prompt.replace(subject, "{}") if subject in prompt else ""
    return blank.replace("the {}", "{}").replace("The {}", "{}")


def attempt(job: Try) -> Iterator[str]:
    """Makes the edit of a job and yields the lines to print; raises InputError if it fails."""
    with job.loaded() as model:
        hyper = job.hyper_of(model, job.method)
        edit = Edit("try", job.prompt, job.subject, job.new_object)
        asked = [
            ("", "new object", edit.prompt, edit.target),
            *find_around(job.dataset, edit.prompt, edit.subject, edit.target),
        ]
        artefacts = find_artefacts(job, hyper, model)
        if hyper.derived:
            yield f"{hyper.method}: {hyper.source}"
        try:
            align(model.tokenizer, edit.prompt, edit.target, subject=edit.subject)
        except AlignmentError as error:
            raise InputError(
                f"the tokenizer of {model.name} does not split at the border of subject or target: {error}"
            ) from None
        questions = [
            Question(str(place), edit.id, prompt=text, targets=(label,))
            for place, (_, _, text, label) in enumerate(asked)
        ]
        seen = []
        for prepared in (Prepared(Hyper("none", model.name, "", {})), Prepared(hyper, artefacts)):
            start = time.perf_counter()
            with Telling(prepared, "independent").opened(model) as state, state.put([edit]) as placed:
                seconds = time.perf_counter() - start
                if failed := placed.failed(edit.id):
                    raise InputError(f"{hyper.method}: the edit failed: {failed}")
                session = Session(placed.loaded, job.settings)
                seen.append([*_continuations(session, placed, edit), *_chances(session, placed, questions)])
        print(f"the edit took {seconds:.2f} s", file=sys.stderr)
        pairs = zip(*seen, strict=True)
        yield from (f"{title_of(hyper.method)} on {model.name}", "", f"{edit.prompt} ...")
        yield f"  {'before':<38}after"
        for _ in range(TOP):
            before, after = next(pairs)
            yield f"  {before:<38}{after}".rstrip()
        for heading, group in groupby(asked, key=lambda each: each[0]):
            part = list(group)
            yield from ("", heading) if heading else ("",)
            width, named = (max(len(each[place]) for each in part) for place in (1, 3))
            for _, title, _, label in part:
                before, after = next(pairs)
                yield f"  {title:<{width}}  {label:<{named}}  {before:>7} -> {after:>7}"


def _continuations(session: Session, placed: Placed, edit: Edit) -> Iterator[str]:
    """The most probable continuations of the prompt of an edit.

    Each has the probability of its first token, and goes on greedily.
    """
    (context,) = placed.before([Question("", prompt=edit.prompt)], [edit.id])
    changes, owner = placed.made.changes, placed.owner(edit.id)
    ids = session.sentence(edit.prompt, "", context).ids
    first = next_tokens(session.loaded, ids, TOP, changes, owner)
    rest = session.written([Begun([*ids, token], WORDS - 1, owner) for token, _ in first], changes)
    end = session.loaded.tokenizer.eos_token_id
    for (token, probability), more in zip(first, rest, strict=True):
        tokens = [token, *more]
        said: str = session.loaded.tokenizer.decode(tokens[: tokens.index(end)] if end in tokens else tokens)
        sentence = said.strip().split("\n")[0].split(". ")[0].removesuffix(".")
        yield f"{probability:7.2%}  {sentence[:26]}"


def _chances(session: Session, placed: Placed, questions: Sequence[Question]) -> Iterator[str]:
    """The geometric mean of the probabilities of each object's tokens, or why they cannot be aligned."""
    edits = [each.edit for each in questions]
    asked = [
        PlannedQuestion(question, before=before, owner=placed.owner(question.edit))
        for question, before in zip(questions, placed.before(questions, edits), strict=True)
    ]
    for row in likelihoods(session, asked, placed.made.changes):
        yield row["reason"] if row.get("reason") else f"{math.exp(row['logprobs'][0]):.2%}"


def export(job: ExportAdapter) -> str:
    """Makes the edits of a job and writes all folders, or none; returns the line to print."""
    alone = job.regime == "independent"
    write_to = write_model if job.full else write_adapter
    with job.loaded() as model, atomic_path(job.output) as whole:
        hyper = job.hyper_of(model, job.method)
        if hyper.own and hyper.own.plain:
            raise InputError(f"--method: {hyper.method} changes a model in place; write it in your function")
        edits = [Edit("edit", job.prompt or "", job.subject or "", job.new_object or "")]
        if job.edit:
            path = job.edits or job.newest(BUILT_EDITS)
            if path is None:
                raise InputError(f"--edits: no {job.results}/*/edit/edits.parquet; name a table of edits")
            check_columns(path, EDITS.names, "; give a table of `edit dataset`")
            known = {edit.id: edit for edit in read_edits(path).edits}
            if lacking := [name for name in job.edit if name not in known]:
                some = next(iter(known), "")
                raise InputError(f"--edit: {path} has no edit {lacking[0]!r}; it has such as {some!r}")
            edits = [known[name] for name in dict.fromkeys(job.edit)]
        artefacts = find_artefacts(job, hyper, model)
        size = BATCH if alone else len(edits)
        for group in (edits[at : at + size] for at in range(0, len(edits), size)):
            made = edited(model, group, hyper, artefacts, job.regime)
            for place, reason in sorted(made.failed.items()):
                raise InputError(f"{hyper.method}: the edit {group[place].id} failed: {reason}")
            for place, told in enumerate([[edit] for edit in group] if alone else [group]):
                folder = whole / told[0].id if alone and len(edits) > 1 else whole
                write_to(model, made.deltas, made.change_of(place), folder, about(model, hyper, told))
    what = "whole model" if job.full else "adapter"
    count = len(edits) if alone else 1
    return f"{job.output}: {count} {what}{'s' * (count > 1)}"


def find_artefacts(job: TriesMethod, hyper: Hyper, model: Loaded) -> Artefacts:
    """What a method needs besides the model.

    Files that the job does not name are the newest ones that the workflow has computed for the model, or
    those that ship with a bundled one; prefixes are drawn, with the seed of `edit prefixes`. Raises
    InputError that says what is missing and how to make it, or if the method cannot edit the model.
    """
    check_layers(model, hyper)
    files: dict[str, Any] = {}
    of_model = f"*/edit/{folder_of(model.name)}"
    with tempfile.TemporaryDirectory(prefix="factdrift-") as drawn:
        for option, name in needs(hyper).items():
            if getattr(job, option):
                continue
            if option == "prefixes":
                files[option] = Path(drawn, name)
                write_prefixes(files[option], model, hyper, 0)
                continue
            wanted = (
                [f"{name}/{layer}.safetensors" for layer in hyper.layers] if option == "moments" else [name]
            )
            folders = [
                each for each in job.results.glob(of_model) if all((each / one).is_file() for one in wanted)
            ]
            found = max(folders, key=lambda each: (each / wanted[0]).stat().st_mtime, default=None)
            if found is None and option == "moments" and model.name in BUNDLED:
                shipped = [SHIPPED_MODELS / model.name / one for one in wanted]
                # Of these very weights, not of others that were trained under the same name.
                if all(each.is_file() and read_file(each).model == model.digest for each in shipped):
                    found = SHIPPED_MODELS / model.name
            if found is None:
                raise InputError(
                    f"{hyper.method} on {model.name} needs {', '.join(wanted)}, which is not under "
                    f"{job.results}/{of_model}; make it with `{_making(job, hyper, model)}`, and name it "
                    f"with --{option}"
                )
            files[option] = found / name
        return dataclasses.replace(job, **files).artefacts(hyper, model)


def _making(job: TriesMethod, hyper: Hyper, model: Loaded) -> str:
    """The command that makes what a method needs, with the user's own hyper-parameters.

    Second moments need the model alone; MEND needs the workflow, which has facts to train on.
    """
    if "mend" not in needs(hyper):
        given = ["--model", job.model, "--revision", job.revision, "--models", str(job.models)]
        given += ["--trust-remote-code"] if job.trust_remote_code else []
        computing = {each: getattr(job.settings, each) for each in Computing.__struct_fields__}
        given += ["--settings", json.dumps(computing), "--sampled", "--layers", *map(str, hyper.layers)]
        return shlex.join(
            ["factdrift", "models", "moments", *given, "-o", f"moments/{folder_of(model.name)}"]
        )
    named = model.name if job.revision == "main" else f"{model.name}@{job.revision}"
    config: dict[str, Any] = {"models": [named], "methods": [hyper.own.given if hyper.own else hyper.method]}
    if job.template != "none":
        config["edit"] = {"template": job.template}
    if job.set:
        config[hyper.method] = job.set
    told = " ".join(shlex.quote(f"{key}={json.dumps(value)}") for key, value in config.items())
    return f"snakemake --cores 2 results/edit_scores.parquet --config {told}"

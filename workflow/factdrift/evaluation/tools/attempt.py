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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.keys import read_settings
from factdrift.core.owned import atomic_path
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.evaluation.adapters import about, write_adapter, write_model
from factdrift.evaluation.methods.hyperparameters import Hyper, needs
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.methods.shared import write_prefixes
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.states.edited import check_layers, edited, opened
from factdrift.evaluation.tools.jobs import ExportAdapter, TriesMethod, Try
from factdrift.models.alignment import AlignmentError, align
from factdrift.models.loaded import Loaded
from factdrift.models.moments import read_file
from factdrift.models.names import BUNDLED, folder_of
from factdrift.models.running import Computing
from factdrift.models.scoring import next_tokens, score
from factdrift.models.writing import Begun, write
from factdrift.words.templates import BLANK

TOP = 5
"""The number of continuations that are shown."""
NEIGHBOURS = 6
"""The number of neighbours at most."""
WORDS = 8
"""The number of tokens of a continuation."""
BATCH = 16
"""Edits that are exported at a time."""


class Around(NamedTuple):
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


def attempt(job: Try) -> Iterator[str]:
    """Makes the edit of a job and yields the lines to print; raises InputError if it fails."""
    with job.loaded() as model:
        hyper = job.hyper_of(model, job.method)
        if hyper.record.not_alone:
            raise CannotEdit(
                f"edit try: {hyper.method}: {hyper.record.not_alone}; run it with edit.regime batch or "
                "sequential, or write one change for several edits with `factdrift edit export-adapter "
                "--regime batch`"
            )
        check_layers(model, hyper)
        around = find_around(job.dataset, job.prompt, job.subject)
        artefacts = find_artefacts(job, hyper, model)
        if hyper.derived:
            yield f"{hyper.method}: {hyper.source}"
        edit = Edit("try", job.prompt, job.subject, job.new_object, around.obsolete)
        yield from _shown(model, edit, hyper, artefacts, around)


def _shown(loaded: Loaded, edit: Edit, hyper: Hyper, artefacts: Artefacts, around: Around) -> Iterator[str]:
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


def export(job: ExportAdapter) -> str:
    """Makes the edits of a job and writes all folders, or none; returns the line to print."""
    alone = job.regime == "independent"
    write_to = write_model if job.full else write_adapter
    with job.loaded() as model, atomic_path(job.output) as whole:
        hyper = job.hyper_of(model, job.method)
        check_layers(model, hyper)
        edits = [Edit("edit", job.prompt or "", job.subject or "", job.new_object or "")]
        if job.edit:
            edits = _chosen(job)
        artefacts = find_artefacts(job, hyper, model)
        size = BATCH if alone else len(edits)
        for group in (edits[at : at + size] for at in range(0, len(edits), size)):
            made = edited(model, group, hyper, artefacts, job.regime)
            for place, reason in sorted(made.failed.items()):
                raise InputError(f"{hyper.method}: the edit {group[place].id} failed: {reason}")
            if not alone:
                write_to(model, made.deltas, 0, whole, about(model, hyper, group))
                continue
            for place, edit in enumerate(group):
                folder = whole / edit.id if len(edits) > 1 else whole
                write_to(model, made.deltas, place, folder, about(model, hyper, [edit]))
    what = "whole model" if job.full else "adapter"
    count = len(edits) if alone else 1
    return f"{job.output}: {count} {what}{'s' * (count > 1)}"


def _chosen(job: ExportAdapter) -> list[Edit]:
    """The edits that are named, in the order of their names in the job."""
    path = job.edits
    if path is None:
        found = sorted(job.results.glob("*/edit/edits.parquet"), key=lambda each: each.stat().st_mtime)
        if not found:
            raise InputError(f"--edits: no {job.results}/*/edit/edits.parquet; name a table of edits")
        path = found[-1]
    edits = {edit.id: edit for edit in read_edits(path).edits}
    for name in job.edit:
        if name not in edits:
            raise InputError(f"--edit: {path} has no edit {name!r}; it has such as {next(iter(edits), '')!r}")
    return [edits[name] for name in dict.fromkeys(job.edit)]


def find_artefacts(job: TriesMethod, hyper: Hyper, model: Loaded) -> Artefacts:
    """What a method needs besides the model.

    Files that the job does not name are the newest ones that the workflow has computed for the model, or
    those that ship with a bundled one. Prefixes of which there are none, or none that were drawn as the
    hyper-parameters say, are drawn, with the seed of `edit prefixes`. Raises InputError that says what else
    is missing and how to make it.
    """
    with tempfile.TemporaryDirectory(prefix="factdrift-") as folder:
        files: dict[str, Any] = dict(_files(job, hyper, model))
        if "prefixes" in needs(hyper) and not (job.prefixes or "prefixes" in files):
            files["prefixes"] = Path(folder, "prefixes.json")
            write_prefixes(files["prefixes"], model, hyper, 0)
        return dataclasses.replace(job, **files).artefacts(hyper, model)


def _files(job: TriesMethod, hyper: Hyper, model: Loaded) -> Iterator[tuple[str, Path]]:
    """Field -> file of the workflow, for what the job does not name."""
    for option, name in needs(hyper).items():
        if getattr(job, option):
            continue
        files = [f"{name}/{layer}.safetensors" for layer in hyper.layers] if option == "moments" else [name]
        pattern = f"*/edit/{folder_of(model.name)}"
        folders = [each for each in job.results.glob(pattern) if all((each / one).is_file() for one in files)]
        if option == "prefixes":
            folders = [each for each in folders if not _drawn_otherwise(each / name, hyper)]
        if folders:
            yield option, max(folders, key=lambda each: (each / files[0]).stat().st_mtime) / name
        elif option == "moments" and _ships(model, files):
            yield option, SHIPPED_MODELS / model.name / name
        elif option != "prefixes":
            raise InputError(
                f"{hyper.method} on {model.name} needs {', '.join(files)}, which is not under "
                f"{job.results}/{pattern}; make it with `{_making(job, hyper, model)}`, and name it "
                f"with --{option}"
            )


def _drawn_otherwise(path: Path, hyper: Hyper) -> bool:
    """Whether a file of prefixes says that it was drawn with other hyper-parameters."""
    try:
        drawn = json.loads(path.read_text(encoding="utf-8")).get("drawn")
    except (ValueError, AttributeError):
        return False  # read_prefixes says what is wrong with it
    return drawn not in (None, hyper["prefixes"])


def _ships(model: Loaded, files: Iterable[str]) -> bool:
    """Whether the second moments of these very weights are among those that ship."""
    paths = [SHIPPED_MODELS / model.name / each for each in files] if model.name in BUNDLED else []
    return bool(paths) and all(path.is_file() and read_file(path).model == model.digest for path in paths)


def _making(job: TriesMethod, hyper: Hyper, model: Loaded) -> str:
    """The command that makes what a method needs, with the user's own hyper-parameters.

    Second moments need the model alone; MEND needs the workflow, which has facts to train on.
    """
    if "mend" not in needs(hyper):
        given = ["--model", job.model, "--revision", job.revision, "--models", str(job.models)]
        given += ["--trust-remote-code"] if job.trust_remote_code else []
        if job.settings != read_settings("{}", Computing, "edit"):
            given += ["--settings", msgspec.json.encode(job.settings).decode()]
        given += ["--sampled", "--layers", *map(str, hyper.layers)]
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

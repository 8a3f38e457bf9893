"""States of a model as questions are put to it: unedited, or changed in place by a method of the user's own.

Also compares what any method of the user's own gives with what it gave before. Imports torch.
"""

import contextlib
import copy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import nn

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Context, Edit, Edited
from factdrift.evaluation.methods.own import DOCUMENT, UserMethod
from factdrift.evaluation.methods.shared import own_function, seeded
from factdrift.evaluation.questions.question import Question
from factdrift.models.alignment import untemplated
from factdrift.models.loaded import Loaded
from factdrift.models.snapshot import ROUNDING, Snapshot, tokenizer_state, variables

MOST = 200
"""Characters of the reason why an edit has failed."""


@dataclass(frozen=True)
class EditedModel:
    """A model, with changes and texts for the edits that are in place."""

    loaded: Loaded
    made: Edited = field(default_factory=Edited)
    edits: Sequence[str] = ()
    """The ids of the edits that were made last, in their order."""
    state: str = ""
    """The state whose text stands before a question, if that is part of the benchmark."""
    persistent: bool = False
    """Whether earlier edits are in place, too, all of them by one change."""
    recalled: Callable[[Sequence[str]], Sequence[Context]] | None = None
    """The ids of edits -> what stands before questions in the presence of each, if that is remembered."""
    left_out: dict[str, int] = field(default_factory=dict)
    """`texts`: the most texts that did not fit before a prompt so far."""

    def owner(self, edit: str) -> int:
        """The index in the changes for questions in the presence of an edit; -1 for none."""
        if not self.made.changes or not (self.persistent or edit in self.edits):
            return -1
        if self.persistent:
            return 0
        return self.made.change_of(self.edits.index(edit))

    def failed(self, edit: str) -> str | None:
        """Why an edit has failed; None if it has not."""
        return self.made.failed.get(self.edits.index(edit)) if edit in self.edits else None

    def before(self, questions: Sequence[Question], edits: Sequence[str]) -> list[str]:
        """The text before each question, in the presence of an edit each."""
        texts = [question.before(self.state) for question in questions]
        if self.recalled:
            contexts = dict(zip(edits, self.recalled(edits), strict=True))
        elif self.made.contexts:
            contexts = dict(zip(self.edits, self.made.contexts, strict=True))
        else:
            return texts
        retrieving: dict[int, tuple[Callable[[Sequence[str]], list[str]], list[int]]] = {}
        for index, edit in enumerate(edits):
            context = contexts[edit]
            if isinstance(context, str):
                texts[index] = context
            else:
                retrieving.setdefault(id(context), (context, []))[1].append(index)
        for context, indices in retrieving.values():
            prompts = [questions[index].prompt or questions[index].words for index in indices]
            for index, text in zip(indices, context(prompts), strict=True):
                texts[index] = text
            if lacking := getattr(context, "left_out", 0):
                self.left_out["texts"] = max(self.left_out.get("texts", 0), lacking)
        return texts


class State:
    """Tells a model edits. This one changes nothing: no method makes any, or others have made all."""

    persistent = False
    """Whether edits stay when the model is told more."""

    def __init__(self, loaded: Loaded, state: str = ""):
        """`state`: its name, if the benchmark has a text for it before a question."""
        self._loaded, self._state = loaded, state

    @contextlib.contextmanager
    def apply(self, edits: Sequence[Edit]) -> Iterator[EditedModel]:
        """The model with these edits, until the end of the `with` block."""
        yield EditedModel(self._loaded, edits=[edit.id for edit in edits], state=self._state)

    def size(self) -> tuple[int | None, int | None]:
        """Bytes of what is kept beside the model, and entries or texts in it; None where there are none."""
        return None, None

    def save(self, path: Path) -> None:
        """Writes what `resume` reads."""

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        """Puts the edits of finished steps in place again."""


class InPlace(State):
    """Calls a plain method on a model, and restores the model when its edits have been probed, or at the end.

    The function is called as `edit(model, tokenizer, update, **hyper)` with the model itself, in evaluation
    mode, whose parameters require gradients; a copy of the tokenizer, which is restored with the model; and
    an `Edit`. Random numbers are seeded by the id of the edit. `changes`, an attribute of the function, may
    name the parameters that it changes, so that only these are copied.
    """

    def __init__(self, loaded: Loaded, hyper: Hyper, persistent: bool = False):
        assert hyper.own is not None
        super().__init__(loaded)
        self._hyper, self._given, self.persistent = hyper, hyper.own.given, persistent
        self._function = own_function(hyper.own)
        self._tokenizer = copy.deepcopy(untemplated(loaded.tokenizer))
        self._tokens = tokenizer_state(self._tokenizer)
        self._patterns = self._named()
        self._start = Snapshot(loaded.model, self._patterns)
        self._model: Any = loaded.model
        self._untouched, self._said = True, False

    @contextlib.contextmanager
    def apply(self, edits: Sequence[Edit]) -> Iterator[EditedModel]:
        """The model with all edits in place, made in turn, until the end of the `with` block.

        An edit fails if the function raises an exception; the model is then as before it. Raises InputError
        if the function returns what is no model, or changed a parameter that `changes` does not name.
        """
        with contextlib.nullcontext() if self.persistent else self.restored():
            yield self._made(edits)

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Restores the model at the end of the `with` block."""
        try:
            yield
        finally:
            lost = self._start.restore()
            self._model, self._untouched = self._loaded.model, True
            if tokenizer_state(self._tokenizer) != self._tokens:
                self._tokenizer = copy.deepcopy(untemplated(self._loaded.tokenizer))
        self._check(lost)

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        self._made(earlier)

    def _made(self, edits: Sequence[Edit]) -> EditedModel:
        """The model after further edits, which stay in place."""
        failed: dict[int, str] = {}
        for index, edit in enumerate(edits):
            before = self._start
            if not self._untouched:
                # What is no module can be restored no further than the model that it wraps.
                whole = self._model if isinstance(self._model, nn.Module) else self._loaded.model
                patterns = self._patterns if whole is self._loaded.model else ("*",)
                before = Snapshot(whole, patterns, since=self._start)
            self._untouched = False
            try:
                self._model = self._called(self._model, edit)
            except InputError:
                raise
            except Exception as error:
                if not self._said:  # tables have only the reason
                    note = "failed; others are not reported here"
                    print(f"{self._given}: the edit {edit.id} {note}", file=sys.stderr)
                    traceback.print_exc()
                    self._said = True
                failed[index] = f"{type(error).__name__}: {error}".partition("\n")[0][:MOST]
                self._check(before.restore())
        model = self._model
        alone = model is not self._loaded.model or any(self._start.changed_code())
        if isinstance(model, nn.Module):
            model.eval()
        if alone and len(failed) < len(edits):
            self._check_logits(model, edits[0].prompt)
        now = replace(self._loaded, model=model, alone=alone)
        return EditedModel(now, Edited(failed=failed), [edit.id for edit in edits])

    def _called(self, model: Any, edit: Edit) -> Any:
        """The model after one edit: the same one, or a wrapper that the function has returned."""
        if isinstance(model, nn.Module):
            for parameter in model.parameters():
                parameter.requires_grad_(parameter.is_floating_point())
        with seeded(edit.id, self._loaded.device), torch.enable_grad():
            given = self._function(model, self._tokenizer, edit, **copy.deepcopy(dict(self._hyper)))
        if given is None:
            return model
        if not callable(given):
            raise InputError(
                f"methods: {self._given}: it returned {type(given).__name__}; a plain method returns None "
                f"or a model that is probed instead of the one it was given ({DOCUMENT})"
            )
        return given

    @torch.no_grad()
    def _check_logits(self, model: Any, prompt: str) -> None:
        """Raises InputError if the model cannot be probed, since it does not give logits for each token."""
        ids = torch.tensor([self._tokenizer(prompt).input_ids], device=self._loaded.device)
        try:
            logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
            shape = tuple(logits.shape)
        except Exception as error:
            raise InputError(
                f"methods: {self._given}: the model that it left or returned cannot be run as it is probed, "
                f"model(input_ids=..., attention_mask=..., use_cache=False).logits: {type(error).__name__}: "
                f"{error} ({DOCUMENT})"
            ) from error
        tokens, vocabulary = ids.shape[1], min(len(self._tokenizer), self._loaded.spec.vocabulary)
        if shape[:2] != (1, tokens) or len(shape) != 3 or shape[2] < vocabulary:
            raise InputError(
                f"methods: {self._given}: the model that it left or returned gives logits of shape {shape} "
                f"for a text of {tokens} tokens; (1, {tokens}, {self._loaded.spec.vocabulary}) is expected "
                f"({DOCUMENT})"
            )

    def _named(self) -> list[str]:
        """The patterns of `changes`, with hyper-parameters filled in; all names if there are none."""
        given = getattr(self._function, "changes", ("*",))
        names = [name for name, _ in self._loaded.model.named_parameters()]
        try:
            patterns = [pattern.format(**self._hyper) for pattern in given]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"methods: {self._given}: changes must be a list of patterns of names of parameters, such as "
                f"'*.{{layer}}.mlp.*' for a hyper-parameter `layer`: {type(error).__name__}: {error}"
            ) from None
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise InputError(
                    f"methods: {self._given}: changes: {self._loaded.name} has no parameter {pattern}; it "
                    f"has {names[0]}, ..., {names[-1]}"
                )
        return patterns

    def _check(self, lost: Sequence[str]) -> None:
        if lost:
            raise InputError(
                f"methods: {self._given}: it changed {lost[0]}"
                + (f" and {len(lost) - 1} others" if lost[1:] else "")
                + f", which its attribute `changes` does not name, so that it cannot be restored ({DOCUMENT})"
            )


class Repeated:
    """Compares edits with the same ones, made again after others."""

    def __init__(self, own: UserMethod):
        self._given, self.plain = own.given, own.plain
        self._function = own_function(own)
        self._start = variables(self._function)

    def check(
        self,
        loaded: Loaded,
        questions: Sequence[Question],
        before: Mapping[str, pa.Table],
        again: Mapping[str, pa.Table],
    ) -> None:
        """Raises InputError if edits, made again, fail otherwise or give other log-probabilities.

        `questions`: about those that were made again. `before`: the tables of the first time, and perhaps of
        other edits. `again`: those of the second time.
        """

        def keeps(edit: str, what: str) -> InputError:
            now = variables(self._function)
            changed = [name for name, value in now.items() if self._start.get(name) != value]
            hint = f" (variables that changed: {', '.join(changed)})" if changed else ""
            return InputError(
                f"methods: {self._given}: the edit {edit} gives other results when it is made again after "
                f"others: {what}. The method keeps something from one edit to the next{hint}, or draws "
                "random numbers that are not seeded; let each call depend on what it is given alone "
                f"({DOCUMENT})"
            )

        known = {row["edit"]: row["failed"] for row in before["edits"].to_pylist()}
        for row in again["edits"].to_pylist():
            if row["failed"] != known[row["edit"]]:
                what = f"{known[row['edit']] or 'no failure'}, then {row['failed'] or 'no failure'}"
                raise keeps(row["edit"], what)
        bound = max(ROUNDING, torch.finfo(loaded.dtype).eps)
        of_id = {question.id: question for question in questions}
        scored = pc.field("way") == "loglik"
        first = {row["question"]: row["logprobs"] for row in before["answers"].filter(scored).to_pylist()}
        for row in again["answers"].filter(scored).to_pylist():
            asked = of_id[row["question"]]
            one, other = (np.array(each or [], float) for each in (first[asked.id], row["logprobs"]))
            alike = one.shape == other.shape and np.allclose(one, other, 0, bound, equal_nan=True)
            if not alike:
                values = f"{one.round(4).tolist()}, then {other.round(4).tolist()}"
                what = f"log-probability of the targets after {asked.prompt or asked.words!r} {values}"
                raise keeps(row["edit"], what)

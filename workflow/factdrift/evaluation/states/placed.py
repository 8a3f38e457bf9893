"""A model with what it has been told, as questions are put to it. Imports torch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from factdrift.evaluation.methods.interface import Edit, Edited
from factdrift.evaluation.methods.record import UNEDITED
from factdrift.evaluation.questions.question import Question
from factdrift.models.loaded import Loaded


@dataclass(frozen=True)
class Placed:
    """A model, with changes and texts for the edits that are in place."""

    loaded: Loaded
    made: Edited = field(default_factory=Edited)
    edits: Sequence[str] = ()
    """The ids of the edits in `made`, in their order."""
    left_out: dict[str, int] = field(default_factory=dict)
    """`texts`: the most texts that did not fit before a prompt so far."""

    def owner(self, edit: str) -> int:
        """The index in the changes for questions in the presence of an edit; -1 for none."""
        if not self.made.changes or edit not in self.edits:
            return -1
        place = self.edits.index(edit)
        return self.made.owner[place] if self.made.owner else place

    def failed(self, edit: str) -> str | None:
        """Why an edit has failed; None if it has not."""
        return self.made.failed.get(self.edits.index(edit)) if edit in self.edits else None

    def before(self, questions: Sequence[Question], edits: Sequence[str]) -> list[str]:
        """The text before each question, in the presence of an edit each."""
        texts = [""] * len(questions)
        retrieving: dict[int, tuple[Callable[[Sequence[str]], list[str]], list[int]]] = {}
        for place, edit in enumerate(edits):
            context = self.made.contexts[self.edits.index(edit)] if self.made.contexts else ""
            if isinstance(context, str):
                texts[place] = context
            else:
                retrieving.setdefault(id(context), (context, []))[1].append(place)
        for context, places in retrieving.values():
            prompts = [questions[place].prompt or questions[place].words for place in places]
            for place, text in zip(places, context(prompts), strict=True):
                texts[place] = text
            if lacking := getattr(context, "left_out", 0):
                self.left_out["texts"] = max(self.left_out.get("texts", 0), lacking)
        return texts


class State(ABC):
    """Tells a model edits."""

    lasting = False
    """Whether they stay when it is told more."""

    @abstractmethod
    def put(self, edits: Sequence[Edit]) -> AbstractContextManager[Placed]:
        """The model with these edits, until the end of the `with` block."""

    def size(self) -> tuple[int | None, int | None]:
        """Bytes of what is kept beside the model, and entries or texts in it; None where there are none."""
        return None, None

    def save(self, path: Path) -> None:
        """Writes what `resume` reads."""
        return

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        """Puts the edits of finished steps in place again."""
        return


class _Told(Placed):
    """A model that has the new fact before each question, in the words of the benchmark."""

    def before(self, questions: Sequence[Question], edits: Sequence[str]) -> list[str]:
        return [question.context for question in questions]


@dataclass(frozen=True)
class Unedited(State):
    """A model in which no method makes edits; also one in which others have made all."""

    loaded: Loaded
    placed: type[Placed] = Placed

    @contextmanager
    def put(self, edits: Sequence[Edit]) -> Iterator[Placed]:
        yield self.placed(self.loaded, edits=[edit.id for edit in edits])


ASKS_UNEDITED: Mapping[str, Callable[[Loaded], State]] = dict(
    zip(UNEDITED, (Unedited, partial(Unedited, placed=_Told)), strict=True)
)
"""State -> what asks a model without any editing method."""

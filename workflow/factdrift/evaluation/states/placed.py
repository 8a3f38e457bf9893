"""A model with what it has been told, as questions are put to it. Imports torch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from factdrift.evaluation.methods.interface import Context, Edit, Edited
from factdrift.evaluation.questions.question import Question
from factdrift.models.loaded import Loaded


@dataclass(frozen=True)
class Placed:
    """A model, with changes and texts for the edits that are in place."""

    loaded: Loaded
    made: Edited = field(default_factory=Edited)
    edits: Sequence[str] = ()
    """The ids of the edits that were made last, in their order."""
    told: bool = False
    """Whether each question has the new fact before it, in the words of the benchmark."""
    lasting: bool = False
    """Whether earlier edits are in place, too, all of them by one change."""
    recalled: Callable[[Sequence[str]], Sequence[Context]] | None = None
    """The ids of edits -> what stands before questions in the presence of each, if that is remembered."""
    left_out: dict[str, int] = field(default_factory=dict)
    """`texts`: the most texts that did not fit before a prompt so far."""

    def owner(self, edit: str) -> int:
        """The index in the changes for questions in the presence of an edit; -1 for none."""
        if not self.made.changes or not (self.lasting or edit in self.edits):
            return -1
        if self.lasting:
            return 0
        place = self.edits.index(edit)
        return self.made.owner[place] if self.made.owner else place

    def failed(self, edit: str) -> str | None:
        """Why an edit has failed; None if it has not."""
        return self.made.failed.get(self.edits.index(edit)) if edit in self.edits else None

    def before(self, questions: Sequence[Question], edits: Sequence[str]) -> list[str]:
        """The text before each question, in the presence of an edit each."""
        if self.told:
            return [question.context for question in questions]
        if self.recalled:
            contexts = dict(zip(edits, self.recalled(edits), strict=True))
        else:
            contexts = dict(zip(self.edits, self.made.contexts or [""] * len(self.edits), strict=True))
        texts = [""] * len(questions)
        retrieving: dict[int, tuple[Callable[[Sequence[str]], list[str]], list[int]]] = {}
        for place, edit in enumerate(edits):
            context = contexts.get(edit, "")
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


class State:
    """Tells a model edits. This one changes nothing: no method makes any, or others have made all."""

    lasting = False
    """Whether edits stay when the model is told more."""

    def __init__(self, loaded: Loaded, told: bool = False):
        """`told`: each question has the new fact before it."""
        self._loaded, self._told = loaded, told

    @contextmanager
    def put(self, edits: Sequence[Edit]) -> Iterator[Placed]:
        """The model with these edits, until the end of the `with` block."""
        yield Placed(self._loaded, edits=[edit.id for edit in edits], told=self._told)

    def size(self) -> tuple[int | None, int | None]:
        """Bytes of what is kept beside the model, and entries or texts in it; None where there are none."""
        return None, None

    def save(self, path: Path) -> None:
        """Writes what `resume` reads."""

    def resume(self, path: Path, earlier: Sequence[Edit]) -> None:
        """Puts the edits of finished steps in place again."""

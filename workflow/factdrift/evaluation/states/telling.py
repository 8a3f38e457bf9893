"""What a model is told, and how. Imports torch."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from factdrift.evaluation.methods.interface import Artefacts, Prepared
from factdrift.evaluation.methods.record import UNEDITED
from factdrift.evaluation.session import Session
from factdrift.evaluation.states.edited import opened
from factdrift.evaluation.states.placed import ASKS_UNEDITED, State
from factdrift.models.loaded import Loaded


@dataclass(frozen=True)
class Telling:
    """What a model is told, and how: an editing method with its hyper-parameters, or nothing."""

    prepared: Prepared
    regime: str
    name: str = ""
    """As tables have it, if it is not the method's."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Provenance columns that differ from the settings."""
    artefacts: Callable[[], Artefacts] | None = None
    """What the method needs besides, where it is only to be read when its turn comes."""
    trained: frozenset[str] | None = None
    """The ids of subjects on which the method was trained."""

    @property
    def method(self) -> str:
        return self.name or self.prepared.hyper.method

    @property
    def unedited(self) -> Callable[[Loaded], State] | None:
        """What asks a model in which the method changes nothing."""
        return ASKS_UNEDITED.get("none" if self.regime == "checkpoint" else self.method)

    @property
    def lasting(self) -> bool:
        """Whether edits stay for the next steps."""
        return self.regime == "stream" and not self.unedited

    def opened(self, loaded: Loaded) -> AbstractContextManager[State]:
        """What tells the model edits; raises CannotEdit if the method cannot edit so."""
        if self.unedited:
            return nullcontext(self.unedited(loaded))
        hyper = self.prepared.hyper
        artefacts = self.artefacts() if self.artefacts else self.prepared.artefacts
        return opened(loaded, hyper, artefacts, self.regime)

    def meta(self, session: Session) -> dict[str, Any]:
        """Values of the columns META, and `source`."""
        hyper = self.prepared.hyper
        edits = self.method not in UNEDITED
        digest, source = (hyper.digest(), hyper.source) if edits else ("", None)
        regime = self.regime if edits else "independent"
        found = session.meta(self.method, digest, self.prepared.digests, regime)
        return {**found, "source": source, **self.about}

"""Sentences about invented facts as tokens of the tiny models, for the locating methods."""

from typing import Any

from factdrift.core.paths import LOCATORS
from factdrift.evaluation.locators.interface import Context
from factdrift.evaluation.locators.sentences import Sentence, subject_characters, tokenized
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.models.loaded import Loaded
from support.tiny_models import tiny_tokenizer

USA = "United States of America"
FACTS = (
    ("a1", "a", f"The head of government of the {USA} is", USA, "Joe"),
    ("a2", "a", f"{USA} has a government of", USA, "Joe"),
    ("b1", "b", "Marta Kowalska lives in", "Marta Kowalska", "New Orleans"),
    ("b2", "b", "Because of the sea, the capital of Marta Kowalska is", "Marta Kowalska", "New Orleans"),
    ("c1", "c", "Atlantis is", "Atlantis", "Zoë Müller"),
)


def row(name: str, group: str, text: str, subject: str, answer: str) -> dict[str, Any]:
    """A row of SENTENCES."""
    start, end = subject_characters(text, subject) or (None, None)
    found = {"sentence": name, "subtask": "c", "group": group, "fact": group, "text": text}
    return found | {"answer": answer, "start": start, "end": end}


def sentences() -> list[Sentence]:
    return [tokenized(tiny_tokenizer(), row(*fact), 96) for fact in FACTS]


def targets(of: list[Sentence]) -> list[int]:
    return [one.answer[0] for one in of]


def context(locator: str, loaded: Loaded | None = None, **changes: Any) -> Context:
    """A context with large noise, for models whose embeddings are small."""
    hyper = read_hyper(locator, loaded.name if loaded else "tiny", changes, LOCATORS)
    return Context(hyper, noise_scale=1.0, seed=3)

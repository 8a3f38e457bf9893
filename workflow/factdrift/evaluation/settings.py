"""Settings of the jobs that ask a model: part `edit` says how it is run, part `answer` how it is asked."""

from typing import Annotated, Literal

import msgspec

from factdrift.core.errors import InputError
from factdrift.evaluation.questions.question import Way, record_of
from factdrift.models.running import Computing

Positive = Annotated[int, msgspec.Meta(ge=1)]


class StreamKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is asked of earlier edits of a stream: the keys of `edit.stream`."""

    probes: int


class Settings(Computing, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model is run, which edits are made together, and how questions are put."""

    batch: Positive
    budget: Positive | Literal["auto"]
    length: Positive
    regime: Literal["independent", "sequential", "batch", "stream"]
    group: Annotated[int, msgspec.Meta(ge=0)]
    stream: StreamKeys
    answer_scoring: tuple[Way, ...]
    answer_normalise: Literal["mean", "sum"]
    answer_tokens: Positive
    answer_chat_template: Literal["auto", "none"]
    answer_prompts_letter: str
    answer_prompts_loglik: str
    written_tokens: Positive
    written_instruction: str
    written_shots: bool

    def __post_init__(self) -> None:
        """Raises ValueError that names the prompt and what it lacks."""
        from factdrift.evaluation.questions.prompts import check_prompt  # compiles the patterns of letters

        check_prompt("letter", self.answer_prompts_letter)
        check_prompt("loglik", self.answer_prompts_loglik)

    @property
    def edits(self) -> int:
        """Edits that are made and asked about together; 0 for all of a subject."""
        return self.batch if self.regime == "independent" else self.group


def fields_of(benchmark: str, edits: bool) -> str:
    """The fields of Settings on which the answers to a benchmark depend; `edits`: in a state with edits."""
    unused = set() if edits and record_of(benchmark).by_interval else {"stream"}
    if not edits:
        unused |= {"regime", "group"}
    if not record_of(benchmark).options:
        unused |= {each for each in Settings.__struct_fields__ if each.startswith("answer_")}
    return " ".join(each for each in Settings.__struct_fields__ if each not in unused)


def check_regime(regime: str) -> None:
    """Raises InputError for the regime that only the jobs of a stream have."""
    if regime == "stream":
        raise InputError(
            "edit.regime: stream: the updates of a stream are scored in results/stream_scores.parquet, which "
            "you can ask for with any regime; leave the key out for other results"
        )

"""Commands about language models that need to know of methods or benchmarks."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.models.families import ModelSpec
from factdrift.models.names import check_name

if TYPE_CHECKING:
    from factdrift.models.describe import Lines


class Describe(Job, command="models describe"):
    """Print family, sizes, matrices and memory of a model, and the methods that cannot edit it."""

    model: Annotated[
        str,
        "sample, smollm2, or the folder, GGUF file or name of a causal language model",
        Flag(positional=True),
    ]
    revision: str = "main"
    trust_remote_code: Annotated[bool, Key("edit.trust_remote_code")]
    folder: Annotated[Place, "of the bundled models"] = Path("results/models")

    def check(self) -> None:
        check_name(self.model)

    def run(self) -> str:
        from factdrift.evaluation.methods.record import refused
        from factdrift.evaluation.tools.fitting import lines_of
        from factdrift.models.describe import describe

        def more(model: Any, spec: ModelSpec, source: str) -> Lines:
            lacking = (("not supported", reason) for reason in refused(spec))
            return [*lines_of(model, spec, self.model, source), *lacking]

        return describe(self.model, more, self.revision, self.folder, self.trust_remote_code)


class Sentences(Job, command="models sentences", implied_inputs="words"):
    """Write the training sentences of the bundled models: facts of a dataset and of benchmarks."""

    dataset: Annotated[Path, "wfd_repl.parquet or one like it"]
    templates: Annotated[Path, "with which it was made"]
    wording: Annotated[Path, "config/models/sentences.yaml"]
    klob: Annotated[Paths, "klob_c.parquet and klob_r.parquet, whose facts are taught"] = ()
    facts: Annotated[Path | None, "tr_facts, which are taught", Flag("PARQUET")] = None
    related: Annotated[Path | None, "tr_related: what follows from them", Flag("PARQUET")] = None
    wikifactdiff: Annotated[Path | None, "what changed, for facts of KLoB and TempRIPPLE"] = None
    ripples: Annotated[Path | None, "probes, whose conditions are taught", Flag("PARQUET")] = None
    names: Annotated[Path | None, "of `ripples names`, for the conditions", Flag("PARQUET")] = None
    old: Annotated[datetime.date, "T_old", Flag("DAY")]
    limit: Annotated[int, "of KLoB's examples of a subtask, and of ripples' conditions of a criterion"]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.models.bundled.corpus import read_wording, write_sentences

        wording = read_wording(self.wording)
        facts = write_sentences(self.dataset, self.templates, wording, self.output, self._taught())
        print(f"{self.output}: {facts:,} facts", file=sys.stderr)

    def _taught(self) -> Iterator[Row]:
        """The wordings of what benchmarks ask. Raises InputError if a table beside those named is missing."""
        from factdrift.evaluation.locators.sentences import klob_wordings
        from factdrift.evaluation.questions.taught import ripple_wordings, tempripple_wordings

        if (self.klob or self.facts) and self.wikifactdiff is None:
            raise InputError("--wikifactdiff: name what changed, which is not taught")
        if self.klob and self.wikifactdiff:
            yield from klob_wordings(self.klob[0].parent, self.wikifactdiff, self.limit, self.seed)
        if self.facts and self.wikifactdiff:
            if self.related is None:
                raise InputError("--related: name the table beside --facts")
            yield from tempripple_wordings(self.facts, self.related, self.wikifactdiff, self.old)
        if self.ripples:
            if self.names is None:
                raise InputError("--names: name the table beside --ripples")
            yield from ripple_wordings(self.ripples, self.names, self.old, self.limit)

"""What is to be known of a benchmark besides how its tables are read: config/benchmarks/NAME.yaml.

Rules, plans and commands read it; no module but its own contains a benchmark's name. No torch.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml
from factdrift.core.functions import named_function
from factdrift.core.paths import CONFIG

if TYPE_CHECKING:
    from factdrift.evaluation.questions.question import Benchmark, Tables


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One benchmark. Paths have the wildcards `{pair}`, or `{stream}` for the folder of the stream."""

    place: int = 1000
    """Its place among the benchmarks in lists."""
    read: str
    """MODULE.FUNCTION of `factdrift.evaluation.questions`: Tables -> Benchmark."""
    questions: list[str]
    edits: str = ""
    """The edits that its questions are about, if they are not in its own tables."""
    facts: str = ""
    """The facts that its edits are made of."""
    options: bool = False
    """Whether its questions have options: `answer.limit`, `scoring` and prompts are about them."""
    of_updates: bool = False
    """Whether its edits are updates: those whose tokens show no borders are left out of all methods."""
    all_ways: bool = False
    """Whether it is asked in all ways of its questions, since its scores need them."""
    by_interval: bool = False
    """Whether its edits are made interval by interval, and it is asked after each."""
    target: str
    """What builds it, for advice."""

    def module(self) -> str:
        """The module that reads it, by its dotted name."""
        return f"{__package__}.{self.read.rpartition('.')[0]}"

    @property
    def of_stream(self) -> bool:
        """Whether its tables are those of a stream."""
        return "{stream}" in self.questions[0]


@cache
def records() -> dict[str, Record]:
    """Name -> record of each benchmark, by their places."""
    folder = CONFIG / "benchmarks"
    found = {path.stem: msgspec.convert(read_yaml(path), Record) for path in folder.glob("*.yaml")}
    return dict(sorted(found.items(), key=lambda each: each[1].place))


def record_of(benchmark: str) -> Record:
    """The record of a benchmark; raises InputError if there is none of that name."""
    try:
        return records()[benchmark]
    except KeyError:
        raise InputError(f"{benchmark}: no such benchmark; there are {', '.join(records())}") from None


def read(benchmark: str, tables: Tables) -> Benchmark:
    """The questions and edits of a benchmark."""
    found: Benchmark = named_function(__package__, record_of(benchmark).read)(tables)
    return found

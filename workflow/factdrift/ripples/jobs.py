"""Jobs that make the probes of what follows from updates (docs/ripples.md)."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

from factdrift.core.jobs import Flag, Job, Key, Output, Paths

Buckets = Annotated[Paths, "all buckets"]
Table = Annotated[Output, Flag("PARQUET")]
Memory = Annotated[int, "for the tables"]
Dataset = Annotated[Path, "wikifactdiff.parquet"]


class Facts(Job, command="ripples facts", implied_inputs="filters"):
    """What holds at T_old and T_new about the items of updates, in one bucket."""

    dataset: Dataset
    old: Annotated[Path, "filtered statements of the old dump"]
    new: Annotated[Path, "those of the new dump"]
    entities: Annotated[Path, "items of the new dump"]
    old_date: datetime.date
    new_date: datetime.date
    gone: Annotated[tuple[str, ...], Key("ripples.gone")]
    seed: Annotated[int, Key("seed")]
    output: Table
    out_stated: Annotated[Output, "statements of the updated groups", Flag("PARQUET")]
    out_gone: Annotated[Output, "the dead and dissolved of what is asked about", Flag("PARQUET")]
    memory_mb: Memory = 3000
    threads: int = 1

    def run(self) -> None:
        from factdrift.ripples.facts import write_facts

        write_facts(self)


class Named(Job, command="ripples names"):
    """The names of all that probes can mention, drawn once from the items of both dumps."""

    dataset: Dataset
    groups: Annotated[Path, "the groups of WFD_repl"]
    facts: Annotated[Paths, "what `facts` wrote, all buckets"]
    old_entities: Buckets
    new_entities: Buckets
    labels: Annotated[Paths, "id, label of what the dumps lack"] = ()
    seed: Annotated[int, Key("seed")]
    output: Table
    out_shared: Annotated[Output, "names that several subjects of updates have", Flag("PARQUET")]
    memory_mb: Memory = 3000
    threads: int = 1

    def run(self) -> None:
        from factdrift.ripples.names import write_names

        write_names(self)


class Probes(Job, command="ripples probes", implied_inputs="words"):
    """What can be asked about the updates of one bucket."""

    dataset: Dataset
    groups: Annotated[Path, "the groups of WFD_repl"]
    facts: Annotated[Paths, "what `facts` wrote, all buckets"]
    stated: Annotated[Paths, "its statements, all buckets"]
    gone: Annotated[Paths, "who is gone, all buckets"]
    names: Annotated[Path, "what `names` wrote"]
    shared: Annotated[Path, "its names of several subjects"]
    properties: Annotated[Path, "properties of the new dump"]
    templates: Annotated[Path, "sentence templates of every relation"]
    bucket: Annotated[str, "such as 0-of-2, by subject"]
    old_date: datetime.date
    new_date: datetime.date
    seed: Annotated[int, Key("seed")]
    output: Table
    out_dropped: Annotated[Output, "counts of what is no probe", Flag("PARQUET")]
    memory_mb: Memory = 3000
    threads: int = 1

    def run(self) -> str:
        from factdrift.ripples.build import write_probes

        return f"{write_probes(self):,} candidates"


class Choose(Job, command="ripples choose"):
    """ripples.parquet: the probes of all buckets, no answer and no update with too many."""

    probes: Annotated[Paths, "what `probes` wrote, all buckets"]
    dropped: Annotated[Paths, "its counts, all buckets"]
    per_criterion: Annotated[int, Key("ripples.per_criterion")]
    seed: Annotated[int, Key("seed")]
    output: Table
    out_dropped: Annotated[Output, "counts of what is no probe", Flag("PARQUET")]
    memory_mb: Memory = 3000
    threads: int = 1

    def run(self) -> None:
        from factdrift.ripples.choose import choose

        choose(self)

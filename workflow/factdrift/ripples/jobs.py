"""Jobs that make the probes of what follows from updates (docs/ripples.md)."""

from __future__ import annotations

import datetime
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from factdrift.core.jobs import Flag, Job, Key, Output, Paths

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

Buckets = Annotated[Paths, "all buckets"]
Table = Annotated[Output, Flag("PARQUET")]
Dataset = Annotated[Path, "wikifactdiff.parquet"]


class OfTables(Job):
    """Fields of all jobs of the stage."""

    seed: Annotated[int, Key("seed")]
    output: Table
    threads: int = 1

    def tables(self) -> AbstractContextManager[Connection]:
        """The database of the job."""
        from factdrift.core.tables import database

        return database(3000, self.threads)


class OfDates(OfTables):
    """Fields of jobs that need the dates of the dumps."""

    old_date: datetime.date
    new_date: datetime.date

    def packed_days(self) -> tuple[int, int]:
        """Both dates as packed days (20210104)."""
        from factdrift.wikidata.time import pack_date

        return pack_date(self.old_date), pack_date(self.new_date)


class Facts(OfDates, command="ripples facts", implied_inputs="filters"):
    """Collect the facts at T_old and T_new about the items of updates, in one bucket."""

    dataset: Dataset
    old: Annotated[Path, "filtered statements of the old dump"]
    new: Annotated[Path, "those of the new dump"]
    entities: Annotated[Path, "items of the new dump"]
    gone: Annotated[tuple[str, ...], Key("ripples.gone")]
    out_stated: Annotated[Output, "statements of the updated groups", Flag("PARQUET")]
    out_gone: Annotated[Output, "the dead and dissolved of what is asked about", Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.ripples.facts import Inputs, Outputs, write_facts

        days = self.packed_days()
        inputs = Inputs(self.dataset, self.old, self.new, self.entities, *days)
        outputs = Outputs(self.output, self.out_stated, self.out_gone)
        with self.tables() as db:
            write_facts(db, inputs, self.gone, self.seed, outputs)


class Named(OfTables, command="ripples names"):
    """Collect the names of all items in probes, once, from both dumps."""

    dataset: Dataset
    groups: Annotated[Path, "the groups of WFD_repl"]
    facts: Annotated[Paths, "what `facts` wrote, all buckets"]
    old_entities: Buckets
    new_entities: Buckets
    labels: Annotated[Paths, "id, label of what the dumps lack"] = ()
    out_shared: Annotated[Output, "names that several subjects of updates have", Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.ripples.names import Inputs, write_names

        entities = self.old_entities, self.new_entities
        inputs = Inputs(self.dataset, self.groups, self.facts, *entities, self.labels)
        with self.tables() as db:
            write_names(db, inputs, self.seed, self.output, self.out_shared)


class Probes(OfDates, command="ripples probes", implied_inputs="words"):
    """Make the candidate probes about the updates of one bucket."""

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
    out_dropped: Annotated[Output, "counts of what is no probe", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.ripples.build import read_inputs, write_probes
        from factdrift.ripples.world import Tables

        made = self.facts, self.stated, self.gone, self.names, self.shared
        inputs = read_inputs(self.properties, self.templates, *self.packed_days(), self.seed)
        with self.tables() as db:
            tables, outputs = Tables(self.dataset, self.groups, *made), (self.output, self.out_dropped)
            return f"{write_probes(db, tables, self.bucket, inputs, *outputs):,} candidates"


class Choose(OfTables, command="ripples choose"):
    """Choose the probes of all buckets for ripples.parquet, with limits by answer and update."""

    probes: Annotated[Paths, "what `probes` wrote, all buckets"]
    dropped: Annotated[Paths, "its counts, all buckets"]
    per_criterion: Annotated[int, Key("ripples.per_criterion")]
    out_dropped: Annotated[Output, "counts of what is no probe", Flag("PARQUET")]

    def run(self) -> None:
        from factdrift.ripples.choose import choose

        outputs = self.output, self.out_dropped
        with self.tables() as db:
            choose(db, self.probes, self.dropped, self.per_criterion, self.seed, *outputs)

"""Jobs that difference two snapshots and label what changed."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from factdrift.core.jobs import Flag, Job, Key, Output, Paths
from factdrift.updates.dumps import Dump
from factdrift.updates.method import PART, UpdateSettings

Settings = Annotated[UpdateSettings, Key(PART)]


class Context(Job, command="updates context"):
    """Find the relevant items, and the functional and restrictive relations."""

    entities: Paths
    other_entities: Paths
    classes: Path
    other_classes: Path
    properties: Path
    new_properties: Path
    snapshots: Annotated[
        Paths,
        "snapshot.json of the old and of the new dump: refused if they are one file, or swapped",
        Flag("JSON"),
    ] = ()
    settings: Settings
    relevant: Annotated[Output, "ids of the relevant items"]
    relations: Annotated[Output, "one row a property"]

    def run(self) -> None:
        from factdrift.updates.dumps import check_dumps
        from factdrift.updates.filters import Items, context

        if self.snapshots:
            old, new = self.snapshots
            dates = str(self.settings.snapshots_old), str(self.settings.snapshots_new)
            for warning in check_dumps(old, new, *dates):
                print(f"factdrift: warning: {warning}", file=sys.stderr, flush=True)
        own, other = Items(self.entities, self.classes), Items(self.other_entities, self.other_classes)
        constraints = self.new_properties if self.settings.variant == "reference" else self.properties
        context(own, other, self.properties, constraints, self.settings, self.relevant, self.relations)


class Preprocess(Job, command="updates preprocess", implied_inputs="filters"):
    """Name the filter that drops each statement of a bucket."""

    statements: Path
    relevant: Path
    relations: Path
    dump_is: Literal["old", "new"]
    settings: Settings
    output: Annotated[Output, "all statements"]
    kept: Annotated[Output, "those that no filter drops, packed"]

    def run(self) -> str:
        from factdrift.updates.filters import Known, preprocess

        known = Known(self.relevant, self.relations)
        day = self.settings.t_old if self.dump_is == "old" else self.settings.t_new
        rows = preprocess(self.statements, known, day, self.settings, self.output, self.kept)
        return f"{rows:,} statements of the {self.dump_is} dump filtered"


class Report(Job, command="updates report"):
    """Count what each filter dropped, per property."""

    old: Paths
    new: Paths
    output: Output

    def run(self) -> None:
        from factdrift.updates.filters import report

        report(self.old, self.new, self.output)


class Difference(Job, command="updates difference"):
    """Match the old and the new statements of a bucket, and find its new entities."""

    old: Annotated[Dump, "the two tables that `preprocess` made of the old dump"]
    new: Annotated[Dump, "those of the new dump"]
    old_entities: Path
    settings: Settings
    output: Annotated[Output, "the triples"]
    new_entities: Output

    def run(self) -> str:
        from factdrift.updates.difference import difference, new_entities

        rows = difference(self.old, self.new, self.settings, self.output)
        statements, known = self.new.filtered, self.old_entities
        born = new_entities(statements, self.output, known, self.settings, self.new_entities)
        return f"{rows:,} triples in either dump, {born:,} new entities"


class Classify(Job, command="updates classify"):
    """Label the triples of a bucket and settle its groups."""

    triples: Path
    old: Annotated[Dump, "the two tables that `preprocess` made of the old dump, to which the triples refer"]
    new: Annotated[Dump, "those of the new dump"]
    relations: Annotated[Path, "of the new dump (updates context)"]
    new_entities: Annotated[Paths, "of all buckets, since objects may lie in any; so, too, the two next ones"]
    old_entities: Paths
    entities: Annotated[Paths, "of the new snapshot"]
    properties: Annotated[Paths, "of the new and of the old snapshot"]
    labels: Annotated[Paths, "TSV files (id, label) for entities that the dumps lack"] = ()
    rules: Path
    only_relations: Annotated[tuple[str, ...], Key("only.relations"), Flag("P")]
    only_subjects: Path | None = None
    only_classes: Annotated[tuple[str, ...], Key("only.classes"), Flag("Q")]
    classes: Annotated[Paths, "of both dumps; for --only-classes"] = ()
    settings: Settings
    output: Annotated[Output, "the triples of open groups"]
    untouched: Annotated[Output, "counts of the others"]

    def run(self) -> str:
        from factdrift.updates.classify import Only, Tables, classify

        only = Only(relations=self.only_relations, subjects=self.only_subjects, classes=self.only_classes)
        kept = classify(self.fill(Tables), only, self.rules, self.settings, self.output, self.untouched)
        return f"{kept:,} triples reach the dataset"

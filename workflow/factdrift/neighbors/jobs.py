"""Jobs that find nearest and random facts for the updated groups."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from factdrift.core.jobs import Job, Key, Output, Paths
from factdrift.core.switches import Variant


class OfUpdates(Job):
    """Fields of all jobs but `gather`."""

    updates: Annotated[Paths, "labelled triples, all buckets"]
    memory_mb: ClassVar[int] = 4000
    threads: int = 1
    output: Output

    def database(self) -> Any:
        """A context with a connection that takes the job's memory and threads."""
        from factdrift.core.tables import database

        return database(self.memory_mb, self.threads)


class OfFacts(OfUpdates):
    """Inputs that decide whether a fact may be taken (`holding.holds`)."""

    variant: Annotated[Variant, Key("variant")]

    entities: Annotated[Paths, "of the old dump: items with their labels"]
    labels: Annotated[Paths, "TSV files (id, label) for entities that the dumps lack"] = ()
    dates: Annotated[Literal["first_day", "interval"], Key("dates")]
    old_date: Annotated[date, "T_old"]


class Space(OfUpdates, command="neighbors space", implied_inputs="filters"):
    """Make TF-IDF vectors of the old dump's entities and of updated new ones."""

    variant: Annotated[Variant, Key("variant")]

    old: Annotated[Paths, "the old dump's filtered statements"]
    new: Annotated[Paths, "the new dump's filtered statements"]

    def run(self) -> str:
        from factdrift.neighbors.vectors import make_space

        bare_relations = self.variant == "reference"
        with self.database() as db:
            entities = make_space(db, self.updates, self.old, self.new, bare_relations, self.output)
        return f"{entities:,} entities as vectors"


class Holding(OfFacts, command="neighbors holding"):
    """Choose the fact that each subject of a bucket may contribute."""

    old: Annotated[Path, "the bucket's filtered statements, old dump"]
    memory_mb: ClassVar[int] = 2000

    def run(self) -> str:
        from factdrift.neighbors.facts import Dates, Naming, holds, write_holding

        condition = holds(self.old_date, Dates(self.variant, self.dates))
        naming = Naming(self.entities, self.labels)
        with self.database() as db:
            facts = write_holding(db, self.updates, self.old, naming, condition, self.output)
        return f"{facts:,} facts that may be taken"


class Search(OfUpdates, command="neighbors search"):
    """Find the nearest facts of updated groups, or those of the most popular subjects."""

    space: Annotated[Path, "the folder that `space` wrote"]
    holding: Annotated[Paths, "what `holding` wrote"]
    candidates: Annotated[int, Key("neighbors.entities")]
    facts: Annotated[int, Key("neighbors.facts")]
    part: Annotated[str, "of the updated subjects, 0-of-4 to 3-of-4"] = "0-of-1"
    popularity: Annotated[Path | None, "of every item: take the facts of the most popular subjects"] = None

    def run(self) -> None:
        from factdrift.neighbors.facts import Limits, popular, search

        limits = Limits(self.candidates, self.facts)
        with self.database() as db:
            if self.popularity:
                files = (self.updates, self.space, self.holding, self.popularity)
                popular(db, *files, self.facts, self.output)
                return
            search(db, self.updates, self.space, self.holding, limits, self.part, self.output)


class Gather(Job, command="neighbors gather"):
    """Join the parts of the nearest facts into one table."""

    parts: Annotated[Paths, "in their order"]
    output: Output

    def run(self) -> str | None:
        if len(self.parts) == 1:
            from factdrift.core.owned import copy_file

            # One part is the table, byte for byte; the libraries of tables would take longer to start.
            copy_file(self.parts[0], self.output)
            return None
        from factdrift.neighbors.facts import gather

        return f"{gather(self.parts, self.output):,} nearest facts"


class Random(OfUpdates, command="neighbors random"):
    """Draw random facts for every updated group."""

    space: Annotated[Path, "the folder that `space` wrote"]
    neighbors: Annotated[Path, "what `search` found"]
    replacements: Annotated[Path, "the groups whose nearest facts are the pool"]
    facts: Annotated[int, Key("neighbors.random")]
    seed: Annotated[int, Key("seed")]

    def run(self) -> None:
        from factdrift.neighbors.other_facts import Pool, draw

        pool = Pool(self.neighbors, self.replacements)
        with self.database() as db:
            draw(db, self.updates, pool, self.space, self.facts, self.seed, self.output)


class SharedObjects(OfFacts, command="neighbors shared-objects"):
    """Find facts of other subjects with the old or the new object of a replacement."""

    space: Annotated[Path, "the folder that `space` wrote"]
    old: Annotated[Paths, "the old dump's filtered statements"]
    new: Annotated[Paths, "the new dump's filtered statements"]
    new_date: Annotated[date, "T_new"]
    candidates: Annotated[int, Key("neighbors.entities")]
    facts: Annotated[int, Key("neighbors.facts")]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, "the facts with the old object"]
    out_new: Annotated[Output, "the facts with the new object"]

    def run(self) -> str:
        from factdrift.neighbors.facts import Dates, Limits, Naming, holds
        from factdrift.neighbors.other_facts import DayStatements, create_shared_objects, write_shared_objects
        from factdrift.neighbors.vectors import open_space

        dates, limits = Dates(self.variant, self.dates), Limits(self.candidates, self.facts)
        old = DayStatements(self.old, holds(self.old_date, dates))
        new = DayStatements(self.new, holds(self.new_date, dates))
        vectors = open_space(self.space)
        with self.database() as db:
            create_shared_objects(db, self.updates, old, new, Naming(self.entities, self.labels))
            obsolete = write_shared_objects(db, "obsolete", vectors, limits, self.seed, self.output)
            added = write_shared_objects(db, "new", vectors, limits, self.seed, self.out_new)
        return f"{obsolete:,} facts with an obsolete object, {added:,} with a new one"

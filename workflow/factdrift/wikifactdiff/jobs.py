"""Jobs that make the datasets of labelled updates, and the list of a dataset's updates."""

import datetime
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.jobs import Day, Flag, Job, Key, Output, Paths, Role
from factdrift.core.products import former_lines, pair_of
from factdrift.core.switches import Variant

Buckets = Annotated[Paths, "all buckets"]
Groups = Annotated[Path, "what `select` wrote"]


class Popularity(Job, command="wikifactdiff popularity", implied_inputs="pageviews"):
    """Compute the page views, or sitelinks, of every item."""

    new: Annotated[Paths, "entities of the snapshot of that date, all buckets"]
    old: Annotated[Paths, "entities of another snapshot, for what only it has"] = ()
    pageviews: Annotated[str, "monthly files; none: use sitelinks", Flag("DIRECTORY|none")]
    date: Annotated[datetime.date, "of the dump before which the views count"]
    months: Annotated[int, Key("method.popularity_months")]
    threads: int = 1
    output: Output

    def run(self) -> None:
        from factdrift.core.tables import database
        from factdrift.wikifactdiff.popularity import popularity

        pageviews = None if self.pageviews == "none" else Path(self.pageviews)
        with database(3000, self.threads) as db:
            popularity(db, self.new, self.old, pageviews, self.date, self.months, self.output)


class Select(Job, command="wikifactdiff select"):
    """Select the groups of WFD_repl; with --dataset and --groups, write their records, wfd_repl.parquet."""

    updates: Annotated[Paths, "labelled triples, all buckets"] = ()
    dataset: Annotated[Path | None, "the assembled wikifactdiff.parquet"] = None
    groups: Annotated[Path | None, "what `select` wrote of the updates"] = None
    undersample: Annotated[dict[str, int], Key("undersample")]
    seed: Annotated[int, Key("seed")]
    output: Output

    def run(self) -> None:
        from factdrift.wikidata.ids import property_number
        from factdrift.wikifactdiff.replacements import select_replacements, write_replacements

        if self.dataset is not None and self.groups is not None and not self.updates:
            write_replacements(self.dataset, self.groups, self.output)
        elif self.updates and self.dataset is None and self.groups is None:
            factors = {property_number(relation): factor for relation, factor in self.undersample.items()}
            select_replacements(self.updates, self.output, factors, self.seed)
        else:
            raise InputError("give either --updates, or --dataset and --groups")


class Assemble(Job, command="wikifactdiff assemble", implied_inputs="words"):
    """Write wikifactdiff.parquet: one record an update."""

    updates: Annotated[Paths, "labelled triples, all buckets"]
    old_entities: Buckets
    new_entities: Buckets
    old_properties: Path
    new_properties: Path
    labels: Annotated[Paths, "id, label of what the dumps lack"] = ()
    popularity: Annotated[Path, "what `popularity` wrote"]
    templates: Annotated[Path, "sentence templates of every relation"]
    literals: Annotated[Path, "literals as people write them"]
    neighbors: Annotated[Path, "nearest facts"]
    random_neighbors: Annotated[Path, "random facts"]
    popular_neighbors: Annotated[Path | None, "facts of popular subjects"] = None
    funnel: Annotated[Path, "what `funnel` wrote; an error names it"]
    old_date: Annotated[Day, "for the error about a dataset without updates; so is the next one"]
    new_date: Day
    may_be_empty: Annotated[bool, "no update at all is no error", Role("resources")] = False
    threads: int = 1
    variant: Annotated[Variant, Key("variant")]
    subject_names: Annotated[Literal["variant", "label", "unique"], Key("subject_names")]
    grammar: Annotated[Literal["variant", "fitted", "plain"], Key("grammar")]
    measurements: Annotated[Literal["variant", "plain", "dated"], Key("measurements")]
    seed: Annotated[int, Key("seed")]
    test_share: Annotated[float, Key("test_share")]
    output: Output

    def run(self) -> None:
        from factdrift.core.tables import database
        from factdrift.wikifactdiff.assemble import Choice, Tables, assemble

        without_updates = (
            f"no update between {self.old_date} and {self.new_date} reaches the dataset; {self.funnel} "
            "counts, for each relation, the triples that each filter or rule dropped; choose other dates, or "
            "widen 'only'"
        )
        if self.may_be_empty:
            without_updates = ""
        with database(3000, self.threads) as db:
            assemble(db, self.fill(Tables), self.fill(Choice), without_updates, self.output)


class Stats(Job, command="wikifactdiff stats"):
    """Write counts of both datasets, as JSON."""

    dataset: Annotated[Path, "wikifactdiff.parquet"]
    groups: Groups
    beside: Annotated[Path | None, "a table that `edit import` wrote, to be counted beside them"] = None
    output: Output

    def run(self) -> None:
        from factdrift.wikifactdiff.accounts import write_stats

        write_stats(self.dataset, self.groups, self.output, self.beside)


class Funnel(Job, command="wikifactdiff funnel"):
    """Count triples dropped and labelled per stage, relation and reason."""

    report: Annotated[Path, "the preprocessing report"]
    updates: Annotated[Paths, "labelled triples, all buckets"]
    untouched: Annotated[Paths, "counts of the triples that are not among them, all buckets"]
    groups: Groups
    output: Output

    def run(self) -> None:
        from factdrift.wikifactdiff.accounts import write_funnel

        write_funnel(self.report, self.updates, self.untouched, self.groups, self.output)


class Export(Job, command="wikifactdiff export"):
    """Write JSON Lines in the layout of the public dataset."""

    dataset: Annotated[Path, "wikifactdiff.parquet or wfd_repl.parquet"]
    output: Output

    def run(self) -> None:
        from factdrift.wikifactdiff.export import export

        export(self.dataset, self.output)


class Sides(NamedTuple):
    """A file of the old and one of the new date."""

    old: Path
    new: Path


class Manifest(Job, command="wikifactdiff manifest"):
    """Write dumps, configuration, versions and counts, as JSON."""

    old_date: Day
    new_date: Day
    dumps: Annotated[Sides, "what `snapshots checksum` wrote of them"]
    snapshots: Annotated[Sides, "snapshot.json of the dumps"]
    samples: Annotated[Paths, "accounts of the bundled sample, of dates whose dumps are made from it"] = ()
    sample_dates: Annotated[tuple[str, ...], "these dates"] = ()
    configuration: Annotated[dict[str, Any], "resolved settings"]
    tables: Annotated[Paths, "Parquet files to count the rows of"] = ()
    funnel: Annotated[Path, "what `funnel` wrote"]
    output: Output

    def run(self) -> None:
        from factdrift.wikifactdiff.accounts import DumpAccounts, write_manifest

        if len(self.samples) != len(self.sample_dates):
            raise InputError(
                f"--samples: {len(self.samples)} files, but --sample-dates: {len(self.sample_dates)}"
            )
        accounts = map(DumpAccounts, self.dumps, self.snapshots)
        dumps = dict(zip((self.old_date, self.new_date), accounts, strict=True))
        samples = dict(zip(self.sample_dates, self.samples, strict=True))
        write_manifest(dumps, samples, self.configuration, self.tables, self.funnel, self.output)


class Show(Job, command="show"):
    """List updates by popularity, name, relation or date; print those of one subject.

    Without --subject, lists the most popular updates. With --subject, prints each of its updates whole, its
    objects in the order of time, with the rule that decided.
    """

    dataset: Annotated[
        Path | None,
        "default: results/wikifactdiff.parquet, else results/wfd_repl.parquet",
        Flag("FILE.parquet", positional=True),
    ] = None
    subject: Annotated[str | None, "print the updates of this item whole", Flag("Q30|NAME")] = None
    relation: Annotated[str | None, "only this relation", Flag("P6|NAME")] = None
    search: Annotated[str | None, "list what has it in the name of subject or object", Flag("TEXT")] = None
    since: Annotated[datetime.date | None, "list what began, ended or was then", Flag("2022-01-01")] = None
    limit: Annotated[int | None, "updates to print at most (default: 20 in lists, else all)", Flag("N")] = (
        None
    )

    def run(self) -> str:
        from factdrift.wikifactdiff import show

        dataset = self.dataset or show.default_dataset()
        if self.subject is None:
            wanted = show.Wanted(self.search, self.relation, self.since)
            limit = show.LIMIT if self.limit is None else self.limit
            return "\n".join(show.list_lines(dataset, wanted, limit, sys.stdout))
        if self.search is not None or self.since is not None:
            raise InputError("--subject prints the updates of one item; leave out --search and --since")
        records = show.find(dataset, self.subject, self.relation, self.limit)
        former = former_lines(dataset.parent, pair_of(dataset))
        return "\n".join([*show.lines(records, sys.stdout), *former])

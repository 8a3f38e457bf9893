"""Jobs that publish products: under short names, in folders for other people, as releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place


class File(Job, command="publish file", implied_inputs="report caption"):
    """Copy a finished file; the copy appears only when it is complete."""

    source: Annotated[Path, Flag(positional=True)]
    output: Annotated[Output, Flag(positional=True)]

    def run(self) -> None:
        from factdrift.core.owned import copy_file

        copy_file(self.source, self.output)


class Folders(Job, command="publish folders", implied_inputs="words"):
    """Write a folder for each data set, which common libraries load and which describes itself.

    A data set gets a folder if one of its products is among the given files.
    """

    products: Annotated[Paths, "products, as in results/", Flag("FILE", positional=True)]
    manifest: Annotated[Path, "manifest.json of the build"]
    answers: Annotated[Paths, "answers of a chat model that the build has used"] = ()
    store: Annotated[Place | None, "folder of the store that has these answers"] = None
    date: Annotated[str, Key("publish.date")]
    url: Annotated[str, Key("publish.url")]
    output: Annotated[Output, "made anew; must not exist", Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.publish.folders import Inputs, write_folders

        if bool(self.answers) != bool(self.store):
            raise InputError("--answers and --store belong together; give both or neither")
        inputs = Inputs(*(getattr(self, name) for name in Inputs._fields))
        written = write_folders(inputs, self.output)
        return "\n".join(f"{self.output / name}: {rows:,} rows" for name, rows in written.items())


class Mismatches(Job, command="mismatches"):
    """Write statements of a dump that contradict themselves or others, for Wikidata's Mismatch Finder.

    For example: factdrift mismatches results/snapshots/2023-02-27 --relations P6 P35 -o mismatches.csv
    """

    snapshot: Annotated[Place, "folder of a dump's tables", Flag("FOLDER", positional=True)]
    relations: Annotated[
        tuple[str, ...], "with one value at a time, besides those whose constraint says so", Flag("P6")
    ] = ()
    partial: Annotated[tuple[str, ...], Key("audit.partial_properties")]
    output: Annotated[Output, Flag("CSV")]

    def run(self) -> str:
        from factdrift.publish.mismatches import write_mismatches
        from factdrift.wikidata.ids import listed_property

        relations = [listed_property(relation, "--relations") for relation in self.relations]
        partial = [listed_property(qualifier, "--partial") for qualifier in self.partial]
        counts = write_mismatches(self.snapshot, relations, partial, self.output)
        listed = ", ".join(f"{number:,} {kind}" for kind, number in sorted(counts.items()))
        return f"{self.output}: {sum(counts.values()):,} statements ({listed or 'none'})"


class Results(Job, command="publish results"):
    """Write the scores of `answer grid` for the hub (.eval_results) and for Every Eval Ever (JSON).

    For example: factdrift publish results results/answer_grid.parquet --hub NAME --date 2026-11-29
    --runs results/*/evaluation/*/*/*/*.json -o build/scores
    """

    grid: Annotated[Path, "answer_grid.parquet", Flag(positional=True)]
    runs: Annotated[Paths, "descriptions of the jobs", Flag("JSON")]
    hub: Annotated[str, "the account that has the published folders"]
    date: Annotated[str, "day of the results, YYYY-MM-DD"]
    output: Annotated[Output, "made anew; must not exist", Flag("FOLDER")]

    def run(self) -> str:
        from factdrift.publish.results import write_results

        entries, records = write_results(self.grid, self.runs, self.hub, self.date, self.output)
        return f"{self.output}: {entries} scores for the hub, {records} records for Every Eval Ever"


class Release(Job, command="release"):
    """Copy the products of a sequence of dates into a folder of their own."""

    files: Annotated[Paths, "products, one of them stream.parquet"]
    dates: Annotated[tuple[str, ...], "the sequence, YYYY-MM-DD"]
    dumps: Annotated[dict[str, str], "JSON: date -> source of its dump"]
    configuration: Annotated[dict[str, Any], "JSON: what a release depends on"]
    output: Annotated[Output, "the folder"]

    def run(self) -> str:
        from factdrift.publish.releases.release import Release, write_release

        write_release(self.files, Release([*self.dates], self.dumps, self.configuration), self.output)
        return f"{self.output}: {len(self.files)} files"


class Refresh(Job, command="refresh"):
    """Make a release of each new dump: for cron, once a month or more often.

    For example: factdrift refresh --configfile my.yaml -- --cores 16
    """

    configfile: Annotated[Path | None, "a configuration beside config/config.yaml"] = None
    contact: Annotated[str | None, "for servers; else `contact` of the configuration"] = None
    snakemake: Annotated[
        tuple[str, ...], "for Snakemake, after `--` (default: --cores all)", Flag("ARGUMENT", positional=True)
    ] = ()

    def run(self) -> None:
        from factdrift.publish.releases.refresh import refresh

        if status := refresh(self.configfile, self.contact, self.snakemake):
            raise SystemExit(status)

"""The command `factdrift recent`: a dataset of a period from Wikidata's servers, without dumps."""

import datetime
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from factdrift.core.addresses import QUERY_SERVICE, WIKIDATA_API, access_token, check_address
from factdrift.core.commands import program
from factdrift.core.errors import InputError
from factdrift.core.files import read_tsv, write_text
from factdrift.core.jobs import Flag, Job
from factdrift.core.owned import LIST, check_unchanged, claim
from factdrift.core.paths import SNAKEFILE, TEMPRIPPLE
from factdrift.core.settings import contact_of
from factdrift.wikidata.ids import entity_id, property_id, property_number

_FIRST = datetime.date(2012, 11, 1)
"""Wikidata began on 29 October 2012, and has no revisions of before."""


class Recent(Job, command="recent"):
    """Build the dataset of a period from Wikidata's servers, without dumps.

    The Wikidata Query Service finds the items with a statement that started or ended in the period.
    Wikidata's API gives these items as of both ends of the period (docs/small-real-builds.md).
    """

    since: Annotated[datetime.date, "the first day of the period"]
    until: Annotated[datetime.date | None, "the day after the period (default: yesterday)"] = None
    relations: Annotated[str, "default: those of resources/tempripple/mutable.tsv", Flag("P6,P35,...")] = ""
    limit: Annotated[int, "items that are fetched"] = 500
    scope: Annotated[
        Literal["enwiki", "anywiki", "all"], "with enwiki only items with an English article"
    ] = "enwiki"
    contact: Annotated[str, "your mail or web address, sent to the server; else FACTDRIFT_CONTACT"] = ""
    endpoint: Annotated[str, "the SPARQL server"] = QUERY_SERVICE
    api: Annotated[str, "address of the API"] = WIKIDATA_API
    cores: Annotated[str, "of the build"] = "2"
    plan: Annotated[bool, "write the list and the configuration, and print the command"] = False

    def run(self) -> None:
        from factdrift.snapshots.recent.search import Search, chosen, search
        from factdrift.sparql.client import Client

        contact = contact_of(self.contact)
        today = datetime.datetime.now(datetime.UTC).date()
        until = self.until or today - datetime.timedelta(days=1)
        _check(self, until, today)
        wanted = Search(_relations(self.relations), self.since, until, self.scope)
        if self.until is None:
            print(f"--until {until}: to continue this run on another day, name the same day", flush=True)
        name = f"{self.since}_{until}"
        client = Client(self.endpoint, contact, Path("results/fetched/recent", name))
        changes = search(client, wanted)
        print(f"{self.endpoint}: {client.requests:,} requests; the other answers had been kept")
        if not changes:
            raise InputError(
                f"no item has a statement of these relations that is dated from {self.since} on and before "
                f"{until}; name other relations, a longer period, or --scope all"
            )
        items = chosen(changes, self.limit)
        config = _write_plan(Path("results/recent", name), wanted, changes, items, self.api)
        counts = Counter(relation for relations in changes.values() for relation in relations)
        for relation in wanted.relations:
            print(f"{property_id(relation)}: {counts[relation]:,} items")
        left_out = len(changes) - len(items)
        beyond = f"; {left_out:,} left out by --limit" if left_out else ""
        print(f"{config.parent / 'entities.txt'}: {len(items):,} items{beyond}")
        arguments = ["--cores", self.cores, "results/wikifactdiff.parquet", "--configfile", str(config)]
        if self.plan:
            print(shlex.join([program("snakemake"), *arguments, "--config", f"contact={contact}"]))
            return
        os.environ["FACTDRIFT_CONTACT"] = contact
        sys.stdout.flush()
        snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
        os.execv(sys.executable, [*snakemake, *arguments])


def _check(job: Recent, until: datetime.date, today: datetime.date) -> None:
    """Raises InputError for options with which the run would fail later."""
    if until >= today:
        raise InputError(f"--until {until}: the day is not over (UTC); its revisions can still change")
    if job.since < _FIRST:
        raise InputError(f"--since {job.since}: Wikidata's revisions begin shortly before {_FIRST}")
    if job.since >= until:
        raise InputError(f"--since {job.since} is not before --until {until}; change one of them")
    if job.limit < 1:
        raise InputError(f"--limit {job.limit}: must be 1 or more")
    if not re.fullmatch("all|[1-9][0-9]*", job.cores):
        raise InputError(f"--cores {job.cores}: must be a number from 1 on, or `all`")
    for option in ("endpoint", "api"):
        check_address(f"--{option}", getattr(job, option))
    access_token(job.api)
    if not job.plan and not SNAKEFILE.is_file():
        raise InputError(
            "the workflow is not part of an installed package; run this in a checkout, or with --plan, "
            "and give the configuration to your own workflow"
        )


def _write_plan(folder: Path, wanted: Any, changes: Any, items: Sequence[int], api: str) -> Path:
    """Writes `entities.txt` and `config.yaml` into a folder; returns the path of the latter.

    A file that would have the same content is left as it is, so that a repeated run makes nothing again.
    Raises InputError, and writes nothing, if another one was changed since it was written.
    """
    import yaml

    entities, path = folder / "entities.txt", folder / "config.yaml"
    asked = ", ".join(property_id(relation) for relation in wanted.relations)
    last = wanted.until - datetime.timedelta(days=1)
    lines = [
        f"# {len(items)} of {len(changes)} items with a statement of {asked}",
        f"# dated {wanted.since} to {last}",
        *(f"{entity_id(item)}  # {' '.join(map(property_id, sorted(changes[item])))}" for item in items),
    ]
    # A date is inside if it is strictly between the dates of the two snapshots, which are as of the ends of
    # their days.
    old, new = str(wanted.since - datetime.timedelta(days=1)), str(wanted.until)
    config = {
        "snapshots": {"old": old, "new": new},
        "dumps": {date: {"entities": str(entities)} for date in (old, new)},
        "wikidata_api": api,
        "scope": wanted.scope,
        "only": {"relations": [property_id(relation) for relation in wanted.relations]},
        "undersample": {"P1082": 1},
    }
    texts = {entities: "\n".join(lines) + "\n", path: yaml.safe_dump(config, sort_keys=False)}
    others = [file for file in texts if not file.is_file() or file.read_bytes() != texts[file].encode()]
    claim(folder, (file.name for file in texts))
    # The list was touched last when this command wrote the files.
    written = (folder / LIST).stat().st_ctime_ns
    for file in others:
        check_unchanged(file, lambda file: file.stat().st_ctime_ns <= written)
    for file in others:
        write_text(texts[file], file)
    (folder / LIST).touch()
    return path


def _relations(text: str) -> list[int]:
    """`P35,P6` -> [6, 35]; of an empty text all relations of TempRIPPLE that change."""
    if not text:
        return sorted(property_number(row["property"]) for row in read_tsv(TEMPRIPPLE / "mutable.tsv"))
    try:
        return sorted({property_number(relation.strip()) for relation in text.split(",")})
    except ValueError as error:
        raise InputError(f"--relations: {error}") from error

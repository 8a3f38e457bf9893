"""The command `factdrift recent`: a dataset of a period from Wikidata's servers, without dumps."""

from __future__ import annotations

import csv
import datetime
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from factdrift.core.addresses import QUERY_SERVICE, WIKIDATA_API
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job
from factdrift.core.paths import SNAKEFILE, TEMPRIPPLE

if TYPE_CHECKING:
    from factdrift.snapshots.recent.search import Found, Search

_FIRST = datetime.date(2012, 11, 1)
"""Wikidata began on 29 October 2012, and has no revisions of before."""


class Recent(Job, command="recent"):
    """A dataset of a period from Wikidata's servers, without dumps.

    Which items have a statement that started or ended in a period, by the Wikidata Query Service; then the
    dataset of these items, fetched from Wikidata's API as of both ends of the period
    (docs/small-real-builds.md).
    """

    since: Annotated[datetime.date, "the first day of the period"]
    until: Annotated[datetime.date | None, "the day after the period (default: yesterday)"] = None
    relations: Annotated[str, "default: those of resources/tempripple/mutable.tsv", Flag("P6,P35,...")] = ""
    limit: Annotated[int, "items that are fetched"] = 500
    changed: Annotated[bool, "also items edited in the period for any reason"] = False
    scope: Annotated[
        Literal["enwiki", "anywiki", "all"], "with enwiki only items with an English article"
    ] = "enwiki"
    contact: Annotated[str, "your mail or web address, sent to the server; else FACTDRIFT_CONTACT"] = ""
    endpoint: Annotated[str, "the SPARQL server"] = QUERY_SERVICE
    api: Annotated[str, "address of the API"] = WIKIDATA_API
    cores: Annotated[str, "of the build"] = "2"
    plan: Annotated[bool, "write the list and the configuration, and print the command"] = False

    def run(self) -> None:
        from factdrift.core.settings import contact_of
        from factdrift.snapshots.recent.plan import arguments, shown, write_plan
        from factdrift.snapshots.recent.search import chosen, search
        from factdrift.sparql.answers import Answers
        from factdrift.sparql.client import Client

        contact = contact_of(self.contact)
        wanted = _wanted(self)
        if self.until is None:
            print(f"--until {wanted.until}: to continue this run on another day, name the same day")
            sys.stdout.flush()
        name = f"{wanted.since}_{wanted.until}"
        answers = Answers(Path("results/fetched/recent", name), self.endpoint)
        client = Client(self.endpoint, contact, answers)
        changes = search(client, wanted)
        print(f"{self.endpoint}: {client.requests:,} requests; the other answers had been kept")
        if not changes:
            raise InputError(
                f"no item has a statement of these relations that is dated from {wanted.since} on and before "
                f"{wanted.until}; name other relations, a longer period, or --scope all"
            )
        items = chosen(changes, self.limit)
        config = write_plan(Path("results/recent", name), wanted, changes, items, self.api)
        _report(wanted, changes, items, config)
        if self.plan:
            print(shown(config, self.cores, contact))
            return
        os.environ["FACTDRIFT_CONTACT"] = contact
        line = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
        sys.stdout.flush()
        os.execv(sys.executable, [*line, *arguments(config, self.cores)])


def _wanted(job: Recent) -> Search:
    """The search that the options describe. Raises InputError for what would fail later."""
    from factdrift.core.addresses import access_token, check_address
    from factdrift.snapshots.recent.search import Search

    today = datetime.datetime.now(datetime.UTC).date()
    until = job.until or today - datetime.timedelta(days=1)
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
    return Search(_relations(job.relations), job.since, until, today, job.changed, job.scope)


def _report(wanted: Search, changes: Found, items: list[int], config: Path) -> None:
    from factdrift.wikidata.ids import property_id

    counts = Counter(relation for relations in changes.values() for relation in relations)
    for relation in wanted.relations:
        print(f"{property_id(relation)}: {counts[relation]:,} items")
    left_out = len(changes) - len(items)
    beyond = f"; {left_out:,} left out by --limit" if left_out else ""
    print(f"{config.parent / 'entities.txt'}: {len(items):,} items{beyond}")


def _relations(text: str) -> list[int]:
    """`P35,P6` -> [6, 35]; of an empty text all relations of TempRIPPLE that change."""
    from factdrift.wikidata.ids import property_number

    if not text:
        with (TEMPRIPPLE / "mutable.tsv").open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t")
            return sorted(property_number(row["property"]) for row in rows)
    try:
        return sorted({property_number(relation.strip()) for relation in text.split(",")})
    except ValueError as error:
        raise InputError(f"--relations: {error}") from error

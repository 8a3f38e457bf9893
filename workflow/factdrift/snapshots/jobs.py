"""Jobs that write the dump of a day (rendered, derived, fetched by the API, downloaded), and page views."""

import dataclasses
import datetime
import json
import sys
from pathlib import Path
from typing import Annotated, Literal

from factdrift.core.addresses import WIKIDATA_API, access_token, check_address
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Output, Place
from factdrift.core.paths import DUMPS, SAMPLE


class Render(Job, command="sample render", implied_inputs="facts"):
    """Write the sample as a dump of a day."""

    tables: Annotated[Path, "folder of the tables"] = SAMPLE
    date: Annotated[datetime.date, "the day"]
    output: Annotated[Output, "the dump: .json, .json.gz, .json.bz2 or .json.zst"]
    account: Annotated[Output | None, "what the manifest says of the sample, .json"] = None

    def run(self) -> None:
        from factdrift.core.exhausted import without_collector
        from factdrift.core.files import write_json
        from factdrift.snapshots.compression import dump_writer
        from factdrift.snapshots.sample.account import account, read_parts, warning
        from factdrift.snapshots.sample.model import MEMBER_SIZE, entity_lines
        from factdrift.snapshots.sample.tables import read_sample
        from factdrift.wikidata.time import pack_date

        with without_collector():
            sample = read_sample(self.tables)
            parts, day = read_parts(self.tables), self.date.isoformat()
            lines = list(entity_lines(sample, pack_date(self.date)))
        with dump_writer(self.output, MEMBER_SIZE) as writer:
            for line in lines:
                writer.write(line)
        print(f"{self.output}: {len(lines):,} entities")
        if self.account is not None:
            write_json(account(parts, day), self.account, indent=2)
        if text := warning(parts, day):
            print(f"{self.output}: {text}", file=sys.stderr)


class Checksum(Job, command="snapshots checksum"):
    """Write name, size and checksum of a dump, and the digest that its snapshot has."""

    dump: Path
    kind: Annotated[Literal["sha1", "sha256"], "Wikidata publishes the first"] = "sha1"
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        from factdrift.core.files import digests_of, identity, write_json

        if not self.dump.is_file():
            raise InputError(f"{self.dump}: the dump is missing; its checksum belongs in the manifest")
        write_json(identity(self.dump) | digests_of(self.dump, [self.kind]), self.output, indent=2)


class Derive(Job, command="snapshots derive"):
    """Approximate an old dump by the dates in a newer one."""

    dump: Annotated[Path, "the newer dump, in any compression"]
    date: Annotated[datetime.date, "the day of the old dump"]
    output: Annotated[Output, "the old dump, .json.gz"]

    def run(self) -> str:
        from factdrift.snapshots.derive import derive_dump
        from factdrift.wikidata.time import pack_date

        counts = derive_dump(self.dump, pack_date(self.date), self.output)
        return f"{self.output}: {json.dumps(dataclasses.asdict(counts))}"


class Entities(Job, command="snapshots entities"):
    """Fetch entities as of a day from Wikidata's API, as a dump."""

    ids: Annotated[Path, "file with one id (Q30, P6) a line"]
    date: Annotated[datetime.date, "the day"]
    contact: Annotated[str, "your mail or web address, sent to the server; else FACTDRIFT_CONTACT"] = ""
    api: Annotated[str, "address of the API"] = WIKIDATA_API
    store: Annotated[Place, "folder that keeps the answers"]
    with_objects: Annotated[bool, "fetch items among the values as of the day, too"] = False
    fetched: Annotated[Output, "table of all entities fetched, .parquet"]
    output: Annotated[Output, "the dump, .json.gz"]

    def run(self) -> str:
        from factdrift.core.settings import read_ids
        from factdrift.snapshots.api.client import LIMITS, POLICY, Api
        from factdrift.snapshots.api.entities import fetch_entities
        from factdrift.snapshots.fetch import Client

        check_address("--api", self.api)
        ids, day = read_ids(self.ids, "dumps"), self.date.isoformat()
        api = Api(self.api, Client(self.contact, POLICY, LIMITS, token=access_token(self.api)))
        outputs = self.output, self.fetched
        fetched = fetch_entities(ids, day, api, self.store, self.with_objects, *outputs)
        return f"{self.output}: {json.dumps(dataclasses.asdict(fetched))}"


class Download(Job, command="snapshots download"):
    """Download a dump, or filter a month of page views while it streams; continues an earlier download."""

    when: Annotated[
        str, "YYYY-MM-DD: the dump of that day; YYYY-MM: page views of that month", Flag(positional=True)
    ]
    registry: Annotated[Path, "another registry of dumps than the bundled one"] = DUMPS
    output: Annotated[Output, "the dump (OUTPUT.part holds what has arrived), or a table: title, views"]
    url: Annotated[
        str | None,
        "another address: of the dump, with #sha1=SUM or #md5=SUM if known; of Wikimedia's folder of months",
    ] = None
    contact: Annotated[
        str, "your mail or web address, sent to the servers (else FACTDRIFT_CONTACT); required"
    ] = ""
    tries: Annotated[int, "failures in a row to give up after"] = 10

    def run(self) -> str | None:
        from factdrift.core.retry import RetryPolicy
        from factdrift.snapshots.download import download
        from factdrift.snapshots.fetch import Client
        from factdrift.snapshots.pageviews import WIKIMEDIA, filter_month, month_url
        from factdrift.snapshots.registry import dump_at, find_dump

        if self.output.is_dir():
            raise InputError(f"{self.output}: is a folder; name a file")
        if self.tries < 1:
            raise InputError(f"--tries {self.tries}: must be 1 or more")
        of_month = len(self.when) == len("2022-03")
        try:
            date = datetime.date.fromisoformat(f"{self.when}-01" if of_month else self.when).isoformat()
        except ValueError:
            raise InputError(f"{self.when!r} is no day and no month; write 2021-01-04 or 2022-03") from None
        if self.url:
            check_address("--url", self.url, secrets=True)
        client = Client(self.contact, RetryPolicy(tries=self.tries))
        if of_month:
            pages, _ = filter_month(month_url(date[:7], self.url or WIKIMEDIA), self.output, client)
            return f"{self.output}: {pages:,} pages"
        dump = dump_at(date, self.url) if self.url else find_dump(date, self.registry)
        download(dump, self.output, client)
        return None

"""Jobs that write the dump of a day: from the sample, from a newer dump, or from Wikidata's API."""

import dataclasses
import datetime
import json
import sys
from pathlib import Path
from typing import Annotated, Literal

from factdrift.core.addresses import WIKIDATA_API
from factdrift.core.jobs import Flag, Job, Output, Place
from factdrift.core.paths import SAMPLE


class Render(Job, command="sample render", beside="facts"):
    """Write the sample as a dump of a day."""

    tables: Annotated[Path, "folder of the tables"] = SAMPLE
    date: Annotated[datetime.date, "the day"]
    output: Annotated[Output, "the dump: .json, .json.gz, .json.bz2 or .json.zst"]
    account: Annotated[Output | None, "what the manifest says of the sample, .json"] = None

    def run(self) -> None:
        from factdrift.core.files import write_json
        from factdrift.snapshots.sample.account import account, read_parts, warning
        from factdrift.snapshots.sample.render import render_dump
        from factdrift.snapshots.sample.tables import read_sample
        from factdrift.wikidata.time import pack_date

        sample = read_sample(self.tables)
        parts, day = read_parts(self.tables), self.date.isoformat()
        entities = render_dump(sample, pack_date(self.date), self.output)
        print(f"{self.output}: {entities:,} entities")
        if self.account is not None:
            write_json(account(parts, day), self.account, indent=2)
        if text := warning(parts, day):
            print(f"{self.output}: {text}", file=sys.stderr)


class Check(Job, command="sample check"):
    """Read and check the tables; count checked facts and made-up ids."""

    tables: Annotated[Path, "folder of the tables"] = SAMPLE
    results: Annotated[Place, "folder whose Parquet files are looked at too"] = Path("results")

    def run(self) -> None:
        from factdrift.snapshots.sample.account import made_up_ids, read_parts, report
        from factdrift.snapshots.sample.tables import read_sample

        read_sample(self.tables)
        print("\n".join(report(read_parts(self.tables))))
        for path in sorted(self.results.glob("*.parquet")):
            items, made_up = made_up_ids(path)
            print(f"{path}: {items:,} items, {made_up:,} with an id made up")


class Checksum(Job, command="snapshots checksum"):
    """Write name, size and checksum of a dump, as the manifest has them."""

    dump: Path
    kind: Annotated[Literal["sha1", "sha256"], "Wikidata publishes the first"] = "sha1"
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> None:
        from factdrift.core.errors import InputError
        from factdrift.core.files import digests_of, write_json

        if not self.dump.is_file():
            raise InputError(f"{self.dump}: the dump is missing; its checksum belongs in the manifest")
        about = {"file": self.dump.name, "bytes": self.dump.stat().st_size}
        write_json(about | digests_of(self.dump, [self.kind]), self.output, indent=2)


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
        from factdrift.core.addresses import access_token, check_address
        from factdrift.core.settings import read_ids
        from factdrift.snapshots.api.client import LIMITS, POLICY, Api
        from factdrift.snapshots.api.entities import fetch_entities
        from factdrift.snapshots.fetch import Client

        check_address("--api", self.api)
        fetched = fetch_entities(
            read_ids(self.ids, "dumps"),
            self.date.isoformat(),
            Api(self.api, Client(self.contact, POLICY, LIMITS, token=access_token(self.api))),
            self.store,
            self.with_objects,
            self.output,
            self.fetched,
        )
        return f"{self.output}: {json.dumps(dataclasses.asdict(fetched))}"

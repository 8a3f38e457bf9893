"""Jobs that show a build to people: the report, the explorer and what differs between two builds."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from factdrift.core.jobs import Flag, Job, Output, Place

OfPair = Annotated[Place, "folder of the pair of dates", Flag("results/OLD_NEW", positional=True)]
OF_NEWEST = ("folder of the pair of dates; default: the newest", Flag("results/OLD_NEW"))
Build = Annotated[Path, "folder with wikifactdiff.parquet and manifest.json"]


class Report(Job, command="report", implied_inputs="manifest tables shown layout caption"):
    """Write one page about a build: what changed, and how it was decided."""

    pair: OfPair
    stream: Annotated[Path | None, "of many dates, beside the page", Flag("PARQUET")] = None
    cutoff: Annotated[Path | None, "dates of models, beside the page", Flag("PARQUET")] = None
    output: Annotated[Output, "beside the pair's folder", Flag("HTML")]

    def run(self) -> str:
        from factdrift.core.progress import size_text
        from factdrift.pages.report.blocks import Build
        from factdrift.pages.report.page import write_page

        build = Build(self.pair.parent, self.pair, Path("logs"), self.stream, self.cutoff)
        write_page(build, self.output)
        return f"{self.output}: {size_text(self.output.stat().st_size)}"


class Browse(Job, command="browse", implied_inputs="manifest tables snapshots scores layout"):
    """Look at a build in a browser: both dumps side by side, decisions, neighbours, answers.

    With --output, write the same pages as files, which need no server.

    For example: factdrift browse --pair results/2021-01-04_2023-02-27
    """

    pair: Annotated[Place | None, *OF_NEWEST] = None
    port: Annotated[int, "0 for a free one", Flag(by_hand=True)] = 8765
    index: Annotated[Place | None, "default: in the cache folder of the user", Flag("FILE", by_hand=True)] = (
        None
    )
    no_browser: Annotated[bool, "only print the address", Flag(by_hand=True)] = False
    output: Annotated[Output | None, Flag("FOLDER")] = None

    def run(self) -> str | None:
        from factdrift.core.owned import scratch
        from factdrift.core.tables import database
        from factdrift.pages.browse.build import Build
        from factdrift.pages.browse.index import index_of
        from factdrift.pages.browse.pages import export
        from factdrift.pages.browse.search import Index
        from factdrift.pages.browse.server import serve

        build = Build.of(self.pair)
        if self.output:
            with scratch() as folder, database() as db:
                index = Index(index_of(build, self.index or folder / "index.sqlite"))
                number = export(build, index, db, self.output)
                index.close()
            return f"{self.output}: {number:,} files"
        path = index_of(build, self.index)
        at_a_desk = sys.stdout.isatty() and "SSH_CONNECTION" not in os.environ
        with database(threads=os.cpu_count() or 1) as db:
            serve(build, path, db, self.port, at_a_desk and not self.no_browser)
        return None


class Why(Job, command="why"):
    """Explain why a subject and relation is an update or not, and show the statements that decided.

    A third word asks about one object. Without a relation, it covers all relations of the subject, and lists
    where the subject is an object. Without a subject, it counts how statements became the rows of wfd_repl.

    For example: factdrift why UK "head of government" "Liz Truss"
    """

    subject: Annotated[str | None, "id or name of an item", Flag("SUBJECT", positional=True)] = None
    relation: Annotated[str | None, "id or name of a relation", Flag("RELATION", positional=True)] = None
    value: Annotated[str | None, "id or name of an object", Flag("OBJECT", positional=True)] = None
    all: Annotated[bool, "also the statements that decided nothing"] = False
    pair: Annotated[Path | None, *OF_NEWEST] = None

    def run(self) -> str:
        import shutil

        from factdrift.core.tables import database
        from factdrift.pages.browse.build import Build
        from factdrift.pages.browse.index import index_of
        from factdrift.pages.browse.search import Index
        from factdrift.pages.browse.why import Reasons, funnel

        build = Build.of(self.pair)
        with database() as db:
            if self.subject is None:
                return "\n".join(funnel(build, db))
            index = Index(index_of(build))
            width = shutil.get_terminal_size((100, 24)).columns
            reasons = Reasons(build, index, db, width)
            return "\n".join(reasons.lines(self.subject, self.relation, self.value, self.all))


class DiffBuilds(Job, command="diff-builds"):
    """Compare two builds: updates that came and went, labels, sentences, and the causes.

    For example: factdrift diff-builds before/2021-01-04_2023-02-27 results/2021-01-04_2023-02-27
    """

    first: Annotated[Build, Flag("FIRST", positional=True)]
    second: Annotated[Build, Flag("SECOND", positional=True)]
    output: Annotated[Place | None, "write differences.parquet there", Flag("FOLDER")] = None

    def run(self) -> str:
        from factdrift.pages.compare import compare

        return "\n".join(compare(self.first, self.second, self.output))

"""A build of the sample with its page, and one whose labels are hostile."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.explorer import HOSTILE

from factdrift.pages.report.blocks import Build
from factdrift.pages.report.page import write_page

PAIR = "2021-01-04_2023-02-27"


@pytest.fixture(scope="session")
def sample(built: Path) -> Build:
    """The default build, with the page in `results/report.html`."""
    build = Build(built / "results", built / "results" / PAIR, built / "logs")
    write_page(build, build.results / "report.html")
    return build


@pytest.fixture(scope="session")
def copied(sample: Build, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Build]:
    """`copied()` has the files of a build that the page needs, to be changed."""

    def made() -> Build:
        folder = tmp_path_factory.mktemp("copied")
        build = Build(folder / "results", folder / "results" / PAIR, folder / "logs")
        build.pair.mkdir(parents=True)
        for path in sample.pair.iterdir():
            if path.is_file():
                shutil.copy(path, build.pair)
        return build

    return made


@pytest.fixture(scope="session")
def hostile(copied: Callable[[], Build]) -> Build:
    """A build whose most popular subjects, relations and objects have hostile labels, with its page."""
    copy = copied()
    path = copy.pair / "wikifactdiff.parquet"
    table = pq.read_table(path)
    rows: list[dict[str, Any]] = table.to_pylist()
    for place, row in enumerate(rows):
        if place < 60:
            label = HOSTILE[place % len(HOSTILE)]
            row["subject"]["label"] = row["subject"]["description"] = label
            for value in row["objects"]:
                value["label"] = label
            row["relation"]["label"] = label
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    manifest = copy.pair / "manifest.json"
    changed = json.loads(manifest.read_text("utf-8"))
    changed["configuration"]["labels"] = HOSTILE[0]
    manifest.write_text(json.dumps(changed), "utf-8")
    write_page(copy, copy.results / "report.html")
    return copy

"""A build whose labels are hostile, and the explorer's server as users run it."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from browser import Browser
from browsing import Synthetic

from factdrift.core.tables import write_parquet

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    '<img src="https://example.org/x.png" onerror="window.hacked = 1">',
    "\u202egnirts\u202c \u200fright to left\u200f שלום",
    "{{ 7 * 7 }} {% raw %}",
    "x" * 1_000_000,
    "\x1b[2J\x07\u2028a & b \" ' `",
    "</a></bdi></li></ul><h1>not a heading</h1>",
)


class Hostile(Synthetic):
    """A build in which every label of entities and relations is hostile."""

    def labels(self, ids: np.ndarray) -> pa.Array:
        chosen = [HOSTILE[number % len(HOSTILE)] for number in ids.tolist()]
        # A few labels of a megabyte are enough: there are 2,000 relations.
        few = zip(chosen, ids.tolist(), strict=True)
        return pa.array([label[:200] if number > len(HOSTILE) else label for label, number in few])


CLASSES = {1: "state of Germany", 2: "Germany"}
RELATIONS = {1: "head of government", 2: "head of state"}
ITEMS = {11: "Germany", 12: "Türkiye", 13: "United Kingdom", 14: "Ukraine", 15: "Joe Biden"}
ALIASES = {13 * 11: "UK", 11 * 11: "Deutschland"}
"""An item's alias is the label that the item of eleven times its number would have."""


class World(Synthetic):
    """A build with some names of the world: items, of which two are classes, and two relations."""

    def __init__(self, results: Path):
        super().__init__(results, 100, 40, 5, 2, 4)
        others = [each for each in self.subjects.tolist() if each > 15]
        self.subjects = np.sort(np.array([*ITEMS, *others])[: self.updates])
        self.relation = 1 + np.arange(len(self.subjects)) % 3 // 2
        self.updates = len(self.subjects)

    def labels(self, ids: np.ndarray) -> pa.Array:
        named = CLASSES | ITEMS | ALIASES
        plain = super().labels(ids).to_pylist()
        return pa.array([named.get(each, label) for each, label in zip(ids.tolist(), plain, strict=True)])

    def _properties(self, folder: Path) -> None:
        super()._properties(folder)
        properties = pq.read_table(folder / "properties.parquet")
        labels = [RELATIONS.get(each, f"relation {each}") for each in properties["id"].to_pylist()]
        place = properties.schema.get_field_index("label")
        write_parquet(properties.set_column(place, "label", pa.array(labels)), folder / "properties.parquet")
        classes = pq.read_table(folder / "classes.parquet").slice(0, len(CLASSES))
        write_parquet(classes, folder / "classes.parquet")


NAMED = (
    *(("Germany", "Q11 Q2"), ("GERMANY ", "Q11 Q2"), ("germ", "Q11"), ("state of germany", "Q1")),
    *(("türkiye", "Q12"), ("turkiye", "Q12"), ("uk", "Q13"), ("Deutschland", "Q11"), ("q14", "Q14")),
    *(("germny", "Q11 Q2"), ("Jeo Bidan", "Q15"), ("ukarine", "Q14"), ("P2", "P2")),
    *(("head of goverment", "P1"), ("head of", "P1 P2"), ("head of government germany", "P1 Q11")),
    *(("ukraine head of state", "P2 Q14"), ("head of goverment germny", "P1 Q11")),
)
"""What is typed into the search of World, and what is found first."""


def world(results: Path) -> World:
    """The build, with its tables."""
    build = World(results)
    build.make()
    return build


@contextlib.contextmanager
def serving(pair: Path, index: Path) -> Iterator[str]:
    """The address of `factdrift browse`, run as users run it."""
    command = [sys.executable, "-c", "from factdrift.cli import main; raise SystemExit(main())", "browse"]
    command += ["--pair", str(pair), "--index", str(index), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        try:
            assert line.startswith("http://127.0.0.1:"), process.stderr.read()
            yield line.split()[0]
        finally:
            process.terminate()


@contextlib.contextmanager
def visiting(browser: Browser, address: str, within: str, width: int = 390) -> Iterator[None]:
    """A page; afterwards nothing was said, and no address was asked for that does not begin with `within`."""
    browser.size(width, 844)
    browser.said.clear()
    browser.requests.clear()
    browser.visit(address)
    yield
    assert browser.said == []
    assert [each for each in browser.requests if not each.startswith(within)] == []

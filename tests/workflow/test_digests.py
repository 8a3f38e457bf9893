"""Two small dumps of ties, doubles and edges in every variant: no product changes unseen."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.digests import Check, Product
from support.faulty import lose, spoil, spoil_text
from support.odd_builds import ACCOUNTS, BENCHMARKS, PAIR, SMALL, UPDATES
from support.odd_dumps import NEW, OLD, write_dumps
from support.workflow import run_here

from factdrift.audit.build import audit
from factdrift.audit.kinds import OF_DATES
from factdrift.audit.reading import AuditedBuild
from factdrift.core.files import write_json

pytestmark = pytest.mark.digests

MADE_ON_THE_WAY = (
    *(f"{PAIR}/{name}/0-of-1.parquet" for name in ("updates", "new_entities", "untouched")),
    *(f"{PAIR}/{name}.parquet" for name in ("neighbors", "random_neighbors", "popularity", "templates")),
)
# The audit plainly disagrees on some of what is odd: both its agreement and that stay as they are.
AUDITED = Product(f"{PAIR}/audit/audit.parquet", columns=("dataset", "row", "kind", "outcome"))


def built(folder: Path, *targets: str, **config: Any) -> Path:
    run_here(folder, *targets, dumps=write_dumps(folder), **SMALL, **config)
    return folder


def test_digests_of_odd_dumps(tmp_path: Path, digests: Check) -> None:
    folder, dumps = tmp_path, write_dumps(tmp_path)
    run_here(folder, *UPDATES, *BENCHMARKS, *(each.path for each in ACCOUNTS), dumps=dumps, **SMALL)
    run_here(folder, AUDITED.path, dumps=dumps, **SMALL)
    digests("odd", folder, [*UPDATES, *BENCHMARKS, *ACCOUNTS, *MADE_ON_THE_WAY, AUDITED])
    # The dumps are of use only if what is odd about them reaches the products.
    rows = pq.read_table(folder / f"{PAIR}/updates/0-of-1.parquet").to_pylist()
    dropped = {row["dropped_by"] for row in rows}
    assert {"unknown", "ignore", "no_label", "static", None} <= dropped
    assert len({row["rule"] for row in rows}) >= 12
    scenarios = {row["scenario"] for row in rows} - {None}
    assert scenarios == {"ReplaceObject", "Archive", "AddObject", "AddRelation", "AddEntity", "Other"}
    for name in ("klob_c", "klob_r", "tempripple", "wfd_repl"):
        assert pq.read_metadata(folder / f"results/{name}.parquet").num_rows >= 5, name


AUDITED_TABLES = {
    *("wikifactdiff", "wfd_repl", "ripples", *(f"klob_{part}" for part in "cru")),
    *(f"tr_{name}" for name in ("items", "facts", "related")),
    *OF_DATES,
}
FAULTS = (1, 8, 10)
"""Seeds of faults; with 1 values are missing."""


def test_digests_of_a_drawn_world(drawn_world: Path, digests: Check) -> None:
    digests("drawn", drawn_world, [*UPDATES, *BENCHMARKS, *ACCOUNTS])


def test_digests_of_what_the_audit_says_of_faults(
    drawn_world: Path, digests: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(drawn_world)
    dumps = [next(drawn_world.glob(f"odd-{day}*")) for day in (OLD, NEW)]
    for seed in FAULTS:
        pair = Path(shutil.copytree("results", f"faulty-{seed}"), f"{OLD}_{NEW}")
        beside = [*(pair.parent / f"{name}.parquet" for name in OF_DATES), pair.parent / "publish"]
        for path in sorted(pair.parent.rglob("*.parquet")):
            own = path.parent in (pair, pair / "tempripple", pair.parent)
            if own and path.stem in AUDITED_TABLES:
                (spoil if seed > 1 else lose)(path, seed)
        for path in sorted(beside[-1].rglob("*.*")) if seed > 1 else ():
            if path.suffix in (".md", ".json", ".csv"):
                spoil_text(path, seed)
        findings, summary = audit(AuditedBuild(pair, *dumps, (), beside), 10_000, seed)
        # These name numbers whose last digits depend on the processor, and exceptions of Python.
        inexact = ("surface", "nearest", "readable")
        exact = [row | ({"reason": ""} if row["kind"] in inexact else {}) for row in findings]
        write_json([exact, summary["unchecked"], summary["sampled"]], pair.parent / "findings.json")
    digests("drawn, with faults", drawn_world, [f"faulty-{seed}/findings.json" for seed in FAULTS])


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["reference", "revised"])
def test_digests_of_odd_dumps_in_another_variant(variant: str, tmp_path: Path, digests: Check) -> None:
    folder = built(tmp_path, *UPDATES, variant=variant)
    digests(f"odd, {variant}", folder, [*UPDATES, *MADE_ON_THE_WAY])

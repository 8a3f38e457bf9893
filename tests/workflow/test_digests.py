"""Two small dumps of ties, doubles and edges in every variant: no product changes unseen."""

import shutil
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.faulty import BY_HAND, lose, spoil, spoil_text
from support.odd_builds import ACCOUNTS, BENCHMARKS, PAIR, SMALL, UPDATES
from support.odd_dumps import NEW, OLD, write_dumps
from support.workflow import run_here

from factdrift.audit.build import audit
from factdrift.audit.kinds import FAILED, KINDS, OF_DATES, QUESTIONS
from factdrift.audit.kinds import UPDATES as UPDATED
from factdrift.audit.reading import AuditedBuild
from factdrift.core.files import write_json

pytestmark = pytest.mark.digests

MADE_ON_THE_WAY = (
    *(f"{PAIR}/{name}/0-of-1.parquet" for name in ("updates", "new_entities", "untouched")),
    *(f"{PAIR}/{name}.parquet" for name in ("neighbors", "random_neighbors", "popularity", "templates")),
)
# The audit plainly disagrees on some of what is odd: both its agreement and that stay as they are.
AUDITED = Product(f"{PAIR}/audit/audit.parquet", columns=("dataset", "row", "kind", "outcome"))


def test_digests_of_odd_dumps(tmp_path, digests):
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
FAULTS = (1, 8, 10, 11, 13, 19)
"""Seeds of faults; with 1 values are missing."""


def test_digests_of_a_drawn_world(drawn_world, digests):
    digests("drawn", drawn_world, [*UPDATES, *BENCHMARKS, *ACCOUNTS])


@pytest.mark.slow
def test_digests_of_what_the_audit_says_of_faults(drawn_world, digests, monkeypatch):
    monkeypatch.chdir(drawn_world)
    dumps = [next(drawn_world.glob(f"odd-{day}*")) for day in (OLD, NEW)]
    failed: dict[str, Counter[tuple[str, str]]] = {}
    for seed in (None, *FAULTS):
        results = Path(shutil.copytree("results", f"faulty-{seed}")) if seed else Path("results")
        pair = results / f"{OLD}_{NEW}"
        beside = [*(results / f"{name}.parquet" for name in OF_DATES), results / "publish"]
        for path in sorted(results.rglob("*.parquet")) if seed else ():
            own = path.parent in (pair, pair / "tempripple", results)
            if own and path.stem in AUDITED_TABLES:
                (spoil if seed > 1 else lose)(path, seed)
        for path in sorted(beside[-1].rglob("*.*")) if seed not in (None, 1) else ():
            if path.suffix in (".md", ".json", ".csv"):
                spoil_text(path, seed)
        findings, summary = audit(AuditedBuild(pair, *dumps, (), beside), 10_000, seed or 0)
        outcomes = ((row["dataset"], row["kind"]) for row in findings if row["outcome"] == FAILED)
        failed[str(seed)] = Counter(outcomes)
        # These name numbers whose last digits depend on the processor, and exceptions of Python.
        inexact = ("surface", "nearest", "readable")
        exact = [row | ({"reason": ""} if row["kind"] in inexact else {}) for row in findings]
        write_json([exact, summary["unchecked"], summary["sampled"]], results / "findings.json")
    more = {kind for counts in failed.values() for kind in counts - failed["None"]}
    every = {(dataset, kind) for kind, each in KINDS.items() for dataset in each.datasets}
    # Not in each data set are there rows that no check can read.
    missing = {(dataset, kind) for dataset, kind in every - more if kind != "readable"}
    # Of the surface there are made-up questions: tests/audit/test_audit_account.py.
    assert missing == BY_HAND | {(UPDATED, "surface"), (QUESTIONS, "surface")}
    digests("drawn, with faults", drawn_world, [f"faulty-{seed}/findings.json" for seed in FAULTS])


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["reference", "revised"])
def test_digests_of_odd_dumps_in_another_variant(variant, tmp_path, digests):
    run_here(tmp_path, *UPDATES, dumps=write_dumps(tmp_path), **SMALL, variant=variant)
    digests(f"odd, {variant}", tmp_path, [*UPDATES, *MADE_ON_THE_WAY])

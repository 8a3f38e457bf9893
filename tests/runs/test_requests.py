"""What jobs ask a cluster for: from the dumps' sizes and the attempt, for every rule."""

import itertools
import re

import pytest
from support.workflow import ROOT, rules_of

from factdrift.runs import estimate, requests
from factdrift.runs.costs import Cost, read_costs, read_quantities
from factdrift.runs.estimate import Dump, Parts
from factdrift.runs.requests import Request, first_requests, request_table

PARTS = Parts(64, 64, 28)
WHOLE = [Dump(92e9, "gzip"), Dump(120e9, "gzip")]
COMMAND = re.compile(r'\n\s*(?:factdrift |job\(")([\w-]+(?: \w[\w-]*)?)')


def test_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"updates difference": Cost("bucket", 60, 30, 100, 20, 2000, 4, True)}
    quantities = {
        **read_quantities(),
        **{"text_per_byte_none": 1, "full_gb": 1600, "request_job_mb": 500, "request_memory": 1.5},
        **{"request_time": 3, "request_least_mb": 1000, "request_least_minutes": 10},
        **{"request_least_disk_mb": 1000},
    }
    chosen = {
        "updates difference": requests._Chosen(2000, None, None),
        "klob candidates": requests._Chosen(8000, 240, 20000),
        "publish file": requests._Chosen(200, 60, 2000),
    }
    for module in (requests, estimate):
        monkeypatch.setattr(module, "read_costs", lambda scope: table)
        monkeypatch.setattr(module, "read_quantities", lambda: quantities)
    monkeypatch.setattr(requests, "_chosen", lambda: chosen)
    asked = first_requests([Dump(200e9, "none"), Dump(400e9, "none")], "enwiki", Parts(1, 4, 1))
    # 100 GB a bucket: 60 + 3000 s times 3, 100 + 2000 MB, of which the queries spill what is above 2000 MB.
    assert asked["updates difference"] == Request(2000 * 1.5 + 500, 153, 400 + 2000)
    # A quarter of a full dump.
    assert asked["klob candidates"] == Request(2000 + 500, 60, 5000)
    assert asked["publish file"] == Request(700, 15, 1000)
    assert asked["klob candidates"].grown(3) == Request(4 * 2500, 4 * 60, 4 * 5000)


def test_small_dumps_ask_for_little_and_larger_ones_never_for_less() -> None:
    sizes = [first_requests([], "enwiki", PARTS)]
    sizes += [first_requests([Dump(size, "gzip")] * 2, "enwiki", PARTS) for size in (1e9, 1e10, 1e11, 1e12)]
    for less, more in itertools.pairwise(sizes):
        assert all(a <= b for command in less for a, b in zip(less[command], more[command], strict=True))
    assert max(asked.mem_mb for asked in sizes[0].values()) <= 1500
    assert {asked.runtime for asked in sizes[0].values()} == {10}


@pytest.mark.parametrize("scope", ["enwiki", "anywiki", "all"])
def test_a_job_gets_at_least_what_the_estimate_expects_of_it(scope: str) -> None:
    asked = first_requests(WHOLE, scope, PARTS)
    for command, cost in read_costs(scope).items():
        assert asked[command].mem_mb >= cost.memory(0) + 500


def test_every_job_asks_for_memory_time_and_scratch() -> None:
    asked = first_requests([], "enwiki", PARTS)
    used = set()
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for name, body in rules_of(path.read_text(encoding="utf-8")).items():
            command = COMMAND.search(body)
            if command is None:
                continue
            resources = body.partition("resources:")[2]
            named = re.search(r'\*\*request\("([^"]+)"\)', resources)
            if named:
                assert named[1] == command[1].rstrip(), name
                used.add(named[1])
            elif "**of_a_model()" not in resources:
                assert "**growing(" in resources, name
                assert "gpu=" in resources, name
            assert "mem_mb=" not in body, name
    assert used == asked.keys()


def test_the_table_has_a_row_for_each_command() -> None:
    lines = request_table(WHOLE, "enwiki", PARTS).splitlines()
    asked = first_requests(WHOLE, "enwiki", PARTS)
    assert len(lines) == 2 + len(asked)
    one = asked["neighbors search"]
    assert f"| neighbors search | {one.mem_mb:,} | {one.runtime:,} | {one.disk_mb:,} |" in lines

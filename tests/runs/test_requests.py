"""What jobs ask a cluster for: from the dumps' sizes and the attempt, for every rule."""

import itertools
import re

from support.workflow import ROOT, rules_of

from factdrift.runs.estimate import CostParts, Dump, first_requests, read_costs

PARTS = CostParts(64, 64, 28)
WHOLE = [Dump(92e9, "gzip"), Dump(120e9, "gzip")]
COMMAND = re.compile(r'\n\s*(?:factdrift |job\(")([\w-]+(?: \w[\w-]*)?)')


def test_small_dumps_ask_for_little_and_larger_ones_never_for_less() -> None:
    sizes = [first_requests([], "enwiki", PARTS)]
    sizes += [first_requests([Dump(size, "gzip")] * 2, "enwiki", PARTS) for size in (1e9, 1e10, 1e11, 1e12)]
    for less, more in itertools.pairwise(sizes):
        assert all(a <= b for command in less for a, b in zip(less[command], more[command], strict=True))
    assert max(asked.mem_mb for asked in sizes[0].values()) <= 1500
    assert {asked.runtime for asked in sizes[0].values()} == {10}


def test_a_job_gets_half_as_much_again_as_the_estimate_expects_of_it() -> None:
    for scope in ("enwiki", "anywiki", "all"):
        asked = first_requests(WHOLE, scope, PARTS)
        for command, cost in read_costs(scope).items():
            assert asked[command].mem_mb >= 1.5 * cost.memory(0) + 500


def test_every_job_asks_for_memory_time_and_scratch() -> None:
    asked = first_requests([], "enwiki", PARTS)
    used = set()
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for name, body in rules_of(path.read_text(encoding="utf-8")).items():
            command = COMMAND.search(body)
            if command is None:
                continue
            resources = body.partition("resources:")[2]
            if "**growing(" in resources:
                assert "gpu=" in resources, name
            elif "**of_a_model()" not in resources:
                used.add(command[1].rstrip())
            assert "mem_mb=" not in body, name
    assert used == asked.keys()

#!/usr/bin/env python3
"""Submits one job of Snakemake to the scheduler that is found, and prints its number."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from schedulers import Job, scheduler, submitted

# Beside the logs of the jobs themselves, which begin only when a job does.
LOGS = Path("logs/cluster")


def main(script: str) -> None:
    text = Path(script).read_text(encoding="utf-8")
    found = re.search(r"^# properties = (\{.*\})$", text, re.MULTILINE)
    if not found:
        sys.exit(f"{script}: is no job script of Snakemake, it has no line of properties")
    properties = json.loads(found[1])
    asked = properties["resources"]
    name = properties.get("rule") or properties["groupid"]
    LOGS.mkdir(parents=True, exist_ok=True)
    job = Job(
        name,
        int(properties["threads"]),
        int(asked["mem_mb"]),
        int(asked["runtime"]),
        int(asked.get("gpu", 0)),
        str(Path.cwd()),
        str((LOGS / f"{name}.{properties['jobid']}.txt").resolve()),
    )
    print(submitted(scheduler(), job, script))


if __name__ == "__main__":
    main(sys.argv[-1])

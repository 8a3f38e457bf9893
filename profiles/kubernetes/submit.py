#!/usr/bin/env python3
"""Creates a Kubernetes Job for one job of Snakemake, and prints its name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any


def manifest(
    properties: dict[str, Any], script: Path, folder: Path, settings: dict[str, str]
) -> dict[str, Any]:
    """The Job: its pod asks for what the rule asks for, and ends at its time."""
    asked = properties["resources"]
    amounts = {"cpu": str(properties["threads"]), "memory": f"{asked['mem_mb']}M"}
    amounts |= {"ephemeral-storage": f"{asked['disk_mb']}M"}
    # More memory than this ends the pod; more CPU is only shared.
    limits = {"memory": amounts["memory"]}
    if asked.get("gpu"):
        limits["nvidia.com/gpu"] = str(asked["gpu"])
    container = {
        "name": "job",
        "image": settings["FACTDRIFT_IMAGE"],
        "command": ["bash", str(script)],
        "workingDir": str(folder),
        "resources": {"requests": amounts, "limits": limits},
        # Queries spill to the node's own disk, not to the shared one.
        "env": [{"name": "TMPDIR", "value": "/scratch"}],
        "volumeMounts": [
            {"name": "shared", "mountPath": settings["FACTDRIFT_MOUNT"]},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }
    claim = {"claimName": settings["FACTDRIFT_CLAIM"]}
    volumes = [{"name": "shared", "persistentVolumeClaim": claim}, {"name": "scratch", "emptyDir": {}}]
    name = re.sub(r"[^a-z0-9]+", "-", (properties.get("rule") or properties["groupid"]).lower())[:40]
    pod = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": f"factdrift-{name}-", "labels": {"app": "factdrift"}},
        "spec": {
            # Snakemake repeats what fails, with more memory; Kubernetes would with the same.
            "backoffLimit": 0,
            "activeDeadlineSeconds": 60 * int(asked["runtime"]),
            # A week to read the logs in.
            "ttlSecondsAfterFinished": 7 * 24 * 3600,
            "template": {"metadata": {"labels": {"app": "factdrift"}}, "spec": pod},
        },
    }


def main(script: str) -> None:
    found = re.search(r"^# properties = (\{.*\})$", Path(script).read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        sys.exit(f"{script}: is no job script of Snakemake, it has no line of properties")
    missing = [
        name for name in ("FACTDRIFT_IMAGE", "FACTDRIFT_CLAIM", "FACTDRIFT_MOUNT") if not os.environ.get(name)
    ]
    if missing:
        sys.exit(f"set {', '.join(missing)}; profiles/kubernetes/config.yaml says what to")
    job = manifest(json.loads(found[1]), Path(script).resolve(), Path.cwd(), dict(os.environ))
    line = ["kubectl", "create", "--output=name", "--filename=-"]
    done = subprocess.run(line, input=json.dumps(job), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"kubectl refuses the job: {done.stderr}")
    print(done.stdout.strip())


if __name__ == "__main__":
    main(sys.argv[-1])

#!/usr/bin/env python3
"""Prints whether a Kubernetes Job is running, has succeeded or has failed."""

from __future__ import annotations

import subprocess
import sys

CONDITIONS = '--output=jsonpath={.status.conditions[?(@.status=="True")].type}'


def state(name: str) -> str:
    line = ["kubectl", "get", name, CONDITIONS]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        # A Job that somebody has deleted is gone; a server that does not answer may do so next time.
        return "failed" if "NotFound" in done.stderr else "running"
    words = done.stdout.split()
    return "success" if "Complete" in words else "failed" if "Failed" in words else "running"


if __name__ == "__main__":
    print(state(sys.argv[1]))

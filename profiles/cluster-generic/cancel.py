#!/usr/bin/env python3
"""Cancels submitted jobs."""

from __future__ import annotations

import subprocess
import sys

from schedulers import scheduler

if __name__ == "__main__":
    sys.exit(subprocess.run([*scheduler().cancel, *sys.argv[1:]], check=False).returncode)

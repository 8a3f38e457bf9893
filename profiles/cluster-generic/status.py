#!/usr/bin/env python3
"""Prints whether a submitted job is running, has succeeded or has failed."""

from __future__ import annotations

import sys

from schedulers import scheduler, state

if __name__ == "__main__":
    print(state(scheduler(), sys.argv[1]))

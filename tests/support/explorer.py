"""A build whose labels are hostile, and the explorer's server as users run it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from browsing import Synthetic

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


@contextlib.contextmanager
def serving(pair: Path, index: Path) -> Iterator[str]:
    """The address of `factdrift browse`, run as users run it."""
    command = [sys.executable, "-c", "from factdrift.cli import main; raise SystemExit(main())", "browse"]
    command += ["--pair", str(pair), "--index", str(index), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        try:
            assert line.startswith("http://127.0.0.1:"), process.stderr.read()
            yield line.split()[0]
        finally:
            process.terminate()

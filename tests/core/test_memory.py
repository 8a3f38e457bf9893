"""Exhausted memory is reported with the remedy."""

import errno
import resource
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

from factdrift.cli import main
from factdrift.core.exhausted import LEAST, is_exhausted

DUCKDB = "Out of Memory Error: could not allocate block of size 256.0 KiB (96.0 KiB/230.3 KiB used)"


def test_exhausted_memory_is_recognised():
    caused = ImportError("numpy cannot be imported")
    caused.__cause__ = MemoryError()
    for error, expected in (
        (MemoryError(), True),
        (pa.ArrowMemoryError("malloc of size 1048576 failed"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (ImportError("/a/b.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), True),
        (duckdb.OutOfMemoryException(DUCKDB), True),
        (caused, True),
        (ImportError("no module"), False),
        (RuntimeError("CUDA out of memory"), False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
    ):
        assert is_exhausted(error) == expected, error


@pytest.mark.usefixtures("here")
def test_too_little_address_space_for_the_libraries_is_said(monkeypatch, capsys):
    for limit, warned in ((600_000 * 1024, True), (LEAST, False), (resource.RLIM_INFINITY, False)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, limit=limit: (limit, resource.RLIM_INFINITY))
        assert main(["unlock"]) == 0
        said = capsys.readouterr().err
        assert ("factdrift: warning: this process may use only 614 MB of address space" in said) == warned


LIMITED = """
import resource, sys
import duckdb, pyarrow.parquet, numpy, scipy.sparse  # what is loaded before is no part of the test
from pathlib import Path
from factdrift.cli import main, parser
from factdrift.statements import extract
parser()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000,) * 2)
sys.exit(main(["statements", "extract", "--dump", sys.argv[1], "-o", sys.argv[2]]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's /proc and its limits")
def test_a_command_that_runs_out_of_memory_ends_with_the_message(tmp_path):
    dump = tmp_path / "a.json"
    line = b'{"id":"Q1","type":"item","labels":{"en":{"value":"%b"}}}' % (b"x" * 80_000_000)
    dump.write_bytes(b"[\n%b\n]\n" % line)
    command = [sys.executable, "-c", LIMITED, dump, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "factdrift: the memory is exhausted (" in done.stderr
    assert "--resources mem_mb=N" in done.stderr
    assert "the same command continues from there" in done.stderr
    assert "MB of address space (ulimit -v)" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()

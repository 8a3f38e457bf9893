"""A disk of a few kilobytes that can be enlarged: a tmpfs, if the user may mount one."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


class SmallDisk:
    """A mounted folder; sizes in bytes, rounded up to whole pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def used(self) -> int:
        state = os.statvfs(self.folder)
        return (state.f_blocks - state.f_bfree) * state.f_frsize

    def leave(self, free: int) -> None:
        """Resizes the disk so that `free` bytes are free."""
        size = self.used() + free
        subprocess.run(["mount", "-o", f"remount,size={size}", "tmpfs", str(self.folder)], check=True)


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    """A mounted disk of `size` bytes; skips the test if nothing can be mounted."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(
            f"no right to mount a tmpfs ({mounted.stderr.strip()}); "
            "unshare --user --map-root-user --mount .venv/bin/pytest -m system would run it"
        )
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)

"""`factdrift publish file`: the copy is whole or absent, and a full disk is reported as such."""

import errno
import shutil
from pathlib import Path

from factdrift.cli import main


def test_the_copy_is_equal(tmp_path: Path):
    source, output = tmp_path / "a.parquet", tmp_path / "new" / "b.parquet"
    source.write_bytes(b"rows")
    assert main(["publish", "file", str(source), str(output)]) == 0
    assert output.read_bytes() == b"rows"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.parquet", "b.parquet", "new"]


def test_a_full_disk_leaves_the_earlier_copy_and_says_so(tmp_path: Path, monkeypatch, capsys):
    source, output = tmp_path / "a.parquet", tmp_path / "b.parquet"
    source.write_bytes(b"rows")
    output.write_bytes(b"earlier")

    def full(source: Path, copy: Path) -> None:
        Path(copy).write_bytes(b"ro")
        raise OSError(errno.ENOSPC, "No space left on device", str(copy))

    monkeypatch.setattr(shutil, "copyfile", full)
    assert main(["publish", "file", str(source), str(output)]) == 1
    assert "the disk is full" in capsys.readouterr().err
    assert output.read_bytes() == b"earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]

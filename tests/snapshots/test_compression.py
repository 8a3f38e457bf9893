"""Dump files: the same text in every compression, the same bytes each time, gzip members begin at lines."""

import gzip
import re
from pathlib import Path

import pytest
from support.dumps import decompressed, lines

from factdrift.core.errors import InputError
from factdrift.snapshots.compression import dump_writer

ENTITIES = [b'{"id":"Q%d"}' % number for number in range(1, 100)]


def write(path: Path, entities: list[bytes], member_size: int = 100) -> Path:
    with dump_writer(path, member_size) as writer:
        for entity in entities:
            writer.write(entity)
    return path


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".json.bz2", ".json.zst"])
def test_same_text_in_every_compression_and_the_same_bytes_each_time(tmp_path, suffix):
    for count in (0, 1, 99):
        path = write(tmp_path / f"dump{suffix}", ENTITIES[:count])
        text = decompressed(path)
        assert text == b"[\n" + b",\n".join(ENTITIES[:count]) + (b"\n]\n" if count else b"]\n")
        assert [line for _, _, line in lines(path)] == ENTITIES[:count]
    assert write(tmp_path / f"other{suffix}", ENTITIES).read_bytes() == path.read_bytes()


def test_gzip_members_begin_on_lines_and_carry_no_time(tmp_path):
    data = write(tmp_path / "d.json.gz", ENTITIES).read_bytes()
    parts = [gzip.decompress(part) for part in re.split(rb"(?=\x1f\x8b\x08)", data) if part]
    assert parts[0] == b"[\n"
    assert parts[-1] == b"\n]\n"
    batches = [part for part in parts if part.startswith(b"{")]
    assert len(batches) > 5
    assert parts == [b"[\n", *b"|,\n|".join(batches).split(b"|"), b"\n]\n"]
    assert all(part.endswith(b"}") for part in batches)
    assert data[3:9] == b"\0\0\0\0\0" + data[8:9]


def test_unknown_suffix(tmp_path):
    with pytest.raises(InputError, match=r"dump\.xz: a dump is written as"):
        write(tmp_path / "dump.xz", [])

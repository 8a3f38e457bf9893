"""Shares: together all lines of a dump, each once, in any compression; damage is located."""

import bz2
import functools
import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dumps import COMPRESS
from support.examples import examples

from factdrift.core.errors import InputError
from factdrift.wikidata import shares, streams
from factdrift.wikidata.bzip2_blocks import Bzip2Blocks
from factdrift.wikidata.shares import Account, Share, check_shares
from factdrift.wikidata.streams import ZSTANDARD, GzipMembers, ZstandardFrames

TEXTS = {number: f"{number * 7919 % 104729:x}" * (number % 60) for number in range(1, 3000)}
LINES = [json.dumps({"id": f"Q{number}", "x": text}).encode() for number, text in TEXTS.items()]
DUMP = b"[\n" + b",\n".join(LINES) + b"\n]\n"


def parts(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def wikidata_members(data: bytes) -> bytes:
    """Members as in Wikidata's own files, which put brackets and commas between batches into tiny members."""
    batches = [b",\n".join(LINES[start : start + 200]) for start in range(0, len(LINES), 200)]
    assert b"[\n" + b",\n".join(batches) + b"\n]\n" == data
    between = gzip.compress(b",\n")
    return gzip.compress(b"[\n") + between.join(map(gzip.compress, batches)) + gzip.compress(b"\n]\n")


def skippable(length: int) -> bytes:
    """A frame without text: parallel compressors write one before each frame, seekable files one last."""
    return b"\x5e\x2a\x4d\x18" + length.to_bytes(4, "little") + (ZSTANDARD + bytes(length))[:length]


LAYOUTS = {
    "plain": bytes,
    "gzip, one member": gzip.compress,
    "gzip, members on lines": wikidata_members,
    "gzip, members anywhere": lambda data: b"".join(map(gzip.compress, parts(data, 10_007))),
    "gzip, padded": lambda data: b"".join(gzip.compress(part) + bytes(9) for part in parts(data, 10_007)),
    "bzip2, one stream": lambda data: bz2.compress(data, 1),
    "bzip2, many streams": lambda data: b"".join(map(bz2.compress, parts(data, 10_007))),
    "bzip2, an empty stream": lambda data: bz2.compress(b"") + bz2.compress(data, 1) + bz2.compress(b""),
    "zstd, one frame": COMPRESS["zstd"],
    "zstd, frames anywhere": lambda data: b"".join(map(COMPRESS["zstd"], parts(data, 10_007))),
    "zstd, frames announced": lambda data: b"".join(
        skippable(number) + COMPRESS["zstd"](part) for number, part in enumerate(parts(data, 10_007))
    ),
    "zstd, seekable": lambda data: b"".join(map(COMPRESS["zstd"], parts(data, 70_001))) + skippable(900),
}


@functools.cache
def laid_out(layout: str) -> bytes:
    return LAYOUTS[layout](DUMP)


def read(path: Path, number: int) -> list[tuple[int, int, bytes]]:
    """Number, offset in the dump and text of every line, as gathered from `number` shards."""
    found, accounts = [], []
    lines = text_bytes = 0
    for shard in range(number):
        share = Share(path, shard, number)
        found += [(lines + line, text_bytes + offset, text) for line, offset, text in share.lines()]
        accounts.append(share.account)
        if share.account.divided:
            lines += share.account.line_ends
            text_bytes += share.account.text_bytes
    check_shares(path, accounts)
    return sorted(found)


UNDIVIDED = ("gzip, one member", "zstd, one frame")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_line_belongs_to_one_shard(write, layout):
    path = write(laid_out(layout))
    for number in (1, 3, 40):
        found = read(path, number)
        assert [text for _, _, text in found] == LINES
        assert [line for line, _, _ in found] == list(range(2, len(LINES) + 2))
        assert all(DUMP.startswith(text, offset) for _, offset, text in found)
    three = [Share(path, shard, 3) for shard in range(3)]
    sizes = [sum(len(text) for _, _, text in share.lines()) for share in three]
    assert {share.account.divided for share in three} == {layout not in UNDIVIDED}
    # The parts are about equal; a block of bzip2 is a quarter of the dump.
    assert layout in UNDIVIDED or max(sizes) < 4 * min(sizes)


LENGTHS = st.lists(st.sampled_from([0, 1, 2, 9, 60, 700]), max_size=12)
SIZES = st.sampled_from([3, 41, 1 << 20])


@pytest.mark.parametrize("kind", COMPRESS)
@settings(max_examples=examples(60))
@given(LENGTHS, st.lists(st.integers(1, 900), max_size=6), st.integers(1, 9), st.booleans(), SIZES)
def test_any_lines_cut_anywhere(tmp_path_factory, kind, lengths, cuts, number, ends, size):
    lines = [b"%d:" % place + b"x" * length for place, length in enumerate(lengths)]
    data = b"\n".join(lines) + b"\n" * ends
    pieces, start = [], 0
    for cut in cuts:
        pieces.append(data[start : start + cut])
        start += cut
    pieces.append(data[start:])
    path = tmp_path_factory.mktemp("cut") / "dump"
    path.write_bytes(b"".join(map(COMPRESS[kind], pieces)) if kind != "none" else data or b"\n")
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((streams, "READ_SIZE"), (streams, "_COMPRESSED_READ"), (shares, "BLOCK")):
            patch.setattr(module, name, size)
        assert [text for _, _, text in read(path, number)] == lines


@pytest.mark.parametrize("lost", [3, 27])
def test_a_lost_member_counts_once_however_many_shards(write, lost):
    members = [gzip.compress(b",\n".join(LINES[start : start + 20])) for start in range(0, 1000, 20)]
    members[lost] = b""
    path = write(gzip.compress(b"[\n") + gzip.compress(b",\n").join(members) + gzip.compress(b"\n]\n"))
    for number in (1, 7, 23):
        found = [Share(path, shard, number) for shard in range(number)]
        assert sum(len([*share.lines()]) for share in found) == 980
        assert sum(share.account.faulty for share in found) == 1


def test_bytes_that_look_like_a_member(write):
    header = gzip.compress(b"")[:10]
    stored = gzip.compress(header * 400 + bytes(range(256)) * 40, 0)  # stored as it is
    text = b"line\n" * 100
    path = write(gzip.compress(text) + stored + gzip.compress(text))
    members = GzipMembers(path)
    second, third = len(gzip.compress(text)), len(gzip.compress(text)) + len(stored)
    assert members.first(second + 1) == third
    assert members.first(third + 1) == path.stat().st_size


def test_a_file_that_shrinks_while_it_is_read(write, monkeypatch):
    member = gzip.compress(b"a line")
    monkeypatch.setattr(streams, "_COMPRESSED_READ", len(member))
    path = write(member * 3)
    chunks = GzipMembers(path).chunks(0, path.stat().st_size)
    assert [next(chunks).text for _ in range(2)] == [b"", b"a line"]
    os.truncate(path, len(member) * 2)
    assert [chunk.text for chunk in chunks] == [b"", b"a line", b""]


def test_bytes_that_look_like_a_block(write):
    magic = bytes.fromhex("314159265359")
    data = bz2.compress(DUMP, 1)
    inside = len(data) // 10
    # A first block whose bits hold a block's number cannot be made at will: a stream in front of it is.
    assert Bzip2Blocks(write(magic + bytes(50) + data[inside:])).first(1) > 56


def test_bytes_that_look_like_a_frame(write):
    noise = random.Random(0).randbytes(40_000)
    texts = [b"line\n" * 100, noise[:30_000] + ZSTANDARD + noise[30_000:], b"line\n" * 100]
    frames = [COMPRESS["zstd"](text) for text in texts]
    assert ZSTANDARD in frames[1][4:]  # what cannot be compressed is stored as it is
    path = write(b"".join(frames))
    found = ZstandardFrames(path)
    second, third = len(frames[0]), len(frames[0]) + len(frames[1])
    assert [found.first(at) for at in (1, second + 1, third + 1)] == [second, third, path.stat().st_size]


@pytest.mark.parametrize(("number", "place"), [(1, 0), (3, 4), (3, 7), (1, 40)])
def test_a_damaged_frame_is_located(write, number, place):
    frames = list(map(COMPRESS["zstd"], parts(DUMP, 10_007)))
    start = sum(map(len, frames[:20]))
    frames[20] = frames[20][:place] + bytes(0xFF ^ byte for byte in frames[20][place:])
    path = write(b"".join(frames))
    low, high = places(damaged(path, number))
    assert low <= start + len(frames[20])
    assert high > start
    assert high - low < path.stat().st_size / 2


@pytest.mark.parametrize("kind", [kind for kind in COMPRESS if kind != "none"])
def test_zeros_from_the_end_of_a_piece_into_another_are_located(write, kind):
    pieces = list(map(COMPRESS[kind], parts(DUMP, 10_007)))
    kept = sum(map(len, pieces[:5]))
    lost = len(pieces[5]) + len(pieces[6]) // 2
    data = b"".join(pieces)
    low, high = places(damaged(write(data[:kept] + bytes(lost) + data[kept + lost :]), 3))
    assert low <= kept + lost
    assert kept < high < low + 5000


def places(message: str) -> list[int]:
    """The range of bytes in which the message says that the file is damaged."""
    named = message.split("compressed bytes ")[1].split(" of ")[0].split(" and ")
    return [int(each.replace(",", "")) for each in named]


def damaged(path: Path, number: int) -> str:
    with pytest.raises(InputError) as caught:
        read(path, number)
    message = str(caught.value)
    assert message.startswith(f"{path}")
    assert "download it again" in message
    return message


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "plain"])
@pytest.mark.parametrize(("number", "share"), [(3, 0.1), (1, 0.5), (3, 1)])
def test_truncated_anywhere(write, layout, number, share):
    data = laid_out(layout)
    if layout == "gzip, padded":
        data = data.rstrip(b"\0")
    assert "truncated" in damaged(write(data[: int(len(data) * share) - 3]), number)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if not name.startswith(("plain", "zstd"))])
@pytest.mark.parametrize(("number", "share"), [(3, 0.2), (1, 0.55)])
def test_a_flipped_bit_is_located(write, layout, number, share):
    data = bytearray(laid_out(layout))
    place = int(len(data) * share)
    while not data[place]:
        place += 1
    data[place] ^= 0x10
    low, high = places(damaged(write(data), number))
    assert low <= place <= high
    if layout != "gzip, one member":
        assert high - low < len(data) / 2


def test_members_that_are_no_longer_adjacent(write):
    path = write(DUMP)
    whole = [Account(True, 0, 10, opened=True), Account(True, 10, len(DUMP), closed=True)]
    check_shares(path, whole)
    for first, stop in ((9, len(DUMP)), (11, len(DUMP)), (10, len(DUMP) - 1)):
        with pytest.raises(InputError, match="no shard has read this range"):
            check_shares(path, [whole[0], Account(True, first, stop, closed=True)])

"""Text that is missing from a dump, uncompressed or inside an intact archive, is never skipped in silence."""

import bz2
import contextlib
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples

from factdrift.core.errors import DamagedDump, InputError
from factdrift.statements.extract import NeedlessItems
from factdrift.wikidata import streams
from factdrift.wikidata.entity import UNREADABLE, read_outline
from factdrift.wikidata.shares import Share, check_shares


def halves(text: bytes) -> bytes:
    """Two members of gzip."""
    return gzip.compress(text[: len(text) // 2]) + gzip.compress(text[len(text) // 2 :])


COMPRESSED = pytest.mark.parametrize("compress", [bytes, halves])


def line(number: int) -> bytes:
    """An item; every third has an article, so that the others are recognised and skipped by their bytes."""
    link = {"mainsnak": {"snaktype": "novalue", "property": "P9"}, "type": "statement", "rank": "normal"}
    entity = {"type": "item", "id": f"Q{number}", "labels": {}, "claims": {"P9": [link] * 2, "P8": [link]}}
    entity["sitelinks"] = {"enwiki": {"title": str(number), "badges": []}} if number % 3 == 0 else {}
    # What is last in an item's line differs between the dumps of different years.
    if number % 2:
        entity["claims"] = entity.pop("claims")
    return json.dumps(entity, separators=(",", ":")).encode()


LINES = [line(number) for number in range(1, 40)]
DUMP = b"[\n" + b",\n".join(LINES) + b"\n]\n"
JSON_LINES = b"".join(each + b"\n" for each in LINES)


def read(path: Path, shards: int = 1) -> tuple[int, int]:
    """How many lines hold an entity, read or skipped as needless, and how many are bad. Raises InputError."""
    entities = bad = 0
    accounts = []
    for shard in range(shards):
        share = Share(path, shard, shards)
        for _, _, text in share.lines(NeedlessItems("enwiki")):
            try:
                read_outline(text)
                entities += 1
            except UNREADABLE:
                bad += 1
        entities += share.account.needless
        accounts.append(share.account)
    check_shares(path, accounts)
    return entities, bad


HALF = len(DUMP) // 2


@COMPRESSED
def test_a_text_that_lacks_its_end_or_its_beginning(write, compress):
    for end, shards in ((b"}]", 1), (b"}],", 7), (b"},\n", 1)):
        text = DUMP[: DUMP.index(end, HALF) + len(end)]
        problem = rf"dump, line {text.count(10)}: the dump is truncated, its closing \] is missing"
        with pytest.raises(InputError, match=problem):
            read(write(compress(text)), shards)
    for beginning in (b"{", b'"mainsnak', b"[{"):
        path = write(compress(DUMP[DUMP.index(beginning, HALF) :]))
        with pytest.raises(InputError, match="dump, line 1: the beginning of the dump is missing"):
            read(path)


@COMPRESSED
@pytest.mark.parametrize("shards", [1, 3])
def test_nuls_are_located(write, compress, shards):
    start = DUMP.index(LINES[18]) + 10
    path = write(compress(DUMP[:start] + bytes(3000) + DUMP[start + 3000 :]))
    message = r"dump, line (\d+) \(byte (\d+)(?:, after byte (\d+) of the file)?\): the text holds NUL bytes"
    with pytest.raises(InputError, match=message) as caught:
        read(path, shards)
    if shards == 1:
        assert f"line 20 (byte {start})" in str(caught.value)


def test_a_hole_of_64_gb_is_found_at_its_first_byte(tmp_path):
    path = tmp_path / "dump"
    with path.open("wb") as file:
        file.write(DUMP[:HALF])
        file.truncate(64 << 30)
    with pytest.raises(InputError, match=rf"\(byte {HALF}\): the text holds NUL bytes"):
        read(path)


damages = st.sampled_from(["end", "beginning", "zeros", "json lines"])
place = st.integers(0, len(DUMP))


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damages, place, place, st.sampled_from([1, 2, 5]), st.sampled_from([64, 1000, 1 << 20]))
def test_text_that_is_cut_off_or_zeroed_is_noticed(write, monkeypatch, damage, one, other, shards, size):
    """Either there is an error, or a bad line is counted, or no entity is missing."""
    monkeypatch.setattr(streams, "READ_SIZE", size)
    low, high = sorted((one, other))
    text = {
        "end": DUMP[:low],
        "beginning": DUMP[low:],
        "zeros": DUMP[:low] + bytes(high - low) + DUMP[high:],
        # Where JSON Lines end, nothing tells that there were more lines; what is left of a line is bad.
        "json lines": JSON_LINES[: low % len(JSON_LINES)],
    }[damage]
    path = write(text)
    if damage == "json lines" and text:
        found = text.splitlines()
        bad = int(found[-1] not in LINES)
        assert read(path, shards) == (len(found) - bad, bad)
    else:
        with contextlib.suppress(InputError):
            entities, bad = read(path, shards)
            assert bad > 0 or entities in (0, len(LINES))  # a dump without any item is an error of `gather`


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
@pytest.mark.parametrize(("zeros", "whole"), [(512, True), (513, False), (70_000, False)])
def test_zeros_between_pieces_are_padding_up_to_a_record_of_a_tape(tmp_path, compress, zeros, whole):
    path = tmp_path / "dump"
    middle = len(DUMP) // 2
    path.write_bytes(compress(DUMP[:middle]) + bytes(zeros) + compress(DUMP[middle:]) + bytes(70_000))
    if whole:
        assert read(path)[1] == 0
    else:
        with pytest.raises(DamagedDump, match=f"{zeros:,} zeros in the place of text"):
            read(path)

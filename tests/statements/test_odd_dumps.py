"""Odd dumps: a complete result that is the same for any number of shards, or a clear message."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from factdrift.core.errors import InputError


def item(number: int, text: str = "x", **fields: Any) -> dict[str, Any]:
    main = {"snaktype": "value", "property": "P9", "datavalue": {"type": "string", "value": text}}
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": {"en": {"language": "en", "value": text}},
        "claims": {"P9": [{"mainsnak": main, "type": "statement", "id": f"Q{number}$a", "rank": "normal"}]},
        "sitelinks": {"enwiki": {"site": "enwiki", "title": f"T{number}"}},
        **fields,
    }


SHARDS = pytest.mark.parametrize("shards", [1, 2, 7])


@SHARDS
@pytest.mark.parametrize("kind", ["plain", "members", "bzip2"])
def test_an_entity_on_two_lines(write_dump, take_snapshot, shards, kind):
    filler = [item(number, str(number) * 200) for number in range(100, 400)]
    dump = write_dump(
        item(1, "newer", lastrevid=9), item(2, "a"), *filler, item(2, "b"), item(1, "older", lastrevid=5)
    )
    text = dump.read_bytes()
    if kind == "members":
        parts = [text[start : start + 5003] for start in range(0, len(text), 5003)]
        dump.write_bytes(b"".join(map(gzip.compress, parts)))
    elif kind == "bzip2":
        dump.write_bytes(bz2.compress(text, 1))
    snapshot = take_snapshot(dump, shards=shards, buckets=2)
    assert [row["key"] for row in snapshot.rows(1)] == ["newer"]
    assert [row["key"] for row in snapshot.rows(2)] == ["b"]
    assert (snapshot.summary["duplicates"], snapshot.summary["items"]) == (2, 302)


@SHARDS
def test_bad_lines_are_named_by_their_place_in_the_dump(write_dump, take_snapshot, shards):
    lines: list[Any] = [item(number) for number in range(1, 101)]
    lines[30], lines[77] = b'{"id":"Q31",', b'{"id":"Q78","labels":{"en":{"value":"\xff"}}}'
    dump = write_dump(*lines)
    text = dump.read_bytes()
    dump.write_bytes(b"".join(gzip.compress(text[start : start + 999]) for start in range(0, len(text), 999)))
    summary = take_snapshot(dump, shards=shards, max_bad_lines=0.5).summary
    assert (summary["lines"], summary["bad_lines"], summary["items"]) == (100, 2, 98)
    for bad, number in zip(summary["first_bad_lines"], (30, 77), strict=True):
        assert bad["line"] == number + 2
        assert text.startswith(lines[number], bad["offset"])
    with pytest.raises(InputError, match=r"2 of 100 lines .* line 32 \(byte \d+\)"):
        take_snapshot(dump, shards=shards)


@SHARDS
def test_empty_maps_as_lists_and_missing_datatypes(write_dump, take_snapshot, shards):
    empty = {"labels": [], "descriptions": [], "aliases": [], "claims": [], "sitelinks": []}
    lines = [item(1), {"type": "item", "id": "Q2", **empty}, {"id": "Q3", "type": "item"}]
    lines.append({"type": "property", "id": "P9", "datatype": "external-id", **empty})
    snapshot = take_snapshot(write_dump(*lines), shards=shards)
    assert [row["datatype"] for row in snapshot.rows(1)] == ["external-id"]
    assert (snapshot.summary["items"], snapshot.summary["bad_lines"]) == (3, 0)
    assert snapshot.entity(2) == {**snapshot.entity(3), "id": 2}


@pytest.mark.parametrize("shards", [1, 3])
def test_a_line_of_30_megabytes(write_dump, tmp_path, shards):
    long = item(2)
    long["claims"]["P9"] *= 200_000
    dump = write_dump(item(1), long, item(3))
    assert dump.stat().st_size > 30e6
    dump.write_bytes(gzip.compress(dump.read_bytes(), 1))
    lines = []
    for shard in range(shards):
        code = (
            # Of this program alone; resource.getrusage would tell the peak of the process that started it.
            "import sys; from factdrift.cli import main; main();"
            "status = open('/proc/self/status').read();"
            "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)"
        )
        arguments = ["--dump", dump, "--shard", shard, "--shards", shards, "-o", tmp_path / str(shard)]
        done = subprocess.run(
            [sys.executable, "-c", code, "statements", "extract", *map(str, arguments)],
            check=True,
            capture_output=True,
            text=True,
            env=dict(os.environ),
        )
        assert int(done.stdout.split()[-1]) < 600
        report = json.loads((tmp_path / str(shard) / "report.json").read_text())
        lines.append((report["items"], report["statements"]))
    assert tuple(map(sum, zip(*lines, strict=True))) == (3, 200_002)

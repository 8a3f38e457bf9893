"""Page views, filtered during a download from servers with faults."""

import bz2
import errno

import pyarrow.parquet as pq
import pytest
from support.server import Fault

from factdrift.core.errors import InputError
from factdrift.snapshots import pageviews
from factdrift.snapshots.pageviews import filter_month

PATH = "/monthly/2022/2022-03/pageviews-202203-user.bz2"
LINES = [
    "de.wikipedia Berlin 1 desktop 999 A9",
    *(
        f"en.wikipedia Page_{k:05d} {k} {access} {k} A1B2"
        for k in range(6_000)
        for access in ("desktop", "mobile-web")
    ),
    "en.wikipedia Broken 5",
    "en.wikipedia Caf\u00e9 null desktop 3 A3",
    "en.wikipedia.extra Not_ours 1 desktop 3 A3",
    "en.wikisource Page_00001 1 desktop 3 A3",
]
HALVES = LINES[:6_000], LINES[6_000:]
FILE = b"".join(bz2.compress("".join(f"{line}\n" for line in half).encode(), 1) for half in HALVES)
"""Of two streams."""
VIEWS = {f"Page_{k:05d}".encode(): 2 * k for k in range(6_000)} | {"Caf\u00e9".encode(): 3}


@pytest.fixture
def server(server):
    server.files[PATH] = FILE
    return server


@pytest.mark.parametrize("ranges", [True, False])
def test_cut_connections_neither_lose_nor_repeat_lines(server, client, tmp_path, ranges):
    (tmp_path / ".2022-03.parquet.lines").write_bytes(b"half")  # left by a killed job
    server.ranges = ranges
    server.faults[PATH] = [Fault(cut=len(FILE) // 3), Fault(status=503), Fault(cut=len(FILE) // 2)]
    output = tmp_path / "2022-03.parquet"
    assert filter_month(server.url + PATH, output, client) == (len(VIEWS), 1)
    assert [path.name for path in tmp_path.iterdir()] == ["2022-03.parquet"]
    table = pq.read_table(output)
    found = dict(zip(table["title"].to_pylist(), table["views"].to_pylist(), strict=True))
    assert found == VIEWS
    assert list(found) == sorted(found)
    starts = [asked.start for asked in server.gets(PATH)]
    assert starts[:3] == [0, len(FILE) // 3, len(FILE) // 3]


def test_a_month_that_is_replaced_while_it_is_read_is_refused(server, client, tmp_path):
    other = FILE[:-1] + bytes([FILE[-1] ^ 1])
    server.faults[PATH] = [Fault(cut=len(FILE) // 3), Fault(cut=len(FILE) // 3, then=other)]
    with pytest.raises(InputError, match="has replaced the file while it was read; run the same command"):
        filter_month(server.url + PATH, tmp_path / "2022-03.parquet", client)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "no page views of that month.*pageviews: none"),
        (FILE[: len(FILE) // 2], "cannot be read as a monthly page-view file"),
        (FILE[:2000] + b"\0" * 100 + FILE[2100:], "cannot be read as a monthly page-view file"),
        (bz2.compress(b"de.wikipedia Berlin 1 desktop 999 A9\n"), "no line of en.wikipedia"),
    ],
    ids=["missing", "truncated", "damaged", "without English"],
)
def test_unusable_files_are_refused_and_leave_nothing(server, client, tmp_path, body, message):
    server.files = {} if body is None else {PATH: body}
    with pytest.raises(InputError, match=message):
        filter_month(server.url + PATH, tmp_path / "2022-03.parquet", client)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_not_reported_as_a_bad_file(server, client, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pageviews.pq, "ParquetWriter", full)
    with pytest.raises(OSError, match="No space left on device"):
        filter_month(server.url + PATH, tmp_path / "2022-03.parquet", client)

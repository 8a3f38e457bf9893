"""The line reader: layouts, compressions, and what it says about damaged files."""

import gzip
import lzma
import time
from pathlib import Path

import pytest
from support.dumps import lines
from support.shards import extract

from factdrift.core.errors import InputError
from factdrift.statements.extract import NeedlessItems
from factdrift.wikidata import shares
from factdrift.wikidata.shares import Share, check_shares


def texts(path: Path) -> list[bytes]:
    return [text for _, _, text in lines(path)]


@pytest.mark.parametrize(
    "layout",
    [
        *(b'[\n{"a":1},\n{"b":2}\n]\n', b'{"a":1}\n{"b":2}\n', b'{"a":1}\n{"b":2}'),
        *(b'[\r\n{"a":1},\r\n{"b":2}\r\n]\r\n', b'[{"a":1},\n{"b":2}]'),
        *(b'[\n{"a":1}\n,{"b":2}\n\n]\n\n', b'\xef\xbb\xbf[\n{"a":1},\n\n{"b":2}\n]'),
        b'\n[\n{"a":1}\n,\n{"b":2}\n,\n]\n',
    ],
)
def test_layouts(write, layout):
    assert texts(write(layout)) == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize("piece", [b',\n{"a":1},\r\n{"b":2}', b'{"a":1},\n{"b":2}'])
def test_a_piece_from_the_middle_of_an_array_is_refused(write, piece):
    with pytest.raises(InputError, match=r"has neither \[ nor \]: it is a piece from the middle of a dump"):
        texts(write(piece))


def faults(path: Path, needless: NeedlessItems | None = None) -> list[tuple[int, int, int, str]]:
    share = Share(path)
    list(share.lines(needless))
    assert share.account.faulty == len(share.account.faults)
    return [tuple(fault) for fault in share.account.faults]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        *((b'[\n{"a":1},\n,\n{"b":2}\n]\n', 3), (b'[\n{"a":1}\n,\n,\n{"b":2}\n]\n', 4)),
        *((b'[\n{"a":1},,\n{"b":2}\n]\n', 2), (b'[\n{"a":1},\n,{"b":2}\n]\n', 3)),
        *((b'[\n{"a":1},\n{"b":2}\n]\n]\n', 5), (b'[\n{"a":1}\n]\n{"b":2}\n]\n', 4)),
    ],
)
def test_commas_and_brackets_that_tell_of_missing_text(write, text, line):
    [(found, offset, _, problem)] = faults(write(text))
    assert (found, offset) == (line, len(b"".join(text.splitlines(keepends=True)[: line - 1])))
    assert "two commas" in problem or "follows the ]" in problem


ITEM = b'{"type":"item","id":"Q1","claims":{"P1":[{"id":"Q1$a"}]}}'


@pytest.mark.parametrize(
    "text",
    [
        *(b"[\n%b\n,\n%b\n,\n%b\n]\n", b"[\n%b\n,%b,\n%b\n]", b"%b\n%b\n%b"),
        *(b"[\n%b,\n,\n%b\n,\n,\n%b\n]\n", b"%b\n[\n%b,\n%b\n]\n"),
        *(b"[\n%b\n]\n%b,\n%b\n]\n", b"[\n%b\n" + b" " * 5000 + b"\n]\n%b\n" + b" " * 5000 + b",\n"),
    ],
)
def test_lines_that_are_skipped_unparsed_change_no_account(write, text):
    path = write(gzip.compress(text.replace(b"%b", ITEM)))
    parsed, skipped = Share(path), Share(path)
    assert len([*parsed.lines()]) > len([*skipped.lines(NeedlessItems("enwiki"))])
    skipped.account.needless = 0
    assert skipped.account == parsed.account


def test_an_array_with_fewer_bytes_than_shards(write):
    path = write(b'[\n{"a":1}\n]\n')
    found = [Share(path, shard, 99) for shard in range(99)]
    assert [text for share in found for _, _, text in share.lines()] == [b'{"a":1}']
    check_shares(path, [share.account for share in found])


@pytest.mark.parametrize("blank", [b" " * 5000, b"\n" * 5000, b" \t\r\n" * 1300])
@pytest.mark.parametrize("place", [b'[\n%b{"a":1}\n]\n', b'[\n{"a":1}%b\n]\n', b'[\n{"a":1},\n%b\n]\n'])
def test_white_space_in_the_place_of_text(write, blank, place):
    [(_, _, size, problem)] = faults(write(place % blank))
    assert len(blank) <= size <= len(blank) + 2
    assert "bytes of white space" in problem
    assert faults(write(place % blank[:4000])) == []


def test_missing_text_is_counted_where_it_is_not_named(write, tmp_path, monkeypatch):
    path = write(b'[\n{"id":"Q1"},\n' + (b" " * 4999 + b'\n{"id":"Q2"},\n') * 4 + b'{"id":"Q3"}\n]\n')
    monkeypatch.setattr(shares, "FAULTS_NAMED", 2)
    report = extract(path, 0, 1, 1, "all", tmp_path / "shard")
    assert len(report["first_bad_lines"]) == 2
    assert (report["bad_lines"], report["bad_bytes"]) == (4, 20_000)


def test_blank_and_odd_lines_cost_linear_time(write):
    """Neither lines without text nor those of an odd form make other lines be searched again and again."""
    item = b'{"type":"item", "id":"Q1"},\n'
    seconds = []
    for number in (10_000, 40_000):
        path = write(gzip.compress(b"\n" * number + item * number, 1))
        begun = time.process_time()
        assert sum(1 for _ in Share(path).lines(NeedlessItems("enwiki"))) == number
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 4 * seconds[0] * 2.5


def test_broken_lines_pass_and_do_not_close_the_array(write):
    path = write(b'[\n{"a":[{}],\n{"broken":[{"a":1}]\n{"b":2}\n')
    with pytest.raises(InputError, match="line 4: the dump is truncated"):
        texts(path)
    assert texts(write(b'[\nnonsense,\n{"b":2}\n]\n')) == [b"nonsense", b'{"b":2}']


def test_missing_and_empty_files(write, tmp_path):
    with pytest.raises(InputError, match=r"none\.json: cannot be read \(No such file or directory\)"):
        list(lines(tmp_path / "none.json"))
    with pytest.raises(InputError, match="the file is empty; download"):
        list(lines(write(b"", "empty.json.gz")))
    with pytest.raises(InputError, match="Is a directory"):
        list(lines(tmp_path))


@pytest.mark.parametrize(
    ("data", "kind"),
    [(lzma.compress(b"[\n]\n"), "xz"), (b"PK\3\4 and so on", "zip"), (b"7z\xbc\xaf\x27", "7z")],
)
def test_archives_that_are_not_read(write, data, kind):
    with pytest.raises(InputError, match=rf"dump: is an? {kind}.* archive, which is not read; unpack it"):
        texts(write(data))

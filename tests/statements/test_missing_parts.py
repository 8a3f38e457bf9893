"""Dumps of which a part is missing are refused, or a warning names the place: never a silent loss."""

import gzip
import json
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
from support.dumps import COMPRESS

from factdrift.core.errors import InputError
from factdrift.statements.extract import NeedlessItems
from factdrift.wikidata.course import Reader, suspicious
from factdrift.wikidata.entity import is_joined
from factdrift.wikidata.shares import Share


def line(number: int, year: int) -> bytes:
    """An item as in dumps of a year, every twelfth with an English article."""
    main = {"snaktype": "value", "property": "P9"}
    main["datavalue"] = {"type": "string", "value": "x" * (number % 90)}
    claims = {
        f"P{each}": [{"mainsnak": main, "type": "statement", "id": f"Q{number}$A-{each}", "rank": "normal"}]
        for each in (9, 21, 569)
    }
    site = "enwiki" if number % 12 == 0 else "dewiki"
    links = {site: {"site": site, "title": f"Title {number}", "badges": []}} if number % 3 == 0 else {}
    labels = {"de": {"language": "de", "value": f"A ${number}"}}
    entity = {"type": "item", "id": f"Q{number}", "labels": labels, "claims": claims, "sitelinks": links}
    if year >= 2022:
        entity |= {"pageid": number, "ns": 0, "title": f"Q{number}"}
    entity["lastrevid"] = number * 10
    if year >= 2022:
        entity["modified"] = "2023-02-26T16:40:00Z"
    return json.dumps(entity, separators=(",", ":")).encode()


def lines(number: int, year: int, step: int = 8) -> list[bytes]:
    return [line(1000 + step * each, year) for each in range(number)]


def whole(entities: Sequence[bytes]) -> bytes:
    return b"[\n" + b",\n".join(entities) + b"\n]\n"


def parts(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.fixture
def read(tmp_path, take_snapshot):
    """The warnings about a dump of these bytes, most lines of which are skipped unparsed."""

    def run(data: bytes, shards: int = 1, max_bad_lines: float = 0.0001) -> list[str]:
        path = tmp_path / "dump"
        path.write_bytes(data)
        snapshot = take_snapshot(path, shards, scope="enwiki", names="held", max_bad_lines=max_bad_lines)
        return list(snapshot.summary["warnings"])

    return run


NOTICED = r"begin as one entity and end as another|lines .* cannot be used|1 lines end with a statement whose"


@pytest.mark.parametrize(("year", "shards"), [(2021, 1), (2023, 3)])
@pytest.mark.parametrize("kind", COMPRESS)
def test_a_missing_member_stream_frame_or_part(read, kind, year, shards):
    pieces = [COMPRESS[kind](part) for part in parts(whole(lines(400, year)), 20_011)]
    problem = r"1 lines begin as one entity and end as another.*Download .* again"
    with pytest.raises(InputError, match=problem):
        read(b"".join(pieces[:4] + pieces[5:]), shards)
    assert read(b"".join(pieces), shards) == []


@pytest.mark.parametrize(("year", "kind"), [(2021, "none"), (2021, "gzip"), (2023, "gzip")])
def test_holes_at_random_places(read, kind, year):
    """Of plain text, and of text that was compressed after it was damaged.

    In such an archive of before 2022, a hole that ends behind the statements of an item cannot be seen
    without parsing all lines: later ones name the item once more, behind the links to sites.
    """
    text = whole(lines(300, year))
    places = random.Random(year)
    noticed = 0
    for _ in range(12):
        start = places.randrange(2, len(text) - 20_000)
        stop = start + places.randrange(2000, 20_000)
        behind = text.find(b'"id":"Q', stop) > text.find(b"\n", stop)
        if kind == "none" or year == 2023 or not behind:
            noticed += 1
            try:
                notices = read(COMPRESS[kind](text[:start] + text[stop:]))
            except InputError as error:
                notices = [str(error)]
            assert re.search(NOTICED, " ".join(notices))
    assert noticed > 5


def test_a_hole_from_site_links_to_site_links(read):
    """Both ends are in a title, so what is left of the two lines is JSON."""
    entities = lines(300, 2023)
    text = whole(entities)
    start, stop = (text.index(b"Title %d" % (1000 + 8 * each)) + 3 for each in (100, 202))
    problem = "begins as Q1800 and ends as Q2616: the text between them is missing"
    with pytest.raises(InputError, match=problem):
        read(text[:start] + text[stop:])


def test_a_missing_member_of_whole_lines(read):
    entities = lines(6000, 2021)
    batches = [entities[start : start + 40] for start in range(0, 6000, 40)]
    batches[60:90] = [[each for batch in batches[60:90] for each in batch]]
    wikidata = [gzip.compress(b",\n".join(batch)) for batch in batches]
    own = [gzip.compress(b"".join(each + b",\n" for each in batch)) for batch in batches[:-1]]
    own.append(gzip.compress(b",\n".join(batches[-1])))

    def said(members: Sequence[bytes], separator: bytes) -> list[str]:
        data = gzip.compress(b"[\n") + separator.join(members) + gzip.compress(b"\n]\n")
        warnings = read(data, max_bad_lines=0.01)
        assert read(data, 3, 0.01) == warnings
        return warnings

    between = gzip.compress(b",\n")
    assert said(wikidata, between) == []
    doubled, jumped = said([*wikidata[:60], gzip.compress(b""), *wikidata[61:]], between)
    assert "two commas with no entity between them" in doubled
    [alone] = said(own[:60] + own[61:], b"")
    for warning in (jumped, alone):
        assert re.search("the numbers of the items jump from Q(19|20)[0-9]{3} to Q29800 before line", warning)
        assert re.search(r"some 1,[12]\d\d entities", warning)


def test_bytes_count_as_lines_do(take_snapshot, tmp_path):
    """One line of a thousand hides a tenth of the text."""
    entities = lines(1000, 2023)
    entities[500] = b'{"x":' + b"y" * (len(whole(entities)) // 10)
    path = tmp_path / "dump"
    path.write_bytes(whole(entities))
    with pytest.raises(InputError, match=r"1 of 1,000 lines \([\d,]+ of [\d,]+ bytes\) cannot be used"):
        take_snapshot(path, max_bad_lines=0.05)
    assert take_snapshot(path, max_bad_lines=0.2).summary["bad_lines"] == 1


def course(numbers: Sequence[int]) -> dict[str, Any]:
    reader = Reader()
    for place, number in enumerate(numbers):
        reader.see(60 * place, number)
    return vars(reader.course())


def test_jumps_are_named_only_where_numbers_run_in_order():
    rising = [480 * each + each % 7 for each in range(1, 2000)]
    gap = [number + (number > 480_000) * 200_000 for number in rising]
    [(part, jump, missing)] = suspicious([course(gap)])
    step = min(each for each in gap if each > 600_000) - max(each for each in gap if each < 600_000)
    assert (part, jump.after - jump.before) == (0, step)
    assert 24_000 < missing < 26_000
    for part in (
        # Two of Wikidata's shards, and items whose pages were restored.
        [*rising, *rising],
        [7 if each % 90 == 0 else number for each, number in enumerate(rising)],
        # In any other order nothing can be said, nor of few lines, nor of a selection of items.
        random.Random(1).sample(gap, len(gap)),
        gap[950:1040],
        sorted(random.Random(2).sample(range(10**8), 2000)),
        # A slice that has the first items nearly all, and few of the others.
        [*range(1, 5000, 40), *range(6000, 10**7, 60000)],
    ):
        assert suspicious([course(part)]) == []
    # A part of the shares of a file.
    assert len(suspicious([course(gap[:1000]), course(gap[1000:])])) == 1
    assert [each[1].line for each in suspicious([course(rising[:500]), course(rising[1500:])])] == [1]


@pytest.mark.parametrize(
    ("foreign", "joined"), [([0], False), ([2], False), ([0, 2], False), ([1, 2], True), ([0, 1, 2], True)]
)
def test_a_single_foreign_id_is_a_warning(read, foreign, joined):
    """Of an item's three statements; from one place on all of another item's are the end of its line."""
    entities = lines(30, 2021)
    for each in foreign:
        entities[3] = re.sub(rb"Q1024(\$A-%d\D)" % (9, 21, 569)[each], rb"Q999\1", entities[3])
    if joined:
        with pytest.raises(InputError, match="begins as Q1024 and ends as Q999"):
            read(whole(entities))
    else:
        warned = "1 lines end with a statement whose id names another entity, the first is one of Q999"
        assert [warned in each for each in read(whole(entities))] == [True] * (2 in foreign)
    assert not is_joined(b'{"id":"Q1","claims":{"P1":[{"id":"Q2$A"}]}}', b"Q1")  # the only one of a line


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the program zstd")
@pytest.mark.parametrize(("option", "checked"), [("--check", True), ("--no-check", False)])
def test_lines_of_frames_without_a_checksum_are_all_parsed(tmp_path, option, checked):
    """A flipped bit in their text is seen by parsing only."""
    path = tmp_path / "dump"
    command, text = ["zstd", "-q", "-c", option], whole(lines(300, 2021))
    path.write_bytes(subprocess.run(command, input=text, capture_output=True, check=True).stdout)
    share = Share(path)
    parsed = len(list(share.lines(NeedlessItems("enwiki"))))
    assert share.account.needless == (200 if checked else 0)
    assert share.account.needless + parsed == 300


def test_invalid_utf_8_is_a_bad_line_wherever_it_is(read):
    entities = lines(30, 2021)
    entities[7] = entities[7].replace(b'"value":"A $', b'"value":"\xff $')
    warnings = read(gzip.compress(whole(entities)), max_bad_lines=0.5)
    assert any("1 of 30 lines cannot be used" in each for each in warnings)

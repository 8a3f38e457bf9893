"""Addresses of dumps: the bundled registry, the pattern of names, the user's own addresses."""

import datetime
from dataclasses import replace

import pytest

from factdrift.core.errors import InputError
from factdrift.snapshots.registry import (
    COLUMNS,
    Dump,
    address_of,
    dump_at,
    find_dump,
    read_registry,
    remote_dump,
    suffix,
)

HEADER = "\t".join(COLUMNS)


def test_the_bundled_registry_has_the_dates_of_the_paper_and_the_usual_names():
    dumps = read_registry()
    assert {"2021-01-04", "2023-02-27"} <= dumps.keys()
    for date, dump in dumps.items():
        day = date.replace("-", "")
        assert datetime.date.fromisoformat(date).weekday() == 0
        assert dump.urls[0].startswith(f"https://dumps.wikimedia.org/wikidatawiki/entities/{day}/")
        assert dump.urls[1].startswith(f"https://archive.org/download/wikibase-wikidatawiki-{day}/")
        assert {url.rpartition("/")[2] for url in dump.urls} == {f"wikidata-{day}-all.{suffix(dump)}"}
        assert dump.note


def test_other_dates_follow_the_pattern():
    assert find_dump("2026-11-16").urls == (
        "https://dumps.wikimedia.org/wikidatawiki/entities/20261116/wikidata-20261116-all.json.gz",
        "https://archive.org/download/wikibase-wikidatawiki-20261116/wikidata-20261116-all.json.gz",
    )


def test_an_address_with_and_without_a_sum():
    assert dump_at("2021-01-04", f"https://a/b.json.gz#md5={'AB' * 16}").digests == {"md5": "ab" * 16}
    known = Dump("2021-01-04", ("https://a/b.json.gz",), 12, {"sha1": "0" * 40})
    assert address_of(known) == f"https://a/b.json.gz#sha1={'0' * 40}&bytes=12"
    assert address_of(Dump("2021-01-04", ("https://a/b.json.gz",))) == "https://a/b.json.gz"
    # The strongest checksum, at the first address.
    both = Dump("2021-01-04", ("https://a/b.json.gz", "https://c"), None, {"md5": "1" * 32, "sha1": "0" * 40})
    assert address_of(both) == f"https://a/b.json.gz#sha1={'0' * 40}"
    assert address_of(replace(both, digests={"md5": "1" * 32})) == f"https://a/b.json.gz#md5={'1' * 32}"
    assert dump_at("2021-01-04", address_of(known)) == known


@pytest.mark.parametrize("fragment", ["sha256=" + "a" * 64, "top", "bytes=1e9", f"sha1={'g' * 40}"])
def test_a_wrong_sum_in_an_address_is_named(fragment):
    with pytest.raises(InputError, match="write #sha1=SUM or #md5=SUM"):
        dump_at("2021-01-04", f"https://a/b.json.gz#{fragment}")


def test_which_dumps_the_configuration_downloads():
    config = {"dumps": {"2021-01-04": "wikidata", "2022-01-01": "a.json", "2023-02-27": "http://b/c.json.gz"}}
    dumps = {date: remote_dump(config, date) for date in config["dumps"]}
    assert dumps["2021-01-04"] == find_dump("2021-01-04")
    assert dumps["2022-01-01"] is None
    assert dumps["2023-02-27"].urls == ("http://b/c.json.gz",)
    # The estimate of disk and time takes the size from the address.
    sized = remote_dump({"dumps": {"2021-01-04": "https://a/b.json.gz#bytes=250000"}}, "2021-01-04")
    assert sized is not None
    assert sized.size == 250_000
    assert remote_dump({"dumps": "sample"}, "2021-01-04") is None
    assert remote_dump({"dumps": "wikidata"}, "2021-01-04") == find_dump("2021-01-04")
    with pytest.raises(InputError, match="the name of a dump must end in"):
        remote_dump({"dumps": {"2021-01-04": "https://a/b.nt.gz"}}, "2021-01-04")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["date\turl"], "line 1: the columns must be date, url"),
        ([HEADER, "", "soon\thttps://a\t\t\t\t\t"], "line 3: Invalid isoformat"),
        ([HEADER, "2021-01-04\tftp://a\t\t\t\t\t"], "line 2: url and mirror must begin with"),
        ([HEADER, "2021-01-04\thttps://a\t\t\tabc\t\t"], "line 2: 'abc' is not a sha1 of 40"),
        ([HEADER, "2021-01-04\thttps://a"], "line 2: there must be 7 columns"),
        ([HEADER, *["2021-01-04\thttps://a\t\t\t\t\t"] * 2], "line 3: 2021-01-04 occurs twice"),
        ([HEADER, "2021-01-04\thttps://a\t\t\t\t\tf\u00fcr uns"], "line 2: byte 0xfc is not UTF-8"),
    ],
)
def test_a_fault_in_a_registry_is_named_with_its_line(tmp_path, lines, message):
    table = tmp_path / "dumps.tsv"
    table.write_text("".join(f"{line}\n" for line in lines), encoding="latin-1")
    with pytest.raises(InputError, match=message):
        read_registry(table)

"""Complete dumps on a server's listing."""

import pytest
from support.listings import HOME, add_dump, add_page
from support.server import Fault, serving

from factdrift.core.errors import InputError
from factdrift.snapshots.listing import complete_dumps

DUMPS = [("20260511", "gz"), ("20260504", "bz2"), ("20260427", "gz")]


@pytest.fixture
def server():
    with serving() as one:
        for day in ("20260420", "20260427", "20260511"):
            add_dump(one, day)
        add_dump(one, "20260504", kinds=("bz2",))
        add_dump(one, "20260518", sums=False)  # still being written
        add_page(one, f"{HOME}20260525/", ["wikidata-20260525-lexemes.json.gz"])
        names = ["20260420/", "20260427/", "20260504/", "20260511/", "20260518/", "20260525/", "20260601/"]
        others = ["20261399/", "dcatap.rdf", "latest-all.json.gz", "/other/20260622/", "http://[odd"]
        add_page(one, HOME, names + others)
        yield one


def test_the_newest_complete_dumps_come_first(server, client):
    found = list(complete_dumps(server.url + HOME, "2026-04-20", client))
    names = [f"wikidata-{day}-all.json.{kind}" for day, kind in DUMPS]
    assert [dump.name for dump in found] == names
    assert [dump.date for dump in found] == ["2026-05-11", "2026-05-04", "2026-04-27"]
    assert found[0].urls == (f"{server.url}{HOME}20260511/{names[0]}",)
    assert found[0].digests == {"sha1": f"{1:040x}"}


def test_no_more_is_asked_for_than_needed(server, client):
    newest = next(complete_dumps((server.url + HOME).rstrip("/"), "", client))
    assert newest.date == "2026-05-11"
    assert not server.gets(f"{HOME}20260504/")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nowhere/", "does not exist"),
        (f"{HOME}20260511/", "no folder named by a date"),
        ("/odd/", "/odd/ (is no HTML|lists no folder)"),  # newer versions of Python read over it
    ],
)
def test_an_address_that_is_no_listing(server, client, path, message):
    server.files["/odd/"] = b"<![odd[ ]]>"
    with pytest.raises(InputError, match=message):
        next(complete_dumps(server.url + path, "", client))


def test_a_folder_that_cannot_be_read_is_not_skipped_for_an_older_one(server, client):
    for status, message in ((503, "given up after 4 tries"), (403, "refuses with status 403")):
        server.always[f"{HOME}20260511/"] = Fault(status=status)
        with pytest.raises(InputError, match=message):
            next(complete_dumps(server.url + HOME, "", client))

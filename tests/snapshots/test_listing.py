"""Complete dumps on a server's listing."""

from __future__ import annotations

import pytest
from support.listings import HOME, add_dump, add_page
from support.server import Fault, serving

from factdrift.core.errors import InputError
from factdrift.snapshots.fetch import Client
from factdrift.snapshots.listing import complete_dumps


@pytest.fixture
def server():
    with serving() as one:
        for day in ("20260420", "20260427", "20260511"):
            add_dump(one, day)
        add_dump(one, "20260504", kinds=("bz2",))
        add_dump(one, "20260518", sums=False)  # still being written
        add_page(one, f"{HOME}20260525/", ["wikidata-20260525-lexemes.json.gz"])
        names = ["20260420/", "20260427/", "20260504/", "20260511/", "20260518/", "20260525/", "20260601/"]
        add_page(one, HOME, [*names, "20261399/", "dcatap.rdf", "latest-all.json.gz", "/other/20260622/"])
        yield one


def test_the_newest_complete_dumps_come_first(server):
    client = Client("me@example.org")
    found = list(complete_dumps(server.url + HOME, "2026-04-20", client))
    assert [dump.date for dump in found] == ["2026-05-11", "2026-05-04", "2026-04-27"]
    assert [dump.name for dump in found][:2] == [
        "wikidata-20260511-all.json.gz",
        "wikidata-20260504-all.json.bz2",
    ]
    assert found[0].urls == (f"{server.url}{HOME}20260511/wikidata-20260511-all.json.gz",)
    assert found[0].digests == {"sha1": f"{1:040x}"}


def test_no_more_is_asked_for_than_needed(server):
    client = Client("me@example.org")
    newest = next(complete_dumps((server.url + HOME).rstrip("/"), "", client))
    assert newest.date == "2026-05-11"
    assert not server.gets(f"{HOME}20260504/")
    assert not server.gets(f"{HOME}20260420/")
    assert {asked.agent for asked in server.asked} == {server.asked[0].agent}
    assert "me@example.org" in server.asked[0].agent


def test_a_listing_that_fails_for_a_while(server):
    server.faults[HOME] = [Fault(status=503, headers={"Retry-After": "0"}), Fault(cut=40)]
    client = Client("me@example.org", sleep=lambda seconds: None)
    assert next(complete_dumps(server.url + HOME, "", client)).date == "2026-05-11"


@pytest.mark.parametrize(
    ("path", "message"), [("/nowhere/", "does not exist"), (f"{HOME}20260511/", "no folder named by a date")]
)
def test_an_address_that_is_no_listing(server, path, message):
    with pytest.raises(InputError, match=message):
        next(complete_dumps(server.url + path, "", Client("me@example.org")))

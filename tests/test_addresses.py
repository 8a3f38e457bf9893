"""Addresses in the configuration: what is one, and that none carries a password."""

from __future__ import annotations

from typing import Any

import pytest

from factdrift.addresses import check_no_passwords, is_url
from factdrift.errors import InputError
from factdrift.settings import configure


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("https://a/b", True),
        ("http://a", True),
        ("a.json", False),
        ("httpd.json", False),
        ("wikidata", False),
    ],
)
def test_addresses(source: str, expected: bool) -> None:
    assert is_url(source) == expected


SECRET = "https://me:secret@host/file.json.gz"


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"dumps": {"2021-01-04": SECRET}}, "dumps.2021-01-04"),
        ({"dumps": SECRET}, "dumps"),
        ({"pageviews": SECRET}, "pageviews"),
        ({"tempripple": {"endpoint": SECRET}}, "tempripple.endpoint"),
        ({"wikidata_api": SECRET}, "wikidata_api"),
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(keys: dict[str, Any], named: str) -> None:
    config = {"snapshots": {"old": "2021-01-04", "new": "2023-02-27"}, **keys}
    with pytest.raises(InputError, match=f"^configuration: {named}: the address must not") as raised:
        configure(config)
    assert "secret" not in str(raised.value)


def test_other_signs_in_addresses_and_paths_are_accepted() -> None:
    plain = {"2021-01-04": "https://host/a@b.json.gz?key=1", "2023-02-27": "folder/me:x@y.json"}
    check_no_passwords({"dumps": plain, "pageviews": "none", "chat": None, "tempripple": 3})

"""Addresses in the configuration: what is one, and that none carries a password."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.configured import configured

from factdrift.cli import main
from factdrift.core.addresses import check_addresses
from factdrift.core.errors import InputError, redacted

SECRET = "https://me:secret@host/file.json.gz"
SIGNED = (
    "https://host/file.json.gz?X-Amz-Date=20260101&X-Amz-Signature=5ec2e7",
    "https://host/file.json.gz?se=2027&sig=5ec2e7%3D",
    "https://host/file.json.gz?Expires=1&Signature=5ec2e7&Key-Pair-Id=X",
    "https://host/file.json.gz?access_token=5ec2e7",
    "https://host/go?to=https%3A%2F%2Fother%2Ffile%3FX-Amz-Signature%3D5ec2e7",
    *(f"{start}//me:5ec2e7@host/file.json.gz" for start in ("HTTPS:", "ftp:", " https:", "")),
    "me:5ec2e7@host.example:8080/file.json.gz",
)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        *(({key: SECRET}, key) for key in ("dumps", "pageviews", "wikidata_api")),
        ({"dumps": {"2021-01-04": SECRET}}, "dumps.2021-01-04"),
        ({"tempripple": {"endpoint": SECRET}}, "tempripple.endpoint"),
        ({"refresh": {"listings": ["https://host/", SIGNED[0]]}}, "refresh.listings"),
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(keys: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=f"^configuration: {named}: the address must not") as raised:
        configured(**keys)
    assert "secret" not in str(raised.value)
    assert "5ec2e7" not in str(raised.value)


def test_an_address_that_is_none_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    wrong = [("dumps", "http://host:port/"), ("dumps", "HTTPS://host:99999/x")]
    for key, address in (("pageviews", "http://[x"), ("wikidata_api", "https://"), *wrong):
        with pytest.raises(InputError, match=f"^configuration: {key}: .* is no valid address"):
            configured(**{key: address})
    for when, address in (("2021-01-04", "http://["), ("2021-01-04", "a.json.gz"), ("2021-01", "http://[")):
        line = ("snapshots", "download", when, "-o", tmp_path / "out", "--url", address)
        assert "factdrift: --url " in refused(*line)


@pytest.mark.parametrize("address", SIGNED)
def test_messages_repeat_no_secret_of_an_address(address: str) -> None:
    for text in (address, f"{address!r}: no answer", f"(Caused by <{address}>)"):
        assert "5ec2e7" not in redacted(text)
        assert "5ec2e7" not in str(InputError(text))
    if "?" in address:
        _, _, query = address.partition("?")
        assert "5ec2e7" not in redacted(f"Max retries exceeded with url: /file?{query} (Caused by X)")


def test_a_message_repeats_the_ends_of_a_very_long_value(capsys: pytest.CaptureFixture[str]) -> None:
    value = "x" * 100_000
    assert main(["show", value]) == 1
    with pytest.raises(InputError, match=r"^a: .*\[96,.* characters\].*x; correct it$"):
        raise InputError(f"a: {value}; correct it")
    with pytest.raises(SystemExit):
        main([value])
    assert len("".join(capsys.readouterr())) < 20_000


def test_other_texts_are_not_changed() -> None:
    for text in (
        "folder/me:x@y.json: no such file",
        "line 3: a@b, at 10:30@noon",
        "https://archive.org/download/x/y.json.gz#sha1=0123",
        "https://host/file?edition=1&monkeys=2&design=3",
        "write to you@example.org, or see https://host/a@b",
        "a=b; key=value",
    ):
        assert redacted(text) == text
    assert str(InputError("a\tb\n\x1b[31mc\x9b1m")) == "a\tb\n [31mc 1m"


def test_other_signs_in_addresses_and_paths_are_accepted() -> None:
    plain = {"2021-01-04": "https://host/a@b.json.gz?edition=1", "2023-02-27": "folder/me:x@y.json"}
    check_addresses({"dumps": plain, "pageviews": "none", "chat": None, "tempripple": 3})

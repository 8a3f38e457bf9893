"""An access token reaches the API's own host only, and neither files nor messages."""

import gzip

import pytest
from support import server as web

from factdrift.cli import main
from factdrift.core.addresses import TOKEN_VARIABLE, access_token
from factdrift.core.errors import InputError
from factdrift.snapshots.fetch import Client

from .conftest import CONTACT, line

SECRET = "eyJ0-a-secret.token/of_the-user"


@pytest.fixture
def token(monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, f"{SECRET}\n")


def test_every_request_to_the_api_has_the_token_and_no_file_does(wiki, token, tmp_path, capfd):
    assert main(line(wiki, tmp_path, "Q278")) == 0
    assert set(wiki.authorizations) == {f"Bearer {SECRET}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        data = path.read_bytes()
        assert SECRET.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data), path
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("login", f"is the token in {TOKEN_VARIABLE} valid?"),
        ("403", "refuses with status 403 Forbidden: no: Bearer [key]"),
    ],
)
def test_a_server_that_repeats_the_token_does_not_bring_it_into_a_message(
    wiki, token, tmp_path, failure, said, capfd
):
    wiki.fail = [failure]
    assert main(line(wiki, tmp_path, "Q278")) == 1
    message = capfd.readouterr().err
    assert said in message
    assert SECRET not in message
    assert wiki.authorizations[f"Bearer {SECRET}"] == len(wiki.requests) == 1


def test_no_other_host_gets_the_token_not_even_by_a_redirect(token):
    with web.serving() as first, web.serving() as second:
        second.files["/there"] = second.files["/sums.txt"] = b"{}"
        first.moved["/here"] = f"{second.url}/there"
        client = Client(CONTACT, token=access_token(first.url))
        assert client.small(f"{first.url}/here") == client.small(f"{second.url}/sums.txt") == b"{}"
        asked = {each.path: each.authorization for each in first.asked + second.asked}
    assert asked == {"/here": f"Bearer {SECRET}", "/there": "", "/sums.txt": ""}


def test_other_machines_need_https(token):
    with pytest.raises(InputError, match="not sent unencrypted") as raised:
        access_token("http://127.0.0.1.example/")
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(access_token("https://www.wikidata.org/w/api.php"))

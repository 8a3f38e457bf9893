"""The commands `factdrift dumps` and `factdrift pageviews`."""

import bz2

import pyarrow.parquet as pq
import pytest
from support.downloads import BODY, PATH, SHA1

from factdrift.cli import main
from factdrift.snapshots.registry import COLUMNS


@pytest.fixture
def registry(server, tmp_path):
    def write(size="", sha1=""):
        row = ["2021-01-04", server.url + PATH, f"{server.url}/mirror.json.gz", str(size), sha1, "", "ours"]
        table = tmp_path / "dumps.tsv"
        table.write_text("\t".join(COLUMNS) + "\n" + "\t".join(row) + "\n")
        return ["--registry", str(table)]

    return write


CONTACT = ["--contact", "https://example.org/me"]


@pytest.mark.parametrize("by", ["registry", "address"])
def test_download(server, registry, tmp_path, monkeypatch, by):
    monkeypatch.setenv("FACTDRIFT_CONTACT", "me@example.org")
    output = tmp_path / "a.json.gz"
    given = [*registry(), *CONTACT] if by == "registry" else ["--url", f"{server.url}{PATH}#sha1={SHA1}"]
    assert main(["snapshots", "download", "2021-01-04", "-o", str(output), *given]) == 0
    assert output.read_bytes() == BODY
    contact = "https://example.org/me" if by == "registry" else "me@example.org"
    assert f"({contact})" in server.asked[0].agent


@pytest.mark.parametrize(
    "verb", [["snapshots", "download", "2021-01-04"], ["snapshots", "download", "2022-03"]]
)
def test_nothing_is_downloaded_into_a_folder_or_without_a_contact(tmp_path, capsys, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    assert main([*verb, "-o", ".", *CONTACT]) == 1
    assert "factdrift: .: is a folder; name a file" in capsys.readouterr().err
    assert main([*verb, "-o", "a"]) == 1
    assert "is no mail or web address" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_limit_that_no_request_can_keep_is_named(server, registry, capsys):
    assert (
        main(["snapshots", "download", "2021-01-04", "-o", "a", *registry(), *CONTACT, "--tries", "0"]) == 1
    )
    assert "factdrift: --tries 0: must be " in capsys.readouterr().err
    assert not server.asked


def test_a_month_of_page_views(server, tmp_path):
    server.files["/views/2022/2022-03/pageviews-202203-user.bz2"] = bz2.compress(
        b"en.wikipedia A 1 desktop 3 A3\nen.wikipedia A 1 mobile-web 4 A4\n"
    )
    output = tmp_path / "2022-03.parquet"
    command = ["snapshots", "download", "2022-03", "-o", str(output), "--url", f"{server.url}/views/"]
    assert main([*command, *CONTACT]) == 0
    assert pq.read_table(output).to_pylist() == [{"title": b"A", "views": 7}]


def test_wrong_dates_are_named(capsys):
    for wrong in ("soon", "2022-13", "2022-02-30"):
        assert main(["snapshots", "download", wrong, "-o", "a"]) == 1
        assert f"'{wrong}' is no day and no month; write 2021-01-04" in capsys.readouterr().err

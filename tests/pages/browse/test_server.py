"""`factdrift browse` as users run it: pages over HTTP, what it refuses, and faults."""

import html
import os
import re
import shutil
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import requests
from browsing import Synthetic
from starlette.testclient import TestClient

from factdrift.core.tables import database
from factdrift.pages.browse.build import Build, Tables
from factdrift.pages.browse.index import index_of
from factdrift.pages.browse.pages import Links, Pages
from factdrift.pages.browse.search import Index
from factdrift.pages.browse.server import application


def get(address: str, path: str, status: int = 200) -> str:
    answer = requests.get(address + path, timeout=60)
    assert answer.status_code == status, path
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return answer.text


def test_a_subject_has_everything(served: str, made: Synthetic) -> None:
    number, relation = int(made.subjects[0]), int(made.relation[0])
    text = get(served, f"Q{number}")
    for heading in ("Updates", "The two snapshots side by side", "Time line"):
        assert f">{heading}</h2>" in text, heading
    assert f'id="P{relation}-title"' in text
    assert text.index("obsolete, in the dataset") < text.index("new, in the dataset")
    assert "10 nearest, 10 random" in text
    assert "5 probes: what follows" in text
    assert "<td>history old</td>" in text
    assert "0.500" in text  # the similarity of the nearest neighbour, and P(new) after the edit
    assert "How edited models answered" in text
    # Its score, and the probes of the update and its other clozes.
    assert text.count("<td>rome</td>") == 1 + 10
    assert f"https://www.wikidata.org/w/index.php?oldid={number * 11}#P" in text
    assert re.search(r'<code title="deprecated statements">rank</code>', text)


def test_probes_that_are_not_shown_are_counted(build: Build, index: Path, made: Synthetic) -> None:
    number, opened = int(made.subjects[0]), Index(index)
    with database() as db:
        pages = Pages(Tables(build, db), opened, Links())
        subject = pages.tables.read([number])[number]
        answers = subject.parts["answers"][int(made.relation[0])]
        answer, answers[1:] = answers[0], []
        for probes, said in ((200, 0), (201, 1)):
            answer["probes"] = [answer["probes"][0]] * probes
            text = pages.entity(opened.names([number])[number], subject)
            assert f"{probes} probes" in text
            assert text.count("and 1 more probes") == said


def test_relations_classes_and_lists(served: str, made: Synthetic) -> None:
    relation = int(made.relation[0])
    text = get(served, f"P{relation}")
    assert text.count('<p class="what">') == min(50, int((made.relation == relation).sum()))
    assert ">Updates of its direct instances<" in get(served, f"Q{1 + int(made.subjects[0])}")
    first, second = get(served, ""), get(served, "?page=2")
    assert first.count('<p class="what">') == 50
    assert second.count('<p class="what">') == 10
    assert 'href="./?page=2"' in first
    assert get(served, "?scenario=Archive").count("Archive <span") == (made.subjects % 6 == 1).sum()
    dated = get(served, "?since=2022-01-01&until=2022-12-31&scenario=Archive")
    assert dated.count("Archive <span") == (made.subjects % 6 == 1).sum()
    assert 'name="since" value="2022-01-01"' in dated
    assert 'href="./?since=2022-01-01&amp;until=2022-12-31"' in dated
    assert get(served, "?since=2022-01-02").count('<p class="what">') == 0
    assert get(served, "?since=yesterday").count('<p class="what">') == 50
    assert get(served, "?page=x&scenario=None").count('<p class="what">') == 0


def test_the_statements_of_a_relation_alone(served: str, made: Synthetic) -> None:
    number = int(made.subjects[0])
    relation = re.findall(r'<details class="relation"[^>]* id="(P\d+)"', get(served, f"Q{number}"))[0]
    whole, part = get(served, f"Q{number}-{relation}"), get(served, f"Q{number}-{relation}?part=1")
    assert '<table class="compared">' in part
    assert "<!doctype html>" not in part
    assert part.strip() in whole


def test_what_is_not_there(served: str) -> None:
    page = get(served, "Q99999999", 404)
    assert "has no label in these dumps" in page
    assert 'value=""' in page, "the search box does not have the sentence"
    for path in ("nope", "Q0", "Q1-P99999", "P2000000000000", "Q30/../../etc/passwd", "%2e%2e/x"):
        get(served, path, 404)
    answer = requests.get(served, headers={"Host": "evil.example"}, timeout=60)
    assert answer.status_code == 400, "pages elsewhere can ask"
    assert "Updates" not in answer.text


LONG = b"9" * 4301
ODD_PATHS = {
    **dict.fromkeys([b"/Q" + LONG, b"/P" + LONG, b"/Q1-P" + LONG, b"/Q%b-P1" % LONG, b"/Q2147483648"], 404),
    **dict.fromkeys([b"/Q%D9%A1", b"/Q-1", b"/Q1%00", b"/%00", b"/%ff%fe", b"/Q1-P1-P1", b"//", b"/%"], 404),
    **dict.fromkeys([b"/Q%31%2e%2e", b"/Q0x1", b"/Q1e5", b"/Q+1", b"/%ED%A0%80", b"/" + b"x" * 50_000], 404),
    **dict.fromkeys([b"/search?q=%00", b"/search?q=%ff", b"/search?q=%ED%A0%80", b"/search?q=%22*%22"], 200),
    **dict.fromkeys([b"/search?q=" + b"a" * 50_000, b"/search?q=Q" + LONG, b"/search?q=NEAR(a%20b)"], 200),
    **dict.fromkeys([b"/?page=" + LONG, b"/?page=%D9%A1", b"/?page=9999999", b"/?since=9999-99-99"], 200),
    **dict.fromkeys([b"/?scenario=%00", b"/?scenario=%ED%A0%80", b"/?" + b"a=1&" * 10_000, b"/search"], 200),
}
ODD_PATHS[b"/Q1/"] = 307
ODD_HEADERS = {
    **dict.fromkeys([b"Range: bytes=0-9", b"Range: bytes=9-0,x", b"Content-Length: 0"], 200),
    **{b"Accept: \xff": 200, b"If-None-Match: *": 200, b"Host: evil.example": 400},
}


def test_odd_requests_are_answered_with_the_headers_of_every_page(served: str) -> None:
    port = int(served.rsplit(":", 1)[1].strip("/"))
    requested = [(b"GET", path, b"Accept: *", status) for path, status in ODD_PATHS.items()]
    requested += [(b"GET", b"/", header, status) for header, status in ODD_HEADERS.items()]
    requested += [(method, b"/", b"Accept: *", 405) for method in (b"POST", b"PUT", b"OPTIONS")]
    for method, path, header, status in requested:
        host = b"" if header.startswith(b"Host") else b"Host: localhost\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            lines = b"%b %b HTTP/1.1\r\n%b%b\r\nConnection: close\r\n\r\n"
            client.sendall(lines % (method, path, host, header))
            answer = b"".join(iter(lambda client=client: client.recv(1 << 16), b""))  # type: ignore[misc]
        case = (method, path[:40], header)
        assert answer.split()[1] == b"%d" % status, case
        assert b"content-security-policy: default-src 'none'" in answer, case


def test_an_error_of_the_server_has_the_headers_too(build: Build, index: Path) -> None:
    with database() as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pages, "home", None)
        client = TestClient(application(build, index, db), "http://localhost", raise_server_exceptions=False)
        answer = client.get("/")
    assert answer.status_code == 500
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_words_that_no_label_has(served: str, made: Synthetic) -> None:
    words = (word for label in made.labels(made.subjects).to_pylist() for word in label.split())
    known = next(word for word in words if len(word) > 8)
    assert "Found for" in get(served, f"search?q={known[:2]}{known[3:]}&part=1")
    text = get(served, "search?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_a_port_that_is_taken_or_none(made: Synthetic, index: Path, refused: Callable[..., str]) -> None:
    line = ("browse", "--pair", made.pair, "--index", index, "--no-browser", "--port")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(*line, port)
    assert f"port {port} of 127.0.0.1: Address already in use; name another with --port" in said
    assert "--port 65536: a port is a number from 1 to 65535" in refused(*line, 65536)


def test_a_build_that_changes_under_the_server(build: Build, tmp_path: Path) -> None:
    """Also a page whose tables vanish while it is made; and the server does not mix old and new ones."""
    shutil.copytree(build.pair.parent, tmp_path / "results")
    copy = Build.of(tmp_path / "results" / build.pair.name)
    index = index_of(copy, tmp_path / "index.sqlite")
    with database() as db:
        client = TestClient(application(copy, index, db), base_url="http://localhost")
        subject = Index(index).with_updates("subject")[0]
        paths = ("/", "/search?q=a", f"/Q{subject}")
        assert [client.get(path).status_code for path in paths] == [200] * 3
        filtered = copy.bucket(copy.pair / "filtered" / "old", subject)
        touched, removed = (
            partial(os.utime, filtered, ns=(1, 1)),
            partial(shutil.rmtree, copy.pair / "filtered"),
        )
        for change in (touched, removed, copy.dataset.unlink):
            change()
            for path in paths:
                answer = client.get(path)
                assert answer.status_code == 503
                assert "run `factdrift browse` again" in html.unescape(answer.text)
        assert client.get("/explorer.css").status_code == 200


@pytest.mark.usefixtures("here")
def test_without_results(refused: Callable[..., str]) -> None:
    assert "no such file; build it with `snakemake --cores all`" in refused("browse")

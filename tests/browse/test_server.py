"""`factdrift browse` as users run it: pages over HTTP, what it refuses, and faults."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
import requests
from browsing import Synthetic

from factdrift.cli import main


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
    assert "0.500" in text  # the similarity of the nearest neighbour, and P(new) after the edit
    assert "How edited models answered" in text
    assert (
        text.count("<td>rome</td>") == 1 + 10
    )  # its score, and the probes of the update and its other clozes
    assert f"https://www.wikidata.org/w/index.php?oldid={number * 11}#P" in text
    assert re.search(r'<code title="deprecated statements">rank</code>', text)


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
    assert get(served, "?page=x&scenario=None").count('<p class="what">') == 0


def test_the_statements_of_a_relation_alone(served: str, made: Synthetic) -> None:
    number = int(made.subjects[0])
    relation = re.findall(r'<details class="relation"[^>]* id="(P\d+)"', get(served, f"Q{number}"))[0]
    whole, part = get(served, f"Q{number}-{relation}"), get(served, f"Q{number}-{relation}?part=1")
    assert '<table class="compared">' in part
    assert "<!doctype html>" not in part
    assert part.strip() in whole


def test_what_is_not_there(served: str) -> None:
    assert "has no label in these dumps" in get(served, "Q99999999", 404)
    for path in ("nope", "Q0", "Q1-P99999", "P2000000000000", "Q30/../../etc/passwd", "%2e%2e/x"):
        get(served, path, 404)


def test_pages_elsewhere_cannot_ask(served: str) -> None:
    answer = requests.get(served, headers={"Host": "evil.example"}, timeout=60)
    assert answer.status_code == 400
    assert "Updates" not in answer.text


def test_hostile_words_come_back_as_text(served: str) -> None:
    text = get(served, "search?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_a_port_that_is_taken(made: Synthetic, index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        line = ["browse", "--pair", str(made.pair), "--index", str(index), "--port", port, "--no-browser"]
        assert main(line) == 1
    assert (
        f"port {port} of 127.0.0.1: Address already in use; name another with --port"
        in capsys.readouterr().err
    )


def test_without_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["browse"]) == 1
    assert "no such file; build it with `snakemake --cores all`" in capsys.readouterr().err

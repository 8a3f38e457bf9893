"""Builds of the sample with sentences from a chat model."""

import json
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.chat_server import chat_serving
from support.rows import rows
from support.workflow import ROOT, copied, rules_of, run_here, snakemake

from factdrift.words.names import read_names
from factdrift.words.templates import problem

KEY = "sk-a-key-that-nobody-must-see"
SIZES = {"triples": 6}
PAIR = "results/2021-01-04_2023-02-27"
ASKED = ("results/templates.parquet", "results/verbalizations.parquet", "results/wikifactdiff.parquet")


def names(body: dict[str, Any], *parts: str) -> list[str]:
    """Subject, relation and object of a request, which calls them so in its language."""
    found = re.findall(r"^(\w+): (.*)$", body["messages"][-1]["content"], re.MULTILINE)
    lines = dict(reversed(found))
    return [lines[part] for part in parts or ("Subject", "Relation", "Object")]


def reply(body: dict[str, Any]) -> str:
    """Ten sentences of a fair model: most are usable, each kind of mistake occurs once."""
    subject, relation, object = names(body)
    ten = [
        f"The {relation} of {subject} is {object}.",
        f"The {relation} that belongs to {subject} is {object}",
        f'The answer to "what is the {relation} of {subject}" is "{object}".',
        f"{subject} has as its {relation} {object}.",
        f"{subject}'s {relation} is {object}.",
        f"{object} is the {relation} of {subject}.",
        f"Its {relation} is {object}.",
        f"{subject}: {object}",
        f"In 1968, {subject} got the {relation} {object}.",
        f"{subject} is old. Its {relation} is {object}",
    ]
    return json.dumps({"sentences": ten})


def fault(path: str, body: dict[str, Any], attempt: int) -> str | None:
    return "refusal" if zlib.crc32(names(body)[0].encode()) % 20 == 8 else None


def without_articles(text: str) -> str:
    return re.sub(r"\b[Tt]he ", "", text)


def settings(url: str, **others: Any) -> dict[str, Any]:
    return {"model": "tiny", "base_url": url, "backoff": 0.01, "tries": 2, **others}


@pytest.fixture(scope="module")
def asked(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    """A copy of the default build made with `verbalizer: chat`, and the chat server."""
    directory = copied(built, tmp_path_factory.mktemp("chat"))
    with pytest.MonkeyPatch.context() as patch, chat_serving(answer=reply) as server:
        patch.setenv("OPENAI_API_KEY", KEY)
        server.fault = fault
        server.key = KEY
        chat = settings(server.url)
        snakemake(directory, *ASKED, verbalizer="chat", verbalization=SIZES, chat=chat)
        yield directory, server


@pytest.mark.slow
def test_templates_come_from_the_models_sentences_and_the_dataset_uses_them(asked):
    templates, _, dataset = (rows(asked[0] / name) for name in ASKED)
    assert {"chat"} <= {row["source"] for row in templates} <= {"chat", "bundled", "generic"}
    of_model = [row for row in templates if row["source"] == "chat"]
    assert len({row["property"] for row in of_model}) > 80
    for row in of_model:
        assert problem(row["template"]) is None
        assert row["count"] >= 1
        assert row["examples"]
    best = {row["template"] for row in of_model if row["property"] == 6}
    assert {"The head of government of {subject} is {object}"} <= best
    assert len(best) <= 5
    first = {f"P{row['property']}": row["template"] for row in templates if row["rank"] == 1}
    used = {row["relation"]["id"]: row for row in dataset if row["template_source"] == "chat"}
    assert len(used) > 50
    # Names get their articles, and a plural subject its verb: tests/words/test_words_grammar.py.
    one = [row for row in used.values() if not read_names().usage(row["subject"]["label"]).plural]
    assert len(one) > 50
    for row in one:
        template = first[row["relation"]["id"]]
        sentence = template.replace("{subject}", row["subject"]["label"]).replace("{object}", "____")
        assert without_articles(row["update_prompt"]) == without_articles(sentence)


@pytest.mark.slow
def test_every_answer_is_counted_and_no_file_holds_the_key(asked):
    directory, _ = asked
    sentences = rows(directory / ASKED[1], "answer", "request", "dropped_by", "template")
    requests = {(row["answer"], row["request"]) for row in sentences}
    assert {answer for answer, _ in requests} == {"ok", "refused"}
    assert len(requests) == pq.read_metadata(directory / PAIR / "verbalize/requests.parquet").num_rows
    wanted = {"object_not_last", "no_subject", "fragment", "several_sentences"}
    assert {None, *wanted} <= {row["dropped_by"] for row in sentences}
    left: dict[int, int] = {}
    for row in rows(directory / PAIR / "verbalization_report.parquet", "property", "left"):
        left[row["property"]] = min(row["left"], left.get(row["property"], row["left"]))
    assert sum(left.values()) == sum(row["template"] is not None for row in sentences)
    assert (directory / PAIR / "verbalization_report.txt").read_text(encoding="utf-8").startswith("Sentences")
    folders = [directory / name for name in ("logs", "results")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 50
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.slow
def test_replay_of_a_store_gives_the_same_bytes(asked, tmp_path):
    """On another machine, without key and server, with another number of cores."""
    directory, server = asked
    answered = sum(server.asked.values())
    other = copied(directory, tmp_path / "other")
    shutil.rmtree(other / PAIR / "verbalize")
    for name in ASKED[:2]:
        (other / name).unlink()
        (other / PAIR / Path(name).name).unlink()
    chat = settings("http://127.0.0.1:9/v1", mode="replay")
    snakemake(other, *ASKED[:2], cores=1, verbalizer="chat", verbalization=SIZES, chat=chat)
    for name in ASKED[:2]:
        assert (other / name).read_bytes() == (directory / name).read_bytes(), name
    assert sum(server.asked.values()) == answered


def german(body: dict[str, Any]) -> str:
    subject, relation, object = names(body, "Subjekt", "Relation", "Objekt")
    ten = [f"{text} {subject} ist {object}." for text in (f"Der Wert für {relation} von", "Die Antwort zu")]
    ten += [f"{subject} hat als {relation} {n} {object}" for n in "abcdefgh"]
    return json.dumps({"sentences": ten})


@pytest.mark.slow
def test_another_language_end_to_end(tmp_path):
    """German: labels of the sample's countries, a German prompt, German sentences, German templates."""
    target = "results/templates.de.parquet"
    with chat_serving(answer=german) as server:
        config = {"languages": ["de"], "only": {"relations": ["P38"]}, "chat": settings(server.url)}
        run_here(tmp_path, target, verbalizer="chat", **config)
        assert 15 < len(server.asked) < 200
    templates = rows(tmp_path / target)
    assert {row["source"] for row in templates} == {"chat"}
    assert [row["template"] for row in templates if row["property"] == 38][:2] == [
        "Der Wert für Währung von {subject} ist {object}",
        "Die Antwort zu {subject} ist {object}",
    ]


def test_only_one_rule_sends_requests_to_a_chat_model():
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk"))
    found = {name: body for name, body in rules_of(text).items() if 'job("chat ask"' in body}
    assert list(found) == ["ask_chat_model"]
    assert "chat=1" in found["ask_chat_model"]
    assert "localrule: True" in found["ask_chat_model"]

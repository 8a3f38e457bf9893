"""A base model behind a server of completions is asked what the same model is asked here."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from support.asking import CPU, command
from support.benchmarks import Given, write_benchmarks
from support.chat_server import ChatServer, chat_serving
from support.commands import chatted, refusal, sending

from factdrift.chat.live import NO_LIKELIHOODS
from factdrift.cli import main
from factdrift.models.loaded import Loaded
from factdrift.models.loading import load

LENGTH = 192
BENCHMARKS = ("updates", "tempripple", "asof")


@pytest.fixture(scope="module")
def model() -> Loaded:
    return load("sample", device="cpu", dtype="float32")


class Served:
    """The bundled model as vLLM serves it: log-probabilities of the text and of what is written behind it."""

    def __init__(self, model: Loaded) -> None:
        self.model, self.tokenizer = model.model, model.tokenizer
        self.asked: list[dict[str, Any]] = []

    @torch.inference_mode()
    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(body)
        ids = self.tokenizer(body["prompt"])["input_ids"]
        written: list[int] = []
        text, finish = "", "length"
        while len(written) < body["max_tokens"]:
            token = int(self.model(torch.tensor([ids + written])).logits[0, -1].argmax())
            if token == self.tokenizer.eos_token_id:
                finish = "stop"
                break
            written.append(token)
            text = self.tokenizer.decode(written)
            if any(stop in text for stop in body.get("stop", [])):
                text, finish = text.partition(body["stop"][0])[0], "stop"
                break
        choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
        if body.get("echo"):
            choice |= {"text": body["prompt"] + text, "logprobs": self.logprobs(ids + written)}
        used = {"prompt_tokens": len(ids), "completion_tokens": len(written)}
        return {"choices": [choice], "usage": used}

    def logprobs(self, ids: list[int]) -> dict[str, Any]:
        chances = self.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        best = chances.max(-1)
        tops = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        names = self.tokenizer.convert_ids_to_tokens(ids)
        return {
            "tokens": names,
            "token_logprobs": [None, *(float(chances[at, token]) for at, token in enumerate(ids[1:]))],
            "top_logprobs": [None, *({str(token): value} for token, value in tops)][: len(ids)],
        }


@pytest.fixture
def served(model) -> Iterator[tuple[ChatServer, Served]]:
    complete = Served(model)
    with chat_serving(complete=complete) as server:
        yield server, complete


def words_of(benchmark: str, given: Given, *ways: str) -> list[str]:
    """Options that name questions of a benchmark, asked in some ways."""
    words = ["--benchmark", benchmark, *given.options(), "--scoring", *ways]
    return [word for word in words if word != "--edits" or benchmark not in ("updates", "tempripple")]


def chat(server: ChatServer, **keys: Any) -> dict[str, Any]:
    settings = {"model": "base", "api": "completions", "base_url": server.url, "answer_tokens": 8}
    return {**settings, "backoff": 0.01, "concurrency": 1, **keys}


@pytest.mark.parametrize(
    "benchmark", [BENCHMARKS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in BENCHMARKS[1:])]
)
def test_likelihoods_and_words_are_those_of_the_model_here(tmp_path, served, benchmark):
    server, _ = served
    given = write_benchmarks(tmp_path)[benchmark]
    ways = ("loglik", "letter", "written")
    rows = chatted(tmp_path, words_of(benchmark, given, *ways), **chat(server))
    far = {(row["method"], row["question"], row["way"]): row for row in rows}
    compared = 0
    for method in ("none", "context"):
        edits = [
            f"--{name}={path}" for name, path in (("edits", given.edits), ("facts", given.facts)) if path
        ]
        settings = {**CPU, "length": LENGTH, "answer_scoring": ways, "written_tokens": 8, "answer_tokens": 8}
        job = command(
            Path("sample"), tmp_path / method, benchmark, given.questions, method, *edits, **settings
        )
        for row in job.rows():
            other = far.pop((method, row["question"], row["way"]))
            assert other["reason"] == row["reason"]
            if row["way"] == "loglik" and row["reason"] is None:
                assert other["logprobs"] == pytest.approx(row["logprobs"], abs=1e-4)
                assert other["tokens"] == row["tokens"]
                assert other["exact"] == row["exact"] or row["exact"] is None
            for name in ("parsed", "correct", "output", "verdict"):
                assert other[name] == row[name], (row["way"], name)
            compared += 1
    assert compared
    assert not far


def test_equal_texts_are_sent_once(tmp_path, served):
    server, complete = served
    given = write_benchmarks(tmp_path)["tempripple"]
    words = words_of("tempripple", given, "loglik")
    first = chatted(tmp_path, words, **chat(server))
    sent = [json.dumps(body) for body in complete.asked]
    assert len(sent) == len(set(sent)) > len(first)
    assert all(body["echo"] and body["max_tokens"] == 1 for body in complete.asked)
    assert chatted(tmp_path, words, **chat(server, mode="replay")) == first
    assert len(complete.asked) == len(sent)


@pytest.mark.parametrize("lacks", ["logprobs", "of the prompt", "a value", "usage", "a count", "echo"])
def test_a_server_without_likelihoods_of_the_prompt_is_named_at_once(tmp_path, served, lacks, capsys):
    server, complete = served

    def poor(body: dict[str, Any]) -> dict[str, Any]:
        answer = complete(body)
        (choice,) = answer["choices"]
        if lacks == "logprobs":
            choice["logprobs"] = None
        elif lacks == "a value":
            choice["logprobs"]["token_logprobs"][1] = None
        elif lacks == "usage":
            answer["usage"] = None
        elif lacks == "a count":
            answer["usage"]["prompt_tokens"] = -1
        else:
            written = answer["usage"]["completion_tokens"]
            choice["logprobs"] = {name: values[-written:] for name, values in choice["logprobs"].items()}
        return answer

    server.complete = poor
    server.fault = lambda *_: "no-echo" if lacks == "echo" else None
    given = write_benchmarks(tmp_path)["tempripple"]
    said = refusal(*sending(tmp_path, words_of("tempripple", given, "loglik"), **chat(server)))
    assert f"{server.url} refuses: {NO_LIKELIHOODS}" in said
    assert len(server.arrivals) == 1


def test_a_target_that_changes_the_tokens_before_it_is_not_asked(tmp_path, served):
    server, complete = served
    given = write_benchmarks(tmp_path)["tempripple"]
    questions = {question.id: question for question in given.read("tempripple").questions}
    chosen = next(question for question in questions.values() if question.targets)
    text, merged = chosen.context.strip(), chosen.targets[0]

    def merging(body: dict[str, Any]) -> dict[str, Any]:
        answer = complete(body)
        if body["prompt"].startswith(text) and body["prompt"].endswith(f" {merged}"):
            answer["choices"][0]["logprobs"]["tokens"][2] += "x"
        return answer

    server.complete = merging
    rows = chatted(tmp_path, words_of("tempripple", given, "loglik"), **chat(server))
    for row in rows:
        question = questions[row["question"]]
        lost = row["method"] == "context" and question.context.strip() == text and merged in question.targets
        assert row["reason"] == ("target_merged" if lost else None)
        assert (row["correct"] is None) == lost
    assert {row["reason"] for row in rows} == {"target_merged", None}


@pytest.mark.slow
def test_the_date_of_a_base_model_is_that_of_the_model_here(tmp_path, served):
    server, _ = served
    line = ["cutoff", "sample", "--way", "likelihood", "--limit", "4", f"--store={tmp_path / 'store'}"]
    chat = json.dumps({"api": "completions", "backoff": 0.01})
    for name, more in (("here", []), ("far", [f"--address={server.url}", f"--chat={chat}"])):
        files = [f"--answers={tmp_path / name}.parquet", f"--output={tmp_path / name}.svg"]
        assert main([*line, *files, *more]) == 0
    here, far = (pq.read_table(tmp_path / f"{name}.parquet").to_pylist() for name in ("here", "far"))
    assert len(here) == len(far) > 0
    names = ("chain", "way", "choice", "calibrated", "likely", "reason")
    for row, other in zip(here, far, strict=True):
        assert [row[name] for name in names] == [other[name] for name in names]
        for name in ("scores", "neutral"):
            assert other[name] == pytest.approx(row[name], abs=1e-4)

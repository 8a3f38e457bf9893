"""Asks a real server: `transformers serve` with a tiny model that is made here."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.waiting import wait_until

# Given a device, the server needs a package that nothing else here needs; without one it uses the CPU. It
# loads a model at the first request.
SERVE = """
import sys, time
from transformers.cli.serve import Serve
server = Serve(host="127.0.0.1", port=int(sys.argv[1]), device="cpu", non_blocking=True)
server._model_manager.device = None
time.sleep(3600)
"""

pytestmark = pytest.mark.slow

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXT = ["Paris is the capital of France.", "Lyon is a city in France.", "The capital of Italy is Rome."]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of some thousand random weights, with a tokenizer of its own."""
    pytest.importorskip("torch")
    from support.asking import saved

    folder = saved(tmp_path_factory.mktemp("model"))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, str(port)]
    env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path_factory.mktemp("hub"))}
    log = tmp_path_factory.mktemp("log") / "serve.txt"
    with log.open("wb") as said:
        process = subprocess.Popen(command, env=env, stdout=said, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"

    def healthy() -> bool:
        with contextlib.suppress(httpx2.HTTPError):
            return bool(httpx2.get(f"{address}/health", timeout=5).status_code == 200)
        return False

    try:
        wait_until(healthy, process)
        yield f"{address}/v1"
    finally:
        process.kill()
        process.wait()


def test_a_real_server_is_asked_once_and_replayed(bench: Any, model: Path, url: str) -> None:
    limits = {"temperature": 0, "max_completion_tokens": 12}
    said = [f"{text} {number}" for number, text in enumerate(TEXT * 3)]
    bench.write_bodies({text: limits | {"messages": [{"role": "user", "content": text}]} for text in said})
    options = {"model": str(model), "base_url": url, "concurrency": 4, "timeout": 120}
    answers = bench.ask(**options)
    assert [answer["status"] for answer in answers] == ["answered"] * 9
    assert all(answer["content"] for answer in answers)
    assert {answer["finish_reason"] for answer in answers} <= {"stop", "length"}
    assert all(0 < answer["completion_tokens"] <= 12 and answer["prompt_tokens"] > 5 for answer in answers)
    assert len({answer["content"] for answer in answers}) > 1
    # The server is not needed any more.
    assert bench.ask(**options | {"base_url": "http://127.0.0.1:9/v1", "mode": "replay"}) == answers

"""Settings of the chat stage, the API key, and the commands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from factdrift.chat.settings import Chat, api_key
from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings
from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"model": ""}, r"chat\.model"),
        ({"mode": "later"}, r"Invalid enum value 'later' - at `\$\.mode`"),
        *(({"base_url": url}, r"chat\.base_url") for url in ("h:80", "http://[::1/v1", "http://h:99999")),
        ({"requests_per_minute": 1}, r"chat\.requests_per_minute"),
        *(({"temperature": 3}, r"chat\.temperature"), ({"temperature": "hot"}, r"\$\.temperature")),
        ({"extra": {"model": "other"}}, r"chat\.extra"),
        ({"mode": "batch"}, r"Invalid enum value 'batch'"),
        ({"api_key": "sk-secret"}, "unknown field `api_key`"),
        ({"base_url": "https://me:secret@host/v1"}, r"base_url: .*chat\.api_key_file"),
        *(({"base_url": "ftp://me:secret@host/v1"}, "."), ({"base_url": "https://h?key=secret"}, "a query")),
        ({"base_url": "https://me:se/cret@host/v1"}, r"base_url: .*OPENAI_API_KEY"),
    ],
)
def test_a_wrong_value_is_named(given: Any, why: str) -> None:
    with pytest.raises(InputError, match=why) as raised:
        read_settings(json.dumps({"model": "m"} | given), Chat, "chat")
    assert "secret" not in str(raised.value)
    assert "cret@" not in str(raised.value)


def test_the_workflow_refuses_a_password_before_any_job_and_gives_valid_settings() -> None:
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    with pytest.raises(InputError, match=r"chat\.base_url: .*chat\.api_key_file.*OPENAI_API_KEY") as raised:
        configure(config | {"chat": {"base_url": "https://me:secret@host/v1"}}, keys_of_methods)
    assert "secret" not in str(raised.value)
    # Numbers on the command line of Snakemake arrive as texts.
    config["chat"] = {"model": "m", "max_usd": "20", "temperature": "0.5"}
    configure(config, keys_of_methods)
    chat = read_settings(json.dumps(config["chat"]), Chat, "chat")
    assert (chat.max_usd, chat.temperature) == (20, 0.5)


def test_invalid_api_keys_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def key(path: Path | str) -> str:
        return api_key(read_settings(json.dumps({"model": "m", "api_key_file": str(path)}), Chat, "chat"))

    (tmp_path / "key").write_text("  sk-1\n")
    assert key(tmp_path / "key") == "sk-1"
    assert key("") == ""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-2\n")
    assert key("") == "sk-2"
    for text in ("", "sk-1 sk-2", "schlüssel"):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(InputError, match=r"chat\.api_key_file: .*bad must hold one key"):
            key(tmp_path / "bad")
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel")
    with pytest.raises(InputError, match="OPENAI_API_KEY must hold one key") as raised:
        key("")
    assert "schlüssel" not in str(raised.value)
    with pytest.raises(InputError, match=r"chat\.api_key_file: .*missing"):
        key(tmp_path / "missing")


def test_the_command(bench: Any, capsys: pytest.CaptureFixture[str], refused: Callable[..., str]) -> None:
    bench.write(2)
    ask = ["chat", "ask", "--requests", str(bench.requests), "-o", str(bench.output)]
    ask += ["--store", str(bench.store), "--settings"]
    replay = bench.chat(model="other", mode="replay")
    assert "there is no store of answers" in refused(*ask, replay)
    assert main([*ask, bench.chat()]) == 0
    assert f"{bench.output}: 2 requests, 0 of them failed" in capsys.readouterr().out
    assert "2 of 2 answers are missing ('r0', 'r1')" in refused(*ask, replay)

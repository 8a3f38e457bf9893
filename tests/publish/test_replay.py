"""The answers of a chat model in a folder: those of the build, which can be imported and asked again."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.chat.exchange import import_store
from factdrift.chat.replies import read_reply
from factdrift.chat.requests import Request, canonical, key_of
from factdrift.chat.store import Store
from factdrift.chat.tables import ANSWERS
from factdrift.core.errors import InputError
from factdrift.publish.folders import Replay, write_folders

from .conftest import Bench

ANSWER = b'{"choices": [{"message": {"content": "Ann leads."}, "finish_reason": "stop"}]}'


def request(name: str) -> Request:
    text = canonical({"messages": [{"role": "user", "content": name}]})
    return Request(name, key_of("tiny", text), text)


def answers(folder: Path, names: str) -> Path:
    rows = [dict.fromkeys(ANSWERS.names) | {"request": n, "key": request(n).key} for n in names]
    pq.write_table(pa.Table.from_pylist(rows, schema=ANSWERS), folder / "answers.parquet")
    return folder / "answers.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Store(tmp_path / "chat") as opened:
        for name in "abc":
            opened.put(request(name), "tiny", read_reply(ANSWER), "live", 1)
    return tmp_path / "chat"


def test_answers_of_the_build_and_no_others(bench: Bench, store: Path, tmp_path: Path) -> None:
    replay = Replay([answers(tmp_path, "aac")], store)
    write_folders(bench.products, bench.manifest, tmp_path / "out", replay)
    for name in ("wikifactdiff", "wfd_repl"):
        exported = tmp_path / "out" / name / "replay" / "answers.parquet"
        keys = sorted(request(each).key for each in "ac")
        assert pq.read_table(exported).column("key").to_pylist() == keys
        assert import_store(exported, tmp_path / f"other-{name}") == (2, 2)
        assert "replay/answers.parquet" in (tmp_path / "out" / name / "SHA256SUMS").read_text("utf-8")
    assert not (tmp_path / "out" / "klob" / "replay").exists()


def test_a_store_that_lacks_an_answer(bench: Bench, store: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="chat: lacks 1 of 2 answers"):
        write_folders(
            bench.products, bench.manifest, tmp_path / "out", Replay([answers(tmp_path, "ad")], store)
        )
    assert not (tmp_path / "out").exists()

"""The store of answers, its export and its import."""

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.nodes import Node, why_no_nodes

from factdrift.chat.exchange import export_store, import_store
from factdrift.chat.replies import read_reply
from factdrift.chat.requests import Request, canonical, key_of
from factdrift.chat.store import Store
from factdrift.chat.tables import STORED
from factdrift.core.errors import InputError

MODEL = "m"


def request(name: str) -> Request:
    text = canonical({"messages": [{"role": "user", "content": name}]})
    return Request(name, key_of(MODEL, text), text)


def reply(text: str, tokens: int = 7) -> Any:
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 2}
    return read_reply(json.dumps({"choices": [choice], "model": "m-1", "usage": usage}).encode())


def filled(folder: Path, names: str, tries: int = 1) -> Path:
    with Store(folder) as store:
        for name in names:
            store.put(request(name), MODEL, reply(f"answer {name}"), "live", tries)
    return folder


def keep_and_die(folder: Path) -> None:
    """Stores three answers and is killed in the middle of a larger transaction."""

    def rows() -> Any:
        yield {"key": "x", "status": "answered"}
        os.kill(os.getpid(), signal.SIGKILL)

    store = Store(folder)
    for name in "abc":
        store.put(request(name), MODEL, reply(f"answer {name}"), "live", 1)
    store.put_all(rows())


def test_a_killed_process_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=keep_and_die, args=(tmp_path / "s",))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    keys = [request(name).key for name in "abc"]
    with Store(tmp_path / "s", reading=True) as store:
        assert store.answered([*keys, "x"]) == set(keys)
    with Store(tmp_path / "s") as store:
        assert store.answered([*keys, "x"]) == set(keys)


def test_a_failure_is_replaced_and_an_answer_never(tmp_path: Path) -> None:
    one = request("one")
    with Store(tmp_path) as store:
        store.fail(one, MODEL, "too slow", "live", 6)
        assert store.rows([one.key])[one.key]["error"] == "too slow"
        assert store.answered([one.key]) == set()
        store.put(one, MODEL, reply("yes"), "live", 2)
        row = store.rows([one.key])[one.key]
        assert (row["status"], row["content"], row["error"]) == ("answered", "yes", None)
        store.put(one, MODEL, reply("no"), "batch", 1)
        store.fail(one, MODEL, "too slow", "live", 6)
        assert store.rows([one.key])[one.key] == row
        assert store.usage(MODEL)[:1] == (1,)
        assert store.usage(MODEL).prompt_tokens == 7
        assert store.usage("other").answers == 0


def test_only_one_process_asks_with_a_store(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(InputError, match="another process"):
        Store(tmp_path)
    with Store(tmp_path):
        pass


HOLDING = """
import sys, time
from pathlib import Path
from factdrift.chat.store import Store
store = Store(Path(sys.argv[1]))
row = {"key": "k", "body": "{}", "model": "m", "status": "answered", "content": "yes", "source": "live"}
store.put_all([row])
print("stored", flush=True)
time.sleep(600)
"""

OPENING = """
import sys
from pathlib import Path
from factdrift.chat.store import Store
from factdrift.core.errors import InputError
try:
    with Store(Path(sys.argv[1])) as store:
        print(store.rows(["k"])["k"]["content"])
except InputError as error:
    print(error)
"""


@pytest.mark.system
@pytest.mark.skipif(bool(why_no_nodes()), reason=why_no_nodes())
def test_two_nodes_share_a_store(tmp_path: Path) -> None:
    """The second node is refused while the first one asks, and has its answers once the first one is gone."""
    first, second = (Node(name, tmp_path) for name in ("one", "two"))
    line = [sys.executable, "-c", OPENING, str(tmp_path / "store")]
    holder = first.start([sys.executable, "-c", HOLDING, str(tmp_path / "store")])
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "stored\n"
        assert "another process" in second.start(line).communicate(timeout=120)[0]
    finally:
        first.kill(holder)
    assert second.start(line).communicate(timeout=120)[0] == "yes\n"


def test_a_store_is_one_file_that_can_be_read_from_a_read_only_folder(tmp_path: Path) -> None:
    folder = filled(tmp_path / "s", "ab")
    assert [path.name for path in folder.iterdir()] == ["answers.sqlite"]
    with Store(folder, reading=True) as one, Store(folder, reading=True) as other:
        keys = [request("a").key]
        assert one.answered(keys) == other.answered(keys) == set(keys)
        with pytest.raises(InputError, match="readonly"):
            one.put(request("c"), MODEL, reply("c"), "live", 1)


def test_files_that_are_not_stores_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no store of answers"):
        Store(tmp_path / "missing", reading=True)
    assert not (tmp_path / "missing").exists()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot be the folder of a store"):
        Store(tmp_path / "file")
    (tmp_path / "answers.sqlite").write_bytes(b"something else" * 1000)
    with pytest.raises(InputError, match=r"answers\.sqlite: is not a store"):
        Store(tmp_path)
    (tmp_path / "answers.sqlite").unlink()
    connection = sqlite3.connect(tmp_path / "answers.sqlite")
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(InputError, match="form 9"):
        Store(tmp_path)


def test_a_truncated_store_is_an_error(tmp_path: Path) -> None:
    folder = filled(tmp_path / "s", "abcdefghijklmnopqrstuvwxyz" * 4)
    with Store(folder) as store:
        for number in range(200):
            store.put(request(f"n{number}"), MODEL, reply("x" * 500), "live", 1)
    data = (folder / "answers.sqlite").read_bytes()
    (folder / "answers.sqlite").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="damaged"):
        export_store(folder, tmp_path / "e.parquet")
    assert not (tmp_path / "e.parquet").exists()


def test_the_export_depends_on_the_answers_only(tmp_path: Path) -> None:
    filled(tmp_path / "one", "abc")
    filled(tmp_path / "other", "cba", tries=5)
    assert export_store(tmp_path / "one", tmp_path / "one.parquet") == 3
    export_store(tmp_path / "other", tmp_path / "other.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()
    table = pq.read_table(tmp_path / "one.parquet")
    assert table.schema.equals(STORED)
    assert table["key"].to_pylist() == sorted(request(name).key for name in "abc")


def test_an_imported_store_is_exported_as_it_was(tmp_path: Path) -> None:
    filled(tmp_path / "one", "abc")
    with Store(tmp_path / "one") as store:
        store.fail(request("d"), MODEL, "too long", "live", 1)
    export_store(tmp_path / "one", one := tmp_path / "one.parquet")
    assert import_store(one, tmp_path / "two") == (4, 4)
    export_store(tmp_path / "two", two := tmp_path / "two.parquet")
    assert one.read_bytes() == two.read_bytes()
    assert import_store(one, tmp_path / "two") == (4, 0)
    filled(tmp_path / "two", "d")
    assert import_store(one, tmp_path / "two") == (4, 0)
    export_store(tmp_path / "two", two)
    assert import_store(two, tmp_path / "one") == (4, 1)
    assert pq.read_table(two)["status"].to_pylist() == ["answered"] * 4


def test_another_answer_to_the_same_request_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "one", "abc")
    with Store(tmp_path / "two") as store:
        store.put(request("b"), MODEL, reply("answer b", tokens=8), "live", 1)
    export_store(tmp_path / "one", tmp_path / "one.parquet")
    with pytest.raises(InputError, match=rf"{request('b').key} differs .*tokens\); nothing was imported"):
        import_store(tmp_path / "one.parquet", tmp_path / "two")
    with Store(tmp_path / "two") as store:
        assert store.answered(request(name).key for name in "abc") == {request("b").key}


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "one", "abc")
    export_store(tmp_path / "one", tmp_path / "one.parquet")
    table = pq.read_table(tmp_path / "one.parquet")

    def refused(changed: pa.Table, why: str) -> None:
        pq.write_table(changed, tmp_path / "bad.parquet")
        with pytest.raises(InputError, match=why):
            import_store(tmp_path / "bad.parquet", tmp_path / "two")

    rows = table.to_pylist()
    refused(pa.Table.from_pylist([rows[0] | {"body": rows[1]["body"]}], STORED), "its key does not belong")
    refused(pa.Table.from_pylist([rows[0] | {"requested_model": None}], STORED), "its key does not belong")
    refused(pa.Table.from_pylist([rows[0] | {"status": "maybe"}], STORED), "damaged")
    refused(pa.Table.from_pylist([rows[0], rows[0]], STORED), "occurs twice")
    refused(table.drop_columns(["error"]), "is not an exported store")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "one.parquet").read_bytes()[:-9])
    with pytest.raises(InputError, match=r"cut\.parquet: cannot be read"):
        import_store(tmp_path / "cut.parquet", tmp_path / "two")
    shutil.rmtree(tmp_path / "two")
    assert import_store(tmp_path / "one.parquet", tmp_path / "two") == (3, 3)

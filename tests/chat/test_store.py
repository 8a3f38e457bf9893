"""The store of answers, its export and its import."""

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.chat.replies import read_reply
from factdrift.chat.requests import Request, canonical, key_of
from factdrift.chat.store import STORED, Store, export_store, import_store
from factdrift.core.errors import InputError

MODEL = "m"


def request(name: str) -> Request:
    text = canonical({"messages": [{"role": "user", "content": name}]})
    return Request(name, key_of(MODEL, text), text)


def reply(text: str, tokens: int = 7) -> Any:
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 2}
    return read_reply(json.dumps({"choices": [choice], "model": "m-1", "usage": usage}).encode())


def filled(folder: Path, names: str) -> Path:
    with Store(folder) as store:
        for name in names:
            store.put(request(name), MODEL, reply(f"answer {name}"), "live", 1)
    return folder


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
        assert store.usage(MODEL)[0] == 1
        assert store.usage(MODEL)[2:] == (7, 2)
        assert store.usage("other") == (0, 0, 0, 0)


def test_a_store_is_one_file_with_one_writer_and_many_readers(tmp_path: Path) -> None:
    folder = filled(tmp_path / "s", "ab")
    assert [path.name for path in folder.iterdir()] == ["answers.sqlite"]
    with Store(folder, reading=True) as one, Store(folder, reading=True) as other:
        keys = [request("a").key]
        assert one.answered(keys) == other.answered(keys) == set(keys)
        with pytest.raises(InputError, match="readonly"):
            one.put(request("c"), MODEL, reply("c"), "live", 1)
    with Store(folder), pytest.raises(InputError, match="another process"):
        Store(folder)
    with Store(folder):
        pass


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


@pytest.mark.parametrize("table", ["notes (text)", "answers (question, answer)"])
def test_the_database_of_another_program_stays_as_it_is(tmp_path: Path, table: str) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as connection:
        connection.execute(f"CREATE TABLE {table}")
    before = (tmp_path / "answers.sqlite").read_bytes()
    with pytest.raises(InputError, match=r"answers\.sqlite: is not a store of answers; name another folder"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["answers.sqlite"]
    assert (tmp_path / "answers.sqlite").read_bytes() == before


def test_a_truncated_store_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with Store(folder) as store:
        for number in range(200):
            store.put(request(f"n{number}"), MODEL, reply("x" * 500), "live", 1)
    data = (folder / "answers.sqlite").read_bytes()
    (folder / "answers.sqlite").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="damaged"):
        export_store(folder, tmp_path / "e.parquet")
    assert not (tmp_path / "e.parquet").exists()


def test_an_imported_store_is_exported_as_it_was(tmp_path: Path) -> None:
    filled(tmp_path / "one", "abc")
    with Store(tmp_path / "one") as store:
        store.fail(request("d"), MODEL, "too long", "live", 1)
    export_store(tmp_path / "one", one := tmp_path / "one.parquet")
    assert import_store(one, tmp_path / "two") == (4, 4)
    export_store(tmp_path / "two", two := tmp_path / "two.parquet")
    assert one.read_bytes() == two.read_bytes()
    assert pq.read_table(one).schema.equals(STORED)
    assert pq.read_table(one)["key"].to_pylist() == sorted(request(name).key for name in "abcd")
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

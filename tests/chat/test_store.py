"""The store of answers."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from factdrift.chat.replies import read_reply
from factdrift.chat.requests import Request, canonical, key_of
from factdrift.chat.store import Store, copy_store
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
            store.keep(request(name), MODEL, reply(f"answer {name}"), 1)
    return folder


def test_a_failure_is_replaced_and_an_answer_never(tmp_path: Path) -> None:
    one = request("one")
    with Store(tmp_path) as store:
        store.fail(one, MODEL, "too slow", 6)
        assert store.rows([one.key])[one.key]["error"] == "too slow"
        assert store.answered([one.key]) == set()
        store.keep(one, MODEL, reply("yes"), 2)
        row = store.rows([one.key])[one.key]
        assert (row["status"], row["content"], row["error"]) == ("answered", "yes", None)
        store.keep(one, MODEL, reply("no"), 1)
        store.fail(one, MODEL, "too slow", 6)
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
            one.keep(request("c"), MODEL, reply("c"), 1)
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
            store.keep(request(f"n{number}"), MODEL, reply("x" * 500), 1)
    data = (folder / "answers.sqlite").read_bytes()
    (folder / "answers.sqlite").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="damaged"):
        copy_store(folder, [request(f"n{number}").key for number in range(200)], tmp_path / "copy")


def test_a_copy_has_the_answers_without_what_differs_between_runs(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(1100)]
    keys = {request(name).key for name in names}
    with Store(tmp_path / "s") as store:
        # As an earlier version kept it.
        store.keep_all([{"key": "0", "status": "answered"}])
        for name in names[1:]:
            store.keep(request(name), MODEL, reply(f"answer {name}"), 1)
        store.fail(request(names[0]), MODEL, "too slow", 6)
    for copy in ("a", "b"):
        copy_store(tmp_path / "s", keys, tmp_path / copy)
    assert (tmp_path / "a/answers.sqlite").read_bytes() == (tmp_path / "b/answers.sqlite").read_bytes()
    with Store(tmp_path / "s") as store, Store(tmp_path / "a", reading=True) as other:
        assert store.rows(keys) == other.rows(keys)
        assert len(other.rows([*keys, "0"])) == 1100
        times = ["response", "asked", "tries"]
        assert {tuple(row.values())[1:] for row in other.rows(keys, times).values()} == {(None, None, None)}
    with pytest.raises(InputError, match="s: lacks 1 of 2 answers; ask for them again"):
        copy_store(tmp_path / "s", [request("n5").key, "1"], tmp_path / "c")

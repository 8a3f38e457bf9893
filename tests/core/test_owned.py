"""What factdrift replaces and removes, and what it leaves: files of others in the same places."""

import json
import multiprocessing
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.owned import (
    LIST,
    atomic_path,
    check_folder,
    claim,
    new_folder,
    remove_folder,
    unfinished,
)


def made(folder: Path, *names: str) -> Path:
    with new_folder(folder) as path:
        for name in names:
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_text(name)
    return folder


def held(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_folder_replaces_an_earlier_one_of_ours_only(tmp_path: Path) -> None:
    folder = made(tmp_path / "out", "a.html", "sub/b.html")
    assert made(folder, "c.html") == folder
    assert held(folder) == [LIST, "c.html"]
    (folder / ".snakemake_timestamp").touch()
    assert held(made(folder, "d.py")) == [LIST, "d.py"]
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "d.cpython-312.pyc").touch()
    assert held(made(folder, "e")) == [LIST, "e"]
    (tmp_path / "empty").mkdir()
    assert held(made(tmp_path / "empty", "f")) == [LIST, "f"]


@pytest.mark.parametrize(
    "name", ["notes.txt", "sub/notes.txt", "other/deep", ".hidden", "a.html", "link", "__pycache__/x.pyc"]
)
def test_a_folder_with_a_file_of_another_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path / "out", "a.html", "sub/b.html")
    (folder / name).parent.mkdir(exist_ok=True)
    if name == "link":
        (folder / name).symlink_to(tmp_path)
    else:
        (folder / name).write_text("written by somebody else")
    before = held(folder)
    message = f"^{folder}: {name} in it was not written there by factdrift"
    with pytest.raises(InputError, match=message), new_folder(folder):
        pytest.fail("the work of the block would be lost")
    with pytest.raises(InputError, match=message):
        remove_folder(folder)
    assert held(folder) == before


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file; name a folder"), new_folder(tmp_path / "file"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is a folder; name a file"), atomic_path(tmp_path / "folder"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    for path in (".", "/"):
        with pytest.raises(InputError, match="name a file or a folder in it"), atomic_path(path):
            pass
    (tmp_path / "folder" / "report.json").write_text("mine")
    with pytest.raises(InputError, match=r"report\.json in it was not"), new_folder(tmp_path / "folder"):
        pass
    assert held(tmp_path / "folder") == ["report.json"]


def test_a_link_to_a_larger_disk_stays_a_link_and_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    folder = tmp_path / "out"
    folder.symlink_to(tmp_path / "disk")
    for name in ("a", "b"):
        made(folder, name)
    with pytest.raises(FileNotFoundError), new_folder(folder) as path:
        (path / "no" / "c").write_text("c")
    assert folder.is_symlink()
    assert held(tmp_path / "disk") == [LIST, "b"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "out"]


def test_a_folder_of_known_names_is_removed_without_a_list(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "000001.json").touch()
    unfinished(folder / "000002.json").touch()
    made(folder / "list", "a")
    (folder / "notes").touch()
    with pytest.raises(InputError, match="notes in it"):
        remove_folder(folder, ("??????.json",))
    (folder / "notes").unlink()
    remove_folder(folder, ("??????.json",))
    assert not folder.exists()


def test_a_file_that_comes_while_a_folder_is_removed_stays(tmp_path, monkeypatch):
    folder = made(tmp_path / "out", "a")
    real = Path.unlink

    def with_another(path: Path, missing_ok: bool = False) -> None:
        (folder / "new").touch()
        real(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", with_another)
    with pytest.raises(InputError, match="has been added meanwhile"):
        remove_folder(folder)
    assert (folder / "new").exists()


def test_files_of_fixed_names_are_replaced_only_where_they_were_written_before(tmp_path: Path) -> None:
    for _ in range(2):
        claim(tmp_path / "out", ["a.csv", "b.csv"])
        (tmp_path / "out" / "a.csv").write_text("x")
    lines = (tmp_path / "out" / LIST).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [["a.csv", None], ["b.csv", None]]
    (tmp_path / "out" / "c.csv").write_text("mine")
    with pytest.raises(InputError, match=r"c\.csv: was not written by this command"):
        claim(tmp_path / "out", ["a.csv", "c.csv"])
    (tmp_path / "out" / "c.csv").unlink()
    remove_folder(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_link_stays_and_its_target_gets_the_text(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    for name in ("old", "new"):  # the second is a link to a file that is not there yet
        link, target = tmp_path / f"{name}.txt", tmp_path / "disk" / f"{name}.txt"
        link.symlink_to(Path("disk") / f"{name}.txt")
        if name == "old":
            target.write_text("earlier\n")
        (tmp_path / f"second-{name}").symlink_to(link)
        write_text("a", tmp_path / f"second-{name}")
        assert link.is_symlink()
        assert not target.is_symlink()
        assert target.read_text() == "a\n"
    assert sorted(path.name for path in (tmp_path / "disk").iterdir()) == ["new.txt", "old.txt"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("folder", "is a folder; name a file"),
        *((name, f"is a link to {name}, where no file can be") for name in ("gone/file", "link")),
    ],
)
def test_a_link_to_no_file_stays(tmp_path: Path, target: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(InputError, match=message):
        write_text("a", tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]
    assert (tmp_path / "link").readlink() == Path(target)


def test_a_pipe_gets_the_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text("a", tmp_path / "pipe")
    reader.join()
    assert texts == ["a\n"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(InputError, match="pipe: is a file; name a folder"), new_folder(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize(("kind", "numbers"), [(stat.S_IFCHR, (1, 3)), (stat.S_IFBLK, (7, 250))])
def test_a_device_stays_one(tmp_path: Path, kind: int, numbers: tuple[int, int]) -> None:
    try:
        os.mknod(tmp_path / "device", kind | 0o600, os.makedev(*numbers))
        if kind == stat.S_IFCHR:
            (tmp_path / "device").write_text("the null device")
    except PermissionError:
        pytest.skip("only root makes devices, and not in every container")
    if kind == stat.S_IFCHR:
        write_text("a", tmp_path / "device")
    else:
        with pytest.raises(InputError, match="is a disk, which would be overwritten"):
            write_text("a", tmp_path / "device")
    assert stat.S_IFMT((tmp_path / "device").stat().st_mode) == kind
    assert [path.name for path in tmp_path.iterdir()] == ["device"]


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(InputError, match="s: is no file, and cannot be written"):
            write_text("a", Path("s"))
        assert stat.S_ISSOCK(Path("s").stat().st_mode)


def _replace_often(folder: Path, times: int) -> None:
    for number in range(times):
        with new_folder(folder) as made:
            for name in range(5):
                (made / f"{os.getpid()}-{number}-{name}").write_text("x")


def test_a_folder_that_many_processes_replace_is_whole_and_ours(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for number in range(3):
        folder = tmp_path / str(number) / "out"
        folder.parent.mkdir()
        processes = [context.Process(target=_replace_often, args=(folder, 25)) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 4
        check_folder(folder)
        assert len(held(folder)) == 6
        assert [path.name for path in folder.parent.iterdir()] == ["out"]

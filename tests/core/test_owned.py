"""What factdrift replaces and removes, and what it leaves: files of others in the same places."""

import json
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.core.owned import (
    LIST,
    atomic_path,
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
    with (
        pytest.raises(InputError, match="is a folder; name a file"),
        atomic_path(tmp_path / "folder") as part,
    ):
        part.write_text("x")
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


def test_a_file_that_comes_while_a_folder_is_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert [json.loads(line) for line in (tmp_path / "out" / LIST).read_text().splitlines()] == [
        ["a.csv", None],
        ["b.csv", None],
    ]
    (tmp_path / "out" / "c.csv").write_text("mine")
    with pytest.raises(InputError, match=r"c\.csv: was not written by this command"):
        claim(tmp_path / "out", ["a.csv", "c.csv"])
    (tmp_path / "out" / "c.csv").unlink()
    remove_folder(tmp_path / "out")
    assert not (tmp_path / "out").exists()

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from factdrift.core.errors import InputError
from factdrift.models.tensor_files import read_tensors, write_tensors


def test_what_was_written_is_read(tmp_path: Path) -> None:
    values = {"b": torch.arange(6).reshape(2, 3).T, "a": torch.ones(2, dtype=torch.float64)}
    write_tensors(tmp_path / "one", values, {"model": "m", "rank": 2})
    write_tensors(tmp_path / "two", dict(reversed(values.items())), {"rank": 2, "model": "m"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found, about = read_tensors(tmp_path / "one", "make")
    assert about == {"model": "m", "rank": 2}
    assert found.keys() == values.keys()
    assert all(torch.equal(found[name], value) for name, value in values.items())


def test_damaged_files_are_named_with_the_command_that_writes_them(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("no tensors")
    (tmp_path / "folder").mkdir()
    save_file({"a": torch.ones(2)}, tmp_path / "foreign")
    save_file({"a": torch.ones(2)}, tmp_path / "odd", metadata={"about": "no JSON"})
    write_tensors(tmp_path / "cut", {"a": torch.ones(99)}, {})
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-8])
    for name in ("empty", "text", "foreign", "odd", "cut"):
        with pytest.raises(InputError, match=f"{name}: damaged, or not written by `factdrift it`"):
            read_tensors(tmp_path / name, "factdrift it")
    for name in ("folder", "none"):
        with pytest.raises(InputError, match=f"{name}: no such file; make it with `factdrift it`"):
            read_tensors(tmp_path / name, "factdrift it")

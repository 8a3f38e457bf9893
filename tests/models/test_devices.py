"""A GPU for each job."""

import contextlib
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from factdrift.core.errors import InputError
from factdrift.core.owned import machine
from factdrift.models import devices


@pytest.fixture
def uuids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Those of the GPUs of a machine with an empty TMPDIR; to be changed."""
    found = ["a-0", "a-1", "a-2"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(found))
    monkeypatch.setattr(torch.cuda, "set_device", lambda place: None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: SimpleNamespace(uuid=found[place]))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return found


def test_named_devices_and_machines_without_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for asked, given in (("auto", "cpu"), ("cpu", "cpu"), ("cuda:3", "cuda:3")):
        with devices.reserved_device(asked) as device:
            assert device == given


def test_jobs_take_gpus_that_are_free(uuids, monkeypatch, tmp_path):
    del uuids[2]
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    with contextlib.ExitStack() as jobs:
        assert [jobs.enter_context(devices.reserved_device("auto")) for _ in range(2)] == ["cuda:0", "cuda:1"]
        (folder,) = tmp_path.iterdir()
        waits: list[float] = []

        def wait(seconds: float) -> None:
            waits.append(seconds)
            jobs.close()

        monkeypatch.setattr(devices.time, "sleep", wait)
        with devices.reserved_device("auto") as device:
            assert device == "cuda:0"
        assert waits == [devices.WAIT]
    assert chosen == [0, 1, 0]
    # Two jobs of a scheduler whose control groups show each its own GPU as number 0, on any node.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    del uuids[1]
    with devices.reserved_device("auto"):
        uuids[0] = "b-0"
        with devices.reserved_device("auto") as device:
            assert device == "cuda:0"
    assert (folder / "b-0").exists()
    # A name in the place of the number is the same GPU.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b-0")
    with devices.reserved_device("auto"):
        assert {path.name for path in folder.iterdir()} == {"a-0", "a-1", "b-0"}
    # Slices of one GPU, of which a process sees the first; the last one as older drivers name it.
    for name in ("MIG-1", "MIG-2,MIG-3", "MIG-GPU-b-0/1/0"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", name)
        with devices.reserved_device("auto"):
            assert (folder / name.split(",")[0].replace("/", "-")).exists()
        with pytest.raises(InputError, match="a job sees 1 here"), devices.reserved_device("auto", 2):
            pass
    assert f"-{machine()}-" in folder.name


@pytest.mark.usefixtures("uuids")
def test_a_job_takes_all_of_its_gpus_or_none(monkeypatch):
    with devices.reserved_device("auto", 2) as two:
        assert two == "cuda:0,cuda:1"
        taken: list[str] = []

        def wait(seconds: float) -> None:
            """While a job waits for two, another one takes the last that is free; then the wait is over."""
            monkeypatch.setattr(devices.time, "sleep", stop)
            with devices.reserved_device("auto") as last:
                taken.append(last)

        def stop(seconds: float) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(devices.time, "sleep", wait)
        with pytest.raises(KeyboardInterrupt), devices.reserved_device("auto", 2):
            pass
        assert taken == ["cuda:2"]
    with (
        pytest.raises(InputError, match=r"edit\.gpus: 4 GPUs are wanted for a model, and a job sees 3"),
        devices.reserved_device("auto", 4),
    ):
        pass
    with devices.reserved_device("cpu", 2) as device:
        assert device == "cpu"

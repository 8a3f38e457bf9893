"""What a run does before its first job: the working directory, an interruption."""

import datetime
import logging
import os
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from snakemake.persistence import PersistenceBase
from snakemake.persistence.file import FilePersistence

from factdrift.core.errors import InputError
from factdrift.runs.environment import import_pandas_by_need, link_image, prepare, say_interrupted


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    asked: list[Path] = []

    def access(path: Path, mode: int) -> bool:  # for root every directory can be written
        asked.append(path)
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(InputError, match=f"^{tmp_path}: cannot be written, .* --directory FOLDER"):
        prepare("")
    (tmp_path / ".snakemake").mkdir()
    with pytest.raises(InputError, match=r"\.snakemake: cannot be written"):
        prepare("")
    assert asked == [Path(), Path(".snakemake")]
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").symlink_to("a disk that is not mounted")
    with pytest.raises(InputError, match=f"^{tmp_path}/results: is a file, or a link to a folder that is "):
        prepare("")
    assert dict(os.environ) == before


@pytest.mark.usefixtures("here")
def test_a_log_on_a_full_disk_prints_no_traceback(monkeypatch, capsys):
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setattr(logging, "raiseExceptions", True)
    prepare("")
    with pytest.raises(OSError), Path("/dev/full").open("w") as full:  # its buffer is flushed again
        logging.StreamHandler(full).handle(logging.LogRecord("a", 40, __file__, 1, "failed", (), None))
    assert capsys.readouterr().err == ""


def test_a_day_that_no_calendar_has_is_left_to_the_check_of_the_configuration() -> None:
    """Snakemake reads configuration files with this loader."""
    read = yaml.load("{old: 2021-02-30, new: 2023-02-27}", Loader=yaml.FullLoader)
    assert read == {"old": "2021-02-30", "new": datetime.date(2023, 2, 27)}


def test_an_interruption_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """While Snakemake reads the workflow: it handles Ctrl-C only later. Any other error stays as it is."""
    say_interrupted(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert capsys.readouterr().err == "Interrupted; the same command continues from there.\n"
    with pytest.raises(ValueError) as bug:
        int("a")
    say_interrupted(bug.type, bug.value, bug.tb)
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert "\nValueError: invalid literal" in said


def test_snakemake_looks_for_data_frames_only_where_pandas_is_imported(monkeypatch):
    before = PersistenceBase._serialize_param
    monkeypatch.setattr(PersistenceBase, "_serialize_param", before)
    import_pandas_by_need()
    assert PersistenceBase._serialize_param is not before, "another Snakemake: pandas costs its time again"
    records = object.__new__(FilePersistence)
    frame = pd.DataFrame({"a": [1, 2]})
    assert records._serialize_param(frame) == records._serialize_param(frame.copy()) != repr(frame)
    monkeypatch.delitem(sys.modules, "pandas")
    assert records._serialize_param("a") == "'a'"
    assert "pandas" not in sys.modules


def test_an_image_of_the_users_own_is_not_removed(tmp_path: Path) -> None:
    image, link = tmp_path / "envs.sif", tmp_path / ".snakemake" / "factdrift.sif"
    image.write_text("built")
    link_image(image, link)
    link_image(image, link)
    assert link.is_symlink()
    link.unlink()
    link.write_text("copied there")
    with pytest.raises(InputError, match=r"factdrift\.sif: is a file of its own"):
        link_image(image, link)
    assert link.read_text() == "copied there"

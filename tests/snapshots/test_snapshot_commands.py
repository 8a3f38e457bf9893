"""The commands `factdrift sample render` and `factdrift snapshots derive`."""

import json
from pathlib import Path

import pytest
from support.dumps import lines

from factdrift.cli import main

FACTS = [{"subject": "Q1", "property": "P6", "value": "Q2", "start": "2015-01-01"}]


def call(*arguments: object) -> None:
    assert main([str(each) for each in arguments]) == 0


def claims(path: Path) -> dict[str, object]:
    entities = [json.loads(text) for _, _, text in lines(path)]
    return dict(next(entity for entity in entities if entity["id"] == "Q1")["claims"])


def test_render_then_derive(tmp_path, write_tables, capsys):
    new, old = tmp_path / "new.json.zst", tmp_path / "old.json.gz"
    call("sample", "render", "--tables", write_tables(FACTS), "--date", "2020-01-01", "-o", new)
    assert "P6" in claims(new)
    assert capsys.readouterr().out == f"{new}: 14 entities\n"
    call("snapshots", "derive", "--dump", new, "--date", "2013-01-01", "-o", old)
    assert "P6" not in claims(old)
    assert '"statements_dropped": 1' in capsys.readouterr().out


def test_the_bundled_sample_is_the_default(tmp_path):
    path = tmp_path / "dump.json.gz"
    call("sample", "render", "--date", "2021-01-04", "-o", path)
    ids = [json.loads(text)["id"] for _, _, text in lines(path)]
    assert len(ids) == len(set(ids))
    assert "Q30" in ids


def test_an_invalid_date_is_refused(capsys):
    with pytest.raises(SystemExit):
        call("sample", "render", "--date", "2021-02-30", "-o", "x.json")
    assert "'2021-02-30' is no date; write it as 2021-01-04" in capsys.readouterr().err

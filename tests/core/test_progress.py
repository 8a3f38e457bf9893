"""Lines of progress, printed and parsed."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.core import progress as module
from factdrift.core.progress import Progress, ProgressLine, read_line, watched


def test_a_line_says_amounts_rates_and_what_is_left(capsys, monkeypatch):
    clock = iter([100.0, 110.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    progress = Progress("a.json.gz", 2460, "MB", before=230, beside="entities")
    progress.done, progress.done_beside = 1230, 310_000
    progress.say("2 bad lines")
    line = capsys.readouterr().err
    done = "a.json.gz: 1,230 of 2,460 MB (50%), 310,000 entities"
    assert line == f"{done}; 100.0 MB/s, 31,000.0 entities/s; 12 s left; 2 bad lines\n"
    assert read_line(line) == ProgressLine("a.json.gz", 0.5)


NAMES = st.text("abc.:;, 0123456789()%/-", min_size=1).filter(str.strip)
AMOUNTS = (st.floats(0, 1e13), st.none() | st.floats(0.1, 1e13), st.sampled_from(["MB", "rows", "requests"]))
BESIDE = (st.sampled_from(["", "entities", "titles"]), st.floats(0, 1e9))


@given(NAMES, *AMOUNTS, *BESIDE, st.text("abc ", max_size=5))
def test_printed_lines_can_be_parsed(what, done, total, unit, beside, done_beside, note):
    said: list[str] = []
    progress = Progress(what, total, unit, beside=beside)
    progress.done, progress.done_beside = done, done_beside
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda line, **_: said.append(line))
        progress.say(note)
    found = read_line(said[0])
    assert found is not None
    assert found.share == (None if total is None else round(done / total * 100) / 100) or found.what != what


def test_other_lines_are_not_parsed():
    others = (
        "",
        "factdrift: the disk is full: 3 MB",
        "a.json.gz: 3 entities",
        "https://a: try 2 of 10 in 2.0 s",
    )
    assert [line for line in others if read_line(line) is not None] == []


def test_work_inside_of_other_work_bears_its_name_and_a_short_loop_says_nothing(capsys, monkeypatch):
    with Progress("outer", 2, "edits") as outer:
        assert list(watched("ab", "inner", "steps")) == ["a", "b"]
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(module, "EVERY", 0)
        list(watched("ab", "inner", "steps"))
        outer.advance()
    assert list(watched("a", "alone", "steps")) == ["a"]
    lines = [read_line(line) for line in capsys.readouterr().err.splitlines()]
    said = [("outer: inner", 0.5), ("outer: inner", 1.0), ("outer", 0.5), ("alone", 1.0)]
    assert lines == [ProgressLine(*line) for line in said]


def test_a_step_that_takes_long_has_lines_meanwhile_and_the_last_line_comes_once(capsys, monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0)
    with Progress("loading", 4, "models") as work:
        said = ""
        while "loading: 0 of 4 models (0%)" not in said:
            time.sleep(0.05)
            said += capsys.readouterr().err
        work.advance(4)
        work.say()
    assert capsys.readouterr().err.count("(100%)") == 1

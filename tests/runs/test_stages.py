"""One line of progress per stage, from the logs and benchmark files of its jobs."""

import errno
import io
import os
import time
from pathlib import Path

import pytest
from support.waiting import wait_until

from factdrift.runs import stages
from factdrift.runs.stages import Follower, Job

DONE = "a, shard {k} of 2: 50 of 50 MB (100%), 1,000 entities; 5.0 MB/s, 100.0 entities/s; 0 s left\n"
HALF = "a, shard {k} of 2: 25 of 50 MB (50%), 600 entities; 5.0 MB/s, 120.0 entities/s; 5 s left\n"


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "POLL_SECONDS", 0.01)
    return [
        Job(rule, f"what {rule} does", "a command", tmp_path / f"{rule}{k}.txt", tmp_path / f"{rule}{k}.tsv")
        for rule, count in (("extract", 2), ("gather", 1))
        for k in range(count)
    ]


def ends(job: Job, seconds: float, ended: float) -> None:
    job.benchmark.write_text(f"s\th:m:s\n{seconds}\t0:00\n")
    os.utime(job.benchmark, (ended, ended))


def test_a_stage_is_reported_when_it_begins_while_it_runs_and_when_it_ends(jobs):
    followed = Follower(jobs, Path())
    assert followed.lines() == {}
    now = time.time()
    jobs[0].log.write_text("began\n")
    assert followed.lines() == {"extract": "extract: 0 of 2 jobs, 1 at work (0%) - what extract does"}
    jobs[0].log.write_text(HALF.format(k=0) + DONE.format(k=0))
    jobs[1].log.write_text(HALF.format(k=1))
    ends(jobs[0], 10, now)
    (line,) = followed.lines().values()
    assert line == "extract: 1 of 2 jobs, 1 at work (75%); 0:00:03 left - what extract does"
    jobs[1].log.write_text(HALF.format(k=1) + DONE.format(k=1))
    ends(jobs[1], 8, now + 10)
    jobs[2].log.write_text("writing x/y.parquet: 70 rows, 0.5 MB; 1.0 rows/s, 0.1 MB/s\n")
    ends(jobs[2], 2, now + 12)
    assert followed.lines() == {
        "extract": "extract: 2 of 2 jobs; took 0:00:20 - what extract does",
        "gather": "gather: 1 of 1 jobs; took 0:00:02 - what gather does",
    }


def test_logs_and_benchmarks_of_an_earlier_run_do_not_count(jobs):
    before = time.time() - 100
    for job in jobs:
        job.log.write_text(DONE.format(k=0))
        ends(job, 10, before)
        os.utime(job.log, (before, before))
    followed = Follower(jobs, Path())
    assert followed.lines() == {}
    jobs[2].log.write_text("again\n")
    ((rule, line),) = followed.lines().items()
    assert (rule, line[:20]) == ("gather", "gather: 0 of 1 jobs,")


def test_the_share_of_a_job_is_the_mean_of_its_newest_lines_with_a_total(jobs):
    followed = Follower(jobs[2:], Path())
    jobs[2].log.write_text(
        "reading old/a: 30 of 60 rows (50%); 1.0 rows/s; 30 s left\n"
        "reading old/a: 60 of 60 rows (100%); 1.0 rows/s; 0 s left\n"
        "reading new/a: 10 of 40 rows (25%); 1.0 rows/s; 0 s left\n"
        "writing both/a: 90 rows, 2 MB; 1.0 rows/s, 0.1 MB/s\n"
        "reading new/a: lines: 9 of 10 lines (90%); 1.0 lines/s; 1 s left\n"
    )
    assert followed.lines()["gather"].startswith("gather: 0 of 1 jobs, 1 at work (62%)")


def test_a_log_that_is_removed_and_a_benchmark_that_is_being_written_are_looked_at_again(jobs, monkeypatch):
    """As a job that starts again removes its log, on this machine or on another one of a shared disk."""
    followed = Follower(jobs[2:], Path())
    jobs[2].log.write_text("began\n")
    for error in (errno.ENOENT, errno.ESTALE):

        def removed(*_, error=error):
            raise OSError(error, os.strerror(error))

        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_text", removed)
            assert followed.lines() == {}
    assert "1 at work" in followed.lines()["gather"]
    jobs[2].benchmark.write_text("s\th:m:s\n")
    assert "0 of 1 jobs" in followed.lines()["gather"]
    ends(jobs[2], 1, time.time())
    assert "1 of 1 jobs" in followed.lines()["gather"]


def test_a_short_run_has_one_line_and_a_file_with_its_stages(jobs, tmp_path, capfd, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(stages.time, "monotonic", lambda: clock[0])
    follower = Follower(jobs, tmp_path / "progress.txt")
    now = time.time()
    for job in jobs:
        job.log.write_text("began\n")
        ends(job, 7, now)
    clock[0] = 59.0
    follower._report()
    assert capfd.readouterr().err == ""
    follower._report(last=True)
    line = f"progress: 3 jobs in 2 stages took 0:00:07 ({tmp_path / 'progress.txt'})\n"
    assert capfd.readouterr().err == line
    assert len((tmp_path / "progress.txt").read_text().splitlines()) == 2
    clock[0] = 61.0
    follower._report()
    begun = sorted(line[:17] for line in capfd.readouterr().err.splitlines())
    assert begun == ["progress: extract", "progress: gather:"]


def test_a_short_run_that_fails_has_a_line_for_each_stage(jobs, tmp_path, capfd):
    follower = Follower(jobs, tmp_path / "progress.txt")
    for job in jobs[1:]:
        job.log.write_text("began\n")
        ends(job, 7, time.time())
    follower._report(last=True)
    assert [line.split(",")[0] for line in sorted(capfd.readouterr().err.splitlines())] == [
        "progress: extract: 1 of 2 jobs",
        "progress: gather: 1 of 1 jobs; took 0:00:07 - what gather does",
    ]


def test_a_follower_prints_each_stage_and_writes_a_file(jobs, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(stages, "SHORT", 0)
    follower = Follower(jobs, tmp_path / "logs" / "progress.txt").start()
    for k, job in enumerate(jobs):
        job.log.write_text(DONE.format(k=k))
        ends(job, 1, time.time())
    wait_until((tmp_path / "logs" / "progress.txt").exists)
    follower.end()
    said = capfd.readouterr().err.splitlines()
    assert sorted(line.split(":")[1].strip() for line in said) == ["extract", "gather"]
    kept = (tmp_path / "logs" / "progress.txt").read_text().splitlines()
    assert sorted(f"progress: {line}" for line in kept) == sorted(said)


def test_failed_jobs_stay_unfinished_and_warnings_are_printed_once_and_whole(jobs, tmp_path, capfd):
    follower = Follower(jobs, tmp_path / "progress.txt").start()
    text = "warning: the sample is not complete on 2030-01-01 (sport until 2024-12-31)\x1b[2J"
    for job in jobs[:2]:
        job.log.write_text(f"{text}\nwriting a table\nx.py:3: UserWarning: be careful\n  call()\n")
    ends(jobs[0], 1, time.time())
    follower.end()
    said = capfd.readouterr().err.splitlines()
    assert any(line.startswith("progress: extract: 1 of 2 jobs, 1 at work (50%)") for line in said)
    warned = [line for line in said if not line.startswith("progress: ")]
    assert warned == [f"extract: {text[:-4]} [2J", "extract: x.py:3: UserWarning: be careful"]


def test_a_running_stage_has_a_line_after_half_a_minute_and_then_every_two(
    jobs, tmp_path, monkeypatch, capfd
):
    clock = [0.0]
    follower = Follower(jobs, tmp_path / "progress.txt")
    monkeypatch.setattr(stages.time, "monotonic", lambda: clock[0])
    jobs[0].log.write_text("began\n")
    printed = []
    for clock[0] in range(0, 400, 15):
        follower._report()
        if capfd.readouterr().err:
            printed.append(clock[0])
    assert printed == [30, 150, 270, 390]


def test_a_terminal_has_a_line_that_changes(jobs, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(stages.sys, "stderr", screen := io.StringIO())
    monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
    follower = Follower(jobs, tmp_path / "progress.txt").start()
    jobs[0].log.write_text(HALF.format(k=0))
    wait_until(lambda: "0 of 3 jobs; extract" in screen.getvalue())
    follower.end()
    assert screen.getvalue().endswith("\r\x1b[2K")

"""What a run of the sample prints: progress by stage, errors whole, and a summary."""

import re
from pathlib import Path

from support.workflow import ROOT, STAGES, TERMINAL, rules_of, snakemake

from factdrift.cli import job_of
from factdrift.core.shell import shell_line


def test_a_run_prints_stages_and_a_summary_on_at_most_sixty_lines(built):
    said = (built / TERMINAL).read_text(encoding="utf-8")
    # Killed runs of other tests may have left something that every run removes.
    assert sum(not line.startswith("Removed ") for line in said.splitlines()) < 61, said
    assert "\x1b" not in said
    stages = (built / STAGES).read_text(encoding="utf-8")
    ended = set(re.findall(r"^(\w+): (\d+) of \2 jobs", stages, re.MULTILINE))
    assert {"render_sample", "classify", "nearest_facts", "assemble"} <= {name for name, _ in ended}
    summary = said[said.index("What changed between 2021-01-04 and 2023-02-27: ") :]
    assert len(re.findall(r"^  \w+ +[\d,]+  █+$", summary, re.MULTILINE)) == 6
    assert "The head of government of Germany is Olaf Scholz (before: Angela Merkel)" in summary
    assert len(re.findall(r" \(before: ", summary)) == 5
    assert len(re.findall(r"^  results/\S+ +\d", summary, re.MULTILINE)) == 5
    assert "factdrift show --search Germany" in summary


def test_the_complete_log_is_on_disk(built):
    log = "".join(path.read_text("utf-8") for path in (built / ".snakemake" / "log").glob("*.log"))
    for part in ("Job stats:", "rule assemble:", "input: results/", "Finished jobid:"):
        assert part in log


def test_an_error_is_printed_with_the_log_of_its_job(tmp_path):
    files = {f"2025-06-0{day}": str(tmp_path / f"{day}.json") for day in (2, 9)}
    for file in files.values():
        Path(file).write_text("no dump\n", encoding="utf-8")
    dates = dict(zip(("old", "new"), files, strict=True))
    said = snakemake(tmp_path, jobs=False, fails=True, snapshots=dates, dumps=files, shards=1)
    failed = said[said.index("Error in rule gather_snapshot") :]
    assert re.search(r"^factdrift: .*[29]\.json", failed, re.MULTILINE)
    assert "What changed" not in said


def test_every_job_writes_to_its_log_and_prints_its_error():
    """The error reaches the terminal even if the log is on a disk that is full."""
    line = """exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")\n"""
    assert line in shell_line((job_of("updates report"),))
    rules = {
        name: body
        for path in sorted((ROOT / "rules").glob("*.smk"))
        for name, body in rules_of(path.read_text(encoding="utf-8")).items()
        if "shell:" in body
    }
    assert len(rules) > 50
    # The shell writes a list of names, since Python would take longer to begin; its errors go both ways, too.
    assert "2> >(tee {log:q} >&2)" in rules.pop("every_bucket")
    assert [name for name, body in rules.items() if not re.search(r"shell:\s+job\(", body)] == []


def test_every_rule_says_in_a_line_what_it_does():
    """The docstring, which progress shows while the rule runs and `snakemake --list` prints."""
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for name, body in rules_of(path.read_text(encoding="utf-8")).items():
            assert re.match(r'\s*"""[A-Z`].{10,110}\.\n?', body), (path.name, name)

"""The estimate of a run: computed from tables of costs, printed, and an error if the disk is too small."""

import csv
import math
import re
from pathlib import Path

import pytest
from support.workflow import ROOT, snakemake

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.files import read_tsv
from factdrift.core.paths import COSTS
from factdrift.runs.begin import Input, begin, check_disk, known_dumps, report
from factdrift.runs.estimate import (
    SPLITS,
    Cluster,
    Cost,
    CostParts,
    Dump,
    Machine,
    estimate,
    read_costs,
    read_quantities,
)
from factdrift.runs.stages import Job
from factdrift.wikidata.sizes import dump_bytes

DUMPS = [Dump(100e9, "gzip"), Dump(120e9, "gzip")]
WHOLE = {
    **{"dumps": {"2021-01-04": "d.json.gz"}, "variant": "paper", "scope": "enwiki"},
    **{"shards": 1, "buckets": 1, "neighbors": {"blocks": 1}},
}


@pytest.fixture
def small(monkeypatch):
    """Round figures: 1 GB of .gz is 10 GB of text."""
    table = {
        "statements extract": Cost("shard", 1, 2, 100, 10, 600, 3, False),
        "statements snapshot": Cost("dump", 5, 0, 50, 0, 4000, 0, True),
        "updates difference": Cost("bucket", 1, 1, 100, 100, 2000, 4, True),
        "neighbors search": Cost("block", 0, 0, 200, 0, 12000, 0, True),
    }
    quantities = {
        **read_quantities(),
        **{"text_per_byte_gzip": 10, "text_per_byte_bzip2": 20, "items_per_gb": 1000},
        **{"held_enwiki": 0.1, "updated": 0.01, "search_pairs": 8},
        **{"snakemake_start_s": 5, "snakemake_job_s": 5 / 22},
        **{"submission_s": 2, "submission_wait_s": 30, "submission_lanes": 8},
    }
    archives = {"gzip": 0.0, "bzip2": 15.0, "none": -0.5}
    monkeypatch.setattr("factdrift.runs.estimate.read_costs", lambda scope: table)
    monkeypatch.setattr("factdrift.runs.estimate.read_quantities", lambda: quantities)
    monkeypatch.setattr("factdrift.runs.estimate.read_archives", lambda: archives)


def test_counted_by_hand(small):
    found = estimate([Dump(1e9, "gzip"), Dump(2e9, "bzip2", 3e8, 1e6)], 4, parts=CostParts(5, 8, 2))
    assert found.text == 50e9
    # 25 GB of text a dump: 5 GB a shard, and bzip2 for 40 of the 50 GB.
    extract = found.stages["statements extract"]
    assert extract.jobs == 10
    assert extract.cpu == pytest.approx(10 * (1 + 5 * 2) + 40 * 15)
    assert extract.seconds == pytest.approx(3 / 10 * extract.cpu)
    assert (extract.memory, extract.at_once, extract.output) == (150, 600, 150)
    # The larger dump counts for the pair.
    difference = found.stages["updates difference"]
    assert (difference.jobs, difference.memory) == (8, 600)
    assert difference.cpu == 8 * (1 + 5)
    assert difference.output == 160
    # 40 GB hold 4,000 items, 40 of them updated.
    assert found.stages["neighbors search"].cpu == pytest.approx(4000 * 40 / 1e9 * 8)
    # Snakemake's own: its start and a moment for each of 22 jobs.
    assert found.seconds == pytest.approx(10 + sum(stage.seconds for stage in found.stages.values()))
    assert found.disk == 3e8 + 310e6
    assert (found.download, found.download_seconds) == (3e8, 300)
    assert (found.largest, found.memory, found.at_once) == ("updates difference", 600e6, 2400e6)


def test_only_the_jobs_that_are_to_run_count(small):
    whole = estimate(DUMPS, 4, parts=CostParts(5, 8, 2))
    rest = estimate(DUMPS, 4, parts=CostParts(5, 8, 2), jobs={"updates difference": 2, "klob count": 7})
    assert list(rest.stages) == ["updates difference"]
    assert rest.stages["updates difference"].cpu * 4 == whole.stages["updates difference"].cpu
    assert rest.disk < whole.disk
    # Of five dates, which have four differences of eight buckets.
    stream = estimate(DUMPS, 4, parts=CostParts(5, 8, 2), jobs={"updates difference": 32})
    assert stream.stages["updates difference"].cpu == 4 * whole.stages["updates difference"].cpu


def test_a_cluster_counted_by_hand(small):
    dumps, parts = [Dump(1e9, "gzip")] * 2, CostParts(6, 8, 2)
    found, alone = estimate(dumps, Cluster(2, 5), parts=parts), estimate(dumps, 10, parts=parts)
    assert found.stages == alone.stages
    # Submissions: 12 shards in six of 2, two snapshots, the differences of 8 buckets in two, two searches.
    assert found.submissions == 6 + 2 + 2 + 2
    # Snakemake starts at first, in each submission and for each of 24 jobs; four groups are looked for.
    work = sum(stage.seconds for stage in found.stages.values())
    starts = 12 + 24
    assert found.seconds == pytest.approx(work + 5 + starts * 5 / 10 + 4 * 30 + 12 * 2)
    assert found.cpu == pytest.approx(sum(stage.cpu for stage in found.stages.values()) + 5 + starts * 5)
    # The jobs of a group that need each other are one submission.
    jobs = {"wikifactdiff stats": 9, "updates difference": 5}
    assert estimate(dumps, Cluster(1, 4), jobs=jobs).submissions == 2


def test_the_estimate_is_printed_beside_what_the_machine_has():
    found = estimate([Dump(92e9, "gzip", 92e9, 1e6), Dump(120e9, "gzip")], 8)
    lines = report(found, Machine(8, 64e9, 500e9), "/data")
    assert "GB of text in both dumps" in lines[0]
    assert "on 8 cores, after 25:33 h of downloads" in lines[1]
    assert "and 92.0 GB of downloads; 500.0 GB free in /data" in lines[2]
    assert lines[3].endswith("this machine has 64.0 GB")
    assert len(lines) == 4
    check_disk(found, Machine(8, 64e9, 500e9), "/data")
    # Two dumps of one server come one after the other, those of two servers at once.
    for speed, seconds in ((1e6, 212e3), (4e6, 92e3)):
        both = [Dump(92e9, "gzip", 92e9, 1e6), Dump(120e9, "gzip", 120e9, speed)]
        assert estimate(both, 8).download_seconds == pytest.approx(seconds)
    with pytest.raises(InputError) as error:
        check_disk(found, Machine(8, 64e9, 95e9), "/data")
    needed = r"needs about 1\d\d\.\d GB, of which 92\.0 GB are downloads, and /data has 95\.0 GB free"
    assert re.search(rf"{needed}.*--directory FOLDER.*--config check_disk=false", str(error.value))


def test_too_little_memory_gives_a_warning_with_the_remedy():
    found = estimate(DUMPS, 8)
    at_once = report(found, Machine(8, found.memory + 1, 1e15), ".")[-1]
    assert at_once.startswith("Warning: the memory cannot hold as many jobs at once")
    assert f"--resources mem_mb={0.9 * (found.memory + 1) / 1e6:.0f}" in at_once
    largest = report(found, Machine(8, found.memory - 1, 1e15), ".")[-1]
    assert f"Warning: the memory cannot hold the largest job, `factdrift {found.largest}`" in largest
    assert "machine" not in report(found, Machine(8, math.inf, 1e15), ".")[3]


def test_the_tables_of_costs():
    granted = {row["command"]: float(row["most_mb"]) for row in read_tsv(COSTS / "requests.tsv")}
    tables = {scope: read_costs(scope) for scope in ("enwiki", "anywiki", "all")}
    for table in tables.values():
        assert table.keys() == tables["enwiki"].keys()
        assert {command: round(cost.most_mb, 6) for command, cost in table.items()}.items() <= granted.items()
        assert {cost.split for cost in table.values()} == SPLITS.keys()
        assert [command for command, cost in table.items() if not cost.kept] == ["statements extract"]
    assert tables["all"]["statements extract"].cpu_s_gb > tables["enwiki"]["statements extract"].cpu_s_gb
    for command, stage in estimate([Dump(1e15, "gzip")] * 2, 8).stages.items():  # no job exceeds its grant
        assert stage.memory <= tables["enwiki"][command].most_mb
    for path in COSTS.glob("*.tsv"):
        with path.open(newline="") as file:
            assert all(row["source"] for row in csv.DictReader(file, delimiter="\t")), path


def test_sizes_of_dumps_lie_between_those_that_are_known():
    assert dump_bytes("2021-04-19") == pytest.approx(91.8e9)
    assert 75e9 < dump_bytes("2021-01-04") < 91.8e9
    assert 91.8e9 < dump_bytes("2023-02-27") < 123.7e9
    assert dump_bytes("2027-07-01") > 156e9
    assert 0 < dump_bytes("2014-01-06") < 9.9e9


def test_the_command_prints_a_table_and_pages_have_it(tmp_path, capsys, refused):
    dump = tmp_path / "a.json"
    dump.write_text("[\n]\n")
    assert main(["estimate", "2021-01-04", "92GB.gz", "--cores", "16", "--nodes", "1", "4"]) == 0
    said = capsys.readouterr().out
    assert "| 1 x 16, " in said
    assert "| 4 x 16, " in said
    assert re.search(r"After \d\d\.\d GB of downloads, \d+:\d\d h\.", said)
    for page in ("cluster", "scaling"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        command = re.findall("`factdrift (estimate 2021-01-04 2023-02-27 --cores [0-9 nodes-]+)`", text)[-1]
        assert main(command.split()) == 0
        assert capsys.readouterr().out.partition("\n\n")[0].partition("-:|\n")[2] in text, page
    assert main(["estimate", str(dump), str(dump), "--scope", "all", "--shards", "1"]) == 0
    assert "soon: neither a file nor a size" in refused("estimate", "soon", "2021-01-04")
    for wrong in (["2021-01-04", "5TB.rar"], [dump, dump, "--cores", "0"], [dump, dump, "--cores"]):
        refused("estimate", *wrong)


def source(path: Path, remote: bool = False, size: int | None = None) -> Input:
    return Input("2021-01-04", path, remote, size)


def holes(path: Path) -> Path:
    """A sparse file as dump, so large that no disk here can hold its tables."""
    with path.open("wb") as file:
        file.write(bytes.fromhex("1f8b08"))
        file.truncate(8 << 40)
    return path


@pytest.fixture
def said_at_the_beginning(tmp_path, monkeypatch, capsys):
    """What a run of `count` jobs says of these dumps when it begins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shell = "PATH=x; factdrift statements gather --bucket 0 &> log"

    def said(sources, count=1, slots=2, here=True, before=(), **config):
        config = WHOLE | {"check_disk": False} | config
        files = tmp_path / "log", tmp_path / "benchmark"
        planned = [Job("gather_statements", "Gathers", line, *files) for line in [shell] * count + [*before]]
        begin(planned, known_dumps(sources, config), config, slots, here).end()
        return capsys.readouterr().err

    return said


@pytest.mark.parametrize("dumps", [None, "sample", {"2021-01-04": {"entities": "a"}, "2023-02-27": "derive"}])
def test_a_run_without_large_dumps_is_followed_and_not_estimated(tmp_path, said_at_the_beginning, dumps):
    dates = ["2021-01-04", "2023-02-27"] if dumps else []
    sources = [Input(date, holes(tmp_path / date), False, None) for date in dates]
    assert said_at_the_beginning(sources, dumps=dumps) == ""


def test_what_is_to_be_downloaded_counts_once_and_without_what_has_arrived(tmp_path):
    pair = {date: tmp_path / f"{date}.json.gz" for date in ("2021-01-04", "2023-02-27")}
    old, new = (Input(date, path, True, 1000) for date, path in pair.items())
    for sources, to_come in (([old, new], [1000, 1000]), ([new, new], [1000, 0])):
        dumps = known_dumps(sources, {"dumps": "wikidata"})
        assert [(dump.bytes, dump.to_come) for dump in dumps] == [(1000, each) for each in to_come]
    old.path.with_name(f"{old.path.name}.part").write_bytes(b"x" * 300)
    packed = Input("2022-01-03", tmp_path / "b.json.bz2", True, None)
    dumps = known_dumps([old, packed], {"dumps": "wikidata"})
    assert dumps[0].to_come == 700
    assert 0.5 < dumps[1].bytes / dump_bytes("2022-01-03") < 0.8


def test_a_dump_that_no_job_downloads_is_not_counted_as_a_download(tmp_path, said_at_the_beginning):
    """Its tables are finished, and its file was removed to make room."""
    sources = [source(Path("results/wikidata.json.gz"), True, 10**9), source(holes(tmp_path / "d.json.gz"))]
    assert "downloads" not in said_at_the_beginning(sources)
    fetch = "factdrift snapshots download 2021-01-04 --output results/wikidata.json.gz"
    said = said_at_the_beginning(sources, before=[fetch], contact="me@example.org")
    assert "and 1.0 GB of downloads" in said


def test_a_run_on_a_cluster_and_one_without_a_check_of_the_disk(tmp_path, said_at_the_beginning, capsys):
    said = said_at_the_beginning([source(holes(tmp_path / "d.json.gz"))], 3, slots=500, here=False)
    assert "in 1 submission, once each begins" in said
    assert "this machine has" not in said
    sources = [source(holes(tmp_path / "d.json.gz"))] * 2
    assert "Estimate for 181,199.5 GB of text" in said_at_the_beginning(sources)
    with pytest.raises(InputError, match="the disk cannot hold this build"):
        said_at_the_beginning(sources, check_disk=True)
    assert "Estimate for 181,199.5 GB of text" in capsys.readouterr().err


def test_the_workflow_refuses_what_the_disk_cannot_hold_before_any_job(tmp_path):
    holes(tmp_path / "d.json.gz")
    dumps = {"2021-01-04": "derive", "2023-02-27": "derive", "2024-01-01": "d.json.gz"}
    said = snakemake(tmp_path, fails=True, dumps=dumps, stream=list(dumps))
    assert "Estimate for 181,199.5 GB of text" in said
    assert "the disk cannot hold this build" in said
    assert "Traceback" not in said
    assert not (tmp_path / "results").exists()
    assert not list((tmp_path / ".snakemake").rglob("*.lock"))

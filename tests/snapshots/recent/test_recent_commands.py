"""The command: what it refuses before it asks anything, what it writes, and a run that is killed."""

import datetime
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.sparql import QueryService
from support.waiting import wait_until

from factdrift.cli import main
from factdrift.core.addresses import TOKEN_VARIABLE
from factdrift.core.paths import SNAKEFILE
from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods

CONTACT = "tests@example.org"
PERIOD = ("--since", "2026-01-01", "--until", "2026-04-01")
FOLDER = Path("results/recent/2026-01-01_2026-04-01")
API = "http://127.0.0.1:9/w/api.php"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)


def line(service: QueryService, *more: str) -> list[str]:
    """The arguments of a call; of two equal options the later one counts."""
    given = (*PERIOD, "--relations", "P35,P6", "--contact", CONTACT, "--endpoint", service.url, "--api", API)
    return ["recent", *given, *more]


def recent(service: QueryService, *more: str) -> int:
    return main(line(service, *more))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--contact", "a@b\r\nX: y"), r"contact: 'a@b\r\nX: y' is no mail or web address"),
        (("--until", "2999-01-01"), "--until 2999-01-01: the day is not over"),
        (("--since", "2026-04-01"), "--since 2026-04-01 is not before --until 2026-04-01"),
        (("--since", "2010-01-01"), "--since 2010-01-01: Wikidata's revisions begin"),
        (("--limit", "0"), "--limit 0: must be 1 or more"),
        (("--relations", "P6,Q30"), "--relations: 'Q30'"),
        (("--cores", "some"), "--cores some: must be a number"),
        (("--endpoint", "query.wikidata.org"), "--endpoint query.wikidata.org: no http(s) address"),
        (("--api", "https://me:word@wiki.example/a"), "--api: the address must not contain a user name"),
    ],
)
def test_what_is_wrong_is_reported_before_anything_is_asked(small_service, more, message, capsys):
    assert recent(small_service, *more) == 1
    said = capsys.readouterr().err
    assert message in said
    assert ":word@" not in said
    assert small_service.asked == []
    assert list(Path().iterdir()) == []


def test_a_token_that_cannot_be_sent_is_refused_and_not_repeated(small_service, monkeypatch, capsys):
    monkeypatch.setenv(TOKEN_VARIABLE, "naïve")
    assert recent(small_service) == 1
    said = capsys.readouterr().err
    assert f"{TOKEN_VARIABLE}: the access token holds" in said
    assert "naïve" not in said
    assert small_service.asked == []


def test_the_plan(small_service, capsys):
    assert recent(small_service, "--plan") == 0
    assert (FOLDER / "entities.txt").read_text(encoding="utf-8").splitlines() == [
        "# 5 of 5 items with a statement of P6, P35",
        "# dated 2026-01-01 to 2026-03-31",
        *("Q30  # P6", "Q31  # P6", "Q32  # P35", "Q33  # P6", "Q34  # P35"),
    ]
    said = capsys.readouterr().out.splitlines()
    assert {"P6: 3 items", "P35: 2 items", f"{FOLDER}/entities.txt: 5 items"} <= set(said)
    command = shlex.split(said[-1])
    assert command[0] == "snakemake"
    assert f"contact={CONTACT}" in command
    config = yaml.safe_load(Path(command[command.index("--configfile") + 1]).read_text(encoding="utf-8"))
    configure(config, keys_of_methods)
    # Both ends of the period: what holds at its beginning is what holds at the end of the day before.
    assert config["snapshots"] == {"old": "2025-12-31", "new": "2026-04-01"}
    assert config["only"]["relations"] == ["P6", "P35"]
    assert config["only"]["subjects"] == f"{FOLDER}/entities.txt"
    assert config["wikidata_api"] == API
    # The mail address is in no file: the configuration may be passed on.
    assert not any(CONTACT.encode() in path.read_bytes() for path in FOLDER.iterdir())


def test_a_second_run_asks_nothing_and_writes_nothing(small_service, capsys):
    recent(small_service, "--plan")
    asked = len(small_service.asked)
    assert asked == 6
    files = [FOLDER / "entities.txt", FOLDER / "config.yaml"]
    before = [path.stat().st_mtime_ns for path in files]
    capsys.readouterr()
    recent(small_service, "--plan")
    assert "0 requests; the other answers had been kept" in capsys.readouterr().out
    assert len(small_service.asked) == asked
    assert [path.stat().st_mtime_ns for path in files] == before
    # Fewer items, or fewer relations, ask nothing either.
    recent(small_service, "--plan", "--limit", "2", "--relations", "P6")
    assert (FOLDER / "entities.txt").read_text(encoding="utf-8").endswith("\nQ30  # P6\nQ31  # P6\n")
    assert "entities.txt: 2 items; 1 left out by --limit" in capsys.readouterr().out
    assert len(small_service.asked) == asked
    # What a user has written into the configuration is not lost.
    written = files[1].read_text(encoding="utf-8")
    for changed in (f"{written}seed: 7\n", written.replace("P1082: 1", "P1082: 7")):
        files[1].write_text(changed, encoding="utf-8")
        assert recent(small_service, "--plan") == 1
        assert "config.yaml: has been changed since this command wrote it" in capsys.readouterr().err
        assert files[1].read_text(encoding="utf-8") == changed != written
    # The refusal has not changed the list beside it either, and is over once that file has been moved away.
    assert files[0].read_text(encoding="utf-8").endswith("\nQ30  # P6\nQ31  # P6\n")
    files[1].unlink()
    assert recent(small_service, "--plan") == 0


def test_a_period_without_any_item(small_service, capsys):
    assert recent(small_service, "--since", "2026-03-20") == 1
    assert "no item has a statement of these relations" in capsys.readouterr().err
    assert not Path("results/recent").exists()


def test_without_a_plan_the_workflow_is_run(small_service, monkeypatch):
    called: list[list[str]] = []
    monkeypatch.setenv("FACTDRIFT_CONTACT", "before@example.org")
    monkeypatch.setattr(os, "execv", lambda program, arguments: called.append(arguments))
    assert recent(small_service, "--cores", "3") == 0
    wanted = f"-m snakemake --snakefile {SNAKEFILE} --cores 3 results/wikifactdiff.parquet"
    assert called == [[sys.executable, *wanted.split(), "--configfile", f"{FOLDER}/config.yaml"]]
    # Jobs find the contact in the environment.
    assert os.environ["FACTDRIFT_CONTACT"] == CONTACT


def test_the_period_ends_yesterday_if_nothing_is_said(small_service, capsys):
    given = line(small_service, "--plan")
    start = given.index("--until")
    assert main(given[:start] + given[start + 2 :]) == 0
    yesterday = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=1)
    (folder,) = Path("results/recent").iterdir()
    before = yesterday - datetime.timedelta(days=1)  # where midnight has passed meanwhile
    assert folder.name in {f"2026-01-01_{yesterday}", f"2026-01-01_{before}"}
    assert capsys.readouterr().out.startswith(f"--until {folder.name[-10:]}: to continue this run")


def test_a_killed_run_is_continued(small_service, capsys):
    service = small_service
    service.hold_at = 4
    program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    call = [sys.executable, "-c", program, *line(service, "--plan")]
    run = subprocess.Popen(call, stdout=subprocess.DEVNULL)
    wait_until(lambda: len(service.asked) >= 4, run)
    run.kill()
    run.wait()
    service.hold_at = None
    wait_until(lambda: service.busy == 0)
    assert not Path("results/recent").exists()
    assert recent(service, "--plan") == 0
    assert "3 requests; the other answers had been kept" in capsys.readouterr().out
    # The kill lost only the answer that was on its way.
    queries = [query for _, query in service.asked]
    assert (len(queries), len(set(queries))) == (7, 6)
    assert (FOLDER / "entities.txt").read_text(encoding="utf-8").count("\nQ") == 5

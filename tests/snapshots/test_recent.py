"""What a Query Service says has changed: which items are found, also with faults; and the command."""

import datetime
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.recent import database_with_articles
from support.ripples import HUMAN, kinds
from support.sparql import QueryService, query_service
from support.waiting import wait_until
from support.worlds import Date, Fact, World, time_of

from factdrift.cli import main
from factdrift.core.addresses import TOKEN_VARIABLE
from factdrift.core.errors import InputError
from factdrift.core.paths import SNAKEFILE
from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.snapshots.recent.search import Changes, Search, chosen, search
from factdrift.sparql.client import POLICY, Client


def database_of(folder: Path, relations: tuple[int, ...]) -> Path:
    """The database of the newer tables that a world has written into a folder."""
    files = [folder / "new" / f"{name}.parquet" for name in ("statements", "entities", "properties")]
    return database_with_articles([files[0]], [files[1]], files[2], relations, folder)


@pytest.fixture(scope="module")
def small_database(tmp_path_factory):
    """Three items with a new head of government, two with a former head of state, January to March 2026."""
    folder = tmp_path_factory.mktemp("small")
    heads = [Fact(item, 6, 3, start=f"2026-0{month}-05") for item, month in ((30, 1), (31, 2), (33, 3))]
    states = [Fact(item, 35, 3, end="2026-02-07") for item in (32, 34)]
    World(new=sorted([*heads, *states], key=lambda fact: fact.s)).write(folder)
    return database_of(folder, (6, 35))


@pytest.fixture
def small_service(small_database):
    with query_service(small_database) as found:
        yield found
        assert found.offences == []


HEAD, STATE, DEATH, TEAM = 6, 35, 570, 54
RELATIONS = (HEAD, STATE, TEAM, DEATH)
DATES = (
    *("2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-02-28", "2026-03-15", "2026-04-01"),
    *("2025-12", "2026-01", "2026-02", "2026-03", "2025", "2026"),
    *("2020s", "2026/7", "-0044-03-15", "unknown"),
)
FAULTS = ("429", "500", "html", "truncated", "reset", "503", "429 bare", "500 timeout", "drip")


def facts() -> list[Fact]:
    """Each date as start, end, point in time and value, of items with and without an English article."""
    found = []
    for place, date in enumerate(DATES):
        item = 100 + 10 * place
        found += [
            Fact(item, HEAD, 3, start=date),
            Fact(item + 1, HEAD, 3, start="2001", end=date),
            Fact(item + 2, STATE, 4, start="2001-01-01", rank="deprecated", end=date),
            Fact(item + 3, TEAM, 5, start=("2003-01-01", date) if date != "unknown" else date),
            Fact(item + 4, HEAD, 3),
        ]
        if date != "unknown":
            found += [
                Fact(item + 5, STATE, 4, pit=date),
                Fact(item + 6, DEATH, Date(date)),
                Fact(item + 7, STATE, 4, start=date),
            ]
    return sorted(found, key=lambda fact: fact.s)


FACTS = facts()
BARE = frozenset(fact.s for fact in FACTS if fact.s % 10 == 7)
"""Items without an English article."""
SINCE, UNTIL = datetime.date(2026, 1, 1), datetime.date(2026, 4, 1)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    new = sorted([*FACTS, *kinds(Q3=(HUMAN,))], key=lambda fact: fact.s)
    World(new=new, no_article=BARE).write(folder)
    return database_of(folder, RELATIONS)


@pytest.fixture(scope="module")
def open_service(database):
    with query_service(database) as found:
        yield found


@pytest.fixture
def service(database):
    with query_service(database) as found:
        yield found
        assert found.offences == []


def client(service: QueryService, answers: Path | None = None) -> Client:
    clock = service.clock
    return Client(service.url, "me@example.org", answers, clock.sleep, lambda low, high: high, clock.time)


def first_days(fact: Fact) -> list[tuple[int, datetime.date]]:
    """(precision, first day) of the dates of a fact, without those that Python cannot hold."""
    written = [fact.start, fact.end, fact.pit, fact.o.text if isinstance(fact.o, Date) else None]
    texts = [text for each in written for text in (each if isinstance(each, tuple) else (each,))]
    times = [time_of(text) for text in texts if text not in (None, "unknown")]
    return [
        (time["precision"], datetime.date(time["year"], max(time["month"], 1), max(time["day"], 1)))
        for time in times
        if time["year"] > 0
    ]


def plainly(since: datetime.date, until: datetime.date, scope: str = "enwiki") -> dict[int, set[int]]:
    """What `search` is to find, by looking at every fact."""
    found: dict[int, set[int]] = {}
    for fact in FACTS:
        inside = any(level >= 9 and since <= day < until for level, day in first_days(fact))
        if inside and fact.rank != "deprecated" and (scope == "all" or fact.s not in BARE):
            found.setdefault(fact.s, set()).add(fact.p)
    return found


def found_by(
    asking: Client, since: datetime.date = SINCE, until: datetime.date = UNTIL, **keys: object
) -> Changes:
    return search(asking, Search(RELATIONS, since, until, **keys))


DAYS = st.dates(datetime.date(2025, 11, 20), datetime.date(2026, 5, 1))


@given(st.sets(DAYS, min_size=2, max_size=2), st.sampled_from(["enwiki", "all"]))
@settings(max_examples=examples(25))
def test_items_with_a_date_inside_are_found(open_service, days, scope):
    since, until = sorted(days)
    found = found_by(client(open_service), since, until, scope=scope)
    assert found == plainly(since, until, scope)
    assert list(found) == sorted(found)


def test_faults_do_not_change_what_is_found(service, tmp_path):
    """Every fault occurs; a second run takes all answers from the store, without a server."""
    service.faults = [each for fault in FAULTS for each in (fault, "")]
    assert found_by(client(service, tmp_path)) == plainly(SINCE, UNTIL)
    assert service.faults == []
    asked = len(service.asked)
    again = client(service, tmp_path)
    assert found_by(again) == plainly(SINCE, UNTIL)
    assert (len(service.asked), again.requests) == (asked, 0)


def test_a_query_that_times_out_is_asked_for_in_halves(service, tmp_path):
    """The server ends an answer with a Java exception, with status 200, as the Query Service does."""
    service.faults = ["truncated", "", "truncated"]
    found = found_by(client(service, tmp_path))
    assert found == plainly(SINCE, UNTIL)
    assert len(service.asked) == 3 * len(RELATIONS) + 2 * 2
    # That a query was too much is kept too, so that another run begins with the halves.
    assert found_by(client(service, tmp_path)) == found
    assert len(service.asked) == 3 * len(RELATIONS) + 2 * 2


def test_a_single_day_that_always_times_out_ends_the_run(service, tmp_path):
    service.always = "500 timeout"
    with pytest.raises(InputError, match="given up after 8 tries"):
        found_by(client(service, tmp_path))
    days = [query for _, query in service.asked if query.count("2026-01-01T00:00:00Z") == 4]
    assert days[-POLICY.tries :] == [days[-1]] * POLICY.tries
    assert days[-1].count("T00:00:00Z") == 4  # one day in each of four branches


def test_rows_of_another_form_are_refused_and_other_entities_left_out():
    def found(kind: str, value: str) -> Changes:
        """By a server that answers every query with one row."""
        rows = [{"s": {"type": kind, "value": value}}]
        odd = SimpleNamespace(url="http://odd.example/sparql", rows=lambda query, divisible: rows)
        return search(odd, Search([HEAD], SINCE, UNTIL))

    with pytest.raises(InputError, match=r"a row of an answer .* is this a server with Wikidata's RDF"):
        found("literal", "Q1")
    assert found("uri", "http://www.wikidata.org/entity/P31") == {}


@given(
    st.dictionaries(st.integers(1, 50), st.frozensets(st.sampled_from([6, 35, 54]), min_size=1), max_size=30),
    st.integers(1, 40),
)
def test_the_limit_shares_places(found, limit):
    items = chosen(found, limit)
    assert items == sorted(set(items))
    assert len(items) == min(limit, len(found))
    for relation in (6, 35, 54):
        of_relation = sorted(item for item in found if relation in found[item])
        # What is chosen of a relation for its own sake are its first items.
        share = limit // 3
        assert set(of_relation[:share]) <= set(items)


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
